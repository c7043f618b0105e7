/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.c - queries on sparse block lists, by binary search. */
#include "attention/sparse.h"
#include "attention/mask.h"
#include "kernels/kernels_attn.h"

/* Index of the first listed block >= `block`. */
static uint32_t lower_bound(const struct quire_sparse_list *list, uint64_t block)
{
    uint32_t begin = 0, end = list->n;
    while (begin < end) {
        const uint32_t mid = begin + (end - begin) / 2;
        if ((uint64_t)list->blocks[mid] < block)
            begin = mid + 1;
        else
            end = mid;
    }
    return begin;
}

uint64_t qr_sparse_tile_mask(const struct quire_sparse_list *list, uint32_t block_size,
                             uint32_t key)
{
    if (!list)
        return ~(uint64_t)0;
    const uint32_t last = (key + QR_TILE_KEYS - 1) / block_size;
    uint64_t bits = 0;
    for (uint32_t i = lower_bound(list, key / block_size);
         i < list->n && (uint32_t)list->blocks[i] <= last; i++) {
        const uint32_t lo = (uint32_t)list->blocks[i] * block_size;
        bits |= qr_key_range_tile_mask(lo, lo + block_size, key);
    }
    return bits;
}

bool qr_sparse_any(const struct quire_sparse_list *list, uint32_t block_size, uint32_t lo,
                   uint32_t hi)
{
    const uint32_t i = lower_bound(list, lo / block_size);
    return i < list->n && (uint32_t)list->blocks[i] <= (hi - 1) / block_size;
}

struct qr_sparse_count qr_sparse_count(const struct quire_sparse_list *list, uint32_t block_size,
                                       struct qr_key_range range)
{
    struct qr_sparse_count n = { 0, 0 };
    uint32_t next_span = 0; /* earlier spans are counted or have no listed key */
    for (uint32_t i = lower_bound(list, range.lo / block_size);
         i < list->n && (uint32_t)list->blocks[i] <= (range.hi - 1) / block_size; i++) {
        const uint32_t at = (uint32_t)list->blocks[i] * block_size,
                       lo = at > range.lo ? at : range.lo,
                       hi = range.hi - at < block_size ? range.hi : at + block_size;
        const uint32_t first = lo / QR_SPAN_KEYS, last = (hi - 1) / QR_SPAN_KEYS;
        n.keys += hi - lo;
        n.spans += last + 1 - (first > next_span ? first : next_span);
        next_span = last + 1;
    }
    return n;
}

void qr_sparse_mark(const struct quire_sparse_list *list, uint32_t begin, uint32_t end,
                    uint64_t *bits)
{
    for (uint32_t i = lower_bound(list, begin); i < list->n && (uint32_t)list->blocks[i] < end;
         i++) {
        const uint32_t at = (uint32_t)list->blocks[i] - begin;
        bits[at / 64] |= (uint64_t)1 << at % 64;
    }
}
