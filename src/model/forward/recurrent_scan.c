/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_scan.c - states of the sequences of a step: checks, and the stages of a recurrent layer
 * that read and advance them. Work units are (sequence, channels) or (sequence, head, columns), so
 * no two threads share an element of a state. */
#include "model/forward/recurrent_scan.h"
#include "base/error.h"
#include "base/threads.h"
#include "linear/linear.h"
#include "recurrent/conv.h"
#include "recurrent/scan.h"
#include "recurrent/state_pool.h"
#include <math.h>
#include <quire/attention.h>
#include <stdio.h>
#include <string.h>

enum { CHANNELS = 256 }; /* of a work unit of the convolution */

/* ---- Slots of a step */

/* Marks the slot; false if it was marked before. */
static bool mark(uint64_t *marks, int32_t slot)
{
    const uint64_t bit = (uint64_t)1 << slot % 64;
    const bool is_new = !(marks[slot / 64] & bit);
    marks[slot / 64] |= bit;
    return is_new;
}

quire_status qr_recurrent_place(const struct qr_step *s, struct quire_error *err)
{
    const struct quire_attention_batch *batch = s->args->batch;
    const int32_t *slots = s->args->state_slots;
    struct qr_recurrent_buffers *b = &s->ctx->recurrent;
    if (!slots)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "args.state_slots is NULL: '%s' has recurrent layers",
                       s->ctx->model->config->arch);
    if (batch->tree_mask)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "args.batch.tree_mask: '%s' has recurrent layers, whose state follows one "
                       "branch only",
                       s->ctx->model->config->arch);
    memset(b->marks, 0, b->n_marks * sizeof *b->marks);
    b->n_runs = 0;
    for (uint32_t i = 0; i < batch->n_seqs; i++) {
        const int32_t begin = batch->query_start_loc[i], n = batch->query_start_loc[i + 1] - begin;
        char name[48];
        if (!n)
            continue;
        snprintf(name, sizeof name, "args.state_slots[%u]", i);
        QR_TRY(qr_state_pool_check(s->ctx->states, slots[i], name, err));
        if (!mark(b->marks, slots[i]))
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "%s is %d, which an earlier sequence of the step has", name, slots[i]);
        b->runs[b->n_runs++] = (struct qr_state_run){
            .row = (uint32_t)begin,
            .n = (uint32_t)n,
            .fresh = batch->seq_lens[i] == n,
            .state = qr_state_pool_slot(s->ctx->states, slots[i]),
        };
    }
    return QUIRE_OK;
}

struct qr_recurrent qr_recurrent_describe(const struct qr_step *s, uint32_t i)
{
    const struct qr_recurrent_config *r = &s->ctx->model->config->recurrent;
    const struct qr_recurrent_buffers *b = &s->ctx->recurrent;
    struct qr_recurrent x = {
        .s = s,
        .layer = &s->ctx->model->layers[i],
        .config = r,
        .keys = (size_t)qr_recurrent_key_width(r),
        .values = (size_t)qr_recurrent_value_width(r),
        .dt_width = (size_t)qr_recurrent_dt_width(r),
        .values_in = r->conv_taps ? b->conv : b->in,
    };
    x.in_width = 2 * x.keys + x.values;
    return x;
}

/* ---- Convolution */

static size_t count_blocks(size_t n, size_t size) { return (n + size - 1) / size; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static struct qr_conv conv_of(const struct qr_recurrent *x, const struct qr_state_run *run,
                              const float *in, size_t in_stride, float *out, size_t width)
{
    return (struct qr_conv){
        .x = in + run->row * in_stride,
        .out = out + run->row * width,
        .x_stride = in_stride,
        .out_stride = width,
        .n_rows = run->n,
        .w = x->layer->recurrent.conv,
        .bias = x->layer->recurrent.conv_bias,
        .width = width,
        .taps = x->config->conv_taps,
        .dilation = 1,
        .tail = run->state + x->layer->recurrent.tail,
        .fresh = run->fresh,
    };
}

void qr_recurrent_convolve(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const size_t width = x->in_width, blocks = count_blocks(width, CHANNELS);
    struct qr_work_steal loop =
        qr_work_steal_begin(x->s->ctx->per_thread.counters, team, b->n_runs * blocks);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_state_run *run = &b->runs[unit / blocks];
        const size_t c0 = unit % blocks * CHANNELS, c1 = min_size(width, c0 + CHANNELS);
        const struct qr_conv conv = conv_of(x, run, b->in, width, b->conv, width);
        qr_conv_run(&conv, c0, c1, k);
        const bool plain = x->config->kind == QR_RECURRENT_RG_LRU;
        for (size_t t = run->row; !plain && t < run->row + run->n; t++)
            k->silu_mul(b->conv + t * width + c0, NULL, c1 - c0);
    }
    quire_team_barrier(team);
}

void qr_recurrent_short_conv(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const size_t n = x->values, width = x->in_width, blocks = count_blocks(n, CHANNELS);
    struct qr_work_steal loop =
        qr_work_steal_begin(x->s->ctx->per_thread.counters, team, b->n_runs * blocks);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_state_run *run = &b->runs[unit / blocks];
        const size_t c0 = unit % blocks * CHANNELS, c1 = min_size(n, c0 + CHANNELS);
        for (size_t t = run->row; t < run->row + run->n; t++) {
            float *q = b->in + t * width, *key = q + n, *value = key + n;
            for (size_t c = c0; c < c1; c++)
                value[c] *= key[c];
        }
        const struct qr_conv conv = conv_of(x, run, b->in + 2 * n, width, b->out, n);
        qr_conv_run(&conv, c0, c1, k);
        for (size_t t = run->row; t < run->row + run->n; t++)
            for (size_t c = c0; c < c1; c++)
                b->out[t * n + c] *= b->in[t * width + c];
    }
    quire_team_barrier(team);
}

/* ---- Recurrence */

/* The elements of the state that a work unit advances. */
struct place {
    float *state;   /* f32; with bf16 scratch of the thread */
    uint16_t *bf16; /* NULL, or the state as bf16 */
};

/* first: index of the elements in the state of the layer. */
static struct place place_of(const struct qr_recurrent *x, const struct qr_state_run *run,
                             size_t first, const struct quire_team *team)
{
    const struct quire_context *ctx = x->s->ctx;
    float *state = run->state + x->layer->recurrent.state;
    if (!ctx->model->bf16_states)
        return (struct place){ state + first, NULL };
    return (struct place){ ctx->recurrent.tiles +
                               quire_team_rank(team) * ctx->recurrent.tile_floats,
                           (uint16_t *)(void *)state + first };
}

/* Columns [j0, j0 + n) of head h. */
static void run_head(const struct qr_recurrent *x, const struct qr_state_run *run, size_t h,
                     size_t j0, size_t n, const struct quire_team *team)
{
    const struct qr_recurrent_config *r = x->config;
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const size_t key_head = r->tiled_heads ? h % r->n_key_heads : h / (r->n_heads / r->n_key_heads);
    const size_t keys = r->key_dim, column = h * r->value_dim + j0;
    const float *in = x->values_in + run->row * x->in_width;
    const bool constant = r->kind == QR_RECURRENT_LIGHTNING;
    const struct place place = place_of(x, run, keys * column, team);
    struct qr_scan scan = {
        .state = place.state,
        .bf16 = place.bf16,
        .state_stride = n,
        .n_keys = keys,
        .n_values = n,
        .n_rows = run->n,
        .fresh = run->fresh,
        .q = in + key_head * keys,
        .k = in + x->keys + key_head * keys,
        .v = in + 2 * x->keys + column,
        .key_stride = x->in_width,
        .value_stride = x->in_width,
        .decay = constant ? x->layer->recurrent.decay + h
                          : b->decay + run->row * x->dt_width + h * (r->vector_decay ? keys : 1),
        .decay_stride = constant ? 0 : x->dt_width,
        .decay_step = r->vector_decay,
        .out = b->out + run->row * x->values + column,
        .out_stride = x->values,
    };
    if (r->kind == QR_RECURRENT_DELTA) {
        scan.dt = b->beta + run->row * r->n_heads + h;
        scan.dt_stride = r->n_heads;
        qr_scan_delta(&scan, k);
        return;
    }
    if (r->kind == QR_RECURRENT_WKV6) {
        qr_scan_wkv6(&scan, k);
        return;
    }
    if (r->kind == QR_RECURRENT_WKV7) {
        scan.read = b->conv + run->row * x->in_width + h * keys;
        scan.remove = scan.read + x->keys;
        qr_scan_wkv7(&scan, k);
        return;
    }
    if (r->kind == QR_RECURRENT_MAMBA_MIX) {
        scan.key_stride = r->dt_rank + 2 * keys;
        scan.k = b->low + run->row * scan.key_stride;
        scan.q = scan.k + keys;
    }
    if (r->kind == QR_RECURRENT_MAMBA2 || r->kind == QR_RECURRENT_MAMBA_MIX) {
        scan.dt = b->dt + run->row * x->dt_width + h;
        scan.dt_stride = x->dt_width;
        scan.d = x->layer->vec[QR_W_REC_D][h];
    }
    qr_scan_outer(&scan, k);
}

/* Channels [c0, c0 + n) of Mamba-1. */
static void run_channels(const struct qr_recurrent *x, const struct qr_state_run *run, size_t c0,
                         size_t n, const struct quire_team *team)
{
    const struct qr_recurrent_config *r = x->config;
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const size_t width = r->dt_rank + 2 * (size_t)r->key_dim;
    const float *low = b->low + run->row * width + r->dt_rank;
    const struct place place = place_of(x, run, r->key_dim * c0, team);
    const struct qr_scan scan = {
        .state = place.state,
        .bf16 = place.bf16,
        .state_stride = n,
        .n_keys = r->key_dim,
        .n_values = n,
        .n_rows = run->n,
        .fresh = run->fresh,
        .k = low,
        .q = low + r->key_dim,
        .v = x->values_in + run->row * x->in_width + c0,
        .key_stride = width,
        .value_stride = x->in_width,
        .dt = b->dt + run->row * x->dt_width + c0,
        .dt_stride = x->dt_width,
        .out = b->out + run->row * x->values + c0,
        .out_stride = x->values,
    };
    qr_scan_channels(&scan, x->layer->recurrent.decay + r->key_dim * c0,
                     x->layer->vec[QR_W_REC_D] + c0, x->s->ctx->model->kernels);
}

/* Gates of RG-LRU for head h: sigmoid(W u + b) of all rows, into b->dt (input) or b->decay. */
static void run_gate(const struct qr_recurrent *x, size_t h, bool decays)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct quire_model *m = x->s->ctx->model;
    const size_t n = x->config->value_dim, rows = x->s->n_tokens;
    const struct qr_packed *w = x->layer->experts[decays ? QR_W_REC_GATE_A : QR_W_REC_GATE_I][h];
    float *out = (decays ? b->decay : b->dt) + h * n;
    struct qr_act act;
    qr_act_init(&act, QR_ACT_F32, b->conv + h * n, x->in_width, rows, n, NULL);
    const struct qr_linear_args args = {
        .w = w,
        .x = &act,
        .out = out,
        .out_stride = x->values,
        .bias = x->layer->vec[decays ? QR_W_REC_GATE_A_BIAS : QR_W_REC_GATE_I_BIAS] + h * n,
        .compute = QUIRE_COMPUTE_F32,
    };
    const struct qr_linear_block all = { 0, n, 0, rows };
    qr_linear_run_block(&args, &all, m->kernels);
    for (size_t t = 0; t < rows; t++)
        m->kernels->sigmoid_mul(out + t * x->values, NULL, 1, n);
}

void qr_recurrent_gates(const struct qr_recurrent *x, const struct quire_team *team)
{
    const size_t heads = x->config->n_heads;
    struct qr_work_steal loop =
        qr_work_steal_begin(x->s->ctx->per_thread.counters, team, 2 * heads);
    for (size_t unit; qr_work_steal_next(&loop, &unit);)
        run_gate(x, unit / 2, unit % 2);
    quire_team_barrier(team);
}

/* Channels [c0, c0 + n) of RG-LRU: s = a s + x, x = sqrt(1 - a^2) i u; s = i u in the first row of
 * a sequence. The decay is exp(log_decay * gate). */
static void run_rg_lru(const struct qr_recurrent *x, const struct qr_state_run *run, size_t c0,
                       size_t n, const struct quire_team *team)
{
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    const struct place place = place_of(x, run, c0, team);
    if (place.bf16)
        k->dequantize_bf16(place.state, place.bf16, 1, n);
    for (size_t t = 0; t < run->n; t++) {
        const size_t at = (run->row + t) * x->values + c0;
        const float *u = x->values_in + (run->row + t) * x->in_width + c0;
        float *a = b->decay + at, *i = b->dt + at, *out = b->out + at;
        const bool first = run->fresh && t == 0;
        k->exp_mul(a, x->layer->recurrent.decay + c0, n);
        for (size_t c = 0; c < n; c++) {
            const float in = i[c] * u[c], rest = sqrtf(1 - a[c] * a[c]) * in;
            out[c] = first ? in : a[c] * place.state[c] + rest;
        }
        if (place.bf16) {
            k->quantize_bf16(place.bf16, out, 1, n);
            k->dequantize_bf16(place.state, place.bf16, 1, n);
        } else {
            memcpy(place.state, out, n * sizeof *out);
        }
    }
}

void qr_recurrent_scan(const struct qr_recurrent *x, const struct quire_team *team)
{
    const struct qr_recurrent_config *r = x->config;
    const struct qr_recurrent_buffers *b = &x->s->ctx->recurrent;
    const bool rg_lru = r->kind == QR_RECURRENT_RG_LRU;
    const bool channels = rg_lru || r->kind == QR_RECURRENT_MAMBA1;
    const size_t heads = channels ? 1 : r->n_heads, columns = channels ? x->values : r->value_dim;
    const size_t blocks = count_blocks(columns, QR_SCAN_COLUMNS);
    struct qr_work_steal loop =
        qr_work_steal_begin(x->s->ctx->per_thread.counters, team, b->n_runs * heads * blocks);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_state_run *run = &b->runs[unit / (heads * blocks)];
        const size_t h = unit / blocks % heads, j0 = unit % blocks * QR_SCAN_COLUMNS;
        const size_t n = min_size(columns - j0, QR_SCAN_COLUMNS);
        if (rg_lru)
            run_rg_lru(x, run, j0, n, team);
        else if (channels)
            run_channels(x, run, j0, n, team);
        else
            run_head(x, run, h, j0, n, team);
    }
    quire_team_barrier(team);
}
