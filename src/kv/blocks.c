/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - block allocation, reference counts and copy-on-write. */
/* The pool stores the blocks of one head in id order within an extent, so consecutive ids make
 * attention stream through memory. The allocator therefore continues a sequence directly after its
 * last block where possible, and otherwise places it where it has room to grow, in as few extents
 * as that allows: the first use of one waits for the kernel to clear its pages. Allocation is
 * deterministic: the same calls return the same ids. */
#include "base/error.h"
#include "base/handle.h"
#include "kv/check.h"
#include <string.h>

/* First block at or after `from` that is free (want_free) or in use; n_blocks when there is none.
 * Bits beyond the last block are 0, so a range of free blocks ends there. */
static uint32_t find(const struct qr_kv_group *g, uint32_t from, bool want_free)
{
    const uint64_t invert = want_free ? 0 : ~(uint64_t)0;
    if (from >= g->n_blocks)
        return g->n_blocks;
    uint32_t w = from / 64;
    uint64_t word = (g->free_bits[w] ^ invert) & (~(uint64_t)0 << from % 64);
    const uint32_t n_words = (g->n_blocks - 1) / 64 + 1;
    while (!word && ++w < n_words)
        word = g->free_bits[w] ^ invert;
    if (!word)
        return g->n_blocks;
    const uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(word);
    return b < g->n_blocks ? b : g->n_blocks;
}

/* Free blocks with consecutive ids, [begin, end). */
struct range {
    uint32_t begin, end;
};

/* First range at or after `from`; empty at n_blocks if there is none. */
static struct range next_range(const struct qr_kv_group *g, uint32_t from)
{
    const uint32_t begin = find(g, from, true);
    return (struct range){ begin, find(g, begin, false) };
}

/* Of the ids below `limit`. */
static struct range longest_range(const struct qr_kv_group *g, uint32_t limit)
{
    struct range best = { 0, 0 };
    for (struct range r = next_range(g, 0); r.begin < limit; r = next_range(g, r.end)) {
        r.end = r.end < limit ? r.end : limit;
        if (r.end - r.begin > best.end - best.begin)
            best = r;
    }
    return best;
}

/* Removes n consecutive blocks from the free list with one reference each, and stores their ids. */
static void take(struct qr_kv_group *g, uint32_t begin, uint32_t n, int32_t *blocks)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = begin + i;
        g->free_bits[b / 64] &= ~((uint64_t)1 << b % 64);
        g->ref_counts[b] = 1;
        blocks[i] = (int32_t)b;
    }
    g->n_free -= n;
    const uint32_t end = (begin + n - 1) / g->extent_blocks * g->extent_blocks,
                   used =
                       g->n_blocks - end > g->extent_blocks ? end + g->extent_blocks : g->n_blocks;
    g->n_used = used > g->n_used ? used : g->n_used;
}

/* Takes n blocks from several ranges, long ones first. Halving the minimum length needs few passes
 * and orders them nearly as well as a sort, which would need memory. */
static void take_fragmented(struct qr_kv_group *g, uint32_t longest, uint32_t n, int32_t *blocks)
{
    for (uint32_t min_length = longest; n > 0; min_length = min_length > 1 ? min_length / 2 : 1)
        for (struct range r = next_range(g, 0); n > 0 && r.begin < g->n_blocks;
             r = next_range(g, r.end)) {
            const uint32_t length = r.end - r.begin, m = length < n ? length : n;
            if (length < min_length)
                continue;
            take(g, r.begin, m, blocks);
            blocks += m;
            n -= m;
        }
}

/* Where a sequence begins with n blocks, which `longest`, the longest range, has. In extents that
 * have been used before, if there is room to grow by half an extent, else at the next extent. In
 * the middle of a range: this sequence and the one that ends before the range can then both grow
 * into consecutive ids. */
static uint32_t place(const struct qr_kv_group *g, struct range longest, uint32_t n)
{
    const uint32_t room = n > g->extent_blocks / 2 ? n : g->extent_blocks / 2;
    const struct range used = longest_range(g, g->n_used);
    if (used.end - used.begin < room && g->n_blocks - g->n_used >= n)
        return g->n_used;
    const struct range r = used.end - used.begin >= n ? used : longest;
    return r.begin == 0 ? 0 : r.begin + (r.end - r.begin - n) / 2;
}

/* Takes n <= n_free blocks, the first ones directly after block `after` (-1 = none) if those are
 * free. */
static void take_blocks(struct qr_kv_group *g, int32_t after, uint32_t n, int32_t *blocks)
{
    if (after >= 0) {
        const uint32_t begin = (uint32_t)after + 1, room = find(g, begin, false) - begin;
        const uint32_t m = room < n ? room : n;
        take(g, begin, m, blocks);
        blocks += m;
        n -= m;
    }
    if (n == 0)
        return;
    const struct range longest = longest_range(g, g->n_blocks);
    if (longest.end - longest.begin < n)
        take_fragmented(g, longest.end - longest.begin, n, blocks);
    else
        take(g, place(g, longest, n), n, blocks);
}

static quire_status check_list(const struct quire_kv_cache *kv, uint32_t group, const void *list,
                               size_t n, struct quire_error *err)
{
    QR_TRY(qr_kv_check_group(kv, group, err));
    if (n && !list)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "blocks is NULL");
    return QUIRE_OK;
}

static quire_status check_room(const struct qr_kv_group *g, int32_t after, size_t n,
                               struct quire_error *err)
{
    if (after < -1 || (after >= 0 && (uint32_t)after >= g->n_blocks))
        return qr_fail(err, QUIRE_E_RANGE, "after %d is outside the pool of %u blocks", after,
                       g->n_blocks);
    if (n > g->n_blocks)
        return qr_fail(err, QUIRE_E_LIMIT, "%zu blocks requested, the pool has %u", n, g->n_blocks);
    if (n > g->n_free)
        return qr_fail(err, QUIRE_E_AGAIN, "%zu blocks requested, %u of %u are free", n, g->n_free,
                       g->n_blocks);
    return QUIRE_OK;
}

quire_status quire_kv_alloc(struct quire_kv_cache *kv, uint32_t group, int32_t after, size_t n,
                            int32_t *blocks, struct quire_error *err)
{
    QR_TRY(check_list(kv, group, blocks, n, err));
    struct qr_kv_group *g = &kv->groups[group];
    QR_TRY(qr_kv_begin_update(kv, err));
    const quire_status s = check_room(g, after, n, err);
    if (s == QUIRE_OK)
        take_blocks(g, after, (uint32_t)n, blocks);
    qr_kv_end_update(kv);
    return s;
}

/* Adds a reference to each block, or to none on failure. */
static quire_status add_refs(struct qr_kv_group *g, const int32_t *blocks, size_t n,
                             struct quire_error *err)
{
    for (size_t i = 0; i < n; i++) {
        quire_status s = qr_kv_check_block(g, "blocks", i, blocks[i], 1, UINT32_MAX, err);
        if (s == QUIRE_OK && g->ref_counts[blocks[i]] == UINT32_MAX)
            s = qr_fail(err, QUIRE_E_LIMIT, "blocks[%zu]: block %d has too many references", i,
                        blocks[i]);
        if (s != QUIRE_OK) {
            while (i-- > 0)
                g->ref_counts[blocks[i]]--;
            return s;
        }
        g->ref_counts[blocks[i]]++;
    }
    return QUIRE_OK;
}

/* Drops one reference from each block, or from none on failure. A block whose reference count
 * reaches zero returns to the free list. */
static quire_status drop_refs(struct qr_kv_group *g, const int32_t *blocks, size_t n,
                              struct quire_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const quire_status s = qr_kv_check_block(g, "blocks", i, blocks[i], 1, UINT32_MAX, err);
        if (s != QUIRE_OK) {
            while (i-- > 0)
                g->ref_counts[blocks[i]]++;
            return s;
        }
        g->ref_counts[blocks[i]]--;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t b = (uint32_t)blocks[i];
        const uint64_t bit = (uint64_t)1 << b % 64;
        if (g->ref_counts[b] ||
            (g->free_bits[b / 64] & bit)) /* in use, or freed by an earlier entry */
            continue;
        g->free_bits[b / 64] |= bit;
        g->n_free++;
    }
    return QUIRE_OK;
}

quire_status quire_kv_retain(struct quire_kv_cache *kv, uint32_t group, const int32_t *blocks,
                             size_t n, struct quire_error *err)
{
    QR_TRY(check_list(kv, group, blocks, n, err));
    QR_TRY(qr_kv_begin_update(kv, err));
    const quire_status s = add_refs(&kv->groups[group], blocks, n, err);
    qr_kv_end_update(kv);
    return s;
}

quire_status quire_kv_release(struct quire_kv_cache *kv, uint32_t group, const int32_t *blocks,
                              size_t n, struct quire_error *err)
{
    QR_TRY(check_list(kv, group, blocks, n, err));
    QR_TRY(qr_kv_begin_update(kv, err));
    const quire_status s = drop_refs(&kv->groups[group], blocks, n, err);
    qr_kv_end_update(kv);
    return s;
}

/* Copies a block in all layers and heads, which the pool stores apart. */
static void copy_block(const struct qr_kv_group *g, int32_t src, int32_t dst)
{
    for (uint32_t layer = 0; layer < g->n_layers; layer++)
        for (uint32_t head = 0; head < g->n_kv_heads; head++) {
            const struct qr_kv_head h = qr_kv_head(g, layer, head);
            memcpy(qr_kv_head_block(&h, dst), qr_kv_head_block(&h, src), h.block_bytes);
        }
}

/* The result must not depend on the order of the pairs: a block is written at most once, and not
 * read if it is written. */
static quire_status check_copy(struct qr_kv_group *g, const int32_t *src, const int32_t *dst,
                               size_t n, struct quire_error *err)
{
    const size_t bs = (size_t)g->layout.block_size;
    const uint32_t epoch = qr_kv_next_visit_epoch(g);
    for (size_t i = 0; i < n; i++) {
        QR_TRY(qr_kv_check_block(g, "dst", i, dst[i], 1, 1, err));
        uint32_t *m = &g->visited[(size_t)dst[i] * bs];
        if (*m == epoch)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "dst[%zu] %d appears twice", i, dst[i]);
        *m = epoch;
    }
    for (size_t i = 0; i < n; i++) {
        QR_TRY(qr_kv_check_block(g, "src", i, src[i], 1, UINT32_MAX, err));
        if (g->visited[(size_t)src[i] * bs] == epoch)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "src[%zu] %d is a destination too", i, src[i]);
    }
    return QUIRE_OK;
}

quire_status quire_kv_copy(struct quire_kv_cache *kv, uint32_t group, const int32_t *src,
                           const int32_t *dst, size_t n, struct quire_error *err)
{
    QR_TRY(qr_kv_check_group(kv, group, err));
    if (n && (!src || !dst))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", src ? "dst" : "src");
    struct qr_kv_group *g = &kv->groups[group];
    QR_TRY(qr_kv_begin_update(kv, err));
    const quire_status s = check_copy(g, src, dst, n, err);
    for (size_t i = 0; s == QUIRE_OK && i < n; i++)
        copy_block(g, src[i], dst[i]);
    qr_kv_end_update(kv);
    return s;
}

/* Copy-on-write: replaces *block by a copy unless it has a single reference. */
static quire_status make_writable(struct qr_kv_group *g, int32_t after, int32_t *block,
                                  struct quire_error *err)
{
    const int32_t old = *block;
    QR_TRY(qr_kv_check_block(g, "block", 0, old, 1, UINT32_MAX, err));
    if (g->ref_counts[old] == 1)
        return QUIRE_OK;
    QR_TRY(check_room(g, after, 1, err));
    take_blocks(g, after, 1, block);
    copy_block(g, old, *block);
    g->ref_counts[old]--;
    return QUIRE_OK;
}

quire_status quire_kv_make_writable(struct quire_kv_cache *kv, uint32_t group, int32_t after,
                                    int32_t *block, struct quire_error *err)
{
    QR_TRY(qr_kv_check_group(kv, group, err));
    if (!block)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "block is NULL");
    QR_TRY(qr_kv_begin_update(kv, err));
    const quire_status s = make_writable(&kv->groups[group], after, block, err);
    qr_kv_end_update(kv);
    return s;
}

size_t quire_kv_free_block_count(const struct quire_kv_cache *kv, uint32_t group)
{
    return qr_handle_is(kv, QR_KIND_KV_CACHE) && group < kv->n_groups ? kv->groups[group].n_free
                                                                      : 0;
}

uint32_t quire_kv_ref_count(const struct quire_kv_cache *kv, uint32_t group, int32_t block)
{
    if (!qr_handle_is(kv, QR_KIND_KV_CACHE) || group >= kv->n_groups || block < 0 ||
        (uint32_t)block >= kv->groups[group].n_blocks)
        return 0;
    return kv->groups[group].ref_counts[block];
}
