/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c - the public encode calls: matches added tokens and encodes the fragments between. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/utf8.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/byte_level_bpe.h"
#include "tokenizer/encoder.h"
#include "tokenizer/longest_match.h"
#include "tokenizer/plamo.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/white_space.h"
#include "tokenizer/word_bpe.h"
#include "tokenizer/wordpiece.h"
#include <utf8proc.h>

/* Encodes the text between two added tokens. */
static quire_status encode_fragment(struct qr_encoder *e, const uint8_t *s, size_t n, bool at_start)
{
    if (!n)
        return QUIRE_OK;
    if (!qr_utf8_valid(s, n)) {
        e->repaired.size = 0;
        if (!qr_bytes_reserve(e->t->a, &e->repaired, qr_utf8_repair(s, n, NULL)))
            return qr_encoder_nomem(e);
        n = qr_utf8_repair(s, n, e->repaired.data);
        s = e->repaired.data;
    }
    switch (e->t->kind) { /* GCOVR_EXCL_BR_LINE: all kinds */
    case QR_VOCAB_BYTE_LEVEL_BPE:
        return qr_encode_byte_level_bpe(e, s, n, at_start);
    case QR_VOCAB_SENTENCEPIECE_BPE:
    case QR_VOCAB_UNIGRAM:
        return qr_encode_sentencepiece(e, s, n, at_start);
    case QR_VOCAB_WORDPIECE:
        return qr_encode_wordpiece(e, s, n);
    case QR_VOCAB_LONGEST_MATCH:
        qr_encode_longest_match(e, s, n);
        return QUIRE_OK;
    case QR_VOCAB_WORD_BPE:
        return qr_encode_word_bpe(e, s, n);
    case QR_VOCAB_PLAMO:
        return qr_encode_plamo(e, s, n);
    }
    return qr_fail(e->err, QUIRE_E_INTERNAL, "tokenizer kind %d", (int)e->t->kind);
}

struct input {
    const char *text;
    size_t size;
    const struct quire_text_span *spans; /* which bytes are user text; NULL: none */
    size_t n_spans;
    bool parse_special;
};

/* Counts the bytes from `at` to the next byte of user text; may stop at `enough`.
 * span: in: index of a span at or before `at`; out: index of the span at `at` */
static size_t trusted_bytes(const struct input *in, size_t at, size_t enough, size_t *span)
{
    if (!in->parse_special)
        return 0;
    if (!in->spans)
        return in->size - at;
    size_t i = *span;
    /* GCOVR_EXCL_BR_LINE: the spans cover the text */
    while (i < in->n_spans && in->spans[i].offset + in->spans[i].size <= at)
        i++;
    *span = i;
    size_t end = at;
    for (; i < in->n_spans && end - at < enough; i++) {
        if (in->spans[i].is_user_text && in->spans[i].size)
            break;
        end = in->spans[i].offset + in->spans[i].size;
    }
    return end - at;
}

/* Start of the white space that ends at `end`, not before `begin`. */
static size_t skip_space_back(const uint8_t *s, size_t begin, size_t end)
{
    while (end > begin) {
        size_t at = end - 1;
        while (at > begin && qr_utf8_is_continuation(s[at]))
            at--;
        uint32_t cp = 0;
        if (qr_utf8_next_final(s + at, end - at, &cp) != (int)(end - at) || !qr_is_white_space(cp))
            break;
        end = at;
    }
    return end;
}

/* End of the white space that starts at `begin`. */
static size_t skip_space(const uint8_t *s, size_t begin, size_t n)
{
    uint32_t cp = 0;
    for (int len; begin < n; begin += (size_t)len) {
        len = qr_utf8_next_final(s + begin, n - begin, &cp);
        if (len < 0 || !qr_is_white_space(cp))
            break;
    }
    return begin;
}

static bool is_word_char(uint32_t cp)
{
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NO) || c == UTF8PROC_CATEGORY_PC;
}

/* Whether s[begin..end) is not part of a longer word. */
static bool is_single_word(const uint8_t *s, size_t begin, size_t end, size_t n)
{
    uint32_t cp = 0;
    if (begin) {
        size_t at = begin - 1;
        while (at && qr_utf8_is_continuation(s[at]))
            at--;
        if (qr_utf8_next_final(s + at, begin - at, &cp) > 0 && is_word_char(cp))
            return false;
    }
    return end >= n || qr_utf8_next_final(s + end, n - end, &cp) < 0 || !is_word_char(cp);
}

static quire_status encode_input(struct qr_encoder *e, const struct input *in)
{
    const struct quire_tokenizer *t = e->t;
    const uint8_t *s = (const uint8_t *)in->text;
    size_t done = 0, span = 0;
    if (!in->size) /* the text may be NULL */
        return QUIRE_OK;
    for (size_t at = 0; at < in->size; at++) {
        if (!t->starts_added_token[s[at]])
            continue;
        const struct qr_added_token *found = qr_added_token_match(
            t, in->text + at, in->size - at, trusted_bytes(in, at, t->max_text, &span));
        if (!found)
            continue;
        const uint8_t match = t->tokens[found->id].match;
        const size_t end = at + found->size;
        if ((match & QR_TOKEN_SINGLE_WORD) && !is_single_word(s, at, end, in->size))
            continue;
        const size_t stop = match & QR_TOKEN_LSTRIP ? skip_space_back(s, done, at) : at;
        QR_TRY(encode_fragment(e, s + done, stop - done, done == 0));
        qr_emit(e, found->id);
        done = match & QR_TOKEN_RSTRIP ? skip_space(s, end, in->size) : end;
        at = done - 1;
    }
    return encode_fragment(e, s + done, in->size - done, done == 0);
}

static quire_status check_spans(const struct input *in, struct quire_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < in->n_spans; i++) {
        if (in->spans[i].offset != at || in->spans[i].size > in->size - at)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "spans[%zu]: %zu bytes at %zu, expected to begin at %zu of %zu", i,
                           in->spans[i].size, in->spans[i].offset, at, in->size);
        at += in->spans[i].size;
    }
    if (at != in->size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "spans cover %zu of %zu bytes", at, in->size);
    return QUIRE_OK;
}

static quire_status encode(const struct quire_tokenizer *t, const struct input *in, uint32_t flags,
                           int32_t *ids, size_t ids_max, size_t *n_ids, struct quire_error *err)
{
    struct qr_encoder e = { .t = t, .err = err, .max_ids = ids_max };
    e.ids = ids;
    for (uint32_t i = 0; (flags & QUIRE_ENCODE_ADD_BOS) && i < t->n_prefix_ids; i++)
        qr_emit(&e, t->prefix_ids[i]);
    const quire_status st = encode_input(&e, in);
    for (uint32_t i = 0; (flags & QUIRE_ENCODE_ADD_EOS) && i < t->n_suffix_ids; i++)
        qr_emit(&e, t->suffix_ids[i]);
    qr_encoder_free(&e);
    QR_TRY(st);
    *n_ids = e.n_ids;
    if (ids_max && e.n_ids > ids_max)
        return qr_fail(err, QUIRE_E_LIMIT, "text has %zu tokens, ids_max is %zu", e.n_ids, ids_max);
    return QUIRE_OK;
}

static quire_status check_arguments(const struct quire_tokenizer *tok, const char *text,
                                    size_t size, uint32_t flags, const int32_t *ids, size_t ids_max,
                                    const size_t *n_ids, struct quire_error *err)
{
    const uint32_t known = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS | QUIRE_ENCODE_PARSE_SPECIAL;
    QR_TRY(qr_handle_check(tok, QR_KIND_TOKENIZER, "tok", err));
    if (!n_ids || (!text && size) || (!ids && ids_max))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL",
                       !n_ids          ? "n_ids"
                       : !text && size ? "text"
                                       : "ids");
    if (flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags = 0x%x has unknown bits", flags);
    if (size > INT32_MAX)
        return qr_fail(err, QUIRE_E_LIMIT, "text of %zu bytes, at most %d", size, INT32_MAX);
    return QUIRE_OK;
}

quire_status quire_tokenizer_encode(const struct quire_tokenizer *tok, const char *text,
                                    size_t size, uint32_t flags, int32_t *ids, size_t ids_max,
                                    size_t *n_ids, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(check_arguments(tok, text, size, flags, ids, ids_max, n_ids, err));
    const struct input in = { .text = text,
                              .size = size,
                              .parse_special = (flags & QUIRE_ENCODE_PARSE_SPECIAL) != 0 };
    return encode(tok, &in, flags, ids, ids_max, n_ids, err);
}

/* NOLINTNEXTLINE(readability-function-size): two input arrays and an output array */
quire_status quire_tokenizer_encode_spans(const struct quire_tokenizer *tok, const char *text,
                                          size_t size, const struct quire_text_span *spans,
                                          size_t n_spans, uint32_t flags, int32_t *ids,
                                          size_t ids_max, size_t *n_ids, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(check_arguments(tok, text, size, flags, ids, ids_max, n_ids, err));
    if (!spans && n_spans)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "spans is NULL");
    const struct input in = { .text = text,
                              .size = size,
                              .spans = spans,
                              .n_spans = n_spans,
                              .parse_special = (flags & QUIRE_ENCODE_PARSE_SPECIAL) != 0 };
    QR_TRY(check_spans(&in, err));
    return encode(tok, &in, flags, ids, ids_max, n_ids, err);
}
