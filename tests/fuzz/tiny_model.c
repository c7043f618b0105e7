/* SPDX-License-Identifier: Apache-2.0 */
/* tiny_model.c - writes GGUF images. */
#include "tiny_model.h"
#include <string.h>

const struct tiny_shape tiny_running = { .layers = 2,
                                         .hidden = 32,
                                         .heads = 4,
                                         .kv_heads = 2,
                                         .ffn = 64,
                                         .context = 256,
                                         .vocab = TINY_BYTES };

enum { GGUF_ALIGNMENT = 32, Q8_0 = 8, Q8_BLOCK = 32, NVFP4 = 40, NVFP4_BLOCK = 64 };

void gguf_put_string(struct fuzz_buffer *b, const char *text)
{
    fuzz_put_number(b, strlen(text), 8);
    fuzz_put_text(b, text);
}

void gguf_key(struct gguf_image *g, const char *key, uint32_t type)
{
    gguf_put_string(&g->keys, key);
    fuzz_put_number(&g->keys, type, 4);
    g->n_keys++;
}

void gguf_u32(struct gguf_image *g, const char *key, uint32_t value)
{
    gguf_key(g, key, GGUF_U32);
    fuzz_put_number(&g->keys, value, 4);
}

static void put_f32(struct fuzz_buffer *b, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    fuzz_put_number(b, bits, 4);
}

void gguf_f32(struct gguf_image *g, const char *key, float value)
{
    gguf_key(g, key, GGUF_F32);
    put_f32(&g->keys, value);
}

void gguf_text(struct gguf_image *g, const char *key, const char *value)
{
    gguf_key(g, key, GGUF_STRING);
    gguf_put_string(&g->keys, value);
}

void gguf_array(struct gguf_image *g, const char *key, uint32_t type, uint64_t n)
{
    gguf_key(g, key, GGUF_ARRAY);
    fuzz_put_number(&g->keys, type, 4);
    fuzz_put_number(&g->keys, n, 8);
}

void gguf_tensor(struct gguf_image *g, const char *name, uint32_t type, uint64_t columns,
                 uint64_t rows)
{
    struct fuzz_random r = { g->n_tensors + 1 };
    gguf_put_string(&g->directory, name);
    fuzz_put_number(&g->directory, rows ? 2 : 1, 4);
    fuzz_put_number(&g->directory, columns, 8);
    if (rows)
        fuzz_put_number(&g->directory, rows, 8);
    fuzz_put_number(&g->directory, type, 4);
    fuzz_put_number(&g->directory, g->data.size, 8);
    for (uint64_t i = 0; i < columns * (rows ? rows : 1); i++) {
        if (type == Q8_0 && i % Q8_BLOCK == 0)
            fuzz_put_number(&g->data, 0x1c00, 2); /* the scale 2^-8 as f16 */
        if (type == NVFP4 && i % NVFP4_BLOCK == 0)
            fuzz_put_number(&g->data, 0x28202820, 4); /* the scales 2^-3 and 2^-2 */
        if (type == Q8_0 || (type == NVFP4 && i % 2))
            fuzz_put_number(&g->data, fuzz_random(&r, 256), 1);
        else if (type == NVFP4)
            continue;
        else
            put_f32(&g->data, ((float)fuzz_random(&r, 2001) - 1000) / (rows ? 2500 : 1000));
    }
    fuzz_pad(&g->data, GGUF_ALIGNMENT);
    g->n_tensors++;
}

void gguf_finish(struct gguf_image *g, struct fuzz_buffer *out)
{
    fuzz_put_text(out, "GGUF");
    fuzz_put_number(out, 3, 4);
    fuzz_put_number(out, g->n_tensors, 8);
    fuzz_put_number(out, g->n_keys, 8);
    fuzz_put(out, g->keys.data, g->keys.size);
    fuzz_put(out, g->directory.data, g->directory.size);
    fuzz_pad(out, GGUF_ALIGNMENT);
    fuzz_put(out, g->data.data, g->data.size);
    fuzz_buffer_free(&g->keys);
    fuzz_buffer_free(&g->directory);
    fuzz_buffer_free(&g->data);
}

/* ---- Vocabularies */

static const char *const merges[] = { "t h",  "th e", "i n",        "a n",
                                      "an d", "in g", "\xC4\xA0 t", "\xC4\xA0 a" };
enum { N_MERGES = sizeof merges / sizeof *merges };

static const char *const specials[] = { "<|im_start|>", "<|im_end|>", "<|endoftext|>" };
enum { N_SPECIALS = sizeof specials / sizeof *specials };

/* Character of a byte in the alphabet of byte-level BPE. */
static void put_letter(struct fuzz_buffer *b, unsigned byte)
{
    unsigned cp = byte;
    if (byte < 0x21 || (byte > 0x7e && byte < 0xa1) || byte == 0xad) {
        cp = 256; /* the characters that are not printable, in order */
        for (unsigned i = 0; i < byte; i++)
            cp += i < 0x21 || (i > 0x7e && i < 0xa1) || i == 0xad;
    }
    fuzz_put_number(b, cp < 0x80 ? 1 : 2, 8);
    if (cp >= 0x80)
        fuzz_put_number(b, 0xc0 | cp >> 6, 1);
    fuzz_put_number(b, cp < 0x80 ? cp : 0x80 | (cp & 0x3f), 1);
}

static uint32_t bytes_vocab(struct gguf_image *g)
{
    const uint32_t n = 256 + N_MERGES + N_SPECIALS;
    gguf_text(g, "tokenizer.ggml.model", "gpt2");
    gguf_text(g, "tokenizer.ggml.pre", "gpt-2");
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_STRING, n);
    for (unsigned i = 0; i < 256; i++)
        put_letter(&g->keys, i);
    for (unsigned i = 0; i < N_MERGES; i++) {
        char text[16];
        const char *space = strrchr(merges[i], ' ');
        snprintf(text, sizeof text, "%.*s%s", (int)(space - merges[i]), merges[i], space + 1);
        gguf_put_string(&g->keys, text);
    }
    for (unsigned i = 0; i < N_SPECIALS; i++)
        gguf_put_string(&g->keys, specials[i]);
    gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, n);
    for (uint32_t i = 0; i < n; i++)
        fuzz_put_number(&g->keys, i < n - N_SPECIALS ? 1 : 3, 4);
    gguf_array(g, "tokenizer.ggml.merges", GGUF_STRING, N_MERGES);
    for (unsigned i = 0; i < N_MERGES; i++)
        gguf_put_string(&g->keys, merges[i]);
    gguf_u32(g, "tokenizer.ggml.eos_token_id", n - 2);
    return n;
}

static uint32_t sentencepiece_vocab(struct gguf_image *g, const char *model)
{
    static const char *const pieces[] = {
        "<unk>", "<s>", "</s>", "<0x0A>", "<0xE2>",        "<0x80>",          "\xE2\x96\x81",
        "th",    "the", "in",   "er",     "\xE2\x96\x81t", "\xE2\x96\x81the", "\xC3\xA9"
    };
    enum { N_PIECES = sizeof pieces / sizeof *pieces };
    const uint32_t n = N_PIECES + 26;
    gguf_text(g, "tokenizer.ggml.model", model);
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_STRING, n);
    for (unsigned i = 0; i < N_PIECES; i++)
        gguf_put_string(&g->keys, pieces[i]);
    for (char c = 'a'; c <= 'z'; c++)
        gguf_put_string(&g->keys, (char[]){ c, 0 });
    gguf_array(g, "tokenizer.ggml.scores", GGUF_F32, n);
    for (uint32_t i = 0; i < n; i++)
        put_f32(&g->keys, -(float)i);
    gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, n);
    for (uint32_t i = 0; i < n; i++)
        fuzz_put_number(&g->keys, i == 0 ? 2 : i < 3 ? 3 : i < 6 ? 6 : 1, 4);
    gguf_u32(g, "tokenizer.ggml.bos_token_id", 1);
    gguf_u32(g, "tokenizer.ggml.eos_token_id", 2);
    return n;
}

/* With merges instead of the scores, which are not read. */
static uint32_t gemma4_vocab(struct gguf_image *g)
{
    static const char *const pairs[] = { "t h", "th e",           "i n",
                                         "e r", "\xE2\x96\x81 t", "\xE2\x96\x81 the" };
    enum { N_PAIRS = sizeof pairs / sizeof *pairs };
    gguf_array(g, "tokenizer.ggml.merges", GGUF_STRING, N_PAIRS);
    for (unsigned i = 0; i < N_PAIRS; i++)
        gguf_put_string(&g->keys, pairs[i]);
    return sentencepiece_vocab(g, "gemma4");
}

/* The map has a root, a node of "A", and its value: the replacement at offset 0. */
static uint32_t unigram_vocab(struct gguf_image *g)
{
    static const uint32_t units[] = { ('A' ^ 1) << 10, 3 << 10 | 1 << 8 | 'A', 1u << 31 };
    gguf_array(g, "tokenizer.ggml.precompiled_charsmap", GGUF_U8, 4 + sizeof units + 2);
    fuzz_put_number(&g->keys, sizeof units, 4);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        fuzz_put_number(&g->keys, units[i], 4);
    fuzz_put(&g->keys, "a", 2);
    return sentencepiece_vocab(g, "t5");
}

static uint32_t wordpiece_vocab(struct gguf_image *g)
{
    static const char *const words[] = { "[PAD]",
                                         "[UNK]",
                                         "[CLS]",
                                         "[SEP]",
                                         "[MASK]",
                                         "\xE2\x96\x81the",
                                         "\xE2\x96\x81th",
                                         "\xE2\x96\x81"
                                         "a",
                                         "\xE2\x96\x81"
                                         "b",
                                         "e",
                                         "ing",
                                         "s",
                                         "\xE2\x96\x81,",
                                         "\xE2\x96\x81." };
    enum { N_WORDS = sizeof words / sizeof *words };
    gguf_text(g, "tokenizer.ggml.model", "bert");
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_STRING, N_WORDS);
    for (unsigned i = 0; i < N_WORDS; i++)
        gguf_put_string(&g->keys, words[i]);
    gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, N_WORDS);
    for (unsigned i = 0; i < N_WORDS; i++)
        fuzz_put_number(&g->keys, i < 5 ? 3 : 1, 4);
    gguf_u32(g, "tokenizer.ggml.unknown_token_id", 1);
    return N_WORDS;
}

/* Token 0 is the control token; token 1 + b is byte b. */
static uint32_t longest_match_vocab(struct gguf_image *g)
{
    static const char *const longer[] = {
        "\\n\\n", "th", "the", " the", "in", "ing", "\\xc3\\xa9", "\\x80\\n", "it\\'s", "[PAD266]"
    };
    enum { N_LONGER = sizeof longer / sizeof *longer };
    const uint32_t n = 1 + 256 + N_LONGER;
    gguf_text(g, "tokenizer.ggml.model", "rwkv");
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_STRING, n);
    gguf_put_string(&g->keys, "<s>");
    for (unsigned i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, i > 0x20 && i < 0x7f && i != '\\' ? "%c" : "\\x%02x", i);
        gguf_put_string(&g->keys, text);
    }
    for (unsigned i = 0; i < N_LONGER; i++)
        gguf_put_string(&g->keys, longer[i]);
    gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, n);
    for (uint32_t i = 0; i < n; i++)
        fuzz_put_number(&g->keys, i == 0 ? 3 : i < n - 1 ? 1 : 5, 4);
    gguf_u32(g, "tokenizer.ggml.bos_token_id", 0);
    gguf_u32(g, "tokenizer.ggml.eos_token_id", 0);
    gguf_u32(g, "tokenizer.ggml.eot_token_id", 257);
    return n;
}

uint32_t tiny_vocab(struct gguf_image *g, enum tiny_vocab kind)
{
    return kind == TINY_BYTES           ? bytes_vocab(g)
           : kind == TINY_SENTENCEPIECE ? sentencepiece_vocab(g, "llama")
           : kind == TINY_GEMMA4        ? gemma4_vocab(g)
           : kind == TINY_UNIGRAM       ? unigram_vocab(g)
           : kind == TINY_LONGEST_MATCH ? longest_match_vocab(g)
                                        : wordpiece_vocab(g);
}

/* ---- Models */

static void put_layer(struct gguf_image *g, const struct tiny_shape *s, uint32_t layer)
{
    const uint32_t h = s->hidden, kv = h / s->heads * s->kv_heads;
    const struct {
        const char *name;
        uint32_t columns, rows;
    } tensors[] = {
        { "attn_norm", h, 0 },     { "attn_q", h, h },      { "attn_k", h, kv },
        { "attn_v", h, kv },       { "attn_output", h, h }, { "ffn_norm", h, 0 },
        { "ffn_gate", h, s->ffn }, { "ffn_up", h, s->ffn }, { "ffn_down", s->ffn, h },
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%u.%s.weight", layer, tensors[i].name);
        gguf_tensor(g, name, tensors[i].rows ? s->type : 0, tensors[i].columns, tensors[i].rows);
        if (s->type != NVFP4 || !tensors[i].rows)
            continue;
        snprintf(name, sizeof name, "blk.%u.%s.scale", layer, tensors[i].name);
        gguf_tensor(g, name, 0, 1, 0);
    }
}

/* Writes "ARCH.key". */
static void put_size(struct gguf_image *g, const char *arch, const char *key, uint32_t value)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", arch, key);
    gguf_u32(g, name, value);
}

void tiny_model(const struct tiny_shape *s, struct fuzz_buffer *out)
{
    const char *arch = s->arch ? s->arch : "llama";
    struct gguf_image g = { 0 };
    char epsilon[96];
    snprintf(epsilon, sizeof epsilon, "%s.attention.layer_norm_rms_epsilon", arch);
    gguf_text(&g, "general.architecture", arch);
    gguf_text(&g, "general.name", "tiny");
    put_size(&g, arch, "block_count", s->layers);
    put_size(&g, arch, "embedding_length", s->hidden);
    put_size(&g, arch, "context_length", s->context);
    put_size(&g, arch, "attention.head_count", s->heads);
    put_size(&g, arch, "attention.head_count_kv", s->kv_heads);
    put_size(&g, arch, "attention.sliding_window", s->context / 4);
    put_size(&g, arch, "feed_forward_length", s->ffn);
    gguf_f32(&g, epsilon, 1e-5f);
    if (s->bidirectional) {
        char causal[64];
        snprintf(causal, sizeof causal, "%s.attention.causal", arch);
        gguf_key(&g, causal, GGUF_BOOL);
        fuzz_put_number(&g.keys, 0, 1);
    }
    const uint32_t n_vocab = tiny_vocab(&g, s->vocab);
    gguf_text(&g, "tokenizer.chat_template",
              "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
              "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
    gguf_tensor(&g, "token_embd.weight", s->type, s->hidden, n_vocab);
    for (uint32_t i = 0; i < s->layers; i++)
        put_layer(&g, s, i);
    gguf_tensor(&g, "output_norm.weight", 0, s->hidden, 0);
    gguf_finish(&g, out);
}

static void name_tensor(struct gguf_image *g, const char *name, uint64_t columns, uint64_t rows)
{
    char full[64];
    snprintf(full, sizeof full, "blk.0.%s", name);
    gguf_tensor(g, full, 0, columns, rows);
}

void tiny_mamba2(struct fuzz_buffer *out)
{
    static const struct {
        const char *key;
        uint32_t value;
    } sizes[] = {
        { "mamba2.block_count", 1 },          { "mamba2.embedding_length", 8 },
        { "mamba2.context_length", 64 },      { "mamba2.feed_forward_length", 0 },
        { "mamba2.attention.head_count", 0 }, { "mamba2.ssm.conv_kernel", 4 },
        { "mamba2.ssm.inner_size", 8 },       { "mamba2.ssm.state_size", 4 },
        { "mamba2.ssm.time_step_rank", 2 },   { "mamba2.ssm.group_count", 1 },
    };
    struct gguf_image g = { 0 };
    gguf_text(&g, "general.architecture", "mamba2");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        gguf_u32(&g, sizes[i].key, sizes[i].value);
    gguf_f32(&g, "mamba2.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_tensor(&g, "token_embd.weight", 0, 8, tiny_vocab(&g, TINY_SENTENCEPIECE));
    name_tensor(&g, "attn_norm.weight", 8, 0);
    name_tensor(&g, "ssm_in.weight", 8, 26);
    name_tensor(&g, "ssm_conv1d.weight", 4, 16);
    name_tensor(&g, "ssm_conv1d.bias", 16, 0);
    name_tensor(&g, "ssm_dt.bias", 2, 0);
    name_tensor(&g, "ssm_a", 1, 2);
    name_tensor(&g, "ssm_d", 1, 2);
    name_tensor(&g, "ssm_norm.weight", 8, 1);
    name_tensor(&g, "ssm_out.weight", 8, 8);
    gguf_tensor(&g, "output_norm.weight", 0, 8, 0);
    gguf_finish(&g, out);
}
