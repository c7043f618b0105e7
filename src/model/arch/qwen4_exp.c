/* SPDX-License-Identifier: Apache-2.0 */
/* qwen4_exp.c - Qwen4-Exp: layers as those of Qwen3.5 with experts, on hyper-connections, with
 * sparse attention by compressed index keys and embeddings of n-grams in some layers. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.25 },
    { "head_dim", 256 },
    { "num_key_value_heads", 2 },
    { "intermediate_size", 1 }, /* no layer is dense */
    { "linear_conv_kernel_dim", 4 },
    { "linear_key_head_dim", 128 },
    { "linear_value_head_dim", 128 },
    { "linear_num_key_heads", 16 },
    { "linear_num_value_heads", 32 },
    { "moe_intermediate_size", 512 },
    { "shared_expert_intermediate_size", 512 },
    { "num_experts", 512 },
    { "num_experts_per_tok", 10 },
    { "norm_topk_prob", 1 },
    { "full_attention_interval", 4 },
    { "hc_count", 4 },
    { "hc_lowrank", 320 },
    { "ple_conv_kernel_size", 4 },
    { "ngram_size", 3 },
    { "heads_per_ngram", 8 },
    { "ngram_vocab_size_base", 20000000 },
    { "make_ngram_vocab_size_divisible_by", 128 },
    { "split_ngram_parts", 512 },
    { "seed", 1234 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "index_n_heads", "indexer_n_heads" },
    { "index_head_dim", "indexer_head_dim" },
    { "index_block_size", "indexer_compress_ratio" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "mamba_ssm_dtype", NULL }, /* the state is f32 */
    { "attn_output_gate", "true" },
    { "number_of_conv_states", NULL }, /* of a cache of the reference implementation */
    { "mtp_*", NULL },                 /* heads of multi-token prediction: no part of the model */
    { 0 },
};

/* What these tables contain follows from the configuration. */
#define TABLES "*.ple.ple_embedding."
static const char *const ignored_tensors[] = { "mtp.*", TABLES "layer_multipliers",
                                               TABLES "ngram_heads_offsets",
                                               TABLES "ngram_heads_vocab_sizes", NULL };
#undef TABLES

#define L     "model.layers.%u."
#define REC   L "linear_attn."
#define ATTN  L "self_attn."
#define INDEX ATTN "indexer."
#define NGRAM L "ple."
#define HYPER(site, at)                                                                            \
    { QR_W_HYPER_##site##_NORM, QR_SLICE_ALL, at "hc_norm.weight" },                               \
        { QR_W_HYPER_##site##_DOWN, QR_SLICE_ALL, at "input_mix_weight_down.weight" },             \
    {                                                                                              \
        QR_W_HYPER_##site##_UP, QR_SLICE_ALL, at "input_mix_weight_up.weight"                      \
    }
static const struct qr_name_rule names[] = {
    HYPER(OUT, "model.hyper_connection_mixer."),
    HYPER(ATTN, L "attn_hyper_connection."),
    HYPER(FFN, L "mlp_hyper_connection."),
    { QR_W_HYPER_ATTN_INJECT, QR_SLICE_ALL, L "attn_hyper_connection.block_inject_weight.weight" },
    { QR_W_HYPER_FFN_INJECT, QR_SLICE_ALL, L "mlp_hyper_connection.block_inject_weight.weight" },
    { QR_W_NGRAM_EMBD, QR_SLICE_ALL, NGRAM "ple_embedding.ngram_embedding.shard_%u.weight" },
    { QR_W_NGRAM_KEY, QR_SLICE_ALL, NGRAM "key_proj.weight" },
    { QR_W_NGRAM_VALUE, QR_SLICE_ALL, NGRAM "value_proj.weight" },
    { QR_W_NGRAM_KEY_NORM, QR_SLICE_ALL, NGRAM "norm_key.weight" },
    { QR_W_NGRAM_QUERY_NORM, QR_SLICE_ALL, NGRAM "norm_query.weight" },
    { QR_W_NGRAM_CONV_NORM, QR_SLICE_ALL, NGRAM "norm_conv.weight" },
    { QR_W_NGRAM_CONV, QR_SLICE_ALL, NGRAM "conv1d.weight" },
    { QR_W_ATTN_Q, QR_SLICE_HALF_QUERY, ATTN "q_proj.weight" },
    { QR_W_ATTN_GATE, QR_SLICE_HALF_GATE, ATTN "q_proj.weight" },
    { QR_W_INDEX_Q, QR_SLICE_INDEX_Q, INDEX "index_qk_proj.weight" },
    { QR_W_INDEX_K, QR_SLICE_INDEX_K, INDEX "index_qk_proj.weight" },
    { QR_W_INDEX_Q_NORM, QR_SLICE_ALL, INDEX "q_layernorm.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, INDEX "k_layernorm.weight" },
    { QR_W_REC_CONV_Q, QR_SLICE_REC_QKV_Q, REC "conv1d.weight" },
    { QR_W_REC_CONV_K, QR_SLICE_REC_QKV_K, REC "conv1d.weight" },
    { QR_W_REC_CONV_V, QR_SLICE_REC_QKV_V, REC "conv1d.weight" },
    { QR_W_REC_A, QR_SLICE_ALL, REC "A_log" },
    { QR_W_REC_DT_BIAS, QR_SLICE_ALL, REC "dt_bias" },
    { QR_W_REC_NORM, QR_SLICE_ALL, REC "norm.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, REC "out_proj.weight" },
    { QR_W_REC_Q, QR_SLICE_REC_QKV_Q, REC "in_proj_qkv.weight" },
    { QR_W_REC_K, QR_SLICE_REC_QKV_K, REC "in_proj_qkv.weight" },
    { QR_W_REC_V, QR_SLICE_REC_QKV_V, REC "in_proj_qkv.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, REC "in_proj_z.weight" },
    { QR_W_REC_BETA, QR_SLICE_ALL, REC "in_proj_b.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, REC "in_proj_a.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.down_proj" },
    { 0 },
};
#undef HYPER
#undef NGRAM
#undef INDEX
#undef ATTN
#undef REC
#undef L

#define L "blk.%u."
#define HYPER(site, at)                                                                            \
    { QR_W_HYPER_##site##_NORM, QR_SLICE_ALL, at "norm.weight" },                                  \
        { QR_W_HYPER_##site##_DOWN, QR_SLICE_ALL, at "down.weight" },                              \
    {                                                                                              \
        QR_W_HYPER_##site##_UP, QR_SLICE_ALL, at "up.weight"                                       \
    }
static const struct qr_name_rule gguf_names[] = {
    HYPER(OUT, "output_hc_"),
    HYPER(ATTN, L "hc_attn_"),
    HYPER(FFN, L "hc_ffn_"),
    { QR_W_HYPER_ATTN_INJECT, QR_SLICE_ALL, L "hc_attn_inject.weight" },
    { QR_W_HYPER_FFN_INJECT, QR_SLICE_ALL, L "hc_ffn_inject.weight" },
    { QR_W_NGRAM_EMBD, QR_SLICE_ALL | QR_SLICE_FLAT, "per_layer_token_embd.weight" },
    { QR_W_NGRAM_KEY, QR_SLICE_ALL, L "ple_key.weight" },
    { QR_W_NGRAM_VALUE, QR_SLICE_ALL, L "ple_value.weight" },
    { QR_W_NGRAM_KEY_NORM, QR_SLICE_ALL, L "ple_norm_key.weight" },
    { QR_W_NGRAM_QUERY_NORM, QR_SLICE_ALL, L "ple_norm_query.weight" },
    { QR_W_NGRAM_CONV_NORM, QR_SLICE_ALL, L "ple_norm_conv.weight" },
    { QR_W_NGRAM_CONV, QR_SLICE_ALL, L "ple_conv1d.weight" },
    { QR_W_ATTN_Q, QR_SLICE_HALF_QUERY, L "attn_q.weight" },
    { QR_W_ATTN_GATE, QR_SLICE_HALF_GATE, L "attn_q.weight" },
    { QR_W_INDEX_Q, QR_SLICE_ALL, L "indexer.q_proj.weight" },
    { QR_W_INDEX_K, QR_SLICE_ALL, L "indexer.k_proj.weight" },
    { QR_W_INDEX_Q_NORM, QR_SLICE_ALL, L "indexer.q_norm.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, L "indexer.k_norm.weight" },
    QR_NAMES_GGUF_GATED_DELTA,
    { 0 },
};
#undef HYPER
#undef L

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_DELTA, .output = QR_RECURRENT_OUT_NORM_GATE },
    .mixer = QR_MIXER_RECURRENT,
    .head_norm = true,
    .gguf_tiled_heads = true,
};

const struct qr_arch qr_arch_qwen4_exp = {
    .name = "qwen4_exp",
    .hf_types = { "qwen4_exp_text" },
    .gguf_archs = { "qwen4exp" },
    .block = QR_BLOCK_PLAIN,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .attention_gate = true,
    .hyper = QR_HYPER_GATED,
    .ngrams = true,
    .recurrent = &recurrent,
    .has_index = true,
    .index = { .weighted = true, .unit_weights = true, .compressed = true, .q_norm = true },
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true, .shared_gate = true },
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_output_gate = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_mtp = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
