/* SPDX-License-Identifier: Apache-2.0 */
/* zamba2.c - Zamba2: Mamba-2 layers, some of which also read the output of a transformer block that
 * they share, with low-rank updates of its weights per layer. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "tie_word_embeddings", 1 },
    { "mamba_n_heads", 8 },
    { "mamba_n_groups", 1 },
    { "mamba_d_state", 64 },
    { "mamba_d_conv", 4 },
    { "num_mem_blocks", 1 },
    { "adapter_rank", 128 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "mamba_n_heads", "n_mamba_heads" },  { "mamba_d_head", "mamba_headdim" },
    { "mamba_n_groups", "mamba_ngroups" }, { "mamba_conv_bias", "use_conv_bias" },
    { "head_dim", "attention_head_dim" },  { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "add_bias_linear", false },
    { "use_long_context", false },      /* changes the base of RoPE */
    { "use_shared_mlp_adapter", true }, /* what the reference implementation computes */
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "hybrid_layer_ids", NULL }, /* follows from layers_block_type */
    { "time_step_*", NULL },      /* initialization; a limit is read */
    { "ffn_hidden_size", NULL },  /* not read: sizes of an earlier implementation */
    { "kv_channels", NULL },        { "num_query_groups", NULL },
    { "chunk_size", NULL }, /* implementation */
    { "use_mamba_kernels", NULL },  { "use_mem_eff_path", NULL },
    { "num_logits_to_keep", NULL }, { 0 },
};

#define L         "model.layers.%u."
#define BLOCK     L "shared_transformer."
#define ATTENTION BLOCK "self_attn."
#define FFN       BLOCK "feed_forward."
static const struct qr_name_rule names[] = {
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.final_layernorm.weight" },
    QR_NAMES_MAMBA2(L "mamba."),
    QR_NAMES_MAMBA2(L "mamba_decoder.mamba."),
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "mamba_decoder.input_layernorm.weight" },
    { QR_W_BLOCK_NORM, QR_SLICE_ALL, BLOCK "input_layernorm.weight" },
    { QR_W_BLOCK_OUT, QR_SLICE_ALL, L "linear.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, ATTENTION "q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, ATTENTION "k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, ATTENTION "v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, ATTENTION "o_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, BLOCK "pre_ff_layernorm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, FFN "gate_up_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, FFN "gate_up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, FFN "down_proj.weight" },
    { QR_W_LOW_RANK_Q_A, QR_SLICE_ALL, ATTENTION "linear_q_adapter_list.%u.0.weight" },
    { QR_W_LOW_RANK_Q_B, QR_SLICE_ALL, ATTENTION "linear_q_adapter_list.%u.1.weight" },
    { QR_W_LOW_RANK_K_A, QR_SLICE_ALL, ATTENTION "linear_k_adapter_list.%u.0.weight" },
    { QR_W_LOW_RANK_K_B, QR_SLICE_ALL, ATTENTION "linear_k_adapter_list.%u.1.weight" },
    { QR_W_LOW_RANK_V_A, QR_SLICE_ALL, ATTENTION "linear_v_adapter_list.%u.0.weight" },
    { QR_W_LOW_RANK_V_B, QR_SLICE_ALL, ATTENTION "linear_v_adapter_list.%u.1.weight" },
    { QR_W_LOW_RANK_FFN_A, QR_SLICE_ALL, FFN "gate_up_proj_adapter_list.%u.0.weight" },
    { QR_W_LOW_RANK_GATE_B, QR_SLICE_GATE, FFN "gate_up_proj_adapter_list.%u.1.weight" },
    { QR_W_LOW_RANK_UP_B, QR_SLICE_UP, FFN "gate_up_proj_adapter_list.%u.1.weight" },
    { 0 },
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_MAMBA2, .output = QR_RECURRENT_OUT_GATE_NORM },
    .mixer = QR_MIXER_RECURRENT,
    .no_ffn = true,
    .grouped_norm = true,
};

const struct qr_arch qr_arch_zamba2 = {
    .name = "zamba2",
    .hf_types = { "zamba2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_ERF,
    .gated = true,
    .recurrent = &recurrent,
    .hf_shared_blocks = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_rope_key = "use_mem_rope",
    .hf_ffn_multiplier = 4,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
