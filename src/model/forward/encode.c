/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c - quire_context_encode: checks an encoder pass and runs it as a step over the encoder's
 * private KV cache. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "model/forward/encoder_cache.h"
#include "model/forward/step.h"
#include "model/groups.h"
#include <quire/attention.h>

static quire_status check_sequences(const struct quire_context *ctx,
                                    const struct quire_encode_args *e, struct quire_error *err)
{
    const int32_t *loc = e->query_start_loc;
    if (e->n_seqs > ctx->max_seqs)
        return qr_fail(err, QUIRE_E_LIMIT, "args.n_seqs is %u, the context allows %u", e->n_seqs,
                       ctx->max_seqs);
    if (!loc)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.query_start_loc is NULL");
    if (loc[0] != 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.query_start_loc[0] is %d, not 0", loc[0]);
    for (uint32_t i = 0; i < e->n_seqs; i++) {
        if (loc[i + 1] < loc[i])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "args.query_start_loc[%u] is %d, below %d",
                           i + 1, loc[i + 1], loc[i]);
        if ((uint32_t)loc[i + 1] > ctx->max_encoder_tokens)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "args.query_start_loc[%u] is %d, the context allows %u", i + 1,
                           loc[i + 1], ctx->max_encoder_tokens);
        if ((uint32_t)(loc[i + 1] - loc[i]) > ctx->max_encoder_len)
            return qr_fail(err, QUIRE_E_LIMIT, "sequence %u has %d tokens, the context allows %u",
                           i, loc[i + 1] - loc[i], ctx->max_encoder_len);
        if ((e->pooled || e->scores) && loc[i + 1] == loc[i])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s: sequence %u has no tokens to pool",
                           e->pooled ? "pooled" : "scores", i);
    }
    return QUIRE_OK;
}

static quire_status check_types(const struct qr_step *s, struct quire_error *err)
{
    const int32_t *types = s->encode->token_type_ids;
    const uint32_t n = s->ctx->model->config->n_token_types;
    for (uint32_t r = 0; types && r < s->n_tokens; r++)
        if (types[r] < 0 || (uint32_t)types[r] >= (n ? n : 1))
            return qr_fail(err, QUIRE_E_RANGE, "token_type_ids[%u] is %d, the model has %u types",
                           r, types[r], n);
    return QUIRE_OK;
}

/* Checks that the model has the requested outputs. */
static quire_status check_outputs(const struct quire_context *ctx,
                                  const struct quire_encode_args *e, struct quire_error *err)
{
    const struct quire_model *m = ctx->model;
    if (e->logits && (m->config->kind != QR_MODEL_ENCODER || m->config->no_lm_head))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "args.logits: the encoder has no output matrix");
    if (e->pooled && (unsigned)e->pooling > QUIRE_POOLING_POOLER)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.pooling %d is unknown", (int)e->pooling);
    if (e->pooled && e->pooling == QUIRE_POOLING_POOLER && !m->global.mat[QR_W_POOLER])
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "args.pooling: the model has no pooler");
    if (e->scores && !m->config->n_labels)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "args.scores: the model has no classification head for sequences");
    if (e->cross_slot_mapping && m->cross_group < 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "args.cross_slot_mapping: the model has no decoder");
    if (e->cross_slot_mapping && !ctx->kv)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "args.cross_slot_mapping: the context was made without a cache");
    return QUIRE_OK;
}

static quire_status check_logits(struct qr_step *s, struct quire_error *err)
{
    const struct quire_encode_args *e = s->encode;
    if (!e->logits)
        return QUIRE_OK;
    s->logits_rows = e->logits_rows ? e->logits_rows : s->ctx->all_rows;
    s->n_logits = e->logits_rows ? e->n_logits : s->n_tokens;
    return qr_step_check_logits(s, err);
}

/* Runs the pass as a step of the encoder's layers, with keys and values in the private cache. */
static quire_status run(struct quire_context *ctx, const struct quire_encode_args *e,
                        struct quire_error *err)
{
    const struct quire_attention_batch batch = {
        .struct_size = sizeof batch,
        .n_seqs = e->n_seqs,
        .query_start_loc = e->query_start_loc,
        .seq_lens = ctx->encoder.seq_lens,
        .n_groups = ctx->model->encoder.n_kv,
        .groups = ctx->encoder.groups,
        .encoder_seq_lens = ctx->encoder.seq_lens,
    };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = e->token_ids,
                                             .embeddings = e->embeddings,
                                             .logits = e->logits,
                                             .hidden = e->layers };
    struct qr_step s = { .ctx = ctx,
                         .args = &args,
                         .encode = e,
                         .stack = qr_model_encoder_stack(ctx->model),
                         .kv = ctx->encoder.kv,
                         .plan = ctx->encoder.plan,
                         .n_tokens = (uint32_t)e->query_start_loc[e->n_seqs] };
    if (!s.n_tokens)
        return QUIRE_OK;
    qr_encoder_cache_place(ctx, e);
    qr_step_place_rows(&s);
    QR_TRY(qr_step_check_tokens(&s, err));
    QR_TRY(check_types(&s, err));
    QR_TRY(check_logits(&s, err));
    if (e->cross_slot_mapping)
        QR_TRY(quire_kv_check_slots(ctx->kv, (uint32_t)ctx->model->cross_group,
                                    e->cross_slot_mapping, s.n_tokens, err));
    QR_TRY(quire_plan_build(ctx->encoder.plan, &batch, err));
    return qr_step_execute(&s, err);
}

quire_status quire_context_encode(struct quire_context *context,
                                  const struct quire_encode_args *args, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_encode_args a;
    QR_TRY(qr_handle_check(context, QR_KIND_CONTEXT, "context", err));
    QR_READ_STRUCT(&a, args, cross_slot_mapping, "args", err);
    if (!qr_model_encodes(context->model))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "the model is a decoder: use quire_context_forward");
    if (a.pooling == QUIRE_POOLING_DEFAULT)
        a.pooling = (enum quire_pooling)context->model->config->pooling;
    if (!a.n_seqs)
        return QUIRE_OK;
    if (__atomic_exchange_n(&context->busy, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "a step of this context is running");
    quire_status s = check_sequences(context, &a, err);
    if (s == QUIRE_OK)
        s = check_outputs(context, &a, err);
    if (s == QUIRE_OK)
        s = run(context, &a, err);
    __atomic_store_n(&context->busy, false, __ATOMIC_RELEASE);
    return s;
}

QR_DEFINE_ZERO_INIT(quire_encode_args)
