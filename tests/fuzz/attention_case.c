/* SPDX-License-Identifier: Apache-2.0 */
/* attention_case.c - draws an attention call from bytes. */
#include "attention_case.h"
#include <math.h>
#include <quire/cpu.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEN = 90, MAX_TREE = 64, N_DTYPES = 6, N_KINDS = 4 };

static void *array(size_t n, size_t size)
{
    void *p = calloc(n, size ? size : 1);
    fuzz_check(p || !n, "no memory for %zu bytes", n * size);
    return p;
}

static float small_float(struct fuzz_input *in) { return ((float)fuzz_below(in, 256) - 128) / 64; }

static uint32_t wild_number(struct fuzz_input *in)
{
    static const uint32_t numbers[] = { 0,    1,     2,        15,         17,         255,
                                        1024, 65535, 1u << 20, 0x7fffffff, 0x80000000, 0xffffffff };
    return fuzz_chance(in, 70) ? FUZZ_PICK(in, numbers) : (uint32_t)fuzz_take(in, 4);
}

static void draw_config(struct attention_case *c, struct fuzz_input *in)
{
    static const uint32_t sizes[] = { 8, 8, 8, 16, 16, 16, 24, 32, 1, 7, 20, 80 };
    struct quire_attention_config *a = &c->config;
    const uint32_t kv_heads = 1 + fuzz_below(in, 2), ratio = 1 + fuzz_below(in, 4);
    quire_attention_config_init(a, sizeof *a, kv_heads * ratio, kv_heads, FUZZ_PICK(in, sizes));
    a->kind = fuzz_chance(in, 70) ? QUIRE_ATTENTION_DECODER
                                  : (enum quire_attention_kind)fuzz_below(in, N_KINDS);
    a->causal = a->kind == QUIRE_ATTENTION_DECODER && fuzz_chance(in, 80);
    a->v_head_size = fuzz_chance(in, 20) ? FUZZ_PICK(in, sizes) : 0;
    a->compute = fuzz_chance(in, 50) ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
    if (fuzz_chance(in, 30))
        a->window_left = (int32_t)fuzz_below(in, 40);
    if (fuzz_chance(in, 15))
        a->window_right = (int32_t)fuzz_below(in, 40);
    if (fuzz_chance(in, 20))
        a->logits_soft_cap = 1 + (float)fuzz_below(in, 50);
    if (fuzz_chance(in, 15))
        a->chunk_size = 1 + fuzz_below(in, 60);
    c->slopes = array(a->n_heads, sizeof(float));
    c->sinks = array(a->n_heads, sizeof(float));
    for (uint32_t h = 0; h < a->n_heads; h++) {
        c->slopes[h] = small_float(in) / 8;
        c->sinks[h] = fuzz_chance(in, 10) ? -INFINITY : small_float(in);
    }
    a->alibi_slopes = fuzz_chance(in, 20) ? c->slopes : NULL;
    a->sinks = fuzz_chance(in, 20) ? c->sinks : NULL;
    if (fuzz_chance(in, 15)) {
        a->relative_range = fuzz_below(in, 50);
        const size_t n = (size_t)a->n_heads * (2 * a->relative_range + 1);
        c->relative = array(n, sizeof(float));
        for (size_t i = 0; i < n; i++)
            c->relative[i] = small_float(in);
        a->relative_bias = c->relative;
    }
}

static void draw_scales(struct fuzz_input *in, uint32_t n, float **scales, const float **out,
                        uint32_t *count)
{
    if (!fuzz_chance(in, 30))
        return;
    *count = fuzz_chance(in, 50) ? 1 : n;
    *scales = array(*count, sizeof(float));
    for (uint32_t i = 0; i < *count; i++)
        (*scales)[i] = (float)(1 + fuzz_below(in, 16)) / 16;
    *out = *scales;
}

static void draw_cache(struct attention_case *c, struct fuzz_input *in)
{
    static const uint32_t blocks[] = { 16, 16, 16, 32, 48 };
    const struct quire_attention_config *a = &c->config;
    struct quire_kv_group_config *g = &c->groups[0];
    quire_kv_params_init(&c->kv, sizeof c->kv);
    c->kv.block_size = FUZZ_PICK(in, blocks);
    c->kv.groups = c->groups;
    c->kv.n_groups = 1 + (fuzz_below(in, 8) == 0);
    *g = (struct quire_kv_group_config){ .n_layers = 1 + fuzz_below(in, 2),
                                         .n_kv_heads = a->n_kv_heads,
                                         .head_size = a->head_size,
                                         .v_head_size = a->v_head_size,
                                         .n_blocks = CASE_BLOCKS };
    g->k_dtype = (enum quire_kv_dtype)fuzz_below(in, N_DTYPES);
    g->v_dtype = fuzz_chance(in, 60) ? g->k_dtype : (enum quire_kv_dtype)fuzz_below(in, N_DTYPES);
    draw_scales(in, g->n_layers * g->n_kv_heads, &c->k_scales, &g->k_scale, &g->n_k_scales);
    if (fuzz_chance(in, 10) && a->v_head_size <= a->head_size) {
        g->flags = QUIRE_KV_LATENT;
        g->v_dtype = g->k_dtype;
    } else {
        draw_scales(in, g->n_layers * g->n_kv_heads, &c->v_scales, &g->v_scale, &g->n_v_scales);
    }
    c->groups[1] = *g;
}

/* Lengths, tables and masks that are valid together. */
static void draw_sequences(struct attention_case *c, struct fuzz_input *in)
{
    const uint32_t n = fuzz_below(in, CASE_SEQS + 1), bs = c->kv.block_size;
    const uint32_t max_blocks = (MAX_LEN + bs - 1) / bs;
    struct quire_attention_batch *b = &c->batch;
    quire_attention_batch_init(b, sizeof *b);
    b->n_seqs = n;
    b->query_start_loc = c->starts = array(n + 1, sizeof *c->starts);
    b->seq_lens = c->lens = array(n, sizeof *c->lens);
    c->encoder_lens = array(n, sizeof *c->encoder_lens);
    c->causal = array(n, sizeof *c->causal);
    c->first_block = array(n, sizeof *c->first_block);
    c->table = array((size_t)n * max_blocks, sizeof *c->table);
    const bool prompts = fuzz_chance(in, 40);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t len = fuzz_below(in, MAX_LEN + 1),
                       most = prompts    ? len
                              : len < 20 ? len
                                         : 20,
                       n_new = fuzz_chance(in, 40) ? len != 0 : fuzz_below(in, most + 1);
        c->lens[i] = (int32_t)len;
        c->starts[i + 1] = c->starts[i] + (int32_t)n_new;
        c->encoder_lens[i] = (int32_t)fuzz_below(in, MAX_LEN + 1);
        c->causal[i] = fuzz_chance(in, 50);
        /* consecutive ids from a start: distinct within a sequence, shared between sequences */
        const uint32_t first = fuzz_below(in, CASE_BLOCKS), step = fuzz_chance(in, 50) ? 1 : 3;
        for (uint32_t k = 0; k < max_blocks; k++)
            c->table[i * max_blocks + k] = (int32_t)((first + k * step) % CASE_BLOCKS);
    }
    c->n_rows = (uint32_t)c->starts[n];
    if (c->config.kind == QUIRE_ATTENTION_CROSS)
        b->encoder_seq_lens = c->encoder_lens;
    if (c->config.kind == QUIRE_ATTENTION_DECODER && fuzz_chance(in, 25))
        b->causal = c->causal;
    b->n_groups = c->kv.n_groups;
    b->groups = c->tables;
    for (uint32_t g = 0; g < CASE_GROUPS; g++)
        c->tables[g] = (struct quire_attention_batch_group){ .block_table = c->table,
                                                             .max_blocks = max_blocks };
    if (fuzz_chance(in, 15))
        c->tables[0].first_block = c->first_block;
}

static void draw_spans(struct attention_case *c, struct fuzz_input *in)
{
    const uint32_t n = c->batch.n_seqs;
    c->batch.span_loc = c->span_loc = array(n + 1, sizeof *c->span_loc);
    c->batch.spans = c->spans = array(CASE_SEQS * CASE_SPANS, sizeof *c->spans);
    int32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t begin = 0;
        for (uint32_t k = fuzz_below(in, CASE_SPANS + 1); k; k--, at++) {
            begin += (int32_t)fuzz_below(in, 40);
            c->spans[at].begin = begin;
            c->spans[at].end = begin += (int32_t)fuzz_below(in, 20);
        }
        c->span_loc[i + 1] = at;
    }
}

/* Every token sees itself and any earlier ones. */
static void draw_tree(struct attention_case *c, struct fuzz_input *in)
{
    c->batch.tree_mask = c->tree = array(c->n_rows, sizeof *c->tree);
    for (uint32_t i = 0; i < c->batch.n_seqs; i++)
        for (int32_t t = c->starts[i], j = 0; t < c->starts[i + 1]; t++, j++) {
            const uint64_t self = 1ull << (j % MAX_TREE);
            c->tree[t] = (fuzz_take(in, 2) * 0x0001000100010001ull & (self - 1)) | self;
        }
}

static void draw_lists(struct attention_case *c, struct fuzz_input *in)
{
    enum { LISTED = 3 };
    const size_t n = (size_t)c->batch.n_seqs * c->config.n_kv_heads;
    c->lists = array(n, sizeof *c->lists);
    c->listed = array(n * LISTED, sizeof *c->listed);
    for (size_t i = 0; i < n; i++) {
        int32_t at = 0;
        c->lists[i].blocks = c->listed + i * LISTED;
        c->lists[i].n = fuzz_below(in, LISTED + 1);
        for (uint32_t k = 0; k < LISTED; k++)
            c->listed[i * LISTED + k] = at += (int32_t)fuzz_below(in, 3) + (k != 0);
    }
    c->list_of_group[0] = c->lists;
    c->batch.sparse = c->list_of_group;
}

static void draw_plan(struct attention_case *c, struct fuzz_input *in)
{
    struct quire_plan_params *p = &c->plan;
    quire_plan_params_init(p, sizeof *p);
    c->plan_group.config = &c->config;
    p->groups = &c->plan_group;
    p->n_groups = 1;
    p->max_tokens = c->n_rows + fuzz_below(in, 4);
    p->max_tokens += p->max_tokens == 0;
    p->max_seqs = CASE_SEQS;
    p->max_seq_len = MAX_LEN;
    p->n_threads = 1;
    p->max_spans = CASE_SEQS * CASE_SPANS;
    p->max_tree_tokens = c->tree ? p->max_tokens : 0;
    p->max_sparse_blocks = 256;
    int n_levels = 0;
    while (quire_cpu_level_name(n_levels))
        n_levels++;
    const int level = (int)fuzz_below(in, (uint32_t)n_levels);
    p->isa = quire_cpu_level_usable(level) ? quire_cpu_level_name(level) : NULL;
}

static void draw_args(struct attention_case *c, struct fuzz_input *in)
{
    static const enum quire_kv_dtype queries[] = { QUIRE_KV_F32, QUIRE_KV_F32, QUIRE_KV_BF16,
                                                   QUIRE_KV_F16, QUIRE_KV_INT8 };
    quire_attention_args_init(&c->args, sizeof c->args);
    c->args.layer = fuzz_below(in, c->groups[0].n_layers);
    c->args.q_dtype = FUZZ_PICK(in, queries);
    c->args.out_dtype =
        fuzz_chance(in, 70) ? QUIRE_KV_F32 : (enum quire_kv_dtype)fuzz_below(in, N_DTYPES);
    c->args.out_scale = fuzz_chance(in, 20) ? 0.5f : 0;
}

/* Makes keys, values or both int4, whose head sizes are multiples of 32. Drawn last, and not
 * by the zeros that follow the end of an input, so that older inputs keep their meaning. */
static void draw_int4(struct attention_case *c, struct fuzz_input *in)
{
    struct quire_attention_config *a = &c->config;
    struct quire_kv_group_config *g = &c->groups[0];
    const uint32_t sides = 1 + fuzz_below(in, 3), flags = fuzz_below(in, 4);
    if (g->flags & QUIRE_KV_LATENT)
        return;
    a->head_size = g->head_size = (a->head_size + 31) / 32 * 32;
    a->v_head_size = g->v_head_size = (a->v_head_size + 31) / 32 * 32;
    if (sides & 1) {
        g->k_dtype = QUIRE_KV_INT4;
        g->flags |= flags & 1 ? QUIRE_KV_ROTATE_K : 0;
    }
    if (sides & 2) {
        g->v_dtype = QUIRE_KV_INT4;
        g->flags |= flags & 2 ? QUIRE_KV_ROTATE_V : 0;
    }
    c->groups[1] = *g;
}

/* A field of the call, or NULL for an array that it does not have. Numbers of blocks and ranges of
 * the bias are left out: larger ones would only need memory, or arrays that the case has not. */
static uint32_t *pick_field(struct attention_case *c, struct fuzz_input *in)
{
    const uint32_t n = c->batch.n_seqs;
    uint32_t *const fields[] = {
        &c->config.n_heads,
        &c->config.n_kv_heads,
        &c->config.head_size,
        &c->config.v_head_size,
        (uint32_t *)&c->config.kind,
        (uint32_t *)&c->config.compute,
        (uint32_t *)&c->config.window_left,
        (uint32_t *)&c->config.window_right,
        (uint32_t *)&c->config.scale,
        (uint32_t *)&c->config.logits_soft_cap,
        &c->config.chunk_size,
        &c->kv.block_size,
        &c->kv.n_groups,
        &c->groups[0].n_layers,
        &c->groups[0].v_head_size,
        &c->groups[0].flags,
        (uint32_t *)&c->groups[0].k_dtype,
        (uint32_t *)&c->groups[0].v_dtype,
        &c->plan.n_groups,
        &c->plan.max_tokens,
        &c->plan.max_seqs,
        &c->plan.max_seq_len,
        &c->plan.max_blocks,
        &c->plan.flags,
        &c->plan.max_tree_tokens,
        &c->plan.max_sparse_blocks,
        &c->plan.struct_size,
        &c->plan_group.kv_group,
        &c->batch.n_groups,
        &c->batch.struct_size,
        &c->args.group,
        &c->args.layer,
        (uint32_t *)&c->args.q_dtype,
        (uint32_t *)&c->args.out_dtype,
        (uint32_t *)&c->args.out_scale,
        n ? (uint32_t *)&c->lens[fuzz_below(in, n)] : NULL,
        (uint32_t *)&c->starts[fuzz_below(in, c->tree ? n + (n == 0) : n + 1)],
        n ? (uint32_t *)&c->encoder_lens[fuzz_below(in, n)] : NULL,
        n ? &c->first_block[fuzz_below(in, n)] : NULL,
        n ? (uint32_t *)&c->table[fuzz_below(in, n * c->tables[0].max_blocks)] : NULL,
        c->span_loc ? (uint32_t *)&c->span_loc[fuzz_below(in, n + 1)] : NULL,
        c->spans && n ? (uint32_t *)&c->spans[fuzz_below(in, n)].begin : NULL,
        c->spans && n ? (uint32_t *)&c->spans[fuzz_below(in, n)].end : NULL,
        c->tree && c->n_rows ? (uint32_t *)&c->tree[fuzz_below(in, c->n_rows)] : NULL,
        c->listed && n ? (uint32_t *)&c->listed[fuzz_below(in, n)] : NULL,
        c->slopes ? (uint32_t *)&c->slopes[0] : NULL,
        c->sinks ? (uint32_t *)&c->sinks[0] : NULL,
        c->relative ? (uint32_t *)&c->relative[0] : NULL,
        c->k_scales ? (uint32_t *)&c->k_scales[0] : NULL,
    };
    /* block ids are what a host gets wrong */
    return n && fuzz_chance(in, 20)
               ? (uint32_t *)&c->table[fuzz_below(in, n * c->tables[0].max_blocks)]
               : FUZZ_PICK(in, fields);
}

/* Replaces one field by any number. */
static void make_wild(struct attention_case *c, struct fuzz_input *in)
{
    uint32_t *field = pick_field(c, in);
    const uint32_t value = wild_number(in), nudge = fuzz_below(in, 5);
    /* wild counts of an array would make the caller the culprit: these stay within the array */
    const bool count = field == &c->config.n_heads || field == &c->kv.n_groups ||
                       field == &c->plan.n_groups || field == &c->batch.n_groups ||
                       field == &c->batch.struct_size || field == &c->plan.struct_size ||
                       field == &c->groups[0].n_layers || field == &c->kv.block_size;
    if (field)
        *field = count ? value % (*field + 1) : nudge < 2 ? *field + 1 - 2 * nudge : value;
    c->wild = true;
}

void attention_case_draw(struct attention_case *c, struct fuzz_input *in)
{
    memset(c, 0, sizeof *c);
    draw_config(c, in);
    draw_cache(c, in);
    draw_sequences(c, in);
    if (c->config.kind == QUIRE_ATTENTION_DECODER && fuzz_chance(in, 20))
        draw_spans(c, in);
    if (c->config.kind == QUIRE_ATTENTION_DECODER && fuzz_chance(in, 20))
        draw_tree(c, in);
    if (fuzz_chance(in, 20))
        draw_lists(c, in);
    draw_plan(c, in);
    draw_args(c, in);
    for (uint32_t n = fuzz_chance(in, 50) ? 0 : 1 + fuzz_below(in, 2); n; n--)
        make_wild(c, in);
    if (!c->wild && !fuzz_chance(in, 70))
        draw_int4(c, in);
}

void attention_case_free(struct attention_case *c)
{
    free(c->slopes), free(c->sinks), free(c->relative);
    free(c->k_scales), free(c->v_scales);
    free(c->starts), free(c->lens), free(c->encoder_lens), free(c->span_loc), free(c->table);
    free(c->first_block), free(c->causal), free(c->spans), free(c->tree);
    free(c->lists), free(c->listed);
}
