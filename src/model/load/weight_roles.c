/* SPDX-License-Identifier: Apache-2.0 */
/* weight_roles.c - name, kind and shape of each weight role. */
#include "model/load/weight_roles.h"

/* Number of rows or columns in terms of the configuration. */
enum extent {
    NONE,
    VOCAB,
    HIDDEN,
    Q_ROWS,
    K_ROWS,
    V_ROWS,
    O_COLS,
    FFN,
    Q_NORM,
    K_NORM,
    HEAD_DIM,
    HEADS,
    KV_HEADS,
    GATES,
    POSITIONS,
    TYPES,
    BUCKETS,
    EXPERTS,
    EXPERT_FFN,
    SHARED_FFN,
    Q_COLS,
    Q_RANK,
    KV_RANK,
    KV_ROW,
    NOPE,
    V_DIM,
    INDEX_QS,
    INDEX_Q_COLS,
    INDEX_DIM,
    INDEX_HEADS,
    ONE,
    LABELS,
    REC_KEYS,
    REC_VALUES,
    REC_Z_COLS,
    REC_Z_RANK,
    REC_DT,
    REC_DT_COLS,
    REC_DT_RANK,
    REC_HEADS,
    REC_X_ROWS,
    REC_CONV_QS,
    REC_CONV_KS,
    REC_CONV_VS,
    REC_TAPS,
    REC_A_ROWS,
    REC_A_COLS,
    REC_STATE,
    REC_NORM
};

static const struct {
    const char *name;
    uint8_t rows, cols; /* rows NONE: a vector */
} roles[QR_W_N_ROLES] = {
    [QR_W_TOKEN_EMBD] = { "token_embd", VOCAB, HIDDEN },
    [QR_W_OUTPUT] = { "output", VOCAB, HIDDEN },
    [QR_W_OUTPUT_BIAS] = { "output_bias", NONE, VOCAB },
    [QR_W_OUTPUT_NORM] = { "output_norm", NONE, HIDDEN },
    [QR_W_OUTPUT_NORM_BIAS] = { "output_norm_bias", NONE, HIDDEN },
    [QR_W_POS_EMBD] = { "pos_embd", POSITIONS, HIDDEN },
    [QR_W_TYPE_EMBD] = { "type_embd", TYPES, HIDDEN },
    [QR_W_EMBD_NORM] = { "embd_norm", NONE, HIDDEN },
    [QR_W_EMBD_NORM_BIAS] = { "embd_norm_bias", NONE, HIDDEN },
    [QR_W_HEAD_DENSE] = { "head_dense", HIDDEN, HIDDEN },
    [QR_W_HEAD_DENSE_BIAS] = { "head_dense_bias", NONE, HIDDEN },
    [QR_W_HEAD_NORM] = { "head_norm", NONE, HIDDEN },
    [QR_W_HEAD_NORM_BIAS] = { "head_norm_bias", NONE, HIDDEN },
    [QR_W_POOLER] = { "pooler", HIDDEN, HIDDEN },
    [QR_W_POOLER_BIAS] = { "pooler_bias", NONE, HIDDEN },
    [QR_W_ENC_POS_EMBD] = { "enc_pos_embd", POSITIONS, HIDDEN },
    [QR_W_ENC_EMBD_NORM] = { "enc_embd_norm", NONE, HIDDEN },
    [QR_W_ENC_EMBD_NORM_BIAS] = { "enc_embd_norm_bias", NONE, HIDDEN },
    [QR_W_ENC_OUTPUT_NORM] = { "enc_output_norm", NONE, HIDDEN },
    [QR_W_ENC_OUTPUT_NORM_BIAS] = { "enc_output_norm_bias", NONE, HIDDEN },
    [QR_W_CLASS_DENSE] = { "class_dense", HIDDEN, HIDDEN },
    [QR_W_CLASS_DENSE_BIAS] = { "class_dense_bias", NONE, HIDDEN },
    [QR_W_CLASS_OUT] = { "class_out", LABELS, HIDDEN },
    [QR_W_CLASS_OUT_BIAS] = { "class_out_bias", NONE, LABELS },
    [QR_W_ATTN_NORM] = { "attn_norm", NONE, HIDDEN },
    [QR_W_ATTN_NORM_BIAS] = { "attn_norm_bias", NONE, HIDDEN },
    [QR_W_ATTN_Q] = { "attn_q", Q_ROWS, Q_COLS },
    [QR_W_ATTN_Q_BIAS] = { "attn_q_bias", NONE, Q_ROWS },
    [QR_W_ATTN_K] = { "attn_k", K_ROWS, HIDDEN },
    [QR_W_ATTN_K_BIAS] = { "attn_k_bias", NONE, K_ROWS },
    [QR_W_ATTN_V] = { "attn_v", V_ROWS, HIDDEN },
    [QR_W_ATTN_V_BIAS] = { "attn_v_bias", NONE, V_ROWS },
    [QR_W_ATTN_O] = { "attn_o", HIDDEN, O_COLS },
    [QR_W_ATTN_O_BIAS] = { "attn_o_bias", NONE, HIDDEN },
    [QR_W_ATTN_Q_NORM] = { "attn_q_norm", NONE, Q_NORM },
    [QR_W_ATTN_K_NORM] = { "attn_k_norm", NONE, K_NORM },
    [QR_W_ATTN_Q_NORMS] = { "attn_q_norms", NONE, HEAD_DIM },
    [QR_W_ATTN_K_NORMS] = { "attn_k_norms", NONE, HEAD_DIM },
    [QR_W_ATTN_SINKS] = { "attn_sinks", NONE, HEADS },
    [QR_W_ATTN_SUB_NORM] = { "attn_sub_norm", NONE, O_COLS },
    [QR_W_ATTN_GATE] = { "attn_gate", GATES, HIDDEN },
    [QR_W_ATTN_POST_NORM] = { "attn_post_norm", NONE, HIDDEN },
    [QR_W_ATTN_POST_NORM_BIAS] = { "attn_post_norm_bias", NONE, HIDDEN },
    [QR_W_ATTN_LAMBDA_Q1] = { "attn_lambda_q1", NONE, HEAD_DIM },
    [QR_W_ATTN_LAMBDA_K1] = { "attn_lambda_k1", NONE, HEAD_DIM },
    [QR_W_ATTN_LAMBDA_Q2] = { "attn_lambda_q2", NONE, HEAD_DIM },
    [QR_W_ATTN_LAMBDA_K2] = { "attn_lambda_k2", NONE, HEAD_DIM },
    [QR_W_ATTN_KEY_DT] = { "attn_key_dt", KV_HEADS, V_ROWS },
    [QR_W_ATTN_KEY_DT_BIAS] = { "attn_key_dt_bias", NONE, KV_HEADS },
    [QR_W_ATTN_KEY_A] = { "attn_key_a", NONE, KV_HEADS },
    [QR_W_ATTN_RESIDUAL] = { "attn_residual", NONE, HIDDEN },
    [QR_W_ATTN_REL_BIAS] = { "attn_rel_bias", BUCKETS, HEADS },
    [QR_W_LATENT_Q_A] = { "latent_q_a", Q_RANK, HIDDEN },
    [QR_W_LATENT_Q_NORM] = { "latent_q_norm", NONE, Q_RANK },
    [QR_W_LATENT_KV_A] = { "latent_kv_a", KV_ROW, HIDDEN },
    [QR_W_LATENT_KV_NORM] = { "latent_kv_norm", NONE, KV_RANK },
    [QR_W_LATENT_UK] = { "latent_uk", KV_RANK, NOPE },
    [QR_W_LATENT_UK_ROWS] = { "latent_uk_rows", NOPE, KV_RANK },
    [QR_W_LATENT_UV] = { "latent_uv", V_DIM, KV_RANK },
    [QR_W_INDEX_Q] = { "index_q", INDEX_QS, INDEX_Q_COLS },
    [QR_W_INDEX_Q_NORM] = { "index_q_norm", NONE, INDEX_DIM },
    [QR_W_INDEX_K] = { "index_k", INDEX_DIM, HIDDEN },
    [QR_W_INDEX_K_NORM] = { "index_k_norm", NONE, INDEX_DIM },
    [QR_W_INDEX_K_NORM_BIAS] = { "index_k_norm_bias", NONE, INDEX_DIM },
    [QR_W_INDEX_WEIGHTS] = { "index_weights", INDEX_HEADS, HIDDEN },
    [QR_W_CROSS_NORM] = { "cross_norm", NONE, HIDDEN },
    [QR_W_CROSS_NORM_BIAS] = { "cross_norm_bias", NONE, HIDDEN },
    [QR_W_CROSS_Q] = { "cross_q", Q_ROWS, HIDDEN },
    [QR_W_CROSS_Q_BIAS] = { "cross_q_bias", NONE, Q_ROWS },
    [QR_W_CROSS_K] = { "cross_k", K_ROWS, HIDDEN },
    [QR_W_CROSS_K_BIAS] = { "cross_k_bias", NONE, K_ROWS },
    [QR_W_CROSS_V] = { "cross_v", V_ROWS, HIDDEN },
    [QR_W_CROSS_V_BIAS] = { "cross_v_bias", NONE, V_ROWS },
    [QR_W_CROSS_O] = { "cross_o", HIDDEN, O_COLS },
    [QR_W_CROSS_O_BIAS] = { "cross_o_bias", NONE, HIDDEN },
    [QR_W_CROSS_POST_NORM] = { "cross_post_norm", NONE, HIDDEN },
    [QR_W_CROSS_POST_NORM_BIAS] = { "cross_post_norm_bias", NONE, HIDDEN },
    [QR_W_REC_Q] = { "rec_q", REC_KEYS, HIDDEN },
    [QR_W_REC_K] = { "rec_k", REC_KEYS, HIDDEN },
    [QR_W_REC_V] = { "rec_v", REC_VALUES, HIDDEN },
    [QR_W_REC_Z] = { "rec_z", REC_VALUES, REC_Z_COLS },
    [QR_W_REC_Z_A] = { "rec_z_a", REC_Z_RANK, HIDDEN },
    [QR_W_REC_DT] = { "rec_dt", REC_DT, REC_DT_COLS },
    [QR_W_REC_DT_A] = { "rec_dt_a", REC_DT_RANK, HIDDEN },
    [QR_W_REC_BETA] = { "rec_beta", REC_HEADS, HIDDEN },
    [QR_W_REC_X] = { "rec_x", REC_X_ROWS, REC_VALUES },
    [QR_W_REC_OUT] = { "rec_out", HIDDEN, REC_VALUES },
    [QR_W_REC_CONV_Q] = { "rec_conv_q", REC_CONV_QS, REC_TAPS },
    [QR_W_REC_CONV_K] = { "rec_conv_k", REC_CONV_KS, REC_TAPS },
    [QR_W_REC_CONV_V] = { "rec_conv_v", REC_CONV_VS, REC_TAPS },
    [QR_W_REC_CONV_Q_BIAS] = { "rec_conv_q_bias", NONE, REC_KEYS },
    [QR_W_REC_CONV_K_BIAS] = { "rec_conv_k_bias", NONE, REC_KEYS },
    [QR_W_REC_CONV_V_BIAS] = { "rec_conv_v_bias", NONE, REC_VALUES },
    [QR_W_REC_A] = { "rec_a", REC_A_ROWS, REC_A_COLS },
    [QR_W_REC_D] = { "rec_d", NONE, REC_HEADS },
    [QR_W_REC_DT_BIAS] = { "rec_dt_bias", NONE, REC_DT },
    [QR_W_REC_DT_NORM] = { "rec_dt_norm", NONE, REC_DT_RANK },
    [QR_W_REC_B_NORM] = { "rec_b_norm", NONE, REC_STATE },
    [QR_W_REC_C_NORM] = { "rec_c_norm", NONE, REC_STATE },
    [QR_W_REC_NORM] = { "rec_norm", NONE, REC_NORM },
    [QR_W_FFN_NORM] = { "ffn_norm", NONE, HIDDEN },
    [QR_W_FFN_NORM_BIAS] = { "ffn_norm_bias", NONE, HIDDEN },
    [QR_W_FFN_GATE] = { "ffn_gate", FFN, HIDDEN },
    [QR_W_FFN_GATE_BIAS] = { "ffn_gate_bias", NONE, FFN },
    [QR_W_FFN_UP] = { "ffn_up", FFN, HIDDEN },
    [QR_W_FFN_UP_BIAS] = { "ffn_up_bias", NONE, FFN },
    [QR_W_FFN_DOWN] = { "ffn_down", HIDDEN, FFN },
    [QR_W_FFN_DOWN_BIAS] = { "ffn_down_bias", NONE, HIDDEN },
    [QR_W_FFN_SUB_NORM] = { "ffn_sub_norm", NONE, FFN },
    [QR_W_FFN_XIELU_P] = { "ffn_xielu_p", NONE, ONE },
    [QR_W_FFN_XIELU_N] = { "ffn_xielu_n", NONE, ONE },
    [QR_W_FFN_XIELU_BETA] = { "ffn_xielu_beta", NONE, ONE },
    [QR_W_FFN_XIELU_EPS] = { "ffn_xielu_eps", NONE, ONE },
    [QR_W_FFN_POST_NORM] = { "ffn_post_norm", NONE, HIDDEN },
    [QR_W_FFN_POST_NORM_BIAS] = { "ffn_post_norm_bias", NONE, HIDDEN },
    [QR_W_FFN_RESIDUAL] = { "ffn_residual", NONE, HIDDEN },
    [QR_W_ROUTER] = { "router", EXPERTS, HIDDEN },
    [QR_W_ROUTER_BIAS] = { "router_bias", NONE, EXPERTS },
    [QR_W_ROUTER_CORRECTION] = { "router_correction", NONE, EXPERTS },
    [QR_W_EXPERT_GATE] = { "expert_gate", EXPERT_FFN, HIDDEN },
    [QR_W_EXPERT_GATE_BIAS] = { "expert_gate_bias", NONE, EXPERT_FFN },
    [QR_W_EXPERT_UP] = { "expert_up", EXPERT_FFN, HIDDEN },
    [QR_W_EXPERT_UP_BIAS] = { "expert_up_bias", NONE, EXPERT_FFN },
    [QR_W_EXPERT_DOWN] = { "expert_down", HIDDEN, EXPERT_FFN },
    [QR_W_EXPERT_DOWN_BIAS] = { "expert_down_bias", NONE, HIDDEN },
    [QR_W_SHARED_ROUTER] = { "shared_router", ONE, HIDDEN },
    [QR_W_SHARED_GATE] = { "shared_gate", SHARED_FFN, HIDDEN },
    [QR_W_SHARED_UP] = { "shared_up", SHARED_FFN, HIDDEN },
    [QR_W_SHARED_DOWN] = { "shared_down", HIDDEN, SHARED_FFN },
};

bool qr_role_is_matrix(enum qr_weight_role role)
{
    switch (role) {
    case QR_W_TOKEN_EMBD:
    case QR_W_OUTPUT:
    case QR_W_POS_EMBD:
    case QR_W_TYPE_EMBD:
    case QR_W_HEAD_DENSE:
    case QR_W_POOLER:
    case QR_W_CLASS_DENSE:
    case QR_W_CLASS_OUT:
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
    case QR_W_FFN_GATE:
    case QR_W_FFN_UP:
    case QR_W_FFN_DOWN:
    case QR_W_ROUTER:
    case QR_W_SHARED_ROUTER:
    case QR_W_SHARED_GATE:
    case QR_W_SHARED_UP:
    case QR_W_SHARED_DOWN:
        return true;
    default:
        return false;
    }
}

bool qr_role_is_stack(enum qr_weight_role role)
{
    return (role >= QR_W_EXPERT_GATE && role <= QR_W_EXPERT_DOWN_BIAS) ||
           (role >= QR_W_LATENT_UK && role <= QR_W_LATENT_UV) || role == QR_W_ATTN_Q_NORMS ||
           role == QR_W_ATTN_K_NORMS;
}

uint32_t qr_role_stack_size(const struct qr_model_config *cfg, enum qr_weight_role role,
                            uint32_t layer)
{
    if (!qr_role_is_stack(role))
        return 0;
    if (role == QR_W_ATTN_K_NORMS)
        return cfg->layers[layer].n_kv_heads;
    return role <= QR_W_LATENT_UV ? cfg->layers[layer].n_heads : cfg->moe.n_experts;
}

const char *qr_weight_role_name(enum qr_weight_role role)
{
    return (unsigned)role < QR_W_N_ROLES ? roles[role].name : "unknown role";
}

static uint64_t recurrent_extent(const struct qr_model_config *c, enum extent e)
{
    const struct qr_recurrent_config *r = &c->recurrent;
    switch (e) {
    case REC_KEYS:
        return qr_recurrent_key_width(r);
    case REC_VALUES:
        return qr_recurrent_value_width(r);
    case REC_Z_COLS:
        return r->gate_rank ? r->gate_rank : c->hidden_size;
    case REC_Z_RANK:
        return r->gate_rank;
    case REC_DT:
        return qr_recurrent_dt_width(r);
    case REC_DT_COLS:
        return r->dt_rank ? r->dt_rank : c->hidden_size;
    case REC_DT_RANK:
        return r->dt_rank;
    case REC_X_ROWS:
        return (uint64_t)r->dt_rank + 2 * (uint64_t)r->key_dim;
    case REC_CONV_QS:
    case REC_CONV_KS:
    case REC_CONV_VS:
        if (r->conv_thirds)
            return qr_recurrent_conv_width(r) / 3;
        return e == REC_CONV_VS ? qr_recurrent_value_width(r) : qr_recurrent_key_width(r);
    case REC_TAPS:
        return r->conv_taps;
    case REC_A_ROWS: /* Mamba-1 has a row per channel, the others one vector */
        return r->kind == QR_RECURRENT_MAMBA1 ? r->n_heads : 0;
    case REC_A_COLS:
        return r->kind == QR_RECURRENT_MAMBA1 ? r->key_dim : r->n_heads;
    case REC_STATE:
        return r->key_dim;
    case REC_NORM:
        return r->norm_per_head ? r->norm_dim : qr_recurrent_value_width(r);
    default:
        return r->n_heads;
    }
}

/* No product overflows: qr_model_config_validate bounds the factors. */
static uint64_t extent(const struct qr_model_config *c, const struct qr_layer_config *l, uint8_t e)
{
    const uint64_t q = (uint64_t)l->n_heads * c->head_dim,
                   k = (uint64_t)l->n_kv_heads * c->head_dim;
    switch ((enum extent)e) {
    case NONE:
        return 0;
    case VOCAB:
        return c->vocab_size;
    case HIDDEN:
        return c->hidden_size;
    case Q_ROWS:
        return q;
    case K_ROWS:
        return k;
    case V_ROWS:
        return (uint64_t)l->n_kv_heads * (c->differential ? c->head_dim : c->v_head_dim);
    case O_COLS:
        return (uint64_t)l->n_heads * (c->differential ? c->head_dim : c->v_head_dim);
    case FFN:
        return l->ffn_size;
    case Q_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? q : c->head_dim;
    case K_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? k : c->head_dim;
    case HEAD_DIM:
        return c->head_dim;
    case HEADS:
        return l->n_heads;
    case KV_HEADS:
        return l->n_kv_heads;
    case GATES:
        return (uint64_t)l->n_heads * (c->gate_per_head ? 1 : c->v_head_dim);
    case POSITIONS:
        return (uint64_t)c->context_length + c->position_offset;
    case TYPES:
        return c->n_token_types;
    case LABELS:
        return c->n_labels;
    case BUCKETS:
        return c->relative_buckets;
    case EXPERTS:
        return (uint64_t)c->moe.n_experts + c->moe.n_identity;
    case EXPERT_FFN:
        return c->moe.ffn_size;
    case SHARED_FFN:
        return c->moe.shared_ffn_size;
    case Q_COLS:
        return c->mla.q_lora_rank ? c->mla.q_lora_rank : c->hidden_size;
    case Q_RANK:
        return c->mla.q_lora_rank;
    case KV_RANK:
        return c->mla.kv_lora_rank;
    case KV_ROW:
        return (uint64_t)c->mla.kv_lora_rank + c->mla.qk_rope_dim;
    case NOPE:
        return c->mla.qk_nope_dim;
    case V_DIM:
        return c->v_head_dim;
    case INDEX_QS:
        return (uint64_t)c->index.n_heads * c->index.head_dim;
    case INDEX_Q_COLS:
        return c->index.low_rank_q ? c->mla.q_lora_rank : c->hidden_size;
    case INDEX_DIM:
        return c->index.head_dim;
    case INDEX_HEADS:
        return c->index.n_heads;
    case ONE:
        return 1;
    default:
        return recurrent_extent(c, (enum extent)e);
    }
}

void qr_role_shape(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer,
                   uint64_t *rows, uint64_t *cols)
{
    const struct qr_layer_config *l = &cfg->layers[role < QR_W_FIRST_LAYER_ROLE ? 0 : layer];
    *rows = extent(cfg, l, roles[role].rows);
    *cols = extent(cfg, l, roles[role].cols);
}
