/* SPDX-License-Identifier: Apache-2.0 */
/* check_tokenizer.c - invariants of an open tokenizer. */
#include "check_tokenizer.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

void check_vocab(const struct quire_tokenizer *t)
{
    const size_t n = quire_tokenizer_vocab_size(t);
    size_t size;
    for (size_t i = 0; i < n && i < 1000; i++) {
        const int32_t id = (int32_t)i;
        const char *text = quire_tokenizer_token_text(t, id, &size);
        if (text && size) {
            const int32_t found = quire_tokenizer_find(t, text, size);
            size_t other;
            const char *same = quire_tokenizer_token_text(t, found, &other);
            fuzz_check(same && other == size && memcmp(same, text, size) == 0,
                       "token %d is found as %d", id, found);
        }
        (void)quire_tokenizer_token_bytes(t, id, &size);
        (void)quire_tokenizer_token_type(t, id);
    }
    for (int i = 0; i < QUIRE_N_SPECIAL; i++) {
        const int32_t id = quire_tokenizer_special(t, (enum quire_special_token)i);
        fuzz_check(id == QUIRE_TOKEN_NONE || (id >= 0 && (size_t)id < n), "special token %d", id);
    }
    fuzz_check(!quire_tokenizer_token_text(t, (int32_t)n, &size) && !size, "a token past the end");
    fuzz_check(!quire_tokenizer_token_text(t, -1, &size) && !size, "a token before the first");
}

static char *decode(const struct quire_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags,
                    size_t *size)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t again = 0;
    quire_status s = quire_tokenizer_decode(t, ids, n, flags, NULL, 0, size, &err);
    fuzz_check_error(s, &err);
    if (s != QUIRE_OK)
        return NULL;
    char *text = malloc(*size + 1);
    s = quire_tokenizer_decode(t, ids, n, flags, text, *size, &again, &err);
    fuzz_check(s == QUIRE_OK && again == *size, "%s, %zu of %zu bytes", fuzz_status(s), again,
               *size);
    fuzz_check(qr_utf8_valid((const uint8_t *)text, *size), "decode gives ill-formed UTF-8");
    return text;
}

void check_ids(const struct quire_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_detokenizer *d = NULL;
    struct fuzz_buffer streamed = { 0 };
    const char *part;
    size_t size, part_size;
    bool in_range = true;
    char *whole = decode(t, ids, n, flags, &size);
    quire_status s = quire_detokenizer_create(t, flags, &d, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    for (size_t i = 0; i < n; i++) {
        s = quire_detokenizer_push(d, ids[i], &part, &part_size, &err);
        fuzz_check_error(s, &err);
        fuzz_check(s == QUIRE_OK || s == QUIRE_E_RANGE, "%s", fuzz_status(s));
        in_range = in_range && s == QUIRE_OK;
        if (s != QUIRE_OK)
            continue;
        fuzz_check(qr_utf8_valid((const uint8_t *)part, part_size), "a piece is ill-formed UTF-8");
        fuzz_put(&streamed, part, part_size);
    }
    s = quire_detokenizer_finish(d, &part, &part_size, &err);
    fuzz_check(s == QUIRE_OK && part_size <= 3 * 4, "%s, %zu bytes", fuzz_status(s), part_size);
    fuzz_put(&streamed, part, part_size);
    fuzz_check(in_range == (whole != NULL), "decode and stream differ in their status");
    fuzz_check(
        !whole || (streamed.size == size && (!size || memcmp(whole, streamed.data, size) == 0)),
        "streamed \"%.*s\", decoded \"%.*s\"", (int)streamed.size, streamed.data, (int)size, whole);
    quire_detokenizer_destroy(d);
    fuzz_buffer_free(&streamed);
    free(whole);
}

/* Encodes; the ids belong to the caller. */
static int32_t *encode(const struct quire_tokenizer *t, const char *text, size_t size,
                       const struct quire_text_span *spans, size_t n_spans, uint32_t flags,
                       size_t *n)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t again = 0;
    quire_status s =
        spans ? quire_tokenizer_encode_spans(t, text, size, spans, n_spans, flags, NULL, 0, n, &err)
              : quire_tokenizer_encode(t, text, size, flags, NULL, 0, n, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    int32_t *ids = malloc((*n + 1) * sizeof *ids);
    s = spans ? quire_tokenizer_encode_spans(t, text, size, spans, n_spans, flags, ids, *n, &again,
                                             &err)
              : quire_tokenizer_encode(t, text, size, flags, ids, *n, &again, &err);
    fuzz_check(s == QUIRE_OK && again == *n, "%s, %zu ids, then %zu", fuzz_status(s), *n, again);
    for (size_t i = 0; i < *n; i++)
        fuzz_check(ids[i] >= 0 && (size_t)ids[i] < quire_tokenizer_vocab_size(t), "id %d", ids[i]);
    return ids;
}

/* The text with U+FFFD for every ill-formed sequence. */
static void repair(struct fuzz_buffer *out, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t cp;
        const int n = qr_utf8_next_final((const uint8_t *)text + at, size - at, &cp);
        fuzz_put(out, n > 0 ? text + at : "\xEF\xBF\xBD", n > 0 ? (size_t)n : 3);
        at += (size_t)(n > 0 ? n : -n);
    }
}

static void check_round_trip(const struct quire_tokenizer *t, const char *text, size_t size,
                             const int32_t *ids, size_t n)
{
    struct fuzz_buffer expected = { 0 };
    size_t got_size;
    char *got = decode(t, ids, n, QUIRE_DETOKENIZE_SPECIAL, &got_size);
    repair(&expected, text, size);
    fuzz_check(got && got_size == expected.size &&
                   (!got_size || memcmp(got, expected.data, got_size) == 0),
               "\"%.*s\" comes back as \"%.*s\"", (int)expected.size, expected.data, (int)got_size,
               got);
    fuzz_buffer_free(&expected);
    free(got);
}

void check_text(const struct quire_tokenizer *t, const char *text, size_t size, bool round_trip)
{
    const struct quire_text_span user = { 0, size, true }, own = { 0, size, false };
    size_t n, n_user, n_own, n_parsed;
    int32_t *plain = encode(t, text, size, NULL, 0, 0, &n);
    int32_t *as_user = encode(t, text, size, &user, size != 0, QUIRE_ENCODE_PARSE_SPECIAL, &n_user);
    int32_t *as_own = encode(t, text, size, &own, size != 0, QUIRE_ENCODE_PARSE_SPECIAL, &n_own);
    int32_t *parsed = encode(t, text, size, NULL, 0, QUIRE_ENCODE_PARSE_SPECIAL, &n_parsed);
    fuzz_check(n == n_user && memcmp(plain, as_user, n * sizeof *plain) == 0,
               "a user span is encoded differently from plain text");
    fuzz_check(n_parsed == n_own && memcmp(parsed, as_own, n_own * sizeof *parsed) == 0,
               "a template span is encoded differently from parsed text");
    for (size_t i = 0; i < n; i++)
        fuzz_check(quire_tokenizer_token_type(t, plain[i]) != QUIRE_TOKEN_CONTROL ||
                       plain[i] == quire_tokenizer_special(t, QUIRE_SPECIAL_UNK),
                   "user text gives control token %d", plain[i]);
    if (round_trip) {
        check_round_trip(t, text, size, plain, n);
        check_round_trip(t, text, size, parsed, n_parsed);
    }
    check_ids(t, plain, n, 0);
    check_ids(t, parsed, n_parsed, QUIRE_DETOKENIZE_SPECIAL | QUIRE_DETOKENIZE_CONTINUES);
    free(plain);
    free(as_user);
    free(as_own);
    free(parsed);
}
