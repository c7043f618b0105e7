/* SPDX-License-Identifier: Apache-2.0 */
/* hf_conv_attention.c - convolutional attention and its router in config.json. */
#include "model/config/hf_conv_attention.h"
#include "base/error.h"
#include "model/arch/arch.h"

quire_status qr_hf_read_conv_attention(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    struct qr_conv_attention_config *a = &cfg->conv_attention;
    if (!h->arch->conv_attention)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32(h, "cca_time0", &a->channel_taps));
    QR_TRY(qr_hf_u32(h, "cca_time1", &a->head_taps));
    QR_TRY(qr_hf_u32(h, "router_hidden_size", &cfg->moe.router_hidden));
    if (a->channel_taps == 0 || a->head_taps == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: cca_time%d is 0",
                       a->channel_taps != 0);
    if (cfg->moe.router_hidden == 0 || cfg->moe.n_experts == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s is 0",
                       cfg->moe.n_experts ? "router_hidden_size" : "num_experts");
    if (cfg->moe.top_k != 1) /* the reference has no rule for more with a class that skips */
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: num_experts_per_tok is %u; only 1 is supported in family %s",
                       cfg->moe.top_k, h->arch->name);
    return QUIRE_OK;
}
