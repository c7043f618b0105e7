/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tokenizer.c - calls on four small vocabularies: [vocabulary: 1 byte] [kind of call: 1 byte]
 * [bytes]. Checks round trips, spans and streaming. */
#include "base/utf8.h"
#include "check_tokenizer.h"
#include "tiny_model.h"
#include <stdlib.h>
#include <string.h>

enum { N_VOCABS = 4, MAX_SPANS = 8 };

static struct quire_tokenizer *tokenizers[N_VOCABS];

static const struct quire_tokenizer *vocab(uint32_t i)
{
    if (!tokenizers[i]) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct gguf_image g = { 0 };
        struct fuzz_buffer file = { 0 };
        gguf_text(&g, "general.architecture", "llama");
        tiny_vocab(&g, (enum tiny_vocab)i);
        gguf_finish(&g, &file);
        const quire_status s =
            quire_tokenizer_open_memory(file.data, file.size, NULL, 0, NULL, &tokenizers[i], &err);
        fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
        fuzz_buffer_free(&file);
    }
    return tokenizers[i];
}

/* Spans of any lengths. No control token may contain a byte of user data: the text of the user
 * spans alone must not produce one. */
static void check_spans(const struct quire_tokenizer *t, struct fuzz_input *in)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_text_span spans[MAX_SPANS];
    uint8_t lengths[MAX_SPANS];
    for (int i = 0; i < MAX_SPANS; i++)
        lengths[i] = (uint8_t)fuzz_take(in, 1);
    size_t n_spans = 0, at = 0, n, n_same;
    for (; n_spans < MAX_SPANS && at < in->left; n_spans++) {
        const size_t rest = in->left - at, size = 1 + lengths[n_spans] / 2;
        const bool last = n_spans == MAX_SPANS - 1;
        spans[n_spans] =
            (struct quire_text_span){ at, last || size > rest ? rest : size, lengths[n_spans] & 1 };
        at += spans[n_spans].size;
    }
    const char *text = (const char *)in->data;
    int32_t *ids = malloc((4 * in->left + 16) * sizeof *ids);
    const quire_status s =
        quire_tokenizer_encode_spans(t, text, in->left, spans, n_spans, QUIRE_ENCODE_PARSE_SPECIAL,
                                     ids, 4 * in->left + 16, &n, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    /* at most as many control tokens as the template text alone has places for */
    size_t template_bytes = 0, control_bytes = 0;
    for (size_t i = 0; i < n_spans; i++)
        template_bytes += spans[i].is_user_text ? 0 : spans[i].size;
    for (size_t i = 0; i < n; i++) {
        size_t size;
        if (ids[i] != quire_tokenizer_special(t, QUIRE_SPECIAL_UNK) &&
            quire_tokenizer_token_type(t, ids[i]) == QUIRE_TOKEN_CONTROL &&
            quire_tokenizer_token_text(t, ids[i], &size))
            control_bytes += size;
    }
    fuzz_check(control_bytes <= template_bytes, "%zu bytes of control tokens in %zu of template",
               control_bytes, template_bytes);
    /* gaps and overlaps are refused */
    if (n_spans > 1) {
        spans[1].offset++;
        fuzz_check(quire_tokenizer_encode_spans(t, text, in->left, spans, n_spans, 0, NULL, 0,
                                                &n_same, &err) == QUIRE_E_INVALID_ARG,
                   "a gap between spans is accepted");
    }
    free(ids);
}

static void check_any_ids(const struct quire_tokenizer *t, struct fuzz_input *in)
{
    const uint32_t flags = (uint32_t)fuzz_take(in, 1) & 3,
                   n_vocab = (uint32_t)quire_tokenizer_vocab_size(t);
    const size_t n = in->left / 2;
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        const uint32_t v = (uint32_t)fuzz_take(in, 2);
        ids[i] = v < 0xff00 ? (int32_t)(v % n_vocab) : (int32_t)(v - 0xff80) * 0x1000000;
    }
    check_ids(t, ids, n, flags);
    free(ids);
}

/* A buffer that is too small receives the first ids. */
static void check_small_buffer(const struct quire_tokenizer *t, struct fuzz_input *in)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const size_t max = fuzz_below(in, 32) + 1;
    const uint32_t flags = (uint32_t)fuzz_take(in, 1) & 7;
    int32_t *few = malloc(max * sizeof *few), *all = NULL;
    size_t n, n_all;
    const char *text = (const char *)in->data;
    const quire_status s = quire_tokenizer_encode(t, text, in->left, flags, few, max, &n, &err);
    all = malloc((n + 1) * sizeof *all);
    fuzz_check(quire_tokenizer_encode(t, text, in->left, flags, all, n + 1, &n_all, &err) ==
                       QUIRE_OK &&
                   n == n_all,
               "%zu ids, then %zu", n, n_all);
    fuzz_check((s == QUIRE_OK) == (n <= max) && (s == QUIRE_OK || s == QUIRE_E_LIMIT), "%s",
               fuzz_status(s));
    fuzz_check(memcmp(few, all, (n < max ? n : max) * sizeof *few) == 0,
               "a small buffer has other ids");
    free(few);
    free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    const uint32_t which = fuzz_below(&in, N_VOCABS);
    const struct quire_tokenizer *t = vocab(which);
    check_vocab(t);
    switch (fuzz_below(&in, 4)) {
    case 0:
        check_text(t, (const char *)in.data, in.left,
                   which == TINY_BYTES || which == TINY_LONGEST_MATCH);
        break;
    case 1:
        check_spans(t, &in);
        break;
    case 2:
        check_any_ids(t, &in);
        break;
    default:
        check_small_buffer(t, &in);
    }
    return 0;
}
