/* SPDX-License-Identifier: Apache-2.0 */
/* conv_attention.c - queries, keys and values of convolutional attention: projections, a
 * convolution per channel and one per head, values of the token before. Formulas: docs/numerics.md,
 * "Convolutional attention". */
#include "model/forward/conv_attention.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/projection.h"
#include "recurrent/conv.h"
#include <string.h>

/* Channels of a work unit of the first convolution; rows of one of the second. */
enum { CHANNELS = 256, ROWS = 64 };

static float *take(struct qr_bump *b, size_t rows, uint64_t width)
{
    size_t n;
    if (width <= SIZE_MAX && qr_mul_size(rows, (size_t)width, &n))
        return qr_bump_alloc(b, n, sizeof(float));
    b->overflow = true;
    return NULL;
}

void qr_conv_attention_reserve(const struct qr_model_config *c, struct quire_context *ctx,
                               struct qr_bump *buffers)
{
    struct qr_conv_attention_buffers *b = &ctx->conv_attention;
    uint64_t width = 0;
    if (!c->conv_attention.channel_taps)
        return;
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (qr_conv_attention_width(&c->layers[i]) > width)
            width = qr_conv_attention_width(&c->layers[i]);
    b->in = take(buffers, ctx->max_rows, width);
    b->mid = take(buffers, ctx->max_rows, width);
    b->windows = take(buffers, ctx->max_rows, width * c->conv_attention.head_taps);
    b->delayed = take(buffers, ctx->max_rows, (uint64_t)c->max_kv_heads * c->v_head_dim / 2);
}

/* One layer of a step. */
struct conv_layer {
    const struct qr_step *s;
    const struct qr_model_layer *layer;
    const struct qr_layer_config *config;
    size_t width, head, half; /* channels, of one head; half of the values of a row */
    size_t taps;              /* of the second convolution */
};

static struct conv_layer describe(const struct qr_step *s, uint32_t i)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_layer_config *l = &c->layers[i];
    return (struct conv_layer){
        .s = s,
        .layer = &s->ctx->model->layers[i],
        .config = l,
        .width = (size_t)qr_conv_attention_width(l),
        .head = l->head_dim,
        .half = (size_t)l->n_kv_heads * l->v_head_dim / 2,
        .taps = c->conv_attention.head_taps,
    };
}

/* ---- Stages */

static void project(const struct conv_layer *x, uint32_t i, const struct qr_act *act,
                    const struct quire_team *team)
{
    const struct quire_context *ctx = x->s->ctx;
    const struct qr_conv_attention_buffers *b = &ctx->conv_attention;
    struct qr_packed *const *mat = x->layer->mat;
    float *const *vec = x->layer->vec;
    const size_t queries = (size_t)x->config->n_heads * x->head;
    const struct qr_projection p[] = {
        { mat[QR_W_ATTN_Q], vec[QR_W_ATTN_Q_BIAS], b->in, { QR_W_ATTN_Q, i, 0 } },
        { mat[QR_W_ATTN_K], vec[QR_W_ATTN_K_BIAS], b->in + queries, { QR_W_ATTN_K, i, 1 } },
        { mat[QR_W_ATTN_V], vec[QR_W_ATTN_V_BIAS], ctx->v, { QR_W_ATTN_V, i, 2 } },
        { mat[QR_W_ATTN_V_DELAYED], vec[QR_W_ATTN_V_DELAYED_BIAS], b->delayed, QR_NO_ADAPTER_SITE },
    };
    const size_t strides[] = { x->width, x->width, 2 * x->half, 0 };
    qr_project_strided(x->s, act, p, strides, 4, team);
    quire_team_barrier(team);
}

static void convolve_channels(const struct conv_layer *x, const struct quire_team *team)
{
    const struct quire_context *ctx = x->s->ctx;
    const struct qr_conv_attention_buffers *b = &ctx->conv_attention;
    const size_t width = x->width, blocks = (width + CHANNELS - 1) / CHANNELS;
    struct qr_work_steal loop =
        qr_work_steal_begin(ctx->per_thread.counters, team, ctx->recurrent.n_runs * blocks);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_state_run *run = &ctx->recurrent.runs[unit / blocks];
        const size_t c0 = unit % blocks * CHANNELS, left = width - c0;
        const struct qr_conv conv = {
            .x = b->in + run->row * width,
            .out = b->mid + run->row * width,
            .x_stride = width,
            .out_stride = width,
            .n_rows = run->n,
            .w = x->layer->recurrent.conv,
            .bias = x->layer->recurrent.conv_bias,
            .width = width,
            .taps = ctx->model->config->conv_attention.channel_taps,
            .dilation = 1,
            .tail = run->state + x->layer->recurrent.tail,
            .fresh = run->fresh,
        };
        qr_conv_run(&conv, c0, c0 + (left < CHANNELS ? left : CHANNELS), ctx->model->kernels);
    }
    quire_team_barrier(team);
}

/* Output of the first convolution `back` rows before row t of a run. Before the sequence that is
 * its bias: its inputs there are zero. */
static const float *mid_row(const struct conv_layer *x, const struct qr_state_run *run, size_t t,
                            size_t back)
{
    if (back <= t)
        return x->s->ctx->conv_attention.mid + (run->row + t - back) * x->width;
    if (run->fresh)
        return x->layer->recurrent.conv_bias;
    return run->state + x->layer->recurrent.state + (x->taps - 1 + t - back) * x->width;
}

/* Values that the token before row t of a run hands on; NULL: zeros. */
static const float *delayed_row(const struct conv_layer *x, const struct qr_state_run *run,
                                size_t t)
{
    if (t > 0)
        return x->s->ctx->conv_attention.delayed + (run->row + t - 1) * x->half;
    if (run->fresh)
        return x->layer->vec[QR_W_ATTN_V_DELAYED_BIAS];
    return run->state + x->layer->recurrent.state + (x->taps - 1) * x->width;
}

/* Inputs of the second convolution, [channel][tap], and the second half of the values, of row t. */
static void gather_row(const struct conv_layer *x, const struct qr_state_run *run, size_t t)
{
    const struct quire_context *ctx = x->s->ctx;
    const size_t r = run->row + t, taps = x->taps;
    float *window = ctx->conv_attention.windows + r * x->width * taps;
    float *v = ctx->v + r * 2 * x->half + x->half;
    const float *before = delayed_row(x, run, t);
    for (size_t j = 0; j < taps; j++) {
        const float *mid = mid_row(x, run, t, taps - 1 - j);
        for (size_t c = 0; c < x->width; c++)
            window[c * taps + j] = mid[c];
    }
    if (before)
        memcpy(v, before, x->half * sizeof *v);
    else
        memset(v, 0, x->half * sizeof *v);
}

static void gather(const struct conv_layer *x, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    size_t begin, end;
    qr_team_range(team, x->s->n_tokens, 1, &begin, &end);
    for (uint32_t i = 0; i < b->n_runs; i++) {
        const struct qr_state_run *run = &b->runs[i];
        const size_t run_end = (size_t)run->row + run->n;
        for (size_t r = begin > run->row ? begin : run->row; r < end && r < run_end; r++)
            gather_row(x, run, r - run->row);
    }
    quire_team_barrier(team);
}

/* Keeps what the next token of a run's sequence needs; all rows have been gathered. */
static void keep(const struct conv_layer *x, const struct qr_state_run *run)
{
    float *state = run->state + x->layer->recurrent.state;
    /* ascending: a row takes one of the tail behind it, or a new one */
    for (size_t j = 0; j + 1 < x->taps; j++)
        memmove(state + j * x->width, mid_row(x, run, run->n - 1, x->taps - 2 - j),
                x->width * sizeof *state);
    memcpy(state + (x->taps - 1) * x->width,
           x->s->ctx->conv_attention.delayed + ((size_t)run->row + run->n - 1) * x->half,
           x->half * sizeof *state);
}

/* Rows [r0, r1) of head h of the second convolution, in f32 in every compute mode like all
 * convolutions. */
static void convolve_head(const struct conv_layer *x, size_t h, size_t r0, size_t r1)
{
    const struct quire_context *ctx = x->s->ctx;
    const size_t n_q = x->config->n_heads, n_k = x->config->n_kv_heads, d = x->head;
    const bool query = h < n_q;
    const size_t stride = (query ? n_q : n_k) * d, at = (query ? h : h - n_q) * d;
    struct qr_act act;
    qr_act_init(&act, QR_ACT_F32, ctx->conv_attention.windows + (r0 * x->width + h * d) * x->taps,
                x->width * x->taps, r1 - r0, d * x->taps, NULL);
    const struct qr_linear_args args = {
        .w = x->layer->experts[QR_W_ATTN_CONV_HEADS][h],
        .x = &act,
        .out = (query ? ctx->q : ctx->k) + r0 * stride + at,
        .out_stride = stride,
        .bias = x->layer->vec[QR_W_ATTN_CONV_HEADS_BIAS] + h * d,
        .compute = QUIRE_COMPUTE_F32,
    };
    const struct qr_linear_block all = { 0, d, 0, r1 - r0 };
    qr_linear_run_block(&args, &all, ctx->model->kernels);
}

static void convolve_heads(const struct conv_layer *x, const struct quire_team *team)
{
    const struct quire_context *ctx = x->s->ctx;
    const size_t rows = x->s->n_tokens, blocks = (rows + ROWS - 1) / ROWS,
                 heads = (size_t)x->config->n_heads + x->config->n_kv_heads;
    size_t begin, end;
    qr_team_range(team, ctx->recurrent.n_runs, 1, &begin, &end);
    for (size_t i = begin; i < end; i++)
        keep(x, &ctx->recurrent.runs[i]);
    struct qr_work_steal loop = qr_work_steal_begin(ctx->per_thread.counters, team, heads * blocks);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const size_t r0 = unit % blocks * ROWS;
        convolve_head(x, unit / blocks, r0, r0 + ROWS < rows ? r0 + ROWS : rows);
    }
    quire_team_barrier(team);
}

void qr_conv_attention_project(const struct qr_step *s, uint32_t layer, const struct qr_act *act,
                               const struct quire_team *team)
{
    const struct conv_layer x = describe(s, layer);
    project(&x, layer, act, team);
    convolve_channels(&x, team);
    gather(&x, team);
    convolve_heads(&x, team);
}

void qr_conv_attention_add_means(const struct qr_step *s, uint32_t layer, size_t r)
{
    const struct quire_context *ctx = s->ctx;
    const struct conv_layer x = describe(s, layer);
    const size_t heads = x.config->n_heads, kv_heads = x.config->n_kv_heads, d = x.head;
    const size_t shared = heads / kv_heads;
    const float *in = ctx->conv_attention.in + r * x.width;
    float *q = ctx->q + r * heads * d, *k = ctx->k + r * kv_heads * d;
    for (size_t g = 0; g < kv_heads; g++)
        for (size_t c = 0; c < d; c++) {
            const float key = in[(heads + g) * d + c];
            float sum = 0;
            for (size_t h = g * shared; h < (g + 1) * shared; h++) {
                const float mean = (in[h * d + c] + key) * 0.5f;
                q[h * d + c] += mean;
                sum += mean;
            }
            k[g * d + c] += sum / (float)shared;
        }
}
