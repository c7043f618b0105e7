/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - creation and destruction of plans: limits and memory layout. */
#include "attention/plan.h"
#include "attention/cascade_partition.h"
#include "attention/config.h"
#include "attention/kernel_select.h"
#include "attention/partition.h"
#include "attention/splitkv.h"
#include "base/alloc.h"
#include "base/bump.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "kernels/dispatch.h"
#include <stdio.h>
#include <string.h>

enum { MAX_GROUPS = 256, MAX_THREADS = 1024, MAX_TOKENS = 1 << 24, MAX_SEQS = 1 << 20 };
/* Heads wider than WIDE_HEAD have proportionally fewer rows per tile. */
enum { WIDE_HEAD = 128, MIN_TILE_ROWS = 12 };

static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* ---- checks */

static quire_status check_group(const struct quire_plan_params *p, uint32_t i,
                                struct quire_error *err)
{
    const struct quire_plan_group *g = &p->groups[i];
    struct quire_kv_group_config kv;
    struct quire_attention_config c;
    char name[40];
    snprintf(name, sizeof name, "params.groups[%u].config", i);
    QR_TRY(qr_attention_config_read(&c, g->config, name, err));
    if (g->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.groups[%u].reserved is not 0", i);
    const uint32_t reasons = qr_attention_reasons(&c);
    if (reasons)
        return qr_attention_refuse(reasons, name, err);
    QR_TRY(quire_kv_get_group(p->kv, g->kv_group, &kv, err));
    if (kv.n_kv_heads != c.n_kv_heads || kv.head_size != c.head_size ||
        kv.v_head_size != qr_attention_v_size(&c))
        return qr_fail(
            err, QUIRE_E_MISMATCH,
            "params.groups[%u]: KV group %u has %u heads of %u and %u, config says %u of %u and %u",
            i, g->kv_group, kv.n_kv_heads, kv.head_size, kv.v_head_size, c.n_kv_heads, c.head_size,
            qr_attention_v_size(&c));
    return QUIRE_OK;
}

static quire_status check_number(const char *name, uint32_t value, uint32_t max,
                                 struct quire_error *err)
{
    if (value < 1 || value > max)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.%s is %u, not 1 .. %u", name, value, max);
    return QUIRE_OK;
}

static quire_status check_params(const struct quire_plan_params *p, const struct qr_kernels **best,
                                 struct quire_error *err)
{
    if (!p->kv || !p->groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.%s is NULL", p->kv ? "groups" : "kv");
    QR_TRY(check_number("n_groups", p->n_groups, MAX_GROUPS, err));
    QR_TRY(check_number("max_tokens", p->max_tokens, MAX_TOKENS, err));
    QR_TRY(check_number("max_seqs", p->max_seqs, MAX_SEQS, err));
    QR_TRY(check_number("max_seq_len", p->max_seq_len, INT32_MAX, err));
    QR_TRY(check_number("n_threads", p->n_threads, MAX_THREADS, err));
    if (p->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.reserved is not 0");
    if (p->max_tree_words > QR_TREE_WORDS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.max_tree_words is %u, not 0 .. %d",
                       p->max_tree_words, QR_TREE_WORDS);
    const uint32_t cascades = QUIRE_PLAN_CASCADE | QUIRE_PLAN_NO_CASCADE;
    if (p->flags & ~(QUIRE_PLAN_FAST | cascades))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags has unknown bits: 0x%x", p->flags);
    if ((p->flags & cascades) == cascades)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags both forces and forbids cascades");
    for (uint32_t i = 0; i < p->n_groups; i++)
        QR_TRY(check_group(p, i, err));
    return qr_kernels_get(p->isa, best, err);
}

/* ---- sizes */

/* Sets the geometry and limits of group i. False on overflow. */
static bool size_group(const struct quire_plan_params *p, uint32_t i, const struct qr_kernels *best,
                       struct qr_plan_group *g)
{
    *g = (struct qr_plan_group){ .kv_group = p->groups[i].kv_group };
    qr_struct_copy(&g->config, sizeof g->config, p->groups[i].config);
    const struct quire_attention_config *c = &g->config;
    const uint32_t v_size = qr_attention_v_size(c), width = max_u32(c->head_size, v_size);
    const uint32_t block_size = quire_kv_block_size(p->kv);
    g->kv = &p->kv->groups[g->kv_group];
    g->kernel_table = qr_attention_kernel_table(best, c->head_size, v_size);
    g->gqa_ratio = c->n_heads / c->n_kv_heads;
    g->v_width = v_size % 8 ? v_size : (v_size + 15) / 16 * 16;
    const uint32_t tile_rows = (uint32_t)g->kernel_table->attn_tile_rows;
    g->tile_rows = max_u32(tile_rows * WIDE_HEAD / width, MIN_TILE_ROWS);
    /* every query tile of a latent group transposes K to V: more rows amortize that and are worth
     * the larger cache footprint */
    if (g->tile_rows > tile_rows || g->kv->layout.latent)
        g->tile_rows = tile_rows;
    /* the last tile of every sequence may be partial */
    size_t rows, tiles;
    if (!qr_mul_size(p->max_tokens, g->gqa_ratio, &rows) ||
        !qr_add_size(rows / g->tile_rows + 1, p->max_seqs, &tiles) ||
        !qr_mul_size(tiles, c->n_kv_heads, &tiles) ||
        tiles > UINT32_MAX / 2 - QR_SPLITS_PER_THREAD * MAX_THREADS)
        return false;
    g->max_reductions = 4 * p->n_threads;
    g->max_items = (uint32_t)tiles + QR_SPLITS_PER_THREAD * p->n_threads;
    const size_t per_seq = (p->max_seq_len - 1) / block_size + 1;
    g->max_blocks = p->max_blocks;
    return p->max_blocks || qr_mul_size(per_seq, p->max_seqs, &g->max_blocks);
}

/* Reserves partials for split tiles: two decode sequences of full length or eight partials of a
 * full tile per thread, whichever is more. Further tiles are not split. */
static bool size_partials(struct quire_plan *plan, const struct qr_plan_group *g)
{
    const size_t spans = (plan->max_seq_len - 1) / QR_SPAN_KEYS + 2;
    size_t decode, prefill;
    if (!qr_mul4_size(qr_partial_floats(g, g->gqa_ratio), g->config.n_kv_heads, spans, 2,
                      &decode) ||
        !qr_mul3_size(qr_partial_floats(g, g->tile_rows), plan->n_threads, 8, &prefill))
        return false;
    const size_t need = plan->n_threads == 1 || plan->flags & QUIRE_PLAN_FAST ? 0
                        : decode > prefill                                    ? decode
                                                                              : prefill;
    plan->n_partial_floats = need > plan->n_partial_floats ? need : plan->n_partial_floats;
    return true;
}

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static void add_to_largest(struct qr_plan_largest *l, const struct qr_plan_group *g)
{
    const size_t n = g->tile_rows, k_size = g->config.head_size, v_size = g->v_width;
    const struct qr_kv_layout *kv = &g->kv->layout;
    l->rows = max_size(l->rows, n);
    l->q = max_size(l->q, n * k_size);
    l->o = max_size(l->o, n * v_size);
    l->k = max_size(l->k, k_size);
    l->v = max_size(l->v, v_size * (kv->latent && kv->v_dtype == QUIRE_KV_F32 ? 2 : 1));
    l->items = max_u32(l->items, g->max_items);
    l->cascades = max_u32(l->cascades, g->max_cascades);
    l->pool_blocks = max_u32(l->pool_blocks, g->kv->n_blocks);
}

struct qr_thread_scratch qr_thread_scratch_layout(const struct quire_plan *plan,
                                                  unsigned char *base, size_t *bytes)
{
    const size_t rows = plan->largest.rows, q = plan->largest.q, o = plan->largest.o,
                 k = plan->largest.k, v = plan->largest.v;
    struct qr_bump c = { .base = base };
    struct qr_thread_scratch s = { 0 };
    s.q = qr_bump_alloc(&c, q, sizeof(float));
    s.acc = qr_bump_alloc(&c, o, sizeof(float));
    s.part = qr_bump_alloc(&c, o, sizeof(float));
    s.acc_m = qr_bump_alloc(&c, rows, sizeof(float));
    s.acc_l = qr_bump_alloc(&c, rows, sizeof(float));
    s.acc_l_exact = qr_bump_alloc(&c, rows, sizeof(float));
    s.part_m = qr_bump_alloc(&c, rows, sizeof(float));
    s.part_l = qr_bump_alloc(&c, rows, sizeof(float));
    s.part_l_exact = qr_bump_alloc(&c, rows, sizeof(float));
    s.lanes = qr_bump_alloc(&c, rows * QR_COLUMN_KEYS, sizeof(float));
    s.lanes_exact = qr_bump_alloc(&c, rows * QR_COLUMN_KEYS, sizeof(float));
    s.slope = qr_bump_alloc(&c, rows, sizeof(float));
    s.row_scale = qr_bump_alloc(&c, rows, sizeof(float));
    s.call_slope = qr_bump_alloc(&c, QR_KERNEL_ROWS, sizeof(float));
    s.distance = qr_bump_alloc(&c, QR_KERNEL_ROWS, sizeof(int64_t));
    s.visible = qr_bump_alloc(&c, rows, sizeof(uint64_t));
    if (plan->max_tree_tokens) {
        s.tree = qr_bump_alloc(&c, rows * plan->max_tree_words, sizeof(uint64_t));
        s.branch = qr_bump_alloc(&c, rows, sizeof(bool));
    }
    s.lo = qr_bump_alloc(&c, rows, sizeof(uint32_t));
    s.hi = qr_bump_alloc(&c, rows, sizeof(uint32_t));
    s.pos = qr_bump_alloc(&c, rows, sizeof(uint32_t));
    s.selected = qr_bump_alloc(&c, rows, sizeof *s.selected);
    s.relative = qr_bump_alloc(&c, rows, sizeof *s.relative);
    s.bias_rows = qr_bump_alloc(&c, QR_KERNEL_ROWS, sizeof *s.bias_rows);
    s.bias = qr_bump_alloc(&c, QR_KERNEL_ROWS * QR_TILE_KEYS, sizeof(float));
    s.s = qr_bump_alloc(&c, QR_KERNEL_ROWS * QR_TILE_KEYS, sizeof(float));
    s.p = qr_bump_alloc(&c, QR_KERNEL_ROWS * QR_TILE_KEYS, sizeof(uint16_t));
    s.k = qr_bump_alloc(&c, k * QR_TILE_KEYS, sizeof(uint16_t));
    s.v = qr_bump_alloc(&c, v * QR_TILE_KEYS, sizeof(uint16_t));
    s.k_scale = qr_bump_alloc(&c, QR_TILE_KEYS, sizeof(float));
    s.v_scale = qr_bump_alloc(&c, QR_TILE_KEYS, sizeof(float));
    s.row = qr_bump_alloc(&c, k > v ? k : v, sizeof(float));
    s.raw = qr_bump_alloc(&c, k > v ? k : v, sizeof(float));
    *bytes = c.used;
    return s;
}

static void lay_out_group(struct quire_plan *plan, struct qr_plan_group *g, struct qr_bump *c)
{
    g->kernels = qr_bump_alloc(c, QR_N_COMPUTE, sizeof *g->kernels);
    g->seq_blocks = qr_bump_alloc(c, plan->max_seqs, sizeof *g->seq_blocks);
    g->staged_seq_blocks = qr_bump_alloc(c, plan->max_seqs, sizeof *g->staged_seq_blocks);
    g->block_ids = qr_bump_alloc(c, g->max_blocks, sizeof *g->block_ids);
    g->items = qr_bump_alloc(c, g->max_items, sizeof *g->items);
    g->order = qr_bump_alloc(c, g->max_items, sizeof *g->order);
    g->reductions = qr_bump_alloc(c, g->max_reductions, sizeof *g->reductions);
    g->cascades = qr_bump_alloc(c, g->max_cascades, sizeof *g->cascades);
    g->members = qr_bump_alloc(c, g->max_members, sizeof *g->members);
    if (plan->max_sparse_blocks) {
        /* max_seqs * n_kv_heads cannot overflow: max_items is larger */
        g->sparse_lists = qr_bump_alloc(c, (size_t)plan->max_seqs * g->config.n_kv_heads,
                                        sizeof *g->sparse_lists);
        g->sparse_blocks = qr_bump_alloc(c, plan->max_sparse_blocks, sizeof *g->sparse_blocks);
    }
}

static void lay_out_shared(struct quire_plan *plan, struct qr_bump *c)
{
    const struct qr_plan_largest *l = &plan->largest;
    plan->seqs = qr_bump_alloc(c, plan->max_seqs, sizeof *plan->seqs);
    plan->spans = qr_bump_alloc(c, plan->max_spans, sizeof *plan->spans);
    plan->tree = qr_bump_alloc(c, plan->max_tree_tokens, plan->max_tree_words * sizeof *plan->tree);
    plan->depths = qr_bump_alloc(c, plan->max_tree_tokens, sizeof *plan->depths);
    plan->staged_depths = qr_bump_alloc(c, plan->max_tree_tokens, sizeof *plan->staged_depths);
    if (plan->max_sparse_blocks)
        plan->listed = qr_bump_alloc(c, (size_t)plan->max_seq_len / plan->kv->block_size / 64 + 1,
                                     sizeof *plan->listed);
    plan->block_marks = qr_bump_alloc(c, l->pool_blocks, sizeof *plan->block_marks);
    plan->cost_runs = qr_bump_alloc(c, l->items, sizeof *plan->cost_runs);
    if (l->cascades) {
        plan->cascade_seqs = qr_bump_alloc(c, plan->max_seqs, sizeof *plan->cascade_seqs);
        plan->cascade_leaders = qr_bump_alloc(c, l->pool_blocks, sizeof *plan->cascade_leaders);
    }
    plan->partials = qr_bump_alloc(c, plan->n_partial_floats, sizeof *plan->partials);
    qr_thread_scratch_layout(plan, NULL, &plan->scratch_bytes);
    plan->scratch = qr_bump_alloc(c, plan->n_threads, plan->scratch_bytes);
}

/* Sets the limits of the plan and lays out its arrays at `base`, where it begins itself. base NULL:
 * sets plan->bytes and leaves the groups out, which could take 64 KiB of stack. False on
 * overflow. */
static bool lay_out(struct quire_plan *plan, const struct quire_plan_params *p,
                    const struct qr_kernels *best, unsigned char *base)
{
    struct qr_bump c = { .base = base };
    struct qr_plan_group measured;
    *plan = (struct quire_plan){ .handle = { QR_KIND_PLAN },
                                 .owner = "plan",
                                 .allocator = p->allocator,
                                 .kv = p->kv,
                                 .n_groups = p->n_groups,
                                 .max_tokens = p->max_tokens,
                                 .max_seqs = p->max_seqs,
                                 .max_seq_len = p->max_seq_len,
                                 .n_threads = p->n_threads,
                                 .team_size = p->n_threads,
                                 .flags = p->flags,
                                 .max_spans = p->max_spans,
                                 .max_tree_tokens = p->max_tree_tokens,
                                 .max_tree_words = p->max_tree_words ? p->max_tree_words : 1,
                                 .max_sparse_blocks = p->max_sparse_blocks };
    qr_bump_alloc(&c, 1, sizeof *plan);
    plan->groups = qr_bump_alloc(&c, p->n_groups, sizeof *plan->groups);
    for (uint32_t i = 0; i < p->n_groups; i++) {
        /* cppcheck-suppress uninitvar ; size_group fills it */
        struct qr_plan_group *g = base ? &plan->groups[i] : &measured;
        if (!size_group(p, i, best, g) || !size_partials(plan, g) || !qr_cascade_reserve(plan, g))
            return false;
        add_to_largest(&plan->largest, g);
        lay_out_group(plan, g, &c);
    }
    if (!qr_add_size(plan->n_partial_floats, plan->n_cascade_floats, &plan->n_partial_floats))
        return false;
    lay_out_shared(plan, &c);
    plan->bytes = c.used;
    return !c.overflow;
}

/* Reads and checks the parameters and measures the plan. */
static quire_status measure(const struct quire_plan_params *params, struct quire_plan_params *p,
                            const struct qr_kernels **best, size_t *bytes, struct quire_error *err)
{
    struct quire_plan plan;
    QR_READ_STRUCT(p, params, allocator, "params", err);
    QR_TRY(check_params(p, best, err));
    if (!lay_out(&plan, p, *best, NULL))
        return qr_fail(
            err, QUIRE_E_LIMIT,
            "max_tokens %u, max_seqs %u and max_seq_len %u need more memory than can be addressed",
            p->max_tokens, p->max_seqs, p->max_seq_len);
    *bytes = plan.bytes;
    return QUIRE_OK;
}

/* ---- creation and destruction */

quire_status quire_plan_bytes(const struct quire_plan_params *params, uint64_t *bytes,
                              struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_plan_params p;
    const struct qr_kernels *best;
    size_t n = 0;
    if (!bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "bytes is NULL");
    QR_TRY(measure(params, &p, &best, &n, err));
    *bytes = n;
    return QUIRE_OK;
}

quire_status quire_plan_create(const struct quire_plan_params *params, struct quire_plan **out,
                               struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_plan_params p;
    const struct qr_kernels *best;
    size_t bytes = 0;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(measure(params, &p, &best, &bytes, err));
    unsigned char *memory = qr_alloc_aligned(p.allocator, bytes, QR_BUMP_ALIGN);
    if (!memory)
        return qr_fail(err, QUIRE_E_NOMEM, "%zu bytes for a plan", bytes);
    struct quire_plan *plan = (struct quire_plan *)(void *)memory;
    (void)lay_out(plan, &p, best, memory); /* succeeded above */
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        struct qr_plan_group *g = &plan->groups[i];
        for (int compute = 0; compute < QR_N_COMPUTE; compute++)
            g->kernels[compute] = qr_attention_kernels_select(g->kernel_table, &g->kv->layout,
                                                              (enum quire_compute)compute);
        memset(g->reductions, 0, g->max_reductions * sizeof *g->reductions);
    }
    memset(plan->block_marks, 0, plan->largest.pool_blocks * sizeof *plan->block_marks);
    if (plan->cascade_leaders)
        memset(plan->cascade_leaders, 0, plan->largest.pool_blocks * sizeof *plan->cascade_leaders);
    *out = plan;
    return QUIRE_OK;
}

void quire_plan_destroy(struct quire_plan *plan)
{
    if (qr_handle_end(plan, QR_KIND_PLAN))
        qr_free(plan->allocator, plan, plan->bytes, 1);
}

quire_status qr_plan_acquire(struct quire_plan *plan, struct quire_error *err)
{
    if (__atomic_exchange_n(&plan->busy, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "the plan is in use by another call");
    return QUIRE_OK;
}

void qr_plan_release(struct quire_plan *plan)
{
    __atomic_store_n(&plan->busy, false, __ATOMIC_RELEASE);
}

quire_status quire_plan_get_info(const struct quire_plan *plan, uint32_t group,
                                 struct quire_plan_info *out)
{
    if (!qr_handle_is(plan, QR_KIND_PLAN) || !out || group >= plan->n_groups)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(out, QR_SIZE_TO(struct quire_plan_info, n_cascades), "out", NULL));
    const struct qr_plan_group *g = &plan->groups[group];
    uint32_t cascades = 0;
    for (uint32_t i = 0; i < g->n_items; i++)
        cascades += g->items[i].cascade != QR_CASCADE_NONE;
    const struct quire_plan_info info = { .n_seqs = plan->n_seqs,
                                          .n_tokens = plan->n_tokens,
                                          .max_query_len = plan->max_query_len,
                                          .max_seq_len = plan->batch_max_seq_len,
                                          .n_items = g->n_items,
                                          .n_splits = g->n_reductions,
                                          .n_cascades = cascades };
    qr_struct_write(out, &info, sizeof info);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_plan_params)
QR_DEFINE_ZERO_INIT(quire_plan_info)
