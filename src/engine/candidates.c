/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c - selection by a heap and by partial quicksort: lists are sorted as far as
 * needed. */
#include "engine/candidates.h"
#include <math.h>

/* Total order of candidates: descending logit, then ascending id. Logits are never NaN here. */
static bool ranks_before(struct qr_candidate a, struct qr_candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* Restores the heap property below node i; the root is the lowest-ranked candidate. */
static void sift_down(struct qr_candidate *heap, size_t n, size_t i)
{
    const struct qr_candidate moved = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && ranks_before(heap[child], heap[child + 1]))
            child++;
        if (ranks_before(heap[child], moved))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static void make_heap(struct qr_candidate *list, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(list, n, i);
}

/* Puts a heap in order of rank: the lowest-ranked goes last. */
static void sort_heap(struct qr_candidate *heap, size_t n)
{
    for (size_t left = n; left > 1; left--) {
        const struct qr_candidate worst = heap[0];
        heap[0] = heap[left - 1];
        heap[left - 1] = worst;
        sift_down(heap, left - 1, 0);
    }
}

enum { MAX_DEPTH = 48, SMALL = 16 };

/* Incremental quicksort (Paredes and Navarro 2006): puts a list in order of rank from its
 * beginning, as far as the caller goes. list[0..n_ranked) is in order; all candidates before each
 * of the ends rank before all after it. */
struct ranking {
    struct qr_candidate *list;
    size_t n_ranked;
    size_t ends[MAX_DEPTH]; /* a stack; the first is the length of the list */
    int depth;
};

static struct ranking begin_ranking(struct qr_candidate *list, size_t n)
{
    return (struct ranking){ .list = list, .ends = { n }, .depth = 1 };
}

static void swap(struct qr_candidate *a, struct qr_candidate *b)
{
    const struct qr_candidate t = *a;
    *a = *b;
    *b = t;
}

static void sort_small(struct qr_candidate *list, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct qr_candidate x = list[i];
        size_t at = i;
        for (; at && ranks_before(x, list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = x;
    }
}

/* Rearranges n > 2 candidates such that the first m rank before the others, 0 < m < n; returns
 * m. */
static size_t partition(struct qr_candidate *list, size_t n)
{
    struct qr_candidate *middle = &list[n / 2], *last = &list[n - 1];
    if (ranks_before(*middle, *list))
        swap(middle, list);
    if (ranks_before(*last, *list))
        swap(last, list);
    if (ranks_before(*last, *middle))
        swap(last, middle);
    const struct qr_candidate pivot = *middle; /* neither the first nor the last in rank */
    size_t i = 0, j = n - 1;
    for (;;) {
        while (ranks_before(list[i], pivot))
            i++;
        while (ranks_before(pivot, list[j]))
            j--;
        if (i >= j)
            return i;
        swap(&list[i++], &list[j--]);
    }
}

/* Puts further candidates in order; n_ranked grows unless it is the length of the list. */
static void rank_more(struct ranking *r)
{
    while (r->depth) {
        struct qr_candidate *list = r->list + r->n_ranked;
        const size_t end = r->ends[r->depth - 1], n = end - r->n_ranked;
        if (n > SMALL && r->depth < MAX_DEPTH) {
            r->ends[r->depth++] = r->n_ranked + partition(list, n);
            continue;
        }
        if (n > SMALL) { /* bad pivots */
            make_heap(list, n);
            sort_heap(list, n);
        } else {
            sort_small(list, n);
        }
        r->n_ranked = end;
        r->depth--;
        if (n)
            return;
    }
}

enum { BLOCK = 128 }; /* logits that are compared at once */

size_t qr_candidates_select(const struct qr_kernels *kernels, const float *logits, uint32_t n_vocab,
                            float least, struct qr_candidate *list)
{
    size_t n = 0;
    for (uint32_t i = 0; i < n_vocab;) {
        const uint32_t end = n_vocab - i < BLOCK ? n_vocab : i + BLOCK;
        if (kernels->largest(logits + i, end - i) < least)
            i = end;
        for (; i < end; i++)
            if (logits[i] >= least)
                list[n++] = (struct qr_candidate){ logits[i], (int32_t)i };
    }
    return n;
}

size_t qr_candidates_select_best(const struct qr_kernels *kernels, const float *logits,
                                 uint32_t n_vocab, size_t k, struct qr_candidate *list)
{
    size_t n = 0;
    uint32_t i = 0;
    for (; i < n_vocab && n < k; i++)
        if (logits[i] != -INFINITY)
            list[n++] = (struct qr_candidate){ logits[i], (int32_t)i };
    make_heap(list, n);
    while (i < n_vocab) {
        const uint32_t end = n_vocab - i < BLOCK ? n_vocab : i + BLOCK;
        /* a later id loses every tie, so only a greater logit enters the heap */
        if (!(kernels->largest(logits + i, end - i) > list[0].logit))
            i = end;
        for (; i < end; i++)
            if (logits[i] > list[0].logit) {
                list[0] = (struct qr_candidate){ logits[i], (int32_t)i };
                sift_down(list, n, 0);
            }
    }
    sort_heap(list, n);
    return n;
}

size_t qr_candidates_keep_best(struct qr_candidate *list, size_t n, size_t k)
{
    struct ranking r = begin_ranking(list, n);
    if (k > n)
        k = n;
    while (r.n_ranked < k)
        rank_more(&r);
    return k;
}

size_t qr_candidates_keep_mass(struct qr_candidate *list, size_t n, double max, double temperature,
                               double mass, size_t min_keep, bool ranked)
{
    struct ranking r = begin_ranking(list, n);
    if (ranked)
        r.n_ranked = n;
    double sum = 0;
    size_t kept = 0;
    while (kept < n && (kept < min_keep || sum < mass)) {
        if (kept == r.n_ranked)
            rank_more(&r);
        sum += exp((list[kept++].logit - max) / temperature);
    }
    for (size_t i = 0; !ranked && i < kept / 2; i++)
        swap(&list[i], &list[kept - 1 - i]);
    return kept;
}
