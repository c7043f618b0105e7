/* SPDX-License-Identifier: Apache-2.0 */
/* block_conv.c - convolutions over the rows of a block of a drafter, before and behind a
 * sublayer. */
#include "model/forward/block_conv.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <string.h>

void qr_block_conv_reserve(const struct quire_model *model, struct quire_context *ctx,
                           struct qr_bump *buffers)
{
    const struct qr_model_config *c = model->config;
    size_t rows, kernels;
    if (!c->mtp.conv_taps)
        return;
    if (!qr_mul_size(ctx->max_rows, c->hidden_size, &rows) ||
        !qr_mul_size(ctx->max_rows, (size_t)qr_mtp_conv_size(c), &kernels)) {
        buffers->overflow = true;
        return;
    }
    ctx->block_conv.rows = qr_bump_alloc(buffers, rows, sizeof(float));
    ctx->block_conv.kernels = qr_bump_alloc(buffers, kernels, sizeof(float));
}

/* Rows of its block before row r. */
static uint32_t rows_before(const struct qr_step *s, size_t r)
{
    const struct quire_attention_batch *b = s->args->batch;
    uint32_t i = 0;
    while (i + 1 < b->n_seqs && (size_t)b->query_start_loc[i + 1] <= r)
        i++;
    return (uint32_t)(r - (size_t)b->query_start_loc[i]);
}

/* Row r of the output, from the rows of x up to it. */
static void convolve(const struct qr_step *s, const float *base, int side, const float *x, size_t r,
                     float *out)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const size_t width = c->hidden_size, group = c->mtp.conv_group, n_groups = width / group;
    const uint32_t taps = c->mtp.conv_taps, before = rows_before(s, r);
    const float *kernels = s->ctx->block_conv.kernels + r * (size_t)qr_mtp_conv_size(c) +
                           (size_t)side * taps * n_groups;
    base += (size_t)side * taps * width;
    memset(out, 0, width * sizeof *out);
    for (uint32_t t = 0; t < taps && t <= before; t++)
        for (size_t g = 0; g < n_groups; g++)
            for (size_t j = g * group; j < (g + 1) * group; j++)
                out[j] +=
                    (base[t * width + j] + kernels[t * n_groups + g]) * x[(r - t) * width + j];
}

/* ctx->block_conv.rows become the output of all rows of the thread. */
static void convolve_own(const struct qr_step *s, const float *base, int side, const float *x,
                         const struct quire_team *team)
{
    const size_t width = s->ctx->model->config->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    for (size_t r = t.begin; r < t.end; r++)
        convolve(s, base, side, x, r, s->ctx->block_conv.rows + r * width);
}

const float *qr_block_conv_before(const struct qr_step *s, uint32_t i, enum qr_weight_role base,
                                  const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_packed *w = layer->mat[base + 1];
    const struct qr_projection p = { w, NULL, ctx->block_conv.kernels, QR_NO_ADAPTER_SITE };
    struct qr_act act;
    quire_team_barrier(team);
    qr_convert_input(s, &act, &w, 1, ctx->h, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
    convolve_own(s, layer->vec[base], 0, ctx->h, team);
    quire_team_barrier(team);
    return ctx->block_conv.rows;
}

void qr_block_conv_behind(const struct qr_step *s, uint32_t i, enum qr_weight_role base, float *sub,
                          const struct quire_team *team)
{
    const size_t width = s->ctx->model->config->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    convolve_own(s, s->ctx->model->layers[i].vec[base], 1, sub, team);
    quire_team_barrier(team); /* others read the thread's rows of sub */
    memcpy(sub + t.begin * width, s->ctx->block_conv.rows + t.begin * width,
           (t.end - t.begin) * width * sizeof *sub);
}
