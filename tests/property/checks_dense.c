/* SPDX-License-Identifier: Apache-2.0 */
/* checks_dense.c - attention over contiguous keys, and merged results of key shards. */
#include "checks.h"
#include <math.h>
#include <quire/attention_dense.h>
#include <quire/attention_merge.h>
#include <quire/cpu.h>
#include <stdlib.h>
#include <string.h>

/* ---- contiguous keys and values */

bool has_plain_keys(const struct problem *s)
{
    const bool is_float =
        s->k_dtype == QUIRE_KV_F32 || s->k_dtype == QUIRE_KV_BF16 || s->k_dtype == QUIRE_KV_F16;
    return is_float && s->k_dtype == s->v_dtype && !s->latent &&
           (!s->is_sparse || s->block_size == 64);
}

/* Arrays of a dense batch of all sequences. */
struct dense_arrays {
    int32_t starts[MAX_SEQS + 1], kv_starts[MAX_SEQS + 1], kv_lens[MAX_SEQS + 1],
        lens[MAX_SEQS + 1], span_loc[MAX_SEQS + 1];
    bool causal[MAX_SEQS + 1];
    struct quire_token_range spans[MAX_SEQS * MAX_SPANS];
    struct quire_sparse_list lists[MAX_SEQS * MAX_KV_HEADS + 1];
    uint64_t *tree;
};

static void fill_arrays(const struct problem *s, struct dense_arrays *a)
{
    memset(a, 0, sizeof *a);
    a->tree = malloc((s->n_rows + 1) * TREE_WORDS * sizeof *a->tree);
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        const struct sequence *q = &s->seqs[i];
        a->starts[i + 1] = (int32_t)(q->row + q->n_new);
        a->kv_starts[i] = (int32_t)q->key;
        a->kv_lens[i] = (int32_t)q->n_keys;
        a->lens[i] = (int32_t)q->len;
        a->causal[i] = q->causal;
        a->span_loc[i + 1] = a->span_loc[i] + (int32_t)q->n_spans;
        memcpy(a->spans + a->span_loc[i], q->spans, q->n_spans * sizeof *a->spans);
        memcpy(a->lists + i * s->config.n_kv_heads, q->lists,
               s->config.n_kv_heads * sizeof *a->lists);
        for (uint32_t t = 0; s->has_tree && t < q->n_new; t++)
            memcpy(a->tree + (size_t)(q->row + t) * s->tree_words, q->tree[t],
                   s->tree_words * sizeof *a->tree);
    }
}

static bool run_dense(const struct problem *s, const struct dense_arrays *a, const void *k,
                      const void *v, const void *q, struct result *got, uint32_t threads)
{
    const bool cross = s->config.kind == QUIRE_ATTENTION_CROSS;
    const struct quire_dense_params params = { .struct_size = sizeof params,
                                               .dtype = s->k_dtype,
                                               .config = &s->config,
                                               .max_tokens = s->n_rows + 1,
                                               .max_kv_tokens = s->n_keys + 1,
                                               .max_seqs = MAX_SEQS,
                                               .max_seq_len = 2000,
                                               .n_threads = threads,
                                               .max_spans = MAX_SEQS * MAX_SPANS,
                                               .max_tree_tokens = s->n_rows + 1,
                                               .max_tree_words = s->tree_words,
                                               .max_sparse_blocks =
                                                   MAX_SEQS * MAX_KV_HEADS * MAX_PLACES,
                                               .isa = quire_cpu_level_name(s->level) };
    const struct quire_dense_batch batch = { .struct_size = sizeof batch,
                                             .n_seqs = s->n_seqs,
                                             .query_start_loc = a->starts,
                                             .kv_start_loc = a->kv_starts,
                                             .kv_lens = a->kv_lens,
                                             .seq_lens = cross ? a->lens : NULL,
                                             .causal = s->own_causal ? a->causal : NULL,
                                             .span_loc = s->has_spans ? a->span_loc : NULL,
                                             .spans = s->has_spans ? a->spans : NULL,
                                             .tree_mask = s->has_tree ? a->tree : NULL,
                                             .tree_words = s->tree_words,
                                             .sparse = s->is_sparse ? a->lists : NULL,
                                             .dtype = s->write_dtype,
                                             .k = k,
                                             .v = v };
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = q,
                                               .q_dtype = s->q_dtype,
                                               .q_scale = s->q_scale,
                                               .out = got->out,
                                               .lse = got->lse };
    struct quire_dense *dense;
    must(quire_dense_create(&params, &dense, &err));
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status =
        quire_attention_dense(dense, &batch, &args, threads > 1 ? team_of(threads) : NULL, &err);
    quire_dense_destroy(dense);
    return status == QUIRE_OK || failure("quire_attention_dense: %s", err.msg);
}

bool contiguous_keys(const struct problem *s, const struct result *base, struct rng *r)
{
    const struct quire_attention_config *c = &s->config;
    const size_t n = (size_t)s->n_keys * c->n_kv_heads;
    struct dense_arrays a;
    fill_arrays(s, &a);
    void *k = number_rows(s->write_dtype, s->k, n * c->head_size),
         *v = number_rows(s->write_dtype, s->v, n * s->v_size),
         *q = number_rows(s->q_dtype, s->q, (size_t)s->n_rows * c->n_heads * c->head_size);
    struct result got = result_new(s);
    bool ok = run_dense(s, &a, k, v, q, &got, rng_in(r, 1, 3));
    if (ok && (memcmp(got.out, base->out, got.n_out * sizeof *got.out) ||
               memcmp(got.lse, base->lse, got.n_lse * sizeof *got.lse)))
        ok = failure("bits differ from paged attention");
    result_free(&got);
    free(k), free(v), free(q), free(a.tree);
    return ok;
}

/* ---- shards */

bool can_be_cut(const struct problem *s) { return !s->is_sparse && s->n_rows; }

/* One share of the keys: a problem and how to run it. */
struct shard {
    struct problem problem;
    struct variant variant;
};

enum { MAX_SHARDS = 9 };

/* Assigns the blocks of every sequence to shards at random, as sparse block lists. */
static void assign_blocks(struct shard *shards, uint32_t n, struct rng *r)
{
    for (uint32_t i = 0; i < shards[0].problem.n_seqs; i++)
        for (uint32_t j = 0; j < MAX_PLACES; j++) {
            const uint32_t owner = rng_below(r, n);
            for (uint32_t p = 0; p < n; p++)
                for (uint32_t h = 0; h < shards[p].problem.config.n_kv_heads; h++) {
                    struct sequence *q = &shards[p].problem.seqs[i];
                    if (j == 0)
                        q->lists[h] = (struct quire_sparse_list){ q->places[h], 0 };
                    if (p == owner)
                        q->places[h][q->lists[h].n++] = (int32_t)j;
                }
        }
}

/* Merged results differ in their last bits; sinks are applied in the merge. Weights rounded to bf16
 * have a relative error of up to 2^-8 on both sides. */
static bool close_enough(const struct problem *s, const struct result *got,
                         const struct result *want)
{
    const double gate = oracle_has_8_bits(s) ? 5e-2 : oracle_rounds_p(s) ? 8e-3 : 2e-5;
    for (size_t i = 0; i < got->n_out; i++)
        if (!(fabs((double)got->out[i] - (double)want->out[i]) <= gate * s->max_v))
            return failure("out[%zu] of shards is %.9g, was %.9g (largest value %.4g)", i,
                           (double)got->out[i], (double)want->out[i], s->max_v);
    for (size_t i = 0; i < got->n_lse; i++)
        if (got->lse[i] != want->lse[i] &&
            !(fabs((double)got->lse[i] - (double)want->lse[i]) <= (gate > 1e-3 ? 1e-3 : 1e-4)))
            return failure("lse[%zu] of shards is %.9g, was %.9g", i, (double)got->lse[i],
                           (double)want->lse[i]);
    return true;
}

/* Shards without sinks, which the merge applies. The caller frees them. */
static struct shard *shards_new(const struct problem *s, uint32_t n)
{
    struct shard *shards = malloc(n * sizeof *shards);
    for (uint32_t p = 0; p < n; p++) {
        shards[p].problem = *s;
        shards[p].problem.config.sinks = NULL;
        shards[p].problem.config.typed_sinks = NULL;
        shards[p].variant = variant_default(s);
    }
    return shards;
}

/* Runs the shards and compares their merged result with that of all keys. */
static bool check_shards(const struct problem *s, const struct shard *shards, uint32_t n,
                         const struct result *base)
{
    struct result parts[MAX_SHARDS], got = result_new(s);
    struct quire_attention_partial pointers[MAX_SHARDS];
    const struct part whole = part_whole(s);
    bool ok = true;
    for (uint32_t p = 0; p < n; p++) {
        parts[p] = result_new(s);
        pointers[p] = (struct quire_attention_partial){ .out = parts[p].out, .lse = parts[p].lse };
        ok = ok && run_problem(&shards[p].problem, &shards[p].variant, &whole, &parts[p]);
    }
    const struct quire_attention_merge_args args = { .struct_size = sizeof args,
                                                     .n_parts = n,
                                                     .parts = pointers,
                                                     .n_tokens = s->n_rows,
                                                     .n_heads = s->config.n_heads,
                                                     .v_head_size = s->v_size,
                                                     .sinks = s->config.sinks,
                                                     .typed_sinks = s->config.typed_sinks,
                                                     .sinks_dtype = s->config.sinks_dtype,
                                                     .out = got.out,
                                                     .lse = got.lse };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (ok && quire_attention_merge(&args, NULL, &err) != QUIRE_OK)
        ok = failure("quire_attention_merge: %s", err.msg);
    ok = ok && close_enough(s, &got, base);
    for (uint32_t p = 0; p < n; p++)
        result_free(&parts[p]);
    result_free(&got);
    return ok;
}

bool merged_shards(const struct problem *s, const struct result *base, struct rng *r)
{
    const uint32_t n = rng_in(r, 1, 4);
    struct shard *shards = shards_new(s, n);
    for (uint32_t p = 0; p < n; p++)
        shards[p].problem.is_sparse = true;
    assign_blocks(shards, n, r);
    const bool ok = check_shards(s, shards, n, base);
    free(shards);
    return ok;
}

static bool shares_keys(const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_seqs; i++)
        if (s->seqs[i].shared)
            return true;
    return false;
}

bool can_be_dealt(const struct problem *s) { return can_be_cut(s) && !s->has_tree; }

/* Context parallelism: positions are dealt to ranks, mostly one at a time. */
bool merged_ranks(const struct problem *s, const struct result *base, struct rng *r)
{
    const uint32_t n = rng_in(r, 1, MAX_SHARDS),
                   interleave = rng_percent(r, 60) ? 1 : rng_in(r, 2, 40);
    const bool cascade = shares_keys(s) && rng_percent(r, 50);
    struct shard *shards = shards_new(s, n);
    for (uint32_t p = 0; p < n; p++) {
        struct variant *v = &shards[p].variant;
        v->cp_world = n;
        v->cp_rank = p;
        v->cp_interleave = interleave;
        v->share = cascade;
        v->flags = cascade ? QUIRE_PLAN_CASCADE : 0;
        v->plan_threads = rng_in(r, 1, 4);
    }
    const bool ok = check_shards(s, shards, n, base);
    free(shards);
    return ok || failure("%u ranks, %u tokens at a time", n, interleave);
}
