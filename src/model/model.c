/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - describes and closes a model. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "model/groups.h"
#include "model/load/kv_scales.h"
#include "model/open_model.h"
#include <math.h>
#include <string.h>

QR_DEFINE_ZERO_INIT(quire_model_params)

quire_status quire_model_open(const struct quire_model_params *params, struct quire_model **out,
                              struct quire_error *err)
{
    return qr_open_model(params, NULL, out, err);
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
    qr_destroy_model(model);
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
                           *per_layer = m->global.mat[QR_W_PLE_EMBD],
                           *markov = m->global.mat[QR_W_MTP_MARKOV_IN];
    const bool is_head = !m->config->no_lm_head && table == qr_model_head(m);
    uint64_t bytes = (table && !is_head ? table->bytes : 0) + (encoder ? encoder->bytes : 0) +
                     (per_layer ? per_layer->bytes : 0) + (markov ? markov->bytes : 0);
    for (uint32_t i = 0; i < m->config->n_layers; i++)
        for (uint32_t p = 0; m->config->layers[i].ngram && p < m->config->ngram.n_parts; p++)
            bytes += m->layers[i].experts[QR_W_NGRAM_EMBD][p]->bytes;
    return bytes;
}

/* Whether a matrix of a head is its model's. */
static bool is_of_base(const struct quire_model *m, const struct qr_packed *w)
{
    const struct qr_model_layer *of = &m->base->global;
    return w == of->mat[QR_W_OUTPUT] || w == of->mat[QR_W_TOKEN_EMBD];
}

/* Bytes of weights that one token reads. A head of multi-token prediction in the files of its model
 * reads the output matrix of that, too. With clusters of tokens a part of it is read. */
static uint64_t token_weight_bytes(const struct quire_model *m)
{
    const struct qr_mtp_config *mtp = &m->config->mtp;
    if (!m->base)
        return m->weight_bytes - lookup_bytes(m);
    const uint64_t head = qr_model_head(m)->bytes;
    const bool own_table = m->global.mat[QR_W_TOKEN_EMBD] != m->base->global.mat[QR_W_TOKEN_EMBD];
    if (mtp->heads) /* one of them; they have equal shapes */
        return m->weight_bytes / m->config->n_layers +
               (m->layers[0].mat[QR_W_MTP_OUTPUT] ? 0 : head);
    if (mtp->kind == QR_MTP_LAYER)
        return m->weight_bytes + head;
    if (mtp->n_features && is_of_base(m, qr_model_head(m)))
        return m->weight_bytes + head - (own_table ? lookup_bytes(m) : 0);
    if (mtp->n_clusters)
        return m->weight_bytes - head + head * mtp->top_clusters / mtp->n_clusters;
    return m->weight_bytes - (own_table ? lookup_bytes(m) : 0);
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
    struct quire_model_info facts = {
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
        .is_mtp = c->mtp.kind != QR_MTP_NONE,
        .mtp_hidden_size = c->mtp.kind ? (uint32_t)qr_mtp_input_size(c) : 0,
        .mtp_shares_kv = c->mtp.kind == QR_MTP_SHARED_KV,
        .mtp_state_size = c->mtp.kind ? qr_mtp_state_size(c) : 0,
        .n_mtp_features = c->mtp.heads ? 1 : c->mtp.n_features,
        .mtp_block_size = c->mtp.block_size,
        .mtp_mask_token = c->mtp.kind == QR_MTP_BLOCK ? (int32_t)c->mtp.mask_token : -1,
        .n_mtp_heads = !c->mtp.kind   ? 0
                       : c->mtp.heads ? c->n_layers
                                      : 1,
        .mtp_chained = c->mtp.heads == QR_MTP_HEADS_CHAINED,
        .mtp_from_anchor = c->mtp.from_anchor,
        .mtp_markov_rank = c->mtp.markov_rank,
        .mtp_markov_state = c->mtp.select_top != 0,
        .mtp_confidence = model->global.vec[QR_W_MTP_CONFIDENCE] != NULL,
    };
    memcpy(facts.mtp_feature_layers, model->feature_layers, sizeof model->feature_layers);
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
