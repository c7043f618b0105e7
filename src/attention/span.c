/* SPDX-License-Identifier: Apache-2.0 */
/* span.c - online softmax of query rows over the tiles of one span. */
#include "attention/span.h"
#include "attention/kv_tile.h"
#include "attention/position_bias.h"
#include "attention/query_rows.h"
#include <math.h>
#include <string.h>

enum { TILE = QR_TILE_KEYS, SPAN = QR_SPAN_KEYS, COLUMN = QR_COLUMN_KEYS };

/* Column c of a tile, or NULL if no key of it is visible. */
static inline const void *column(uint64_t any, const void *const *columns, int c)
{
    return any >> (c * COLUMN) & 0xffff ? columns[c] : NULL;
}

#define COLUMNS(any, x)                                                                            \
    {                                                                                              \
        column(any, x, 0), column(any, x, 1), column(any, x, 2), column(any, x, 3)                 \
    }

#define GROUP_SCALES(x)                                                                            \
    {                                                                                              \
        (x)[0], (x)[1], (x)[2], (x)[3]                                                             \
    }

/* Computes rows [first, first + n) against the tile at `key`. scratch->visible holds their
 * masks. */
static void attend_rows(const struct qr_tile_ctx *ctx, uint32_t key, const struct qr_kv_tile *t,
                        const struct qr_softmax_state *st, uint32_t first, uint32_t n)
{
    const struct qr_attention_kernels *kernels = ctx->kernels;
    const struct qr_thread_scratch *s = ctx->scratch;
    const uint64_t *visible = s->visible + first;
    uint64_t any = 0;
    for (uint32_t r = 0; r < n; r++)
        any |= visible[r];
    if (!any)
        return;
    const size_t q_bytes =
        kernels->quantize_q ? qr_int4_query_bytes(ctx->k_size)
                            : ctx->k_size * (kernels->round_q ? sizeof(uint16_t) : sizeof(float));
    const bool prefetch = first == 0; /* once per tile suffices */
    const struct qr_attn_qk_args qk = { .q = (const unsigned char *)s->q + first * q_bytes,
                                        .k = COLUMNS(any, t->k),
                                        .k_stride = t->k_stride,
                                        .s = s->s,
                                        .n_rows = (int)n,
                                        .head_size = (int)ctx->k_size,
                                        .next = prefetch ? t->prefetch_k : NULL,
                                        .next_l2 = kernels->next_l2,
                                        .k_scale = GROUP_SCALES(t->k_group_scale),
                                        .k_scale_stride = t->group_scale_stride };
    const struct qr_attn_pv_args pv = { .p = kernels->p_bf16 ? (const void *)s->p : s->s,
                                        .v = COLUMNS(any, t->v),
                                        .v_stride = t->v_stride,
                                        .o = st->o + (size_t)first * ctx->v_width,
                                        .visible = visible,
                                        .o_stride = ctx->v_width,
                                        .n_rows = (int)n,
                                        .v_head_size = (int)ctx->v_size,
                                        .next = prefetch ? t->prefetch_v : NULL,
                                        .next_l2 = kernels->next_l2,
                                        .v_scale = GROUP_SCALES(t->v_group_scale),
                                        .v_scale_stride = t->group_scale_stride };
    (t->k_8bit ? kernels->qk_8bit : kernels->qk)(&qk);
    /* All fields are set: gcc clears partial initializers with a slow `rep stos`. */
    struct qr_attn_softmax_args softmax = {
        .s = s->s,
        .p_bf16 = kernels->p_bf16 ? s->p : NULL,
        .visible = visible,
        .m = st->m + first,
        .l = s->lanes + (size_t)first * COLUMN,
        .l_exact = ctx->exact ? s->lanes_exact + (size_t)first * COLUMN : NULL,
        .o = pv.o,
        .slope = NULL,
        .distance = NULL,
        .row_scale = ctx->scaled_q ? s->row_scale + first : NULL,
        .k_scale = t->k_scale,
        .v_scale = t->v_scale,
        .bias = NULL,
        .o_stride = ctx->v_width,
        .scale = ctx->config->scale * ctx->k_scale,
        .soft_cap = ctx->config->logits_soft_cap,
        .n_rows = (int)n,
        .o_width = (int)ctx->v_width,
    };
    qr_position_bias_fill(ctx, key, first, &softmax);
    kernels->softmax(&softmax);
    (t->v_8bit ? kernels->pv_8bit : kernels->pv)(&pv);
}

/* Sums the 16 lanes of a row by a fixed tree. */
static float sum_lanes(const float *lanes)
{
    float t[COLUMN / 2];
    for (int i = 0; i < COLUMN / 2; i++)
        t[i] = lanes[i] + lanes[i + COLUMN / 2];
    for (int w = COLUMN / 4; w > 0; w /= 2)
        for (int i = 0; i < w; i++)
            t[i] += t[i + w];
    return t[0];
}

static void reset(const struct qr_tile_ctx *ctx, const struct qr_softmax_state *st)
{
    const struct qr_thread_scratch *s = ctx->scratch;
    const uint32_t n_rows = ctx->n_rows;
    for (uint32_t r = 0; r < n_rows; r++)
        st->m[r] = -INFINITY;
    memset(s->lanes, 0, (size_t)n_rows * COLUMN * sizeof *s->lanes);
    memset(s->lanes_exact, 0, (size_t)n_rows * COLUMN * sizeof *s->lanes_exact);
    memset(st->o, 0, (size_t)n_rows * ctx->v_width * sizeof *st->o);
}

/* Whether the 8-bit kernels can compute the tile: few rows, all of which see every key. `seen` is
 * the union of the rows' masks. */
static bool fits_8bit(const struct qr_tile_ctx *ctx, uint64_t seen)
{
    bool all = ~seen == 0 && ctx->n_rows <= QR_CODES_ROWS;
    for (uint32_t r = 0; all && r < ctx->n_rows; r++)
        all = ~ctx->scratch->visible[r] == 0;
    return all;
}

void qr_span_attend(const struct qr_tile_ctx *ctx, uint32_t span, const struct qr_softmax_state *st)
{
    const struct qr_thread_scratch *s = ctx->scratch;
    const uint32_t n_rows = ctx->n_rows, chunk = (uint32_t)ctx->kernel_table->attn_call_rows;
    const uint32_t begin = span * SPAN > ctx->any.lo ? span * SPAN : ctx->any.lo;
    const uint32_t end = ctx->any.hi - span * SPAN < SPAN ? ctx->any.hi : span * SPAN + SPAN;
    bool live = false;
    for (uint32_t key = begin / TILE * TILE; key < end; key += TILE) {
        const uint64_t seen = qr_query_rows_visible(ctx, key);
        if (!seen)
            continue;
        if (!live)
            reset(ctx, st);
        live = true;
        struct qr_kv_tile t;
        qr_kv_tile_load(ctx, key, seen, fits_8bit(ctx, seen), &t);
        for (uint32_t r = 0; r < n_rows; r += chunk)
            attend_rows(ctx, key, &t, st, r, n_rows - r < chunk ? n_rows - r : chunk);
    }
    for (uint32_t r = 0; r < n_rows; r++) { /* l = 0: no key; m and o are undefined then */
        st->l[r] = live ? sum_lanes(s->lanes + (size_t)r * COLUMN) : 0;
        st->l_exact[r] =
            live && ctx->exact ? sum_lanes(s->lanes_exact + (size_t)r * COLUMN) : st->l[r];
    }
}
