/* SPDX-License-Identifier: Apache-2.0 */
/* seeds.c - writes the generated part of the seed corpora: fuzz_seeds FOLDER.
 *
 * Creates FOLDER/NAME_seed_corpus, from fixed seeds. Malformed inputs have the name of a defect. */
#include "packed_files.h"
#include "seeds_adapter.h"
#include "seeds_edits.h"
#include "seeds_quantized.h"
#include "tiny_model.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *root;

static void save(const char *corpus, const char *name, struct fuzz_buffer *b)
{
    char path[1024];
    const int n = snprintf(path, sizeof path, "%s/%s_seed_corpus", root, corpus);
    mkdir(path, 0777);
    snprintf(path + n, sizeof path - (size_t)n, "/%s", name);
    fuzz_write_file(path, b->data, b->size);
    fuzz_buffer_free(b);
}

/* ---- GGUF */

static void gguf_models(void)
{
    static const struct {
        const char *name;
        struct tiny_shape shape;
    } models[] = {
        { "llama-f32", { NULL, 1, 8, 2, 1, 8, 64, 0, TINY_SENTENCEPIECE, false } },
        { "llama-q8_0", { NULL, 2, 32, 2, 2, 32, 64, 8, TINY_SENTENCEPIECE, false } },
        { "llama-nvfp4", { NULL, 1, 64, 2, 1, 64, 64, 40, TINY_SENTENCEPIECE, false } },
        { "llama-wordpiece", { NULL, 1, 8, 1, 1, 8, 64, 0, TINY_WORDPIECE, false } },
        { "llama-gemma4", { NULL, 1, 8, 2, 1, 8, 64, 0, TINY_GEMMA4, false } },
        { "llama-unigram", { NULL, 1, 8, 1, 1, 8, 64, 0, TINY_UNIGRAM, false } },
        { "llama-longest-match", { NULL, 1, 8, 1, 1, 8, 64, 0, TINY_LONGEST_MATCH, false } },
        { "llama-bytes", { NULL, 1, 8, 2, 2, 8, 64, 0, TINY_BYTES, false } },
        { "gemma", { "gemma", 1, 8, 2, 1, 8, 64, 0, TINY_SENTENCEPIECE, false } },
        { "granite", { "granite", 2, 8, 2, 1, 8, 64, 0, TINY_SENTENCEPIECE, false } },
        { "qwen2", { "qwen2", 2, 8, 2, 1, 8, 64, 0, TINY_SENTENCEPIECE, false } },
        { "ernie", { "ernie4_5", 1, 8, 2, 1, 8, 64, 0, TINY_SENTENCEPIECE, false } },
    };
    struct fuzz_buffer b = { 0 };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        tiny_model(&models[i].shape, &b), save("gguf", models[i].name, &b);
    tiny_mamba2(&b);
    save("gguf", "mamba2", &b);
}

static void gguf_head(struct fuzz_buffer *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys)
{
    fuzz_put_text(b, "GGUF");
    fuzz_put_number(b, version, 4);
    fuzz_put_number(b, n_tensors, 8);
    fuzz_put_number(b, n_keys, 8);
}

static void gguf_bad_counts(void)
{
    static const struct {
        const char *name;
        uint32_t version;
        uint64_t n_tensors, n_keys;
    } heads[] = {
        { "n_kv-max", 3, 0, UINT64_MAX },
        { "n_kv-wraps", 3, 0, UINT64_MAX / 24 },
        { "n_tensors-max", 3, UINT64_MAX, 0 },
        { "n_tensors-wraps", 3, UINT64_MAX / 40, 0 },
        { "version-0", 0, 0, 0 },
        { "version-swapped", 0x03000000, 0, 0 },
        { "empty", 3, 0, 0 },
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct fuzz_buffer b = { 0 };
        gguf_head(&b, heads[i].version, heads[i].n_tensors, heads[i].n_keys);
        save("gguf", heads[i].name, &b);
    }
}

static void gguf_bad_key(const char *name, uint64_t key_size, uint32_t type, const void *value,
                         size_t value_bytes)
{
    struct fuzz_buffer b = { 0 };
    gguf_head(&b, 3, 0, 1);
    fuzz_put_number(&b, key_size, 8);
    fuzz_put_text(&b, "general.alignment");
    fuzz_put_number(&b, type, 4);
    fuzz_put(&b, value, value_bytes);
    save("gguf", name, &b);
}

static void gguf_bad_keys(void)
{
    static const uint32_t aligns[] = { 0, 3, 0x80000000 };
    static const uint64_t huge = UINT64_MAX;
    struct fuzz_buffer array = { 0 };
    gguf_bad_key("key-size-max", UINT64_MAX, GGUF_U32, aligns, 4);
    gguf_bad_key("key-empty", 0, GGUF_U32, aligns, 4);
    gguf_bad_key("alignment-0", 17, GGUF_U32, &aligns[0], 4);
    gguf_bad_key("alignment-3", 17, GGUF_U32, &aligns[1], 4);
    gguf_bad_key("alignment-2-31", 17, GGUF_U32, &aligns[2], 4);
    gguf_bad_key("alignment-signed", 17, GGUF_I32, &aligns[2], 4);
    gguf_bad_key("string-size-max", 17, GGUF_STRING, &huge, 8);
    gguf_bad_key("type-unknown", 17, 77, &huge, 8);
    gguf_bad_key("bool-7", 17, GGUF_BOOL, "\7", 1);
    fuzz_put_number(&array, GGUF_ARRAY, 4);
    fuzz_put_number(&array, 1, 8);
    fuzz_put_number(&array, GGUF_ARRAY, 4);
    gguf_bad_key("array-nested", 17, GGUF_ARRAY, array.data, array.size);
    fuzz_buffer_free(&array);
    fuzz_put_number(&array, GGUF_STRING, 4);
    fuzz_put_number(&array, UINT64_MAX / 8 + 1, 8);
    gguf_bad_key("array-count-wraps", 17, GGUF_ARRAY, array.data, array.size);
    fuzz_buffer_free(&array);
}

static void gguf_bad_tensors(void)
{
    static const struct {
        const char *name;
        uint32_t n_dims, type;
        uint64_t dims[4], offset;
    } tensors[] = {
        { "dims-wrap", 4, 0, { 1ull << 32, 1ull << 32, 1, 1 }, 0 },
        { "dims-wrap-to-4", 2, 0, { 0x4000000000000001, 4 }, 0 },
        { "dims-zero", 2, 0, { 32, 0 }, 0 },
        { "dims-negative", 1, 0, { UINT64_MAX }, 0 },
        { "n_dims-5", 5, 0, { 1, 1, 1, 1 }, 0 },
        { "type-removed", 1, 4, { 32 }, 0 },
        { "type-ik", 1, 144, { 256 }, 0 },
        { "type-max", 1, UINT32_MAX, { 32 }, 0 },
        { "row-not-a-block", 1, 8, { 33 }, 0 },
        { "offset-max", 1, 0, { 32 }, UINT64_MAX - 31 },
        { "offset-past-end", 1, 0, { 32 }, 1 << 20 },
        { "offset-misaligned", 1, 0, { 8 }, 1 },
        { "bytes-pad-wraps", 1, 24, { UINT64_MAX - 3 }, 0 },
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        struct fuzz_buffer b = { 0 };
        gguf_head(&b, 3, 1, 0);
        gguf_put_string(&b, "t");
        fuzz_put_number(&b, tensors[i].n_dims, 4);
        for (uint32_t d = 0; d < tensors[i].n_dims; d++)
            fuzz_put_number(&b, tensors[i].dims[d % 4], 8);
        fuzz_put_number(&b, tensors[i].type, 4);
        fuzz_put_number(&b, tensors[i].offset, 8);
        fuzz_pad(&b, 32);
        for (int k = 0; k < 32; k++)
            fuzz_put_number(&b, 0, 4);
        save("gguf", tensors[i].name, &b);
    }
}

/* Vocabularies with wrong types, sizes and byte tokens. */
static void gguf_bad_vocab(void)
{
    static const char *const bytes[] = { "<0x-1>", "<0xZZ>", "<0x1FF>", "" };
    for (int kind = 0; kind < 3; kind++) {
        struct gguf_image g = { 0 };
        struct fuzz_buffer b = { 0 };
        gguf_text(&g, "general.architecture", "llama");
        gguf_text(&g, "tokenizer.ggml.model", "llama");
        gguf_array(&g, "tokenizer.ggml.tokens", GGUF_STRING, 4);
        for (int i = 0; i < 4; i++)
            gguf_put_string(&g.keys, bytes[i]);
        gguf_array(&g, "tokenizer.ggml.scores", kind == 0 ? 0 : GGUF_F32, kind == 1 ? 3 : 4);
        for (int i = 0; i < (kind == 1 ? 3 : 4); i++)
            fuzz_put_number(&g.keys, 0, kind == 0 ? 1 : 4);
        gguf_array(&g, "tokenizer.ggml.token_type", GGUF_I32, 4);
        for (int i = 0; i < 4; i++)
            fuzz_put_number(&g.keys, i == 3 ? 0xffffffff : 6, 4);
        gguf_u32(&g, "tokenizer.ggml.bos_token_id", kind == 2 ? UINT32_MAX : 1);
        gguf_finish(&g, &b);
        static const char *const names[] = { "scores-u8", "scores-short", "byte-tokens" };
        save("gguf", names[kind], &b);
    }
}

/* ---- safetensors */

enum { CONFIG, MODEL, INDEX, SHARD_1, SHARD_2 }; /* places in the table of fuzz_safetensors.c */

static const char config[] =
    "{\"model_type\":\"llama\",\"vocab_size\":8,\"hidden_size\":8,\"intermediate_size\":8,"
    "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
    "\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5,\"tie_word_embeddings\":true}";

static void put_safetensors(struct fuzz_buffer *out, uint32_t name, const char *header,
                            size_t data_bytes)
{
    struct fuzz_buffer b = { 0 };
    struct fuzz_random r = { name };
    fuzz_put_number(&b, strlen(header), 8);
    fuzz_put_text(&b, header);
    for (size_t i = 0; i < data_bytes; i += 4) {
        const float x = ((float)fuzz_random(&r, 201) - 100) / 200;
        fuzz_put(&b, &x, 4);
    }
    packed_put(out, name, b.data, b.size);
    fuzz_buffer_free(&b);
}

static const struct st_tensor {
    const char *name;
    uint32_t rows, columns;
} st_tensors[] = {
    { "model.embed_tokens.weight", 8, 8 },
    { "model.layers.0.input_layernorm.weight", 0, 8 },
    { "model.layers.0.mlp.down_proj.weight", 8, 8 },
    { "model.layers.0.mlp.gate_proj.weight", 8, 8 },
    { "model.layers.0.mlp.up_proj.weight", 8, 8 },
    { "model.layers.0.post_attention_layernorm.weight", 0, 8 },
    { "model.layers.0.self_attn.k_proj.weight", 4, 8 },
    { "model.layers.0.self_attn.o_proj.weight", 8, 8 },
    { "model.layers.0.self_attn.q_proj.weight", 8, 8 },
    { "model.layers.0.self_attn.v_proj.weight", 4, 8 },
    { "model.norm.weight", 0, 8 },
};
enum { N_ST = sizeof st_tensors / sizeof *st_tensors };

/* Tensors [from, to) in one file. */
static void put_tensors(struct fuzz_buffer *out, uint32_t name, int from, int to)
{
    char header[4096] = "{";
    size_t n = 1, at = 0;
    for (int i = from; i < to; i++) {
        const struct st_tensor *t = &st_tensors[i];
        const size_t bytes = 4u * t->columns * (t->rows ? t->rows : 1);
        char shape[32];
        if (t->rows)
            snprintf(shape, sizeof shape, "%u,%u", t->rows, t->columns);
        else
            snprintf(shape, sizeof shape, "%u", t->columns);
        n += (size_t)snprintf(header + n, sizeof header - n,
                              "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,"
                              "%zu]}",
                              i > from ? "," : "", t->name, shape, at, at + bytes);
        at += bytes;
    }
    snprintf(header + n, sizeof header - n, "}");
    put_safetensors(out, name, header, at);
}

static void safetensors_models(void)
{
    struct fuzz_buffer b = { 0 };
    char index[4096] = "{\"metadata\":{},\"weight_map\":{";
    size_t n = strlen(index);
    packed_put(&b, CONFIG, config, strlen(config));
    put_tensors(&b, MODEL, 0, N_ST);
    save("safetensors", "single", &b);
    for (int i = 0; i < N_ST; i++)
        n += (size_t)snprintf(index + n, sizeof index - n,
                              "%s\"%s\":\"model-0000%d-of-00002.safetensors\"", i ? "," : "",
                              st_tensors[i].name, i < 5 ? 1 : 2);
    snprintf(index + n, sizeof index - n, "}}");
    packed_put(&b, CONFIG, config, strlen(config));
    packed_put(&b, INDEX, index, strlen(index));
    put_tensors(&b, SHARD_1, 0, 5);
    put_tensors(&b, SHARD_2, 5, N_ST);
    save("safetensors", "shards", &b);
}

static void safetensors_bad(void)
{
    static const struct {
        const char *name, *header;
        size_t bytes;
    } files[] = {
        { "shape-wraps-to-4",
          "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905,4],\"data_offsets\":[0,16]}}",
          16 },
        { "hole", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8 },
        { "overlap",
          "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
          "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
          8 },
        { "duplicate",
          "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
          8 },
        { "offset-negative", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}",
          4 },
        { "offset-real", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.0,4.0]}}",
          4 },
        { "zero-sizes",
          "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
          "\"b\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
          0 },
        { "trailing", "{}", 64 },
        { "metadata", "{\"__metadata__\":{\"format\":\"pt\"}}", 0 },
    };
    static const char *const indexes[] = {
        "{\"weight_map\":{\"a\":\"/etc/passwd\"}}",
        "{\"weight_map\":{\"a\":\"../model.safetensors\"}}",
        "{\"weight_map\":{\"a\":\"model.safetensors.index.json\"}}",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct fuzz_buffer b = { 0 };
        put_safetensors(&b, MODEL, files[i].header, files[i].bytes);
        save("safetensors", files[i].name, &b);
    }
    for (size_t i = 0; i < 3; i++) {
        struct fuzz_buffer b = { 0 };
        char name[32];
        packed_put(&b, INDEX, indexes[i], strlen(indexes[i]));
        snprintf(name, sizeof name, "index-path-%zu", i);
        save("safetensors", name, &b);
    }
    for (int n = 0; n < 3; n++) {
        static const uint64_t sizes[] = { 0, 100000001, UINT64_MAX };
        struct fuzz_buffer file = { 0 }, b = { 0 };
        char name[32];
        fuzz_put_number(&file, sizes[n], 8);
        fuzz_put_text(&file, "{}");
        packed_put(&b, MODEL, file.data, file.size);
        fuzz_buffer_free(&file);
        snprintf(name, sizeof name, "header-size-%d", n);
        save("safetensors", name, &b);
    }
}

/* ---- tokenizer.model */

static void put_piece(struct fuzz_buffer *model, const char *text, float score, unsigned type)
{
    struct fuzz_buffer b = { 0 };
    fuzz_put_number(&b, 0x0a, 1);
    fuzz_put_number(&b, strlen(text), 1);
    fuzz_put_text(&b, text);
    fuzz_put_number(&b, 0x15, 1);
    fuzz_put(&b, &score, 4);
    fuzz_put_number(&b, 0x18, 1);
    fuzz_put_number(&b, type, 1);
    fuzz_put_number(model, 0x0a, 1);
    fuzz_put_number(model, b.size, 1);
    fuzz_put(model, b.data, b.size);
    fuzz_buffer_free(&b);
}

static void tokenizer_models(void)
{
    static const char *const pieces[] = { "\xE2\x96\x81",    "t", "h", "e", "th", "the",
                                          "\xE2\x96\x81the", "a", "l", "o", "H" };
    for (int bad = 0; bad < 3; bad++) {
        struct fuzz_buffer b = { 0 };
        put_piece(&b, "<unk>", 0, 2);
        put_piece(&b, "<s>", 0, 3);
        put_piece(&b, "</s>", 0, 3);
        put_piece(&b, bad == 1 ? "<0x-1>" : "<0x0A>", 0, 6);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
            put_piece(&b, pieces[i], -(float)i, 1);
        fuzz_put(&b, "\x12\x02\x18\x02", 4); /* trainer: BPE */
        if (bad == 2)
            fuzz_put(&b, "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
        fuzz_put(&b, "\x1a\x04\x18\x01\x20\x00", 6); /* normalizer */
        static const char *const names[] = { "bpe", "byte-token", "length-max" };
        save("tokenizer_model", names[bad], &b);
    }
}

/* ---- Targets that draw from bytes */

static void random_inputs(const char *corpus, int n, uint32_t size, const char *tail)
{
    for (int i = 0; i < n; i++) {
        struct fuzz_buffer b = { 0 };
        struct fuzz_random r = { (uint64_t)i + size };
        char name[32];
        for (uint32_t k = 0; k < size; k++)
            fuzz_put_number(&b, fuzz_random(&r, 256), 1);
        fuzz_put_text(&b, tail);
        snprintf(name, sizeof name, "random-%d", i);
        save(corpus, name, &b);
    }
}

static void tokenizer_calls(void)
{
    static const char *const texts[] = {
        "The thing and the end.",
        "<|im_start|>user\n<|im_end|><|endoftext|> <s></s>",
        "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 a\xCC\x81",
        "\xff\xfe\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xE2\x82",
        "    \t\n\r\n  x\xC2\xA0\xE3\x80\x80y  ",
        "0123456789 it's I'LL 12,345.67",
    };
    for (uint32_t i = 0; i < 3 * 4 * 6; i++) {
        struct fuzz_buffer b = { 0 };
        char name[32];
        fuzz_put_number(&b, i % 3, 1);
        fuzz_put_number(&b, i / 3 % 4, 1);
        if (i / 3 % 4 == 1) /* lengths of spans */
            fuzz_put(&b, "\x09\x0a\x05\x30\x07\x10\x11\x12", 8);
        fuzz_put_text(&b, texts[i / 12]);
        snprintf(name, sizeof name, "text-%u", i);
        save("tokenizer", name, &b);
    }
}

/* Header and data of fuzz_kv_scales.c; its model has 2 layers with 2 KV heads. */
static void kv_scale_files(void)
{
    static const struct {
        const char *name, *dtype;
        float first;
    } files[] = { { "valid", "F32", 0.5f }, { "zero", "F32", 0 }, { "dtype", "I32", 0.5f } };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct fuzz_buffer b = { 0 };
        char header[512];
        snprintf(
            header, sizeof header,
            "{\"fingerprint\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[0,8]},"
            "\"kv_group.0.k_scale\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[8,24]},"
            "\"kv_group.0.v_scale\":{\"dtype\":\"F32\",\"shape\":[2,2],"
            "\"data_offsets\":[24,40]}}\n----\nFINGERPR",
            files[i].dtype);
        fuzz_put_text(&b, header);
        for (int j = 0; j < 8; j++) {
            const float x = j ? (float)j : files[i].first;
            fuzz_put(&b, &x, sizeof x);
        }
        save("kv_scales", files[i].name, &b);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
        return 64;
    }
    root = argv[1];
    mkdir(root, 0777);
    gguf_models();
    gguf_bad_counts();
    gguf_bad_keys();
    gguf_bad_tensors();
    gguf_bad_vocab();
    safetensors_models();
    safetensors_bad();
    tokenizer_models();
    tokenizer_calls();
    edit_seeds(save);
    kv_scale_files();
    adapter_seeds(save);
    quantized_seeds(save);
    random_inputs("attention", 48, 250, "");
    random_inputs("sampling", 12, 300, "");
    random_inputs("engine", 8, 200, "the end of the story and ");
    return 0;
}
