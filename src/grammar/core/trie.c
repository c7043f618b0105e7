/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/trie.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include <quire/grammar.h>
#include <stdlib.h>
#include <string.h>

/* Longer tokens are never allowed: their depth would not fit. */
enum { MAX_TOKEN_BYTES = 60000 };

struct token {
    const unsigned char *bytes;
    uint32_t size;
    int32_t id;
    uint8_t slice; /* the smallest slice that has it; QR_SLICE_NONE: none has */
};

/* Bytes of the character at p if a JSON string may hold it unescaped; else 0. */
static uint32_t plain_char(const unsigned char *p, uint32_t size)
{
    const unsigned c = p[0];
    const uint32_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (n == 0 || n > size || c < 0x20 || c == '"' || c == '\\')
        return 0;
    for (uint32_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, beyond U+10FFFF */
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
        (c == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

static uint8_t slice_of(const unsigned char *p, uint32_t size)
{
    uint32_t chars = 0;
    for (uint32_t i = 0, n; i < size; i += n, chars++)
        if ((n = plain_char(p + i, size - i)) == 0)
            return QR_SLICE_NONE;
    return chars <= QR_SLICE_CHARS ? QR_SLICE_SHORT : QR_SLICE_PLAIN;
}

static int by_bytes(const void *x, const void *y)
{
    const struct token *a = x, *b = y;
    const uint32_t n = a->size < b->size ? a->size : b->size;
    const int order = memcmp(a->bytes, b->bytes, n);
    if (order != 0)
        return order;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

static void set_bit(uint32_t *mask, int32_t token) { mask[token / 32] |= 1u << (token % 32); }

/* The ordinary tokens in the order of their bytes. NULL: no memory. */
static struct token *list_tokens(struct quire_grammar_vocab *v, size_t *n)
{
    struct token *list = qr_alloc(v->a, v->n_tokens + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < v->n_tokens && list != NULL; i++) {
        size_t size;
        const int32_t id = (int32_t)i;
        const char *bytes = quire_tokenizer_token_bytes(v->tok, id, &size);
        const enum quire_token_type type = quire_tokenizer_token_type(v->tok, id);
        if (quire_tokenizer_is_eog(v->tok, id))
            set_bit(v->ends, id);
        if (quire_tokenizer_is_special(v->tok, id) || type == QUIRE_TOKEN_UNUSED ||
            type == QUIRE_TOKEN_UNKNOWN || size == 0 || size > MAX_TOKEN_BYTES)
            continue;
        const unsigned char *p = (const unsigned char *)bytes;
        list[(*n)++] = (struct token){ p, (uint32_t)size, id, slice_of(p, (uint32_t)size) };
        v->max_bytes = size > v->max_bytes ? size : v->max_bytes;
    }
    if (list != NULL)
        qsort(list, *n, sizeof *list, by_bytes);
    return list;
}

static bool in_slice(const struct token *t, enum qr_slice slice)
{
    return t->slice != QR_SLICE_NONE && t->slice <= slice;
}

static bool equal(const struct token *a, const struct token *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static uint32_t common_prefix(const struct token *a, const struct token *b)
{
    uint32_t n = 0;
    while (n < a->size && n < b->size && a->bytes[n] == b->bytes[n])
        n++;
    return n;
}

/* Builds the trie of the tokens outside a slice. open: [max_bytes + 1] scratch. */
static bool build_trie(struct quire_grammar_vocab *v, const struct token *list, size_t n,
                       enum qr_slice slice, uint32_t *open)
{
    struct qr_trie *t = &v->tries[slice];
    const struct token *last = NULL;
    uint32_t depth = 0; /* of the last node: open[1 .. depth] are the nodes above it and itself */
    for (size_t i = 0; i <= n; i++) {
        const struct token *token = i < n ? &list[i] : NULL;
        if (token != NULL && (in_slice(token, slice) || (last != NULL && equal(token, last))))
            continue; /* of equal tokens the first one is in the trie */
        const uint32_t common = token != NULL && last != NULL ? common_prefix(token, last) : 0;
        for (; depth > common; depth--)
            t->nodes[open[depth]].skip = (uint32_t)t->n - open[depth];
        if (token == NULL)
            break;
        if (!qr_grow(v->a, (void **)&t->nodes, &t->capacity, t->n + token->size - common,
                     sizeof *t->nodes))
            return false;
        while (depth < token->size) {
            const uint8_t byte = token->bytes[depth++];
            open[depth] = (uint32_t)t->n;
            t->nodes[t->n++] = (struct qr_trie_node){ 0, QUIRE_TOKEN_NONE, (uint16_t)depth, byte };
        }
        t->nodes[open[depth]].token = token->id;
        last = token;
    }
    return true;
}

static bool build(struct quire_grammar_vocab *v)
{
    size_t n;
    struct token *list = list_tokens(v, &n);
    uint32_t *open = qr_alloc(v->a, v->max_bytes + 1, sizeof *open);
    bool ok = list != NULL && open != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        v->same[list[i].id] =
            i + 1 < n && equal(&list[i], &list[i + 1]) ? list[i + 1].id : QUIRE_TOKEN_NONE;
        for (int s = QR_SLICE_SHORT; s < QR_N_SLICES; s++)
            if (in_slice(&list[i], s))
                set_bit(v->slices[s], list[i].id);
    }
    for (int s = 0; s < QR_N_SLICES && ok; s++)
        ok = build_trie(v, list, n, s, open);
    qr_free(v->a, list, v->n_tokens + 1, sizeof *list);
    qr_free(v->a, open, v->max_bytes + 1, sizeof *open);
    return ok;
}

quire_status quire_grammar_vocab_create(const struct quire_tokenizer *tok,
                                        const struct quire_allocator *allocator,
                                        struct quire_grammar_vocab **out, struct quire_error *err)
{
    if (out == NULL)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(qr_handle_check(tok, QR_KIND_TOKENIZER, "tok", err));
    struct quire_grammar_vocab *v = qr_calloc(allocator, 1, sizeof *v);
    if (v == NULL)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the vocabulary");
    v->handle.kind = QR_KIND_GRAMMAR_VOCAB;
    v->tok = tok;
    if (allocator != NULL) {
        v->allocator = *allocator;
        v->a = &v->allocator;
    }
    v->n_tokens = quire_tokenizer_vocab_size(tok);
    v->n_words = (v->n_tokens + 31) / 32;
    v->same = qr_calloc(v->a, v->n_tokens + 1, sizeof *v->same);
    v->ends = qr_calloc(v->a, v->n_words + 1, sizeof *v->ends);
    bool ok = v->same != NULL && v->ends != NULL;
    for (int s = QR_SLICE_SHORT; s < QR_N_SLICES && ok; s++)
        ok = (v->slices[s] = qr_calloc(v->a, v->n_words + 1, sizeof *v->ends)) != NULL;
    if (!ok || !build(v)) {
        quire_grammar_vocab_destroy(v);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the vocabulary");
    }
    *out = v;
    return QUIRE_OK;
}

void quire_grammar_vocab_destroy(struct quire_grammar_vocab *v)
{
    if (!qr_handle_end(v, QR_KIND_GRAMMAR_VOCAB))
        return;
    const struct quire_allocator copy = v->allocator, *a = v->a ? &copy : NULL;
    for (int s = 0; s < QR_N_SLICES; s++) {
        qr_free(a, v->tries[s].nodes, v->tries[s].capacity, sizeof *v->tries[s].nodes);
        qr_free(a, v->slices[s], v->n_words + 1, sizeof *v->ends);
    }
    qr_free(a, v->same, v->n_tokens + 1, sizeof *v->same);
    qr_free(a, v->ends, v->n_words + 1, sizeof *v->ends);
    qr_free(a, v, 1, sizeof *v);
}

size_t quire_grammar_mask_words(const struct quire_grammar_vocab *vocab)
{
    return qr_handle_is(vocab, QR_KIND_GRAMMAR_VOCAB) ? vocab->n_words : 0;
}
