/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios.c - the list of scenarios, results and input values. */
#include "scenarios.h"
#include <string.h>

const struct scenario scenarios[] = {
    { "paged", run_paged },
    { "dense", run_dense },
    { "merge", run_merge },
    { "bias", run_bias },
    { "mla", run_mla },
    { "gguf", run_gguf_model },
    { "safetensors", run_safetensors_model },
    { "encoder", run_encoder },
    { "pack-cache", run_pack_cache },
    { "tokenizer", run_tokenizer },
    { "tokenizer-json", run_tokenizer_json },
    { "template", run_template },
    { "sampler", run_sampler },
    { "engine", run_engine },
    { "draft-model", run_draft_model },
};
const size_t n_scenarios = sizeof scenarios / sizeof scenarios[0];

void add_result(struct run *run, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        run->hash = (run->hash ^ p[i]) * UINT64_C(0x100000001b3);
}

void fill_floats(float *x, size_t n, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        uint32_t bits = (state & 0x807fffffu) | (121 + (state >> 8) % 9) << 23;
        if (state % 61 == 0)
            bits = state & 0x800fffffu; /* denormal */
        memcpy(&x[i], &bits, sizeof bits);
    }
}
