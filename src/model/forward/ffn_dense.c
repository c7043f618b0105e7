/* SPDX-License-Identifier: Apache-2.0 */
/* ffn_dense.c - the dense feed-forward network: down(act(gate(x)) * up(x)). */
#include "model/forward/ffn_dense.h"
#include "base/threads.h"
#include "model/forward/ffn_activate.h"
#include "model/forward/input_sums.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <math.h>
#include <string.h>

struct ffn {
    const struct qr_step *s;
    const struct qr_model_layer *layer;
    const struct qr_ffn_roles *roles;
    const struct qr_act *in, *inner; /* inputs of gate and up, and of down */
    const float *gates;              /* [tokens][ffn] of layers with sparse gates, else NULL */
    struct qr_thread_state t;
    struct qr_adapter_down u; /* of gate and up; set by run_inner() */
};

static struct qr_adapter_site ffn_site(const struct ffn *f, enum qr_weight_role role)
{
    const uint32_t layer = (uint32_t)(f->layer - f->s->ctx->model->layers);
    return (struct qr_adapter_site){ role, layer, role == f->roles->gate };
}

/* Multiplies one block of gate or up into a tile that is as wide as the block. */
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
        .unpacked = f->t.unpacked,
    };
    const struct qr_adapter_site site = ffn_site(f, role);
    qr_adapter_prefetch(f->s, &site, b);
    qr_linear_run_block(&args, b, m->kernels);
    qr_adapter_up(f->s, &f->u, &site, b, tile, b->j1 - b->j0);
}

/* One block that fits the tiles: gate and up, the activation function, and conversion for down. */
static void run_tile(const struct ffn *f, const struct qr_linear_block *b)
{
    const struct quire_model *m = f->s->ctx->model;
    const size_t width = b->j1 - b->j0;
    float *tile = f->t.tile_a, *up = NULL;
    if (f->layer->mat[f->roles->gate]) {
        for (size_t r = b->i0; f->gates && r < b->i1; r++)
            memcpy(tile + (r - b->i0) * width, f->gates + r * f->inner->k + b->j0,
                   width * sizeof *tile);
        if (!f->gates)
            multiply(f, f->roles->gate, f->roles->gate_bias, b, tile);
        if (m->config->ffn_gate_scale != 1)
            m->kernels->scale(tile, m->config->ffn_gate_scale, (b->i1 - b->i0) * width);
        up = f->t.tile_b;
    }
    multiply(f, f->roles->up, f->roles->up_bias, b, up ? up : tile);
    qr_ffn_activate(m, &f->layer->act, tile, up, (b->i1 - b->i0) * width);
    for (size_t r = b->i0; r < b->i1; r++, tile += width) {
        if (f->inner->forms & QR_ACT_F32)
            memcpy(f->s->ctx->gate + r * f->inner->k + b->j0, tile, width * sizeof *tile);
        qr_act_convert_slice(f->inner, m->kernels, r, b->j0, tile, width);
    }
}

/* Runs a block in tiles of at most QR_TILE_FLOATS outputs. Tile widths are multiples of `granule`,
 * but for the last. */
static void run_block(const struct ffn *f, const struct qr_linear_block *b, size_t granule)
{
    const size_t rows = b->i1 - b->i0, parts = (rows + QR_TILE_ROWS - 1) / QR_TILE_ROWS;
    const size_t width = QR_TILE_FLOATS / ((rows + parts - 1) / parts) / granule * granule;
    for (size_t j = b->j0; j < b->j1; j += width)
        for (size_t i = 0; i < parts; i++) {
            const struct qr_linear_block tile = {
                .j0 = j,
                .j1 = b->j1 - j < width ? b->j1 : j + width,
                .i0 = b->i0 + rows * i / parts,
                .i1 = b->i0 + rows * (i + 1) / parts,
            };
            run_tile(f, &tile);
        }
}

/* Gate, up and the activation function. Ends with a barrier. */
static void run_inner(struct ffn *f, const struct quire_team *team)
{
    const struct qr_packed *up = f->layer->mat[f->roles->up], *gate = f->layer->mat[f->roles->gate];
    const struct qr_adapter_site sites[] = { ffn_site(f, f->roles->up),
                                             ffn_site(f, f->roles->gate) };
    f->u = qr_adapter_down(f->s, sites, gate ? 2 : 1, f->in->f32, f->in->f32_stride, team);
    const enum quire_compute compute = f->s->ctx->model->compute;
    const size_t m = f->s->n_tokens, granule_up = qr_linear_granule(up, m, compute),
                 granule_gate = gate ? qr_linear_granule(gate, m, compute) : 0;
    /* outputs are converted in blocks of QR_BLOCK_K; granules are powers of two, so the largest one
     * is a multiple of the others */
    size_t granule = QR_BLOCK_K;
    granule = granule_up > granule ? granule_up : granule;
    granule = granule_gate > granule ? granule_gate : granule;
    const struct qr_linear_units units = qr_linear_divide(up->n, up->k, m, granule, team->size);
    struct qr_work_steal loop =
        qr_work_steal_begin(f->s->ctx->per_thread.counters, team, units.count);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_linear_block b = qr_linear_unit_block(&units, unit);
        run_block(f, &b, granule);
    }
    quire_team_barrier(team);
}

/* Sets gates of a token below mean + cutoff * standard deviation to 0, and subtracts that from the
 * others. */
static void cut_gates(float *x, size_t n, float cutoff)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    const double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    const float least = (float)(mean + sqrt(variance > 0 ? variance : 0) * (double)cutoff);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > least ? x[i] - least : 0;
}

/* Gates of a layer with sparse gates, into ctx->gates. Ends with a barrier. */
static void run_gates(const struct ffn *f, float cutoff, const struct quire_team *team)
{
    struct quire_context *ctx = f->s->ctx;
    const struct qr_packed *w = f->layer->mat[f->roles->gate];
    const struct qr_projection p = { w, f->layer->vec[f->roles->gate_bias], ctx->gates,
                                     ffn_site(f, f->roles->gate) };
    size_t begin, end;
    qr_project(f->s, f->in, &p, 1, team);
    quire_team_barrier(team);
    qr_team_range(team, f->s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        cut_gates(ctx->gates + r * w->n, w->n, cutoff);
    quire_team_barrier(team);
}

/* Norms of the rows of `gate`, the input of down, which become its forms. Ends with a barrier. */
static void norm_inner(const struct qr_step *s, const float *weight, struct qr_act *inner,
                       const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        qr_norm_vector(s, weight, ctx->gate + r * inner->k, inner->k);
    qr_act_convert_rows(inner, ctx->model->kernels, begin, end);
    quire_team_barrier(team);
}

void qr_ffn_dense(const struct qr_step *s, const struct qr_model_layer *layer,
                  const struct qr_ffn_roles *roles, const float *src, float *out,
                  const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_packed *down = layer->mat[roles->down];
    const struct qr_packed *const in[] = { layer->mat[roles->up], layer->mat[roles->gate] };
    const struct qr_adapter_site site = { roles->down, (uint32_t)(layer - ctx->model->layers), 0 };
    const struct qr_projection projection = { down, layer->vec[roles->down_bias], out, site };
    unsigned forms =
        qr_linear_act_forms(down, ctx->model->compute, ctx->model->kernels, team->size);
    if (qr_adapter_updates(s, &site) || ctx->input_sums)
        forms |= QR_ACT_F32; /* they read the f32 rows */
    struct qr_act x, inner;
    qr_convert_input(s, &x, in, 2, src, s->n_tokens, team);
    qr_act_init(&inner, forms, ctx->gate, down->k, s->n_tokens, down->k, ctx->gate_memory);
    struct qr_act plain; /* of rows that pass a norm before down */
    const float *norm = roles->down == QR_W_FFN_DOWN ? layer->vec[QR_W_FFN_SUB_NORM] : NULL;
    qr_act_init(&plain, QR_ACT_F32, ctx->gate, down->k, s->n_tokens, down->k, NULL);
    const struct qr_layer_config *l = &ctx->model->config->layers[site.layer];
    const bool sparse = l->sparse_gate && roles->gate == QR_W_FFN_GATE;
    struct ffn f = { .s = s,
                     .layer = layer,
                     .roles = roles,
                     .in = &x,
                     .inner = norm ? &plain : &inner,
                     .gates = sparse ? ctx->gates : NULL,
                     .t = qr_thread_state(s, team) };
    if (sparse)
        run_gates(&f, l->gate_cutoff, team);
    run_inner(&f, team);
    if (norm)
        norm_inner(s, norm, &inner, team);
    qr_input_sums_add(s, &down, 1, ctx->gate, s->n_tokens, team);
    qr_project(s, &inner, &projection, 1, team);
    quire_team_barrier(team);
}
