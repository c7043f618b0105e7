/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth_lora.c - `quire-bench synth --lora-rank`: a GGUF adapter for all matrices of the
 * layers of a synthetic model. */
#include "bench_synth_lora.h"
#include "bench_stats.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BF16 = 30, N_MATRICES = 7 };

struct matrix {
    const char *name;
    uint32_t out, in;
};

/* One of a pair [rows][columns]. */
static void put_tensor(struct gguf_writer *w, bool data, const char *name, uint32_t rows,
                       uint32_t columns, float size, uint64_t *random)
{
    if (!data) {
        gguf_tensor(w, name, BF16, rows, columns, (uint64_t)rows * columns * 2);
        return;
    }
    for (uint64_t i = 0; i < (uint64_t)rows * columns; i++) {
        const float v = size * bench_random_float(random);
        uint16_t half[2]; /* little-endian: bf16 is the upper half */
        memcpy(half, &v, sizeof half);
        gguf_data(w, &half[1], sizeof half[1]);
    }
    gguf_pad(w);
}

static void put_layers(struct gguf_writer *w, const struct synth_arch *a, uint32_t rank, bool data,
                       uint64_t *random)
{
    const uint32_t q = a->heads * a->head_size, kv = a->kv_heads * a->head_size;
    const struct matrix matrices[N_MATRICES] = {
        { "attn_q", q, a->hidden },        { "attn_k", kv, a->hidden },
        { "attn_v", kv, a->hidden },       { "attn_output", a->hidden, q },
        { "ffn_gate", a->ffn, a->hidden }, { "ffn_up", a->ffn, a->hidden },
        { "ffn_down", a->hidden, a->ffn },
    };
    for (uint32_t i = 0; i < a->layers; i++)
        for (int m = 0; m < N_MATRICES; m++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%u.%s.weight.lora_a", i, matrices[m].name);
            put_tensor(w, data, name, rank, matrices[m].in, 1 / sqrtf((float)matrices[m].in),
                       random);
            snprintf(name, sizeof name, "blk.%u.%s.weight.lora_b", i, matrices[m].name);
            put_tensor(w, data, name, matrices[m].out, rank, 0.1f / sqrtf((float)rank), random);
        }
}

bool synth_lora_write(const char *path, const struct synth_arch *a, uint32_t rank, uint32_t seed)
{
    struct gguf_writer w;
    uint64_t random = seed * 2654435761u + 1;
    if (!gguf_open(&w, path))
        return false;
    gguf_text(&w, "general.type", "adapter");
    gguf_text(&w, "general.architecture", a->gguf);
    gguf_text(&w, "adapter.type", "lora");
    gguf_f32(&w, "adapter.lora.alpha", (float)rank);
    put_layers(&w, a, rank, false, &random);
    gguf_begin_data(&w);
    put_layers(&w, a, rank, true, &random);
    return gguf_finish(&w);
}
