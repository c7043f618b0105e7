/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth.c - `quire-bench synth`: writes a GGUF file with the shape of a real model and
 * random weights. */
#include "bench_stats.h"
#include "bench_synth_layers.h"
#include "bench_synth_lora.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- weight type of each tensor */

/* Q4_K_M keeps attn_v and ffn_down in Q6_K in the first and last eighth of the layers and every
 * third layer between them. */
static bool more_bits(uint32_t layer, uint32_t n)
{
    return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2;
}

/* Quantized files, except Q8_0, keep the output head in Q6_K, tied or not. Files of MXFP4 with
 * experts keep all else in Q8_0. */
static const struct bench_weight_type *tensor_type(const struct synth *s,
                                                   const struct synth_tensor *t)
{
    const bool head = t->role == SYNTH_HEAD || (t->role == SYNTH_EMBEDDING && s->arch.tied);
    const bool down = t->role == SYNTH_ATTN_V || t->role == SYNTH_FFN_DOWN;
    if (t->content != SYNTH_MATRIX)
        return &s->f32;
    if (strcmp(s->type.name, "MXFP4") == 0 && s->arch.n_experts && !t->of_experts)
        return &s->q8_0;
    if (head && s->type.block_elems > 1 && strcmp(s->type.name, "Q8_0") != 0 &&
        s->arch.hidden % s->q6_k.block_elems == 0)
        return &s->q6_k;
    if (s->mixed && down && more_bits(t->layer, s->arch.layers))
        return &s->q6_k;
    return &s->type;
}

/* ---- the tensors, traversed once for the directory and once for the data */

struct output {
    struct synth *s;
    struct gguf_writer *w;
    uint64_t rng;
    uint8_t *buffer; /* rows of a tensor */
};
enum { BUFFER_BYTES = 1 << 20 };

/* Divisor of RoPE frequency i in llama3 scaling: 1 for wavelengths below 8192 / 4, `factor`
 * above the original context of 8192, interpolated between. */
static float rope_factor(const struct synth_arch *a, uint32_t i)
{
    const double wavelength = 6.283185307179586 * pow((double)a->theta, 2.0 * i / a->head_size);
    const double low = 8192.0 / 1, high = 8192.0 / 4, factor = (double)a->rope_factor;
    if (wavelength < high)
        return 1;
    if (wavelength > low)
        return (float)factor;
    const double smooth = (8192 / wavelength - 1) / (4 - 1);
    return (float)(1 / ((1 - smooth) / factor + smooth));
}

static float vector_value(struct output *o, enum synth_content content, uint64_t i)
{
    switch (content) {
    case SYNTH_ONES:
        return 1;
    case SYNTH_SMALL:
        return 0.1f * bench_random_float(&o->rng);
    case SYNTH_NEGATIVE:
        return -1.25f + 0.75f * bench_random_float(&o->rng);
    case SYNTH_ROPE_FACTORS:
        return rope_factor(&o->s->arch, (uint32_t)i);
    default:
        return bench_random_float(&o->rng);
    }
}

static void matrix_data(struct output *o, const struct bench_weight_type *type, uint64_t rows,
                        uint64_t columns, size_t row_bytes)
{
    const uint64_t most = BUFFER_BYTES / row_bytes;
    for (uint64_t r = 0; r < rows && !o->w->failed;) {
        const uint64_t n = rows - r < most ? rows - r : most;
        bench_weights_fill(type->number, o->buffer, (size_t)(n * columns),
                           1 / sqrtf((float)columns), &o->rng);
        gguf_data(o->w, o->buffer, (size_t)n * row_bytes);
        r += n;
    }
}

static uint64_t row_count(const struct synth_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t i = 1; i < t->n_dims; i++)
        n *= t->dims[i];
    return n;
}

static void list_tensor(void *user, const struct synth_tensor *t)
{
    struct output *o = user;
    const struct bench_weight_type *type = tensor_type(o->s, t);
    const uint64_t row_bytes = t->dims[0] / type->block_elems * type->block_bytes;
    if (t->dims[0] % type->block_elems || (t->content == SYNTH_MATRIX && row_bytes > BUFFER_BYTES))
        o->w->failed = true;
    gguf_tensor_dims(o->w, t->name, type->number, t->dims, t->n_dims, row_count(t) * row_bytes);
}

static void write_tensor(void *user, const struct synth_tensor *t)
{
    struct output *o = user;
    const struct bench_weight_type *type = tensor_type(o->s, t);
    if (t->content == SYNTH_MATRIX)
        matrix_data(o, type, row_count(t), t->dims[0],
                    (size_t)(t->dims[0] / type->block_elems * type->block_bytes));
    else
        for (uint64_t i = 0; i < row_count(t) * t->dims[0]; i++) {
            const float v = vector_value(o, t->content, i);
            gguf_data(o->w, &v, sizeof v);
        }
    gguf_pad(o->w);
}

/* ---- the command */

static int find_arch(const struct bench_options *o, struct synth *s)
{
    const struct synth_arch *a = o->arch ? synth_arch_find(o->arch) : NULL;
    if (a) {
        s->arch = *a;
        return 0;
    }
    bench_error(64, "--arch %s: unknown; the architectures are:", o->arch ? o->arch : "(missing)");
    for (size_t i = 0; (a = synth_arch_get(i)) != NULL; i++)
        bench_error(64, "  %s", a->name);
    return 64;
}

/* "q4_k_m" is Q4_K with some tensors in Q6_K. */
static int find_type(const struct bench_options *o, struct synth *s)
{
    const char *name = o->type ? o->type : "q8_0";
    s->mixed = !strcasecmp(name, "q4_k_m");
    if (!bench_weight_type_find("F32", &s->f32) || !bench_weight_type_find("Q6_K", &s->q6_k) ||
        !bench_weight_type_find("Q8_0", &s->q8_0))
        return 70;
    if (!bench_weight_type_find(s->mixed ? "q4_k" : name, &s->type))
        return bench_error(64, "--type %s: unknown weight type", name);
    const uint32_t block = s->type.block_elems;
    const struct synth_arch *a = &s->arch;
    if (a->hidden % block || a->ffn % block || a->heads * a->head_size % block ||
        a->expert_ffn % block || a->shared_ffn % block ||
        a->state_heads * a->state_head_size % block)
        return bench_error(64, "--type %s: row sizes of %s are not multiples of its block of %u",
                           name, s->arch.name, block);
    return 0;
}

int bench_synth_write(const struct bench_options *o, const char *path, char *out, size_t size)
{
    struct synth s = { 0 };
    struct gguf_writer w;
    int code = find_arch(o, &s);
    if (!code)
        code = find_type(o, &s);
    if (code)
        return code;
    if (o->layers && o->layers < s.arch.layers)
        s.arch.layers = o->layers;
    if (o->lora_rank && (s.arch.mixers || s.arch.n_experts))
        return bench_error(69, "synth: no adapters for %s", s.arch.name);
    if (o->lora_rank) {
        snprintf(out, size, "adapter of rank %u for %s", o->lora_rank, s.arch.name);
        return synth_lora_write(path, &s.arch, o->lora_rank, o->seed)
                   ? 0
                   : bench_error(74, "writing %s failed", path);
    }
    if (!gguf_open(&w, path))
        return bench_error(73, "cannot write %s: it cannot be created, or is not a regular file",
                           path);
    struct output to = {
        .s = &s, .w = &w, .rng = o->seed * 2654435761u + 1, .buffer = malloc(BUFFER_BYTES)
    };
    w.failed = !to.buffer;
    synth_metadata(&s, &w);
    synth_tensors(&s.arch, list_tensor, &to);
    gguf_begin_data(&w);
    if (!w.failed)
        synth_tensors(&s.arch, write_tensor, &to);
    const uint64_t bytes = w.written;
    free(to.buffer);
    if (!gguf_finish(&w)) {
        remove(path);
        return bench_error(74, "writing %s failed", path);
    }
    snprintf(out, size, "%s, %u layers, %s, %.2f GB", s.arch.name, s.arch.layers,
             s.mixed ? "Q4_K_M" : s.type.name, (double)bytes * 1e-9);
    return 0;
}

int bench_synth(const struct bench_options *o)
{
    char text[128];
    const int code = o->output || !o->arch ? bench_synth_write(o, o->output, text, sizeof text)
                                           : bench_error(64, "synth: -o FILE is missing");
    if (!code)
        printf("%s: %s\n", o->output, text);
    return code;
}
