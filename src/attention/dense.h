/* SPDX-License-Identifier: Apache-2.0 */
/* dense.h - the object for attention over contiguous keys and values. */
#ifndef QR_ATTENTION_DENSE_H
#define QR_ATTENTION_DENSE_H
#include "base/handle.h"
#include <quire/attention_dense.h>
#include <stdbool.h>

enum { QR_DENSE_BLOCK = 64 }; /* keys per block: the tuned size */

static inline uint32_t qr_dense_blocks(uint32_t keys)
{
    return keys / QR_DENSE_BLOCK + (keys % QR_DENSE_BLOCK != 0);
}

/* Keys of a sequence: rows [row, row + len) of k and v, stored in blocks `block`, block + 1, ... */
struct qr_dense_seq {
    uint32_t row, len, block;
};

/* A private pool, in which every block has one reference, and a plan over it. Block ids and slots
 * of a sequence are consecutive. */
struct quire_dense {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    struct quire_attention_config config;
    uint32_t max_tokens, max_kv_tokens, max_seqs, max_seq_len;
    uint32_t n_seqs, n_tokens;   /* of the current batch */
    bool busy;                   /* atomic */
    struct qr_dense_seq *seqs;   /* [max_seqs] of the current batch */
    struct qr_dense_seq *staged; /* [max_seqs] of the batch under validation */
    int32_t *seq_lens, *kv_lens; /* [max_seqs] of the batch under validation */
    int32_t *table;              /* [max_seqs][blocks per sequence] of the batch under validation */
    int64_t *slots;              /* slot mapping 0, 1, 2, ... of the whole pool */
    size_t bytes;
};

#endif
