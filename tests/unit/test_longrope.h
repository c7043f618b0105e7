/* SPDX-License-Identifier: Apache-2.0 */
/* test_longrope.h - a Hugging Face folder of a LongRoPE model: the weights of the phi3 reference
 * model with another configuration. */
#ifndef QUIRE_TEST_LONGROPE_H
#define QUIRE_TEST_LONGROPE_H
#include "test_dir.h"

enum {
    LAYERS = 2,
    HIDDEN = 192,
    HEADS = 2,
    HEAD = 96,
    HALF = HEAD / 2,
    FFN = 256,
    VOCAB = 320,
    WINDOW = 24,
    ORIGINAL = 64,
    CONTEXT = 512,
    QKV = (HEADS + 2) * HEAD,
    MAX_TOKENS = 128,
    BLOCK = 16,
    BLOCKS = MAX_TOKENS / BLOCK
};

static inline double factor(bool is_long, int i) { return is_long ? 1 + 0.4 * i : 1 + 0.02 * i; }

static inline void put_text(const char *name, const char *text)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline size_t put_factors(char *out, size_t size, const char *name, bool is_long)
{
    size_t n = (size_t)snprintf(out, size, ",\"%s\":[", name);
    for (int i = 0; i < HALF; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%.2f", i ? "," : "", factor(is_long, i));
    return n + (size_t)snprintf(out + n, size - n, "]");
}

static inline void put_config(void)
{
    char text[8192];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "{\"model_type\":\"phi3\",\"architectures\":[\"Phi3ForCausalLM\"],\"hidden_size\":%d,"
        "\"intermediate_size\":%d,\"num_hidden_layers\":%d,\"num_attention_heads\":%d,"
        "\"num_key_value_heads\":1,\"vocab_size\":%d,\"rms_norm_eps\":1e-05,\"hidden_act\":"
        "\"silu\","
        "\"max_position_embeddings\":%d,\"original_max_position_embeddings\":%d,"
        "\"sliding_window\":%d,\"tie_word_embeddings\":false,\"rope_theta\":10000.0,"
        "\"rope_scaling\":{\"type\":\"longrope\"",
        HIDDEN, FFN, LAYERS, HEADS, VOCAB, CONTEXT, ORIGINAL, WINDOW);
    n += put_factors(text + n, sizeof text - n, "short_factor", false);
    n += put_factors(text + n, sizeof text - n, "long_factor", true);
    snprintf(text + n, sizeof text - n, "}}");
    put_text("config.json", text);
}

/* One token per byte, sufficient for an engine that receives token ids. */
static inline void put_tokenizer(void)
{
    char text[16384];
    size_t n =
        (size_t)snprintf(text, sizeof text,
                         "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":"
                         "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
                         "\"content\":\"\xe2\x96\x81\"},"
                         "\"pre_tokenizer\":null,\"post_processor\":null,"
                         "\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
                         "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},"
                         "\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},"
                         "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"merges\":[],"
                         "\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0");
    for (int i = 0; i < 256; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"<0x%02X>\":%d", (unsigned)i, i + 1);
    snprintf(text + n, sizeof text - n, "}}}");
    put_text("tokenizer.json", text);
}

static inline int fill_dir(void **state)
{
    char to[4200], from[4200];
    if (!shared_dir())
        return 0;
    if (make_dir(state) != 0)
        return -1;
    snprintf(to, sizeof to, "%s/goldens/phi3/model.safetensors", shared_dir());
    snprintf(from, sizeof from, "%s/model.safetensors", dir);
    char *whole = realpath(to, NULL);
    if (!whole || symlink(whole, from) != 0)
        return -1;
    free(whole);
    put_config();
    put_tokenizer();
    return 0;
}

static inline int drop_dir(void **state) { return shared_dir() ? remove_dir(state) : 0; }

#endif
