/* SPDX-License-Identifier: Apache-2.0 */
/* partial_head.c - logits of an output matrix that has rows for some tokens only, or whose rows are
 * in clusters: then each row of the step chooses the clusters whose centroids fit best, and
 * computes the logits of their tokens. */
#include "model/forward/partial_head.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <math.h>

void qr_partial_head_reserve(const struct quire_model *model, struct quire_context *ctx,
                             struct qr_bump *buffers)
{
    const struct qr_model_config *c = model->config;
    struct qr_partial_head_buffers *b = &ctx->partial_head;
    const size_t rows = ctx->max_logits;
    size_t scores, chosen, logits;
    if (!model->token_order)
        return;
    if (!c->mtp.n_clusters) {
        b->stride = qr_model_head(model)->n;
        if (qr_mul_size(rows, b->stride, &logits))
            b->logits = qr_bump_alloc(buffers, logits, sizeof *b->logits);
        else
            buffers->overflow = true;
        return;
    }
    /* blocks are whole panels, which may reach beyond both ends of a cluster */
    b->stride = c->vocab_size / c->mtp.n_clusters + 2 * qr_model_head(model)->panel_rows;
    if (!qr_mul_size(rows, c->mtp.n_clusters, &scores) ||
        !qr_mul_size(rows, c->mtp.top_clusters, &chosen) ||
        !qr_mul_size(chosen, b->stride, &logits)) {
        buffers->overflow = true;
        return;
    }
    b->scores = qr_bump_alloc(buffers, scores, sizeof *b->scores);
    b->chosen = qr_bump_alloc(buffers, chosen, sizeof *b->chosen);
    b->logits = qr_bump_alloc(buffers, logits, sizeof *b->logits);
}

/* The `top` of n clusters with the largest scores; of equal ones those with smaller numbers. */
static void choose(const float *scores, uint32_t n, uint32_t top, uint32_t *chosen)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < n; c++) {
        if (count == top && !(scores[c] > scores[chosen[top - 1]]))
            continue;
        uint32_t at = count < top ? count++ : top - 1;
        for (; at > 0 && scores[c] > scores[chosen[at - 1]]; at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = c;
    }
}

/* Sets the logits of rows [begin, end) to -inf. */
static void exclude_all(const struct qr_step *s, size_t begin, size_t end)
{
    const size_t vocab = s->ctx->model->config->vocab_size;
    for (size_t i = begin * vocab; i < end * vocab; i++)
        s->args->logits[i] = -INFINITY;
}

/* Chooses the clusters of all rows. Ends with a barrier. */
static void choose_all(const struct qr_step *s, const float *src, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_mtp_config *mtp = &ctx->model->config->mtp;
    const struct qr_packed *w = ctx->model->global.mat[QR_W_MTP_CENTROIDS];
    const struct qr_projection p = { w, NULL, ctx->partial_head.scores, QR_NO_ADAPTER_SITE };
    struct qr_act act;
    size_t begin, end;
    qr_convert_input(s, &act, &w, 1, src, s->n_logits, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
    qr_team_range(team, s->n_logits, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        choose(ctx->partial_head.scores + r * mtp->n_clusters, mtp->n_clusters, mtp->top_clusters,
               ctx->partial_head.chosen + r * mtp->top_clusters);
    exclude_all(s, begin, end);
    quire_team_barrier(team);
}

/* Logits of the tokens of one cluster for one row. */
static void run_cluster(const struct qr_step *s, const struct qr_act *act, size_t unit,
                        const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const struct qr_packed *head = qr_model_head(m);
    const size_t row = unit / c->mtp.top_clusters, size = c->vocab_size / c->mtp.n_clusters,
                 first = ctx->partial_head.chosen[unit] * size, panel = head->panel_rows,
                 begin = first / panel * panel, panels = (first + size - begin + panel - 1) / panel,
                 end = begin + panels * panel < head->n ? begin + panels * panel : head->n;
    const struct qr_linear_block b = { begin, end, row, row + 1 };
    float *out = ctx->partial_head.logits + unit * ctx->partial_head.stride;
    const struct qr_linear_args args = { .w = head,
                                         .x = act,
                                         .out = out,
                                         .out_stride = ctx->partial_head.stride,
                                         .compute = m->compute,
                                         .unpacked = qr_thread_unpacked(s, team) };
    qr_linear_run_block(&args, &b, m->kernels);
    if (c->final_softcap > 0)
        m->kernels->soft_cap(out, c->final_softcap, end - begin);
    for (size_t j = first; j < first + size; j++)
        s->args->logits[row * c->vocab_size + m->token_order[j]] = out[j - begin];
}

/* A matrix with rows for some tokens only. */
static void run_rows(const struct qr_step *s, const float *src, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_packed *head = qr_model_head(m);
    const struct qr_projection p = { head, NULL, ctx->partial_head.logits, QR_NO_ADAPTER_SITE };
    const size_t vocab = m->config->vocab_size;
    struct qr_act act;
    size_t begin, end;
    qr_convert_input(s, &act, &head, 1, src, s->n_logits, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
    qr_team_range(team, s->n_logits, 1, &begin, &end);
    exclude_all(s, begin, end);
    for (size_t r = begin; r < end; r++) {
        float *row = ctx->partial_head.logits + r * head->n;
        if (m->config->logit_scale != 1)
            m->kernels->scale(row, m->config->logit_scale, head->n);
        if (m->config->final_softcap > 0)
            m->kernels->soft_cap(row, m->config->final_softcap, head->n);
        for (size_t j = 0; j < head->n; j++)
            s->args->logits[r * vocab + m->token_order[j]] = row[j];
    }
}

void qr_partial_head(const struct qr_step *s, const float *src, const struct quire_team *team)
{
    if (!s->ctx->model->config->mtp.n_clusters) {
        run_rows(s, src, team);
        return;
    }
    const struct qr_packed *head = qr_model_head(s->ctx->model);
    const size_t n = (size_t)s->n_logits * s->ctx->model->config->mtp.top_clusters;
    struct qr_act act;
    choose_all(s, src, team);
    qr_convert_input(s, &act, &head, 1, src, s->n_logits, team);
    struct qr_work_steal loop = qr_work_steal_begin(s->ctx->per_thread.counters, team, n);
    for (size_t unit; qr_work_steal_next(&loop, &unit);)
        run_cluster(s, &act, unit, team);
}
