/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_names.h - name rules of recurrent layers that several families share. */
#ifndef QR_MODEL_ARCH_RECURRENT_NAMES_H
#define QR_MODEL_ARCH_RECURRENT_NAMES_H

/* Mamba-2: fused [z; x; B; C; dt], one convolution. at: the mixer's prefix with a dot. */
#define QR_NAMES_MAMBA2(at)                                                                        \
    { QR_W_REC_Z, QR_SLICE_REC_SSM_Z, at "in_proj.weight" },                                       \
        { QR_W_REC_V, QR_SLICE_REC_SSM_V, at "in_proj.weight" },                                   \
        { QR_W_REC_K, QR_SLICE_REC_SSM_K, at "in_proj.weight" },                                   \
        { QR_W_REC_Q, QR_SLICE_REC_SSM_Q, at "in_proj.weight" },                                   \
        { QR_W_REC_DT, QR_SLICE_REC_SSM_DT, at "in_proj.weight" },                                 \
        { QR_W_REC_CONV_V, QR_SLICE_REC_XBC_V, at "conv1d.weight" },                               \
        { QR_W_REC_CONV_K, QR_SLICE_REC_XBC_K, at "conv1d.weight" },                               \
        { QR_W_REC_CONV_Q, QR_SLICE_REC_XBC_Q, at "conv1d.weight" },                               \
        { QR_W_REC_CONV_V_BIAS, QR_SLICE_REC_XBC_V, at "conv1d.bias" },                            \
        { QR_W_REC_CONV_K_BIAS, QR_SLICE_REC_XBC_K, at "conv1d.bias" },                            \
        { QR_W_REC_CONV_Q_BIAS, QR_SLICE_REC_XBC_Q, at "conv1d.bias" },                            \
        { QR_W_REC_A, QR_SLICE_ALL, at "A_log" }, { QR_W_REC_D, QR_SLICE_ALL, at "D" },            \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, at "dt_bias" },                                          \
        { QR_W_REC_NORM, QR_SLICE_ALL, at "norm.weight" },                                         \
    {                                                                                              \
        QR_W_REC_OUT, QR_SLICE_ALL, at "out_proj.weight"                                           \
    }

#define QR_NAMES_GGUF_MAMBA2                                                                       \
    { QR_W_REC_Z, QR_SLICE_REC_SSM_Z, "blk.%u.ssm_in.weight" },                                    \
        { QR_W_REC_V, QR_SLICE_REC_SSM_V, "blk.%u.ssm_in.weight" },                                \
        { QR_W_REC_K, QR_SLICE_REC_SSM_K, "blk.%u.ssm_in.weight" },                                \
        { QR_W_REC_Q, QR_SLICE_REC_SSM_Q, "blk.%u.ssm_in.weight" },                                \
        { QR_W_REC_DT, QR_SLICE_REC_SSM_DT, "blk.%u.ssm_in.weight" },                              \
        { QR_W_REC_CONV_V, QR_SLICE_REC_XBC_V, "blk.%u.ssm_conv1d.weight" },                       \
        { QR_W_REC_CONV_K, QR_SLICE_REC_XBC_K, "blk.%u.ssm_conv1d.weight" },                       \
        { QR_W_REC_CONV_Q, QR_SLICE_REC_XBC_Q, "blk.%u.ssm_conv1d.weight" },                       \
        { QR_W_REC_CONV_V_BIAS, QR_SLICE_REC_XBC_V, "blk.%u.ssm_conv1d.bias" },                    \
        { QR_W_REC_CONV_K_BIAS, QR_SLICE_REC_XBC_K, "blk.%u.ssm_conv1d.bias" },                    \
        { QR_W_REC_CONV_Q_BIAS, QR_SLICE_REC_XBC_Q, "blk.%u.ssm_conv1d.bias" },                    \
        { QR_W_REC_A, QR_SLICE_ALL, "blk.%u.ssm_a" },                                              \
        { QR_W_REC_D, QR_SLICE_ALL, "blk.%u.ssm_d" },                                              \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, "blk.%u.ssm_dt.bias" },                                  \
        { QR_W_REC_NORM, QR_SLICE_ALL, "blk.%u.ssm_norm.weight" },                                 \
    {                                                                                              \
        QR_W_REC_OUT, QR_SLICE_ALL, "blk.%u.ssm_out.weight"                                        \
    }

/* Mamba-1: fused [x; z]. */
#define QR_NAMES_MAMBA1(at)                                                                        \
    { QR_W_REC_V, QR_SLICE_GATE, at "in_proj.weight" },                                            \
        { QR_W_REC_Z, QR_SLICE_UP, at "in_proj.weight" },                                          \
        { QR_W_REC_X, QR_SLICE_ALL, at "x_proj.weight" },                                          \
        { QR_W_REC_DT, QR_SLICE_ALL, at "dt_proj.weight" },                                        \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, at "dt_proj.bias" },                                     \
        { QR_W_REC_CONV_V, QR_SLICE_ALL, at "conv1d.weight" },                                     \
        { QR_W_REC_CONV_V_BIAS, QR_SLICE_ALL, at "conv1d.bias" },                                  \
        { QR_W_REC_A, QR_SLICE_ALL, at "A_log" }, { QR_W_REC_D, QR_SLICE_ALL, at "D" },            \
        { QR_W_REC_DT_NORM, QR_SLICE_ALL, at "dt_layernorm.weight" },                              \
        { QR_W_REC_B_NORM, QR_SLICE_ALL, at "b_layernorm.weight" },                                \
        { QR_W_REC_C_NORM, QR_SLICE_ALL, at "c_layernorm.weight" },                                \
    {                                                                                              \
        QR_W_REC_OUT, QR_SLICE_ALL, at "out_proj.weight"                                           \
    }

#define QR_NAMES_GGUF_MAMBA1                                                                       \
    { QR_W_REC_V, QR_SLICE_GATE, "blk.%u.ssm_in.weight" },                                         \
        { QR_W_REC_Z, QR_SLICE_UP, "blk.%u.ssm_in.weight" },                                       \
        { QR_W_REC_X, QR_SLICE_ALL, "blk.%u.ssm_x.weight" },                                       \
        { QR_W_REC_DT, QR_SLICE_ALL, "blk.%u.ssm_dt.weight" },                                     \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, "blk.%u.ssm_dt.bias" },                                  \
        { QR_W_REC_CONV_V, QR_SLICE_ALL, "blk.%u.ssm_conv1d.weight" },                             \
        { QR_W_REC_CONV_V_BIAS, QR_SLICE_ALL, "blk.%u.ssm_conv1d.bias" },                          \
        { QR_W_REC_A, QR_SLICE_ALL, "blk.%u.ssm_a" },                                              \
        { QR_W_REC_D, QR_SLICE_ALL, "blk.%u.ssm_d" },                                              \
        { QR_W_REC_DT_NORM, QR_SLICE_ALL, "blk.%u.ssm_dt_norm.weight" },                           \
        { QR_W_REC_B_NORM, QR_SLICE_ALL, "blk.%u.ssm_b_norm.weight" },                             \
        { QR_W_REC_C_NORM, QR_SLICE_ALL, "blk.%u.ssm_c_norm.weight" },                             \
    {                                                                                              \
        QR_W_REC_OUT, QR_SLICE_ALL, "blk.%u.ssm_out.weight"                                        \
    }

/* Gated delta net of Qwen3-Next, Qwen3.5 and Qwen4-Exp. */
#define QR_NAMES_GGUF_GATED_DELTA                                                                  \
    { QR_W_REC_Q, QR_SLICE_REC_QKV_Q, "blk.%u.attn_qkv.weight" },                                  \
        { QR_W_REC_K, QR_SLICE_REC_QKV_K, "blk.%u.attn_qkv.weight" },                              \
        { QR_W_REC_V, QR_SLICE_REC_QKV_V, "blk.%u.attn_qkv.weight" },                              \
        { QR_W_REC_Z, QR_SLICE_ALL, "blk.%u.attn_gate.weight" },                                   \
        { QR_W_REC_BETA, QR_SLICE_ALL, "blk.%u.ssm_beta.weight" },                                 \
        { QR_W_REC_DT, QR_SLICE_ALL, "blk.%u.ssm_alpha.weight" },                                  \
        { QR_W_REC_CONV_Q, QR_SLICE_REC_QKV_Q, "blk.%u.ssm_conv1d.weight" },                       \
        { QR_W_REC_CONV_K, QR_SLICE_REC_QKV_K, "blk.%u.ssm_conv1d.weight" },                       \
        { QR_W_REC_CONV_V, QR_SLICE_REC_QKV_V, "blk.%u.ssm_conv1d.weight" },                       \
        { QR_W_REC_A, QR_SLICE_ALL, "blk.%u.ssm_a" },                                              \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, "blk.%u.ssm_dt.bias" },                                  \
        { QR_W_REC_NORM, QR_SLICE_ALL, "blk.%u.ssm_norm.weight" },                                 \
    {                                                                                              \
        QR_W_REC_OUT, QR_SLICE_ALL, "blk.%u.ssm_out.weight"                                        \
    }

/* KDA, without the projections of decays and gates. A is exp(A_log). */
#define QR_NAMES_GGUF_KDA                                                                          \
    { QR_W_REC_Q, QR_SLICE_ALL, "blk.%u.attn_q.weight" },                                          \
        { QR_W_REC_K, QR_SLICE_ALL, "blk.%u.attn_k.weight" },                                      \
        { QR_W_REC_V, QR_SLICE_ALL, "blk.%u.attn_v.weight" },                                      \
        { QR_W_REC_BETA, QR_SLICE_ALL, "blk.%u.ssm_beta.weight" },                                 \
        { QR_W_REC_CONV_Q, QR_SLICE_ALL, "blk.%u.ssm_conv1d_q.weight" },                           \
        { QR_W_REC_CONV_K, QR_SLICE_ALL, "blk.%u.ssm_conv1d_k.weight" },                           \
        { QR_W_REC_CONV_V, QR_SLICE_ALL, "blk.%u.ssm_conv1d_v.weight" },                           \
        { QR_W_REC_A, QR_SLICE_ALL, "blk.%u.ssm_a" },                                              \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, "blk.%u.ssm_dt.bias" },                                  \
        { QR_W_REC_NORM, QR_SLICE_ALL, "blk.%u.ssm_norm.weight" },                                 \
    {                                                                                              \
        QR_W_REC_OUT, QR_SLICE_ALL, "blk.%u.attn_output.weight"                                    \
    }

/* RWKV-6; older converters have a tensor for each mix. */
#define QR_NAMES_GGUF_WKV6                                                                         \
    { QR_W_REC_MIX_X, QR_SLICE_ALL, "blk.%u.time_mix_lerp_x.weight" },                             \
        { QR_W_REC_MIX_DT, QR_SLICE_MIX_0, "blk.%u.time_mix_lerp_fused.weight" },                  \
        { QR_W_REC_MIX_K, QR_SLICE_MIX_0 + 1, "blk.%u.time_mix_lerp_fused.weight" },               \
        { QR_W_REC_MIX_V, QR_SLICE_MIX_0 + 2, "blk.%u.time_mix_lerp_fused.weight" },               \
        { QR_W_REC_MIX_Q, QR_SLICE_MIX_0 + 3, "blk.%u.time_mix_lerp_fused.weight" },               \
        { QR_W_REC_MIX_Z, QR_SLICE_MIX_0 + 4, "blk.%u.time_mix_lerp_fused.weight" },               \
        { QR_W_REC_MIX_DT, QR_SLICE_ALL, "blk.%u.time_mix_lerp_w.weight" },                        \
        { QR_W_REC_MIX_K, QR_SLICE_ALL, "blk.%u.time_mix_lerp_k.weight" },                         \
        { QR_W_REC_MIX_V, QR_SLICE_ALL, "blk.%u.time_mix_lerp_v.weight" },                         \
        { QR_W_REC_MIX_Q, QR_SLICE_ALL, "blk.%u.time_mix_lerp_r.weight" },                         \
        { QR_W_REC_MIX_Z, QR_SLICE_ALL, "blk.%u.time_mix_lerp_g.weight" },                         \
        { QR_W_REC_MIX_A, QR_SLICE_ALL, "blk.%u.time_mix_w1.weight" },                             \
        { QR_W_REC_MIX_B, QR_SLICE_ALL, "blk.%u.time_mix_w2.weight" },                             \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_decay.weight" },                        \
        { QR_W_REC_DT_A, QR_SLICE_ALL, "blk.%u.time_mix_decay_w1.weight" },                        \
        { QR_W_REC_DT, QR_SLICE_ALL, "blk.%u.time_mix_decay_w2.weight" },                          \
        { QR_W_REC_BONUS, QR_SLICE_ALL, "blk.%u.time_mix_first.weight" },                          \
        { QR_W_REC_Q, QR_SLICE_ALL, "blk.%u.time_mix_receptance.weight" },                         \
        { QR_W_REC_K, QR_SLICE_ALL, "blk.%u.time_mix_key.weight" },                                \
        { QR_W_REC_V, QR_SLICE_ALL, "blk.%u.time_mix_value.weight" },                              \
        { QR_W_REC_Q_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_receptance.bias" },                      \
        { QR_W_REC_K_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_key.bias" },                             \
        { QR_W_REC_V_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_value.bias" },                           \
        { QR_W_REC_Z, QR_SLICE_ALL, "blk.%u.time_mix_gate.weight" },                               \
        { QR_W_REC_OUT, QR_SLICE_ALL, "blk.%u.time_mix_output.weight" },                           \
        { QR_W_REC_NORM, QR_SLICE_ALL, "blk.%u.time_mix_ln.weight" },                              \
    {                                                                                              \
        QR_W_REC_NORM_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_ln.bias"                                \
    }

/* RWKV-7. */
#define QR_NAMES_GGUF_WKV7                                                                         \
    { QR_W_REC_MIX_Q, QR_SLICE_MIX_0, "blk.%u.time_mix_lerp_fused.weight" },                       \
        { QR_W_REC_MIX_DT, QR_SLICE_MIX_0 + 1, "blk.%u.time_mix_lerp_fused.weight" },              \
        { QR_W_REC_MIX_K, QR_SLICE_MIX_0 + 2, "blk.%u.time_mix_lerp_fused.weight" },               \
        { QR_W_REC_MIX_V, QR_SLICE_MIX_0 + 3, "blk.%u.time_mix_lerp_fused.weight" },               \
        { QR_W_REC_MIX_RATE, QR_SLICE_MIX_0 + 4, "blk.%u.time_mix_lerp_fused.weight" },            \
        { QR_W_REC_MIX_Z, QR_SLICE_MIX_5, "blk.%u.time_mix_lerp_fused.weight" },                   \
        { QR_W_REC_Q, QR_SLICE_ALL, "blk.%u.time_mix_receptance.weight" },                         \
        { QR_W_REC_K, QR_SLICE_ALL, "blk.%u.time_mix_key.weight" },                                \
        { QR_W_REC_V, QR_SLICE_ALL, "blk.%u.time_mix_value.weight" },                              \
        { QR_W_REC_OUT, QR_SLICE_ALL, "blk.%u.time_mix_output.weight" },                           \
        { QR_W_REC_DT_A, QR_SLICE_ALL, "blk.%u.time_mix_w1.weight" },                              \
        { QR_W_REC_DT, QR_SLICE_ALL, "blk.%u.time_mix_w2.weight" },                                \
        { QR_W_REC_DT_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_w0.weight" },                           \
        { QR_W_REC_RATE_A, QR_SLICE_ALL, "blk.%u.time_mix_a1.weight" },                            \
        { QR_W_REC_RATE, QR_SLICE_ALL, "blk.%u.time_mix_a2.weight" },                              \
        { QR_W_REC_RATE_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_a0.weight" },                         \
        { QR_W_REC_VALUE_A, QR_SLICE_ALL, "blk.%u.time_mix_v1.weight" },                           \
        { QR_W_REC_VALUE, QR_SLICE_ALL, "blk.%u.time_mix_v2.weight" },                             \
        { QR_W_REC_VALUE_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_v0.weight" },                        \
        { QR_W_REC_Z_A, QR_SLICE_ALL, "blk.%u.time_mix_g1.weight" },                               \
        { QR_W_REC_Z, QR_SLICE_ALL, "blk.%u.time_mix_g2.weight" },                                 \
        { QR_W_REC_KEY_READ, QR_SLICE_ALL, "blk.%u.time_mix_k_k.weight" },                         \
        { QR_W_REC_KEY_RATE, QR_SLICE_ALL, "blk.%u.time_mix_k_a.weight" },                         \
        { QR_W_REC_BONUS, QR_SLICE_ALL, "blk.%u.time_mix_r_k.weight" },                            \
        { QR_W_REC_NORM, QR_SLICE_ALL, "blk.%u.time_mix_ln.weight" },                              \
    {                                                                                              \
        QR_W_REC_NORM_BIAS, QR_SLICE_ALL, "blk.%u.time_mix_ln.bias"                                \
    }

/* Dense layer of Jamba, Bamba and Falcon-H1, and their norms. */
#define QR_NAMES_FEED_FORWARD                                                                      \
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.final_layernorm.weight" },                            \
        { QR_W_FFN_NORM, QR_SLICE_ALL, "model.layers.%u.pre_ff_layernorm.weight" },                \
        { QR_W_FFN_GATE, QR_SLICE_ALL, "model.layers.%u.feed_forward.gate_proj.weight" },          \
        { QR_W_FFN_UP, QR_SLICE_ALL, "model.layers.%u.feed_forward.up_proj.weight" },              \
    {                                                                                              \
        QR_W_FFN_DOWN, QR_SLICE_ALL, "model.layers.%u.feed_forward.down_proj.weight"               \
    }

#endif
