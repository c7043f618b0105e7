/* SPDX-License-Identifier: Apache-2.0 */
/* test_load_faults.c - models of the families with the most kinds of weights, and adapters, while
 * every allocation or every read fails: an error that says so, and nothing is left. */
#include "test_failing_reads.h"
#include "test_raw_folder.h"
#include <quire/adapter.h>
#include <quire/model.h>

static struct quire_model *base; /* of adapters; NULL: the path is that of a model */

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
                                        cmocka_unit_test(pack_caches), cmocka_unit_test(adapters) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
