/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - quire_context_forward: checks a step, builds its plan and runs it on the team. */
#include "model/forward/step.h"
#include "attention/types.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "model/forward/adapter_rows.h"
#include "model/forward/forward.h"
#include "model/forward/latent_expand.h"
#include "model/forward/layer_index.h"
#include "model/forward/mtp_input.h"
#include "model/forward/recurrent_scan.h"
#include "model/forward/thread_state.h"
#include "model/groups.h"
#include <quire/attention.h>

static uint32_t thread_count(const struct quire_context *c)
{
    return c->threads ? quire_threads_count(c->threads) : 1;
}

static struct quire_plan_params plan_params(const struct quire_model *m,
                                            const struct quire_context *c)
{
    return (struct quire_plan_params){
        .struct_size = sizeof(struct quire_plan_params),
        .kv = c->kv,
        .groups = m->groups.plan,
        .n_groups = m->groups.n_plan,
        .max_tokens = c->max_tokens,
        .max_seqs = c->max_seqs,
        .max_seq_len = c->max_seq_len > c->max_encoder_len ? c->max_seq_len : c->max_encoder_len,
        .n_threads = thread_count(c),
        .max_spans = c->max_spans,
        .max_tree_tokens = c->max_tree_tokens,
        .max_sparse_blocks = c->max_sparse_blocks,
        .isa = m->kernels->level,
        .allocator = c->allocator,
        .max_tree_words = c->max_tree_words,
    };
}

static uint32_t team_size(const struct quire_context *c, const struct quire_forward_args *args)
{
    return args->n_threads ? args->n_threads : thread_count(c);
}

quire_status qr_step_plan_bytes(const struct quire_model *model, const struct quire_context *limits,
                                uint64_t *bytes, struct quire_error *err)
{
    const struct quire_plan_params p = plan_params(model, limits);
    *bytes = 0;
    return limits->kv ? quire_plan_bytes(&p, bytes, err) : QUIRE_OK;
}

quire_status qr_step_plan_create(struct quire_context *ctx, struct quire_error *err)
{
    const struct quire_plan_params p = plan_params(ctx->model, ctx);
    if (!ctx->kv)
        return QUIRE_OK;
    QR_TRY(quire_plan_create(&p, &ctx->plan, err));
    ctx->plan->owner = "context";
    return QUIRE_OK;
}

/* What heads of multi-token prediction read, and what other models store for them. */
static quire_status check_hidden(const struct quire_model *m, const struct quire_forward_args *a,
                                 struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    const bool own = a->own_hidden && c->mtp.kind == QR_MTP_FEATURES;
    const bool block = c->mtp.kind == QR_MTP_BLOCK;
    if (a->own_hidden && (!own || a->previous_hidden))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.own_hidden is not NULL%s",
                       own ? ", and neither is previous_hidden" : ": for heads with features only");
    if (block && a->previous_hidden && (a->logits || a->last_hidden || a->hidden))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "args.%s is not NULL: a block drafter has no outputs for previous_hidden",
                       a->logits        ? "logits"
                       : a->last_hidden ? "last_hidden"
                                        : "hidden");
    if (!own && !block && !a->previous_hidden != !c->mtp.kind)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.previous_hidden is %s",
                       a->previous_hidden ? "for heads of multi-token prediction only: not NULL"
                                          : "NULL: the model is a head of multi-token prediction");
    if (!a->features != !a->n_features || !a->feature_layers != !a->n_features)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "args.n_features is %u, but features or feature_layers is %sNULL",
                       a->n_features, a->n_features ? "" : "not ");
    if (a->n_features && (c->altup.n_streams || c->hyper.n_streams))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "args.features: '%s' has several residual streams",
                       c->arch);
    for (uint32_t i = 0; i < a->n_features; i++)
        if (a->feature_layers[i] > c->n_layers)
            return qr_fail(err, QUIRE_E_RANGE,
                           "args.feature_layers[%u] is %u, the model has %u layers", i,
                           a->feature_layers[i], c->n_layers);
    return QUIRE_OK;
}

static quire_status check_shape(const struct quire_context *ctx, const struct quire_forward_args *a,
                                struct quire_error *err)
{
    const struct quire_attention_batch *b = a->batch;
    if (b->n_groups != ctx->model->groups.n_kv || (b->n_groups && !b->groups))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.batch has %u groups, the model needs %u",
                       b->n_groups, ctx->model->groups.n_kv);
    if (b->cp_world_size > 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "args.batch.cp_world_size is %u: a model needs all keys of its sequences",
                       b->cp_world_size);
    if (b->n_seqs && (!b->query_start_loc || !b->seq_lens))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.batch: query_start_loc or seq_lens is NULL");
    if (a->reserved || a->reserved2 || a->reserved3 || a->reserved4)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.reserved%s is not 0",
                       a->reserved    ? ""
                       : a->reserved2 ? "2"
                       : a->reserved3 ? "3"
                                      : "4");
    QR_TRY(check_hidden(ctx->model, a, err));
    const uint32_t n_heads = ctx->model->config->mtp.heads ? ctx->model->config->n_layers : 1;
    if (a->mtp_head >= n_heads)
        return qr_fail(err, QUIRE_E_RANGE, "args.mtp_head is %u, not below %u", a->mtp_head,
                       n_heads);
    if (a->n_threads > thread_count(ctx))
        return qr_fail(err, QUIRE_E_LIMIT, "args.n_threads is %u, the context has %u threads",
                       a->n_threads, thread_count(ctx));
    return QUIRE_OK;
}

static quire_status check_lens(const struct quire_context *ctx,
                               const struct quire_attention_batch *b, struct quire_error *err)
{
    for (uint32_t i = 0; i < b->n_seqs; i++)
        if ((uint32_t)b->seq_lens[i] > ctx->max_seq_len)
            return qr_fail(err, QUIRE_E_LIMIT, "seq_lens[%u] is %d, the context allows %u", i,
                           b->seq_lens[i], ctx->max_seq_len);
    return QUIRE_OK;
}

/* The checks of a plan, for a model without attention. */
static quire_status check_rows(const struct quire_context *ctx,
                               const struct quire_attention_batch *b, struct quire_error *err)
{
    if (b->n_seqs > ctx->max_seqs)
        return qr_fail(err, QUIRE_E_LIMIT, "batch.n_seqs is %u, above the context's max_seqs %u",
                       b->n_seqs, ctx->max_seqs);
    if (b->spans || b->tree_mask)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "args.batch.%s: '%s' has no attention layers",
                       b->tree_mask ? "tree_mask" : "spans", ctx->model->config->arch);
    if (b->n_seqs && b->query_start_loc[0] != 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.query_start_loc[0] is %d, not 0",
                       b->query_start_loc[0]);
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const int32_t begin = b->query_start_loc[i], end = b->query_start_loc[i + 1];
        if (end < begin)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.query_start_loc[%u] is %d, below %d",
                           i + 1, end, begin);
        if ((uint32_t)end > ctx->max_tokens)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "batch.query_start_loc[%u] is %d, above the context's max_tokens %u",
                           i + 1, end, ctx->max_tokens);
        if (b->seq_lens[i] < end - begin)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "batch.seq_lens[%u] is %d, below its %d new tokens", i, b->seq_lens[i],
                           end - begin);
    }
    return QUIRE_OK;
}

void qr_step_place_rows(const struct qr_step *s)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_attention_batch *b = s->args->batch;
    QR_INVARIANT(!b->tree_mask || s->plan); /* check_rows */
    const uint32_t *depths = b->tree_mask ? s->plan->depths : NULL;
    const uint32_t ahead = ctx->model->config->mtp.kind == QR_MTP_SHARED_KV; /* qr_mtp_kind */
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const int32_t begin = b->query_start_loc[i], end = b->query_start_loc[i + 1];
        const uint32_t first = (uint32_t)(b->seq_lens[i] - (end - begin));
        uint32_t len = first; /* of the longest branch */
        for (int32_t r = begin; r < end; r++) {
            ctx->positions[r] = first + ahead + (depths ? depths[r] : (uint32_t)(r - begin));
            len = ctx->positions[r] + 1 > len ? ctx->positions[r] + 1 : len;
        }
        for (int32_t r = begin; r < end; r++)
            ctx->lengths[r] = s->args->rope_lens ? s->args->rope_lens[i] : len;
        ctx->last_rows[i] = end > begin ? (uint32_t)(end - 1) : 0;
    }
}

quire_status qr_step_check_tokens(const struct qr_step *s, struct quire_error *err)
{
    const struct quire_forward_args *a = s->args;
    const struct qr_model_config *c = s->ctx->model->config;
    if (!a->token_ids && !a->embeddings && !a->embedding_rows)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "args.token_ids and args.embeddings are both NULL");
    if (qr_model_needs_ids(c) && (!a->token_ids || a->embedding_rows))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "args.%s: '%s' has %s, which need token ids",
                       a->embedding_rows ? "embedding_rows" : "embeddings", c->arch,
                       c->ple.dim          ? "embeddings per layer"
                       : c->ngram.size     ? "embeddings of n-grams"
                       : c->embedding_size ? "embeddings of another size"
                       : c->mtp.kind       ? "embeddings of its model"
                                           : "experts by token");
    for (uint32_t r = 0; (a->token_ids || !a->embeddings) && r < s->n_tokens; r++) {
        if (a->embedding_rows && a->embedding_rows[r])
            continue;
        if (!a->token_ids)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "embedding_rows[%u] is NULL, without token_ids and embeddings", r);
        if (a->token_ids[r] < 0 || (uint32_t)a->token_ids[r] >= c->vocab_size)
            return qr_fail(err, QUIRE_E_RANGE, "token_ids[%u] is %d, the vocabulary has %u", r,
                           a->token_ids[r], c->vocab_size);
    }
    const struct qr_packed *positions = s->ctx->model->global.mat[s->stack.positions];
    for (uint32_t r = 0; positions && r < s->n_tokens; r++)
        if ((size_t)s->ctx->positions[r] + c->position_offset >= positions->n)
            return qr_fail(err, QUIRE_E_LIMIT, "position %u is beyond the model's %zu",
                           s->ctx->positions[r], positions->n);
    return QUIRE_OK;
}

quire_status qr_step_check_logits(const struct qr_step *s, struct quire_error *err)
{
    if (s->n_logits > s->ctx->max_logits)
        return qr_fail(err, QUIRE_E_LIMIT, "%u rows of logits requested, the context allows %u",
                       s->n_logits, s->ctx->max_logits);
    for (uint32_t i = 0; i < s->n_logits; i++)
        if (s->logits_rows[i] >= s->n_tokens)
            return qr_fail(err, QUIRE_E_RANGE, "logits_rows[%u] is %u, the step has %u tokens", i,
                           s->logits_rows[i], s->n_tokens);
    return QUIRE_OK;
}

static quire_status check_logits(struct qr_step *s, struct quire_error *err)
{
    const struct quire_forward_args *a = s->args;
    if (!a->logits)
        return QUIRE_OK;
    if (s->ctx->model->config->no_lm_head)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "args.logits: the model has no output matrix");
    s->logits_rows = a->logits_rows ? a->logits_rows : s->ctx->last_rows;
    s->n_logits = a->logits_rows ? a->n_logits : a->batch->n_seqs;
    return qr_step_check_logits(s, err);
}

/* Refuses free and shared blocks, slots outside the pool and duplicate slots, before anything is
 * written. */
static quire_status check_slots(const struct qr_step *s, struct quire_error *err)
{
    const struct quire_attention_batch *b = s->args->batch;
    for (uint32_t g = 0; g < b->n_groups; g++) {
        if ((int32_t)g == s->ctx->model->cross_group ||
            s->ctx->model->config->mtp.kind == QR_MTP_SHARED_KV)
            continue; /* steps only read it */
        if (!b->groups[g].slot_mapping)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.groups[%u].slot_mapping is NULL", g);
        QR_TRY(quire_kv_check_slots(s->ctx->kv, g, b->groups[g].slot_mapping, s->n_tokens, err));
    }
    return QUIRE_OK;
}

quire_status qr_step_execute(struct qr_step *s, struct quire_error *err)
{
    const uint32_t n_threads = team_size(s->ctx, s->args);
    /* the convolutions of a block drafter read rows of other threads */
    s->replicated = s->n_tokens <= QR_REPLICATED_ROWS_MAX && !s->ctx->block_conv.rows;
    qr_thread_reset_counters(s->ctx, n_threads);
    return qr_part_run_n(s->ctx->threads, n_threads, qr_forward_part, s, err);
}

/* Checks the rows of a batch, and builds the plan of its attention. */
static quire_status build_plan(struct quire_context *ctx, const struct quire_forward_args *args,
                               struct quire_error *err)
{
    if (!ctx->plan)
        return check_rows(ctx, args->batch, err);
    ctx->plan->team_size = team_size(ctx, args);
    return quire_plan_build(ctx->plan, args->batch, err);
}

/* The layers that a step runs: all of the decoder, or that of a head. */
static struct qr_stack step_stack(const struct quire_model *m, const struct quire_forward_args *a)
{
    struct qr_stack s = qr_model_decoder_stack(m);
    if (m->config->mtp.heads) {
        s.first = a->mtp_head;
        s.end = s.first + 1;
    }
    return s;
}

static quire_status run_step(struct quire_context *ctx, const struct quire_forward_args *args,
                             struct quire_error *err)
{
    QR_TRY(check_shape(ctx, args, err));
    QR_TRY(build_plan(ctx, args, err));
    struct qr_step s = { .ctx = ctx,
                         .args = args,
                         .stack = step_stack(ctx->model, args),
                         .kv = ctx->kv,
                         .plan = ctx->plan };
    s.n_tokens =
        args->batch->n_seqs ? (uint32_t)args->batch->query_start_loc[args->batch->n_seqs] : 0;
    if (!s.n_tokens)
        return QUIRE_OK;
    QR_TRY(check_lens(ctx, args->batch, err));
    qr_step_place_rows(&s);
    if (!qr_mtp_stores_context(&s))
        QR_TRY(qr_step_check_tokens(&s, err));
    QR_TRY(check_logits(&s, err));
    QR_TRY(qr_adapter_place(&s, err));
    QR_TRY(check_slots(&s, err));
    if (ctx->states)
        QR_TRY(qr_recurrent_place(&s, err));
    if (ctx->model->config->mla.kv_lora_rank)
        QR_TRY(qr_latent_place(&s, err));
    if (ctx->model->config->index.n_heads)
        qr_index_place(&s);
    ctx->n_step_tokens = s.n_tokens;
    qr_adapter_begin(args);
    const quire_status status = qr_step_execute(&s, err);
    qr_adapter_end(args);
    return status;
}

quire_status quire_context_forward(struct quire_context *context,
                                   const struct quire_forward_args *args, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_forward_args a;
    struct quire_attention_batch batch;
    QR_TRY(qr_handle_check(context, QR_KIND_CONTEXT, "context", err));
    QR_READ_STRUCT(&a, args, hidden, "args", err);
    if (!context->plan && (context->model->groups.n_kv || !qr_model_decodes(context->model)))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s",
                       qr_model_decodes(context->model)
                           ? "the context has been created without a cache: it only encodes"
                           : "the model is an encoder: use quire_context_encode");
    QR_READ_STRUCT(&batch, a.batch, sparse, "args.batch", err);
    a.batch = &batch;
    if (__atomic_exchange_n(&context->busy, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "a step of this context is running");
    const quire_status s = run_step(context, &a, err);
    __atomic_store_n(&context->busy, false, __ATOMIC_RELEASE);
    return s;
}

QR_DEFINE_ZERO_INIT(quire_forward_args)
