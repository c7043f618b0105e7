/* SPDX-License-Identifier: Apache-2.0 */
/* shared_block.c - a transformer block that several layers share, and the recurrent sublayer that
 * reads its output. */
#include "model/forward/shared_block.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/layer_attention.h"
#include "model/forward/layer_ffn.h"
#include "model/forward/layer_recurrent.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include "model/load/adapter.h"
#include <string.h>

static float *take_floats(struct qr_bump *c, size_t n, size_t width)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, sizeof(float));
    c->overflow = true;
    return NULL;
}

void qr_shared_block_reserve(const struct quire_model *model, struct quire_context *ctx,
                             struct qr_bump *buffers)
{
    enum { SLOTS = 3 }; /* of q, k and v */
    const struct qr_shared_block_config *b = &model->config->shared_block;
    const size_t rows = ctx->max_rows, hidden = model->config->hidden_size;
    if (!b->n_blocks)
        return;
    ctx->own_rank = (b->rank + QR_LORA_PANEL - 1) / QR_LORA_PANEL * QR_LORA_PANEL;
    ctx->own_u = take_floats(buffers, SLOTS * rows, ctx->own_rank);
    ctx->block_in = take_floats(buffers, rows, 2 * hidden);
}

/* block_in = norm([x; embedding]). Ends with a barrier. */
static void prepare_input(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const size_t width = ctx->model->config->hidden_size;
    const float *x = qr_thread_state(s, team).x;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *in = ctx->block_in + r * 2 * width;
        memcpy(in, x + r * width, width * sizeof *in);
        memcpy(in + width, ctx->embedding + r * width, width * sizeof *in);
        qr_norm_vector(s, ctx->model->layers[i].vec[QR_W_BLOCK_NORM], in, 2 * width);
    }
    quire_team_barrier(team);
}

/* The block's output, from the residual stream into ctx->sub. Ends with a barrier. */
static void run_block(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_packed *w = layer->mat[QR_W_BLOCK_OUT];
    const struct qr_thread_state t = qr_thread_state(s, team);
    const struct qr_projection out = { w, NULL, ctx->sub, { QR_W_BLOCK_OUT, i, 0 } };
    struct qr_act act;
    prepare_input(s, i, team);
    qr_attention_of(s, i, ctx->block_in, ctx->sub, team);
    qr_norm_rows(s, layer, QR_W_FFN_NORM, QR_W_FFN_NORM_BIAS, t.h, ctx->sub,
                 ctx->model->config->hidden_size, t.begin, t.end);
    qr_ffn_dense_of(s, i, t.h, ctx->sub2, team);
    qr_convert_input(s, &act, &w, 1, ctx->sub2, s->n_tokens, team);
    qr_project(s, &act, &out, 1, team);
    quire_team_barrier(team);
}

void qr_shared_block(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const size_t width = ctx->model->config->hidden_size;
    const struct qr_thread_state t = qr_thread_state(s, team);
    run_block(s, i, team);
    memcpy(t.h + t.begin * width, t.x + t.begin * width, (t.end - t.begin) * width * sizeof *t.h);
    ctx->model->kernels->add(t.h + t.begin * width, ctx->sub + t.begin * width,
                             (t.end - t.begin) * width);
    qr_norm_rows(s, &ctx->model->layers[i], QR_W_ATTN_NORM, QR_W_ATTN_NORM_BIAS, t.h, t.h, width,
                 t.begin, t.end);
    qr_recurrent_of(s, i, t.h, out, team);
}
