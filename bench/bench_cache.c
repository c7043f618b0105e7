/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cache.c - allocates a whole KV cache to sequences and fills it with random rows. */
#include "bench_cache.h"
#include "bench_stats.h"
#include "kv/dtype.h"
#include <stdlib.h>
#include <string.h>

quire_status bench_tables_open(struct bench_tables *t, struct quire_kv_cache *kv, uint32_t n_seqs,
                               uint32_t max_blocks, bool shuffle, uint64_t seed,
                               struct quire_error *err)
{
    const size_t n = (size_t)n_seqs * max_blocks;
    *t = (struct bench_tables){ n_seqs, max_blocks, quire_kv_block_size(kv),
                                malloc(n * sizeof *t->ids) };
    if (!t->ids)
        return QUIRE_E_NOMEM;
    for (uint32_t g = 0; g < quire_kv_group_count(kv); g++) {
        const quire_status s =
            quire_kv_alloc(kv, g, -1, n, t->ids, err); /* all blocks: 0, 1, 2, ... */
        if (s != QUIRE_OK)
            return s;
    }
    for (size_t i = n - 1; shuffle && i > 0; i--) {
        const size_t k = bench_random(&seed) % (i + 1);
        const int32_t id = t->ids[i];
        t->ids[i] = t->ids[k];
        t->ids[k] = id;
    }
    return QUIRE_OK;
}

void bench_tables_close(struct bench_tables *t)
{
    free(t->ids);
    *t = (struct bench_tables){ 0 };
}

int64_t bench_slot(const struct bench_tables *t, uint32_t seq, uint32_t position)
{
    const int32_t block = t->ids[(size_t)seq * t->max_blocks + position / t->block_size];
    return (int64_t)block * t->block_size + position % t->block_size;
}

/* ---- random rows */

enum { FILL_TOKENS = 512, FILL_SOURCE = 2 * FILL_TOKENS };

/* Fills one layer with chunks of the random rows in `source`, each from a random first row. */
static quire_status fill_layer(struct quire_kv_cache *kv, struct quire_kv_write_args *args,
                               const float *source, size_t row, const int64_t *slots, uint32_t n,
                               uint64_t *rng, struct quire_threads *threads,
                               struct quire_error *err)
{
    quire_status s = QUIRE_OK;
    for (uint32_t done = 0; done < n && s == QUIRE_OK; done += FILL_TOKENS) {
        args->n_tokens = n - done < FILL_TOKENS ? n - done : FILL_TOKENS;
        args->k = source + bench_random(rng) % FILL_TOKENS * row;
        args->v = source + bench_random(rng) % FILL_TOKENS * row;
        args->slot_mapping = slots + done;
        s = quire_kv_write(kv, args, threads, err);
    }
    return s;
}

static quire_status fill_group(struct quire_kv_cache *kv, uint32_t group, const int64_t *slots,
                               uint32_t n, uint64_t *rng, struct quire_threads *threads,
                               struct quire_error *err)
{
    struct quire_kv_group_config g;
    quire_status s = quire_kv_get_group(kv, group, &g, err);
    if (s != QUIRE_OK)
        return s;
    const size_t widest = g.head_size > g.v_head_size ? g.head_size : g.v_head_size,
                 row = g.n_kv_heads * widest;
    float *source = malloc(FILL_SOURCE * row * sizeof *source);
    for (size_t i = 0; source && i < FILL_SOURCE * row; i++)
        source[i] = bench_random_float(rng) + bench_random_float(rng) + bench_random_float(rng);
    struct quire_kv_write_args args = { .struct_size = sizeof args,
                                        .group = group,
                                        .dtype = QUIRE_KV_F32,
                                        .k_token_stride = row,
                                        .k_head_stride = widest,
                                        .v_token_stride = row,
                                        .v_head_stride = widest };
    for (args.layer = 0; source && args.layer < g.n_layers && s == QUIRE_OK; args.layer++)
        s = fill_layer(kv, &args, source, row, slots, n, rng, threads, err);
    free(source);
    return source ? s : QUIRE_E_NOMEM;
}

quire_status bench_cache_fill(struct quire_kv_cache *kv, const struct bench_tables *t, uint32_t seq,
                              uint32_t n, uint64_t seed, struct quire_threads *threads,
                              struct quire_error *err)
{
    if (n == 0)
        return QUIRE_OK;
    uint64_t rng = seed * 2654435761u + seq + 1;
    quire_status s = QUIRE_OK;
    int64_t *slots = malloc(n * sizeof *slots);
    for (uint32_t i = 0; slots && i < n; i++)
        slots[i] = bench_slot(t, seq, i);
    for (uint32_t g = 0; slots && g < quire_kv_group_count(kv) && s == QUIRE_OK; g++)
        s = fill_group(kv, g, slots, n, &rng, threads, err);
    free(slots);
    return slots ? s : QUIRE_E_NOMEM;
}

/* ---- dtypes */

static bool word_at(const char *text, unsigned k, char *out, size_t size)
{
    bool ok = bench_next_word(&text, out, size);
    while (ok && k--)
        ok = bench_next_word(&text, out, size);
    return ok;
}

int bench_kv_types(const struct bench_options *o, const char *dflt, unsigned k,
                   enum quire_kv_dtype *k_type, enum quire_kv_dtype *v_type)
{
    char name[16];
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!word_at(o->k_types ? o->k_types : dflt, k, name, sizeof name))
        return 0;
    quire_status s = quire_kv_dtype_parse(name, k_type, &err);
    *v_type = *k_type;
    if (s == QUIRE_OK && o->v_types && word_at(o->v_types, k, name, sizeof name))
        s = quire_kv_dtype_parse(name, v_type, &err);
    return s == QUIRE_OK ? 1 : (bench_fail("-ctk, -ctv", s, &err), -1);
}

size_t bench_kv_elem_bytes(enum quire_kv_dtype dtype) { return qr_kv_dtype(dtype)->bytes; }

size_t bench_kv_row_bytes(enum quire_kv_dtype dtype, size_t n)
{
    const struct qr_kv_dtype *d = qr_kv_dtype(dtype);
    return qr_kv_row_bytes(d, n) + (d->scaling == QR_KV_ROW_SCALE ? sizeof(float) : 0);
}
