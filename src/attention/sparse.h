/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.h - sparse block lists: the blocks that a sequence and KV head attend to. */
#ifndef QR_ATTENTION_SPARSE_H
#define QR_ATTENTION_SPARSE_H
#include "attention/types.h"

/* The plan's list of a sequence and KV head; NULL = all blocks. The lists of the following heads
 * are adjacent. */
static inline const struct quire_sparse_list *qr_sparse_list(const struct qr_plan_group *g,
                                                             uint32_t seq, uint32_t kv_head)
{
    return g->sparse ? &g->sparse_lists[(size_t)seq * g->config.n_kv_heads + kv_head] : NULL;
}

/* The batch's lists of sequence i, one per KV head, or NULL. */
static inline const struct quire_sparse_list *qr_sparse_batch_lists(
    const struct quire_attention_batch *b, const struct qr_plan_group *g, uint32_t i)
{
    const struct quire_sparse_list *lists = b->sparse ? b->sparse[g->kv_group] : NULL;
    return lists ? lists + (size_t)i * g->config.n_kv_heads : NULL;
}

/* Bit mask of the keys in the tile of 64 keys at `key` that lie in listed blocks; list NULL:
 * all. */
uint64_t qr_sparse_tile_mask(const struct quire_sparse_list *list, uint32_t block_size,
                             uint32_t key);

/* Whether a listed block holds a key of [lo, hi), which must not be empty. */
bool qr_sparse_any(const struct quire_sparse_list *list, uint32_t block_size, uint32_t lo,
                   uint32_t hi);

struct qr_sparse_count {
    uint32_t keys, spans; /* spans: spans of 512 keys with a listed key */
};
/* Counts the listed keys and spans of a range, which must not be empty. */
struct qr_sparse_count qr_sparse_count(const struct quire_sparse_list *list, uint32_t block_size,
                                       struct qr_key_range range);

/* Sets the bit of every listed block in [begin, end); bit 0 is block begin. */
void qr_sparse_mark(const struct quire_sparse_list *list, uint32_t begin, uint32_t end,
                    uint64_t *bits);

#endif
