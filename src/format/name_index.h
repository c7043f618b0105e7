/* SPDX-License-Identifier: Apache-2.0 */
/* name_index.h - finds names of a file in constant time, also when the file was made to defeat hashing. */
#ifndef QR_FORMAT_NAME_INDEX_H
#define QR_FORMAT_NAME_INDEX_H
#include "base/alloc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives name number i of the owner: its bytes and length. */
typedef const char *(*qr_name_fn)(const void *owner, uint32_t i, size_t *len);

/* Open addressing over the owner's names; stores their numbers only, 8 to 16 bytes per name. The hash is
 * keyed with a random seed per index, so nobody can prepare a file full of colliding names. */
struct qr_name_index {
    uint32_t *slots; /* number + 1; 0 = free */
    size_t n_slots;  /* a power of two */
    uint64_t seed;
};

bool qr_name_index_init(struct qr_name_index *x, size_t n_names, const struct quire_allocator *a);
void qr_name_index_free(struct qr_name_index *x, const struct quire_allocator *a);

/* Adds name number i, below the n_names of init. Returns i, or the number of an equal name added before. */
uint32_t qr_name_index_add(struct qr_name_index *x, const void *owner, qr_name_fn name, uint32_t i);

bool qr_name_index_find(const struct qr_name_index *x, const void *owner, qr_name_fn name,
                        const char *key, size_t key_len, uint32_t *i);

#endif
