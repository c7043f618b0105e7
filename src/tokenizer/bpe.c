/* SPDX-License-Identifier: Apache-2.0 */
/* bpe.c - BPE merge loop on a priority queue of candidate merges. */
#include "tokenizer/bpe.h"
#include "base/error.h"
#include "tokenizer/encoder.h"
#include "tokenizer/merges.h"
#include "tokenizer/vocab.h"

/* Children per heap node. Four halve the levels of a binary heap and are adjacent in memory. */
enum { ARITY = 4 };

bool qr_bpe_reserve(struct qr_encoder *e, size_t n_symbols)
{
    return qr_grow(e->t->a, (void **)&e->symbols, &e->cap_symbols, n_symbols, sizeof *e->symbols);
}

static void sift_down(struct qr_merge_candidate *heap, size_t n, size_t i)
{
    const struct qr_merge_candidate moving = heap[i];
    for (;;) {
        const size_t first = ARITY * i + 1;
        if (first >= n)
            break;
        const size_t end = first + ARITY < n ? first + ARITY : n;
        size_t best = first;
        for (size_t c = first + 1; c < end; c++)
            if (heap[c].key < heap[best].key)
                best = c;
        if (heap[best].key >= moving.key)
            break;
        heap[i] = heap[best];
        i = best;
    }
    heap[i] = moving;
}

static bool push(struct qr_encoder *e, struct qr_merge_candidate c)
{
    if (!qr_grow(e->t->a, (void **)&e->heap, &e->cap_heap, e->n_heap + 1, sizeof *e->heap))
        return false;
    size_t i = e->n_heap++;
    while (i > 0 && e->heap[(i - 1) / ARITY].key > c.key) {
        e->heap[i] = e->heap[(i - 1) / ARITY];
        i = (i - 1) / ARITY;
    }
    e->heap[i] = c;
    return true;
}

/* Computes the merge of the symbol at `left` with its right neighbor; false if there is none. */
static bool find_candidate(const struct qr_encoder *e, const uint8_t *text, int32_t left,
                           struct qr_merge_candidate *c)
{
    const struct quire_tokenizer *t = e->t;
    const struct qr_symbol *l = &e->symbols[left];
    if (l->next < 0)
        return false;
    const struct qr_symbol *r = &e->symbols[l->next];
    uint32_t rank;
    c->size = l->size + r->size;
    if (t->merge_by_score) {
        /* looked up by text, because either symbol may be unknown on its own */
        if (c->size > t->max_text)
            return false;
        c->id = qr_vocab_find(t, text + l->offset, c->size);
        if (c->id == QUIRE_TOKEN_NONE || !qr_token_is_normal(t, c->id))
            return false;
        rank = t->score_rank[c->id];
    } else {
        if (l->id == QUIRE_TOKEN_NONE || r->id == QUIRE_TOKEN_NONE)
            return false;
        const struct qr_merge *m = qr_merge_find(t, l->id, r->id);
        if (!m)
            return false;
        c->id = m->id;
        rank = m->rank;
    }
    c->key = (uint64_t)rank << 32 | (uint32_t)left;
    return true;
}

/* Builds the heap of all merges of adjacent initial symbols. */
static quire_status fill_heap(struct qr_encoder *e, const uint8_t *text)
{
    struct qr_merge_candidate c;
    e->n_heap = 0;
    for (size_t i = 0; i + 1 < e->n_symbols; i++) {
        if (!find_candidate(e, text, (int32_t)i, &c))
            continue;
        if (!qr_grow(e->t->a, (void **)&e->heap, &e->cap_heap, e->n_heap + 1, sizeof *e->heap))
            return qr_encoder_nomem(e);
        e->heap[e->n_heap++] = c;
    }
    for (size_t i = e->n_heap / ARITY + 1; i-- > 0;)
        if (ARITY * i + 1 < e->n_heap)
            sift_down(e->heap, e->n_heap, i);
    return QUIRE_OK;
}

static void pop(struct qr_encoder *e)
{
    e->heap[0] = e->heap[--e->n_heap];
    if (e->n_heap)
        sift_down(e->heap, e->n_heap, 0);
}

/* Merges the symbol at `at` with its right neighbor. */
static void merge(struct qr_encoder *e, int32_t at, const struct qr_merge_candidate *c)
{
    struct qr_symbol *l = &e->symbols[at], *r = &e->symbols[l->next];
    l->id = c->id;
    l->size = c->size;
    l->next = r->next;
    r->size = 0;
    if (l->next >= 0)
        e->symbols[l->next].prev = at;
}

quire_status qr_bpe_merge(struct qr_encoder *e, const uint8_t *text)
{
    QR_TRY(fill_heap(e, text));
    while (e->n_heap) {
        const struct qr_merge_candidate top = e->heap[0];
        const int32_t at = (int32_t)(uint32_t)top.key;
        const struct qr_symbol *l = &e->symbols[at];
        if (!l->size || l->next < 0 || l->size + e->symbols[l->next].size != top.size) {
            pop(e); /* stale: one of the two has merged with its other neighbor */
            continue;
        }
        merge(e, at, &top);
        struct qr_merge_candidate right, left;
        const bool has_right = find_candidate(e, text, at, &right);
        const bool has_left = l->prev >= 0 && find_candidate(e, text, l->prev, &left);
        if (!has_right && !has_left) {
            pop(e);
            continue;
        }
        /* replacing the top saves a pop, which moves the heap's last element to the top and back */
        e->heap[0] = has_right ? right : left;
        sift_down(e->heap, e->n_heap, 0);
        if (has_right && has_left && !push(e, left))
            return qr_encoder_nomem(e);
    }
    return QUIRE_OK;
}
