/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth_layers.h - the tensors of a synthetic model, by layer. */
#ifndef QUIRE_BENCH_BENCH_SYNTH_LAYERS_H
#define QUIRE_BENCH_BENCH_SYNTH_LAYERS_H
#include "bench_synth_arch.h"

/* What decides about the weight type of a matrix. */
enum synth_role { SYNTH_EMBEDDING, SYNTH_HEAD, SYNTH_ATTN_V, SYNTH_FFN_DOWN, SYNTH_OTHER };

enum synth_content {
    SYNTH_MATRIX, /* random, in the weight type of its role */
    SYNTH_RANDOM, /* f32, here and below */
    SYNTH_ONES,
    SYNTH_SMALL,    /* random, to 0.1 */
    SYNTH_NEGATIVE, /* random, from -2 to -0.5: rates of decay */
    SYNTH_ROPE_FACTORS,
};

struct synth_tensor {
    char name[64];
    enum synth_content content;
    enum synth_role role;
    uint32_t layer;
    bool of_experts;
    uint64_t dims[3]; /* [n_dims], innermost first */
    uint32_t n_dims;
};

/* Calls put for every tensor of the model, in the order of the file. */
void synth_tensors(const struct synth_arch *a, void (*put)(void *user, const struct synth_tensor *),
                   void *user);

#endif
