/* SPDX-License-Identifier: Apache-2.0 */
/* markov_head.c - the Markov head of a block drafter: a bias of the logits of a row by the token
 * before the one that it predicts, and the confidence in what is drawn then. */
#include "model/forward/markov_head.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include "model/groups.h"
#include <math.h>
#include <quire/markov_head.h>

static float *take(struct qr_bump *buffers, size_t rows, size_t width)
{
    size_t count;
    if (qr_mul_size(rows, width, &count))
        return qr_bump_alloc(buffers, count, sizeof(float));
    buffers->overflow = true;
    return NULL;
}

void qr_markov_reserve(const struct quire_model *model, struct quire_context *ctx,
                       struct qr_bump *buffers)
{
    const struct qr_model_config *c = model->config;
    if (!c->mtp.markov_rank)
        return;
    ctx->markov.in = take(buffers, ctx->max_seqs, c->mtp.markov_rank);
    ctx->markov.bias =
        take(buffers, ctx->max_seqs,
             c->mtp.select_top ? c->mtp.markov_rank : model->global.mat[QR_W_MTP_MARKOV_OUT]->n);
    if (model->global.vec[QR_W_MTP_CONFIDENCE] || c->mtp.select_top)
        ctx->markov.state = take(buffers, ctx->max_seqs, c->hidden_size);
}

/* A call: the rows in the form of a step, for what projections read of one. */
struct call {
    struct qr_step step;
    const struct quire_markov_args *args;
};

/* The probability that row i, of the normed state, is accepted; its embedding is in place. */
static void estimate(const struct call *call, size_t i, const float *state)
{
    const struct quire_context *ctx = call->step.ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const float *w = m->global.vec[QR_W_MTP_CONFIDENCE],
                *bias = m->global.vec[QR_W_MTP_CONFIDENCE_BIAS],
                *in = ctx->markov.in + i * c->mtp.markov_rank;
    double sum = bias ? *bias : 0;
    for (size_t j = 0; j < c->hidden_size; j++)
        sum += (double)w[j] * state[j];
    for (size_t j = 0; c->mtp.confidence_markov && j < c->mtp.markov_rank; j++)
        sum += (double)w[c->hidden_size + j] * in[j];
    call->args->confidence[i] = (float)(1 / (1 + exp(-sum)));
}

/* Adds columns [begin, end) of the biases to the logits. */
static void add(const struct call *call, size_t begin, size_t end)
{
    const struct quire_model *m = call->step.ctx->model;
    const size_t n = m->global.mat[QR_W_MTP_MARKOV_OUT]->n;
    for (uint32_t i = 0; i < call->args->n; i++) {
        const float *bias = call->step.ctx->markov.bias + i * n;
        float *logits = call->args->logits[i];
        if (!m->token_order) {
            m->kernels->add(logits + begin, bias + begin, end - begin);
            continue;
        }
        for (size_t j = begin; j < end; j++)
            logits[m->token_order[j]] += bias[j];
    }
}

/* The `top` of n logits that are largest, the largest first; of equal ones those of smaller tokens.
 * Returns their number, which is smaller if fewer are not -inf. */
static uint32_t find_largest(const float *logits, uint32_t n, uint32_t top, uint32_t *tokens)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < n; t++) {
        if (!(logits[t] > (count == top ? logits[tokens[top - 1]] : -INFINITY)))
            continue;
        uint32_t at = count < top ? count++ : top - 1;
        for (; at > 0 && logits[t] > logits[tokens[at - 1]]; at--)
            tokens[at] = tokens[at - 1];
        tokens[at] = t;
    }
    return count;
}

/* The selector: the largest logits of row i get their scores, all others are excluded. The factors
 * of the row's state are in ctx->markov.bias. */
static void select_tokens(const struct call *call, size_t i)
{
    const struct quire_context *ctx = call->step.ctx;
    const struct qr_model_config *c = ctx->model->config;
    const size_t rank = c->mtp.markov_rank;
    float *context = ctx->markov.in + i * rank, *logits = call->args->logits[i];
    float *successor = ctx->markov.bias + i * rank, scores[QR_MTP_MAX_SELECT];
    uint32_t tokens[QR_MTP_MAX_SELECT];
    const uint32_t n = find_largest(logits, c->vocab_size, c->mtp.select_top, tokens);
    for (size_t j = 0; j < rank; j++)
        context[j] *= successor[j];
    for (uint32_t k = 0; k < n; k++) {
        double sum = logits[tokens[k]];
        qr_packed_unpack_row(ctx->model->global.mat[QR_W_MTP_MARKOV_OUT], tokens[k], successor);
        for (size_t j = 0; j < rank; j++)
            sum += (double)context[j] * successor[j];
        scores[k] = (float)sum;
    }
    for (uint32_t t = 0; t < c->vocab_size; t++)
        logits[t] = -INFINITY;
    for (uint32_t k = 0; k < n; k++)
        logits[tokens[k]] = scores[k];
}

/* Embeddings of the tokens before, and normed states, of the thread's rows. Ends with a barrier. */
static void prepare(const struct call *call, const struct quire_team *team)
{
    const struct quire_context *ctx = call->step.ctx;
    const struct qr_packed *table = ctx->model->global.mat[QR_W_MTP_MARKOV_IN];
    const size_t width = ctx->model->config->hidden_size;
    size_t begin, end;
    qr_team_range(team, call->args->n, 1, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        qr_packed_unpack_row(table, (size_t)call->args->previous[i], ctx->markov.in + i * table->k);
        if (!ctx->markov.state || !call->args->hidden)
            continue;
        float *state = ctx->markov.state + i * width;
        qr_final_norm_rows(&call->step, state, call->args->hidden[i], 0, 1);
        if (call->args->confidence)
            estimate(call, i, state);
    }
    quire_team_barrier(team);
}

static void run(void *arg, const struct quire_team *team)
{
    const struct call *call = arg;
    const struct qr_step *s = &call->step;
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const bool selects = m->config->mtp.select_top != 0;
    const struct qr_packed *w = m->global.mat[selects ? QR_W_MTP_SELECT : QR_W_MTP_MARKOV_OUT];
    const struct qr_projection p = { w, NULL, ctx->markov.bias, QR_NO_ADAPTER_SITE };
    struct qr_act act;
    size_t begin, end;
    prepare(call, team);
    qr_convert_input(s, &act, &w, 1, selects ? ctx->markov.state : ctx->markov.in, call->args->n,
                     team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
    if (!selects) {
        qr_team_range(team, w->n, 64, &begin, &end);
        add(call, begin, end);
        return;
    }
    qr_team_range(team, call->args->n, 1, &begin, &end);
    for (size_t i = begin; i < end; i++)
        select_tokens(call, i);
}

static quire_status check_rows(const struct quire_context *ctx, const struct quire_markov_args *a,
                               struct quire_error *err)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!a->logits[i])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "args.logits[%u] is NULL", i);
        if (a->hidden && !a->hidden[i])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "args.hidden[%u] is NULL", i);
        if (a->previous[i] < 0 || (uint32_t)a->previous[i] >= ctx->model->config->vocab_size)
            return qr_fail(err, QUIRE_E_RANGE, "args.previous[%u] is %d, the vocabulary has %u", i,
                           a->previous[i], ctx->model->config->vocab_size);
    }
    return QUIRE_OK;
}

static quire_status check(const struct quire_context *ctx, const struct quire_markov_args *a,
                          struct quire_error *err)
{
    const struct quire_model *m = ctx->model;
    const uint32_t threads = ctx->threads ? quire_threads_count(ctx->threads) : 1;
    if (a->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.reserved is not 0");
    if (!ctx->markov.in)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "'%s' has no Markov head", m->config->arch);
    if (a->confidence && !m->global.vec[QR_W_MTP_CONFIDENCE])
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "args.confidence: the Markov head estimates no confidence");
    if (a->n > ctx->max_seqs)
        return qr_fail(err, QUIRE_E_LIMIT, "args.n is %u, above the context's max_seqs %u", a->n,
                       ctx->max_seqs);
    if (a->n_threads > threads)
        return qr_fail(err, QUIRE_E_LIMIT, "args.n_threads is %u, the context has %u", a->n_threads,
                       threads);
    if (!a->n)
        return QUIRE_OK;
    if (!a->previous || !a->logits)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s is NULL",
                       a->logits ? "previous" : "logits");
    if ((a->confidence || m->config->mtp.select_top) && !a->hidden)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.hidden is NULL%s",
                       a->confidence ? ", but not args.confidence" : "");
    return check_rows(ctx, a, err);
}

static quire_status run_call(struct quire_context *ctx, const struct quire_markov_args *a,
                             struct quire_error *err)
{
    static const struct quire_forward_args none = { .struct_size = sizeof none };
    const uint32_t threads = ctx->threads ? quire_threads_count(ctx->threads) : 1;
    struct call call = { .step = { .ctx = ctx,
                                   .args = &none,
                                   .stack = qr_model_decoder_stack(ctx->model),
                                   .n_tokens = a->n,
                                   .replicated = a->n <= QR_REPLICATED_ROWS_MAX },
                         .args = a };
    QR_TRY(check(ctx, a, err));
    if (!a->n)
        return QUIRE_OK;
    const uint32_t n_threads = a->n_threads ? a->n_threads : threads;
    qr_thread_reset_counters(ctx, n_threads);
    return qr_part_run_n(ctx->threads, n_threads, run, &call, err);
}

quire_status quire_context_markov(struct quire_context *context,
                                  const struct quire_markov_args *args, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_markov_args a;
    QR_TRY(qr_handle_check(context, QR_KIND_CONTEXT, "context", err));
    QR_READ_STRUCT(&a, args, reserved, "args", err);
    if (__atomic_exchange_n(&context->busy, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "a step of this context is running");
    const quire_status s = run_call(context, &a, err);
    __atomic_store_n(&context->busy, false, __ATOMIC_RELEASE);
    return s;
}

QR_DEFINE_ZERO_INIT(quire_markov_args)
