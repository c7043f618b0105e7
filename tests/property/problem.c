/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - draws a random problem: shapes and options, then data. */
#include "problem.h"
#include <math.h>
#include <quire/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Problem sizes; most are tiny, so that many run per minute. */
enum { MAX_PRODUCTS = 500000 }; /* of one sequence */
enum size { TINY, MIDDLE, LONG };

static enum size draw_size(struct rng *r)
{
    const uint32_t x = rng_below(r, 100);
    return x < 72 ? TINY : x < 93 ? MIDDLE : LONG;
}

static uint32_t draw_head_size(struct rng *r, enum size size)
{
    static const uint32_t usual[] = { 64, 80, 96, 112, 128, 160, 192, 256 };
    const uint32_t x = rng_below(r, 100);
    if (size == LONG)
        return x < 90 ? 8 * rng_in(r, 1, 3) : rng_in(r, 1, 20);
    if (x < 60)
        return 8 * rng_in(r, 1, 8);
    if (x < 75)
        return RNG_PICK(r, usual);
    if (x < 92 || size == MIDDLE)
        return rng_in(r, 1, 40);
    return x < 98 ? 8 * rng_in(r, 9, 64) : rng_in(r, 41, 300);
}

/* Whether an option is on: as given, else as drawn. */
static bool is_on(const struct problem *s, enum option option, bool drawn)
{
    return s->exact ? s->options >> option & 1 : drawn;
}

static void draw_shape(struct problem *s, struct rng *r, enum size size)
{
    static const uint32_t ratios[] = { 1, 1, 1, 2, 2, 3, 4, 4, 5, 7, 8 };
    struct quire_attention_config *c = &s->config;
    const uint32_t head_size = draw_head_size(r, size);
    const uint32_t kv_heads = size == LONG ? rng_in(r, 1, 2) : rng_in(r, 1, MAX_KV_HEADS);
    s->ratio = size == LONG ? rng_in(r, 1, 4) : RNG_PICK(r, ratios);
    if (kv_heads == 1 && size == TINY && rng_percent(r, 10))
        s->ratio = rng_in(r, 9, MAX_HEADS);
    quire_attention_config_init(c, sizeof *c, kv_heads * s->ratio, kv_heads, head_size);
    c->v_head_size = rng_percent(r, 70) ? 0 : draw_head_size(r, size);
    s->v_size = c->v_head_size ? c->v_head_size : head_size;
}

static int32_t draw_window(struct rng *r, enum size size)
{
    const uint32_t x = rng_below(r, 100);
    return x < 15 ? 0 : (int32_t)rng_below(r, size == LONG ? 700 : size == MIDDLE ? 90 : 24);
}

static enum quire_attention_kind draw_kind(struct rng *r)
{
    const uint32_t x = rng_below(r, 100);
    return x < 64   ? QUIRE_ATTENTION_DECODER
           : x < 73 ? QUIRE_ATTENTION_ENCODER
           : x < 84 ? QUIRE_ATTENTION_ENCODER_ONLY
                    : QUIRE_ATTENTION_CROSS;
}

static void draw_relative(struct problem *s, struct rng *r)
{
    struct quire_attention_config *c = &s->config;
    c->relative_range = rng_percent(r, 20) ? 0 : rng_below(r, rng_percent(r, 80) ? 40 : 900);
    const size_t n = (size_t)c->n_heads * (2 * c->relative_range + 1);
    c->relative_bias = s->relative = data_values(r, n, 2);
}

/* Passes the sinks in another dtype, and rounds them to it. */
static void retype_sinks(struct problem *s, enum quire_kv_dtype dtype)
{
    for (uint32_t h = 0; h < s->config.n_heads; h++) {
        s->sinks[h] = (float)number_round(dtype, (double)s->sinks[h]);
        number_encode(dtype, (double)s->sinks[h], (unsigned char *)&s->half_sinks[h]);
    }
    s->config.sinks = NULL;
    s->config.typed_sinks = s->half_sinks;
    s->config.sinks_dtype = dtype;
}

static void draw_options(struct problem *s, struct rng *r, enum size size)
{
    struct quire_attention_config *c = &s->config;
    c->kind = draw_kind(r);
    c->compute =
        is_on(s, COMPUTE_F32, !rng_percent(r, 60)) ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
    c->scale *= rng_float(r, 0.25f, 1.5f);
    c->causal = c->kind == QUIRE_ATTENTION_DECODER && !is_on(s, NOT_CAUSAL, !rng_percent(r, 80));
    if (is_on(s, WINDOW_LEFT, rng_percent(r, 35)))
        c->window_left = draw_window(r, size);
    if (is_on(s, WINDOW_RIGHT, rng_percent(r, c->causal ? 8 : 35)))
        c->window_right = draw_window(r, size);
    if (is_on(s, SOFT_CAP, rng_percent(r, 25)))
        c->logits_soft_cap = rng_float(r, 0.5f, 40);
    for (uint32_t h = 0; h < c->n_heads; h++) {
        s->slopes[h] = rng_float(r, rng_percent(r, 10) ? -0.25f : 0, 0.25f);
        s->sinks[h] = rng_percent(r, 10) ? -INFINITY : rng_float(r, -2, 3);
    }
    c->alibi_slopes = is_on(s, SLOPES, rng_percent(r, 25)) ? s->slopes : NULL;
    const bool half = s->exact && s->options >> HALF_SINKS & 1;
    c->sinks = half || is_on(s, SINKS, rng_percent(r, 25)) ? s->sinks : NULL;
    if (c->sinks && is_on(s, HALF_SINKS, rng_percent(r, 40)))
        retype_sinks(s, rng_percent(r, 50) ? QUIRE_KV_BF16 : QUIRE_KV_F16);
    if (is_on(s, CHUNK, rng_percent(r, 18)))
        c->chunk_size = rng_in(r, 1, size == LONG ? 700 : 60);
    if (is_on(s, RELATIVE, rng_percent(r, 18)))
        draw_relative(s, r);
}

static uint32_t draw_scales(struct problem *s, struct rng *r)
{
    const uint32_t counts[] = { 0, 1, s->n_layers, s->n_layers * s->config.n_kv_heads };
    return RNG_PICK(r, counts);
}

/* Any KV dtype that has no condition on head sizes; draw_int4 changes it. */
static enum quire_kv_dtype draw_dtype(struct rng *r)
{
    return (enum quire_kv_dtype)rng_below(r, QUIRE_KV_INT4);
}

static void draw_cache(struct problem *s, struct rng *r)
{
    static const enum quire_kv_dtype queries[] = { QUIRE_KV_BF16, QUIRE_KV_F16, QUIRE_KV_INT8 };
    static const uint32_t blocks[] = { 16, 16, 32, 32, 48, 64, 64, 80, 112, 128, 256 };
    s->k_dtype = draw_dtype(r);
    s->v_dtype = rng_percent(r, 60) ? s->k_dtype : draw_dtype(r);
    s->write_dtype = rng_percent(r, 75)   ? QUIRE_KV_F32
                     : rng_percent(r, 50) ? QUIRE_KV_BF16
                                          : QUIRE_KV_F16;
    s->q_dtype = rng_percent(r, 55) ? QUIRE_KV_F32 : RNG_PICK(r, queries);
    s->block_size = RNG_PICK(r, blocks);
    s->n_layers = rng_in(r, 1, 3);
    s->layer = rng_below(r, s->n_layers);
    s->n_groups = rng_in(r, 1, 2);
    s->group = rng_below(r, s->n_groups);
    s->n_k_scales = draw_scales(s, r);
    s->n_v_scales = draw_scales(s, r);
    s->latent = s->v_size <= s->config.head_size && rng_percent(r, 10);
    if (s->latent) {
        s->v_dtype = s->k_dtype;
        s->n_v_scales = 0;
    }
}

/* Rounds the head sizes up to multiples of 32, which int4 needs. */
static void widen_heads(struct problem *s)
{
    struct quire_attention_config *c = &s->config;
    const uint32_t heads = c->n_heads, kv_heads = c->n_kv_heads, v_size = c->v_head_size;
    quire_attention_config_init(c, sizeof *c, heads, kv_heads, (c->head_size + 31) / 32 * 32);
    c->v_head_size = (v_size + 31) / 32 * 32;
    s->v_size = c->v_head_size ? c->v_head_size : c->head_size;
}

/* Makes keys, values or both int4. */
static void draw_int4(struct problem *s, struct rng *r)
{
    const uint32_t sides = rng_in(r, 1, 3);
    s->latent = false;
    if (sides & 1) {
        s->k_dtype = QUIRE_KV_INT4;
        s->rotation |= rng_percent(r, 60) ? QUIRE_KV_ROTATE_K : 0;
    }
    if (sides & 2) {
        s->v_dtype = QUIRE_KV_INT4;
        s->rotation |= rng_percent(r, 50) ? QUIRE_KV_ROTATE_V : 0;
    }
}

/* Draws the length and number of new tokens of a sequence. `mode` is the kind of batch. */
static void draw_length(struct sequence *q, struct rng *r, enum size size, uint32_t mode)
{
    q->len = size == TINY     ? rng_in(r, 0, 40)
             : size == MIDDLE ? rng_in(r, 0, 170)
                              : rng_in(r, 400, 1300);
    const uint32_t limit = size == LONG && q->len > 24 ? 24 : q->len;
    switch (mode) {
    case 0: /* decode */
        q->n_new = q->len ? 1 : 0;
        break;
    case 1: /* prompts */
        q->n_new = size == LONG && rng_percent(r, 80) ? limit : q->len;
        break;
    default: /* anything */
        q->n_new = rng_percent(r, 30) ? (q->len ? 1 : 0) : rng_in(r, 0, limit);
    }
}

/* Limits the number of products per sequence, since the generic kernels run every problem too. */
static void limit_work(struct sequence *q, const struct problem *s)
{
    const uint64_t products =
                       (uint64_t)q->n_keys * s->config.n_heads * (s->config.head_size + s->v_size),
                   max_new = 1 + MAX_PRODUCTS / (products + 1);
    q->n_new = q->n_new > max_new ? (uint32_t)max_new : q->n_new;
}

static void place_sequence(struct problem *s, struct sequence *q)
{
    q->row = s->n_rows;
    q->key = s->n_keys;
    s->n_rows += q->n_new;
    s->n_keys += q->n_keys;
}

static void draw_sequences(struct problem *s, struct rng *r, enum size size)
{
    const uint32_t x = rng_below(r, 100), mode = rng_below(r, 4);
    s->n_seqs = x < 3 ? 0 : x < 35 ? 1 : x < 60 ? 2 : size == LONG ? 3 : rng_in(r, 3, MAX_SEQS);
    s->own_causal = is_on(s, OWN_CAUSAL, rng_percent(r, 20));
    s->has_tree = is_on(s, TREE, rng_percent(r, 12));
    const uint32_t prefix = !rng_percent(r, 35 + 20 * size) ? 0
                            : size == LONG                  ? rng_in(r, 16, 1300)
                                                            : rng_below(r, 80);
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        struct sequence *q = &s->seqs[i];
        draw_length(q, r, size, mode);
        q->causal = s->own_causal && s->config.kind == QUIRE_ATTENTION_DECODER ? rng_percent(r, 60)
                                                                               : s->config.causal;
        q->n_keys = q->len;
        if (s->config.kind == QUIRE_ATTENTION_CROSS)
            q->n_keys = rng_in(r, 0, size == LONG ? 1300 : 90);
        limit_work(q, s);
        if (s->has_tree && q->n_new > MAX_TREE)
            q->n_new = MAX_TREE;
        q->shared = i == 0 ? 0 : prefix;
        if (q->shared > q->n_keys)
            q->shared = q->n_keys;
        if (q->shared > s->seqs[0].n_keys)
            q->shared = s->seqs[0].n_keys;
        place_sequence(s, q);
    }
}

/* Replaces the sequences by two with n new tokens in a tree, after contexts of any length. */
static void make_tree(struct problem *s, uint32_t n, struct rng *r)
{
    s->has_tree = true;
    s->n_seqs = 2;
    s->n_rows = s->n_keys = 0;
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        struct sequence *q = &s->seqs[i];
        const uint32_t context = rng_in(r, 0, i ? 200 : 700);
        *q = (struct sequence){
            .len = context + n, .n_new = n, .n_keys = context + n, .causal = s->config.causal
        };
        place_sequence(s, q);
    }
}

static int draw_level(struct rng *r)
{
    int usable[32], n = 0;
    for (int i = 0; n < 32 && quire_cpu_level_name(i); i++)
        if (quire_cpu_level_usable(i))
            usable[n++] = i;
    return usable[rng_below(r, (uint32_t)n)];
}

/* Few heads suffice: the head size is under test. */
static void apply_shape(struct problem *s, const struct constraints *w)
{
    const uint32_t kv_heads = s->number % 2 + 1;
    s->ratio = s->number % 3 + 1;
    s->v_size = w->head_size;
    quire_attention_config_init(&s->config, sizeof s->config, kv_heads * s->ratio, kv_heads,
                                w->head_size);
}

static void apply_rest(struct problem *s, const struct constraints *w)
{
    s->config.kind = w->kind;
    s->config.causal = s->config.causal && w->kind == QUIRE_ATTENTION_DECODER;
    s->k_dtype = w->k_dtype;
    s->v_dtype = w->v_dtype;
    s->block_size = w->block_size;
    s->latent = s->options >> LATENT & 1;
    if (s->latent) {
        s->v_dtype = s->k_dtype;
        s->n_v_scales = 0;
    }
    if (s->exact)
        s->q_dtype = s->options >> Q_BF16 & 1   ? QUIRE_KV_BF16
                     : s->options >> Q_F16 & 1  ? QUIRE_KV_F16
                     : s->options >> Q_INT8 & 1 ? QUIRE_KV_INT8
                                                : QUIRE_KV_F32;
}

void problem_make(struct problem *s, uint64_t seed, uint32_t number,
                  const struct constraints *constraints)
{
    struct rng r = rng_fork(seed, number), data = rng_fork(seed ^ 0x5eed, number),
               four = rng_fork(seed ^ 0x1474, number);
    const bool int4 = !constraints && rng_percent(&four, 18);
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->number = number;
    s->rng = rng_fork(seed ^ 0xc4ec, number);
    if (constraints) {
        s->exact = constraints->exact;
        s->options = constraints->options;
    }
    const enum size size = constraints ? TINY : draw_size(&r);
    draw_shape(s, &r, size);
    if (constraints)
        apply_shape(s, constraints);
    if (int4)
        widen_heads(s);
    draw_options(s, &r, size);
    draw_cache(s, &r);
    if (constraints)
        apply_rest(s, constraints);
    if (int4)
        draw_int4(s, &four);
    draw_sequences(s, &r, size);
    s->level = constraints ? constraints->level : draw_level(&r);
    if (constraints && constraints->tree_tokens)
        make_tree(s, constraints->tree_tokens, &r);
    masks_draw(s, &r);
    data_draw(s, &data);
}

void problem_free(struct problem *s)
{
    free(s->q_scale);
    free(s->q), free(s->k), free(s->v);
    free(s->k_cached), free(s->v_cached);
    free(s->k_scale), free(s->v_scale), free(s->relative);
}

void problem_print(const struct problem *s)
{
    const struct quire_attention_config *c = &s->config;
    static const char *const kinds[] = { "decoder", "encoder", "encoder only", "cross" };
    printf("  %s, chunk %u, bias %d of %u, queries %s%s%s%s%s\n", kinds[c->kind], c->chunk_size,
           c->relative_bias != NULL, c->relative_range, quire_kv_dtype_name(s->q_dtype),
           s->latent ? ", latent" : "", s->has_spans ? ", spans" : "", s->has_tree ? ", tree" : "",
           s->is_sparse ? ", sparse" : "");
    printf("  heads %u / %u of %u, values of %u; scale %g, cap %g, window %d / %d, causal %u, "
           "%s%s%s\n",
           c->n_heads, c->n_kv_heads, c->head_size, s->v_size, (double)c->scale,
           (double)c->logits_soft_cap, c->window_left, c->window_right, c->causal,
           c->compute == QUIRE_COMPUTE_NATIVE ? "native" : "f32", c->alibi_slopes ? ", slopes" : "",
           c->sinks         ? ", sinks"
           : c->typed_sinks ? ", 16-bit sinks"
                            : "");
    printf("  K %s, V %s, rotation 0x%x, written as %s, %u and %u scales, blocks of %u, layer %u "
           "of %u, group %u of "
           "%u, level %s\n",
           quire_kv_dtype_name(s->k_dtype), quire_kv_dtype_name(s->v_dtype), s->rotation,
           quire_kv_dtype_name(s->write_dtype), s->n_k_scales, s->n_v_scales, s->block_size,
           s->layer, s->n_layers, s->group, s->n_groups, quire_cpu_level_name(s->level));
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        const struct sequence *q = &s->seqs[i];
        printf("  sequence %u: %u tokens, %u new, %u keys of which %u shared, causal %d\n", i,
               q->len, q->n_new, q->n_keys, q->shared, q->causal);
    }
}
