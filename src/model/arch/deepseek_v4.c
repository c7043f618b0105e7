/* SPDX-License-Identifier: Apache-2.0 */
/* deepseek_v4.c - DeepSeek V4: hyper-connections, keys that are values, windows together with
 * compressed keys, and experts, in some layers by a table of tokens. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 129280 },
    { "hidden_size", 4096 },
    { "intermediate_size", 1 }, /* no layer is dense */
    { "moe_intermediate_size", 2048 },
    { "num_hidden_layers", 43 },
    { "num_attention_heads", 64 },
    { "num_key_value_heads", 1 },
    { "head_dim", 512 },
    { "q_lora_rank", 1024 },
    { "num_experts_per_tok", 6 },
    { "n_routed_experts", 256 },
    { "n_shared_experts", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 1.5 },
    { "max_position_embeddings", 1048576 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "compress_rope_theta", 160000 },
    { "partial_rotary_factor", 0.125 },
    { "sliding_window", 128 },
    { "hc_count", 4 },
    { "hc_sinkhorn_iters", 20 },
    { "hc_eps", 1e-6 },
    { "swiglu_limit", 10 },
    { "o_groups", 8 },
    { "o_lora_rank", 1024 },
    { "index_n_heads", 64 },
    { "index_head_dim", 128 },
    { "index_topk", 512 },
    { "num_hash_layers", 3 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hc_count", "hc_mult" },
    { "rope_dim", "qk_rope_head_dim" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_bias", false },
    { "mlp_bias", false },
    { "norm_topk_prob", true }, /* the reference implementation always divides by the sum */
    { 0 },
};

/* Heads of multi-token prediction, which are not computed. */
static const char *const ignored_tensors[] = { "mtp.*", "model.mtp.*", NULL };

#define L    "model.layers.%u."
#define ATTN L "attn."
#define FFN  L "ffn."
#define HYPER(site, at)                                                                            \
    { QR_W_HYPER_##site##_MIX, QR_SLICE_ALL, at "fn" },                                            \
        { QR_W_HYPER_##site##_BASE, QR_SLICE_ALL, at "base" },                                     \
    {                                                                                              \
        QR_W_HYPER_##site##_SCALE, QR_SLICE_ALL, at "scale"                                        \
    }
static const struct qr_name_rule names[] = {
    { QR_W_OUTPUT, QR_SLICE_ALL, "head.weight" },
    HYPER(OUT, "model.hc_head.hc_"),
    HYPER(ATTN, L "hc_attn_"),
    HYPER(FFN, L "hc_ffn_"),
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, ATTN "wq_a.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, ATTN "q_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, ATTN "wq_b.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, ATTN "wkv.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, ATTN "norm.weight" },
    { QR_W_ATTN_SINKS, QR_SLICE_ALL, ATTN "attn_sink" },
    { QR_W_ATTN_O_A, QR_SLICE_ALL, ATTN "wo_a.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, ATTN "wo_b.weight" },
    { QR_W_COMPRESS_KV, QR_SLICE_ALL, ATTN "compressor.wkv.weight" },
    { QR_W_COMPRESS_GATE, QR_SLICE_ALL, ATTN "compressor.wgate.weight" },
    { QR_W_COMPRESS_BIAS, QR_SLICE_ALL, ATTN "compressor.ape" },
    { QR_W_COMPRESS_NORM, QR_SLICE_ALL, ATTN "compressor.norm.weight" },
    { QR_W_INDEX_Q, QR_SLICE_ALL, ATTN "indexer.wq_b.weight" },
    { QR_W_INDEX_WEIGHTS, QR_SLICE_ALL, ATTN "indexer.weights_proj.weight" },
    { QR_W_INDEX_COMPRESS_KV, QR_SLICE_ALL, ATTN "indexer.compressor.wkv.weight" },
    { QR_W_INDEX_COMPRESS_GATE, QR_SLICE_ALL, ATTN "indexer.compressor.wgate.weight" },
    { QR_W_INDEX_COMPRESS_BIAS, QR_SLICE_ALL, ATTN "indexer.compressor.ape" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, ATTN "indexer.compressor.norm.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, FFN "gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, FFN "gate.bias" },
    { QR_W_ROUTER_TABLE, QR_SLICE_ALL, FFN "gate.tid2eid" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, FFN "experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, FFN "experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, FFN "experts.%u.w2.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, FFN "shared_experts.w1.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, FFN "shared_experts.w3.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, FFN "shared_experts.w2.weight" },
    { 0 },
};
#undef HYPER
#undef FFN
#undef ATTN
#undef L

#define L "blk.%u."
#define HYPER(site, at)                                                                            \
    { QR_W_HYPER_##site##_MIX, QR_SLICE_ALL, at "fn.weight" },                                     \
        { QR_W_HYPER_##site##_BASE, QR_SLICE_ALL, at "base.weight" },                              \
    {                                                                                              \
        QR_W_HYPER_##site##_SCALE, QR_SLICE_ALL, at "scale.weight"                                 \
    }
static const struct qr_name_rule gguf_names[] = {
    HYPER(OUT, "output_hc_"),
    HYPER(ATTN, L "hc_attn_"),
    HYPER(FFN, L "hc_ffn_"),
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, L "attn_q_a.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, L "attn_q_a_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn_q_b.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn_kv.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "attn_kv_a_norm.weight" },
    { QR_W_ATTN_O_A, QR_SLICE_ALL, L "attn_output_a.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn_output_b.weight" },
    { QR_W_COMPRESS_KV, QR_SLICE_ALL, L "attn_compressor_kv.weight" },
    { QR_W_COMPRESS_GATE, QR_SLICE_ALL, L "attn_compressor_gate.weight" },
    { QR_W_COMPRESS_BIAS, QR_SLICE_ALL, L "attn_compressor_ape.weight" },
    { QR_W_COMPRESS_NORM, QR_SLICE_ALL, L "attn_compressor_norm.weight" },
    { QR_W_INDEX_Q, QR_SLICE_ALL, L "indexer.attn_q_b.weight" },
    { QR_W_INDEX_WEIGHTS, QR_SLICE_ALL, L "indexer.proj.weight" },
    { QR_W_INDEX_COMPRESS_KV, QR_SLICE_ALL, L "indexer_compressor_kv.weight" },
    { QR_W_INDEX_COMPRESS_GATE, QR_SLICE_ALL, L "indexer_compressor_gate.weight" },
    { QR_W_INDEX_COMPRESS_BIAS, QR_SLICE_ALL, L "indexer_compressor_ape.weight" },
    { QR_W_INDEX_K_NORM, QR_SLICE_ALL, L "indexer_compressor_norm.weight" },
    { QR_W_ROUTER_TABLE, QR_SLICE_ALL, L "ffn_gate_tid2eid.weight" },
    { 0 },
};
#undef HYPER
#undef L

const struct qr_arch qr_arch_deepseek_v4 = {
    .name = "deepseek_v4",
    .hf_types = { "deepseek_v4" },
    .gguf_archs = { "deepseek4" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hyper = QR_HYPER_SINKHORN,
    .sinks = true,
    .shared_key_value = true,
    .has_index = true,
    .index = { .weighted = true,
               .low_rank_q = true,
               .pooled = true,
               .rope_last = true,
               .interleaved = true },
    .has_moe = true,
    .moe = { .gating = QR_GATING_SQRT_SOFTPLUS, .correction = true, .renormalize = true },
    .ignored_tensors = ignored_tensors,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_yarn_unscaled = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_ALL,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
