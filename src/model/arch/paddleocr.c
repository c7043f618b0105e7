/* SPDX-License-Identifier: Apache-2.0 */
/* paddleocr.c - the text of PaddleOCR-VL: ERNIE 4.5 with RoPE over the halves of heads, in sections
 * whose positions are those of the text. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 103424 },      { "hidden_size", 1024 },
    { "intermediate_size", 3072 }, { "num_hidden_layers", 18 },
    { "num_attention_heads", 16 }, { "num_key_value_heads", 2 },
    { "head_dim", 128 },           { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },      { "rope_theta", 500000 },
    { "tie_word_embeddings", 1 },  { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "compression_ratio", "1" }, /* divides positions */
    { "ignored_index", NULL },    /* training */
    { "rope_is_neox_style", "true" },
    { "use_3d_rope", NULL },           /* positions of images; those of text are plain */
    { "weight_share_add_bias", NULL }, /* of an LM head with a bias, which there is none */
    { "vision_config", NULL },         /* older files have all keys in one object */
    { 0 },
};

/* Projections of images. */
static const char *const ignored_tensors[] = { "mlp_AR.*", "model.projector.*", NULL };

const struct qr_arch qr_arch_paddleocr_vl = {
    .name = "paddleocr_vl",
    .hf_types = { "paddleocr_vl_text", "paddleocr_vl" },
    .gguf_archs = { "paddleocr" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias_key = "use_bias",
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
