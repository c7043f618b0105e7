/* SPDX-License-Identifier: Apache-2.0 */
/* projection.c - matmuls of a step: conversion of the input rows, and products over the team. */
#include "model/forward/projection.h"
#include "base/error.h"
#include "base/threads.h"
#include "model/forward/input_sums.h"
#include "model/forward/thread_state.h"

void qr_convert_input(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w,
                      int n, const float *src, size_t m, const struct quire_team *team)
{
    const struct quire_model *model = s->ctx->model;
    const bool replicated = m <= QR_REPLICATED_ROWS_MAX;
    unsigned forms = 0;
    size_t begin = 0, end = m;
    QR_INVARIANT(w[0]); /* all that are not NULL have its number of columns */
    for (int i = 0; i < n; i++)
        if (w[i])
            forms |= qr_linear_act_forms(w[i], model->compute, model->kernels, team->size);
    if (!replicated)
        qr_team_range(team, m, 1, &begin, &end);
    qr_act_init(act, forms, src, w[0]->k, m, w[0]->k,
                replicated ? qr_thread_state(s, team).own_act_memory : s->ctx->act_memory);
    qr_act_convert_rows(act, model->kernels, begin, end);
    if (!replicated)
        quire_team_barrier(team);
    qr_input_sums_add(s, w, n, src, m, team);
}

/* Adds the adapters' part to a block of a product. */
struct adapter_epilogue {
    struct qr_linear_epilogue base;
    const struct qr_step *s;
    const struct qr_adapter_down *down;
    struct qr_adapter_site site;
};

static void add_adapters(const struct qr_linear_epilogue *self, const struct qr_linear_block *b,
                         float *out, size_t out_stride)
{
    const struct adapter_epilogue *e = (const struct adapter_epilogue *)(const void *)self;
    qr_adapter_up(e->s, e->down, &e->site, b, out, out_stride);
}

static void prefetch_adapters(const struct qr_linear_epilogue *self,
                              const struct qr_linear_block *b)
{
    const struct adapter_epilogue *e = (const struct adapter_epilogue *)(const void *)self;
    qr_adapter_prefetch(e->s, &e->site, b);
}

static void run(const struct qr_step *s, const struct qr_act *act, enum quire_compute compute,
                const struct qr_projection *p, const size_t *strides, size_t n,
                const struct quire_team *team)
{
    struct qr_linear_args args[QR_LINEAR_MAX_FUSED];
    struct adapter_epilogue epilogues[QR_LINEAR_MAX_FUSED];
    struct qr_adapter_site sites[QR_LINEAR_MAX_FUSED] = { p[0].site };
    for (size_t i = 0; i < n; i++)
        sites[i] = p[i].site;
    const struct qr_adapter_down down =
        qr_adapter_down(s, sites, n, act->f32, act->f32_stride, team);
    for (size_t i = 0; i < n; i++) {
        epilogues[i] =
            (struct adapter_epilogue){ { prefetch_adapters, add_adapters }, s, &down, sites[i] };
        args[i] = (struct qr_linear_args){
            .w = p[i].w,
            .x = act,
            .out = p[i].out,
            .out_stride = strides && strides[i] ? strides[i] : p[i].w->n,
            .bias = p[i].bias,
            .compute = compute,
            .unpacked = qr_thread_unpacked(s, team),
            .epilogue = qr_adapter_updates(s, &p[i].site) ? &epilogues[i].base : NULL,
        };
    }
    qr_linear_part(args, n, s->ctx->model->kernels, s->ctx->per_thread.counters, team);
}

void qr_project(const struct qr_step *s, const struct qr_act *act, const struct qr_projection *p,
                size_t n, const struct quire_team *team)
{
    run(s, act, s->ctx->model->compute, p, NULL, n, team);
}

void qr_project_strided(const struct qr_step *s, const struct qr_act *act,
                        const struct qr_projection *p, const size_t *strides, size_t n,
                        const struct quire_team *team)
{
    run(s, act, s->ctx->model->compute, p, strides, n, team);
}

void qr_project_f32(const struct qr_step *s, const float *src, const struct qr_projection *p,
                    size_t n, const struct quire_team *team)
{
    struct qr_act act;
    qr_act_init(&act, QR_ACT_F32, src, p[0].w->k, s->n_tokens, p[0].w->k, NULL);
    run(s, &act, QUIRE_COMPUTE_F32, p, NULL, n, team);
}
