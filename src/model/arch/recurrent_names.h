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
