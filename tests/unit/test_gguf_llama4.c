/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_llama4.c - Llama 4 in GGUF metadata: layers with experts, chunks, layers without RoPE,
 * and what the files do not contain. */
#include "test_gguf_model.h"

enum { MAX_KEYS = 8 };

/* Reads a Llama 4 model of 4 layers with the keys of converters and more; the letters of `layers`
 * say whether each is dense (d) or has a router (e). */
static quire_status read_llama4(const struct entry *extra, size_t n_extra, const char *layers,
                                struct qr_model_config *c, struct quire_error *err)
{
    struct entry keys[MAX_KEYS] = {
        { "llama4.expert_count", QR_GGUF_U32, 16, NULL },
        { "llama4.expert_used_count", QR_GGUF_U32, 1, NULL },
        { "llama4.expert_feed_forward_length", QR_GGUF_U32, 96, NULL },
        { "llama4.interleave_moe_layer_step", QR_GGUF_U32, 2, NULL },
    };
    size_t n = 4;
    for (size_t i = 0; i < n_extra; i++) {
        size_t at = 0;
        while (at < n && strcmp(keys[at].key, extra[i].key) != 0)
            at++;
        keys[at] = extra[i];
        n += at == n;
    }
    char names[4][64];
    struct entry_tensor tensors[4];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(names[i], sizeof names[i], "blk.%u.%s.weight", i,
                 layers[i] == 'e' ? "ffn_gate_inp" : "ffn_gate");
        tensors[i] = (struct entry_tensor){ names[i], 8, 1, 0 };
    }
    return make_with_tensors("llama4", keys, n, tensors, 4, c, err);
}

static struct qr_model_config llama4(const struct entry *extra, size_t n_extra, const char *layers)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, read_llama4(extra, n_extra, layers, &c, &err));
    return c;
}

static void refused(struct entry extra, const char *layers, quire_status status, const char *text)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = read_llama4(&extra, 1, layers, &c, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("%s: got %s \"%s\", expected \"%s\"\n", extra.key, quire_status_name(s),
                    err.msg, text);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
}

static struct entry number(const char *key, double value)
{
    return (struct entry){ key, QR_GGUF_U32, value, NULL };
}

static void check_layer(const struct qr_model_config *c, uint32_t i, uint32_t window, uint8_t rope)
{
    assert_int_equal(c->layers[i].window, window);
    assert_int_equal(c->layers[i].chunked, window != 0);
    assert_int_equal(c->layers[i].rope, rope);
}

/* What the files do not contain: chunks of 8192 tokens, the temperature, the norm and the shared
 * expert. */
static void test_defaults(void **state)
{
    (void)state;
    struct qr_model_config c = llama4(NULL, 0, "dede");
    for (uint32_t i = 0; i < 4; i++) {
        check_layer(&c, i, i < 3 ? 8192 : 0, i < 3 ? 0 : QR_LAYER_NO_ROPE);
        assert_int_equal(c.layers[i].moe, i % 2);
        assert_int_equal(c.layers[i].ffn_size, 160);
    }
    assert_true(c.temperature_floor == 8192 && c.temperature_scale == 0.1f);
    assert_false(c.temperature_everywhere);
    assert_int_equal(c.qk_norm, QR_QK_NORM_L2);
    assert_int_equal(c.rope[0].kind, QR_ROPE_INTERLEAVED);
    assert_int_equal(c.moe.gating, QR_GATING_SIGMOID);
    assert_int_equal(c.moe.ffn_size, 96);
    assert_int_equal(c.moe.shared_ffn_size, 96);
    assert_true(c.moe.weight_on_input);
    qr_model_config_free(&c);
    const struct entry experts[] = { number("llama4.expert_count", 128) };
    c = llama4(experts, 1, "dede");
    assert_int_equal(c.qk_norm, QR_QK_NORM_NONE);
    qr_model_config_free(&c);
}

static void test_chunks(void **state)
{
    (void)state;
    const struct entry none[] = { number("llama4.attention.sliding_window", 0) };
    struct qr_model_config c = llama4(none, 1, "dede");
    for (uint32_t i = 0; i < 4; i++)
        check_layer(&c, i, 0, 0);
    assert_true(c.temperature_floor == 0 && c.temperature_scale == 0);
    qr_model_config_free(&c);
    const struct entry small[] = { number("llama4.attention.sliding_window", 24),
                                   number("llama4.attention.sliding_window_pattern", 4),
                                   number("llama4.attention.temperature_length", 16),
                                   { "llama4.attention.temperature_scale", QR_GGUF_F32, 2, NULL } };
    c = llama4(small, 4, "dede");
    check_layer(&c, 2, 24, 0);
    check_layer(&c, 3, 0, QR_LAYER_NO_ROPE);
    assert_true(c.temperature_floor == 16 && c.temperature_scale == 2);
    qr_model_config_free(&c);
    const struct entry base[] = { { "llama4.rope.freq_base_swa", QR_GGUF_F32, 500, NULL } };
    c = llama4(base, 1, "dede"); /* of layers with chunks, without a key for their size */
    check_layer(&c, 0, 8192, 1);
    assert_true(c.n_rope == 2 && c.rope[1].theta == 500);
    qr_model_config_free(&c);
    const char *key = "llama4.attention.sliding_window_pattern";
    refused(number(key, 2), "dede", QUIRE_E_UNSUPPORTED, key);
    refused((struct entry){ key, BOOL_ARRAY, 0, "1111" }, "dede", QUIRE_E_UNSUPPORTED, key);
    refused(number("llama4.attention.chunk_size", 24), "dede", QUIRE_E_UNSUPPORTED,
            "llama4.attention.chunk_size is not supported");
    refused(number("llama4.attention.sliding_window", 4294967295.0), "dede", QUIRE_E_FORMAT,
            "sliding window");
    refused((struct entry){ "llama4.attention.temperature_length", QR_GGUF_F32, 16, NULL }, "dede",
            QUIRE_E_FORMAT, "temperature_length has type f32");
    refused((struct entry){ "llama4.attention.temperature_scale", QR_GGUF_F32, -1, NULL }, "dede",
            QUIRE_E_FORMAT, "temperature scale");
}

static void test_experts(void **state)
{
    (void)state;
    const char *step = "llama4.interleave_moe_layer_step";
    const struct entry all[] = { number(step, 1) };
    struct qr_model_config c = llama4(all, 1, "eeee");
    assert_true(c.layers[0].moe);
    qr_model_config_free(&c);
    refused(number(step, 0), "dede", QUIRE_E_FORMAT, "step 0 says that layer 1 has no experts");
    refused(number(step, 5), "dede", QUIRE_E_FORMAT, "step 5 says that layer 1 has no experts");
    refused(number(step, 1), "dede", QUIRE_E_FORMAT, "step 1 says that layer 0 has experts");
    refused(number(step, 4), "dddd", QUIRE_E_FORMAT, "no layer has a router");
    refused((struct entry){ step, NO_KEY, 0, NULL }, "dede", QUIRE_E_FORMAT, "step is missing");
    refused((struct entry){ "llama4.expert_feed_forward_length", NO_KEY, 0, NULL }, "dede",
            QUIRE_E_FORMAT, "expert_feed_forward_length is missing");
    refused(number("llama4.expert_feed_forward_length", 0), "dede", QUIRE_E_FORMAT, "expert");
    refused((struct entry){ "llama4.expert_used_count", NO_KEY, 0, NULL }, "dede", QUIRE_E_FORMAT,
            "expert_used_count is missing");
    const struct entry dense[] = { number("llama4.expert_count", 0), number(step, 0) };
    c = llama4(dense, 2, "dddd");
    assert_false(c.layers[1].moe);
    assert_int_equal(c.qk_norm, QR_QK_NORM_L2);
    qr_model_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
