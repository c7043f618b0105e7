/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth_arch.h - shapes of the real models that `quire-bench synth` imitates. */
#ifndef QUIRE_BENCH_BENCH_SYNTH_ARCH_H
#define QUIRE_BENCH_BENCH_SYNTH_ARCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What mixes the tokens of a layer; the letters of synth_arch.mixers. */
enum synth_mixer {
    SYNTH_ATTENTION = 'a',
    SYNTH_SHORT_CONV = 'c',
    SYNTH_DELTA = 'd', /* gated delta net */
    SYNTH_MAMBA2 = 'm',
};

struct synth_arch {
    const char *name, *gguf, *pre; /* of --arch; general.architecture; tokenizer.ggml.pre */
    uint32_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, context;
    uint32_t rope_dims; /* 0 = head_size */
    uint32_t window;    /* sliding window of every other layer, 0 = none */
    float theta, eps, attention_cap, final_cap;
    float rope_factor; /* of llama3 RoPE scaling, 0 = none */
    float yarn_factor; /* of YaRN from yarn_context, 0 = none */
    uint32_t yarn_context;
    bool tied, qkv_bias, qk_norm, post_norms;
    bool embedding_norm; /* the last norm is named token_embd_norm */
    bool ffn_norm_after; /* the norm before the FFN is named post_attention_norm */
    bool attention_gate; /* attn_q holds a gate of the output beside the queries */
    bool sinks;          /* of attention, and a bias of its output */
    const char *mixers;  /* of layers 0, 1, ..., repeated; NULL = attention */
    /* recurrent layers */
    uint32_t conv_size;                    /* taps of the causal convolution */
    uint32_t state_heads, state_head_size; /* of the values */
    uint32_t state_groups, state_size;     /* heads and size of the keys */
    /* mixture of experts instead of a dense FFN: n_experts > 0 */
    uint32_t n_experts, n_used, expert_ffn, shared_ffn;
    bool expert_bias, shared_gate;
    /* factors of Granite, 0 = none */
    float attention_scale, embedding_scale, residual_scale, logit_scale;
};

/* NULL: there is none. */
const struct synth_arch *synth_arch_find(const char *name);
const struct synth_arch *synth_arch_get(size_t i);

enum synth_mixer synth_arch_mixer(const struct synth_arch *a, uint32_t layer);

#endif
