/* SPDX-License-Identifier: Apache-2.0 */
/* testbed.c - sets up a problem's cache, block tables and plan. */
#include "testbed.h"
#include <quire/cpu.h>
#include <stdlib.h>
#include <string.h>

struct variant variant_default(const struct problem *s)
{
    return (struct variant){ .level = s->level,
                             .block_size = s->block_size,
                             .n_threads = 1,
                             .plan_threads = 1,
                             .flags = QUIRE_PLAN_NO_CASCADE,
                             .shuffle = s->number };
}

struct part part_whole(const struct problem *s)
{
    struct part p = { 0 };
    for (uint32_t i = 0; i < s->n_seqs; i++)
        p.to[i] = s->seqs[i].n_new;
    return p;
}

struct result result_new(const struct problem *s)
{
    struct result r = { .n_lse = (size_t)s->n_rows * s->config.n_heads };
    r.n_out = r.n_lse * s->v_size;
    r.out = malloc(r.n_out * sizeof *r.out + 1);
    r.lse = malloc(r.n_lse * sizeof *r.lse + 1);
    memset(r.out, 0xee, r.n_out * sizeof *r.out);
    memset(r.lse, 0xee, r.n_lse * sizeof *r.lse);
    return r;
}

void result_free(struct result *r) { free(r->out), free(r->lse); }

/* Memory filled with 0xff: NaN in floating types and NaN scales of int8 rows. Unwritten memory must
 * not affect any result. */
static void *poisoned(void *user, size_t size, size_t align)
{
    (void)user;
    void *p = aligned_alloc(align, (size + align - 1) / align * align);
    return p ? memset(p, 0xff, size) : NULL;
}

static void release(void *user, void *p, size_t size)
{
    (void)user, (void)size;
    free(p);
}

static const struct quire_allocator allocator = { NULL, poisoned, release };

static bool open_cache(struct testbed *st)
{
    const struct problem *s = st->problem;
    struct quire_kv_group_config groups[2];
    for (int i = 0; i < 2; i++) /* the unused group has a different shape */
        groups[i] = (struct quire_kv_group_config){
            .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = 3
        };
    groups[s->group] =
        (struct quire_kv_group_config){ .n_layers = s->n_layers,
                                        .n_kv_heads = s->config.n_kv_heads,
                                        .head_size = s->config.head_size,
                                        .v_head_size = s->config.v_head_size,
                                        .k_dtype = s->k_dtype,
                                        .v_dtype = s->v_dtype,
                                        .n_blocks = st->n_blocks,
                                        .k_scale = s->k_scale,
                                        .v_scale = s->v_scale,
                                        .n_k_scales = s->n_k_scales,
                                        .n_v_scales = s->n_v_scales,
                                        .flags = (s->latent ? QUIRE_KV_LATENT : 0) | s->rotation };
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = st->variant.block_size,
                                            .groups = groups,
                                            .n_groups = s->n_groups,
                                            .allocator = &allocator,
                                            .isa = quire_cpu_level_name(st->variant.level) };
    must(quire_kv_create(&config, &st->kv, &err));
    return true;
}

/* Fields that differ from the layer's configuration must have no effect when the call passes
 * one. */
static void set_plan_config(struct testbed *st)
{
    struct quire_attention_config *c = &st->plan_config;
    *c = st->problem->config;
    if (!st->variant.layer_config)
        return;
    c->scale *= 3;
    c->logits_soft_cap = c->logits_soft_cap > 0 ? 0 : 5;
    c->alibi_slopes = c->alibi_slopes ? NULL : st->problem->slopes;
    c->sinks = c->sinks ? NULL : st->problem->sinks;
    c->typed_sinks = NULL;
    c->relative_bias = NULL;
    c->compute = c->compute == QUIRE_COMPUTE_F32 ? QUIRE_COMPUTE_NATIVE : QUIRE_COMPUTE_F32;
}

static bool open_plan(struct testbed *st)
{
    const struct problem *s = st->problem;
    uint32_t longest = 1;
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        const struct sequence *q = &s->seqs[i];
        const uint32_t n = q->len > q->n_keys ? q->len : q->n_keys;
        longest = n > longest ? n : longest;
    }
    set_plan_config(st);
    const struct quire_plan_group group = { .config = &st->plan_config, .kv_group = s->group };
    const struct quire_plan_params params = {
        .struct_size = sizeof params,
        .kv = st->kv,
        .groups = &group,
        .n_groups = 1,
        .max_tokens = s->n_rows ? s->n_rows : 1,
        .max_seqs = s->n_seqs ? s->n_seqs : 1,
        .max_seq_len = longest,
        .n_threads = st->variant.plan_threads,
        .flags = st->variant.flags,
        .max_spans = s->has_spans ? MAX_SEQS * MAX_SPANS : 0,
        .max_tree_tokens = s->has_tree ? s->n_rows + 1 : 0,
        .max_tree_words = s->tree_words,
        .max_sparse_blocks = s->is_sparse ? MAX_SEQS * MAX_KV_HEADS * MAX_PLACES : 0,
        .isa = quire_cpu_level_name(st->variant.level)
    };
    must(quire_plan_create(&params, &st->plan, &err));
    return true;
}

/* First key of a sequence that some of its queries sees. */
static uint32_t first_visible(const struct problem *s, uint32_t seq)
{
    const struct sequence *q = &s->seqs[seq];
    for (uint32_t j = 0; j < q->n_keys; j++)
        for (uint32_t i = 0; i < q->n_new; i++)
            for (uint32_t h = 0; h < s->config.n_kv_heads; h++)
                if (oracle_sees(s, seq, i, h, j))
                    return j;
    return q->n_keys;
}

uint32_t testbed_blocks(const struct testbed *st, uint32_t keys)
{
    return (keys + st->variant.block_size - 1) / st->variant.block_size;
}

/* Number of whole blocks that a sequence shares with sequence 0. */
static uint32_t shared_blocks(const struct testbed *st, uint32_t seq)
{
    const struct variant *v = &st->variant;
    uint32_t keys = st->problem->seqs[seq].shared;
    if (v->cp_world)
        keys = keys / (v->cp_world * v->cp_interleave) * v->cp_interleave; /* of any rank */
    return v->share ? keys / v->block_size : 0;
}

static void assign_blocks(struct testbed *st)
{
    const struct problem *s = st->problem;
    struct rng r = rng_fork(st->variant.shuffle, 7);
    int32_t *pool = malloc(st->n_blocks * sizeof *pool);
    for (uint32_t i = 0; i < st->n_blocks; i++)
        pool[i] = (int32_t)i;
    for (uint32_t i = st->n_blocks; st->variant.shuffle && i-- > 1;) {
        const uint32_t j = rng_below(&r, i + 1);
        const int32_t id = pool[i];
        pool[i] = pool[j];
        pool[j] = id;
    }
    for (uint32_t i = 0, next = 0; i < s->n_seqs; i++) {
        const uint32_t n = testbed_blocks(st, s->seqs[i].n_keys), shared = shared_blocks(st, i);
        st->ids[i] = malloc((n + 1) * sizeof *st->ids[i]);
        for (uint32_t j = 0; j < n; j++)
            st->ids[i][j] = j < shared ? st->ids[0][j] : pool[next++];
        st->first_block[i] =
            st->variant.omit_freed ? first_visible(s, i) / st->variant.block_size : 0;
    }
    free(pool);
}

bool testbed_open(struct testbed *st, const struct problem *s, const struct variant *variant)
{
    *st =
        (struct testbed){ .problem = s, .variant = *variant, .n_blocks = 2 }; /* two stay unused */
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        const uint32_t n = testbed_blocks(st, s->seqs[i].n_keys);
        st->n_blocks += n;
        st->max_blocks = n > st->max_blocks ? n : st->max_blocks;
    }
    if (!open_cache(st) || !open_plan(st))
        return false;
    int32_t *ids = malloc(st->n_blocks * sizeof *ids);
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status = quire_kv_alloc(st->kv, s->group, -1, st->n_blocks, ids, &err);
    free(ids);
    if (status != QUIRE_OK)
        return failure("quire_kv_alloc: %s", err.msg);
    assign_blocks(st);
    return true;
}

void testbed_close(struct testbed *st)
{
    quire_plan_destroy(st->plan);
    quire_kv_destroy(st->kv);
    for (uint32_t i = 0; i < st->problem->n_seqs; i++)
        free(st->ids[i]);
    free(st->table), free(st->tree), free(st->lists);
}

bool testbed_write(struct testbed *st, uint32_t seq, uint32_t from, uint32_t to)
{
    const struct problem *s = st->problem;
    const uint32_t b = st->variant.block_size,
                   kept = st->variant.share ? 0 : st->first_block[seq] * b,
                   own = shared_blocks(st, seq) * b;
    if (to <= from)
        return true;
    const size_t n = to - from, at = (size_t)(s->seqs[seq].key + from) * s->config.n_kv_heads,
                 heads = s->config.n_kv_heads;
    int64_t *slots = malloc(n * sizeof *slots);
    for (uint32_t j = from, held = 0; j < to; j++) {
        const bool here =
            !st->variant.cp_world ||
            j / st->variant.cp_interleave % st->variant.cp_world == st->variant.cp_rank;
        const uint32_t place = st->variant.cp_world ? held : j; /* ranks write from key 0 on */
        held += here;
        slots[j - from] = j < kept || place < own || !here
                              ? QUIRE_SLOT_PAD
                              : (int64_t)st->ids[seq][place / b] * b + place % b;
    }
    void *k = number_rows(s->write_dtype, s->k + at * s->config.head_size,
                          n * heads * s->config.head_size);
    void *v = number_rows(s->write_dtype, s->v + at * s->v_size, n * heads * s->v_size);
    const struct quire_kv_write_args args = { .struct_size = sizeof args,
                                              .group = s->group,
                                              .layer = s->layer,
                                              .dtype = s->write_dtype,
                                              .k = k,
                                              .v = s->latent ? NULL : v,
                                              .slot_mapping = slots,
                                              .n_tokens = n };
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status = quire_kv_write(st->kv, &args, NULL, &err);
    free(slots), free(k), free(v);
    return status == QUIRE_OK || failure("quire_kv_write: %s", err.msg);
}

bool testbed_write_all(struct testbed *st)
{
    for (uint32_t i = 0; i < st->problem->n_seqs; i++)
        if (!testbed_write(st, i, 0, st->problem->seqs[i].n_keys))
            return false;
    for (uint32_t i = 0; i < st->problem->n_seqs; i++)
        must(quire_kv_retain(st->kv, st->problem->group, st->ids[i], shared_blocks(st, i), &err));
    return true;
}

bool run_problem(const struct problem *s, const struct variant *variant, const struct part *part,
                 struct result *r)
{
    struct testbed st;
    const bool ok =
        testbed_open(&st, s, variant) && testbed_write_all(&st) && testbed_run(&st, part, r);
    testbed_close(&st);
    return ok;
}
