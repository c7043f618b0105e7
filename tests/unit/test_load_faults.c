/* SPDX-License-Identifier: Apache-2.0 */
/* test_load_faults.c - models of the families with the most kinds of weights, a head of multi-token
 * prediction, and adapters, while every allocation or every read fails: an error that says so, and
 * nothing is left. */
#include "test_failing_reads.h"
#include "test_raw_folder.h"
#include <quire/adapter.h>
#include <quire/model.h>

static struct quire_model *base;   /* of adapters; NULL: the path is that of a model */
static struct quire_model *mtp_of; /* NULL: that model is no head of multi-token prediction */

static quire_status open_path(const char *path, const struct quire_allocator *a,
                              struct quire_error *err)
{
    quire_status s;
    if (base) {
        struct quire_adapter_params p;
        struct quire_adapter *adapter = NULL;
        quire_adapter_params_init(&p, sizeof p);
        p.path = path;
        p.allocator = a;
        s = quire_adapter_open(base, &p, &adapter, err);
        assert_int_equal(s == QUIRE_OK, adapter != NULL);
        assert_status(QUIRE_OK, quire_adapter_close(adapter));
    } else {
        struct quire_model_params p;
        struct quire_model *m = NULL;
        quire_model_params_init(&p, sizeof p);
        p.path = path;
        p.allocator = a;
        p.mtp_of = mtp_of;
        p.linear = QUIRE_LINEAR_QUIRE; /* oneDNN is C++ and not prepared for failing allocations */
        s = quire_model_open(&p, &m, err);
        assert_int_equal(s == QUIRE_OK, m != NULL);
        assert_status(QUIRE_OK, quire_model_close(m));
    }
    return s;
}

static void every_fault(const char *path)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fail_alloc f;
    for (size_t n = 1, done = 0; !done; n += takes_sample() ? 3 : 1) {
        fail_alloc_init(&f, n, false);
        const quire_status s = open_path(path, &f.hooks, &err);
        done = f.calls < n;
        assert_int_equal(f.live_count, 0);
        if (s != (done ? QUIRE_OK : QUIRE_E_NOMEM) || (!done && !strstr(err.msg, "memory")))
            fail_msg("%s, allocation %zu: %s \"%s\"", path, n, quire_status_name(s), err.msg);
    }
    for (size_t n = 1, done = 0; !done; n += takes_sample() ? 3 : 1) {
        fail_alloc_init(&f, 0, false);
        fail_read(n);
        const quire_status s = open_path(path, &f.hooks, &err);
        done = n_reads < n;
        fail_read(0);
        assert_int_equal(f.live_count, 0);
        if (s != (done ? QUIRE_OK : QUIRE_E_IO) || (!done && !strstr(err.msg, "read error")))
            fail_msg("%s, read %zu: %s \"%s\"", path, n, quire_status_name(s), err.msg);
    }
}

static void models(void **state)
{
    (void)state;
    static const char *const names[] = { "deepseek_v4", "zamba2",        "gemma3n_text",
                                         "qwen4_exp",   "longcat_flash", "minimax",
                                         "mixtral",     "gpt_oss",       "gguf/gpt2-bf16.gguf" };
    const char *const shared = shared_dir();
    if (!need_shared() || !shared)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/goldens/%s", shared, names[i]);
        every_fault(path);
    }
}

/* A checkpoint with scales of keys and values. */
static void kv_scales(void **state)
{
    static struct raw_folder f;
    (void)state;
    if (!need_shared())
        skip();
    raw_read(&f, "llama");
    const float scales[] = { 0.25f, 2 };
    memcpy(raw_add(&f, "model.layers.1.self_attn.k_scale", "F32", SHAPE(2))->data, scales,
           sizeof scales);
    raw_write(&f);
    raw_clear(&f);
    every_fault(dir);
}

/* A pack cache that cannot be read costs time only, and stays. */
static void pack_caches(void **state)
{
    char path[4200], cache[128];
    struct quire_error err = QUIRE_ERROR_INIT;
    unsigned n_cached = 0, n_packed = 0;
    (void)state;
    if (!need_shared())
        skip();
    snprintf(path, sizeof path, "%s/goldens/gguf/llama-q8_0.gguf", shared_dir());
    snprintf(cache, sizeof cache, "%s/cache", dir);
    for (size_t n = 0, done = 0; !done; n++) {
        struct quire_model_info info = { .struct_size = sizeof info };
        struct quire_model *m = NULL;
        struct quire_model_params p;
        quire_model_params_init(&p, sizeof p);
        p.path = path;
        p.pack_cache = cache;
        fail_read(n);
        const quire_status s = quire_model_open(&p, &m, &err);
        done = n > 0 && n_reads < n;
        fail_read(0);
        if (s != QUIRE_OK) { /* a read of the model */
            assert_int_equal(s, QUIRE_E_IO);
            continue;
        }
        assert_status(QUIRE_OK, quire_model_get_info(m, &info));
        assert_status(QUIRE_OK, quire_model_close(m));
        assert_int_equal(info.pack_cached, done);
        n_cached += info.pack_cached;
        n_packed += !info.pack_cached;
    }
    assert_int_equal(n_cached, 1);
    assert_int_equal(n_packed, 1 + 2); /* the first; without the header or the directory */
}

/* A head with clusters of tokens that reads the keys and values of Gemma 4. */
static const char head_config[] =
    "{\"model_type\":\"gemma4_assistant\",\"backbone_hidden_size\":64,"
    "\"use_ordered_embeddings\":true,\"num_centroids\":8,\"centroid_intermediate_top_k\":2,"
    "\"text_config\":{\"model_type\":\"gemma4_text\",\"vocab_size\":320,\"hidden_size\":32,"
    "\"intermediate_size\":48,\"num_hidden_layers\":1,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"head_dim\":16,\"global_head_dim\":32,\"sliding_window\":16,"
    "\"num_kv_shared_layers\":1,\"hidden_size_per_layer_input\":0,"
    "\"layer_types\":[\"full_attention\"],\"rope_parameters\":{\"full_attention\":{"
    "\"partial_rotary_factor\":0.25,\"rope_theta\":1e6,\"rope_type\":\"proportional\"},"
    "\"sliding_attention\":{\"rope_theta\":1e4,\"rope_type\":\"default\"}}}}";
static const struct {
    const char *name;
    uint64_t rows, cols; /* rows 0: a vector */
} head_tensors[] = {
    { "model.embed_tokens.weight", 320, 32 },
    { "model.norm.weight", 0, 32 },
    { "pre_projection.weight", 32, 128 },
    { "post_projection.weight", 64, 32 },
    { "masked_embedding.centroids.weight", 8, 32 },
    { "model.layers.0.input_layernorm.weight", 0, 32 },
    { "model.layers.0.post_attention_layernorm.weight", 0, 32 },
    { "model.layers.0.pre_feedforward_layernorm.weight", 0, 32 },
    { "model.layers.0.post_feedforward_layernorm.weight", 0, 32 },
    { "model.layers.0.self_attn.q_norm.weight", 0, 32 },
    { "model.layers.0.self_attn.q_proj.weight", 128, 32 },
    { "model.layers.0.self_attn.o_proj.weight", 32, 128 },
    { "model.layers.0.mlp.gate_proj.weight", 48, 32 },
    { "model.layers.0.mlp.up_proj.weight", 48, 32 },
    { "model.layers.0.mlp.down_proj.weight", 32, 48 },
    { "model.layers.0.layer_scalar", 0, 1 },
};

static void clusters(void **state)
{
    enum { N_TOKENS = 320 };
    static struct raw_folder f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params p;
    char path[4200];
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof head_tensors / sizeof *head_tensors; i++) {
        const uint64_t shape[] = { head_tensors[i].rows, head_tensors[i].cols };
        raw_add(&f, head_tensors[i].name, "F32", shape[0] ? 2 : 1, shape[0] ? shape : shape + 1);
    }
    int64_t *order =
        (int64_t *)(void *)raw_add(&f, "masked_embedding.token_ordering", "I64", SHAPE(N_TOKENS))
            ->data;
    for (int64_t i = 0; i < N_TOKENS; i++)
        order[i] = (i * 7) % N_TOKENS;
    strcpy(f.config, head_config);
    raw_write(&f);
    raw_clear(&f);
    quire_model_params_init(&p, sizeof p);
    snprintf(path, sizeof path, "%s/goldens/gemma4_text", shared_dir());
    p.path = path;
    assert_status(QUIRE_OK, quire_model_open(&p, &mtp_of, &err));
    every_fault(dir);
    assert_status(QUIRE_OK, quire_model_close(mtp_of));
    mtp_of = NULL;
}

static void adapters(void **state)
{
    (void)state;
    static const char *const names[][2] = { { "llama", "lora_llama_r8_rs_embed" },
                                            { "mixtral", "lora_mixtral_r4" },
                                            { "mixtral", "lora_mixtral_r4_params" } };
    const char *const shared = shared_dir();
    if (!need_shared() || !shared)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_model_params p;
        char path[4200];
        quire_model_params_init(&p, sizeof p);
        snprintf(path, sizeof path, "%s/goldens/%s", shared, names[i][0]);
        p.path = path;
        assert_status(QUIRE_OK, quire_model_open(&p, &base, &err));
        snprintf(path, sizeof path, "%s/goldens/lora/%s", shared, names[i][1]);
        every_fault(path);
        assert_status(QUIRE_OK, quire_model_close(base));
        base = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(models), cmocka_unit_test(kv_scales),
                                        cmocka_unit_test(clusters), cmocka_unit_test(pack_caches),
                                        cmocka_unit_test(adapters) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
