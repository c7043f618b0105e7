/* SPDX-License-Identifier: Apache-2.0 */
/* draft_model_open.c - opens, measures and closes the draft model of an engine. */
#include "engine/draft_model_open.h"
#include "base/alloc.h"
#include "base/error.h"
#include "engine/draft_heads.h"
#include "engine/draft_model.h"
#include "engine/kv_setup.h"
#include "engine/sequence_setup.h"
#include "model/open_model.h"
#include <sched.h>
#include <string.h>

quire_status qr_draft_model_check(const struct quire_engine_params *p, struct quire_error *err)
{
    if (p->draft_model_path && p->draft_model)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "give at most one of draft_model_path and draft_model");
    const bool mtp = p->flags & QUIRE_ENGINE_MTP;
    if (mtp && (p->draft_model_path || p->draft_model))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "give at most one of QUIRE_ENGINE_MTP and %s",
                       p->draft_model ? "draft_model" : "draft_model_path");
    if (mtp && p->model)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "QUIRE_ENGINE_MTP is for models that the engine opens: with `model`, give "
                       "its head as draft_model");
    if (!p->draft_model != !p->draft_tokenizer)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is given without %s",
                       p->draft_model ? "draft_model" : "draft_tokenizer",
                       p->draft_model ? "draft_tokenizer" : "draft_model");
    const bool given = p->draft_model_path || p->draft_model || mtp;
    if (!given && p->draft_cache_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "draft_cache_tokens is given without a draft model");
    if (given && p->max_draft_tokens == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is given, but max_draft_tokens is 0",
                       mtp              ? "QUIRE_ENGINE_MTP"
                       : p->draft_model ? "draft_model"
                                        : "draft_model_path");
    return QUIRE_OK;
}

/* ---- The vocabulary */

/* Whether a token has no text of its own: files round the size of a vocabulary up with these. */
static bool is_padding(const struct quire_tokenizer *t, size_t token)
{
    return quire_tokenizer_token_type(t, (int32_t)token) == QUIRE_TOKEN_UNUSED;
}

static quire_status check_sizes(const struct quire_tokenizer *draft,
                                const struct quire_tokenizer *target, size_t *n_common,
                                struct quire_error *err)
{
    const size_t n_draft = quire_tokenizer_vocab_size(draft);
    const size_t n_target = quire_tokenizer_vocab_size(target);
    const struct quire_tokenizer *larger = n_draft > n_target ? draft : target;
    *n_common = n_draft < n_target ? n_draft : n_target;
    for (size_t i = *n_common; i < n_draft || i < n_target; i++)
        if (!is_padding(larger, i))
            return qr_fail(err, QUIRE_E_MISMATCH,
                           "draft_model: its vocabulary has %zu tokens, that of the model %zu",
                           n_draft, n_target);
    return QUIRE_OK;
}

/* Both vocabularies must have the same texts; unused tokens at their ends may differ in number. */
static quire_status compare_vocabularies(const struct quire_tokenizer *draft,
                                         const struct quire_tokenizer *target, size_t *n_common,
                                         struct quire_error *err)
{
    QR_TRY(check_sizes(draft, target, n_common, err));
    for (size_t i = 0; i < *n_common; i++) {
        size_t a_size, b_size;
        const char *a = quire_tokenizer_token_text(draft, (int32_t)i, &a_size);
        const char *b = quire_tokenizer_token_text(target, (int32_t)i, &b_size);
        if (a_size == b_size && memcmp(a, b, a_size) == 0)
            continue;
        const int shown = 40; /* bytes; a token may be long */
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "draft_model: token %zu is \"%.*s\", that of the model \"%.*s\"", i,
                       a_size < 40 ? (int)a_size : shown, a, b_size < 40 ? (int)b_size : shown, b);
    }
    return QUIRE_OK;
}

/* ---- Opening */

/* Puts the name of the parameter before the message of a function that does not know it. */
static quire_status name_error(const char *name, quire_status status, const struct quire_error *of,
                               struct quire_error *err)
{
    if (status == QUIRE_OK)
        return QUIRE_OK;
    (void)qr_fail_at(err, status, of->offset, "%s: %s", name, of->msg);
    if (qr_error_writable(err))
        err->detail = of->detail;
    return status;
}

static quire_status check_vocabulary(struct quire_engine *e, const struct quire_engine_params *p,
                                     struct quire_error *err)
{
    struct quire_error own = QUIRE_ERROR_INIT;
    struct quire_tokenizer *opened = NULL;
    size_t n = 0;
    if (p->draft_tokenizer)
        QR_TRY(qr_handle_check(p->draft_tokenizer, QR_KIND_TOKENIZER, "draft_tokenizer", err));
    if (!p->draft_tokenizer) {
        struct quire_tokenizer_params tp = { .struct_size = sizeof tp };
        tp.allocator = p->allocator;
        tp.logger = p->logger;
        const quire_status s = quire_tokenizer_open(p->draft_model_path, &tp, &opened, &own);
        QR_TRY(name_error("draft_model_path", s, &own, err));
    }
    const quire_status s =
        compare_vocabularies(opened ? opened : p->draft_tokenizer, e->tokenizer, &n, err);
    quire_tokenizer_close(opened);
    e->draft_model->n_common = (uint32_t)n;
    return s;
}

static quire_status open_own_model(struct quire_engine *e, const struct quire_engine_params *p,
                                   struct quire_error *err)
{
    struct qr_draft_model *d = e->draft_model;
    struct quire_error own = QUIRE_ERROR_INIT;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    const bool mtp = p->flags & QUIRE_ENGINE_MTP;
    mp.path = mtp ? p->model_path : p->draft_model_path;
    mp.data = mtp ? p->model_data : NULL;
    mp.data_bytes = mtp ? p->model_bytes : 0;
    mp.mtp_of = mtp ? e->model : NULL;
    mp.isa = p->isa;
    mp.compute = p->compute;
    mp.threads = e->threads;
    mp.allocator = p->allocator;
    mp.logger = p->logger;
    mp.progress = p->progress;
    mp.progress_user = p->progress_user;
    mp.flags = (p->flags & QUIRE_ENGINE_STRICT ? QUIRE_MODEL_STRICT : 0) |
               (p->flags & QUIRE_ENGINE_ALLOW_UNKNOWN ? QUIRE_MODEL_ALLOW_UNKNOWN : 0) |
               (p->flags & QUIRE_ENGINE_BF16_STATES ? QUIRE_MODEL_BF16_STATES : 0);
    const quire_status s = qr_open_model(&mp, mtp ? NULL : e->model, &d->own_model, &own);
    d->model = d->own_model;
    return name_error(mtp ? "QUIRE_ENGINE_MTP" : "draft_model_path", s, &own, err);
}

/* A head of multi-token prediction has the vocabulary of its model, which must be the engine's. */
static quire_status check_head(struct quire_engine *e, const struct quire_engine_params *p,
                               const struct quire_model_info *info, struct quire_error *err)
{
    struct qr_draft_model *d = e->draft_model;
    if (d->model->base != e->model)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "draft_model is a head of multi-token prediction of another model");
    d->mtp = true;
    d->shares_kv = info->mtp_shares_kv;
    d->input_size = info->mtp_hidden_size;
    d->state_size = info->mtp_state_size;
    d->n_features = info->n_mtp_features;
    /* heads for more tokens than a draft has are not computed */
    d->n_heads = info->n_mtp_heads < p->max_draft_tokens ? info->n_mtp_heads : p->max_draft_tokens;
    d->takes_turns = d->model->config->mtp.heads != QR_MTP_HEADS_FIRST;
    d->chained = info->mtp_chained;
    memcpy(d->feature_layers, info->mtp_feature_layers, sizeof d->feature_layers);
    d->block_size = info->mtp_block_size;
    d->from_anchor = info->mtp_from_anchor;
    d->markov = info->mtp_markov_rank != 0;
    d->has_confidence = d->markov && info->mtp_confidence;
    d->reads_states = d->has_confidence || info->mtp_markov_state;
    for (uint32_t i = 0; i < QR_DRAFT_MAX_DEPTH; i++)
        d->masks[i] = info->mtp_mask_token;
    d->n_common = (uint32_t)quire_tokenizer_vocab_size(e->tokenizer);
    return QUIRE_OK;
}

quire_status qr_draft_model_open(struct quire_engine *e, const struct quire_engine_params *p,
                                 struct quire_error *err)
{
    if (!p->draft_model_path && !p->draft_model && !(p->flags & QUIRE_ENGINE_MTP))
        return QUIRE_OK;
    struct qr_draft_model *d = qr_calloc(p->allocator, 1, sizeof *d);
    if (!d)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a draft model");
    e->draft_model = d;
    d->n_heads = 1;
    d->model = p->draft_model;
    if (d->model)
        QR_TRY(qr_handle_check(d->model, QR_KIND_MODEL, "draft_model", err));
    else
        QR_TRY(open_own_model(e, p, err));
    struct quire_model_info mi = { .struct_size = sizeof mi };
    QR_TRY(quire_model_get_info(d->model, &mi));
    const char *name = p->draft_model ? "draft_model" : "draft_model_path";
    if (mi.kind == QUIRE_MODEL_ENCODER)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "%s: architecture '%s' is an encoder: it does not generate text", name,
                       mi.arch);
    struct quire_model_info target = { .struct_size = sizeof target };
    QR_TRY(quire_model_get_info(e->model, &target));
    if (mi.kind == QUIRE_MODEL_ENCODER_DECODER || target.kind == QUIRE_MODEL_ENCODER_DECODER)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "%s: architecture '%s' is an encoder-decoder: it neither drafts nor has "
                       "drafts of a model",
                       name, mi.kind == QUIRE_MODEL_ENCODER_DECODER ? mi.arch : target.arch);
    QR_TRY(mi.is_mtp ? check_head(e, p, &mi, err) : check_vocabulary(e, p, err));
    d->vocab_size = mi.vocab_size;
    if (d->n_common > mi.vocab_size)
        d->n_common = mi.vocab_size;
    return QUIRE_OK;
}

const struct quire_model *qr_draft_model_of(const struct quire_engine *e)
{
    return e->draft_model ? e->draft_model->model : NULL;
}

/* ---- Memory */

/* Rows of a pass of a head: those of a step, and with several heads some before them of each
 * sequence, whose tokens or hidden states were unknown (draft_heads.h). */
static uint32_t pass_rows(const struct quire_engine *e)
{
    const uint32_t n = e->draft_model->n_heads;
    return e->info.max_step_tokens + (n > 1 ? n * e->info.max_seqs : 0);
}

static void context_params(const struct quire_engine *e, const struct qr_capacity *c,
                           struct quire_context_params *cp)
{
    quire_context_params_init(cp, sizeof *cp);
    const struct qr_draft_model *d = e->draft_model;
    cp->kv = d->shares_kv ? e->kv : d->kv;
    cp->states = d->states;
    cp->threads = e->threads;
    cp->max_tokens = d->shares_kv ? e->info.max_seqs : pass_rows(e);
    cp->max_seqs = e->info.max_seqs;
    cp->max_logits = d->max_logits;
    cp->max_seq_len = d->shares_kv ? e->info.context_length : c->draft_context_length;
    cp->allocator = e->allocator;
}

static struct qr_sequence_memory_params memory_params(const struct quire_engine *e,
                                                      const struct qr_capacity *c)
{
    return (struct qr_sequence_memory_params){
        .kv = e->draft_model->kv,
        .states = e->draft_model->states,
        .block_size = c->block_size,
        .cache_tokens = c->draft_cache_tokens,
        .n_sequences = e->info.max_seqs,
        .max_tokens = c->draft_context_length,
        .hash_bits = QR_HASH_BITS,
        .allocator = e->allocator,
    };
}

/* Sizes of the buffers of hidden states of a head of multi-token prediction; zeros without one. */
struct hidden_floats {
    size_t step, in, out;
};

static struct hidden_floats hidden_floats(const struct quire_engine *e)
{
    const struct qr_draft_model *d = e->draft_model;
    const size_t step = d->mtp ? e->info.max_step_tokens : 0, rows = d->mtp ? pass_rows(e) : 0,
                 larger = d->input_size > d->state_size ? d->input_size : d->state_size;
    return (struct hidden_floats){ step * d->input_size, rows * larger, rows * d->state_size };
}

static quire_status reserve_hidden(struct quire_engine *e, struct quire_error *err)
{
    struct qr_draft_model *d = e->draft_model;
    const struct hidden_floats n = hidden_floats(e);
    if (!d->mtp)
        return QUIRE_OK;
    d->step_hidden = qr_alloc(e->allocator, n.step, sizeof *d->step_hidden);
    d->hidden_in = qr_alloc(e->allocator, n.in, sizeof *d->hidden_in);
    d->hidden_out = qr_alloc(e->allocator, n.out, sizeof *d->hidden_out);
    if (!d->step_hidden || !d->hidden_in || !d->hidden_out)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for hidden states of %u tokens",
                       e->info.max_step_tokens);
    return d->takes_turns ? qr_draft_heads_create(d, e->info.max_seqs, e->allocator, err)
                          : QUIRE_OK;
}

static quire_status set_info(struct quire_engine *e, const struct qr_capacity *c,
                             struct quire_error *err)
{
    const struct qr_draft_model *d = e->draft_model;
    struct quire_engine_info *info = &e->info;
    struct quire_model_info mi = { .struct_size = sizeof mi };
    struct quire_context_params cp;
    QR_TRY(quire_model_get_info(d->model, &mi));
    info->draft_weight_bytes = mi.weight_bytes;
    info->draft_kv_bytes = c->draft_kv_bytes;
    info->draft_cache_tokens = c->draft_cache_tokens;
    context_params(e, c, &cp);
    QR_TRY(quire_context_bytes(d->model, &cp, &info->draft_context_bytes, err));
    const struct qr_sequence_memory_params memory = memory_params(e, c);
    const struct hidden_floats n = hidden_floats(e);
    info->draft_context_bytes += (d->n_logits + n.step + n.in + n.out) * sizeof(float) +
                                 (d->shares_kv ? 0 : qr_sequence_memory_bytes(&memory)) +
                                 (d->takes_turns ? qr_draft_heads_bytes(d, info->max_seqs) : 0);
    return QUIRE_OK;
}

static quire_status reserve_step(struct quire_engine *e, const struct qr_capacity *c,
                                 struct quire_error *err)
{
    struct qr_draft_model *d = e->draft_model;
    const uint32_t max_seqs = e->info.max_seqs;
    struct quire_context_params cp;
    context_params(e, c, &cp);
    QR_TRY(quire_context_create(d->model, &cp, &d->context, err));
    const struct qr_sequence_memory_params memory = memory_params(e, c);
    if (!d->shares_kv)
        QR_TRY(qr_sequence_memory_init(&d->memory, &memory, err));
    struct qr_sequence_memory *read = d->shares_kv ? &e->memory : &d->memory;
    const struct qr_scheduler_params scheduler = {
        .memory = read,
        .model = d->model,
        .max_tasks = max_seqs,
        .max_running = max_seqs,
        .max_step_tokens = cp.max_tokens,
        .allocator = e->allocator,
    };
    QR_TRY(qr_scheduler_init(&d->scheduler, &scheduler, err));
    const struct qr_batch_params batch = {
        .n_groups = read->n_groups,
        .max_seqs = max_seqs,
        .max_tokens = cp.max_tokens,
        .max_blocks = read->max_blocks,
        .max_logits = d->max_logits,
        .allocator = e->allocator,
    };
    QR_TRY(qr_batch_init(&d->batch, &batch, err));
    QR_TRY(reserve_hidden(e, err));
    d->team_size = e->team_size;
    d->logits = qr_alloc(e->allocator, d->n_logits, sizeof *d->logits);
    d->requests = qr_calloc(e->allocator, max_seqs, sizeof *d->requests);
    return d->logits && d->requests ? QUIRE_OK
                                    : qr_fail(err, QUIRE_E_NOMEM, "no memory for drafts");
}

static quire_status create_states(struct qr_draft_model *d, const struct qr_capacity *c,
                                  const struct quire_engine_params *p, struct quire_error *err)
{
    const struct quire_state_pool_params states = { .struct_size = sizeof states,
                                                    .n_slots = c->n_draft_state_slots,
                                                    .state_bytes = c->draft_state_size,
                                                    .allocator = p->allocator };
    return c->n_draft_state_slots ? quire_state_pool_create(&states, &d->states, err) : QUIRE_OK;
}

static void destroy_pools(struct qr_draft_model *d)
{
    quire_kv_destroy(d->kv);
    quire_state_pool_destroy(d->states);
    d->kv = NULL;
    d->states = NULL;
}

quire_status qr_draft_model_reserve(struct quire_engine *e, const struct qr_capacity *c,
                                    const struct quire_engine_params *p, struct quire_error *err)
{
    struct qr_draft_model *d = e->draft_model;
    if (!d)
        return QUIRE_OK;
    const struct qr_kv_setup kv = {
        .model = d->model,
        .groups = c->draft_groups,
        .n_groups = c->n_draft_groups,
        .block_size = c->block_size,
    };
    d->max_logits = d->block_size ? e->info.max_draft_tokens : e->info.max_seqs;
    d->n_logits = (size_t)d->max_logits * d->vocab_size + e->vocab_size;
    quire_status s = create_states(d, c, p, err);
    if (s == QUIRE_OK && c->n_draft_groups)
        s = qr_engine_create_kv(e, &kv, p, &d->kv, err);
    if (s == QUIRE_OK)
        s = set_info(e, c, err);
    if (s == QUIRE_OK && !e->dry_run)
        return reserve_step(e, c, err);
    destroy_pools(d); /* a dry run creates them only to measure the context */
    return s;
}

void qr_draft_model_close(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    if (!d)
        return;
    qr_free(e->allocator, d->requests, e->info.max_seqs, sizeof *d->requests);
    qr_free(e->allocator, d->logits, d->n_logits, sizeof *d->logits);
    const struct hidden_floats n = hidden_floats(e);
    qr_draft_heads_destroy(d, e->allocator);
    qr_free(e->allocator, d->step_hidden, n.step, sizeof *d->step_hidden);
    qr_free(e->allocator, d->hidden_in, n.in, sizeof *d->hidden_in);
    qr_free(e->allocator, d->hidden_out, n.out, sizeof *d->hidden_out);
    qr_batch_free(&d->batch, e->allocator);
    qr_scheduler_free(&d->scheduler);
    qr_sequence_memory_free(&d->memory);
    quire_context_destroy(d->context);
    destroy_pools(d);
    /* fails only while contexts exist, and the only one is destroyed */
    (void)quire_model_close(d->own_model);
    qr_free(e->allocator, d, 1, sizeof *d);
    e->draft_model = NULL;
}
