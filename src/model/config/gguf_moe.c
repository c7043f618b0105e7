/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_moe.c - mixture of experts in GGUF metadata: sizes, routing, MoE layers. */
#include "model/config/gguf_moe.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/limits.h"

static quire_status read_sizes(const struct qr_gguf_source *s)
{
    struct qr_moe_config *m = &s->cfg->moe;
    QR_TRY(qr_gguf_source_u32(s, "expert_used_count", &m->top_k));
    if (s->arch->gguf_moe_step)
        QR_TRY(qr_gguf_source_u32(s, "expert_feed_forward_length", &m->ffn_size));
    else
        QR_TRY(qr_gguf_source_u32_or(s, "expert_feed_forward_length", s->cfg->layers[0].ffn_size,
                                     &m->ffn_size));
    QR_TRY(qr_gguf_source_u32_or(s, "expert_shared_count", m->n_shared, &m->n_shared));
    if (s->arch->latent_experts)
        QR_TRY(qr_gguf_source_u32_or(s, "moe_latent_size", 0, &m->latent_size));
    if (m->n_shared > QR_CONFIG_MAX_EXPERTS || m->ffn_size > QR_CONFIG_MAX_FFN)
        return qr_fail(s->err, QUIRE_E_FORMAT, "%s: %u shared experts of size %u", s->prefix,
                       m->n_shared, m->ffn_size);
    const uint64_t all = (uint64_t)m->n_shared * m->ffn_size;
    QR_TRY(qr_gguf_source_u32_or(s, "expert_shared_feed_forward_length",
                                 all > UINT32_MAX ? UINT32_MAX : (uint32_t)all,
                                 &m->shared_ffn_size));
    m->n_shared = m->shared_ffn_size && !m->n_shared ? 1 : m->n_shared;
    m->shared_gate = m->shared_gate && m->shared_ffn_size;
    m->average_shared = m->average_shared && m->shared_ffn_size;
    return QUIRE_OK;
}

/* Groups of experts that share an adjugate expert; the reference implementation fixes the values
 * that converters store. */
static quire_status read_adjugate(const struct qr_gguf_source *s)
{
    struct qr_moe_config *m = &s->cfg->moe;
    if (!m->adjugate_group)
        return QUIRE_OK;
    QR_TRY(qr_gguf_source_u32_or(s, "experts_per_group", m->adjugate_group, &m->adjugate_group));
    QR_TRY(qr_gguf_source_u32_or(s, "expert_chunk_feed_forward_length", m->adjugate_ffn_size,
                                 &m->adjugate_ffn_size));
    if (m->adjugate_group == 0)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s.experts_per_group is 0", s->prefix);
    return qr_gguf_source_f32_or(s, "expert_group_scale", m->adjugate_scale, &m->adjugate_scale);
}

static quire_status read_routing(const struct qr_gguf_source *s)
{
    struct qr_moe_config *m = &s->cfg->moe;
    uint32_t gating = 0;
    QR_TRY(qr_gguf_source_bool_or(s, "expert_weights_norm", m->renormalize, &m->renormalize));
    QR_TRY(qr_gguf_source_f32_or(s, "expert_weights_scale", 1, &m->weights_scale));
    if (m->weights_scale == 0) /* some writers store 0 for the default */
        m->weights_scale = 1;
    QR_TRY(qr_gguf_source_u32_or(s, "expert_gating_func", 0, &gating));
    switch (gating) {
    case 0: /* the family defines it */
        break;
    case 1: /* normalized over the selected experts it is the family's */
        m->gating =
            m->gating == QR_GATING_SOFTMAX_TOPK ? QR_GATING_SOFTMAX_TOPK : QR_GATING_SOFTMAX;
        break;
    case 2:
        m->gating = QR_GATING_SIGMOID;
        break;
    case 3:
        m->gating = QR_GATING_SOFTMAX_TOPK;
        break;
    case 4:
        m->gating = QR_GATING_SQRT_SOFTPLUS;
        break;
    default:
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED, "%s.expert_gating_func %u is not supported",
                       s->prefix, gating);
    }
    if (m->gating == QR_GATING_SPARSEMIXER) /* the files have no key for the jitter, 0.01 */
        m->sparsemixer_margin = 0.02f;
    QR_TRY(qr_gguf_source_u32_or(s, "expert_group_count", 1, &m->n_groups));
    return qr_gguf_source_u32_or(s, "expert_group_used_count", m->n_groups, &m->topk_groups);
}

/* Compares the MoE layers with the key that says which layers these are: the last of each `step`
 * layers, or the second. */
static quire_status check_step(const struct qr_gguf_source *s, const char *key, bool last)
{
    uint32_t step;
    QR_TRY(qr_gguf_source_u32(s, key, &step));
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        const bool moe = step && i % step == (last ? step - 1 : 1);
        if (moe != s->cfg->layers[i].moe)
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "metadata key %s.%s %u says that layer %u %s experts, its tensors do "
                           "not",
                           s->prefix, key, step, i, moe ? "has" : "has no");
    }
    return QUIRE_OK;
}

/* A layer with a router is an MoE layer; the others are dense. */
quire_status qr_gguf_read_moe(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    QR_TRY(qr_gguf_source_u32_or(s, "expert_count", 0, &cfg->moe.n_experts));
    if (!cfg->moe.n_experts)
        return QUIRE_OK;
    if (!s->arch->has_moe)
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                       "%s.expert_count is %u, but family %s has no experts", s->prefix,
                       cfg->moe.n_experts, s->arch->name);
    QR_TRY(read_sizes(s));
    QR_TRY(read_adjugate(s));
    QR_TRY(read_routing(s));
    uint32_t first = 0;
    bool any = false, corrected = false;
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        cfg->layers[i].moe = qr_gguf_source_has_role(s, QR_W_ROUTER, i);
        first = cfg->layers[i].moe && !any ? i : first;
        any = any || cfg->layers[i].moe;
        corrected = corrected || qr_gguf_source_has_role(s, QR_W_ROUTER_CORRECTION, i);
    }
    if (!any)
        return qr_fail(s->err, QUIRE_E_FORMAT, "%s.expert_count is %u, but no layer has a router",
                       s->prefix, cfg->moe.n_experts);
    qr_model_config_set_beside(cfg, s->arch);
    cfg->moe.router_bias = qr_gguf_source_has_role(s, QR_W_ROUTER_BIAS, first);
    cfg->moe.correction = corrected;
    cfg->moe.expert_bias = qr_gguf_source_has_role(s, QR_W_EXPERT_UP_BIAS, first);
    cfg->moe.sum_bias = qr_gguf_source_has_role(s, QR_W_EXPERT_SUM_BIAS, first);
    cfg->moe.group_top2 = cfg->moe.correction;
    if (s->arch->rope_in_dense_lead)
        qr_model_config_rope_dense_lead(cfg);
    if (cfg->moe.n_experts == s->arch->gguf_no_qk_norm_experts)
        cfg->qk_norm = QR_QK_NORM_NONE;
    if (s->arch->gguf_moe_every)
        return check_step(s, "moe_every_n_layers", false);
    return s->arch->gguf_moe_step ? check_step(s, "interleave_moe_layer_step", true) : QUIRE_OK;
}
