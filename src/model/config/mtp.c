/* SPDX-License-Identifier: Apache-2.0 */
/* mtp.c - the configuration of a head of multi-token prediction: one layer with attention. */
#include "model/config/mtp.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"

quire_status qr_model_config_select_mtp(struct qr_model_config *cfg, const struct qr_arch *arch,
                                        bool gguf, struct quire_error *err)
{
    const bool behind = gguf || !arch->hf_mtp_layers;
    uint32_t last = cfg->n_layers;
    if (!(gguf ? arch->gguf_mtp_names : arch->hf_mtp_names))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "quire knows no heads of multi-token prediction of family %s", cfg->arch);
    if (behind && cfg->n_mtp_layers == 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "the model has no head of multi-token prediction: %s is 0 or missing",
                       gguf ? "nextn_predict_layers" : "num_nextn_predict_layers");
    while (last > 0 && cfg->layers[last - 1].mixer != QR_MIXER_ATTENTION)
        last--;
    if (last == 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "family %s: no layer has attention alone",
                       cfg->arch);
    const bool pair = arch->mtp_layer_pairs,
               moe = pair ? cfg->moe.n_experts > 0 : cfg->layers[cfg->n_layers - 1].moe;
    cfg->layers[0] = cfg->layers[last - 1];
    cfg->layers[0].moe = moe;
    cfg->layers[0].no_ffn = cfg->layers[0].no_ffn && !pair;
    cfg->layers[0].kv_source = 0;
    if (arch->mtp_full_rope)
        cfg->layers[0].window = cfg->layers[0].rope = 0;
    cfg->mtp = (struct qr_mtp_config){ .kind = QR_MTP_LAYER,
                                       .hidden_first = arch->mtp_hidden_first,
                                       .layer = behind ? cfg->n_layers : 0 };
    cfg->n_layers = 1;
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
