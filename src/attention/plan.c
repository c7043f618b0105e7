/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - limits, memory and life of a plan. */
#include "attention/cascade.h"
#include "base/alloc.h"
#include "base/bump.h"
#include "base/error.h"
#include "base/struct_size.h"
#include "kernels/dispatch.h"
#include <string.h>

enum { MAX_GROUPS = 256, MAX_THREADS = 1024, MAX_TOKENS = 1 << 24, MAX_SEQS = 1 << 20 };
enum { WIDE = 128, MIN_TILE_ROWS = 12 };

static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* ---- checks */

static quire_status check_group(const struct quire_plan_params *p, uint32_t i,
                                struct quire_error *err)
{
    const struct quire_plan_group *g = &p->groups[i];
    struct quire_kv_group_config kv;
    if (!g->config)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.groups[%u].config is NULL", i);
    if (g->config->struct_size != sizeof *g->config)
        return qr_fail(err, QUIRE_E_MISUSE, "params.groups[%u].config->struct_size is %u, not %zu",
                       i, g->config->struct_size, sizeof *g->config);
    if (g->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.groups[%u].reserved is not 0", i);
    const uint32_t reasons = qr_attention_reasons(g->config);
    if (reasons) {
        char text[160];
        qr_attention_reason_text(reasons, "; ", text, sizeof text);
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "params.groups[%u].config: %s", i, text);
    }
    QR_TRY(quire_kv_group_get(p->kv, g->kv_group, &kv, err));
    if (kv.n_kv_heads != g->config->n_kv_heads || kv.head_size != g->config->head_size ||
        kv.v_head_size != qr_attention_v_size(g->config))
        return qr_fail(
            err, QUIRE_E_MISMATCH,
            "params.groups[%u]: KV group %u has %u heads of %u and %u, config says %u of %u and %u",
            i, g->kv_group, kv.n_kv_heads, kv.head_size, kv.v_head_size, g->config->n_kv_heads,
            g->config->head_size, qr_attention_v_size(g->config));
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
    if (!p)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params is NULL");
    if (p->struct_size != sizeof *p)
        return qr_fail(err, QUIRE_E_MISUSE, "params.struct_size is %u, not %zu", p->struct_size,
                       sizeof *p);
    if (!p->kv || !p->groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.%s is NULL", p->kv ? "groups" : "kv");
    QR_TRY(check_number("n_groups", p->n_groups, MAX_GROUPS, err));
    QR_TRY(check_number("max_tokens", p->max_tokens, MAX_TOKENS, err));
    QR_TRY(check_number("max_seqs", p->max_seqs, MAX_SEQS, err));
    QR_TRY(check_number("max_seq_len", p->max_seq_len, INT32_MAX, err));
    QR_TRY(check_number("n_threads", p->n_threads, MAX_THREADS, err));
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

/* Geometry and limits of one group. Returns false on overflow. */
static bool size_group(const struct quire_plan_params *p, uint32_t i, const struct qr_kernels *best,
                       struct qr_plan_group *g)
{
    const struct quire_attention_config *c = p->groups[i].config;
    const uint32_t v_size = qr_attention_v_size(c), wide = max_u32(c->head_size, v_size);
    const uint32_t block_size = quire_kv_block_size(p->kv);
    *g = (struct qr_plan_group){ .config = *c, .kv_group = p->groups[i].kv_group };
    g->table = qr_attention_table(best, c->head_size, v_size);
    g->ratio = c->n_heads / c->n_kv_heads;
    g->v_width = v_size % 8 ? v_size : (v_size + 15) / 16 * 16;
    const uint32_t tile_rows = (uint32_t)g->table->attn_tile_rows;
    g->tile_rows = max_u32(tile_rows * WIDE / wide, MIN_TILE_ROWS);
    /* each tile of rows turns keys of a latent group into values: worth more cache */
    if (g->tile_rows > tile_rows || p->kv->groups[g->kv_group].layout.latent)
        g->tile_rows = tile_rows;
    /* every sequence may end with a tile that is not full */
    size_t rows, tiles;
    if (!qr_mul_size(p->max_tokens, g->ratio, &rows) ||
        !qr_add_size(rows / g->tile_rows + 1, p->max_seqs, &tiles) ||
        !qr_mul_size(tiles, c->n_kv_heads, &tiles) ||
        tiles > UINT32_MAX / 2 - QR_SPLITS_PER_THREAD * MAX_THREADS)
        return false;
    g->max_joins = 4 * p->n_threads;
    g->max_items = (uint32_t)tiles + QR_SPLITS_PER_THREAD * p->n_threads;
    const size_t per_seq = (p->max_seq_len - 1) / block_size + 1;
    g->max_blocks = p->max_blocks;
    return p->max_blocks || qr_mul_size(per_seq, p->max_seqs, &g->max_blocks);
}

/* Room for the states of split tiles: two sequences of full length in decode, or eight slots of a
 * full tile per thread, whichever is more. Tiles beyond that are not split. */
static bool size_partials(struct quire_plan *plan, const struct qr_plan_group *g)
{
    const size_t spans = (plan->max_seq_len - 1) / QR_SPAN_KEYS + 2;
    size_t decode, prefill;
    if (!qr_mul4_size(qr_plan_slot_floats(g, g->ratio), g->config.n_kv_heads, spans, 2,
                      &decode) ||
        !qr_mul3_size(qr_plan_slot_floats(g, g->tile_rows), plan->n_threads, 8, &prefill))
        return false;
    const size_t need = plan->n_threads == 1 || plan->flags & QUIRE_PLAN_FAST ? 0
                        : decode > prefill                                    ? decode
                                                                              : prefill;
    plan->partial_floats = need > plan->partial_floats ? need : plan->partial_floats;
    return true;
}

struct qr_plan_scratch qr_plan_scratch_at(const struct quire_plan *plan, unsigned char *base,
                                          size_t *bytes)
{
    size_t rows = 0, q = 0, o = 0, k = 0, v = 0;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const struct qr_plan_group *g = &plan->groups[i];
        const size_t n = g->tile_rows, k_size = g->config.head_size, v_size = g->v_width;
        rows = n > rows ? n : rows;
        q = n * k_size > q ? n * k_size : q;
        o = n * v_size > o ? n * v_size : o;
        k = k_size > k ? k_size : k;
        const struct qr_kv_layout *l = &plan->kv->groups[g->kv_group].layout;
        const size_t halves = l->latent && l->v_dtype == QUIRE_KV_F32 ? 2 : 1;
        v = v_size * halves > v ? v_size * halves : v;
    }
    struct qr_bump c = { .base = base };
    struct qr_plan_scratch s;
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
    s.slope_now = qr_bump_alloc(&c, QR_PLAN_CHUNK, sizeof(float));
    s.distance = qr_bump_alloc(&c, QR_PLAN_CHUNK, sizeof(int64_t));
    s.visible = qr_bump_alloc(&c, rows, sizeof(uint64_t));
    s.tree = qr_bump_alloc(&c, rows, sizeof(uint64_t));
    s.lo = qr_bump_alloc(&c, rows, sizeof(uint32_t));
    s.hi = qr_bump_alloc(&c, rows, sizeof(uint32_t));
    s.pos = qr_bump_alloc(&c, rows, sizeof(uint32_t));
    s.relative = qr_bump_alloc(&c, rows, sizeof *s.relative);
    s.bias_rows = qr_bump_alloc(&c, QR_PLAN_CHUNK, sizeof *s.bias_rows);
    s.bias = qr_bump_alloc(&c, QR_PLAN_CHUNK * QR_TILE_KEYS, sizeof(float));
    s.s = qr_bump_alloc(&c, QR_PLAN_CHUNK * QR_TILE_KEYS, sizeof(float));
    s.p = qr_bump_alloc(&c, QR_PLAN_CHUNK * QR_TILE_KEYS, sizeof(uint16_t));
    s.k = qr_bump_alloc(&c, k * QR_TILE_KEYS, sizeof(uint16_t));
    s.v = qr_bump_alloc(&c, v * QR_TILE_KEYS, sizeof(uint16_t));
    s.k_scale = qr_bump_alloc(&c, QR_TILE_KEYS, sizeof(float));
    s.v_scale = qr_bump_alloc(&c, QR_TILE_KEYS, sizeof(float));
    s.row = qr_bump_alloc(&c, k > v ? k : v, sizeof(float));
    s.raw = qr_bump_alloc(&c, k > v ? k : v, sizeof(float));
    *bytes = c.used;
    return s;
}

/* Lays the plan's arrays out after its groups, from `base` on. */
static bool lay_out(struct quire_plan *plan, unsigned char *base, size_t *bytes)
{
    struct qr_bump c = { .base = base };
    uint32_t max_items = 0, max_ids = 0;
    bool cascades = false;
    qr_bump_alloc(&c, 1, sizeof *plan);
    qr_bump_alloc(&c, plan->n_groups, sizeof *plan->groups);
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        struct qr_plan_group *g = &plan->groups[i];
        g->tables = qr_bump_alloc(&c, plan->max_seqs, sizeof *g->tables);
        g->next = qr_bump_alloc(&c, plan->max_seqs, sizeof *g->next);
        g->blocks = qr_bump_alloc(&c, g->max_blocks, sizeof *g->blocks);
        g->items = qr_bump_alloc(&c, g->max_items, sizeof *g->items);
        g->order = qr_bump_alloc(&c, g->max_items, sizeof *g->order);
        g->joins = qr_bump_alloc(&c, g->max_joins, sizeof *g->joins);
        g->cascades = qr_bump_alloc(&c, g->max_cascades, sizeof *g->cascades);
        g->members = qr_bump_alloc(&c, g->max_members, sizeof *g->members);
        cascades = cascades || g->max_cascades;
        if (plan->max_sparse_blocks) {
            /* max_seqs * n_kv_heads fits: there are as many items at least */
            g->lists = qr_bump_alloc(&c, (size_t)plan->max_seqs * g->config.n_kv_heads,
                                     sizeof *g->lists);
            g->list_blocks = qr_bump_alloc(&c, plan->max_sparse_blocks, sizeof *g->list_blocks);
        }
        max_items = max_u32(max_items, g->max_items);
        max_ids = max_u32(max_ids, plan->kv->groups[g->kv_group].n_blocks);
    }
    plan->seqs = qr_bump_alloc(&c, plan->max_seqs, sizeof *plan->seqs);
    plan->spans = qr_bump_alloc(&c, plan->max_spans, sizeof *plan->spans);
    plan->tree = qr_bump_alloc(&c, plan->max_tree_tokens, sizeof *plan->tree);
    if (plan->max_sparse_blocks)
        plan->named = qr_bump_alloc(&c, (size_t)plan->max_seq_len / plan->kv->block_size / 64 + 1,
                                    sizeof *plan->named);
    plan->marks = qr_bump_alloc(&c, max_ids, sizeof *plan->marks);
    plan->runs = qr_bump_alloc(&c, max_items, sizeof *plan->runs);
    if (cascades) {
        plan->cascade_seqs = qr_bump_alloc(&c, plan->max_seqs, sizeof *plan->cascade_seqs);
        plan->cascade_leaders = qr_bump_alloc(&c, max_ids, sizeof *plan->cascade_leaders);
    }
    plan->partials = qr_bump_alloc(&c, plan->partial_floats, sizeof *plan->partials);
    qr_plan_scratch_at(plan, NULL, &plan->scratch_bytes);
    plan->scratch = qr_bump_alloc(&c, plan->n_threads, plan->scratch_bytes);
    *bytes = c.used;
    return !c.overflow;
}

/* Fills a plan without memory of its own, over groups[n_groups]; its size comes out in plan->bytes.
 */
static quire_status size_plan(const struct quire_plan_params *p, struct qr_plan_group *groups,
                              struct quire_plan *plan, struct quire_error *err)
{
    const struct qr_kernels *best;
    QR_TRY(check_params(p, &best, err));
    *plan = (struct quire_plan){ .allocator = p->allocator,
                                 .kv = p->kv,
                                 .n_groups = p->n_groups,
                                 .max_tokens = p->max_tokens,
                                 .max_seqs = p->max_seqs,
                                 .max_seq_len = p->max_seq_len,
                                 .n_threads = p->n_threads,
                                 .flags = p->flags,
                                 .max_spans = p->max_spans,
                                 .max_tree_tokens = p->max_tree_tokens,
                                 .max_sparse_blocks = p->max_sparse_blocks,
                                 .groups = groups };
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->n_groups; i++)
        ok = size_group(p, i, best, &groups[i]) && size_partials(plan, &groups[i]) &&
             qr_cascade_size(plan, &groups[i]);
    ok = ok && qr_add_size(plan->partial_floats, plan->cascade_floats, &plan->partial_floats);
    if (!ok || !lay_out(plan, NULL, &plan->bytes))
        return qr_fail(
            err, QUIRE_E_LIMIT,
            "max_tokens %u, max_seqs %u and max_seq_len %u need more memory than can be addressed",
            p->max_tokens, p->max_seqs, p->max_seq_len);
    return QUIRE_OK;
}

/* ---- life */

quire_status quire_plan_bytes(const struct quire_plan_params *params, uint64_t *bytes,
                              struct quire_error *err)
{
    struct qr_plan_group groups[MAX_GROUPS];
    struct quire_plan plan;
    if (!bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "bytes is NULL");
    QR_TRY(size_plan(params, groups, &plan, err));
    *bytes = plan.bytes;
    return QUIRE_OK;
}

quire_status quire_plan_create(const struct quire_plan_params *params, struct quire_plan **out,
                               struct quire_error *err)
{
    struct qr_plan_group groups[MAX_GROUPS];
    struct quire_plan sized;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(size_plan(params, groups, &sized, err));
    unsigned char *memory = qr_alloc_aligned(sized.allocator, sized.bytes, QR_BUMP_ALIGN);
    if (!memory)
        return qr_fail(err, QUIRE_E_NOMEM, "%zu bytes for a plan", sized.bytes);
    struct quire_plan *plan = (struct quire_plan *)(void *)memory;
    size_t plan_bytes, bytes;
    (void)qr_align_size(sizeof *plan, QR_BUMP_ALIGN, &plan_bytes);
    memcpy(memory + plan_bytes, groups, sized.n_groups * sizeof *groups);
    *plan = sized;
    plan->groups = (struct qr_plan_group *)(void *)(memory + plan_bytes);
    (void)lay_out(plan, memory, &bytes);
    uint32_t max_ids = 0;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const struct qr_plan_group *g = &plan->groups[i];
        max_ids = max_u32(max_ids, plan->kv->groups[g->kv_group].n_blocks);
        memset(g->joins, 0, g->max_joins * sizeof *g->joins);
    }
    memset(plan->marks, 0, max_ids * sizeof *plan->marks);
    if (plan->cascade_leaders)
        memset(plan->cascade_leaders, 0, max_ids * sizeof *plan->cascade_leaders);
    *out = plan;
    return QUIRE_OK;
}

void quire_plan_destroy(struct quire_plan *plan)
{
    if (plan)
        qr_free(plan->allocator, plan, plan->bytes, 1);
}

quire_status qr_plan_enter(struct quire_plan *plan, struct quire_error *err)
{
    if (__atomic_exchange_n(&plan->busy, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "the plan is in use by another call");
    return QUIRE_OK;
}

void qr_plan_leave(struct quire_plan *plan)
{
    __atomic_store_n(&plan->busy, false, __ATOMIC_RELEASE);
}

quire_status quire_plan_info(const struct quire_plan *plan, uint32_t group,
                             struct quire_plan_info *out)
{
    if (!plan || !out || group >= plan->n_groups)
        return QUIRE_E_INVALID_ARG;
    if (out->struct_size != sizeof *out)
        return QUIRE_E_MISUSE;
    const struct qr_plan_group *g = &plan->groups[group];
    uint32_t cascades = 0;
    for (uint32_t i = 0; i < g->n_items; i++)
        cascades += g->items[i].cascade != QR_CASCADE_NONE;
    *out = (struct quire_plan_info){ .struct_size = sizeof *out,
                                     .n_seqs = plan->n_seqs,
                                     .n_tokens = plan->n_tokens,
                                     .max_query_len = plan->max_query_len,
                                     .max_seq_len = plan->batch_max_seq_len,
                                     .n_items = g->n_items,
                                     .n_splits = g->n_joins,
                                     .n_cascades = cascades };
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_plan_params)
QR_DEFINE_ZERO_INIT(quire_plan_info)
