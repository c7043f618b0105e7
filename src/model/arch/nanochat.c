/* SPDX-License-Identifier: Apache-2.0 */
/* nanochat.c - nanochat: norms without weights, one of them behind the embedding; RoPE by negative
 * angles, then q/k norm; squared ReLU without a gate; soft cap of the logits. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "final_logit_softcapping", 15 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.fc1.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.fc2.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_nanochat = {
    .name = "nanochat",
    .hf_types = { "nanochat" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .qk_norm = QR_QK_NORM_L2,
    .embedding_norm = true,
    .final_softcap = true,
    .hf_norm = QR_NORM_RMS_PLAIN,
    .hf_rope = QR_ROPE_NEOX,
    .hf_clockwise_rope = true,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
