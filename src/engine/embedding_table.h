/* SPDX-License-Identifier: Apache-2.0 */
/* embedding_table.h - ids of the embedding rows in prompts, for the prefix cache.
 *
 * The prefix index compares token ids. A row of floats takes part under a negative id that stands
 * for its content: rows have one id if and only if their bytes and the salts of their clients are
 * equal. Rows are found by a keyed XXH3-128 and compared byte by byte. Requests and nodes of the
 * index hold references; an id is given to another row only when nothing refers to it. So the bytes
 * of a row stay in memory as long as keys and values computed from it are cached.
 *
 * Thread-safe: requests are submitted while steps run. */
#ifndef QR_ENGINE_EMBEDDING_TABLE_H
#define QR_ENGINE_EMBEDDING_TABLE_H
#include "engine/prefix_hash.h"
#include <pthread.h>
#include <quire/status.h>
#include <stdbool.h>

/* What callers see in place of an id. */
enum { QR_EMBEDDING_TOKEN = -1 };

struct qr_embedding_row;

struct qr_embedding_table {
    const struct quire_allocator *allocator;
    uint32_t hidden_size; /* floats per row */
    uint32_t hash_bits;   /* 1 .. 128 = normal; few bits test collisions */
    unsigned char secret[QR_PREFIX_SECRET_BYTES];
    /* protected by `lock` */
    pthread_mutex_t lock;
    bool lock_ready;
    uint32_t capacity, n_rows, n_free;
    struct qr_embedding_row **rows;    /* [capacity] by slot; id = -2 - slot */
    struct qr_embedding_row **buckets; /* [capacity] lists of rows by hash */
    uint32_t *free_slots;              /* [n_free] */
};

/* Initializes an empty table, which allocates with its first row. QUIRE_E_NOMEM. */
quire_status qr_embedding_table_init(struct qr_embedding_table *t, uint32_t hidden_size,
                                     const struct quire_allocator *allocator,
                                     struct quire_error *err);
/* Frees all rows, whatever refers to them; safe on zeroes. */
void qr_embedding_table_free(struct qr_embedding_table *t);

/* Returns the id of a row of this content, with one more reference, and the table's copy of the
 * row, valid as long as the reference. QUIRE_E_NOMEM; QUIRE_E_LIMIT 2^30 rows. */
quire_status qr_embedding_table_add(struct qr_embedding_table *t, const float *values,
                                    uint64_t salt, int32_t *id, const float **row,
                                    struct quire_error *err);

/* Add and drop one reference per id of a row among ids[n]; other entries are ignored. */
void qr_embedding_table_retain(struct qr_embedding_table *t, const int32_t *ids, uint32_t n);
void qr_embedding_table_release(struct qr_embedding_table *t, const int32_t *ids, uint32_t n);

#endif
