/* SPDX-License-Identifier: Apache-2.0 */
/* role_presence.c - the roles that a model configuration implies. */
#include "model/load/role_presence.h"
#include "model/load/role_presence_global.h"
#include "model/load/role_presence_recurrent.h"
#include "model/load/weight_roles.h"

static enum qr_presence required_if(bool condition) { return condition ? QR_REQUIRED : QR_ABSENT; }

/* Norms of the input and output of a sublayer depend on the kind of block. */
static enum qr_presence norm_presence(const struct qr_model_config *c, enum qr_weight_role role,
                                      const struct qr_layer_config *l)
{
    const enum qr_block_kind block = qr_layer_block(c, l);
    const bool output = block == QR_BLOCK_SANDWICH_NORM || block == QR_BLOCK_OUTPUT_NORM ||
                        block == QR_BLOCK_POST_NORM;
    const bool input = qr_block_norms_input(block);
    const bool encoder = c->n_encoder_layers != 0, cross = encoder && !l->encoder;
    switch (role) {
    case QR_W_ATTN_NORM:
    case QR_W_ATTN_NORM_BIAS:
        return required_if(input && !l->skip_attn_norm && l->mixer != QR_MIXER_NONE);
    case QR_W_CROSS_NORM:
    case QR_W_CROSS_NORM_BIAS:
        return required_if(input && cross);
    case QR_W_CROSS_POST_NORM:
    case QR_W_CROSS_POST_NORM_BIAS:
        return required_if(output && cross);
    case QR_W_FFN_NORM:
    case QR_W_FFN_NORM_BIAS:
        return required_if(input && block != QR_BLOCK_PARALLEL && !l->no_ffn);
    case QR_W_EMBD_NORM:
    case QR_W_EMBD_NORM_BIAS:
        return required_if(c->embedding_norm && !c->embedding_norm_plain);
    case QR_W_ENC_EMBD_NORM:
    case QR_W_ENC_EMBD_NORM_BIAS:
        return required_if(encoder && c->embedding_norm);
    case QR_W_OUTPUT_NORM:
    case QR_W_OUTPUT_NORM_BIAS:
        return required_if(qr_model_has_final_norm(c));
    case QR_W_ENC_OUTPUT_NORM:
    case QR_W_ENC_OUTPUT_NORM_BIAS:
        return required_if(encoder && qr_model_has_final_norm(c));
    case QR_W_FFN_POST_NORM:
    case QR_W_FFN_POST_NORM_BIAS:
        return required_if(output && !l->no_ffn);
    default:
        return required_if(output && l->mixer != QR_MIXER_NONE);
    }
}

/* The feed-forward network of a layer is dense, a mixture of experts, or both. */
static enum qr_presence ffn_presence(const struct qr_model_config *c, enum qr_weight_role role,
                                     const struct qr_layer_config *l)
{
    const struct qr_moe_config *m = &c->moe;
    const bool moe = l->moe, dense = qr_layer_has_dense(c, l);
    switch (role) {
    case QR_W_FFN_GATE:
        return required_if(dense && c->ffn_gated);
    case QR_W_FFN_GATE_BIAS:
        return required_if(dense && c->ffn_gated && c->bias.ffn_in);
    case QR_W_FFN_UP:
    case QR_W_FFN_DOWN:
        return required_if(dense);
    case QR_W_FFN_UP_BIAS:
        return required_if(dense && c->bias.ffn_in);
    case QR_W_FFN_DOWN_BIAS:
        return required_if(dense && c->bias.ffn_down);
    case QR_W_FFN_SUB_NORM:
        return required_if(dense && c->sub_norms);
    case QR_W_FFN_MIX_UP:
        return required_if(qr_recurrent_shifts_ffn(&c->recurrent));
    case QR_W_FFN_Z:
    case QR_W_FFN_MIX_Z:
        return required_if(qr_recurrent_shifts_ffn(&c->recurrent) &&
                           c->recurrent.kind != QR_RECURRENT_WKV7);
    case QR_W_FFN_XIELU_P:
    case QR_W_FFN_XIELU_N:
    case QR_W_FFN_XIELU_BETA:
    case QR_W_FFN_XIELU_EPS:
        return required_if(c->activation == QR_ACT_XIELU && !c->xielu_in_layers);
    case QR_W_ROUTER_BIAS:
        return required_if(moe && m->router_bias);
    case QR_W_ROUTER_TABLE:
        return required_if(moe && l->token_experts);
    case QR_W_ROUTER_CORRECTION:
        return required_if(moe && m->correction && !l->token_experts);
    case QR_W_EXPERT_GATE:
        return required_if(moe && c->ffn_gated);
    case QR_W_EXPERT_GATE_BIAS:
        return required_if(moe && c->ffn_gated && m->expert_bias);
    case QR_W_EXPERT_UP_BIAS:
    case QR_W_EXPERT_DOWN_BIAS:
        return required_if(moe && m->expert_bias);
    case QR_W_ADJUGATE_GATE:
    case QR_W_ADJUGATE_UP:
    case QR_W_ADJUGATE_DOWN:
        return required_if(moe && m->adjugate_group);
    case QR_W_EXPERT_LATENT_IN:
    case QR_W_EXPERT_LATENT_OUT:
        return required_if(moe && m->latent_size);
    case QR_W_EXPERT_SUM_BIAS:
        return required_if(moe && m->sum_bias);
    case QR_W_SHARED_GATE:
        return required_if(moe && m->shared_ffn_size && c->ffn_gated);
    case QR_W_SHARED_UP:
    case QR_W_SHARED_DOWN:
        return required_if(moe && m->shared_ffn_size);
    case QR_W_SHARED_ROUTER:
        return required_if(moe && m->shared_gate);
    case QR_W_ROUTER_SCALE:
        return required_if(moe && m->router_norm);
    case QR_W_EXPERT_SCALE:
        return required_if(moe && m->expert_scale);
    case QR_W_EXPERT_NORM:
        return required_if(moe && m->beside_dense);
    case QR_W_EXPERT_POST_NORM:
    case QR_W_FFN_DENSE_POST_NORM:
        return required_if(moe && m->beside_dense && !m->beside_plain);
    case QR_W_ROUTER_IN:
    case QR_W_ROUTER_IN_BIAS:
    case QR_W_ROUTER_NORM:
    case QR_W_ROUTER_FC1:
    case QR_W_ROUTER_FC1_BIAS:
    case QR_W_ROUTER_FC2:
    case QR_W_ROUTER_FC2_BIAS:
        return required_if(moe && m->router_hidden);
    case QR_W_ROUTER_CARRY:
        return required_if(moe && m->router_hidden && l != c->layers);
    default: /* router, experts */
        return required_if(moe);
    }
}

static bool is_ffn_weight(enum qr_weight_role role)
{
    return (role >= QR_W_FFN_GATE && role <= QR_W_FFN_XIELU_EPS) ||
           (role >= QR_W_ROUTER && role <= QR_W_FFN_LAST);
}

/* MLA has low-rank projections of keys and values, and in some models of queries. */
static enum qr_presence latent_presence(const struct qr_mla_config *m, enum qr_weight_role role)
{
    switch (role) {
    case QR_W_LATENT_Q_A:
    case QR_W_LATENT_Q_NORM:
        return required_if(m->q_lora_rank != 0);
    case QR_W_LATENT_UK_ROWS:
        return required_if(m->expand);
    default:
        return required_if(m->kv_lora_rank != 0);
    }
}

static enum qr_presence index_presence(const struct qr_index_config *c, enum qr_weight_role role)
{
    switch (role) {
    case QR_W_INDEX_K:
        return required_if(!c->pooled);
    case QR_W_INDEX_COMPRESS_KV:
    case QR_W_INDEX_COMPRESS_GATE:
    case QR_W_INDEX_COMPRESS_BIAS:
        return required_if(c->pooled);
    case QR_W_INDEX_Q_NORM:
        return required_if(c->q_norm);
    case QR_W_INDEX_K_NORM_BIAS:
        return required_if(c->layer_norm);
    case QR_W_INDEX_WEIGHTS:
        return required_if(c->weighted && !c->unit_weights);
    default:
        return QR_REQUIRED;
    }
}

/* Layers with a shared block. */
static enum qr_presence block_presence(const struct qr_model_config *c, enum qr_weight_role role)
{
    const bool attention = role >= QR_W_LOW_RANK_Q_A && role <= QR_W_LOW_RANK_V_B;
    return required_if(!attention || c->shared_block.attention_low_rank);
}

/* Convolutional attention, and vectors of residuals. */
static enum qr_presence conv_attention_presence(const struct qr_model_config *c,
                                                enum qr_weight_role role)
{
    switch (role) {
    case QR_W_ATTN_RESIDUAL_SHIFT:
    case QR_W_ATTN_OUT_SCALE:
    case QR_W_ATTN_OUT_SHIFT:
        return required_if(c->residual_affine);
    case QR_W_ATTN_V_DELAYED_BIAS:
        return required_if(c->conv_attention.channel_taps && c->bias.v);
    case QR_W_ATTN_K_SCALE:
        return required_if(c->qk_norm == QR_QK_NORM_UNIT);
    default:
        return required_if(c->conv_attention.channel_taps != 0);
    }
}

/* Whether a role belongs to the attention of a layer, and is absent where it has none. */
static bool is_attention_weight(enum qr_weight_role role)
{
    return role >= QR_W_ATTN_Q && role <= QR_W_INDEX_LAST && role != QR_W_ATTN_POST_NORM &&
           role != QR_W_ATTN_POST_NORM_BIAS;
}

/* Weights of keys and values, which layers that read those of another layer lack; values may be
 * keys. */
static bool is_absent_kv(const struct qr_layer_config *l, enum qr_weight_role role, uint32_t layer)
{
    switch (role) {
    case QR_W_ATTN_V:
    case QR_W_ATTN_V_BIAS:
        return l->v_is_k || l->kv_source != layer;
    case QR_W_ATTN_K:
    case QR_W_ATTN_K_BIAS:
    case QR_W_ATTN_K_NORM:
    case QR_W_ATTN_K_NORMS:
        return l->kv_source != layer;
    default:
        return false;
    }
}

/* Per-layer embeddings, factors of layers, LAuReL and AltUp. */
static enum qr_presence layer_end_presence(const struct qr_model_config *c,
                                           enum qr_weight_role role)
{
    switch (role) {
    case QR_W_LAYER_SCALE:
        return required_if(c->layer_scale);
    case QR_W_QUERY_GAIN:
    case QR_W_ATTN_GAIN:
    case QR_W_FFN_GAIN:
    case QR_W_EMBD_GAIN:
        return required_if(c->gains);
    case QR_W_LAUREL_LEFT:
    case QR_W_LAUREL_RIGHT:
    case QR_W_LAUREL_POST_NORM:
        return required_if(c->laurel_rank != 0);
    case QR_W_ALTUP_SCALE: /* files have it without effect, too */
        return !c->altup.n_streams ? QR_ABSENT : c->altup.correct_scale ? QR_REQUIRED : QR_OPTIONAL;
    case QR_W_ALTUP_PROJ:
    case QR_W_ALTUP_UNEMBED:
    case QR_W_ALTUP_ROUTER:
    case QR_W_ALTUP_ROUTER_NORM:
    case QR_W_ALTUP_PREDICT:
    case QR_W_ALTUP_CORRECT:
        return required_if(c->altup.n_streams != 0);
    default:
        return required_if(c->ple.dim != 0);
    }
}

/* Hyper-connections and embeddings of n-grams. */
static enum qr_presence stream_presence(const struct qr_model_config *c, enum qr_weight_role role,
                                        const struct qr_layer_config *l)
{
    if (role >= QR_W_NGRAM_EMBD && role <= QR_W_NGRAM_CONV)
        return required_if(l->ngram != 0);
    switch (role) {
    case QR_W_HYPER_OUT_MIX:
    case QR_W_HYPER_OUT_BASE:
    case QR_W_HYPER_OUT_SCALE:
    case QR_W_HYPER_ATTN_MIX:
    case QR_W_HYPER_ATTN_BASE:
    case QR_W_HYPER_ATTN_SCALE:
    case QR_W_HYPER_FFN_MIX:
    case QR_W_HYPER_FFN_BASE:
    case QR_W_HYPER_FFN_SCALE:
        return required_if(c->hyper.kind == QR_HYPER_SINKHORN);
    default:
        return required_if(c->hyper.kind == QR_HYPER_GATED);
    }
}

/* Projections of self attention and cross attention, which have the same biases. */
static enum qr_presence projection_presence(const struct qr_model_config *c,
                                            enum qr_weight_role role)
{
    switch (role) {
    case QR_W_ATTN_Q_BIAS:
    case QR_W_CROSS_Q_BIAS:
        return required_if(c->bias.q);
    case QR_W_ATTN_K_BIAS:
    case QR_W_CROSS_K_BIAS:
        return required_if(c->bias.k);
    case QR_W_ATTN_V_BIAS:
    case QR_W_CROSS_V_BIAS:
        return required_if(c->bias.v);
    case QR_W_ATTN_O_BIAS:
    case QR_W_CROSS_O_BIAS:
        return required_if(c->bias.o);
    default:
        return QR_REQUIRED;
    }
}

/* Whether a head of multi-token prediction takes a role from its model. */
static bool is_of_mtp_base(enum qr_weight_role role)
{
    return role == QR_W_TOKEN_EMBD || role == QR_W_OUTPUT || role == QR_W_OUTPUT_BIAS ||
           role == QR_W_POS_EMBD;
}

/* Whether the input of a head of multi-token prediction has a role. */
static bool has_mtp_input(const struct qr_mtp_config *m, enum qr_weight_role role)
{
    switch (role) {
    case QR_W_MTP_EMBD_NORM:
        return m->kind == QR_MTP_LAYER || m->kind == QR_MTP_FEATURES;
    case QR_W_MTP_HIDDEN_NORM:
        return m->kind != QR_MTP_SHARED_KV;
    case QR_W_MTP_INPUT_NORM:
        return m->norm_input;
    default:
        return true;
    }
}

/* The roles of one of several heads of multi-token prediction. */
static enum qr_presence head_presence(enum qr_weight_role role)
{
    return role == QR_W_MTP_OUTPUT       ? QR_OPTIONAL
           : role == QR_W_MTP_INPUT_NORM ? QR_ABSENT
                                         : QR_REQUIRED;
}

enum qr_presence qr_role_presence(const struct qr_model_config *c, enum qr_weight_role role,
                                  uint32_t layer)
{
    const struct qr_layer_config *l = &c->layers[role < QR_W_FIRST_LAYER_ROLE ? 0 : layer];
    if (role >= QR_W_MTP_EMBD_NORM && role <= QR_W_MTP_OUTPUT && c->mtp.heads)
        return head_presence(role);
    if (role == QR_W_MTP_NORM || role == QR_W_MTP_OUTPUT ||
        (role == QR_W_OUTPUT_NORM && c->mtp.heads)) /* MTP_NORM takes its place */
        return QR_ABSENT;
    if (role >= QR_W_MTP_EMBD_NORM && role <= QR_W_MTP_PROJ)
        return required_if(c->mtp.kind && layer == 0 && has_mtp_input(&c->mtp, role));
    if (role >= QR_W_MTP_ATTN_CONV && role <= QR_W_MTP_FFN_CONV_PROJ)
        return required_if(c->mtp.conv_taps != 0);
    if (c->mtp.kind == QR_MTP_LAYER && is_of_mtp_base(role))
        return QR_ABSENT;
    if (is_ffn_weight(role))
        return l->no_ffn ? QR_ABSENT : ffn_presence(c, role, l);
    if (qr_role_is_dense(role)) {
        const uint32_t i = (uint32_t)(role - QR_W_DENSE_0) % QR_MAX_DENSE;
        return required_if(i < c->n_dense && (role <= QR_W_DENSE_3 || c->dense[i].bias));
    }
    if (role >= QR_W_HYPER_ATTN_NORM ||
        (role >= QR_W_HYPER_OUT_NORM && role <= QR_W_HYPER_OUT_SCALE))
        return stream_presence(c, role, l);
    if (role >= QR_W_PLE_GATE || (role >= QR_W_PLE_EMBD && role <= QR_W_ALTUP_UNEMBED))
        return layer_end_presence(c, role);
    if (role >= QR_W_REC_Q && role <= QR_W_REC_LAST)
        return !qr_layer_recurs(l) ? QR_ABSENT
                                   : qr_recurrent_role_presence(&c->recurrent, role, layer == 0);
    if (role >= QR_W_BLOCK_NORM && role <= QR_W_LOW_RANK_LAST)
        return l->mixer == QR_MIXER_SHARED_BLOCK ? block_presence(c, role) : QR_ABSENT;
    if (is_attention_weight(role) && (!qr_layer_attends(l) || is_absent_kv(l, role, layer)))
        return QR_ABSENT;
    const bool weights = c->norm != QR_NORM_LAYER_PLAIN && c->norm != QR_NORM_RMS_PLAIN;
    const bool shared_kv = c->shared_kv.o_groups != 0;
    const bool qk = c->qk_norm == QR_QK_NORM_HEAD || c->qk_norm == QR_QK_NORM_FULL;
    if (role >= QR_W_LATENT_Q_A && role <= QR_W_LATENT_UV)
        return latent_presence(&c->mla, role);
    if (role >= QR_W_COMPRESS_KV && role <= QR_W_COMPRESS_NORM)
        return required_if(l->compress_rate != 0);
    if (role >= QR_W_INDEX_Q && role <= QR_W_INDEX_LAST)
        return l->index == QR_INDEX_OWN ? index_presence(&c->index, role) : QR_ABSENT;
    if (role >= QR_W_ATTN_LAMBDA_Q1 && role <= QR_W_ATTN_LAMBDA_K2)
        return required_if(c->differential);
    if (role >= QR_W_FFN_RESIDUAL_SHIFT && role <= QR_W_FFN_OUT_SHIFT)
        return required_if(c->residual_affine);
    if (role >= QR_W_ATTN_RESIDUAL_SHIFT && role <= QR_W_ATTN_K_SCALE)
        return conv_attention_presence(c, role);
    switch (role) {
    case QR_W_ATTN_K:
    case QR_W_ATTN_V:
        return required_if(c->mla.kv_lora_rank == 0 && !(shared_kv && role == QR_W_ATTN_V));
    case QR_W_ATTN_O_A:
        return required_if(shared_kv);
    case QR_W_ATTN_K_NORM:
        return required_if(qk || shared_kv);
    case QR_W_ATTN_Q_NORM:
        return required_if(qk);
    case QR_W_ATTN_Q_NORM_BIAS:
    case QR_W_ATTN_K_NORM_BIAS:
        return required_if(qk && c->qk_norm_bias);
    case QR_W_ATTN_POST_NORM_2:
    case QR_W_ATTN_POST_NORM_2_BIAS:
        return required_if(c->second_post_norm);
    case QR_W_ATTN_Q_NORMS:
    case QR_W_ATTN_K_NORMS:
        return required_if(c->qk_norm == QR_QK_NORM_HEADS);
    case QR_W_ATTN_SINKS:
        return required_if(l->sinks);
    case QR_W_ATTN_SUB_NORM:
        return required_if(c->sub_norms);
    case QR_W_ATTN_GATE:
        return required_if(c->attention_gate);
    case QR_W_ATTN_KEY_A:
    case QR_W_ATTN_KEY_DT:
    case QR_W_ATTN_KEY_DT_BIAS:
        return required_if(c->key_bias && (role != QR_W_ATTN_KEY_DT_BIAS || c->bias.k));
    case QR_W_ATTN_RESIDUAL:
    case QR_W_FFN_RESIDUAL:
        return required_if(c->residual_weights);
    case QR_W_ATTN_REL_BIAS:
        return required_if(c->relative_buckets && (layer == 0 || layer == c->n_layers));
    case QR_W_OUTPUT_NORM:
    case QR_W_EMBD_NORM:
    case QR_W_ENC_OUTPUT_NORM:
    case QR_W_ENC_EMBD_NORM:
    case QR_W_ATTN_NORM:
    case QR_W_ATTN_POST_NORM:
    case QR_W_CROSS_NORM:
    case QR_W_CROSS_POST_NORM:
    case QR_W_FFN_NORM:
    case QR_W_FFN_POST_NORM:
        return weights ? norm_presence(c, role, l) : QR_ABSENT;
    case QR_W_OUTPUT_NORM_BIAS:
    case QR_W_EMBD_NORM_BIAS:
    case QR_W_ENC_OUTPUT_NORM_BIAS:
    case QR_W_ENC_EMBD_NORM_BIAS:
    case QR_W_ATTN_NORM_BIAS:
    case QR_W_ATTN_POST_NORM_BIAS:
    case QR_W_CROSS_NORM_BIAS:
    case QR_W_CROSS_POST_NORM_BIAS:
    case QR_W_FFN_NORM_BIAS:
    case QR_W_FFN_POST_NORM_BIAS:
        return weights && c->bias.norm ? norm_presence(c, role, l) : QR_ABSENT;
    default:
        if (role < QR_W_FIRST_LAYER_ROLE)
            return qr_global_role_presence(c, role);
        if (role >= QR_W_CROSS_Q && role <= QR_W_CROSS_O_BIAS &&
            (l->encoder || !c->n_encoder_layers))
            return QR_ABSENT;
        return projection_presence(c, role);
    }
}
