/* SPDX-License-Identifier: Apache-2.0 */
/* test_dense_files.c - folders of sentence-transformers: up to four dense layers in folders of
 * their own, each file missing or damaged, without memory, in a pack cache; paths of models. */
#include "model/load/weights.h"
#include "model/load/weights_read.h"
#include "model/load/weights_source.h"
#include "test_raw_folder.h"
#include <quire/model.h>

static struct raw_folder main_folder, layer;

static const char *in_dir(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void clear_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'/*", dir);
    assert_int_equal(system(command), 0);
}

/* Dense layer i (from 0) maps 64 values to 128, or 128 to 64; the first has a bias. */
static void write_dense(uint32_t i)
{
    char name[64], text[200];
    const uint64_t in = i % 2 ? 128 : 64, out = 192 - in;
    snprintf(name, sizeof name, "%u_Dense", i + 2);
    (void)mkdir(in_dir(name), 0777);
    float *w = (float *)(void *)raw_add(&layer, "linear.weight", "F32", SHAPE(out, in))->data;
    for (uint64_t k = 0; k < in * out; k++)
        w[k] = (float)(i + 1) + (float)k / 64;
    if (i == 0)
        raw_add(&layer, "linear.bias", "F32", SHAPE(out));
    snprintf(name, sizeof name, "%u_Dense/model.safetensors", i + 2);
    raw_write_tensors(&layer, name);
    raw_clear(&layer);
    snprintf(name, sizeof name, "%u_Dense/config.json", i + 2);
    snprintf(text, sizeof text,
             "{\"in_features\":%u,\"out_features\":%u,\"bias\":%s,\"activation_function\":"
             "\"torch.nn.modules.linear.Identity\"}",
             (unsigned)in, (unsigned)out, i ? "false" : "true");
    raw_write_file(name, text, strlen(text));
}

/* Writes an encoder with n dense layers behind its pooling. */
static void write_model(uint32_t n)
{
    char modules[600] = "[{\"type\":\"sentence_transformers.models.Transformer\"},"
                        "{\"type\":\"sentence_transformers.models.Pooling\"}";
    clear_dir();
    raw_write(&main_folder);
    assert_int_equal(mkdir(in_dir("1_Pooling"), 0777), 0);
    raw_write_file("1_Pooling/config.json", "{}", 2);
    for (uint32_t i = 0; i < n; i++) {
        write_dense(i);
        snprintf(modules + strlen(modules), sizeof modules - strlen(modules),
                 ",{\"type\":\"sentence_transformers.models.Dense\",\"path\":\"%u_Dense\"}", i + 2);
    }
    strcat(modules, "]");
    raw_write_file("modules.json", modules, strlen(modules));
}

static quire_status open_weights(const struct quire_allocator *a, struct qr_weights **w,
                                 struct quire_error *err)
{
    const struct qr_weights_params p = { .path = dir, .strict = true, .allocator = a };
    return qr_weights_open(&p, w, err);
}

/* ---- Files */

static void layers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (uint32_t n = 0; n <= 4; n++) {
        static float x[128 * 64];
        struct qr_weights *w;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_weight d;
        size_t tensor;
        write_model(n);
        assert_status(QUIRE_OK, open_weights(NULL, &w, &err));
        assert_int_equal(qr_weights_config(w)->n_dense, n);
        assert_int_equal(qr_weights_source_count(w), main_folder.n + n + (n > 0));
        for (uint32_t i = 0; i < 5; i++) {
            const enum qr_weight_role role = (enum qr_weight_role)(QR_W_DENSE_0 + i);
            assert_int_equal(i < 4 && qr_weights_find(w, role, 0, &d), i < n);
            if (i >= n)
                continue;
            assert_status(QUIRE_OK, qr_weights_read_f32(w, &d, x, 128 * 64, &err));
            assert_true(x[0] == (float)(i + 1) && x[8191] == x[0] + 8191.0f / 64);
        }
        assert_int_equal(qr_weights_find(w, QR_W_DENSE_0_BIAS, 0, &d), n > 0);
        assert_false(qr_weights_find(w, QR_W_DENSE_1_BIAS, 0, &d));
        /* names of layers that do not exist */
        static const char *const names[] = { "dense.",
                                             "dense./.linear.weight",
                                             "dense.9.linear.weight",
                                             "dense.:.linear.weight",
                                             "dense.0.x",
                                             "dense.0",
                                             "dense.0xlinear.weight" };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            assert_false(qr_weights_source_find(w, names[i], &tensor));
        for (uint32_t i = 0; i < 4; i++) {
            char name[32];
            snprintf(name, sizeof name, "dense.%u.linear.weight", i);
            assert_int_equal(qr_weights_source_find(w, name, &tensor), i < n);
        }
        qr_weights_close(w);
    }
}

static void bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *file, *data; /* NULL: removed */
        quire_status status;
        const char *text; /* of the message, or the module that is refused */
    } cases[] = {
        { "2_Dense/config.json", NULL, QUIRE_E_FORMAT, "2_Dense/config.json is missing" },
        { "3_Dense/config.json", "[", QUIRE_E_FORMAT, "3_Dense/config.json" },
        { "3_Dense/model.safetensors", "abc", QUIRE_E_FORMAT, "safetensors" },
        { "1_Pooling/config.json", "[", QUIRE_E_FORMAT, "1_Pooling/config.json" },
        { "modules.json", "[", QUIRE_E_FORMAT, "modules.json" },
        { "2_Dense/model.safetensors", NULL, QUIRE_OK, "2_Dense" },
        { "modules.json", "[{\"type\":\"sentence_transformers.models.LSTM\"}]", QUIRE_OK, "LSTM" },
    };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_weights *w;
        struct quire_error err = QUIRE_ERROR_INIT;
        write_model(2);
        if (cases[i].data)
            raw_write_file(cases[i].file, cases[i].data, strlen(cases[i].data));
        else
            assert_int_equal(unlink(in_dir(cases[i].file)), 0);
        const quire_status s = open_weights(NULL, &w, &err);
        const char *text = w ? qr_weights_config(w)->embedding_module : err.msg;
        if (s != cases[i].status || !strstr(text, cases[i].text))
            fail_msg("case %zu: %s \"%s\"", i, quire_status_name(s), text);
        assert_true(!w || qr_weights_config(w)->n_dense == 0);
        qr_weights_close(w);
    }
}

static void no_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    write_model(2);
    for (size_t n = 1, done = 0; !done; n++) {
        struct fail_alloc f;
        struct qr_weights *w;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, n, false);
        const quire_status s = open_weights(&f.hooks, &w, &err);
        done = f.calls < n;
        if (s != (done ? QUIRE_OK : QUIRE_E_NOMEM) || (!done && !strstr(err.msg, "memory")))
            fail_msg("allocation %zu: %s \"%s\"", n, quire_status_name(s), err.msg);
        qr_weights_close(w);
        assert_int_equal(f.live_count, 0);
    }
}

/* ---- Pack caches: the files of dense layers identify the model, too */

static bool opens_cached(void)
{
    struct quire_model_params p;
    struct quire_model_info info = { .struct_size = sizeof info };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *m;
    quire_model_params_init(&p, sizeof p);
    p.path = dir;
    p.pack_cache = in_dir("cache");
    p.linear = QUIRE_LINEAR_QUIRE;
    if (quire_model_open(&p, &m, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    assert_status(QUIRE_OK, quire_model_get_info(m, &info));
    assert_status(QUIRE_OK, quire_model_close(m));
    return info.pack_cached;
}

static void pack_cache(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (uint32_t n = 1; n <= 4; n++) {
        write_model(n);
        assert_false(opens_cached());
        assert_true(opens_cached());
        for (uint32_t i = 0; i < n; i++) { /* with another date */
            char file[64], command[200];
            snprintf(file, sizeof file, "%u_Dense/model.safetensors", i + 2);
            snprintf(command, sizeof command, "touch -d 2001-01-0%u '%s'", i + 1, in_dir(file));
            assert_int_equal(system(command), 0);
            assert_false(opens_cached());
            assert_true(opens_cached());
        }
    }
}

/* ---- Paths */

static void expect_path(const char *path, quire_status status, const char *text)
{
    struct qr_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct qr_weights_params p = { .path = path };
    const quire_status s = qr_weights_open(&p, &w, &err);
    const char *got = w ? qr_weights_config(w)->name : err.msg;
    if (s != status || (w ? strcmp(got, text) != 0 : !strstr(got, text)))
        fail_msg("%s: %s \"%s\"", path, quire_status_name(s), got);
    qr_weights_close(w);
}

/* A model without a name has that of its folder, however its path is written. */
static void paths(void **state)
{
    (void)state;
    char path[160], cwd[4096];
    if (!need_shared())
        skip();
    write_model(1);
    const char *name = strrchr(dir, '/') + 1;
    expect_path(dir, QUIRE_OK, name);
    snprintf(path, sizeof path, "%s//", dir);
    expect_path(path, QUIRE_OK, name);
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(dir), 0);
    expect_path(".", QUIRE_OK, ".");
    expect_path("./", QUIRE_OK, ".");
    expect_path("model.safetensors", QUIRE_E_INVALID_ARG, "is opened by its folder");
    expect_path("config.json", QUIRE_E_INVALID_ARG, "is opened by its folder");
    raw_write_file("m", "GGUF", 4);
    expect_path("m", QUIRE_E_FORMAT, "");
    assert_int_equal(chdir(cwd), 0);
    raw_config(&main_folder, "{", "{\"_name_or_path\":\"own name\",");
    raw_write(&main_folder);
    expect_path(dir, QUIRE_OK, "own name");
}

static int set_up(void **state)
{
    if (shared_dir())
        raw_read(&main_folder, "embedding_gemma");
    return make_dir(state);
}

static int tear_down(void **state)
{
    raw_clear(&main_folder);
    return remove_dir(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers),     cmocka_unit_test(bad_files), cmocka_unit_test(no_memory),
        cmocka_unit_test(pack_cache), cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
