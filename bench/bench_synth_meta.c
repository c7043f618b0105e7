/* SPDX-License-Identifier: Apache-2.0 */
/* bench_synth_meta.c - GGUF metadata of a synthetic model: sizes and a minimal tokenizer. */
#include "bench_synth_meta.h"
#include <string.h>

/* ---- sizes */

static void arch_u32(const struct synth *s, struct gguf_writer *w, const char *key, uint32_t value)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", s->arch.gguf, key);
    gguf_u32(w, name, value);
}

static void arch_f32(const struct synth *s, struct gguf_writer *w, const char *key, float value)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", s->arch.gguf, key);
    gguf_f32(w, name, value);
}

static void arch_array(const struct synth *s, struct gguf_writer *w, const char *key, uint32_t type,
                       uint64_t n)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", s->arch.gguf, key);
    gguf_array(w, name, type, n);
}

enum { FILE_TYPE_Q4_K_M = 15 }; /* of general.file_type */

static void sizes(const struct synth *s, struct gguf_writer *w)
{
    const struct synth_arch *a = &s->arch;
    char name[64];
    snprintf(name, sizeof name, "synthetic %s", a->name);
    gguf_text(w, "general.architecture", a->gguf);
    gguf_text(w, "general.name", name);
    gguf_u32(w, "general.file_type", s->mixed ? FILE_TYPE_Q4_K_M : s->type.file_type);
    gguf_u32(w, "general.quantization_version", 2);
    arch_u32(s, w, "block_count", a->layers);
    arch_u32(s, w, "context_length", a->context);
    arch_u32(s, w, "embedding_length", a->hidden);
    arch_u32(s, w, "feed_forward_length", a->ffn ? a->ffn : a->expert_ffn);
    arch_u32(s, w, "vocab_size", a->vocab);
    arch_f32(s, w, "attention.layer_norm_rms_epsilon", a->eps);
}

/* Layers without attention have 0 heads of keys; Qwen 3.5 lists them instead. */
static void attention(const struct synth *s, struct gguf_writer *w)
{
    const struct synth_arch *a = &s->arch;
    const bool listed = a->mixers && !a->attention_gate;
    arch_u32(s, w, "attention.head_count", a->heads);
    if (!listed)
        arch_u32(s, w, "attention.head_count_kv", a->kv_heads);
    else {
        arch_array(s, w, "attention.head_count_kv", GGUF_INT32, a->layers);
        for (uint32_t i = 0; i < a->layers; i++)
            gguf_put(w->meta, synth_arch_mixer(a, i) == SYNTH_ATTENTION ? a->kv_heads : 0, 4);
    }
    arch_u32(s, w, "attention.key_length", a->head_size);
    arch_u32(s, w, "attention.value_length", a->head_size);
    arch_u32(s, w, "rope.dimension_count", a->rope_dims ? a->rope_dims : a->head_size);
    arch_f32(s, w, "rope.freq_base", a->theta);
    if (a->yarn_factor > 0) {
        char name[64];
        snprintf(name, sizeof name, "%s.rope.scaling.type", a->gguf);
        gguf_text(w, name, "yarn");
        arch_f32(s, w, "rope.scaling.factor", a->yarn_factor);
        arch_u32(s, w, "rope.scaling.original_context_length", a->yarn_context);
    }
    if (a->window)
        arch_u32(s, w, "attention.sliding_window", a->window);
    if (a->attention_cap > 0)
        arch_f32(s, w, "attn_logit_softcapping", a->attention_cap);
    if (a->final_cap > 0)
        arch_f32(s, w, "final_logit_softcapping", a->final_cap);
    if (a->attention_scale > 0)
        arch_f32(s, w, "attention.scale", a->attention_scale);
    if (a->embedding_scale > 0)
        arch_f32(s, w, "embedding_scale", a->embedding_scale);
    if (a->residual_scale > 0)
        arch_f32(s, w, "residual_scale", a->residual_scale);
    if (a->logit_scale > 0)
        arch_f32(s, w, "logit_scale", a->logit_scale);
}

static void recurrent_layers(const struct synth *s, struct gguf_writer *w)
{
    const struct synth_arch *a = &s->arch;
    if (!a->state_heads) {
        arch_u32(s, w, "shortconv.l_cache", a->conv_size);
        return;
    }
    arch_u32(s, w, "ssm.conv_kernel", a->conv_size);
    arch_u32(s, w, "ssm.state_size", a->state_size);
    arch_u32(s, w, "ssm.group_count", a->state_groups);
    arch_u32(s, w, "ssm.inner_size", a->state_heads * a->state_head_size);
    arch_u32(s, w, "ssm.time_step_rank", a->state_heads);
    if (!a->attention_gate)
        return;
    /* Qwen 3.5: the last layer of each group of four has attention; RoPE of text uses the sections
     * of images, too, with equal positions. */
    static const uint32_t sections[] = { 11, 11, 10, 0 };
    arch_u32(s, w, "full_attention_interval", (uint32_t)strlen(a->mixers));
    arch_array(s, w, "rope.dimension_sections", GGUF_INT32, 4);
    for (int i = 0; i < 4; i++)
        gguf_put(w->meta, sections[i], 4);
}

static void experts(const struct synth *s, struct gguf_writer *w)
{
    const struct synth_arch *a = &s->arch;
    arch_u32(s, w, "expert_count", a->n_experts);
    arch_u32(s, w, "expert_used_count", a->n_used);
    arch_u32(s, w, "expert_feed_forward_length", a->expert_ffn);
    if (a->shared_ffn)
        arch_u32(s, w, "expert_shared_feed_forward_length", a->shared_ffn);
}

/* ---- tokenizer */

/* Code point that byte-level BPE writes for a byte: the byte itself where that is printable
 * Latin-1, 256 + n for the n-th other byte. */
static uint32_t byte_code(uint32_t byte)
{
    uint32_t others = 0;
    for (uint32_t b = 0; b <= byte; b++) {
        const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        if (b == byte)
            return printable ? b : 256 + others;
        others += !printable;
    }
    return 0;
}

static void utf8(uint32_t code, char out[3])
{
    if (code < 0x80) {
        out[0] = (char)code;
        out[1] = 0;
    } else {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        out[2] = 0;
    }
}

/* A few merges, because loaders require the list. 0xc4 0xa0 is the code point for a space,
 * U+0120. */
static const char *const merges[][2] = {
    { "\xc4\xa0", "t" }, { "h", "e" }, { "\xc4\xa0", "a" }, { "i", "n" }
};
static const char *const specials[] = { "<|begin|>", "<|end|>", "<|turn|>" };
enum { N_MERGES = sizeof merges / sizeof *merges, N_SPECIALS = sizeof specials / sizeof *specials };
enum { NORMAL = 1, CONTROL = 3 };

/* Writes the text of token i and returns its type. Order: bytes, merges, numbered words, special
 * tokens. Every word has a text, because servers send no event for a token without one. */
static int token(uint32_t i, uint32_t vocab, char text[32])
{
    if (i < 256) {
        utf8(byte_code(i), text);
        return NORMAL;
    }
    if (i < 256 + N_MERGES) {
        snprintf(text, 32, "%s%s", merges[i - 256][0], merges[i - 256][1]);
        return NORMAL;
    }
    if (i >= vocab - N_SPECIALS) {
        snprintf(text, 32, "%s", specials[i - (vocab - N_SPECIALS)]);
        return CONTROL;
    }
    snprintf(text, 32, "\xc4\xa0w%u", i);
    return NORMAL;
}

static void tokenizer(const struct synth *s, struct gguf_writer *w)
{
    const uint32_t vocab = s->arch.vocab;
    char text[32];
    gguf_text(w, "tokenizer.ggml.model", "gpt2");
    gguf_text(w, "tokenizer.ggml.pre", s->arch.pre);
    gguf_array(w, "tokenizer.ggml.tokens", GGUF_STRING, vocab);
    for (uint32_t i = 0; i < vocab; i++) {
        token(i, vocab, text);
        gguf_put_string(w->meta, text);
    }
    gguf_array(w, "tokenizer.ggml.token_type", GGUF_INT32, vocab);
    for (uint32_t i = 0; i < vocab; i++)
        gguf_put(w->meta, (uint64_t)token(i, vocab, text), 4);
    gguf_array(w, "tokenizer.ggml.merges", GGUF_STRING, N_MERGES);
    for (uint32_t i = 0; i < N_MERGES; i++) {
        snprintf(text, sizeof text, "%s %s", merges[i][0], merges[i][1]);
        gguf_put_string(w->meta, text);
    }
    gguf_u32(w, "tokenizer.ggml.bos_token_id", vocab - 3);
    gguf_u32(w, "tokenizer.ggml.eos_token_id", vocab - 2);
    gguf_u32(w, "tokenizer.ggml.eot_token_id", vocab - 1);
    gguf_bool(w, "tokenizer.ggml.add_bos_token", true);
}

void synth_metadata(const struct synth *s, struct gguf_writer *w)
{
    sizes(s, w);
    attention(s, w);
    if (s->arch.mixers)
        recurrent_layers(s, w);
    if (s->arch.n_experts)
        experts(s, w);
    tokenizer(s, w);
}
