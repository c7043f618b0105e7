/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth.c - `quire-bench synth`: writes a GGUF file with the shape of a real model and
 * random weights. */
#include "bench_stats.h"
#include "bench_synth_lora.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct synth_arch archs[] = {
    { .name = "llama-1b",
      .gguf = "llama",
      .pre = "llama-bpe",
      .layers = 16,
      .hidden = 2048,
      .heads = 32,
      .kv_heads = 8,
      .head_size = 64,
      .ffn = 8192,
      .vocab = 128256,
      .context = 131072,
      .theta = 500000,
      .eps = 1e-5f,
      .rope_factor = 32,
      .tied = true },
    { .name = "llama-8b",
      .gguf = "llama",
      .pre = "llama-bpe",
      .layers = 32,
      .hidden = 4096,
      .heads = 32,
      .kv_heads = 8,
      .head_size = 128,
      .ffn = 14336,
      .vocab = 128256,
      .context = 131072,
      .theta = 500000,
      .eps = 1e-5f,
      .rope_factor = 8 },
    { .name = "qwen2.5-1.5b",
      .gguf = "qwen2",
      .pre = "qwen2",
      .layers = 28,
      .hidden = 1536,
      .heads = 12,
      .kv_heads = 2,
      .head_size = 128,
      .ffn = 8960,
      .vocab = 151936,
      .context = 32768,
      .theta = 1000000,
      .eps = 1e-6f,
      .tied = true,
      .qkv_bias = true },
    { .name = "qwen2.5-7b",
      .gguf = "qwen2",
      .pre = "qwen2",
      .layers = 28,
      .hidden = 3584,
      .heads = 28,
      .kv_heads = 4,
      .head_size = 128,
      .ffn = 18944,
      .vocab = 152064,
      .context = 32768,
      .theta = 1000000,
      .eps = 1e-6f,
      .qkv_bias = true },
    { .name = "qwen3-0.6b",
      .gguf = "qwen3",
      .pre = "qwen2",
      .layers = 28,
      .hidden = 1024,
      .heads = 16,
      .kv_heads = 8,
      .head_size = 128,
      .ffn = 3072,
      .vocab = 151936,
      .context = 40960,
      .theta = 1000000,
      .eps = 1e-6f,
      .tied = true,
      .qk_norm = true },
    { .name = "gemma2-2b",
      .gguf = "gemma2",
      .pre = "gpt-2",
      .layers = 26,
      .hidden = 2304,
      .heads = 8,
      .kv_heads = 4,
      .head_size = 256,
      .ffn = 9216,
      .vocab = 256000,
      .context = 8192,
      .theta = 10000,
      .eps = 1e-6f,
      .tied = true,
      .post_norms = true,
      .window = 4096,
      .attention_cap = 50,
      .final_cap = 30 },
    { .name = "tiny",
      .gguf = "llama",
      .pre = "llama-bpe",
      .layers = 2,
      .hidden = 256,
      .heads = 4,
      .kv_heads = 2,
      .head_size = 64,
      .ffn = 512,
      .vocab = 512,
      .context = 2048,
      .theta = 10000,
      .eps = 1e-5f,
      .tied = true },
};
enum { N_ARCHS = sizeof archs / sizeof *archs };

/* ---- weight type of each tensor */

enum role { EMBEDDING, HEAD, ATTN_V, FFN_DOWN, OTHER };

/* Q4_K_M keeps attn_v and ffn_down in Q6_K in the first and last eighth of the layers and every
 * third layer between them. */
static bool more_bits(uint32_t layer, uint32_t n)
{
    return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2;
}

/* Quantized files, except Q8_0, keep the output head in Q6_K, tied or not. */
static const struct bench_weight_type *tensor_type(const struct synth *s, enum role role,
                                                   uint32_t layer)
{
    const bool head = role == HEAD || (role == EMBEDDING && s->arch.tied);
    if (head && s->type.block_elems > 1 && strcmp(s->type.name, "Q8_0") != 0 &&
        s->arch.hidden % s->q6_k.block_elems == 0)
        return &s->q6_k;
    if (s->mixed && (role == ATTN_V || role == FFN_DOWN) && more_bits(layer, s->arch.layers))
        return &s->q6_k;
    return &s->type;
}

/* ---- the list of tensors, traversed once for the directory and once for the data */

enum content { RANDOM, ONES, SMALL, ROPE_FACTORS };

struct walk {
    struct synth *s;
    struct gguf_writer *w;
    bool data;
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

static void vector_data(struct walk *k, enum content content, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const float v = content == ONES    ? 1
                        : content == SMALL ? 0.1f * bench_random_float(&k->rng)
                                           : rope_factor(&k->s->arch, (uint32_t)i);
        gguf_data(k->w, &v, sizeof v);
    }
}

static void matrix_data(struct walk *k, const struct bench_weight_type *type, uint64_t rows,
                        uint64_t columns, size_t row_bytes)
{
    const uint64_t most = BUFFER_BYTES / row_bytes;
    for (uint64_t r = 0; r < rows && !k->w->failed;) {
        const uint64_t n = rows - r < most ? rows - r : most;
        bench_weights_fill(type->number, k->buffer, (size_t)(n * columns),
                           1 / sqrtf((float)columns), &k->rng);
        gguf_data(k->w, k->buffer, (size_t)n * row_bytes);
        r += n;
    }
}

static void tensor(struct walk *k, const char *name, const struct bench_weight_type *type,
                   enum content content, uint64_t rows, uint64_t columns)
{
    const size_t row_bytes = (size_t)(columns / type->block_elems * type->block_bytes);
    if (columns % type->block_elems || row_bytes > BUFFER_BYTES) {
        k->w->failed = true;
        return;
    }
    if (!k->data)
        gguf_tensor(k->w, name, type->number, rows, columns, (rows ? rows : 1) * row_bytes);
    else if (rows)
        matrix_data(k, type, rows, columns, row_bytes);
    else
        vector_data(k, content, columns);
    if (k->data)
        gguf_pad(k->w);
}

static void layer_vector(struct walk *k, uint32_t layer, const char *what, enum content content,
                         uint64_t n)
{
    char name[64];
    snprintf(name, sizeof name, "blk.%u.%s", layer, what);
    tensor(k, name, &k->s->f32, content, 0, n);
}

static void layer_matrix(struct walk *k, uint32_t layer, const char *what, enum role role,
                         uint64_t rows, uint64_t columns)
{
    char name[64];
    snprintf(name, sizeof name, "blk.%u.%s.weight", layer, what);
    tensor(k, name, tensor_type(k->s, role, layer), RANDOM, rows, columns);
}

static void layer_tensors(struct walk *k, uint32_t i)
{
    const struct synth_arch *a = &k->s->arch;
    const uint64_t q = (uint64_t)a->heads * a->head_size, kv = (uint64_t)a->kv_heads * a->head_size;
    layer_vector(k, i, "attn_norm.weight", ONES, a->hidden);
    layer_matrix(k, i, "attn_q", OTHER, q, a->hidden);
    layer_matrix(k, i, "attn_k", OTHER, kv, a->hidden);
    layer_matrix(k, i, "attn_v", ATTN_V, kv, a->hidden);
    if (a->qkv_bias) {
        layer_vector(k, i, "attn_q.bias", SMALL, q);
        layer_vector(k, i, "attn_k.bias", SMALL, kv);
        layer_vector(k, i, "attn_v.bias", SMALL, kv);
    }
    if (a->qk_norm) {
        layer_vector(k, i, "attn_q_norm.weight", ONES, a->head_size);
        layer_vector(k, i, "attn_k_norm.weight", ONES, a->head_size);
    }
    layer_matrix(k, i, "attn_output", OTHER, a->hidden, q);
    if (a->post_norms)
        layer_vector(k, i, "post_attention_norm.weight", ONES, a->hidden);
    layer_vector(k, i, "ffn_norm.weight", ONES, a->hidden);
    layer_matrix(k, i, "ffn_gate", OTHER, a->ffn, a->hidden);
    layer_matrix(k, i, "ffn_up", OTHER, a->ffn, a->hidden);
    layer_matrix(k, i, "ffn_down", FFN_DOWN, a->hidden, a->ffn);
    if (a->post_norms)
        layer_vector(k, i, "post_ffw_norm.weight", ONES, a->hidden);
}

static void all_tensors(struct walk *k)
{
    const struct synth_arch *a = &k->s->arch;
    tensor(k, "token_embd.weight", tensor_type(k->s, EMBEDDING, 0), RANDOM, a->vocab, a->hidden);
    if (a->rope_factor > 0)
        tensor(k, "rope_freqs.weight", &k->s->f32, ROPE_FACTORS, 0, a->head_size / 2);
    for (uint32_t i = 0; i < a->layers; i++)
        layer_tensors(k, i);
    tensor(k, "output_norm.weight", &k->s->f32, ONES, 0, a->hidden);
    if (!a->tied)
        tensor(k, "output.weight", tensor_type(k->s, HEAD, 0), RANDOM, a->vocab, a->hidden);
}

/* ---- the command */

static int find_arch(const struct bench_options *o, struct synth *s)
{
    for (int i = 0; i < N_ARCHS; i++)
        if (o->arch && !strcmp(archs[i].name, o->arch)) {
            s->arch = archs[i];
            return 0;
        }
    bench_error(64, "--arch %s: unknown; the architectures are:", o->arch ? o->arch : "(missing)");
    for (int i = 0; i < N_ARCHS; i++)
        bench_error(64, "  %s", archs[i].name);
    return 64;
}

/* "q4_k_m" is Q4_K with some tensors in Q6_K. */
static int find_type(const struct bench_options *o, struct synth *s)
{
    const char *name = o->type ? o->type : "q8_0";
    s->mixed = !strcasecmp(name, "q4_k_m");
    if (!bench_weight_type_find("F32", &s->f32) || !bench_weight_type_find("Q6_K", &s->q6_k))
        return 70;
    if (!bench_weight_type_find(s->mixed ? "q4_k" : name, &s->type))
        return bench_error(64, "--type %s: unknown weight type", name);
    const uint32_t block = s->type.block_elems;
    if (s->arch.hidden % block || s->arch.ffn % block || s->arch.heads * s->arch.head_size % block)
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
    if (o->lora_rank) {
        snprintf(out, size, "adapter of rank %u for %s", o->lora_rank, s.arch.name);
        return synth_lora_write(path, &s.arch, o->lora_rank, o->seed)
                   ? 0
                   : bench_error(74, "writing %s failed", path);
    }
    if (!gguf_open(&w, path))
        return bench_error(73, "cannot write %s: it cannot be created, or is not a regular file",
                           path);
    struct walk k = {
        .s = &s, .w = &w, .rng = o->seed * 2654435761u + 1, .buffer = malloc(BUFFER_BYTES)
    };
    w.failed = !k.buffer;
    synth_metadata(&s, &w);
    all_tensors(&k);
    gguf_begin_data(&w);
    k.data = true;
    all_tensors(&k);
    const uint64_t bytes = w.written;
    free(k.buffer);
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
