/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_streams.c - several residual streams, sparse gates, and compressed keys in GGUF
 * metadata. */
#include "model/config/config.h"
#include "model/config/gguf.h"
#include "test_gguf.h"
#include <math.h>

enum { N_LAYERS = 4, NONE = 255 };

/* A key without the prefix of the family. elem: type of the elements of an array; type NONE: the
 * key is missing. */
struct key {
    const char *name;
    uint32_t type, elem, n;
    double v[5];
};
#define U32(name, value)                                                                           \
    {                                                                                              \
        name, QR_GGUF_U32, 0, 1, { value }                                                         \
    }
#define F32(name, value)                                                                           \
    {                                                                                              \
        name, QR_GGUF_F32, 0, 1, { value }                                                         \
    }
#define BOOL(name, value)                                                                          \
    {                                                                                              \
        name, QR_GGUF_BOOL, 0, 1, { value }                                                        \
    }
#define U32S(name, n, ...)                                                                         \
    {                                                                                              \
        name, QR_GGUF_ARRAY, QR_GGUF_U32, n, { __VA_ARGS__ }                                       \
    }
#define F32S(name, n, ...)                                                                         \
    {                                                                                              \
        name, QR_GGUF_ARRAY, QR_GGUF_F32, n, { __VA_ARGS__ }                                       \
    }
#define MISSING(name)                                                                              \
    {                                                                                              \
        name, NONE, 0, 0, { 0 }                                                                    \
    }

static void put_value(struct image *m, uint32_t type, double v)
{
    const float f = (float)v;
    if (type == QR_GGUF_F32)
        put(m, &f, sizeof f);
    else if (type == QR_GGUF_BOOL)
        put_u8(m, v != 0);
    else
        put_u32(m, (uint32_t)v);
}

static void put_key_of(struct image *m, const char *arch, const struct key *k)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", arch, k->name);
    put_key(m, name, k->type);
    if (k->type == QR_GGUF_ARRAY) {
        put_u32(m, k->elem);
        put_u64(m, k->n);
    }
    for (uint32_t i = 0; i < k->n; i++)
        put_value(m, k->type == QR_GGUF_ARRAY ? k->elem : k->type, k->v[i]);
}

/* Reads a model with the keys of `base`, in which those of `other` replace or add some, and with
 * tensors of 2 x rows zeros. */
struct source {
    const char *arch;
    const struct key *base;
    size_t n_base;
    const struct key *other;
    size_t n_other;
    const char *tensors[8];
    uint64_t rows;
};

static quire_status read_model(const struct source *s, struct qr_model_config *c,
                               struct quire_error *err)
{
    struct key all[40];
    struct image m;
    struct qr_gguf *g;
    size_t n = s->n_base, n_present = 0;
    uint64_t n_tensors = 0;
    memcpy(all, s->base, n * sizeof *all);
    for (size_t i = 0; i < s->n_other; i++) {
        size_t at = 0;
        while (at < n && strcmp(all[at].name, s->other[i].name) != 0)
            at++;
        all[at] = s->other[i];
        n += at == n;
    }
    for (size_t i = 0; i < n; i++)
        n_present += all[i].type != NONE;
    while (s->tensors[n_tensors])
        n_tensors++;
    put_head(&m, 3, n_tensors, 1 + n_present);
    put_kv_str(&m, "general.architecture", s->arch);
    for (size_t i = 0; i < n; i++)
        if (all[i].type != NONE)
            put_key_of(&m, s->arch, &all[i]);
    const uint64_t dims[2] = { 2, s->rows }, bytes = (2 * s->rows * sizeof(float) + 31) / 32 * 32;
    for (uint64_t i = 0; i < n_tensors; i++)
        put_tensor(&m, s->tensors[i], 0, 2, dims, i * bytes);
    pad_to(&m, 32);
    for (uint64_t i = 0; i < n_tensors * bytes; i++)
        put_u8(&m, 0);
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, err));
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    quire_status status = qr_model_config_from_gguf(g, NULL, &f.hooks, c, err);
    qr_model_config_free(c);
    assert_int_equal(f.live_count, 0);
    if (status == QUIRE_OK)
        status = qr_model_config_from_gguf(g, NULL, NULL, c, err);
    qr_gguf_close(g);
    drop(&m);
    return status;
}

static struct qr_model_config accepted(const struct source *s)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (read_model(s, &c, &err) != QUIRE_OK)
        fail_msg("%s: %s", s->arch, err.msg);
    return c;
}

static void refused(const struct source *s, quire_status status, const char *text)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status got = read_model(s, &c, &err);
    if (got != status || !strstr(err.msg, text))
        fail_msg("got %s \"%s\", expected \"%s\"", quire_status_name(got), err.msg, text);
}

/* ---- Gemma 3n */

#define SPARSITY "activation_sparsity_scale"
static const struct key gemma3n[] = {
    U32("block_count", N_LAYERS),
    U32("embedding_length", 64),
    U32("context_length", 512),
    U32("feed_forward_length", 160),
    U32("vocab_size", 320),
    U32("attention.head_count", 4),
    U32("attention.sliding_window", 16),
    F32("attention.layer_norm_rms_epsilon", 1e-6),
    U32("altup.num_inputs", 3),
};

static struct source gemma3n_with(const struct key *other, size_t n)
{
    return (struct source){ .arch = "gemma3n",
                            .base = gemma3n,
                            .n_base = sizeof gemma3n / sizeof *gemma3n,
                            .other = other,
                            .n_other = n,
                            .tensors = { "blk.0.laurel_l.weight" },
                            .rows = 8 };
}

static void test_altup(void **state)
{
    (void)state;
    static const struct key more[] = {
        U32("altup.active_idx", 2),
        BOOL("altup.correct_scale", 0),
        F32S(SPARSITY, N_LAYERS, 1.5, -HUGE_VAL, 0, -2),
        U32("attention.shared_kv_layers", 1),
    };
    struct source s = gemma3n_with(NULL, 0);
    struct qr_model_config c = accepted(&s);
    assert_true(c.altup.n_streams == 3 && c.altup.active == 0 && c.altup.correct_scale);
    assert_true(c.altup.coef_clip == 120);
    assert_int_equal(c.laurel_rank, 8);
    assert_false(qr_model_has_sparse_gates(&c));
    qr_model_config_free(&c);
    s = gemma3n_with(more, 4);
    c = accepted(&s);
    assert_true(c.altup.n_streams == 3 && c.altup.active == 2 && !c.altup.correct_scale);
    static const float cutoffs[N_LAYERS] = { 1.5f, 0, 0, -2 };
    for (uint32_t i = 0; i < N_LAYERS; i++) {
        assert_true(c.layers[i].sparse_gate == (i != 1));
        assert_true(c.layers[i].gate_cutoff == cutoffs[i]);
    }
    assert_int_equal(c.layers[3].kv_source, 2);
    assert_true(qr_model_has_sparse_gates(&c));
    qr_model_config_free(&c);
}

static void test_bad_altup(void **state)
{
    (void)state;
    static const struct {
        struct key key;
        const char *text;
    } cases[] = {
        { MISSING("altup.num_inputs"), "altup.num_inputs is missing" },
        { U32("altup.num_inputs", 17), "number of residual streams is 17" },
        { F32("altup.active_idx", 1), "altup.active_idx has type f32" },
        { U32("altup.active_idx", 3), "active residual stream is 3" },
        { U32("altup.correct_scale", 1), "altup.correct_scale has type u32" },
        { F32(SPARSITY, 1), SPARSITY " has type f32" },
        { F32S(SPARSITY, 3, 1, 1, 1), SPARSITY " must list 4 floats" },
        { U32S(SPARSITY, N_LAYERS, 1, 1, 1, 1), SPARSITY " must list 4 floats" },
        { F32S(SPARSITY, N_LAYERS, 1, 1, HUGE_VAL, 1), "cutoff of sparse gates is inf" },
        { F32("attention.shared_kv_layers", 1.5), "attention.shared_kv_layers is 1.5" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source s = gemma3n_with(&cases[i].key, 1);
        refused(&s, QUIRE_E_FORMAT, cases[i].text);
    }
    struct source s = gemma3n_with(NULL, 0);
    s.tensors[0] = NULL;
    refused(&s, QUIRE_E_FORMAT, "tensor blk.0.laurel_l.weight is missing");
}

/* ---- DeepSeek V4 */

#define RATES "attention.compress_ratios"
static const struct key deepseek4[] = {
    U32("block_count", N_LAYERS),
    U32("embedding_length", 64),
    U32("context_length", 512),
    U32("vocab_size", 320),
    U32("attention.head_count", 4),
    U32("attention.head_count_kv", 1),
    U32("attention.key_length", 32),
    U32("attention.q_lora_rank", 32),
    U32("attention.output_group_count", 2),
    U32("attention.output_lora_rank", 24),
    U32("attention.sliding_window", 16),
    F32("attention.layer_norm_rms_epsilon", 1e-6),
    U32S(RATES, N_LAYERS, 4, 0, 4, 128),
    F32("attention.compress_rope_freq_base", 160000),
    U32("attention.indexer.head_count", 4),
    U32("attention.indexer.key_length", 16),
    U32("attention.indexer.top_k", 8),
    U32("rope.dimension_count", 16),
    U32("hyper_connection.count", 4),
    U32("hyper_connection.sinkhorn_iterations", 20),
    F32("hyper_connection.epsilon", 1e-6),
    F32S("swiglu_clamp_exp", N_LAYERS, 10, 10, 10, 10),
    F32S("swiglu_clamp_shexp", N_LAYERS, 10, 10, 10, 10),
};

/* `sparse` and `tables`: the layers with an indexer and those with a table of experts. */
static struct source deepseek4_with(const struct key *other, size_t n, const char *sparse,
                                    const char *tables)
{
    static char names[8][64];
    struct source s = { .arch = "deepseek4",
                        .base = deepseek4,
                        .n_base = sizeof deepseek4 / sizeof *deepseek4,
                        .other = other,
                        .n_other = n,
                        .rows = 1 };
    size_t at = 0;
    for (const char *p = sparse; *p; p++, at++)
        snprintf(names[at], sizeof names[0], "blk.%c.indexer_compressor_kv.weight", *p);
    for (const char *p = tables; *p; p++, at++)
        snprintf(names[at], sizeof names[0], "blk.%c.ffn_gate_tid2eid.weight", *p);
    for (size_t i = 0; i < at; i++)
        s.tensors[i] = names[i];
    return s;
}

static void test_compressed(void **state)
{
    (void)state;
    static const struct key no_heads = U32("attention.indexer.head_count", 0);
    struct source s = deepseek4_with(NULL, 0, "02", "01");
    struct qr_model_config c = accepted(&s);
    assert_true(c.index.n_heads == 4 && c.index.block_size == 4 && c.act_limit == 10);
    for (uint32_t i = 0; i < N_LAYERS; i++) {
        assert_int_equal(c.layers[i].index, i % 2 ? QR_INDEX_NONE : QR_INDEX_OWN);
        assert_int_equal(c.layers[i].rope, i != 1);
        assert_true(c.layers[i].token_experts == (i < 2));
    }
    assert_int_equal(c.layers[3].compress_rate, 128);
    qr_model_config_free(&c);
    /* without a layer that has an indexer, its number of heads does not matter */
    for (size_t n = 0; n < 2; n++) {
        s = deepseek4_with(&no_heads, n, "", "");
        c = accepted(&s);
        assert_int_equal(c.index.n_heads, 0);
        qr_model_config_free(&c);
    }
    s = deepseek4_with(&no_heads, 1, "0", "");
    refused(&s, QUIRE_E_FORMAT, "attention.indexer.head_count is 0");
}

static void test_bad_compressed(void **state)
{
    (void)state;
    static const struct {
        struct key key;
        const char *sparse, *tables;
        quire_status status;
        const char *text;
    } cases[] = {
        { U32S(RATES, N_LAYERS, 4, 4097, 4, 4), "", "", QUIRE_E_FORMAT,
          RATES " has 4097 tokens per key in layer 1" },
        { U32S(RATES, N_LAYERS, 4, 4, 0, 4), "02", "", QUIRE_E_FORMAT,
          RATES " has 0 tokens per key in layer 2" },
        { U32S(RATES, N_LAYERS, 4, 0, 8, 128), "02", "", QUIRE_E_UNSUPPORTED,
          "indexers over keys of 4 and of 8 tokens" },
        { F32S("swiglu_clamp_exp", N_LAYERS, 10, 10, 10, 0), "", "", QUIRE_E_FORMAT,
          "swiglu_clamp_exp[3] must be positive" },
        { F32S("swiglu_clamp_exp", N_LAYERS, 10, 10, 7, 10), "", "", QUIRE_E_UNSUPPORTED,
          "swiglu_clamp_exp[2] is 7, another limit 10" },
        { F32S("swiglu_clamp_shexp", N_LAYERS, 7, 7, 7, 7), "", "", QUIRE_E_UNSUPPORTED,
          "swiglu_clamp_shexp[0] is 7, another limit 10" },
        { MISSING("hash_layer_count"), "", "02", QUIRE_E_FORMAT,
          "hash_layer_count is 1, but layer 2 has a table" },
        { U32("hash_layer_count", 2), "", "0", QUIRE_E_FORMAT,
          "hash_layer_count is 2, but layer 1 has no table" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source s = deepseek4_with(&cases[i].key, 1, cases[i].sparse, cases[i].tables);
        refused(&s, cases[i].status, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_altup),
        cmocka_unit_test(test_bad_altup),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_bad_compressed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
