/* SPDX-License-Identifier: Apache-2.0 */
/* minimax_m3.c - text model of MiniMax M3: block-sparse attention by an indexer, norms of 1 + w,
 * clamped SwiGLU in every feed-forward network, sigmoid router with a correction. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 1048576 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 5000000 },
    { "index_block_size", 128 },
    { "index_local_blocks", 1 },
    { 0 },
};

#define S "sparse_attention_config."
static const struct qr_hf_alias aliases[] = {
    { "rope_dim", "rotary_dim" },
    { "intermediate_size_mlp", "dense_intermediate_size" },
    { "layer_types", S "sparse_attention_freq" },
    { "index_n_heads", S "sparse_num_index_heads" },
    { "index_head_dim", S "sparse_index_dim" },
    { "index_topk_blocks", S "sparse_topk_blocks" },
    { "index_block_size", S "sparse_block_size" },
    { "index_local_blocks", S "sparse_local_block" },
    { "sparse_score_type", S "sparse_score_type" },
    { "use_sparse_attention", S "use_sparse_attention" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_qk_norm", true },
    { "use_gemma_norm", true },
    { "use_routing_bias", true },
    { "use_sparse_attention", true },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "qk_norm_type", "per_head" },
    { "sparse_score_type", "max" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { S "sparse_disable_index_value", NULL }, /* layers without values of the index: no tensors */
    { "swiglu_beta", "1" },                   /* what is added to the linear part */
    { "num_mtp_modules", NULL },              /* layers that are not computed */
    { "mtp_transformer_layers", NULL },
    { 0 },
};
#undef S

static const char *const ignored_tensors[] = {
    "mtp.*",
    "model.mtp.*",
    "language_model.mtp.*", /* layers that predict further tokens */
    "patch_merge_mlp.*",    /* a projection of images */
    NULL,
};

#define L "model.layers.%u."
#define M L "block_sparse_moe."
static const struct qr_name_rule names[] = {
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "mlp.gate_up_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "mlp.gate_up_proj.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.down_proj" },
    { QR_W_SHARED_GATE, QR_SLICE_GATE, L "mlp.shared_experts.gate_up_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_UP, L "mlp.shared_experts.gate_up_proj.weight" },
    { QR_W_INDEX_Q, QR_SLICE_ALL, L "self_attn.indexer.q_proj.weight" },
    { QR_W_INDEX_Q_NORM, QR_SLICE_ALL, L "self_attn.indexer.q_norm.weight" },
    { QR_W_INDEX_K, QR_SLICE_ALL, L "self_attn.indexer.k_proj.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, L "self_attn.indexer.k_norm.weight" },
    /* published checkpoints */
    { QR_W_ROUTER, QR_SLICE_ALL, M "gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, M "e_score_correction_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, M "experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, M "experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, M "experts.%u.w2.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, M "shared_experts.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, M "shared_experts.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, M "shared_experts.down_proj.weight" },
    { QR_W_INDEX_Q, QR_SLICE_ALL, L "self_attn.index_q_proj.weight" },
    { QR_W_INDEX_Q_NORM, QR_SLICE_ALL, L "self_attn.index_q_norm.weight" },
    { QR_W_INDEX_K, QR_SLICE_ALL, L "self_attn.index_k_proj.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, L "self_attn.index_k_norm.weight" },
    { 0 },
};
#undef M
#undef L

#define L "blk.%u.indexer."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_INDEX_Q, QR_SLICE_ALL, L "q_proj.weight" },
    { QR_W_INDEX_Q_NORM, QR_SLICE_ALL, L "q_norm.weight" },
    { QR_W_INDEX_K, QR_SLICE_ALL, L "k_proj.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, L "k_norm.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_minimax_m3 = {
    .name = "minimax_m3",
    .hf_types = { "minimax_m3_vl_text", "minimax_m3" },
    .gguf_archs = { "minimax-m3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SWIGLU_OAI,
    .act_alpha = 1.702f,
    .act_limit = 7,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_index = true,
    .index = { .q_norm = true },
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .renormalize = true },
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_mtp = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
