/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.h - lists of the blocks that a sequence and KV head attend to. */
#ifndef QR_ATTENTION_SPARSE_H
#define QR_ATTENTION_SPARSE_H
#include "attention/keys.h"

/* Keys of a tile, as bits, that lie in blocks of the list; a list of NULL has all. */
uint64_t qr_sparse_tile(const struct quire_sparse_list *list, uint32_t block_size, uint32_t key);

/* Whether some key of [lo, hi), which is not empty, lies in a block of the list. */
bool qr_sparse_any(const struct quire_sparse_list *list, uint32_t block_size, uint32_t lo,
                   uint32_t hi);

struct qr_sparse_count {
    uint32_t keys, spans; /* of 512 keys with a key of the list in them */
};
/* What of a range, which is not empty, lies in blocks of the list. */
struct qr_sparse_count qr_sparse_count(const struct quire_sparse_list *list, uint32_t block_size,
                                       struct qr_key_range range);

/* Sets the bit of every block of the list in [begin, end); bit 0 is block begin. */
void qr_sparse_mark(const struct quire_sparse_list *list, uint32_t begin, uint32_t end,
                    uint64_t *bits);

#endif
