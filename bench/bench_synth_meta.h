/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth_meta.h - shape of a synthetic model, and its GGUF metadata. */
#ifndef QUIRE_BENCH_BENCH_SYNTH_META_H
#define QUIRE_BENCH_BENCH_SYNTH_META_H
#include "bench.h"
#include "bench_gguf.h"
#include "bench_weights.h"

struct synth_arch {
    const char *name, *gguf, *pre; /* of --arch; general.architecture; tokenizer.ggml.pre */
    uint32_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, context;
    uint32_t window; /* sliding window of every other layer, 0 = none */
    float theta, eps, attention_cap, final_cap;
    float rope_factor; /* of llama3 RoPE scaling, 0 = none */
    bool tied, qkv_bias, qk_norm, post_norms;
};

struct synth {
    struct synth_arch arch;
    struct bench_weight_type type; /* of most tensors */
    struct bench_weight_type f32, q6_k;
    bool mixed; /* Q4_K_M */
};

/* Writes the metadata: sizes, and a byte-level BPE tokenizer that encodes and decodes any text. */
void synth_metadata(const struct synth *s, struct gguf_writer *w);

#endif
