/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - opens, describes and closes a model. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "kernels/dispatch.h"
#include "linear/onednn_shim.h"
#include "model/distance_weights.h"
#include "model/ffn_act.h"
#include "model/groups.h"
#include "model/load/kv_scales.h"
#include "model/load/load.h"
#include "model/load/provider.h"
#include "model/load/weights.h"
#include "model/recurrent_weights.h"
#include "model/state_layout.h"
#include <math.h>
#include <string.h>

QR_DEFINE_ZERO_INIT(quire_model_params)

static quire_status check_params(const struct quire_model_params *p, struct quire_error *err)
{
    if (!p->path && !p->data)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.path and params.data are both NULL");
    if (p->pack_cache && (!p->path || !p->pack_cache[0]))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.pack_cache is %s",
                       p->path ? "empty" : "for models from files only: params.path is NULL");
    if (p->compute < QUIRE_COMPUTE_NATIVE || p->compute > QUIRE_COMPUTE_THROUGHPUT)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.compute %d is unknown", (int)p->compute);
    if (p->linear != QUIRE_LINEAR_AUTO && p->linear != QUIRE_LINEAR_QUIRE &&
        p->linear != QUIRE_LINEAR_ONEDNN)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.linear %d is unknown", (int)p->linear);
    if (p->mtp_of)
        QR_TRY(qr_handle_check(p->mtp_of, QR_KIND_MODEL, "params.mtp_of", err));
    if (p->mtp_of && p->pack_cache)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.pack_cache is not for mtp_of");
    if (p->mtp_of && p->mtp_of->config->mtp.in_use)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "params.mtp_of is a head of multi-token prediction itself");
    const uint32_t known = QUIRE_MODEL_EXPAND_LATENT | QUIRE_MODEL_ALLOW_UNKNOWN |
                           QUIRE_MODEL_STRICT | QUIRE_MODEL_BF16_STATES;
    if (p->flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags 0x%x has unknown bits", p->flags);
    return QUIRE_OK;
}

static void destroy(struct quire_model *m)
{
    if (m->base) { /* owns these */
        m->global.mat[QR_W_TOKEN_EMBD] = m->global.mat[QR_W_OUTPUT] = NULL;
        __atomic_fetch_sub(&m->base->n_heads, 1, __ATOMIC_ACQ_REL);
    }
    qr_model_drop_distances(m);
    qr_model_unload(m);
    qr_onednn_destroy(m->onednn);
    qr_model_free_groups(m);
    qr_weights_close(m->weights);
    qr_free(m->allocator, m, 1, sizeof *m);
}

/* Takes the embedding and the output matrix of the model that a head of multi-token prediction
 * belongs to, after a check that they fit. */
static quire_status borrow_base(struct quire_model *m, struct quire_model *base,
                                struct quire_error *err)
{
    static const enum qr_weight_role roles[] = { QR_W_TOKEN_EMBD, QR_W_OUTPUT };
    const struct qr_model_config *c = m->config, *of = base->config;
    if (strcmp(c->arch, of->arch) != 0 || c->hidden_size != of->hidden_size ||
        c->vocab_size != of->vocab_size)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "params.mtp_of is '%s' with %u x %u embeddings, the file '%s' with %u x %u",
                       of->arch, of->vocab_size, of->hidden_size, c->arch, c->vocab_size,
                       c->hidden_size);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        m->global.mat[roles[i]] = base->global.mat[roles[i]];
    m->global.vec[QR_W_OUTPUT_BIAS] = base->global.vec[QR_W_OUTPUT_BIAS];
    m->base = base;
    __atomic_fetch_add(&base->n_heads, 1, __ATOMIC_ACQ_REL);
    return QUIRE_OK;
}

static quire_status open_model(struct quire_model *m, const struct quire_model_params *p,
                               struct quire_error *err)
{
    const struct qr_weights_params wp = {
        .path = p->path,
        .memory = p->path ? NULL : p->data,
        .memory_size = p->path ? 0 : p->data_bytes,
        .allocator = p->allocator,
        .logger = p->logger,
        .progress = p->progress,
        .progress_user = p->progress_user,
        .expand_latent = p->flags & QUIRE_MODEL_EXPAND_LATENT,
        .allow_unknown = p->flags & QUIRE_MODEL_ALLOW_UNKNOWN,
        .strict = p->flags & QUIRE_MODEL_STRICT,
        .mtp = p->mtp_of != NULL,
    };
    if (p->mtp_of)
        m->kernels = p->mtp_of->kernels;
    else
        QR_TRY(qr_kernels_get(p->isa, &m->kernels, err));
    QR_TRY(qr_weights_open(&wp, &m->weights, err));
    m->config = qr_weights_config(m->weights);
    if (!p->mtp_of)
        QR_TRY(qr_provider_choose(m, p->linear, err));
    QR_TRY(qr_model_load(m, p->pack_cache, p->threads, err));
    if (p->mtp_of)
        QR_TRY(borrow_base(m, p->mtp_of, err));
    QR_TRY(qr_model_group_layers(m, err));
    QR_TRY(qr_model_prepare_recurrent(m, err));
    QR_TRY(qr_model_prepare_ffn_act(m, err));
    QR_TRY(qr_model_prepare_distances(m, err));
    QR_TRY(qr_model_place_states(m, p->flags & QUIRE_MODEL_BF16_STATES, err));
    if (!p->mtp_of) /* a checkpoint has none for its heads */
        QR_TRY(qr_kv_scales_load(m, err));
    qr_weights_release_source(m->weights);
    return QUIRE_OK;
}

quire_status quire_model_open(const struct quire_model_params *params, struct quire_model **out,
                              struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    struct quire_model_params p;
    QR_READ_STRUCT(&p, params, pack_cache, "params", err);
    QR_TRY(check_params(&p, err));
    struct quire_model *m = qr_calloc(p.allocator, 1, sizeof *m);
    if (!m)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a model");
    m->handle.kind = QR_KIND_MODEL;
    m->allocator = p.allocator;
    m->logger = p.logger;
    m->compute = p.mtp_of ? p.mtp_of->compute : p.compute;
    const quire_status s = open_model(m, &p, err);
    if (s != QUIRE_OK)
        destroy(m);
    else
        *out = m;
    return s;
}

quire_status quire_model_close(struct quire_model *model)
{
    if (!model)
        return QUIRE_OK;
    if (!qr_handle_is(model, QR_KIND_MODEL))
        return QUIRE_E_INVALID_ARG;
    if (__atomic_load_n(&model->n_contexts, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&model->n_adapters, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&model->n_heads, __ATOMIC_ACQUIRE))
        return QUIRE_E_BUSY;
    (void)qr_handle_end(model, QR_KIND_MODEL);
    destroy(model);
    return QUIRE_OK;
}

/* Type of the first layer's matrices; embedding and head often have another one. */
static const char *main_weight_type(const struct quire_model *m)
{
    const struct qr_model_layer *l = &m->layers[0];
    const struct qr_packed *w = l->mat[QR_W_ATTN_Q]  ? l->mat[QR_W_ATTN_Q]
                                : l->mat[QR_W_REC_V] ? l->mat[QR_W_REC_V]
                                                     : l->mat[QR_W_FFN_UP];
    return w ? qr_weight_type_info(w->type)->name : "";
}

/* Bytes of the embedding tables except one that is also the head. A token reads only one row of
 * them, so they do not count for token_weight_bytes. */
static uint64_t lookup_bytes(const struct quire_model *m)
{
    const struct qr_packed *table = m->global.mat[QR_W_TOKEN_EMBD],
                           *encoder = m->global.mat[QR_W_ENC_TOKEN_EMBD],
                           *per_layer = m->global.mat[QR_W_PLE_EMBD];
    const bool is_head = !m->config->no_lm_head && table == qr_model_head(m);
    uint64_t bytes = (table && !is_head ? table->bytes : 0) + (encoder ? encoder->bytes : 0) +
                     (per_layer ? per_layer->bytes : 0);
    for (uint32_t i = 0; i < m->config->n_layers; i++)
        for (uint32_t p = 0; m->config->layers[i].ngram && p < m->config->ngram.n_parts; p++)
            bytes += m->layers[i].experts[QR_W_NGRAM_EMBD][p]->bytes;
    return bytes;
}

/* Bytes of weights that one token reads. A head of multi-token prediction reads the output matrix
 * of its model, too. */
static uint64_t token_weight_bytes(const struct quire_model *m)
{
    return m->base ? m->weight_bytes + qr_model_head(m)->bytes : m->weight_bytes - lookup_bytes(m);
}

static uint32_t count_attention_layers(const struct quire_model *m)
{
    uint32_t n = 0;
    for (uint32_t g = 0; g < m->groups.n_kv; g++)
        n += (int32_t)g == m->cross_group || (int32_t)g == m->index_group ||
                     (int32_t)g == m->compress_group
                 ? 0
                 : m->groups.kv[g].n_layers;
    return n;
}

quire_status quire_model_get_info(const struct quire_model *model, struct quire_model_info *info)
{
    if (!qr_handle_is(model, QR_KIND_MODEL) || !info)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(
        qr_struct_check_out(info, QR_SIZE_TO(struct quire_model_info, pack_cached), "info", NULL));
    const struct qr_model_config *c = model->config;
    const struct qr_sampling_defaults *s = &c->sampling;
    const struct qr_stack encoder = qr_model_encoder_stack(model);
    const struct quire_model_info facts = {
        .arch = c->arch,
        .name = c->name,
        .n_layers = c->n_layers,
        .hidden_size = c->hidden_size,
        .n_heads = c->max_heads,
        .n_kv_heads = c->max_kv_heads,
        .head_size = c->head_dim,
        .vocab_size = c->vocab_size,
        .context_length = c->context_length,
        .weight_bytes = model->weight_bytes,
        .token_weight_bytes = token_weight_bytes(model),
        .n_parameters = model->n_parameters,
        .bos_id = c->bos_id,
        .pad_id = c->pad_id,
        .n_eos = c->n_eos,
        .eos_ids = c->eos_ids,
        .isa = model->kernels->level,
        .weight_type = main_weight_type(model),
        .compute = model->compute,
        .linear = model->onednn ? QUIRE_LINEAR_ONEDNN : QUIRE_LINEAR_QUIRE,
        .temperature = s->has_temperature ? s->temperature : (s->greedy ? 0 : NAN),
        .top_p = s->has_top_p ? s->top_p : NAN,
        .min_p = s->has_min_p ? s->min_p : NAN,
        .repetition_penalty = s->has_repetition_penalty ? s->repetition_penalty : NAN,
        .top_k = s->has_top_k ? (int32_t)s->top_k : -1,
        .kind = (enum quire_model_kind)c->kind,
        .n_encoder_layers = encoder.end - encoder.first,
        .cross_group = model->cross_group,
        .decoder_start_id = c->decoder_start_id,
        .n_token_types = c->n_token_types,
        .has_logits = !c->no_lm_head,
        .has_pooler = model->global.mat[QR_W_POOLER] != NULL,
        .pooling = (enum quire_pooling)c->pooling,
        .pack_cached = model->pack_cache.bytes != 0,
        .fingerprint = model->fingerprint,
        .n_labels = c->n_labels,
        .sigmoid_scores = c->sigmoid_scores,
        .n_recurrent_layers = model->n_recurrent,
        .n_attention_layers = count_attention_layers(model),
        .state_bytes = model->state_bytes,
        .needs_token_ids = qr_model_needs_ids(c),
        .is_mtp = c->mtp.in_use,
    };
    qr_struct_write(info, &facts, sizeof facts);
    return QUIRE_OK;
}

quire_status quire_model_kv_groups(const struct quire_model *model,
                                   struct quire_kv_group_config *groups, uint32_t capacity,
                                   uint32_t *n_groups)
{
    if (!qr_handle_is(model, QR_KIND_MODEL) || !n_groups || (!groups && capacity))
        return QUIRE_E_INVALID_ARG;
    *n_groups = model->groups.n_kv;
    if (!capacity)
        return QUIRE_OK;
    if (capacity < model->groups.n_kv)
        return QUIRE_E_LIMIT;
    memcpy(groups, model->groups.kv, model->groups.n_kv * sizeof *groups);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_model_info)
