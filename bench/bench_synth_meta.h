/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth_meta.h - GGUF metadata of a synthetic model. */
#ifndef QUIRE_BENCH_BENCH_SYNTH_META_H
#define QUIRE_BENCH_BENCH_SYNTH_META_H
#include "bench.h"
#include "bench_gguf.h"
#include "bench_synth_arch.h"
#include "bench_weights.h"

struct synth {
    struct synth_arch arch;
    struct bench_weight_type type; /* of most tensors */
    struct bench_weight_type f32, q6_k, q8_0;
    bool mixed; /* Q4_K_M */
};

/* Writes the metadata: sizes, and a byte-level BPE tokenizer that encodes and decodes any text. */
void synth_metadata(const struct synth *s, struct gguf_writer *w);

#endif
