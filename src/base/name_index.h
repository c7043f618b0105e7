/* SPDX-License-Identifier: Apache-2.0 */
/* name_index.h - hash index over the names of a file, safe against prepared collisions. */
#ifndef QR_BASE_NAME_INDEX_H
#define QR_BASE_NAME_INDEX_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns name i of the owner, not NUL-terminated, and its length in bytes. */
typedef const char *(*qr_name_fn)(const void *owner, uint32_t i, size_t *len);

/* Open addressing. Stores name numbers only, 8 to 16 bytes per name; the names stay with the owner.
 * The hash is keyed with a random seed per index, so a file cannot be prepared to make names
 * collide. */
struct qr_name_index {
    uint32_t *slots; /* name number + 1; 0 = free */
    size_t n_slots;  /* a power of two */
    uint64_t seed;
};

/* False without memory, or if n_names >= UINT32_MAX. */
bool qr_name_index_init(struct qr_name_index *x, size_t n_names, const struct quire_allocator *a);
void qr_name_index_free(struct qr_name_index *x, const struct quire_allocator *a);

/* Adds name i < n_names. Returns i, or the number of an equal name that was added before. */
uint32_t qr_name_index_add(struct qr_name_index *x, const void *owner, qr_name_fn name, uint32_t i);

bool qr_name_index_find(const struct qr_name_index *x, const void *owner, qr_name_fn name,
                        const char *key, size_t key_len, uint32_t *i);

#endif
