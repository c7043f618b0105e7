/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_kv_scales.c - fp8 scales of checkpoints and of calibration files: the names and shapes
 * that writers use, every malformed file, files of another model. */
#include "model/load/kv_scales.h"
#include "test_dir.h"
#include <math.h>
#include <quire/engine.h>
#include <quire/model.h>
#include <unistd.h>

/* The llama reference model. */
enum { LAYERS = 3, HEADS = 2, N = LAYERS * HEADS, MAX_FILE = 1 << 20 };

static char path[96];

static void write_file(const char *name, const void *data, size_t n)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static size_t read_shared(const char *name, unsigned char *out)
{
    char from[8192];
    snprintf(from, sizeof from, "%s/goldens/llama/%s", shared_dir(), name);
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    const size_t n = fread(out, 1, MAX_FILE, f);
    assert_int_equal(fclose(f), 0);
    assert_true(n > 0 && n < MAX_FILE);
    return n;
}

/* A tensor to append to a safetensors file. */
struct extra {
    const char *name, *dtype, *shape;
    const void *data;
    size_t bytes;
};

/* Writes the llama reference model with extra tensors into the directory. */
static void write_model(const struct extra *extras, size_t n)
{
    static unsigned char in[MAX_FILE], out[MAX_FILE + 65536];
    uint64_t header;
    size_t size = read_shared("config.json", in);
    write_file("config.json", in, size);
    size = read_shared("model.safetensors", in);
    memcpy(&header, in, 8);
    size_t used = 8 + header, offset = size - 8 - header, end = offset;
    memcpy(out, in, used);
    while (out[used - 1] != '}')
        used--;
    used--;
    for (size_t i = 0; i < n; i++) {
        used += (size_t)sprintf(
            (char *)out + used,
            ",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", extras[i].name,
            extras[i].dtype, extras[i].shape, end, end + extras[i].bytes);
        end += extras[i].bytes;
    }
    out[used++] = '}';
    const uint64_t new_header = used - 8;
    memcpy(out, &new_header, 8);
    memcpy(out + used, in + 8 + header, offset);
    used += offset;
    for (size_t i = 0; i < n; i++) {
        memcpy(out + used, extras[i].data, extras[i].bytes);
        used += extras[i].bytes;
    }
    write_file("model.safetensors", out, used);
}

static quire_status open_model(struct quire_model **m, struct quire_error *err)
{
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = dir;
    return quire_model_open(&mp, m, err);
}

static void count_warnings(void *user, enum quire_log_level level, quire_status code,
                           const char *text)
{
    (void)code, (void)text;
    *(int *)user += level == QUIRE_LOG_WARN;
}

/* ---- checkpoints */

static void checkpoint_scales(void **state)
{
    (void)state;
    static const float one = 0.25f, heads[] = { 0.5f, 0.125f };
    static const uint16_t bf16 = 0x3f40 /* 0.75 */, f16[] = { 0x3800 /* 0.5 */, 0x4000 /* 2 */ };
    static const struct extra extras[] = {
        { "model.layers.0.self_attn.k_scale", "F32", "[]", &one, 4 },
        { "model.layers.0.self_attn.attn.v_scale", "F32", "[2]", heads, 8 },
        { "model.layers.1.self_attn.k_proj.k_scale", "BF16", "[1]", &bf16, 2 },
        { "model.layers.1.self_attn.v_proj.v_scale", "F16", "[2]", f16, 4 },
        { "model.layers.2.self_attn.kv_scale", "F32", "[1]", &one, 4 },
    };
    static const float want_k[] = { 0.25f, 0.25f, 0.75f, 0.75f, 0.25f, 0.25f },
                       want_v[] = { 0.5f, 0.125f, 0.5f, 2, 0.25f, 0.25f };
    float k[N], v[N];
    int warnings = 0;
    struct quire_model *m;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    write_model(extras, sizeof extras / sizeof *extras);
    struct quire_logger logger = { .log = count_warnings, .user = &warnings };
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = dir;
    mp.logger = &logger;
    if (quire_model_open(&mp, &m, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(warnings, 0);
    assert_status(QUIRE_OK, quire_model_kv_scales(m, NULL, 0, QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E4M3,
                                                  k, v, &err));
    assert_memory_equal(k, want_k, sizeof k);
    assert_memory_equal(v, want_v, sizeof v);
    assert_status(QUIRE_OK, quire_model_kv_scales(m, NULL, 0, QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E5M2,
                                                  k, v, &err));
    for (int i = 0; i < N; i++) {
        assert_true(k[i] == want_k[i]);
        assert_true(fabsf(v[i] * 57344 - want_v[i] * 448) <= 1e-4f);
    }
    assert_int_equal(quire_model_close(m), QUIRE_OK);
    write_model(NULL, 0);
    assert_status(QUIRE_OK, open_model(&m, &err));
    assert_status(QUIRE_OK, quire_model_kv_scales(m, NULL, 0, QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E5M2,
                                                  k, v, &err));
    for (int i = 0; i < N; i++)
        assert_true(k[i] == 1 && v[i] == 1);
    assert_int_equal(quire_model_close(m), QUIRE_OK);
}

static void bad_checkpoint_scales(void **state)
{
    (void)state;
    static const float good = 1, zero = 0, negative = -1, nan = NAN, three[] = { 1, 1, 1 };
#define NAME "model.layers.1.self_attn.k_scale"
    static const struct extra extras[] = {
        { NAME, "F32", "[]", &zero, 4 },
        { NAME, "F32", "[1]", &negative, 4 },
        { NAME, "F32", "[]", &nan, 4 },
        { NAME, "F32", "[3]", three, 12 },
        { NAME, "I32", "[1]", &good, 4 },
        { "model.layers.3.self_attn.k_scale", "F32", "[]", &good, 4 },
    };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        struct quire_model *m = NULL;
        struct quire_error err = QUIRE_ERROR_INIT;
        write_model(&extras[i], 1);
        assert_int_equal(open_model(&m, &err), QUIRE_E_FORMAT);
        assert_null(m);
        if (!strstr(err.msg, extras[i].name))
            fail_msg("case %zu: %s", i, err.msg);
    }
}

static void names_of_scales(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_scale;
    } cases[] = {
        { "model.layers.0.self_attn.k_scale", true },
        { "layers.4294967294.self_attn.kv_scale", true },
        { "layers.4294967295.self_attn.kv_scale", false },
        { "layers.99999999999999999999.self_attn.kv_scale", false },
        { "layers..self_attn.kv_scale", false },
        { "layers.x.self_attn.kv_scale", false },
        { "layers.-1.self_attn.kv_scale", false },
        { "layers.1", false },
        { "layers.1x.self_attn.kv_scale", false },
        { "layers.1.self_attn.q_scale", false },
        { "self_attn.kv_scale", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (qr_is_kv_scale(cases[i].name) != cases[i].is_scale)
            fail_msg("%s", cases[i].name);
}

/* Layers that read the keys and values of another layer have no scales of their own. */
static void shared_layers(void **state)
{
    (void)state;
    char from[4200];
    float k[64], v[64];
    uint32_t n;
    struct quire_kv_group_config groups[8];
    struct quire_model *m;
    struct quire_model_params mp;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    snprintf(from, sizeof from, "%s/goldens/gemma3n_text", shared_dir());
    quire_model_params_init(&mp, sizeof mp);
    mp.path = from;
    assert_status(QUIRE_OK, quire_model_open(&mp, &m, &err));
    assert_status(QUIRE_OK, quire_model_kv_groups(m, groups, 8, &n));
    for (uint32_t g = 0; g < n; g++) {
        const uint32_t scales = groups[g].n_layers * groups[g].n_kv_heads;
        for (uint32_t i = 0; i < 64; i++)
            k[i] = v[i] = -1;
        assert_true(scales <= 64);
        assert_status(QUIRE_OK, quire_model_kv_scales(m, NULL, g, QUIRE_KV_FP8_E4M3,
                                                      QUIRE_KV_FP8_E4M3, k, v, &err));
        for (uint32_t i = 0; i < 64; i++)
            assert_true(k[i] == (i < scales ? 1 : -1) && v[i] == k[i]);
    }
    assert_int_equal(quire_model_close(m), QUIRE_OK);
}

/* ---- calibration files */

/* Writes a file with 1 + i / 8 as scale i of keys and twice that of values; `edit` replaces a part
 * of its header. Returns its bytes. */
static size_t write_scales(uint64_t fingerprint, const char *find, const char *replace,
                           float first_scale)
{
    char out[1024] = "";
    char *header = out + 8;
    strcpy(header, "{\"fingerprint\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[0,8]},"
                   "\"kv_group.0.k_scale\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":"
                   "[8,32]},\"kv_group.0.v_scale\":{\"dtype\":\"F32\",\"shape\":[3,2],"
                   "\"data_offsets\":[32,56]}}");
    char *at = find ? strstr(header, find) : NULL;
    assert_true(!find || (at && strlen(find) == strlen(replace)));
    if (at)
        memcpy(at, replace, strlen(replace));
    const uint64_t n = strlen(header);
    memcpy(out, &n, 8);
    float scales[2 * N];
    for (int i = 0; i < N; i++) {
        scales[i] = i ? 1 + (float)i / 8 : first_scale;
        scales[N + i] = 2 + (float)i / 4;
    }
    memcpy(header + n, &fingerprint, 8);
    memcpy(header + n + 8, scales, sizeof scales);
    const size_t size = 8 + n + 8 + sizeof scales;
    write_file("scales", out, size);
    return size;
}

static quire_status read_scales(const struct quire_model *m, float *k, float *v,
                                struct quire_error *err)
{
    return quire_model_kv_scales(m, path, 0, QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E4M3, k, v, err);
}

static void calibration_files(void **state)
{
    (void)state;
    static const struct {
        const char *find, *replace, *word;
        float first_scale;
        quire_status status;
    } bad[] = {
        { "fingerprint", "fingerprimt", "fingerprint is missing", 1, QUIRE_E_FORMAT },
        { "U64", "I64", "8 bytes of I64", 1, QUIRE_E_MISMATCH },
        { "kv_group.0.v_scale", "kv_group.1.v_scale", "kv_group.0.v_scale is missing", 1,
          QUIRE_E_FORMAT },
        { "F32\",\"shape\":[3,2]", "I32\",\"shape\":[3,2]", "I32", 1, QUIRE_E_MISMATCH },
        { "[3,2],\"data_offsets\":[8,32]},\"kv_group.0.v_scale\":{\"dtype\":\"F32\",\"shape\":[3,2]"
          ","
          "\"data_offsets\":[32,56]",
          "[5,1],\"data_offsets\":[8,28]},\"kv_group.0.v_scale\":{\"dtype\":\"F32\",\"shape\":[7,1]"
          ","
          "\"data_offsets\":[28,56]",
          "k_scale is 20 bytes of F32, the model needs 24 of F32", 1, QUIRE_E_MISMATCH },
        { NULL, NULL, "kv_group.0.k_scale: 0 is no scale", 0, QUIRE_E_FORMAT },
        { NULL, NULL, "kv_group.0.k_scale: inf is no scale", INFINITY, QUIRE_E_FORMAT },
        { NULL, NULL, "kv_group.0.k_scale: nan is no scale", NAN, QUIRE_E_FORMAT },
    };
    float k[N], v[N];
    struct quire_model *m;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_info info = { .struct_size = sizeof info };
    if (!need_shared())
        skip();
    write_model(NULL, 0);
    assert_status(QUIRE_OK, open_model(&m, &err));
    assert_status(QUIRE_OK, quire_model_get_info(m, &info));
    assert_true(info.fingerprint != 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_scales(info.fingerprint, bad[i].find, bad[i].replace, bad[i].first_scale);
        assert_int_equal(read_scales(m, k, v, &err), bad[i].status);
        if (!strstr(err.msg, bad[i].word))
            fail_msg("case %zu: %s", i, err.msg);
    }
    write_scales(info.fingerprint + 1, NULL, NULL, 1);
    assert_int_equal(read_scales(m, k, v, &err), QUIRE_E_MISMATCH);
    assert_non_null(strstr(err.msg, "another model"));
    const size_t size = write_scales(info.fingerprint, NULL, NULL, 1);
    assert_status(QUIRE_OK, read_scales(m, k, v, &err));
    for (int i = 0; i < N; i++)
        assert_true(k[i] == 1 + (float)i / 8 && v[i] == 2 + (float)i / 4);
    for (size_t n = size; n-- > 0;) { /* cut at every byte */
        assert_int_equal(truncate(path, (off_t)n), 0);
        assert_int_not_equal(read_scales(m, k, v, &err), QUIRE_OK);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_scales(m, k, v, &err), QUIRE_E_IO);
    assert_int_equal(quire_model_close(m), QUIRE_OK);
}

static void bad_arguments(void **state)
{
    (void)state;
    const enum quire_kv_dtype fp8 = QUIRE_KV_FP8_E4M3;
    float k[N], v[N];
    struct quire_model *m;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    write_model(NULL, 0);
    assert_status(QUIRE_OK, open_model(&m, &err));
#define BAD(word, ...)                                                                             \
    do {                                                                                           \
        assert_int_equal(quire_model_kv_scales(__VA_ARGS__, &err), QUIRE_E_INVALID_ARG);           \
        assert_non_null(strstr(err.msg, word));                                                    \
    } while (0)
    BAD("model", NULL, NULL, 0, fp8, fp8, k, v);
    BAD("k_scales", m, NULL, 0, fp8, fp8, NULL, v);
    BAD("v_scales", m, NULL, 0, fp8, fp8, k, NULL);
    BAD("group is 1, the model has 1", m, NULL, 1, fp8, fp8, k, v);
#undef BAD
    assert_int_equal(quire_model_close(m), QUIRE_OK);
    /* an engine takes a file for fp8 caches only */
    struct quire_engine_params p;
    struct quire_engine *e;
    quire_engine_params_init(&p, sizeof p);
    p.model_path = dir;
    p.kv_scales = "x";
    assert_int_equal(quire_engine_open(&p, &e, &err), QUIRE_E_INVALID_ARG);
    assert_non_null(strstr(err.msg, "kv_scales is given, but the dtypes of the cache are f16"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoint_scales), cmocka_unit_test(bad_checkpoint_scales),
        cmocka_unit_test(names_of_scales),   cmocka_unit_test(shared_layers),
        cmocka_unit_test(calibration_files), cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
