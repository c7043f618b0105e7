/* SPDX-License-Identifier: Apache-2.0 */
/* mtp.c - the configuration of heads of multi-token prediction: a layer with attention each. */
#include "model/config/mtp.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"

/* Number of heads that the file has at most. Without their number in the file, the tensors tell it
 * (load/mtp_tensors.h). */
static uint32_t count_heads(const struct qr_model_config *cfg, const struct qr_arch *arch)
{
    if (arch->mtp_heads == QR_MTP_HEADS_FIRST)
        return 1;
    return cfg->n_mtp_layers && cfg->n_mtp_layers < QR_MTP_MAX_HEADS ? cfg->n_mtp_layers
                                                                     : QR_MTP_MAX_HEADS;
}

/* The last layer of the model that a head's layer is like; NULL: there is none. */
static const struct qr_layer_config *find_model_layer(const struct qr_model_config *cfg,
                                                      const struct qr_arch *arch)
{
    for (uint32_t i = cfg->n_layers; i-- > 0;)
        if (cfg->layers[i].mixer == QR_MIXER_ATTENTION &&
            (!arch->mtp_window || cfg->layers[i].window))
            return &cfg->layers[i];
    return NULL;
}

/* Gives the configuration n layers, all like `layer`. */
static quire_status set_layers(struct qr_model_config *cfg, uint32_t n,
                               const struct qr_layer_config *layer, struct quire_error *err)
{
    struct qr_layer_config *layers =
        n > cfg->n_layers ? qr_arena_alloc(&cfg->memory, n, sizeof *layers) : cfg->layers;
    if (!layers)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u heads", n);
    for (uint32_t i = 0; i < n; i++) {
        layers[i] = *layer;
        layers[i].kv_source = i;
    }
    cfg->layers = layers;
    cfg->n_layers = n;
    return QUIRE_OK;
}

quire_status qr_model_config_select_mtp(struct qr_model_config *cfg, const struct qr_arch *arch,
                                        bool gguf, struct quire_error *err)
{
    const bool behind = gguf || !arch->hf_mtp_layers;
    if (!(gguf ? arch->gguf_mtp_names : arch->hf_mtp_names))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "quire knows no heads of multi-token prediction of family %s", cfg->arch);
    if (behind && cfg->n_mtp_layers == 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "the model has no head of multi-token prediction: %s is 0 or missing",
                       gguf ? "nextn_predict_layers" : "num_nextn_predict_layers");
    const struct qr_layer_config *like = find_model_layer(cfg, arch);
    if (!like)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "family %s: no layer has attention alone%s",
                       cfg->arch, arch->mtp_window ? " and a window" : "");
    const bool pair = arch->mtp_layer_pairs,
               moe = pair ? cfg->moe.n_experts > 0 : cfg->layers[cfg->n_layers - 1].moe;
    struct qr_layer_config layer = *like;
    layer.moe = moe && !arch->mtp_window;
    layer.no_ffn = layer.no_ffn && !pair;
    if (arch->mtp_full_rope)
        layer.window = layer.rope = 0;
    if (arch->layer_limits)
        layer.ffn_limit = layer.expert_limit = 0;
    cfg->mtp = (struct qr_mtp_config){ .kind = QR_MTP_LAYER,
                                       .hidden_first = arch->mtp_hidden_first,
                                       .heads = arch->mtp_heads,
                                       .layer = behind ? cfg->n_layers : 0 };
    QR_TRY(set_layers(cfg, count_heads(cfg, arch), &layer, err));
    cfg->n_mtp_layers = 0;
    cfg->recurrent.kind = QR_RECURRENT_NONE;
    return QUIRE_OK;
}

/* A window of keys of the model contains the head's own position, for which there is no key. */
quire_status qr_mtp_config_check(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_mtp_config *m = &c->mtp;
    if (m->kind == QR_MTP_NONE || m->kind == QR_MTP_LAYER)
        return QUIRE_OK;
    if (m->base_size == 0 || m->base_size > QR_CONFIG_MAX_HIDDEN)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: hidden size of the head's model is %u, 1 to %d are allowed",
                       m->base_size, QR_CONFIG_MAX_HIDDEN);
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (c->layers[i].kv_source == QR_KV_OF_BASE && c->layers[i].window == 1)
            return qr_fail(err, QUIRE_E_FORMAT, "model config: a window of 1 in a head's layer %u",
                           i);
    if (m->kind == QR_MTP_BLOCK && (m->block_size < 2 || m->block_size > c->context_length))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: blocks of %u tokens, 2 to the context length of %u are "
                       "allowed",
                       m->block_size, c->context_length);
    if (m->kind == QR_MTP_BLOCK && m->mask_token >= c->vocab_size)
        return qr_fail(err, QUIRE_E_FORMAT, "model config: the mask token %u is not below %u",
                       m->mask_token, c->vocab_size);
    if (m->markov_rank > QR_CONFIG_MAX_HIDDEN)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: a Markov head of rank %u, up to %d is allowed",
                       m->markov_rank, QR_CONFIG_MAX_HIDDEN);
    if (m->markov_rank && !m->select_top && c->logit_scale != 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "model config: a Markov head and logits with a factor of %g",
                       (double)c->logit_scale);
    if (m->select_top > QR_MTP_MAX_SELECT || m->select_top > c->vocab_size ||
        (m->select_top && (m->n_outputs || !m->markov_rank)))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "model config: a selector of rank %u among %u tokens, of %u outputs",
                       m->markov_rank, m->select_top, m->n_outputs ? m->n_outputs : c->vocab_size);
    if (m->conv_taps > m->block_size || (m->conv_taps && !m->conv_group) ||
        (m->conv_group && c->hidden_size % m->conv_group))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: convolutions of %u taps over blocks of %u rows, %u elements "
                       "in groups of %u",
                       m->conv_taps, m->block_size, c->hidden_size, m->conv_group);
    if (m->confidence_markov && !m->markov_rank)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: the confidence reads a Markov head, and there is none");
    if (m->n_outputs > c->vocab_size)
        return qr_fail(err, QUIRE_E_FORMAT, "model config: outputs for %u of %u tokens",
                       m->n_outputs, c->vocab_size);
    if (m->n_clusters &&
        (c->vocab_size % m->n_clusters != 0 || !m->top_clusters || m->top_clusters > m->n_clusters))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u of %u clusters in a vocabulary of %u tokens",
                       m->top_clusters, m->n_clusters, c->vocab_size);
    return QUIRE_OK;
}
