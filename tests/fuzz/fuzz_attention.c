/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_attention.c - cache, plan, batch and call of the attention API.
 *
 * A call with invalid fields must be refused with a message. What is accepted must give finite
 * results, and the same bits from a plan for more threads with other flags. */
#include "attention_case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_TEAMS = 4, MAX_POOL = 16 << 20, MAX_PLAN = 32 << 20, MAX_ROWS = 4096, FILL = 0xee };

static struct quire_threads *teams[N_TEAMS];

static struct quire_threads *team(uint32_t n)
{
    const struct quire_threads_params p = { .struct_size = sizeof p,
                                            .backend = QUIRE_THREADS_PTHREAD,
                                            .n_threads = n };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!teams[n] && quire_threads_create(&p, &teams[n], &err) != QUIRE_OK)
        return NULL;
    return teams[n];
}

/* Refused calls must say why. */
static bool accepted(quire_status s, const struct quire_error *err)
{
    fuzz_check_error(s, err);
    fuzz_check(s != QUIRE_E_BUSY, "%s", err->msg);
    return s == QUIRE_OK;
}

static float *random_rows(size_t n, uint64_t seed)
{
    struct fuzz_random r = { seed };
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = ((float)fuzz_random(&r, 2001) - 1000) / 500;
    return x;
}

/* Fills every slot of every layer of a group. */
static void fill_group(struct quire_kv_cache *kv, uint32_t group)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_group_config g;
    int32_t blocks[CASE_BLOCKS];
    fuzz_check(quire_kv_get_group(kv, group, &g, &err) == QUIRE_OK, "%s", err.msg);
    const size_t n = (size_t)g.n_blocks * quire_kv_block_size(kv);
    int64_t *slots = malloc(n * sizeof *slots);
    for (size_t i = 0; i < n; i++)
        slots[i] = (int64_t)i;
    fuzz_check(quire_kv_alloc(kv, group, -1, g.n_blocks, blocks, &err) == QUIRE_OK, "%s", err.msg);
    float *k = random_rows(n * g.n_kv_heads * g.head_size, 1),
          *v = random_rows(n * g.n_kv_heads * g.v_head_size, 2);
    for (uint32_t layer = 0; layer < g.n_layers; layer++) {
        const struct quire_kv_write_args args = { .struct_size = sizeof args,
                                                  .group = group,
                                                  .layer = layer,
                                                  .k = k,
                                                  .v = g.flags & QUIRE_KV_LATENT ? NULL : v,
                                                  .slot_mapping = slots,
                                                  .n_tokens = n };
        const quire_status s = quire_kv_write(kv, &args, NULL, &err);
        fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    }
    free(slots), free(k), free(v);
}

static struct quire_kv_cache *create_cache(const struct attention_case *c)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    struct quire_kv_cache *kv = NULL;
    if (!accepted(quire_kv_bytes(&c->kv, &memory, &err), &err) || memory.total > MAX_POOL)
        return NULL;
    if (accepted(quire_kv_create(&c->kv, &kv, &err), &err))
        for (uint32_t i = 0; i < quire_kv_group_count(kv); i++)
            fill_group(kv, i);
    return kv;
}

static bool too_large(const struct quire_plan_params *p)
{
    uint64_t bytes;
    return quire_plan_bytes(p, &bytes, NULL) == QUIRE_OK &&
           bytes >= (uint64_t)MAX_PLAN * p->n_threads;
}

/* NULL if the plan is refused, or larger than MAX_PLAN per thread. */
static struct quire_plan *create_plan(const struct quire_plan_params *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_plan *plan = NULL;
    uint64_t bytes;
    if (accepted(quire_plan_bytes(p, &bytes, &err), &err) && !too_large(p)) {
        const quire_status s = quire_plan_create(p, &plan, &err);
        fuzz_check(s == QUIRE_OK && plan, "%s %s", fuzz_status(s), err.msg);
    }
    return plan;
}

struct output {
    size_t row_bytes, n_rows, n_heads, v_size;
    uint8_t *out;
    float *lse;
};

static size_t dtype_bytes(enum quire_kv_dtype d)
{
    return d == QUIRE_KV_F32 ? 4 : d == QUIRE_KV_BF16 || d == QUIRE_KV_F16 ? 2 : 1;
}

/* The first value that is neither finite nor allowed; NULL if all are. */
static const float *not_finite(const struct output *o)
{
    const float *x = (const float *)(const void *)o->out;
    for (size_t i = 0; i < o->n_rows * o->n_heads * o->v_size; i++)
        if (!isfinite(x[i]))
            return &x[i];
    for (size_t i = 0; i < o->n_rows * o->n_heads; i++)
        if (isnan(o->lse[i]) || o->lse[i] == INFINITY)
            return &o->lse[i];
    return NULL;
}

/* Computes a call; false if it is refused. Buffers have exactly the documented size. */
static bool run(const struct attention_case *c, const struct quire_plan_params *p,
                struct quire_threads *threads, struct output *o)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_plan *plan = create_plan(p);
    bool ok = false;
    if (plan && accepted(quire_plan_build(plan, &c->batch, &err), &err) &&
        c->starts[c->batch.n_seqs] <= MAX_ROWS) {
        const struct quire_attention_config *a = &c->config;
        struct quire_attention_args args = c->args;
        o->n_rows = c->batch.n_seqs ? (size_t)c->starts[c->batch.n_seqs] : 0;
        o->n_heads = a->n_heads;
        o->v_size = a->v_head_size ? a->v_head_size : a->head_size;
        const size_t n = o->n_rows * o->n_heads;
        /* as f32, as large as any other dtype */
        float *q = random_rows(n * a->head_size, 3), *scale = random_rows(n, 4);
        if (args.q_dtype == QUIRE_KV_BF16 || args.q_dtype == QUIRE_KV_F16)
            for (size_t i = 0; i < n * a->head_size; i++) {
                /* bits of small numbers in both types */
                const uint16_t bits = (uint16_t)(0x3800 + (i * 37) % 0x600);
                memcpy((uint8_t *)q + 2 * i, &bits, 2);
            }
        o->out = malloc(n * o->v_size * dtype_bytes(args.out_dtype) + 1);
        o->lse = malloc(n * sizeof *o->lse + 1);
        memset(o->out, FILL, n * o->v_size * dtype_bytes(args.out_dtype));
        args.q = q;
        args.out = o->out;
        args.lse = o->lse;
        args.q_scale = args.q_dtype == QUIRE_KV_INT8 ? scale : NULL;
        const quire_status check = quire_attention_check(plan, &args, &err);
        const quire_status s = quire_attention_forward(plan, &args, threads, &err);
        fuzz_check(s == check, "check %s, forward %s", fuzz_status(check), fuzz_status(s));
        ok = accepted(s, &err);
        free(q), free(scale);
    }
    quire_plan_destroy(plan);
    return ok;
}

/* The call with other threads and flags gives the same bits. */
static void check_other(const struct attention_case *c, const struct quire_plan_params *p,
                        const struct output *one)
{
    struct output other = { 0 };
    fuzz_check(run(c, p, team(p->n_threads), &other), "refused with other threads");
    const size_t n = one->n_rows * one->n_heads;
    fuzz_check(n == 0 || memcmp(one->out, other.out,
                                n * one->v_size * dtype_bytes(c->args.out_dtype)) == 0,
               "out depends on threads or flags");
    fuzz_check(n == 0 || memcmp(one->lse, other.lse, n * sizeof(float)) == 0,
               "lse depends on threads or flags");
    free(other.out), free(other.lse);
}

static void compare(const struct attention_case *c, struct fuzz_input *in)
{
    static const uint32_t flags[] = { 0, QUIRE_PLAN_FAST, QUIRE_PLAN_CASCADE,
                                      QUIRE_PLAN_NO_CASCADE };
    struct output one = { 0 };
    struct quire_plan_params p = c->plan;
    if (run(c, &p, NULL, &one)) {
        const float *bad = c->wild || c->args.out_dtype != QUIRE_KV_F32 ? NULL : not_finite(&one);
        fuzz_check(!bad, "a result is %g", (double)*bad);
        p.n_threads = 1 + fuzz_below(in, N_TEAMS - 1);
        p.flags = c->wild ? p.flags : FUZZ_PICK(in, flags);
        if (!too_large(&p)) /* the partial results of several threads may be */
            check_other(c, &p, &one);
    }
    free(one.out), free(one.lse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    struct attention_case c;
    attention_case_draw(&c, &in);
    struct quire_kv_cache *kv = create_cache(&c);
    if (kv) {
        c.plan.kv = kv;
        compare(&c, &in);
    }
    quire_kv_destroy(kv);
    attention_case_free(&c);
    return 0;
}
