/* SPDX-License-Identifier: Apache-2.0 */
/* weight_roles.c - name and shape of each weight role. */
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
    KV_COLS,
    BLOCK_IN,
    LOW_RANK,
    Q_RANK,
    KV_RANK,
    KV_ROW,
    NOPE,
    V_DIM,
    INDEX_QS,
    INDEX_Q_COLS,
    INDEX_DIM,
    INDEX_HEADS,
    INDEX_SERIES,
    INDEX_RATE,
    O_GROUP,
    O_RANK,
    COMPRESS_SERIES,
    COMPRESS_RATE,
    EXPERTS_USED,
    ONE,
    LABELS,
    PLE,
    PLE_VOCAB,
    PLE_ALL,
    STREAMS,
    STREAM_PAIRS,
    LAUREL,
    HYPER,
    HYPER_RANK,
    HYPER_STREAMS,
    HYPER_MIX,
    HYPER_SCALES,
    NGRAM,
    NGRAM_ROWS,
    NGRAM_HEAD,
    NGRAM_TAPS,
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
    REC_NORM,
    REC_VALUE
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
    [QR_W_DENSE_0] = { "dense_0", NONE, NONE },
    [QR_W_DENSE_1] = { "dense_1", NONE, NONE },
    [QR_W_DENSE_2] = { "dense_2", NONE, NONE },
    [QR_W_DENSE_3] = { "dense_3", NONE, NONE },
    [QR_W_DENSE_0_BIAS] = { "dense_0_bias", NONE, NONE },
    [QR_W_DENSE_1_BIAS] = { "dense_1_bias", NONE, NONE },
    [QR_W_DENSE_2_BIAS] = { "dense_2_bias", NONE, NONE },
    [QR_W_DENSE_3_BIAS] = { "dense_3_bias", NONE, NONE },
    [QR_W_PLE_EMBD] = { "ple_embd", PLE_VOCAB, PLE_ALL },
    [QR_W_PLE_PROJ] = { "ple_proj", PLE_ALL, HIDDEN },
    [QR_W_PLE_NORM] = { "ple_norm", NONE, PLE },
    [QR_W_ALTUP_PROJ] = { "altup_proj", HIDDEN, HIDDEN },
    [QR_W_ALTUP_UNEMBED] = { "altup_unembed", HIDDEN, HIDDEN },
    [QR_W_HYPER_OUT_NORM] = { "hyper_out_norm", NONE, HYPER },
    [QR_W_HYPER_OUT_DOWN] = { "hyper_out_down", HYPER_RANK, HYPER },
    [QR_W_HYPER_OUT_UP] = { "hyper_out_up", HYPER, HYPER_RANK },
    [QR_W_HYPER_OUT_MIX] = { "hyper_out_mix", HYPER_STREAMS, HYPER },
    [QR_W_HYPER_OUT_BASE] = { "hyper_out_base", NONE, HYPER_STREAMS },
    [QR_W_HYPER_OUT_SCALE] = { "hyper_out_scale", NONE, ONE },
    [QR_W_ATTN_NORM] = { "attn_norm", NONE, HIDDEN },
    [QR_W_ATTN_NORM_BIAS] = { "attn_norm_bias", NONE, HIDDEN },
    [QR_W_ATTN_Q] = { "attn_q", Q_ROWS, Q_COLS },
    [QR_W_ATTN_Q_BIAS] = { "attn_q_bias", NONE, Q_ROWS },
    [QR_W_ATTN_K] = { "attn_k", K_ROWS, KV_COLS },
    [QR_W_ATTN_K_BIAS] = { "attn_k_bias", NONE, K_ROWS },
    [QR_W_ATTN_V] = { "attn_v", V_ROWS, KV_COLS },
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
    [QR_W_ATTN_O_A] = { "attn_o_a", O_RANK, O_GROUP },
    [QR_W_COMPRESS_KV] = { "compress_kv", COMPRESS_SERIES, HIDDEN },
    [QR_W_COMPRESS_GATE] = { "compress_gate", COMPRESS_SERIES, HIDDEN },
    [QR_W_COMPRESS_BIAS] = { "compress_bias", COMPRESS_RATE, COMPRESS_SERIES },
    [QR_W_COMPRESS_NORM] = { "compress_norm", NONE, HEAD_DIM },
    [QR_W_INDEX_Q] = { "index_q", INDEX_QS, INDEX_Q_COLS },
    [QR_W_INDEX_Q_NORM] = { "index_q_norm", NONE, INDEX_DIM },
    [QR_W_INDEX_K] = { "index_k", INDEX_DIM, HIDDEN },
    [QR_W_INDEX_K_NORM] = { "index_k_norm", NONE, INDEX_DIM },
    [QR_W_INDEX_K_NORM_BIAS] = { "index_k_norm_bias", NONE, INDEX_DIM },
    [QR_W_INDEX_WEIGHTS] = { "index_weights", INDEX_HEADS, HIDDEN },
    [QR_W_INDEX_COMPRESS_KV] = { "index_compress_kv", INDEX_SERIES, HIDDEN },
    [QR_W_INDEX_COMPRESS_GATE] = { "index_compress_gate", INDEX_SERIES, HIDDEN },
    [QR_W_INDEX_COMPRESS_BIAS] = { "index_compress_bias", INDEX_RATE, INDEX_SERIES },
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
    [QR_W_REC_MIX_K] = { "rec_mix_k", NONE, HIDDEN },
    [QR_W_REC_MIX_V] = { "rec_mix_v", NONE, HIDDEN },
    [QR_W_REC_MIX_Z] = { "rec_mix_z", NONE, HIDDEN },
    [QR_W_REC_V_BIAS] = { "rec_v_bias", NONE, REC_VALUES },
    [QR_W_REC_Z_BIAS] = { "rec_z_bias", NONE, REC_VALUES },
    [QR_W_REC_OUT_BIAS] = { "rec_out_bias", NONE, HIDDEN },
    [QR_W_REC_GATE_I] = { "rec_gate_i", REC_VALUE, REC_VALUE },
    [QR_W_REC_GATE_A] = { "rec_gate_a", REC_VALUE, REC_VALUE },
    [QR_W_REC_GATE_I_BIAS] = { "rec_gate_i_bias", NONE, REC_VALUES },
    [QR_W_REC_GATE_A_BIAS] = { "rec_gate_a_bias", NONE, REC_VALUES },
    [QR_W_BLOCK_NORM] = { "block_norm", NONE, BLOCK_IN },
    [QR_W_BLOCK_OUT] = { "block_out", HIDDEN, HIDDEN },
    [QR_W_LOW_RANK_Q_A] = { "low_rank_q_a", LOW_RANK, BLOCK_IN },
    [QR_W_LOW_RANK_Q_B] = { "low_rank_q_b", Q_ROWS, LOW_RANK },
    [QR_W_LOW_RANK_K_A] = { "low_rank_k_a", LOW_RANK, BLOCK_IN },
    [QR_W_LOW_RANK_K_B] = { "low_rank_k_b", K_ROWS, LOW_RANK },
    [QR_W_LOW_RANK_V_A] = { "low_rank_v_a", LOW_RANK, BLOCK_IN },
    [QR_W_LOW_RANK_V_B] = { "low_rank_v_b", V_ROWS, LOW_RANK },
    [QR_W_LOW_RANK_FFN_A] = { "low_rank_ffn_a", LOW_RANK, HIDDEN },
    [QR_W_LOW_RANK_GATE_B] = { "low_rank_gate_b", FFN, LOW_RANK },
    [QR_W_LOW_RANK_UP_B] = { "low_rank_up_b", FFN, LOW_RANK },
    [QR_W_MTP_EMBD_NORM] = { "mtp_embd_norm", NONE, HIDDEN },
    [QR_W_MTP_HIDDEN_NORM] = { "mtp_hidden_norm", NONE, HIDDEN },
    [QR_W_MTP_PROJ] = { "mtp_proj", HIDDEN, BLOCK_IN },
    [QR_W_FFN_NORM] = { "ffn_norm", NONE, HIDDEN },
    [QR_W_FFN_NORM_BIAS] = { "ffn_norm_bias", NONE, HIDDEN },
    [QR_W_FFN_GATE] = { "ffn_gate", FFN, HIDDEN },
    [QR_W_FFN_GATE_BIAS] = { "ffn_gate_bias", NONE, FFN },
    [QR_W_FFN_UP] = { "ffn_up", FFN, HIDDEN },
    [QR_W_FFN_UP_BIAS] = { "ffn_up_bias", NONE, FFN },
    [QR_W_FFN_DOWN] = { "ffn_down", HIDDEN, FFN },
    [QR_W_FFN_DOWN_BIAS] = { "ffn_down_bias", NONE, HIDDEN },
    [QR_W_FFN_SUB_NORM] = { "ffn_sub_norm", NONE, FFN },
    [QR_W_FFN_Z] = { "ffn_z", HIDDEN, HIDDEN },
    [QR_W_FFN_MIX_UP] = { "ffn_mix_up", NONE, HIDDEN },
    [QR_W_FFN_MIX_Z] = { "ffn_mix_z", NONE, HIDDEN },
    [QR_W_FFN_XIELU_P] = { "ffn_xielu_p", NONE, ONE },
    [QR_W_FFN_XIELU_N] = { "ffn_xielu_n", NONE, ONE },
    [QR_W_FFN_XIELU_BETA] = { "ffn_xielu_beta", NONE, ONE },
    [QR_W_FFN_XIELU_EPS] = { "ffn_xielu_eps", NONE, ONE },
    [QR_W_FFN_POST_NORM] = { "ffn_post_norm", NONE, HIDDEN },
    [QR_W_FFN_POST_NORM_BIAS] = { "ffn_post_norm_bias", NONE, HIDDEN },
    [QR_W_FFN_RESIDUAL] = { "ffn_residual", NONE, HIDDEN },
    [QR_W_ROUTER] = { "router", EXPERTS, HIDDEN },
    [QR_W_ROUTER_BIAS] = { "router_bias", NONE, EXPERTS },
    [QR_W_ROUTER_TABLE] = { "router_table", VOCAB, EXPERTS_USED },
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
    [QR_W_ROUTER_SCALE] = { "router_scale", NONE, HIDDEN },
    [QR_W_EXPERT_SCALE] = { "expert_scale", NONE, EXPERTS },
    [QR_W_EXPERT_NORM] = { "expert_norm", NONE, HIDDEN },
    [QR_W_EXPERT_POST_NORM] = { "expert_post_norm", NONE, HIDDEN },
    [QR_W_FFN_DENSE_POST_NORM] = { "ffn_dense_post_norm", NONE, HIDDEN },
    [QR_W_PLE_GATE] = { "ple_gate", PLE, HIDDEN },
    [QR_W_PLE_OUT] = { "ple_out", HIDDEN, PLE },
    [QR_W_PLE_POST_NORM] = { "ple_post_norm", NONE, HIDDEN },
    [QR_W_LAYER_SCALE] = { "layer_scale", NONE, ONE },
    [QR_W_LAUREL_LEFT] = { "laurel_left", LAUREL, HIDDEN },
    [QR_W_LAUREL_RIGHT] = { "laurel_right", HIDDEN, LAUREL },
    [QR_W_LAUREL_POST_NORM] = { "laurel_post_norm", NONE, HIDDEN },
    [QR_W_ALTUP_ROUTER] = { "altup_router", STREAMS, HIDDEN },
    [QR_W_ALTUP_ROUTER_NORM] = { "altup_router_norm", NONE, HIDDEN },
    [QR_W_ALTUP_PREDICT] = { "altup_predict", STREAM_PAIRS, STREAMS },
    [QR_W_ALTUP_CORRECT] = { "altup_correct", STREAMS, STREAMS },
    [QR_W_ALTUP_SCALE] = { "altup_scale", NONE, HIDDEN },
    [QR_W_HYPER_ATTN_NORM] = { "hyper_attn_norm", NONE, HYPER },
    [QR_W_HYPER_ATTN_DOWN] = { "hyper_attn_down", HYPER_RANK, HYPER },
    [QR_W_HYPER_ATTN_UP] = { "hyper_attn_up", HYPER, HYPER_RANK },
    [QR_W_HYPER_ATTN_INJECT] = { "hyper_attn_inject", HYPER_STREAMS, HYPER },
    [QR_W_HYPER_ATTN_MIX] = { "hyper_attn_mix", HYPER_MIX, HYPER },
    [QR_W_HYPER_ATTN_BASE] = { "hyper_attn_base", NONE, HYPER_MIX },
    [QR_W_HYPER_ATTN_SCALE] = { "hyper_attn_scale", NONE, HYPER_SCALES },
    [QR_W_HYPER_FFN_MIX] = { "hyper_ffn_mix", HYPER_MIX, HYPER },
    [QR_W_HYPER_FFN_BASE] = { "hyper_ffn_base", NONE, HYPER_MIX },
    [QR_W_HYPER_FFN_SCALE] = { "hyper_ffn_scale", NONE, HYPER_SCALES },
    [QR_W_HYPER_FFN_NORM] = { "hyper_ffn_norm", NONE, HYPER },
    [QR_W_HYPER_FFN_DOWN] = { "hyper_ffn_down", HYPER_RANK, HYPER },
    [QR_W_HYPER_FFN_UP] = { "hyper_ffn_up", HYPER, HYPER_RANK },
    [QR_W_HYPER_FFN_INJECT] = { "hyper_ffn_inject", HYPER_STREAMS, HYPER },
    [QR_W_NGRAM_EMBD] = { "ngram_embd", NGRAM_ROWS, NGRAM_HEAD },
    [QR_W_NGRAM_KEY] = { "ngram_key", HYPER, NGRAM },
    [QR_W_NGRAM_VALUE] = { "ngram_value", HIDDEN, NGRAM },
    [QR_W_NGRAM_KEY_NORM] = { "ngram_key_norm", NONE, HYPER },
    [QR_W_NGRAM_QUERY_NORM] = { "ngram_query_norm", NONE, HYPER },
    [QR_W_NGRAM_CONV_NORM] = { "ngram_conv_norm", NONE, HYPER },
    [QR_W_NGRAM_CONV] = { "ngram_conv", HYPER, NGRAM_TAPS },
};

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
        return r->kind == QR_RECURRENT_MAMBA1   ? r->key_dim
               : r->kind == QR_RECURRENT_RG_LRU ? qr_recurrent_value_width(r)
                                                : r->n_heads;
    case REC_VALUE:
        return r->value_dim;
    case REC_STATE:
        return r->key_dim;
    case REC_NORM:
        return r->norm_per_head ? r->norm_dim : qr_recurrent_value_width(r);
    default:
        return r->n_heads;
    }
}

/* Hyper-connections and embeddings of n-grams; zeros in models without. */
static uint64_t stream_extent(const struct qr_model_config *c, const struct qr_layer_config *l,
                              enum extent e)
{
    const struct qr_ngram_config *n = &c->ngram;
    switch (e) {
    case HYPER:
        return (uint64_t)c->hyper.n_streams * c->hidden_size;
    case HYPER_RANK:
        return c->hyper.rank;
    case HYPER_STREAMS:
        return c->hyper.n_streams;
    case HYPER_MIX:
        return (2 + (uint64_t)c->hyper.n_streams) * c->hyper.n_streams;
    case HYPER_SCALES:
        return 3;
    case NGRAM_ROWS:
        return l->ngram_rows;
    case NGRAM_HEAD:
        return n->size ? n->dim / ((n->size - 1) * n->heads) : 0;
    case NGRAM_TAPS:
        return n->taps;
    default:
        return n->dim;
    }
}

/* No product overflows: qr_model_config_validate bounds the factors. */
static uint64_t extent(const struct qr_model_config *c, const struct qr_layer_config *l, uint8_t e)
{
    const uint64_t q = (uint64_t)l->n_heads * l->head_dim,
                   k = (uint64_t)l->n_kv_heads * l->head_dim;
    const bool block = l->mixer == QR_MIXER_SHARED_BLOCK;
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
        return (uint64_t)l->n_kv_heads * (c->differential ? l->head_dim : l->v_head_dim);
    case O_COLS:
        if (c->shared_kv.o_groups)
            return (uint64_t)c->shared_kv.o_groups * c->shared_kv.o_rank;
        return (uint64_t)l->n_heads * (c->differential ? l->head_dim : l->v_head_dim);
    case FFN:
        return l->ffn_size;
    case Q_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? q : l->head_dim;
    case K_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? k : l->head_dim;
    case HEAD_DIM:
        return l->head_dim;
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
    case PLE:
        return c->ple.dim;
    case PLE_VOCAB:
        return c->ple.vocab_size;
    case PLE_ALL:
        return (uint64_t)c->n_layers * c->ple.dim;
    case STREAMS:
        return c->altup.n_streams;
    case STREAM_PAIRS:
        return (uint64_t)c->altup.n_streams * c->altup.n_streams;
    case LAUREL:
        return c->laurel_rank;
    case BUCKETS:
        return c->relative_buckets;
    case EXPERTS:
        return (uint64_t)c->moe.n_experts + c->moe.n_identity;
    case EXPERT_FFN:
        return c->moe.ffn_size;
    case SHARED_FFN:
        return c->moe.shared_ffn_size;
    case Q_COLS:
        if (c->mla.q_lora_rank)
            return c->mla.q_lora_rank;
        return block ? 2 * (uint64_t)c->hidden_size : c->hidden_size;
    case KV_COLS:
        return block ? 2 * (uint64_t)c->hidden_size : c->hidden_size;
    case BLOCK_IN:
        return 2 * (uint64_t)c->hidden_size;
    case LOW_RANK:
        return c->shared_block.rank;
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
    case INDEX_SERIES:
        return 2 * (uint64_t)c->index.head_dim;
    case INDEX_RATE:
    case COMPRESS_RATE:
        return l->compress_rate;
    case O_GROUP:
        return c->shared_kv.o_groups ? q / c->shared_kv.o_groups : 0;
    case O_RANK:
        return c->shared_kv.o_rank;
    case COMPRESS_SERIES:
        return qr_compress_series(l);
    case EXPERTS_USED:
        return c->moe.top_k;
    case ONE:
        return 1;
    default:
        return e >= HYPER && e <= NGRAM_TAPS ? stream_extent(c, l, (enum extent)e)
                                             : recurrent_extent(c, (enum extent)e);
    }
}

void qr_role_shape(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer,
                   uint64_t *rows, uint64_t *cols)
{
    const struct qr_layer_config *l = &cfg->layers[role < QR_W_FIRST_LAYER_ROLE ? 0 : layer];
    if (qr_role_is_dense(role)) {
        const struct qr_dense_config *d = &cfg->dense[(role - QR_W_DENSE_0) % QR_MAX_DENSE];
        *rows = role <= QR_W_DENSE_3 ? d->out : 0;
        *cols = role <= QR_W_DENSE_3 ? d->in : d->out;
        return;
    }
    *rows = extent(cfg, l, roles[role].rows);
    *cols = extent(cfg, l, roles[role].cols);
}
