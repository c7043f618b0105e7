/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cache.h - block tables over a whole cache, and random rows in it. */
#ifndef QUIRE_BENCH_BENCH_CACHE_H
#define QUIRE_BENCH_BENCH_CACHE_H
#include "bench.h"

enum { BENCH_MAX_GROUPS = 64 };

/* Sequences that share a cache: every block of every group is handed out, max_blocks to each sequence. Sequences have
 * the same table in all groups. */
struct bench_tables {
    uint32_t n_seqs, max_blocks, block_size;
    int32_t *ids; /* [n_seqs][max_blocks] */
};

/* Takes all n_seqs * max_blocks blocks of each group. shuffle: in random order, else each sequence gets a run. */
quire_status bench_tables_open(struct bench_tables *t, struct quire_kv_cache *kv, uint32_t n_seqs,
                               uint32_t max_blocks, bool shuffle, uint64_t seed,
                               struct quire_error *err);
void bench_tables_close(struct bench_tables *t);
int64_t bench_slot(const struct bench_tables *t, uint32_t seq, uint32_t position);

/* Writes rows of about unit variance to positions [0, n) of a sequence, in all groups and layers. */
quire_status bench_cache_fill(struct quire_kv_cache *kv, const struct bench_tables *t, uint32_t seq,
                              uint32_t n, uint64_t seed, struct quire_threads *threads,
                              struct quire_error *err);

/* The k-th pair of KV dtypes of -ctk and -ctv: 1 = there is one, 0 = no more, -1 = a name is unknown (said). */
int bench_kv_types(const struct bench_options *o, const char *dflt, unsigned k,
                   enum quire_kv_dtype *k_type, enum quire_kv_dtype *v_type);
size_t bench_kv_elem_bytes(enum quire_kv_dtype dtype);
/* Of n elements in the cache, with the scale of an int8 row. */
size_t bench_kv_row_bytes(enum quire_kv_dtype dtype, size_t n);

#endif
