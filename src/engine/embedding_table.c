/* SPDX-License-Identifier: Apache-2.0 */
/* embedding_table.c - ids of the embedding rows in prompts: a hash table by content. */
#include "engine/embedding_table.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include <string.h>

enum { INITIAL_ROWS = 64, MAX_ROWS = 1 << 30 };

struct qr_embedding_row {
    struct qr_prefix_hash hash;
    uint64_t salt;
    struct qr_embedding_row *next; /* in its bucket */
    uint32_t n_refs;
    int32_t id;
    float values[]; /* [hidden_size] */
};

static size_t row_bytes(const struct qr_embedding_table *t)
{
    return sizeof(struct qr_embedding_row) + (size_t)t->hidden_size * sizeof(float);
}

quire_status qr_embedding_table_init(struct qr_embedding_table *t, uint32_t hidden_size,
                                     const struct quire_allocator *allocator,
                                     struct quire_error *err)
{
    *t = (struct qr_embedding_table){ .allocator = allocator,
                                      .hidden_size = hidden_size,
                                      .hash_bits = 128 };
    qr_prefix_hash_secret(NULL, t->secret);
    const int error = pthread_mutex_init(&t->lock, NULL);
    t->lock_ready = error == 0;
    return error ? qr_fail_errno(err, QUIRE_E_NOMEM, error, "no lock for embeddings") : QUIRE_OK;
}

static void free_arrays(const struct qr_embedding_table *t)
{
    qr_free(t->allocator, t->rows, t->capacity, sizeof *t->rows);
    qr_free(t->allocator, t->buckets, t->capacity, sizeof *t->buckets);
    qr_free(t->allocator, t->free_slots, t->capacity, sizeof *t->free_slots);
}

void qr_embedding_table_free(struct qr_embedding_table *t)
{
    for (uint32_t i = 0; i < t->capacity; i++)
        qr_free(t->allocator, t->rows[i], row_bytes(t), 1);
    free_arrays(t);
    if (t->lock_ready)
        pthread_mutex_destroy(&t->lock);
    *t = (struct qr_embedding_table){ 0 };
}

/* The salt spreads equal rows of many clients over the buckets. */
static struct qr_embedding_row **bucket(const struct qr_embedding_table *t,
                                        struct qr_prefix_hash hash, uint64_t salt)
{
    return &t->buckets[(hash.low ^ qr_hash_u64(hash.high, salt)) & (t->capacity - 1)];
}

static void link_row(struct qr_embedding_table *t, struct qr_embedding_row *row)
{
    struct qr_embedding_row **first = bucket(t, row->hash, row->salt);
    row->next = *first;
    *first = row;
}

static void unlink_row(struct qr_embedding_table *t, const struct qr_embedding_row *row)
{
    struct qr_embedding_row **at = bucket(t, row->hash, row->salt);
    while (*at != row)
        at = &(*at)->next;
    *at = row->next;
}

/* Doubles the capacity, a power of two; false without memory. */
static bool grow(struct qr_embedding_table *t)
{
    const struct quire_allocator *a = t->allocator;
    struct qr_embedding_table larger = *t;
    larger.capacity = t->capacity ? t->capacity * 2 : INITIAL_ROWS;
    larger.rows = qr_calloc(a, larger.capacity, sizeof *larger.rows);
    larger.buckets = qr_calloc(a, larger.capacity, sizeof *larger.buckets);
    larger.free_slots = qr_alloc(a, larger.capacity, sizeof *larger.free_slots);
    if (!larger.rows || !larger.buckets || !larger.free_slots) {
        free_arrays(&larger);
        return false;
    }
    /* it is full: every slot has a row */
    for (uint32_t i = 0; i < t->capacity; i++) {
        larger.rows[i] = t->rows[i];
        link_row(&larger, t->rows[i]);
    }
    larger.n_free = 0;
    for (uint32_t slot = larger.capacity; slot-- > t->capacity;)
        larger.free_slots[larger.n_free++] = slot;
    free_arrays(t);
    t->rows = larger.rows;
    t->buckets = larger.buckets;
    t->free_slots = larger.free_slots;
    t->n_free = larger.n_free;
    t->capacity = larger.capacity;
    return true;
}

static struct qr_embedding_row *find(const struct qr_embedding_table *t, const float *values,
                                     uint64_t salt, struct qr_prefix_hash hash)
{
    struct qr_embedding_row *row = t->capacity ? *bucket(t, hash, salt) : NULL;
    while (row && (row->hash.low != hash.low || row->hash.high != hash.high || row->salt != salt ||
                   memcmp(row->values, values, t->hidden_size * sizeof *values) != 0))
        row = row->next;
    return row;
}

/* Adds a row without references; NULL without memory. */
static struct qr_embedding_row *insert(struct qr_embedding_table *t, const float *values,
                                       uint64_t salt, struct qr_prefix_hash hash)
{
    if (t->n_free == 0 && !grow(t))
        return NULL;
    struct qr_embedding_row *row = qr_alloc(t->allocator, row_bytes(t), 1);
    if (!row)
        return NULL;
    const uint32_t slot = t->free_slots[--t->n_free];
    *row = (struct qr_embedding_row){ .hash = hash, .salt = salt, .id = -2 - (int32_t)slot };
    memcpy(row->values, values, t->hidden_size * sizeof *values);
    t->rows[slot] = row;
    t->n_rows++;
    link_row(t, row);
    return row;
}

quire_status qr_embedding_table_add(struct qr_embedding_table *t, const float *values,
                                    uint64_t salt, int32_t *id, const float **row,
                                    struct quire_error *err)
{
    const struct qr_prefix_hash hash =
        qr_prefix_hash(t->secret, values, t->hidden_size * sizeof *values, t->hash_bits);
    pthread_mutex_lock(&t->lock);
    const bool full = t->n_rows == MAX_ROWS;
    struct qr_embedding_row *found = find(t, values, salt, hash);
    if (!found && !full)
        found = insert(t, values, salt, hash);
    if (found) {
        found->n_refs++;
        *id = found->id;
        *row = found->values;
    }
    pthread_mutex_unlock(&t->lock);
    if (found)
        return QUIRE_OK;
    return full ? qr_fail(err, QUIRE_E_LIMIT, "%d embedding rows are in use", MAX_ROWS)
                : qr_fail(err, QUIRE_E_NOMEM, "no memory for an embedding row of %u floats",
                          t->hidden_size);
}

static uint32_t skip_tokens(const int32_t *ids, uint32_t n, uint32_t at)
{
    while (at < n && ids[at] >= QR_EMBEDDING_TOKEN)
        at++;
    return at;
}

void qr_embedding_table_retain(struct qr_embedding_table *t, const int32_t *ids, uint32_t n)
{
    uint32_t at = skip_tokens(ids, n, 0);
    if (at == n)
        return;
    pthread_mutex_lock(&t->lock);
    for (; at < n; at = skip_tokens(ids, n, at + 1))
        t->rows[-2 - ids[at]]->n_refs++;
    pthread_mutex_unlock(&t->lock);
}

void qr_embedding_table_release(struct qr_embedding_table *t, const int32_t *ids, uint32_t n)
{
    uint32_t at = skip_tokens(ids, n, 0);
    if (at == n)
        return;
    pthread_mutex_lock(&t->lock);
    for (; at < n; at = skip_tokens(ids, n, at + 1)) {
        const uint32_t slot = (uint32_t)(-2 - ids[at]);
        struct qr_embedding_row *row = t->rows[slot];
        if (--row->n_refs)
            continue;
        unlink_row(t, row);
        t->rows[slot] = NULL;
        t->free_slots[t->n_free++] = slot;
        t->n_rows--;
        qr_free(t->allocator, row, row_bytes(t), 1);
    }
    pthread_mutex_unlock(&t->lock);
}
