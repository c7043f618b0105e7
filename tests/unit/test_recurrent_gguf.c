/* SPDX-License-Identifier: Apache-2.0 */
/* test_recurrent_gguf.c - recurrent layers in GGUF metadata: which layers, and sizes that do not
 * fit; heads of Bamba, of which a part rotates. */
#include "test_gguf_model.h"

/* Keys of Mamba-2 layers with 8 heads of 16; one more replaces or adds a key. */
static const struct entry mamba2[] = {
    { "mamba2.ssm.conv_kernel", QR_GGUF_U32, 4, NULL },
    { "mamba2.ssm.inner_size", QR_GGUF_U32, 128, NULL },
    { "mamba2.ssm.state_size", QR_GGUF_U32, 16, NULL },
    { "mamba2.ssm.time_step_rank", QR_GGUF_U32, 8, NULL },
    { "mamba2.ssm.group_count", QR_GGUF_U32, 2, NULL },
};
static const struct entry qwen35[] = {
    { "qwen35.ssm.conv_kernel", QR_GGUF_U32, 4, NULL },
    { "qwen35.ssm.inner_size", QR_GGUF_U32, 64, NULL },
    { "qwen35.ssm.state_size", QR_GGUF_U32, 16, NULL },
    { "qwen35.ssm.time_step_rank", QR_GGUF_U32, 4, NULL },
    { "qwen35.ssm.group_count", QR_GGUF_U32, 2, NULL },
};
static const struct entry falcon_h1[] = {
    { "falcon-h1.ssm.conv_kernel", QR_GGUF_U32, 4, NULL },
    { "falcon-h1.ssm.inner_size", QR_GGUF_U32, 64, NULL },
    { "falcon-h1.ssm.state_size", QR_GGUF_U32, 16, NULL },
    { "falcon-h1.ssm.time_step_rank", QR_GGUF_U32, 4, NULL },
    { "falcon-h1.ssm.group_count", QR_GGUF_U32, 2, NULL },
};
enum { N_KEYS = sizeof mamba2 / sizeof *mamba2, N_LAYERS = 4 };

/* Reads a model of 4 layers; the letters of `layers` say which tensors each has: r a convolution, f
 * a feed-forward network, b both, n both and an output norm. */
static quire_status read_layers(const char *arch, const struct entry *keys,
                                const struct entry *extra, const char *layers,
                                struct qr_model_config *c, struct quire_error *err)
{
    static const char *const parts[] = { "ssm_conv1d", "ffn_up", "ssm_norm" }, *const with[] = {
        "rbn", "fbn", "n"
    };
    char names[3 * N_LAYERS][64];
    struct entry all[N_KEYS + 1];
    struct entry_tensor tensors[3 * N_LAYERS];
    size_t n = N_KEYS, n_tensors = 0;
    memcpy(all, keys, N_KEYS * sizeof *all);
    for (size_t i = 0; extra && i <= N_KEYS; i++)
        if (i == N_KEYS || strcmp(all[i].key, extra->key) == 0) {
            all[i] = *extra;
            n = i == N_KEYS ? n + 1 : n;
            break;
        }
    for (unsigned i = 0; i < N_LAYERS; i++)
        for (int part = 0; part < 3; part++)
            if (strchr(with[part], layers[i])) {
                snprintf(names[n_tensors], sizeof names[0], "blk.%u.%s.weight", i, parts[part]);
                tensors[n_tensors] = (struct entry_tensor){ names[n_tensors], 8, 1, 0 };
                n_tensors++;
            }
    return make_with_tensors(arch, all, n, tensors, n_tensors, c, err);
}

static void refused(const char *arch, const struct entry *keys, struct entry extra,
                    const char *layers, quire_status status, const char *text)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = read_layers(arch, keys, &extra, layers, &c, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("%s: got %s \"%s\", expected \"%s\"\n", extra.key, quire_status_name(s),
                    err.msg, text);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
}

static void layers_by_tensors(void **state)
{
    (void)state;
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, read_layers("mamba2", mamba2, NULL, "rrrr", &c, &err));
    for (uint32_t i = 0; i < c.n_layers; i++)
        assert_true(c.layers[i].mixer == QR_MIXER_RECURRENT && c.layers[i].no_ffn);
    assert_int_equal(c.recurrent.n_heads, 8);
    assert_int_equal(c.recurrent.value_dim, 16);
    assert_int_equal(qr_recurrent_conv_width(&c.recurrent), 128 + 2 * 2 * 16);
    assert_false(c.recurrent.log_decay);
    qr_model_config_free(&c);
    const struct entry listed = { "qwen35.attention.recurrent_layers", BOOL_ARRAY, 0, "1101" };
    assert_status(QUIRE_OK, read_layers("qwen35", qwen35, &listed, "bbfb", &c, &err));
    assert_int_equal(c.layers[2].mixer, QR_MIXER_ATTENTION);
    assert_true(c.recurrent.tiled_heads && !c.layers[2].no_ffn);
    qr_model_config_free(&c);
    assert_status(QUIRE_OK, read_layers("falcon-h1", falcon_h1, NULL, "bbbb", &c, &err));
    assert_int_equal(c.layers[0].mixer, QR_MIXER_BOTH);
    assert_int_equal(c.recurrent.output, QR_RECURRENT_OUT_GATED); /* there is no norm */
    qr_model_config_free(&c);
    assert_status(QUIRE_OK, read_layers("falcon-h1", falcon_h1, NULL, "nnnn", &c, &err));
    assert_int_equal(c.recurrent.output, QR_RECURRENT_OUT_GATE_NORM);
    qr_model_config_free(&c);
}

static void bad_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint32_t type;
        double value;
        const char *text;
    } cases[] = {
        { "mamba2.ssm.inner_size", QR_GGUF_U32, 100, "inner_size 100 is not a multiple" },
        { "mamba2.ssm.inner_size", QR_GGUF_U32, 0, "recurrent value size is 0" },
        { "mamba2.ssm.inner_size", NO_KEY, 0, "ssm.inner_size is missing" },
        { "mamba2.ssm.time_step_rank", QR_GGUF_U32, 0, "time_step_rank 0" },
        { "mamba2.ssm.time_step_rank", QR_GGUF_F32, 8, "time_step_rank has type f32" },
        { "mamba2.ssm.group_count", QR_GGUF_U32, 3, "not a multiple of the 3" },
        { "mamba2.ssm.group_count", QR_GGUF_U32, 0, "groups is 0" },
        { "mamba2.ssm.state_size", QR_GGUF_U32, 0, "recurrent key or state size is 0" },
        { "mamba2.ssm.state_size", QR_GGUF_U32, 4294967295.0, "state size is 4294967295" },
        { "mamba2.ssm.conv_kernel", QR_GGUF_U32, 0, "taps of the convolution is 0" },
        { "mamba2.ssm.conv_kernel", QR_GGUF_U32, 100, "taps of the convolution is 100" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused("mamba2", mamba2,
                (struct entry){ cases[i].key, cases[i].type, cases[i].value, NULL }, "rrrr",
                QUIRE_E_FORMAT, cases[i].text);
}

static void bad_layers(void **state)
{
    (void)state;
    static const char key[] = "qwen35.attention.recurrent_layers";
    refused("qwen35", qwen35, (struct entry){ key, BOOL_ARRAY, 0, "110" }, "bbfb", QUIRE_E_FORMAT,
            "must list 4 bools");
    refused("qwen35", qwen35, (struct entry){ key, BOOL_ARRAY, 0, "11011" }, "bbfb", QUIRE_E_FORMAT,
            "must list 4 bools");
    refused("qwen35", qwen35, (struct entry){ key, QR_GGUF_U32, 1, NULL }, "bbfb", QUIRE_E_FORMAT,
            "must list 4 bools");
    refused("qwen35", qwen35, (struct entry){ key, BOOL_ARRAY, 0, "1111" }, "bbfb", QUIRE_E_FORMAT,
            "layer 2 is recurrent, its tensors do not");
    refused("mamba2", mamba2,
            (struct entry){ "mamba2.attention.head_count_kv", QR_GGUF_ARRAY, 0, "0000" }, "rr-r",
            QUIRE_E_FORMAT, "layer 2 has neither attention");
    refused("mamba2", mamba2,
            (struct entry){ "mamba2.attention.head_count_kv", QR_GGUF_ARRAY, 0, "000" }, "rrrr",
            QUIRE_E_FORMAT, "must list 4");
}

enum { N_BAMBA = 7 };

/* Bamba: heads of 16 elements, of which `dim` rotate, with one more key. */
static quire_status read_bamba(uint32_t dim, const struct entry *extra, struct qr_model_config *c,
                               struct quire_error *err)
{
    struct entry keys[N_BAMBA + 1] = {
        { "granitehybrid.rope.dimension_count", QR_GGUF_U32, dim, NULL },
        { "granitehybrid.ssm.conv_kernel", QR_GGUF_U32, 4, NULL },
        { "granitehybrid.ssm.inner_size", QR_GGUF_U32, 128, NULL },
        { "granitehybrid.ssm.state_size", QR_GGUF_U32, 16, NULL },
        { "granitehybrid.ssm.time_step_rank", QR_GGUF_U32, 8, NULL },
        { "granitehybrid.ssm.group_count", QR_GGUF_U32, 1, NULL },
        { "granitehybrid.rope.scaling.finetuned", QR_GGUF_BOOL, 1, NULL },
    };
    static const struct entry_tensor tensors[] = { { "blk.0.ssm_conv1d.weight", 8, 1, 0 },
                                                   { "blk.0.ffn_up.weight", 8, 1, 0 } };
    if (extra)
        keys[N_BAMBA] = *extra;
    return make_with_tensors("granitehybrid", keys, N_BAMBA + !!extra, tensors, 2, c, err);
}

static void interleaved_heads(void **state)
{
    (void)state;
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, read_bamba(8, NULL, &c, &err));
    assert_int_equal(c.rope[0].kind, QR_ROPE_NEOX);
    assert_int_equal(c.rope[0].dim, 16);
    assert_int_equal(c.rope[0].scaling, QR_ROPE_SCALING_FREQ_FACTORS);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(c.rope[0].factors_short[i] == (i % 2 == 0 ? 1 : 1e30f));
    qr_model_config_free(&c);
    assert_status(QUIRE_OK, read_bamba(16, NULL, &c, &err)); /* whole heads rotate */
    assert_int_equal(c.rope[0].kind, QR_ROPE_INTERLEAVED);
    assert_int_equal(c.rope[0].dim, 16);
    qr_model_config_free(&c);
    static const struct {
        uint32_t dim;
        quire_status status;
        const char *text;
    } cases[] = {
        { 0, QUIRE_E_FORMAT, "rotary dimensions" },
        { 7, QUIRE_E_UNSUPPORTED, "rope.dimension_count is 7" },
        { 10, QUIRE_E_UNSUPPORTED, "rope.dimension_count is 10" },
        { 18, QUIRE_E_FORMAT, "rotary dimensions" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_status(cases[i].status, read_bamba(cases[i].dim, NULL, &c, &err));
        assert_non_null(strstr(err.msg, cases[i].text));
    }
    const struct entry scaled = { "granitehybrid.rope.scale_linear", QR_GGUF_F32, 4, NULL };
    assert_status(QUIRE_E_UNSUPPORTED, read_bamba(8, &scaled, &c, &err));
    assert_non_null(strstr(err.msg, "together with RoPE scaling"));
    const struct entry none = { "granitehybrid.rope.scaling.type", QR_GGUF_STRING, 0, "none" };
    assert_status(QUIRE_OK, read_bamba(8, &none, &c, &err));
    qr_model_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_by_tensors),
        cmocka_unit_test(bad_sizes),
        cmocka_unit_test(bad_layers),
        cmocka_unit_test(interleaved_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
