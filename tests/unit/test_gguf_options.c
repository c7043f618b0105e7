/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_options.c - options of GGUF files that no file of the reference data has, and their
 * contradictions. */
#include "model/arch/arch.h"
#include "model/config/unknown.h"
#include "test_gguf_model.h"
#include <math.h>

static void u32(const char *arch, const char *key, uint32_t v, quire_status status,
                const char *text)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", arch, key);
    bad(arch, (struct entry){ name, QR_GGUF_U32, v, NULL }, status, text);
}

static void test_further_tokens(void **state)
{
    (void)state;
    u32("glm4moe", "nextn_predict_layers", 4, QUIRE_E_FORMAT,
        "glm4moe: 4 layers, 4 of them predict further tokens");
    bad("glm4moe", (struct entry){ "glm4moe.nextn_predict_layers", QR_GGUF_STRING, 0, "one" },
        QUIRE_E_FORMAT, "nextn_predict_layers has type string");
}

static void test_families(void **state)
{
    (void)state;
    struct qr_model_config c = good("smollm3", NULL, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(c.layers[i].rope == QR_LAYER_NO_ROPE, i == 3);
    qr_model_config_free(&c);
    c = good("minicpm", NULL, 0);
    assert_true(c.embedding_scale == 12);
    qr_model_config_free(&c);
    static const struct entry taps = { "lfm2.shortconv.l_cache", QR_GGUF_U32, 3, NULL };
    c = good("lfm2", &taps, 1); /* its tensors name no recurrent layer */
    assert_true(c.layers[0].mixer == QR_MIXER_ATTENTION && c.recurrent.conv_taps == 3);
    qr_model_config_free(&c);
    c = good("laguna", NULL, 0); /* without the tensor of its gate */
    assert_true(c.gate_softplus && !c.gate_per_head);
    qr_model_config_free(&c);
}

/* The layers of the file run several times. */
static void test_loops(void **state)
{
    (void)state;
    static const struct entry keys[] = {
        { "nanbeige.num_loops", QR_GGUF_U32, 3, NULL },
        { "nanbeige.skip_loop_final_norm", QR_GGUF_BOOL, 1, NULL },
    };
    struct qr_model_config c = good("nanbeige", keys, 2);
    assert_true(c.n_layers == 12 && c.loop_layers == 4 && !c.loop_norm);
    for (uint32_t i = 0; i < c.n_layers; i++)
        assert_true(c.layers[i].kv_source == i && c.layers[i].n_heads == 4 &&
                    qr_loop_layer(&c, i) == i % 4);
    qr_model_config_free(&c);
    c = good("nanbeige", NULL, 0);
    assert_true(c.n_layers == 4 && c.loop_layers == 0 && qr_loop_layer(&c, 3) == 3);
    qr_model_config_free(&c);
    u32("nanbeige", "num_loops", 0, QUIRE_E_FORMAT, "num_loops is 0, with 4 layers");
    u32("nanbeige", "num_loops", UINT32_MAX, QUIRE_E_FORMAT, "num_loops is 4294967295");
    u32("llama", "num_loops", 2, QUIRE_E_UNSUPPORTED, "num_loops");
    bad("nanbeige", (struct entry){ "nanbeige.num_loops", QR_GGUF_STRING, 0, "2" }, QUIRE_E_FORMAT,
        "num_loops has type string");
    bad("nanbeige", (struct entry){ "nanbeige.skip_loop_final_norm", QR_GGUF_U32, 1, NULL },
        QUIRE_E_FORMAT, "skip_loop_final_norm has type");
}

/* Limits of activations by layer, and layers without a window that rotate half of a head. */
static void test_layer_limits(void **state)
{
    (void)state;
    static const struct entry keys[] = {
        { "step35.swiglu_clamp_exp", F32_ARRAY, 0, "0070" },
        { "step35.swiglu_clamp_shexp", F32_ARRAY, 0, "05000" },
        { "step35.nextn_predict_layers", QR_GGUF_U32, 1, NULL },
        { "step35.block_count", QR_GGUF_U32, 5, NULL },
        { "step35.attention.sliding_window", QR_GGUF_U32, 8, NULL },
        { "step35.attention.sliding_window_pattern", BOOL_ARRAY, 0, "01011" },
    };
    struct qr_model_config c = good("step35", keys, 6);
    assert_int_equal(c.n_layers, 4);
    for (uint32_t i = 0; i < c.n_layers; i++) {
        const struct qr_layer_config *l = &c.layers[i];
        assert_true(l->expert_limit == (i == 2 ? 7 : 0) && l->ffn_limit == (i == 1 ? 5 : 0));
        assert_int_equal(c.rope[l->rope].dim, i % 2 ? 16 : 8);
    }
    qr_model_config_free(&c);
    static const char *const names[] = { "step35.swiglu_clamp_exp", "step35.swiglu_clamp_shexp" };
    for (size_t i = 0; i < 2; i++) {
        bad("step35", (struct entry){ names[i], F32_ARRAY, 0, "000" }, QUIRE_E_FORMAT,
            "must list 4 floats");
        bad("step35", (struct entry){ names[i], F32_ARRAY, 0, "00/0" }, QUIRE_E_FORMAT,
            "must list 4 floats, none of them negative"); /* '/' is -1 */
        bad("step35", (struct entry){ names[i], QR_GGUF_ARRAY, 0, "0000" }, QUIRE_E_FORMAT,
            "must list 4 floats");
        bad("step35", (struct entry){ names[i], QR_GGUF_U32, 7, NULL }, QUIRE_E_FORMAT, names[i]);
    }
    bad("llama", (struct entry){ "llama.swiglu_clamp_exp", F32_ARRAY, 0, "0000" },
        QUIRE_E_UNSUPPORTED, "swiglu_clamp_exp");
}

/* Latent attention together with recurrent layers, the first of which has no heads. */
static void test_no_heads(void **state)
{
    (void)state;
    static const struct entry keys[] = {
        { "kimi-linear.attention.head_count", QR_GGUF_ARRAY, 0, "0444" },
        { "kimi-linear.attention.head_count_kv", QR_GGUF_ARRAY, 0, "0111" },
        { "kimi-linear.attention.key_length", QR_GGUF_U32, 24, NULL },
        { "kimi-linear.attention.kv_lora_rank", QR_GGUF_U32, 16, NULL },
        { "kimi-linear.rope.dimension_count", QR_GGUF_U32, 8, NULL },
        { "kimi-linear.kda.head_dim", QR_GGUF_U32, 16, NULL },
        { "kimi-linear.ssm.conv_kernel", QR_GGUF_U32, 4, NULL },
    };
    static const struct entry_tensor tensor = { "blk.0.ssm_conv1d_v.weight", 8, 1, 0 };
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_FORMAT, make_with_tensors("kimi-linear", keys, 7, &tensor, 1, &c, &err));
    assert_non_null(strstr(err.msg, "number of recurrent heads is 0"));
}

/* Layers without attention, without a network, and with a linear layer in place of attention. */
static void test_sublayers(void **state)
{
    (void)state;
    struct entry keys[] = {
        { "deci.attention.head_count", QR_GGUF_ARRAY, 0, "0440" },
        { "deci.attention.head_count_kv", QR_GGUF_ARRAY, 0, "0210" },
        { "deci.feed_forward_length", QR_GGUF_ARRAY, 0, "8900" },
        { "deci.attention.key_length", QR_GGUF_U32, 16, NULL },
    };
    struct qr_model_config c = good("deci", keys, 4);
    const struct qr_layer_config *l = c.layers;
    assert_true(l[0].mixer == QR_MIXER_NONE && !l[0].no_ffn && l[0].ffn_size == 8);
    assert_true(l[1].mixer == QR_MIXER_ATTENTION && l[1].n_kv_heads == 2 && !l[1].no_ffn);
    assert_true(l[2].mixer == QR_MIXER_ATTENTION && l[2].n_kv_heads == 1 && l[2].no_ffn);
    assert_true(l[3].mixer == QR_MIXER_NONE && l[3].no_ffn);
    qr_model_config_free(&c);
    keys[1].text = "0200";
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_UNSUPPORTED, make_with_tensors("deci", keys, 4, NULL, 0, &c, &err));
    assert_non_null(strstr(err.msg, "deci: layer 2 has 4 heads and no kv heads, a linear layer"));
}

static void test_scaling(void **state)
{
    (void)state;
    static const struct entry total[] = {
        { "olmo2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" },
        { "olmo2.rope.scaling.factor", QR_GGUF_F32, 4, NULL },
        { "olmo2.rope.scaling.original_context_length", QR_GGUF_U32, 64, NULL },
        { "olmo2.rope.scaling.attn_factor", QR_GGUF_F32, 1.5, NULL },
    };
    struct qr_model_config c = good("olmo2", total, 4); /* the factor is not multiplied */
    assert_true(c.rope[0].cos_sin_scale == 1.5f);
    qr_model_config_free(&c);
    struct entry other[4];
    memcpy(other, total, sizeof other);
    other[3].key = "olmo2.rope.scaling.yarn_attn_factor";
    c = good("olmo2", other, 4);
    assert_true(c.rope[0].cos_sin_scale == 1.5f);
    qr_model_config_free(&c);
    bad("phi3", (struct entry){ "phi3.rope.scaling.type", QR_GGUF_BOOL, 1, NULL }, QUIRE_E_FORMAT,
        "rope.scaling.type has type bool");
}

/* The base of RoPE times a power of alpha. */
static void test_alpha(void **state)
{
    (void)state;
    struct entry alpha = { "hunyuan_vl.rope.scaling.alpha", QR_GGUF_F32, 4, NULL };
    struct qr_model_config c = good("hunyuan_vl", NULL, 0);
    const double base = c.rope[0].theta;
    const uint32_t dim = c.rope[0].dim;
    qr_model_config_free(&c);
    c = good("hunyuan_vl", &alpha, 1);
    assert_true(fabs(c.rope[0].theta / (base * pow(4, dim / (dim - 2.0))) - 1) < 1e-12);
    qr_model_config_free(&c);
    alpha.value = -1;
    bad("hunyuan_vl", alpha, QUIRE_E_FORMAT, "hunyuan_vl.rope.scaling.alpha is -1");
    bad("hunyuan_vl", (struct entry){ alpha.key, QR_GGUF_STRING, 0, "x" }, QUIRE_E_FORMAT,
        "rope.scaling.alpha has type string");
    bad("llama", (struct entry){ "llama.rope.scaling.alpha", QR_GGUF_F32, 4, NULL },
        QUIRE_E_UNSUPPORTED, "llama.rope.scaling.alpha");
}

/* The files of DeepSeek-OCR say 0 rotary dimensions, and all of a head rotates. */
static void test_whole_head(void **state)
{
    (void)state;
    struct entry dim = { "deepseek2-ocr.rope.dimension_count", QR_GGUF_U32, 0, NULL };
    struct qr_model_config c = good("deepseek2-ocr", &dim, 1);
    assert_true(c.rope[0].kind == QR_ROPE_NEOX && c.rope[0].dim == c.head_dim && c.head_dim);
    dim.value = c.head_dim / 2;
    qr_model_config_free(&c);
    bad("deepseek2-ocr", dim, QUIRE_E_UNSUPPORTED, "family deepseek_ocr rotates all");
    bad("deepseek2-ocr", (struct entry){ dim.key, QR_GGUF_STRING, 0, "x" }, QUIRE_E_FORMAT,
        "rope.dimension_count has type string");
    u32("deepseek2-ocr", "attention.sliding_window", 8, QUIRE_E_UNSUPPORTED,
        "deepseek2-ocr.attention.sliding_window is 8");
}

/* Tensors of frequency factors of a wrong size or type. */
static void test_factors(void **state)
{
    (void)state;
    static const char *const names[] = { "rope_factors_long.weight", "rope_factors_short.weight",
                                         "rope_freqs.weight" };
    for (size_t i = 0; i < 3; i++) {
        const struct entry_tensor tensor = { names[i], 3, 1, 0 };
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_E_FORMAT,
                      make_with_tensors(i < 2 ? "phi3" : "llama", NULL, 0, &tensor, 1, &c, &err));
        assert_non_null(strstr(err.msg, names[i]));
        assert_non_null(strstr(err.msg, "must contain 8 f32 values"));
    }
    /* more of them than a configuration may have */
    static const struct entry dim = { "llama.rope.dimension_count", QR_GGUF_U32, 600000, NULL };
    static const struct entry_tensor tensor = { "rope_freqs.weight", 300000, 1, 0 };
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_NOMEM, make_with_tensors("llama", &dim, 1, &tensor, 1, &c, &err));
    assert_string_equal(err.msg, "no memory for rope_freqs.weight");
}

/* A scale of 0 stands for the default, which a model without heads does not have. */
static void test_scale(void **state)
{
    (void)state;
    static const struct entry keys[] = {
        { "mamba.attention.scale", QR_GGUF_F32, 0, NULL },
        { "mamba.attention.head_count", QR_GGUF_U32, 0, NULL },
        { "mamba.ssm.conv_kernel", QR_GGUF_U32, 4, NULL },
        { "mamba.ssm.inner_size", QR_GGUF_U32, 128, NULL },
        { "mamba.ssm.state_size", QR_GGUF_U32, 8, NULL },
        { "mamba.ssm.time_step_rank", QR_GGUF_U32, 4, NULL },
    };
    static const struct entry_tensor tensors[] = {
        { "blk.0.ssm_conv1d.weight", 512, 0, 0 },
        { "blk.1.ssm_conv1d.weight", 512, 0, 0 },
        { "blk.2.ssm_conv1d.weight", 512, 0, 0 },
        { "blk.3.ssm_conv1d.weight", 512, 0, 0 },
    };
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_FORMAT, make_with_tensors("mamba", keys, 6, tensors, 4, &c, &err));
    assert_non_null(strstr(err.msg, "attention scale is 0"));
    c = good("llama", &(struct entry){ "llama.attention.scale", QR_GGUF_F32, 0, NULL }, 1);
    assert_true(c.attention_scale == 0.25f);
    qr_model_config_free(&c);
}

/* The norms of queries and keys are those whose tensors the file has. */
static void test_norms(void **state)
{
    (void)state;
    static const struct entry eps = { "stablelm.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5,
                                      NULL };
    static const struct entry_tensor tensor = { "blk.0.attn_q_norm.weight", 64, 1, 0 };
    for (size_t n = 0; n < 2; n++) {
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, make_with_tensors("stablelm", &eps, 1, &tensor, n, &c, &err));
        assert_int_equal(c.qk_norm != QR_QK_NORM_NONE, n == 1);
        qr_model_config_free(&c);
    }
}

/* ---- Files that test_gguf_model.h cannot write */

static void begin(struct image *m, const char *arch, uint64_t n_tensors, uint64_t n_more)
{
    static const struct {
        const char *key;
        uint32_t value;
    } base[] = { { "block_count", 4 },
                 { "embedding_length", 64 },
                 { "context_length", 512 },
                 { "feed_forward_length", 160 },
                 { "vocab_size", 320 } };
    char key[96];
    put_head(m, 3, n_tensors, 7 + n_more);
    put_kv_str(m, "general.architecture", arch);
    for (size_t i = 0; i < 5; i++) {
        snprintf(key, sizeof key, "%s.%s", arch, base[i].key);
        put_kv_u32(m, key, base[i].value);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", arch);
    put_kv_f32(m, key, 1e-5f);
}

static quire_status configure(struct image *m, const struct qr_unknown_policy *policy,
                              struct quire_error *err)
{
    struct qr_gguf *g;
    struct qr_model_config c;
    pad_to(m, 32);
    assert_status(QUIRE_OK, qr_gguf_open_memory(m->data, m->size, NULL, NULL, &g, err));
    const quire_status s = qr_model_config_from_gguf(g, policy, NULL, &c, err);
    qr_model_config_free(&c);
    qr_gguf_close(g);
    drop(m);
    return s;
}

/* A list of numbers that are negative, or beyond 32 bits. */
static void test_list(void **state)
{
    (void)state;
    static const int64_t last[] = { 4, -1, (int64_t)UINT32_MAX + 1 };
    for (size_t i = 0; i < 3; i++) {
        struct image m;
        struct quire_error err = QUIRE_ERROR_INIT;
        begin(&m, "llama", 0, 1);
        put_kv_array(&m, "llama.attention.head_count", QR_GGUF_I64, 4);
        for (int k = 0; k < 3; k++)
            put_u64(&m, 4);
        put_u64(&m, (uint64_t)last[i]);
        assert_status(i ? QUIRE_E_FORMAT : QUIRE_OK, configure(&m, NULL, &err));
        if (i)
            assert_string_equal(err.msg, "metadata key llama.attention.head_count must list 4 "
                                         "non-negative integers");
    }
}

/* Frequency factors with two dimensions, or as f16. */
static void test_factor_types(void **state)
{
    (void)state;
    for (uint32_t f16 = 0; f16 < 2; f16++) {
        const uint64_t dims[2] = { 8, 1 };
        struct image m;
        struct quire_error err = QUIRE_ERROR_INIT;
        begin(&m, "llama", 1, 1);
        put_kv_u32(&m, "llama.attention.head_count", 4);
        put_tensor(&m, "rope_freqs.weight", f16, f16 ? 1 : 2, dims, 0);
        pad_to(&m, 32);
        for (int i = 0; i < 8; i++)
            put_u32(&m, 0);
        assert_status(QUIRE_E_FORMAT, configure(&m, NULL, &err));
        assert_non_null(strstr(err.msg, "tensor rope_freqs.weight must contain 8 f32 values"));
    }
}

/* Keys that a family does not know: on, off, and allowed. */
static void test_unknown(void **state)
{
    (void)state;
    static const struct qr_unknown_policy allow = { .allow = true };
    static const uint64_t numbers[] = { 0, 1, UINT64_MAX };
    for (size_t i = 0; i < 3; i++)
        for (int allowed = 0; allowed < 2; allowed++) {
            struct image m;
            struct quire_error err = QUIRE_ERROR_INIT;
            begin(&m, "llama", 0, 2);
            put_kv_u32(&m, "llama.attention.head_count", 4);
            put_key(&m, "llama.warp_factor", QR_GGUF_U64);
            put_u64(&m, numbers[i]);
            assert_status(i && !allowed ? QUIRE_E_UNSUPPORTED : QUIRE_OK,
                          configure(&m, allowed ? &allow : NULL, &err));
            if (i && !allowed)
                assert_non_null(strstr(err.msg, "metadata key llama.warp_factor is not supported"));
        }
    struct entry off[] = { { "llama.warp_name", QR_GGUF_STRING, 0, "" },
                           { "llama.warp_drive", QR_GGUF_BOOL, 0, NULL },
                           { "llama.warp_speed", QR_GGUF_F32, 0, NULL } };
    struct qr_model_config c = good("llama", off, 3);
    qr_model_config_free(&c);
    off[0].text = "x";
    off[1].value = off[2].value = 1;
    for (size_t i = 0; i < 3; i++)
        bad("llama", off[i], QUIRE_E_UNSUPPORTED, off[i].key);
}

/* Architectures that other programs read: those of diffusion language models, and Grok. */
static void test_unsupported(void **state)
{
    (void)state;
    static const char *const archs[] = { "llada", "llada-moe", "dream", "rnd1", "grok" };
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        char text[64];
        snprintf(text, sizeof text, "general.architecture %s is not supported", archs[i]);
        bad(archs[i], (struct entry){ "general.name", QR_GGUF_STRING, 0, "x" }, QUIRE_E_UNSUPPORTED,
            text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_further_tokens), cmocka_unit_test(test_families),
        cmocka_unit_test(test_scaling),        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_scale),          cmocka_unit_test(test_norms),
        cmocka_unit_test(test_list),           cmocka_unit_test(test_factor_types),
        cmocka_unit_test(test_unknown),        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_no_heads),       cmocka_unit_test(test_sublayers),
        cmocka_unit_test(test_layer_limits),   cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_whole_head),     cmocka_unit_test(test_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
