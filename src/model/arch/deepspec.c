/* SPDX-License-Identifier: Apache-2.0 */
/* deepspec.c - tables of the drafters of DeepSpec. */
#include "model/arch/deepspec.h"

const struct qr_ignored_key qr_deepspec_ignored_keys[] = {
    { "num_target_layers", NULL }, /* of the model; the layers that are read have numbers */
    { "target_model_type", NULL },
    { "target_text_model_type", NULL },
    { "target_model_name_or_path", NULL },
    { "tie_word_embeddings", NULL },     /* the tensors show what the drafter has of its own */
    { "draft_num_hidden_layers", NULL }, /* num_hidden_layers once more */
    { "num_anchors", NULL },             /* training, like the following */
    { "ttt_length", NULL },
    { "step_loss_decay", NULL },
    { 0 },
};

const struct qr_hf_default qr_deepspec_gemma4_defaults[] = {
    { "vocab_size", 262144 },
    { "hidden_size", 2304 },
    { "intermediate_size", 9216 },
    { "num_attention_heads", 8 },
    { "num_key_value_heads", 4 },
    { "head_dim", 256 },
    { "global_head_dim", 512 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 1000000 },
    { "rope_local_base_freq", 10000 },
    { "max_position_embeddings", 131072 },
    { "sliding_window", 512 },
    { "final_logit_softcapping", 0 },
    { 0 },
};

const struct qr_hf_fixed_bool qr_deepspec_gemma4_bools[] = {
    { "enable_moe_block", false },
    { "use_double_wide_mlp", false },
    { 0 },
};

const struct qr_name_rule qr_deepspec_gemma4_names[] = {
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, "layers.%u.post_attention_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, "layers.%u.pre_feedforward_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, "layers.%u.post_feedforward_layernorm.weight" },
    { QR_W_LAYER_SCALE, QR_SLICE_ALL, "layers.%u.layer_scalar" },
    { 0 },
};
