/* SPDX-License-Identifier: Apache-2.0 */
/* test_mla_args.c - latent attention: invalid dimensions and every invalid argument. */
#include "test_mla.h"

#define assert_fails(code_, text, call_)                                                           \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        assert_status(code_, call_);                                                               \
        if (!strstr(err.msg, text))                                                                \
            fail_msg("%s: message \"%s\" does not name \"%s\"", #call_, err.msg, text);            \
    } while (0)

static void refuse_dims(const struct quire_mla_dims *d, quire_status code, const char *text)
{
    struct quire_kv_group_config g;
    struct quire_attention_config c;
    memset(&g, 0x5a, sizeof g);
    memset(&c, 0x5a, sizeof c);
    c.struct_size = sizeof c;
    const struct quire_kv_group_config g0 = g;
    const struct quire_attention_config c0 = c;
    assert_fails(code, text, quire_mla_kv_group(d, QUIRE_KV_F32, 1, 1, &g, &err));
    assert_fails(code, text, quire_mla_absorbed_config(d, 1, &c, &err));
    assert_fails(code, text, quire_mla_expanded_config(d, 1, &c, &err));
    assert_memory_equal(&g, &g0, sizeof g);
    assert_memory_equal(&c, &c0, sizeof c);
    const float kv_b = 0;
    const struct quire_mla_weights_params p = {
        .struct_size = sizeof p, .dims = d, .kv_b = &kv_b, .dtype = QUIRE_KV_F32
    };
    struct quire_mla_weights *w = (struct quire_mla_weights *)&w;
    assert_fails(code, text, quire_mla_weights_create(&p, &w, &err));
    assert_null(w);
}

static void bad_sizes(void **state)
{
    (void)state;
    struct quire_mla_dims d;
#define REFUSES(field, value, code, text)                                                          \
    (d = DIMS[0], d.field = value, refuse_dims(&d, code, text))
    REFUSES(struct_size, 0, QUIRE_E_MISUSE, "dims.struct_size");
    REFUSES(n_heads, 0, QUIRE_E_INVALID_ARG, "dims.n_heads is 0");
    REFUSES(n_heads, 65537, QUIRE_E_INVALID_ARG, "dims.n_heads");
    REFUSES(kv_lora_rank, 0, QUIRE_E_INVALID_ARG, "dims.kv_lora_rank is 0");
    REFUSES(kv_lora_rank, 1009, QUIRE_E_INVALID_ARG, "dims.kv_lora_rank is 1009");
    REFUSES(qk_nope_head_dim, 0, QUIRE_E_INVALID_ARG, "dims.qk_nope_head_dim");
    REFUSES(qk_nope_head_dim, 1009, QUIRE_E_INVALID_ARG, "dims.qk_nope_head_dim");
    REFUSES(qk_rope_head_dim, 1024, QUIRE_E_INVALID_ARG, "dims.qk_rope_head_dim");
    REFUSES(qk_rope_head_dim, UINT32_MAX, QUIRE_E_INVALID_ARG, "dims.qk_rope_head_dim");
    REFUSES(v_head_dim, 0, QUIRE_E_INVALID_ARG, "dims.v_head_dim");
    REFUSES(v_head_dim, 1025, QUIRE_E_INVALID_ARG, "dims.v_head_dim");
#undef REFUSES
    refuse_dims(NULL, QUIRE_E_INVALID_ARG, "dims is NULL");
    struct quire_attention_config c;
    assert_fails(QUIRE_E_INVALID_ARG, "mscale", quire_mla_absorbed_config(&DIMS[0], NAN, &c, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "mscale", quire_mla_expanded_config(&DIMS[0], 0, &c, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "out", quire_mla_absorbed_config(&DIMS[0], 1, NULL, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "out",
                 quire_mla_kv_group(&DIMS[0], QUIRE_KV_F32, 1, 1, NULL, &err));
}

static void bad_weights(void **state)
{
    (void)state;
    const float kv_b[4 * 56 * 32] = { 0 };
    const struct quire_mla_weights_params ok = {
        .struct_size = sizeof ok, .dims = &DIMS[0], .kv_b = kv_b, .dtype = QUIRE_KV_F32
    };
    struct quire_mla_weights_params p;
    struct quire_mla_weights *w;
#define REFUSES(field, value, code, text)                                                          \
    do {                                                                                           \
        p = ok, p.field = value;                                                                   \
        assert_fails(code, text, quire_mla_weights_create(&p, &w, &err));                          \
        assert_null(w);                                                                            \
    } while (0)
    REFUSES(struct_size, 1, QUIRE_E_MISUSE, "params.struct_size");
    REFUSES(kv_b, NULL, QUIRE_E_INVALID_ARG, "params.kv_b");
    REFUSES(dtype, QUIRE_KV_FP8_E4M3, QUIRE_E_INVALID_ARG, "params.dtype");
    REFUSES(isa, "sse9", QUIRE_E_INVALID_ARG, "sse9");
#undef REFUSES
    assert_fails(QUIRE_E_INVALID_ARG, "params is NULL", quire_mla_weights_create(NULL, &w, &err));
    assert_fails(QUIRE_E_INVALID_ARG, "out is NULL", quire_mla_weights_create(&ok, NULL, &err));
    quire_mla_weights_destroy(NULL);
    for (size_t fail_at = 1;; fail_at++) { /* fails each allocation once */
        struct fail_alloc f;
        fail_alloc_init(&f, fail_at, false);
        p = ok;
        p.allocator = &f.hooks;
        const quire_status s = quire_mla_weights_create(&p, &w, NULL);
        if (s == QUIRE_OK)
            quire_mla_weights_destroy(w);
        assert_int_equal(f.live_count, 0);
        if (s == QUIRE_OK)
            break;
        assert_int_equal(s, QUIRE_E_NOMEM);
        assert_null(w);
    }
}

static void bad_calls(void **state)
{
    (void)state;
    struct layer l = layer_new(&DIMS[0], false);
    float in[2 * 4 * 48] = { 0 }, out[2 * 4 * 48];
    memset(out, 0x5a, sizeof out);
    struct quire_mla_args a;
    for (int absorb = 0; absorb < 2; absorb++) {
        const struct quire_mla_args ok = {
            .struct_size = sizeof ok, .in = in, .out = out, .n_tokens = 2
        };
#define REFUSES(field, value, code, text)                                                          \
    do {                                                                                           \
        a = ok, a.field = value;                                                                   \
        assert_fails(code, text, call(l.weights, absorb, &a, NULL, &err));                         \
        assert_fails(code, text,                                                                   \
                     absorb ? quire_mla_absorb_check(l.weights, &a, &err)                          \
                            : quire_mla_v_up_proj_check(l.weights, &a, &err));                     \
    } while (0)
        REFUSES(struct_size, 7, QUIRE_E_MISUSE, "args.struct_size");
        REFUSES(in, NULL, QUIRE_E_INVALID_ARG, "args.in is NULL");
        REFUSES(out, NULL, QUIRE_E_INVALID_ARG, "args.out is NULL");
        REFUSES(in, (const float *)(const void *)((const char *)in + 1), QUIRE_E_INVALID_ARG,
                "args.in is not aligned");
        REFUSES(out, (float *)(void *)((char *)out + 2), QUIRE_E_INVALID_ARG,
                "args.out is not aligned");
        REFUSES(out, in, QUIRE_E_INVALID_ARG, "overlap");
        REFUSES(in_head_stride, 31, QUIRE_E_INVALID_ARG, "args.in: stride 31");
        REFUSES(out_head_stride, 1, QUIRE_E_INVALID_ARG, "args.out: stride");
        REFUSES(in_token_stride, 50, QUIRE_E_INVALID_ARG, "overlap");
        REFUSES(out_token_stride, SIZE_MAX / 2, QUIRE_E_INVALID_ARG, "overflow");
        REFUSES(n_tokens, SIZE_MAX / 2, QUIRE_E_INVALID_ARG, "overflow");
#undef REFUSES
        assert_fails(QUIRE_E_INVALID_ARG, "args is NULL",
                     call(l.weights, absorb, NULL, NULL, &err));
        assert_fails(QUIRE_E_INVALID_ARG, "weights is NULL", call(NULL, absorb, &ok, NULL, &err));
        a = ok;
        a.n_tokens = 0;
        assert_status(QUIRE_OK, call(l.weights, absorb, &a, NULL, NULL));
    }
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(((unsigned char *)out)[i], 0x5a);
    layer_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_sizes),
        cmocka_unit_test(bad_weights),
        cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
