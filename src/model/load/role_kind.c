/* SPDX-License-Identifier: Apache-2.0 */
/* role_kind.c - what a weight role is: matrix, vector or stack, and whose weight a layer uses. */
#include "model/load/role_kind.h"

bool qr_role_is_matrix(enum qr_weight_role role)
{
    switch (role) {
    case QR_W_TOKEN_EMBD:
    case QR_W_OUTPUT:
    case QR_W_POS_EMBD:
    case QR_W_TYPE_EMBD:
    case QR_W_EMBD_PROJ:
    case QR_W_DISTANCE_EMBD:
    case QR_W_HEAD_DENSE:
    case QR_W_POOLER:
    case QR_W_CLASS_DENSE:
    case QR_W_CLASS_OUT:
    case QR_W_ENC_TOKEN_EMBD:
    case QR_W_ENC_POS_EMBD:
    case QR_W_CROSS_Q:
    case QR_W_CROSS_K:
    case QR_W_CROSS_V:
    case QR_W_CROSS_O:
    case QR_W_ATTN_Q:
    case QR_W_ATTN_K:
    case QR_W_ATTN_V:
    case QR_W_ATTN_O:
    case QR_W_ATTN_GATE:
    case QR_W_ATTN_KEY_DT:
    case QR_W_ATTN_V_DELAYED:
    case QR_W_LATENT_Q_A:
    case QR_W_LATENT_KV_A:
    case QR_W_INDEX_Q:
    case QR_W_INDEX_K:
    case QR_W_INDEX_WEIGHTS:
    case QR_W_REC_Q:
    case QR_W_REC_K:
    case QR_W_REC_V:
    case QR_W_REC_Z:
    case QR_W_REC_Z_A:
    case QR_W_REC_DT:
    case QR_W_REC_DT_A:
    case QR_W_REC_BETA:
    case QR_W_REC_X:
    case QR_W_REC_OUT:
    case QR_W_REC_RATE_A:
    case QR_W_REC_RATE:
    case QR_W_REC_VALUE_A:
    case QR_W_REC_VALUE:
    case QR_W_REC_MIX_A:
    case QR_W_BLOCK_OUT:
    case QR_W_MTP_PROJ:
    case QR_W_MTP_OUTPUT:
    case QR_W_MTP_POST:
    case QR_W_MTP_CENTROIDS:
    case QR_W_MTP_MARKOV_IN:
    case QR_W_MTP_MARKOV_OUT:
    case QR_W_MTP_SELECT:
    case QR_W_MTP_ATTN_CONV_PROJ:
    case QR_W_MTP_FFN_CONV_PROJ:
    case QR_W_FFN_GATE:
    case QR_W_FFN_UP:
    case QR_W_FFN_DOWN:
    case QR_W_FFN_Z:
    case QR_W_ROUTER:
    case QR_W_EXPERT_LATENT_IN:
    case QR_W_EXPERT_LATENT_OUT:
    case QR_W_ROUTER_IN:
    case QR_W_ROUTER_FC1:
    case QR_W_ROUTER_FC2:
    case QR_W_SHARED_ROUTER:
    case QR_W_SHARED_GATE:
    case QR_W_SHARED_UP:
    case QR_W_SHARED_DOWN:
    case QR_W_PLE_EMBD:
    case QR_W_PLE_PROJ:
    case QR_W_PLE_GATE:
    case QR_W_PLE_OUT:
    case QR_W_LAUREL_LEFT:
    case QR_W_LAUREL_RIGHT:
    case QR_W_HYPER_OUT_DOWN:
    case QR_W_HYPER_OUT_UP:
    case QR_W_HYPER_OUT_MIX:
    case QR_W_HYPER_ATTN_MIX:
    case QR_W_HYPER_FFN_MIX:
    case QR_W_COMPRESS_KV:
    case QR_W_COMPRESS_GATE:
    case QR_W_INDEX_COMPRESS_KV:
    case QR_W_INDEX_COMPRESS_GATE:
    case QR_W_HYPER_ATTN_DOWN:
    case QR_W_HYPER_ATTN_UP:
    case QR_W_HYPER_ATTN_INJECT:
    case QR_W_HYPER_FFN_DOWN:
    case QR_W_HYPER_FFN_UP:
    case QR_W_HYPER_FFN_INJECT:
    case QR_W_NGRAM_KEY:
    case QR_W_NGRAM_VALUE:
    case QR_W_DENSE_0:
    case QR_W_DENSE_1:
    case QR_W_DENSE_2:
    case QR_W_DENSE_3:
        return true;
    default:
        return false;
    }
}

bool qr_role_is_dense(enum qr_weight_role role)
{
    return role >= QR_W_DENSE_0 && role <= QR_W_DENSE_3_BIAS;
}

bool qr_role_is_table(enum qr_weight_role role)
{
    return role == QR_W_ROUTER_TABLE || role == QR_W_MTP_ORDER;
}

bool qr_role_is_class(enum qr_weight_role role)
{
    return role == QR_W_CLASS_OUT || role == QR_W_CLASS_OUT_BIAS;
}

bool qr_role_is_stack(enum qr_weight_role role)
{
    return (role >= QR_W_EXPERT_GATE && role <= QR_W_ADJUGATE_DOWN) ||
           (role >= QR_W_LATENT_UK && role <= QR_W_LATENT_UV) || role == QR_W_ATTN_Q_NORMS ||
           role == QR_W_ATTN_K_NORMS || role == QR_W_ALTUP_PROJ || role == QR_W_REC_GATE_I ||
           role == QR_W_REC_GATE_A || role == QR_W_REC_MIX_B || role == QR_W_ALTUP_UNEMBED ||
           role == QR_W_ATTN_CONV_HEADS || role == QR_W_NGRAM_EMBD || role == QR_W_ATTN_O_A ||
           role == QR_W_MTP_FEATURE_NORMS;
}

uint32_t qr_role_stack_size(const struct qr_model_config *cfg, enum qr_weight_role role,
                            uint32_t layer)
{
    if (!qr_role_is_stack(role))
        return 0;
    if (role == QR_W_MTP_FEATURE_NORMS)
        return cfg->mtp.n_features;
    if (role < QR_W_FIRST_LAYER_ROLE)
        return cfg->altup.n_streams - 1;
    if (role == QR_W_ATTN_O_A)
        return cfg->shared_kv.o_groups;
    if (role == QR_W_NGRAM_EMBD)
        return cfg->ngram.n_parts;
    if (role == QR_W_REC_MIX_B)
        return 5;
    if (role == QR_W_REC_GATE_I || role == QR_W_REC_GATE_A)
        return cfg->recurrent.n_heads;
    if (role == QR_W_ATTN_K_NORMS)
        return cfg->layers[layer].n_kv_heads;
    if (role == QR_W_ATTN_CONV_HEADS)
        return cfg->layers[layer].n_heads + cfg->layers[layer].n_kv_heads;
    if (role >= QR_W_ADJUGATE_GATE && role <= QR_W_ADJUGATE_DOWN)
        return qr_adjugate_count(&cfg->moe);
    return role <= QR_W_LATENT_UV ? cfg->layers[layer].n_heads : cfg->moe.n_experts;
}

bool qr_role_is_low_rank(enum qr_weight_role role)
{
    return role >= QR_W_LOW_RANK_Q_A && role <= QR_W_LOW_RANK_LAST;
}

bool qr_role_in_block(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer)
{
    if (role < QR_W_FIRST_LAYER_ROLE || cfg->layers[layer].mixer != QR_MIXER_SHARED_BLOCK)
        return false;
    return qr_role_is_low_rank(role) || (role >= QR_W_ATTN_Q && role <= QR_W_ATTN_O_BIAS) ||
           (role >= QR_W_FFN_NORM && role <= QR_W_FFN_DOWN_BIAS) || role == QR_W_BLOCK_NORM;
}

uint32_t qr_role_owner(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer)
{
    const bool shared = qr_role_in_block(cfg, role, layer) && !qr_role_is_low_rank(role);
    return shared ? cfg->layers[layer].block_owner : qr_loop_layer(cfg, layer);
}

bool qr_role_conv_dims(const struct qr_model_config *cfg, enum qr_weight_role role, uint64_t cols,
                       uint32_t heads, uint64_t dims[3])
{
    const struct qr_conv_attention_config *a = &cfg->conv_attention;
    const bool of_heads = role == QR_W_ATTN_CONV_HEADS;
    if (role == QR_W_MTP_ATTN_CONV || role == QR_W_MTP_FFN_CONV) {
        dims[0] = cfg->hidden_size;
        dims[1] = cfg->mtp.conv_taps;
        dims[2] = 2;
        return true;
    }
    if (role != QR_W_ATTN_CONV && !of_heads)
        return false;
    dims[0] = of_heads ? a->head_taps : a->channel_taps;
    dims[1] = of_heads ? cols / a->head_taps : 1;
    dims[2] = of_heads ? heads * dims[1] : cols / a->channel_taps;
    return true;
}
