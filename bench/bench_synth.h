/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth.h - shapes of models, and the metadata that makes a file of them. */
#ifndef QUIRE_BENCH_BENCH_SYNTH_H
#define QUIRE_BENCH_BENCH_SYNTH_H
#include "bench.h"
#include "bench_gguf.h"

struct synth_arch {
    const char *name, *gguf, *pre; /* ours; general.architecture; pre-tokenizer */
    uint32_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, context;
    uint32_t window; /* sliding window of every other layer, 0 = none */
    float theta, eps, attention_cap, final_cap;
    float rope_factor; /* of the llama3 scaling, 0 = none */
    bool tied, qkv_bias, qk_norm, post_norms;
};

struct synth {
    struct synth_arch arch;
    uint32_t type;
    bool mixed; /* Q4_K_M */
};

/* Writes all metadata: sizes, and a byte-level BPE tokenizer that can encode and decode any text. */
void synth_metadata(const struct synth *s, struct gguf_writer *w);

#endif
