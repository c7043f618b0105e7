/* SPDX-License-Identifier: Apache-2.0 */
/* layer_ffn.c - the dense feed-forward sublayer, and the activation that experts share with it. */
#include "base/threads.h"
#include "model/forward/stage.h"
#include <string.h>

static void relu_mul(float *gate, const float *up, size_t n, bool squared)
{
    for (size_t i = 0; i < n; i++) {
        const float r = gate[i] > 0 ? gate[i] : 0;
        gate[i] = (squared ? r * r : r) * (up ? up[i] : 1);
    }
}

/* x * sigmoid(a x) is silu(a x) / a, so the kernel of silu serves any a. */
static void gelu_quick(const struct qr_kernels *k, float *gate, const float *up, size_t n)
{
    static const float alpha = 1.702f;
    k->scale(gate, alpha, n);
    k->silu_mul(gate, up, n);
    k->scale(gate, 1 / alpha, n);
}

static void swiglu_oai(const struct qr_model_config *c, const struct qr_kernels *k, float *gate,
                       float *up, size_t n)
{
    const float limit = c->act_limit, alpha = c->act_alpha;
    for (size_t i = 0; i < n; i++) {
        const float g = gate[i] < limit ? gate[i] : limit;
        const float u = up[i] < -limit ? -limit : up[i] < limit ? up[i] : limit;
        gate[i] = alpha * g;
        up[i] = (u + 1) / alpha;
    }
    k->silu_mul(gate, up, n);
}

void qr_activate(const struct qr_model_config *c, const struct qr_kernels *k, float *gate,
                 float *up, size_t n)
{
    switch (c->activation) {
    case QR_ACT_SILU:
        k->silu_mul(gate, up, n);
        break;
    case QR_ACT_GELU_TANH:
        k->gelu_tanh_mul(gate, up, n);
        break;
    case QR_ACT_GELU_ERF:
        k->gelu_erf_mul(gate, up, n);
        break;
    case QR_ACT_RELU:
    case QR_ACT_RELU2:
        relu_mul(gate, up, n, c->activation == QR_ACT_RELU2);
        break;
    case QR_ACT_GELU_QUICK:
        gelu_quick(k, gate, up, n);
        break;
    case QR_ACT_SWIGLU_OAI:
        swiglu_oai(c, k, gate, up, n);
        break;
    }
}

struct ffn {
    const struct qr_step *s;
    const struct qr_model_layer *layer;
    const struct qr_ffn_roles *roles;
    const struct qr_act *in, *inner; /* inputs of the first products and of the last */
    struct qr_member me;
};

/* One of the first products for a block, to a tile as wide as the block. */
static void multiply(const struct ffn *f, enum qr_weight_role role, enum qr_weight_role bias,
                     const struct qr_linear_block *b, float *tile)
{
    const struct quire_model *m = f->s->ctx->model;
    const struct qr_linear_args args = {
        .w = f->layer->mat[role],
        .x = f->in,
        .out = tile,
        .out_stride = b->j1 - b->j0,
        .bias = f->layer->vec[bias],
        .compute = m->compute,
    };
    qr_linear_run_block(&args, b, m->kernels);
}

/* A block that fits the tiles: gate and up, the activation, and what the last product reads of it. */
static void run_tile(const struct ffn *f, const struct qr_linear_block *b)
{
    const struct quire_model *m = f->s->ctx->model;
    const size_t width = b->j1 - b->j0;
    float *tile = f->me.tile_a, *up = NULL;
    if (f->layer->mat[f->roles->gate]) {
        multiply(f, f->roles->gate, f->roles->gate_bias, b, tile);
        up = f->me.tile_b;
    }
    multiply(f, f->roles->up, f->roles->up_bias, b, up ? up : tile);
    qr_activate(m->config, m->kernels, tile, up, (b->i1 - b->i0) * width);
    for (size_t r = b->i0; r < b->i1; r++, tile += width) {
        if (f->inner->views & QR_ACT_F32)
            memcpy(f->s->ctx->gate + r * f->inner->k + b->j0, tile, width * sizeof *tile);
        qr_act_put(f->inner, m->kernels, r, b->j0, tile, width);
    }
}

/* A block in tiles of at most QR_TILE outputs; all but the last are a multiple of `unit` wide. */
static void run_block(const struct ffn *f, const struct qr_linear_block *b, size_t unit)
{
    const size_t rows = b->i1 - b->i0, cuts = (rows + QR_TILE_ROWS - 1) / QR_TILE_ROWS;
    const size_t width = QR_TILE / ((rows + cuts - 1) / cuts) / unit * unit;
    for (size_t j = b->j0; j < b->j1; j += width)
        for (size_t i = 0; i < cuts; i++) {
            const struct qr_linear_block tile = {
                .j0 = j,
                .j1 = b->j1 - j < width ? b->j1 : j + width,
                .i0 = b->i0 + rows * i / cuts,
                .i1 = b->i0 + rows * (i + 1) / cuts,
            };
            run_tile(f, &tile);
        }
}

/* The first products and the activation; ends with a barrier. */
static void run_inner(const struct ffn *f, const struct quire_team *team)
{
    const struct qr_packed *up = f->layer->mat[f->roles->up], *gate = f->layer->mat[f->roles->gate];
    const size_t m = f->s->n_tokens, unit_up = qr_linear_unit(up, m),
                 unit_gate = gate ? qr_linear_unit(gate, m) : 0;
    size_t unit = QR_BLOCK_K; /* units are powers of two: the largest is a multiple of the others */
    unit = unit_up > unit ? unit_up : unit;
    unit = unit_gate > unit ? unit_gate : unit;
    struct qr_blocks blocks = qr_blocks_begin(f->s, up->n, up->k, unit, m, team);
    struct qr_linear_block b;
    while (qr_blocks_next(&blocks, &b))
        run_block(f, &b, unit);
    quire_team_barrier(team);
}

void qr_ffn_dense(const struct qr_step *s, const struct qr_model_layer *layer,
                  const struct qr_ffn_roles *roles, const float *src, float *out,
                  const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_packed *down = layer->mat[roles->down];
    const struct qr_packed *const in[] = { layer->mat[roles->up], layer->mat[roles->gate] };
    struct qr_act first, last;
    qr_member_input(s, &first, in, 2, src, team);
    qr_act_init(&last, qr_linear_views(down, ctx->model->compute), ctx->gate, down->k, s->n_tokens,
                down->k, ctx->gate_views);
    const struct ffn f = { s, layer, roles, &first, &last, qr_member_of(s, team) };
    run_inner(&f, team);
    qr_project_blocks(s, &last, down, layer->vec[roles->down_bias], out, team);
    quire_team_barrier(team);
}

void qr_ffn_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                     const struct quire_team *team)
{
    static const struct qr_ffn_roles roles = { QR_W_FFN_GATE,    QR_W_FFN_UP,
                                               QR_W_FFN_DOWN,    QR_W_FFN_GATE_BIAS,
                                               QR_W_FFN_UP_BIAS, QR_W_FFN_DOWN_BIAS };
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const struct qr_member me = qr_member_of(s, team);
    const float *src = normed ? me.h : me.x;
    if (normed &&
        c->block != QR_BLOCK_PARALLEL) /* that one uses the attention's normed input, still in h */
        qr_norm_rows(s, layer, QR_W_FFN_NORM, QR_W_FFN_NORM_BIAS, me.h, me.x, c->hidden_size,
                     me.begin, me.end);
    if (!c->layers[i].moe) {
        qr_ffn_dense(s, layer, &roles, src, out, team);
        return;
    }
    if (!s->few)
        quire_team_barrier(team); /* the experts' inputs are gathered from all rows */
    qr_moe(s, i, src, out, team);
}
