/* SPDX-License-Identifier: Apache-2.0 */
/* plamo_names.h - name rules that PLaMo 2 and 3 share. */
#ifndef QR_MODEL_ARCH_PLAMO_NAMES_H
#define QR_MODEL_ARCH_PLAMO_NAMES_H

/* Norms, attention and feed-forward network. layer: the prefix of a layer with a dot. */
#define QR_NAMES_PLAMO(layer)                                                                      \
    { QR_W_ATTN_NORM, QR_SLICE_ALL, layer "pre_mixer_norm.weight" },                               \
        { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, layer "post_mixer_norm.weight" },                     \
        { QR_W_FFN_NORM, QR_SLICE_ALL, layer "pre_mlp_norm.weight" },                              \
        { QR_W_FFN_POST_NORM, QR_SLICE_ALL, layer "post_mlp_norm.weight" },                        \
        { QR_W_ATTN_Q, QR_SLICE_Q, layer "mixer.qkv_proj.weight" },                                \
        { QR_W_ATTN_K, QR_SLICE_K, layer "mixer.qkv_proj.weight" },                                \
        { QR_W_ATTN_V, QR_SLICE_V, layer "mixer.qkv_proj.weight" },                                \
        { QR_W_ATTN_O, QR_SLICE_ALL, layer "mixer.o_proj.weight" },                                \
        { QR_W_FFN_GATE, QR_SLICE_GATE, layer "mlp.gate_up_proj.weight" },                         \
        { QR_W_FFN_UP, QR_SLICE_UP, layer "mlp.gate_up_proj.weight" },                             \
    {                                                                                              \
        QR_W_FFN_DOWN, QR_SLICE_ALL, layer "mlp.down_proj.weight"                                  \
    }

/* The converter leaves out ".weight" of norms of outputs. */
#define QR_NAMES_GGUF_PLAMO                                                                        \
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, "blk.%u.post_attention_norm" },                           \
        { QR_W_FFN_POST_NORM, QR_SLICE_ALL, "blk.%u.post_ffw_norm" },                              \
        { QR_W_FFN_GATE, QR_SLICE_GATE, "blk.%u.ffn_up.weight" },                                  \
    {                                                                                              \
        QR_W_FFN_UP, QR_SLICE_UP, "blk.%u.ffn_up.weight"                                           \
    }

#endif
