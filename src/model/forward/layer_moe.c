/* SPDX-License-Identifier: Apache-2.0 */
/* layer_moe.c - mixture of experts: routing, sorting by expert, expert matmuls, weighted sums. */
#include "model/forward/layer_moe.h"
#include "base/threads.h"
#include "model/forward/ffn_activate.h"
#include "model/forward/ffn_dense.h"
#include "model/forward/input_sums.h"
#include "model/forward/moe_route.h"
#include "model/forward/moe_router.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <math.h>
#include <string.h>

/* A kind of experts: the roles of its weights, how many have any, and how many there are. */
struct expert_kind {
    enum qr_weight_role gate, gate_bias, up, up_bias, down, down_bias;
    uint32_t n, n_all;
};

static struct expert_kind routed_kind(const struct qr_moe_config *m)
{
    return (struct expert_kind){
        QR_W_EXPERT_GATE,  QR_W_EXPERT_GATE_BIAS,
        QR_W_EXPERT_UP,    QR_W_EXPERT_UP_BIAS,
        QR_W_EXPERT_DOWN,  QR_W_EXPERT_DOWN_BIAS,
        .n = m->n_experts, .n_all = m->n_experts + m->n_identity + m->n_zero,
    };
}

/* Adjugate experts have no biases: QR_W_FFN_UP_BIAS is a role that these layers have no vector of.
 * Expert n stands for none. */
static struct expert_kind adjugate_kind(const struct qr_moe_config *m)
{
    const uint32_t n = qr_adjugate_count(m);
    return (struct expert_kind){
        QR_W_ADJUGATE_GATE, QR_W_FFN_UP_BIAS, QR_W_ADJUGATE_UP, QR_W_FFN_UP_BIAS,
        QR_W_ADJUGATE_DOWN, QR_W_FFN_UP_BIAS, .n = n,           .n_all = n + 1,
    };
}

static uint32_t layer_index(const struct qr_step *s, const struct qr_model_layer *layer)
{
    return (uint32_t)(layer - s->ctx->model->layers);
}

/* Input of a router that normalizes the residual stream x: x / rms(x) * w / sqrt(hidden). Ends with
 * a barrier. */
static void norm_router_input(const struct qr_step *s, const struct qr_model_layer *layer,
                              const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const size_t width = m->config->hidden_size;
    const float *x = qr_thread_state(s, team).x;
    const float scale = (float)(1 / sqrt((double)width));
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *out = s->ctx->moe.router_in + r * width;
        m->kernels->rms_norm(out, x + r * width, layer->vec[QR_W_ROUTER_SCALE], 0,
                             m->config->norm_eps, width);
        m->kernels->scale(out, scale, width);
    }
    quire_team_barrier(team);
}

/* Scores of the experts and of the shared experts' gate. They are computed in f32 in every compute
 * mode: a rounded score could choose another expert. Models with router_hidden have no shared
 * experts. */
static void run_routers(const struct qr_step *s, const struct qr_model_layer *layer,
                        const float *src, const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct qr_packed *shared = b->shared ? layer->mat[QR_W_SHARED_ROUTER] : NULL;
    const uint32_t i = layer_index(s, layer);
    const struct qr_projection p[] = {
        { layer->mat[QR_W_ROUTER], layer->vec[QR_W_ROUTER_BIAS], b->scores, { QR_W_ROUTER, i, 0 } },
        { shared, NULL, b->shared_gate, { QR_W_SHARED_ROUTER, i, 1 } },
    };
    qr_project_f32(s, src, p, shared ? 2 : 1, team);
}

static void route_rows(const struct qr_step *s, const struct qr_model_layer *layer, size_t begin,
                       size_t end)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    struct qr_moe_config all = s->ctx->model->config->moe; /* all kinds of experts are alike */
    const struct qr_moe_config *m = &all;
    const float *factors = layer->vec[QR_W_EXPERT_SCALE];
    const uint32_t *table = layer->router_table;
    all.n_experts += all.n_identity + all.n_zero;
    for (size_t r = begin; r < end; r++)
        qr_moe_route(m, b->scores + r * m->n_experts, layer->vec[QR_W_ROUTER_CORRECTION],
                     table ? table + (size_t)s->args->token_ids[r] * m->top_k : NULL,
                     b->experts + r * m->top_k, b->weights + r * m->top_k);
    for (size_t i = begin * m->top_k; factors && i < end * m->top_k; i++)
        b->weights[i] *= factors[b->experts[i]];
}

/* Counting sort: places of all assignments by expert, within an expert by token; and the list of
 * experts with weights in use. One thread runs it: it is little work. */
static void sort_assignments(const struct qr_step *s, const struct expert_kind *kind)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const uint32_t n = s->n_tokens * s->ctx->model->config->moe.top_k, n_experts = kind->n_all;
    /* counts, then first places, finally ends, which are the starts of the next experts */
    uint32_t *next = b->starts + 1;
    memset(b->starts, 0, (n_experts + 1) * sizeof *b->starts);
    for (uint32_t i = 0; i < n; i++)
        next[b->experts[i]]++;
    uint32_t place = 0, n_used = 0;
    for (uint32_t e = 0; e < n_experts; e++) {
        const uint32_t count = next[e];
        if (count && e < kind->n)
            b->used[++n_used] = e;
        next[e] = place;
        place += count;
    }
    b->used[0] = n_used;
    for (uint32_t i = 0; i < n; i++) {
        b->places[i] = next[b->experts[i]]++;
        b->assignments[b->places[i]] = i;
    }
}

/* Routes all rows and sorts their assignments. Of few rows one thread does both: that is less work
 * than a barrier. Ends with a barrier. */
static void assign_experts(const struct qr_step *s, const struct qr_model_layer *layer,
                           const struct expert_kind *kind, const struct quire_team *team)
{
    enum { FEW_ROWS = 4 };
    const bool few = s->n_tokens <= FEW_ROWS;
    size_t begin = 0, end = team->rank == 0 ? s->n_tokens : 0;
    if (!few)
        qr_team_range(team, s->n_tokens, 1, &begin, &end);
    route_rows(s, layer, begin, end);
    if (!few)
        quire_team_barrier(team);
    if (team->rank == 0)
        sort_assignments(s, kind);
    quire_team_barrier(team);
}

/* Replaces the experts of the thread's rows by their adjugate experts, those of a row that occur
 * again by none. Ends with a barrier. */
static void assign_adjugates(const struct qr_step *s, const struct expert_kind *kind,
                             const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct qr_moe_config *m = &s->ctx->model->config->moe;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        uint32_t *experts = b->experts + r * m->top_k;
        float *weights = b->weights + r * m->top_k;
        for (uint32_t i = 0; i < m->top_k; i++) {
            uint32_t first = 0;
            experts[i] /= m->adjugate_group;
            weights[i] *= m->adjugate_scale;
            while (experts[first] != experts[i])
                first++;
            if (first == i)
                continue;
            weights[first] += weights[i];
            experts[i] = kind->n;
        }
    }
    quire_team_barrier(team);
    if (team->rank == 0)
        sort_assignments(s, kind);
    quire_team_barrier(team);
}

/* Copies the inputs to their places. qr_convert_input(), which follows, divides many rows in the
 * same way, so that each thread reads only what it wrote itself; few rows need a barrier. */
static void gather_inputs(const struct qr_step *s, const float *src, const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct qr_model_config *c = s->ctx->model->config;
    const size_t width = qr_expert_width(c), n = (size_t)s->n_tokens * c->moe.top_k;
    size_t begin, end;
    qr_team_range(team, n, 1, &begin, &end);
    for (size_t p = begin; p < end; p++) {
        float *row = b->in + p * width;
        memcpy(row, src + b->assignments[p] / c->moe.top_k * width, width * sizeof *row);
        if (c->moe.weight_on_input)
            s->ctx->model->kernels->scale(row, b->weights[b->assignments[p]], width);
    }
    qr_adapter_place_scales(s, begin, end);
    if (n <= QR_REPLICATED_ROWS_MAX)
        quire_team_barrier(team);
}

/* ---- Grouped GEMM: each expert multiplies its own rows. A work unit is some panels of one expert
 * in use; experts differ in their numbers of rows, so threads steal. */

/* A work unit: panels of an expert's outputs for all of its rows. */
struct expert_panels {
    const struct expert_kind *kind;
    uint32_t expert;
    size_t first_row, n_rows; /* places */
    size_t panel, n_panels;
    struct qr_unpacked *unpacked; /* of the thread */
};
typedef void panels_fn(const struct qr_step *s, const struct qr_model_layer *layer,
                       const struct qr_act *act, const struct expert_panels *p);

/* Panels of a unit: a multiple of what the register tile spans, and enough units per thread. */
static size_t panels_per_unit(const struct qr_packed *w, size_t n_rows, size_t n_used,
                              enum quire_compute compute, uint32_t n_threads)
{
    enum { UNITS_PER_THREAD = 16, MAX_PANELS = 16 };
    const size_t tile = qr_linear_granule(w, n_rows / n_used, compute) / w->panel_rows;
    const size_t fair = n_used * w->n_panels / ((size_t)UNITS_PER_THREAD * n_threads),
                 n = fair < MAX_PANELS ? fair : MAX_PANELS;
    return n > tile ? n / tile * tile : tile;
}

static void for_panels(const struct qr_step *s, const struct qr_model_layer *layer,
                       const struct expert_kind *kind, enum qr_weight_role role,
                       const struct qr_act *act, panels_fn *run, const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct qr_packed *w = layer->experts[role][0];
    const uint32_t n_used = b->used[0], *used = b->used + 1;
    if (!n_used) /* all are experts without weights */
        return;
    const size_t width = panels_per_unit(w, act->m, n_used, s->ctx->model->compute, team->size),
                 per_expert = (w->n_panels + width - 1) / width;
    struct qr_work_steal loop =
        qr_work_steal_begin(s->ctx->per_thread.counters, team, n_used * per_expert);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const uint32_t e = used[unit / per_expert];
        const size_t panel = unit % per_expert * width, left = w->n_panels - panel;
        const struct expert_panels p = {
            .kind = kind,
            .expert = e,
            .first_row = b->starts[e],
            .n_rows = b->starts[e + 1] - b->starts[e],
            .panel = panel,
            .n_panels = width < left ? width : left,
            .unpacked = qr_thread_unpacked(s, team),
        };
        run(s, layer, act, &p);
    }
}

/* out = act W^T (+ bias) for the rows of one expert and some panels of its matrix of a role. */
static void multiply(const struct qr_step *s, const struct qr_model_layer *layer,
                     enum qr_weight_role role, enum qr_weight_role bias, const struct qr_act *act,
                     const struct expert_panels *p, float *out)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_packed *w = layer->experts[role][p->expert];
    const size_t j0 = p->panel * w->panel_rows, end = j0 + p->n_panels * w->panel_rows;
    const struct qr_linear_block b = { j0, end < w->n ? end : w->n, 0, p->n_rows };
    const struct qr_act rows = qr_act_rows(act, p->first_row, p->n_rows);
    const float *biases = layer->vec[bias];
    const struct qr_linear_args args = {
        .w = w,
        .x = &rows,
        .out = out + p->first_row * w->n + j0,
        .out_stride = w->n,
        .bias = biases ? biases + p->expert * w->n : NULL,
        .compute = m->compute,
        .unpacked = p->unpacked,
    };
    qr_linear_run_block(&args, &b, m->kernels);
    const struct qr_adapter_site site = { role, layer_index(s, layer), role == p->kind->gate };
    const struct qr_linear_block places = { b.j0, b.j1, p->first_row, p->first_row + p->n_rows };
    qr_adapter_expert_up(s, &site, p->expert, &places, args.out, w->n);
}

/* Gate, up and the activation function. */
static void run_in(const struct qr_step *s, const struct qr_model_layer *layer,
                   const struct qr_act *act, const struct expert_panels *p)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct quire_model *m = s->ctx->model;
    const struct expert_kind *kind = p->kind;
    const struct qr_packed *up = layer->experts[kind->up][p->expert];
    const bool gated = layer->experts[kind->gate] != NULL;
    multiply(s, layer, kind->up, kind->up_bias, act, p, b->up);
    if (gated)
        multiply(s, layer, kind->gate, kind->gate_bias, act, p, b->gate);
    const size_t column = p->panel * up->panel_rows, most = p->n_panels * up->panel_rows;
    const size_t n = most < up->n - column ? most : up->n - column;
    for (size_t r = p->first_row; r < p->first_row + p->n_rows; r++) {
        float *u = b->up + r * up->n + column;
        if (gated)
            qr_ffn_activate(m, &layer->expert_act, b->gate + r * up->n + column, u, n);
        else
            qr_ffn_activate(m, &layer->expert_act, u, NULL, n);
    }
}

static void run_out(const struct qr_step *s, const struct qr_model_layer *layer,
                    const struct qr_act *act, const struct expert_panels *p)
{
    multiply(s, layer, p->kind->down, p->kind->down_bias, act, p, s->ctx->moe.in);
}

/* Adds the experts of token r below n_experts in rank order, so that the bits do not depend on the
 * batch. */
static void add_weighted(const struct qr_step *s, size_t r, uint32_t n_experts, float *sum)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct quire_model *m = s->ctx->model;
    const struct qr_moe_config *c = &m->config->moe;
    const size_t width = qr_expert_width(m->config);
    for (size_t i = r * c->top_k; i < (r + 1) * c->top_k; i++)
        if (b->experts[i] < n_experts)
            m->kernels->axpy(sum, c->weight_on_input ? 1 : b->weights[i],
                             b->in + b->places[i] * width, width);
}

/* Weighted sum of each token's experts, plus the bias, if any. Experts that return their input
 * still have it in their places; those that return zero are left out. */
static void combine(const struct qr_step *s, const float *bias, float *out,
                    const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_moe_config *c = &m->config->moe;
    const size_t width = qr_expert_width(m->config);
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *sum = out + r * width;
        memset(sum, 0, width * sizeof *sum);
        add_weighted(s, r, c->n_experts + c->n_identity, sum);
        if (bias)
            m->kernels->axpy(sum, 1, bias, width);
    }
}

/* Adds the output of the shared experts to the thread's rows. */
static void add_shared(const struct qr_step *s, float *out, const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct quire_model *m = s->ctx->model;
    const struct qr_moe_config *c = &m->config->moe;
    const size_t width = m->config->hidden_size;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; b->shared && r < end; r++) {
        float *sum = out + r * width;
        m->kernels->axpy(sum, c->shared_gate ? 1 / (1 + expf(-b->shared_gate[r])) : 1,
                         b->shared + r * width, width);
        if (c->average_shared)
            m->kernels->scale(sum, 0.5f, width);
    }
}

/* Projects what the experts read, or their sum. Ends with a barrier. */
static void project_latent(const struct qr_step *s, uint32_t i, enum qr_weight_role role,
                           const float *src, float *out, const struct quire_team *team)
{
    const struct qr_packed *w = s->ctx->model->layers[i].mat[role];
    const struct qr_projection p = { w, NULL, out, { role, i, 0 } };
    struct qr_act act;
    qr_convert_input(s, &act, &w, 1, src, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
}

void qr_moe_keep_input(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct quire_model *m = s->ctx->model;
    const float *x = qr_thread_state(s, team).x;
    const size_t width = m->config->hidden_size;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (m->config->moe.router_before_mixer && begin < end)
        memcpy(b->router_in + begin * width, x + begin * width, (end - begin) * width * sizeof *x);
    if (b->early && m->config->layers[i].moe)
        qr_norm_rows(s, &m->layers[i], QR_W_EXPERT_NORM, QR_W_FFN_NORM_BIAS, b->early, x, width,
                     begin, end);
}

/* Outputs of the assigned experts of a kind, in the places of their inputs. Ends with a barrier. */
static void run_experts(const struct qr_step *s, uint32_t i, const struct expert_kind *kind,
                        const float *src, const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const size_t n_assignments = (size_t)s->n_tokens * s->ctx->model->config->moe.top_k;
    const struct qr_packed *up = layer->experts[kind->up][0], *down = layer->experts[kind->down][0];
    const struct qr_packed *gate = layer->experts[kind->gate] ? layer->experts[kind->gate][0] : up;
    const struct qr_packed *const in[] = { up, gate };
    struct qr_act act;
    const struct qr_adapter_site in_sites[] = { { kind->up, i, 0 }, { kind->gate, i, 1 } },
                                 down_site = { kind->down, i, 0 };
    const float *inner = gate != up ? b->gate : b->up;
    gather_inputs(s, src, team);
    qr_convert_input(s, &act, in, 2, b->in, n_assignments, team);
    qr_input_sums_add_places(s, layer, kind->up, b->in, team);
    qr_input_sums_add_places(s, layer, kind->gate, b->in, team);
    qr_adapter_experts_down(s, in_sites, gate != up ? 2 : 1, b->in, up->k, team);
    for_panels(s, layer, kind, kind->up, &act, run_in, team);
    quire_team_barrier(team);
    qr_convert_input(s, &act, &down, 1, inner, n_assignments, team);
    qr_input_sums_add_places(s, layer, kind->down, inner, team);
    qr_adapter_experts_down(s, &down_site, 1, inner, down->k, team);
    for_panels(s, layer, kind, kind->down, &act, run_out, team);
    quire_team_barrier(team);
}

/* Adds the outputs of the adjugate experts to the thread's rows. */
static void add_adjugates(const struct qr_step *s, uint32_t i, const float *src, float *out,
                          const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct expert_kind kind = adjugate_kind(&c->moe);
    size_t begin, end;
    if (!c->moe.adjugate_group)
        return;
    assign_adjugates(s, &kind, team);
    run_experts(s, i, &kind, src, team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        add_weighted(s, r, kind.n, out + r * c->hidden_size);
}

void qr_moe(const struct qr_step *s, uint32_t i, const float *src, float *out,
            const struct quire_team *team)
{
    static const struct qr_ffn_roles shared = {
        QR_W_SHARED_GATE, QR_W_SHARED_UP, QR_W_SHARED_DOWN,
        /* no biases: MoE layers have no vector of this role */
        QR_W_FFN_UP_BIAS, QR_W_FFN_UP_BIAS, QR_W_FFN_UP_BIAS
    };
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_layer *layer = &m->layers[i];
    const struct expert_kind kind = routed_kind(&m->config->moe);
    if (b->shared)
        qr_ffn_dense(s, layer, &shared, src, b->shared, team);
    if (m->config->moe.router_norm)
        norm_router_input(s, layer, team);
    const float *router_src = b->router_in      ? b->router_in
                              : b->router_state ? qr_moe_router_hidden(s, i, src, team)
                                                : src;
    run_routers(s, layer, router_src, team);
    quire_team_barrier(team);
    assign_experts(s, layer, &kind, team);
    if (b->latent)
        project_latent(s, i, QR_W_EXPERT_LATENT_IN, src, b->latent, team);
    run_experts(s, i, &kind, b->latent ? b->latent : src, team);
    combine(s, layer->vec[QR_W_EXPERT_SUM_BIAS], b->latent ? b->latent : out, team);
    if (b->latent) {
        quire_team_barrier(team);
        project_latent(s, i, QR_W_EXPERT_LATENT_OUT, b->latent, out, team);
    }
    add_adjugates(s, i, src, out, team);
    add_shared(s, out, team);
    quire_team_barrier(team);
}
