/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cache.h - allocates a whole KV cache to sequences and fills it with random rows. */
#ifndef QUIRE_BENCH_BENCH_CACHE_H
#define QUIRE_BENCH_BENCH_CACHE_H
#include "bench.h"

enum { BENCH_MAX_GROUPS = 64 };

/* Block tables of all sequences of a cache. Every block of every KV group is allocated,
 * max_blocks per sequence; all groups have the same table. */
struct bench_tables {
    uint32_t n_seqs, max_blocks, block_size;
    int32_t *ids; /* [n_seqs][max_blocks] */
};

/* Allocates all n_seqs * max_blocks blocks of each group. shuffle: block ids in random order;
 * otherwise the ids of a sequence are consecutive. */
quire_status bench_tables_open(struct bench_tables *t, struct quire_kv_cache *kv, uint32_t n_seqs,
                               uint32_t max_blocks, bool shuffle, uint64_t seed,
                               struct quire_error *err);
void bench_tables_close(struct bench_tables *t);
/* Slot of a position, as in slot_mapping. */
int64_t bench_slot(const struct bench_tables *t, uint32_t seq, uint32_t position);

/* Writes random rows of about unit variance to positions [0, n) of a sequence, in all groups and
 * layers. */
quire_status bench_cache_fill(struct quire_kv_cache *kv, const struct bench_tables *t, uint32_t seq,
                              uint32_t n, uint64_t seed, struct quire_threads *threads,
                              struct quire_error *err);

/* Gets pair k of KV dtypes from -ctk and -ctv. Returns 1, 0 past the end, or -1 with a message
 * on stderr if a name is unknown. */
int bench_kv_types(const struct bench_options *o, const char *dflt, unsigned k,
                   enum quire_kv_dtype *k_type, enum quire_kv_dtype *v_type);
size_t bench_kv_elem_bytes(enum quire_kv_dtype dtype);
/* Bytes of n elements in the cache, including the scale of an int8 row. */
size_t bench_kv_row_bytes(enum quire_kv_dtype dtype, size_t n);

#endif
