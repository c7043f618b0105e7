/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/trie.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/utf8.h"
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
    uint32_t cp = 0;
    const int n = qr_utf8_next(p, size, &cp);
    return n > 0 && cp >= 0x20 && cp != '"' && cp != '\\' ? (uint32_t)n : 0;
}

/* The smallest slice that has a token, whose characters are counted there. */
static uint8_t slice_of(struct quire_grammar_vocab *v, const unsigned char *p, uint32_t size)
{
    uint32_t chars = 0;
    for (uint32_t i = 0, n; i < size; i += n, chars++)
        if ((n = plain_char(p + i, size - i)) == 0)
            return QR_SLICE_NONE;
    const uint8_t slice = chars <= QR_SHORT_CHARS    ? QR_SLICE_SHORT
                          : chars <= QR_MEDIUM_CHARS ? QR_SLICE_MEDIUM
                                                     : QR_SLICE_PLAIN;
    for (int s = slice; s < QR_N_SLICES; s++)
        if (v->slice_chars[s] < chars)
            v->slice_chars[s] = chars;
    return slice;
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
        list[(*n)++] = (struct token){ p, (uint32_t)size, id, slice_of(v, p, (uint32_t)size) };
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

/* ---- Building a trie ---- */

enum {
    MIN_SUBTREE = 16, /* nodes: smaller subtrees are walked faster than treated as a whole */
    MAX_CHARS = 64,   /* the same for longer strings */
    NOT_WHOLE = 255,  /* in `chars`: not whole characters, or too many */
};

/* What follows a place in a token. */
struct suffix {
    qr_alphabet alphabet;
    uint8_t chars; /* or NOT_WHOLE */
};

struct trie_builder {
    struct quire_grammar_vocab *v;
    struct qr_trie *trie;
    uint32_t depth; /* of the last node */
    uint32_t *open; /* [max_bytes + 1]; open[1 .. depth]: the last node and those above it */
    struct suffix *suffixes; /* [max_bytes + 1] of a token */
};

static void find_suffixes(const struct token *t, struct suffix *s)
{
    s[t->size] = (struct suffix){ 0, 0 };
    for (uint32_t at = t->size; at-- > 0;) {
        uint32_t cp;
        const int n = qr_utf8_next(t->bytes + at, t->size - at, &cp);
        const struct suffix *rest = &s[at + (uint32_t)(n > 0 ? n : 0)];
        if (n > 0 && rest->chars < MAX_CHARS)
            s[at] = (struct suffix){ rest->alphabet | (qr_alphabet)1 << qr_group_of(t->bytes[at]),
                                     (uint8_t)(rest->chars + 1) };
        else
            s[at] = (struct suffix){ 0, NOT_WHOLE };
    }
}

static void close_nodes(struct trie_builder *b, uint32_t depth)
{
    for (; b->depth > depth; b->depth--) {
        struct qr_trie_node *node = &b->trie->nodes[b->open[b->depth]];
        node->skip = (uint32_t)b->trie->n - b->open[b->depth];
        if (node->skip < MIN_SUBTREE || node->chars == NOT_WHOLE)
            node->chars = 0;
    }
}

/* Adds the nodes of a token of which `common` bytes are there, and notes the token in all of its
 * nodes. False: no memory. */
static bool add_token(struct trie_builder *b, const struct token *token, uint32_t common)
{
    struct quire_grammar_vocab *v = b->v;
    struct qr_trie *t = b->trie;
    const size_t n = t->n + token->size - common;
    if (!qr_grow(v->a, (void **)&t->nodes, &t->capacity, n + 1, sizeof *t->nodes) ||
        !qr_grow(v->a, (void **)&t->alphabets, &t->alphabets_capacity, n, sizeof *t->alphabets))
        return false;
    find_suffixes(token, b->suffixes);
    while (b->depth < token->size) {
        const uint8_t byte = token->bytes[b->depth++];
        b->open[b->depth] = (uint32_t)t->n;
        t->alphabets[t->n] = 0;
        t->nodes[t->n++] = (struct qr_trie_node){ .first = (uint32_t)t->n_tokens,
                                                  .token = (int32_t)(32 * v->n_words),
                                                  .depth = (uint16_t)b->depth,
                                                  .byte = byte };
    }
    for (uint32_t d = 1; d <= token->size; d++) {
        struct qr_trie_node *node = &t->nodes[b->open[d]];
        t->alphabets[b->open[d]] |= b->suffixes[d].alphabet;
        node->chars = node->chars > b->suffixes[d].chars ? node->chars : b->suffixes[d].chars;
    }
    t->nodes[t->n - 1].token = token->id;
    return true;
}

/* Builds the trie of the tokens outside a slice. */
static bool build_trie(struct trie_builder *b, const struct token *list, size_t n,
                       enum qr_slice slice)
{
    struct quire_grammar_vocab *v = b->v;
    struct qr_trie *t = b->trie = &v->tries[slice];
    const struct token *last = NULL;
    b->depth = 0;
    for (size_t i = 0; i < n; i++) {
        const struct token *token = &list[i];
        if (in_slice(token, slice))
            continue;
        if (last == NULL || !equal(token, last)) {
            const uint32_t common = last != NULL ? common_prefix(token, last) : 0;
            close_nodes(b, common);
            if (!add_token(b, token, common))
                return false;
            last = token;
        }
        if (!qr_grow(v->a, (void **)&t->tokens, &t->tokens_capacity, t->n_tokens + 1,
                     sizeof *t->tokens))
            return false;
        t->tokens[t->n_tokens++] = token->id;
    }
    close_nodes(b, 0);
    if (!qr_grow(v->a, (void **)&t->nodes, &t->capacity, t->n + 1, sizeof *t->nodes))
        return false;
    t->nodes[t->n] = (struct qr_trie_node){ .first = (uint32_t)t->n_tokens };
    return true;
}

static bool build(struct quire_grammar_vocab *v)
{
    size_t n;
    struct trie_builder b = { .v = v };
    struct token *list = list_tokens(v, &n);
    b.open = qr_alloc(v->a, v->max_bytes + 1, sizeof *b.open);
    b.suffixes = qr_alloc(v->a, v->max_bytes + 1, sizeof *b.suffixes);
    bool ok = list != NULL && b.open != NULL && b.suffixes != NULL;
    for (size_t i = 0; i < n && ok; i++)
        for (int s = QR_SLICE_SHORT; s < QR_N_SLICES; s++)
            if (in_slice(&list[i], s))
                set_bit(v->slices[s], list[i].id);
    for (int s = 0; s < QR_N_SLICES && ok; s++)
        ok = build_trie(&b, list, n, s);
    qr_free(v->a, list, v->n_tokens + 1, sizeof *list);
    qr_free(v->a, b.open, v->max_bytes + 1, sizeof *b.open);
    qr_free(v->a, b.suffixes, v->max_bytes + 1, sizeof *b.suffixes);
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
    v->ends = qr_calloc(v->a, v->n_words + 1, sizeof *v->ends);
    bool ok = v->ends != NULL;
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
        struct qr_trie *t = &v->tries[s];
        qr_free(a, t->nodes, t->capacity, sizeof *t->nodes);
        qr_free(a, t->alphabets, t->alphabets_capacity, sizeof *t->alphabets);
        qr_free(a, t->tokens, t->tokens_capacity, sizeof *t->tokens);
        qr_free(a, v->slices[s], v->n_words + 1, sizeof *v->ends);
    }
    qr_free(a, v->ends, v->n_words + 1, sizeof *v->ends);
    qr_free(a, v, 1, sizeof *v);
}

size_t quire_grammar_mask_words(const struct quire_grammar_vocab *vocab)
{
    return qr_handle_is(vocab, QR_KIND_GRAMMAR_VOCAB) ? vocab->n_words : 0;
}
