/* SPDX-License-Identifier: Apache-2.0 */
/* test_compress_config.c - shared and compressed keys, hyper-connections and tables of experts in
 * config.json: both styles, defaults, options that are not supported. */
#include "test_config.h"
#include "test_hf.h"

#define KEYS                                                                                       \
    ",\"num_key_value_heads\":1,\"head_dim\":32,\"q_lora_rank\":32,\"o_groups\":2,"                \
    "\"o_lora_rank\":24,\"qk_rope_head_dim\":16,\"index_head_dim\":16,\"n_routed_experts\":16"
#define V4(more)          MODEL("deepseek_v4", KEYS more)
#define TYPES(a, b, c, d) ",\"layer_types\":[\"" a "\",\"" b "\",\"" c "\",\"" d "\"]"
#define WINDOW            "sliding_attention"
#define SPARSE            "compressed_sparse_attention"
#define HEAVY             "heavily_compressed_attention"

static void expect_rates(const char *json, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t rates[] = { a, b, c, d };
    struct qr_model_config cfg = good(json);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(cfg.layers[i].compress_rate, rates[i]);
        assert_int_equal(cfg.layers[i].rope, rates[i] != 0);
        assert_int_equal(cfg.layers[i].window, 128);
    }
    qr_model_config_free(&cfg);
}

static void test_layers(void **state)
{
    (void)state;
    expect_rates(V4(""), 128, 128, 128, 4); /* the default of the reference implementation */
    expect_rates(V4(TYPES(WINDOW, SPARSE, HEAVY, WINDOW)), 0, 4, 128, 0);
    expect_rates(V4(TYPES(WINDOW, SPARSE, HEAVY, WINDOW) ",\"compress_rates\":{\"" SPARSE
                                                         "\":8,\"" HEAVY "\":32}"),
                 0, 8, 32, 0);
    expect_rates(V4(",\"compress_ratios\":[0,4,128,4,0],\"compress_rate_hca\":16"), 0, 4, 16, 4);
    expect_rates(V4(",\"compress_ratios\":[0,4,128,4]" TYPES(HEAVY, HEAVY, HEAVY, HEAVY)), 128, 128,
                 128, 128);
    struct qr_model_config c = good(V4(TYPES(WINDOW, HEAVY, HEAVY, WINDOW)));
    assert_int_equal(c.index.n_heads, 0); /* no layer has an indexer */
    qr_model_config_free(&c);
    bad(V4(TYPES(WINDOW, "full_attention", HEAVY, WINDOW)), QUIRE_E_UNSUPPORTED,
        "layer_types[1] is full_attention");
    bad(V4(",\"layer_types\":[\"" WINDOW "\"]"), QUIRE_E_FORMAT, "layer_types must list 4");
    bad(V4(",\"layer_types\":3"), QUIRE_E_FORMAT, "layer_types must list 4");
    bad(V4(",\"compress_ratios\":[0,4,16,0]"), QUIRE_E_UNSUPPORTED, "compress_ratios[2]");
    bad(V4(",\"compress_rates\":{\"" SPARSE "\":0}"), QUIRE_E_FORMAT, SPARSE " is 0");
    bad(V4(",\"compress_rates\":{\"" SPARSE "\":5000}"), QUIRE_E_FORMAT, SPARSE " is 5000");
    bad(V4(",\"compress_rates\":{\"" HEAVY "\":\"x\"}"), QUIRE_E_FORMAT, HEAVY " must be a number");
    bad(V4(",\"compress_rates\":[4]"), QUIRE_E_FORMAT, "compress_rates must be an object");
    bad(V4(",\"compress_rates\":{\"" WINDOW "\":2}"), QUIRE_E_UNSUPPORTED, WINDOW);
}

static void test_heads(void **state)
{
    (void)state;
    bad(V4(",\"num_key_value_heads\":2"), QUIRE_E_UNSUPPORTED, "num_key_value_heads is 2");
    bad(V4(",\"o_groups\":0"), QUIRE_E_FORMAT, "o_groups is 0");
    bad(V4(",\"o_groups\":3"), QUIRE_E_FORMAT, "o_groups is 3");
    bad(V4(",\"o_lora_rank\":0"), QUIRE_E_FORMAT, "o_lora_rank is 0");
    bad(V4(",\"q_lora_rank\":0"), QUIRE_E_FORMAT, "q_lora_rank is 0");
    bad(V4(",\"q_lora_rank\":null"), QUIRE_E_FORMAT, "q_lora_rank");
    bad(V4(",\"sliding_window\":0"), QUIRE_E_FORMAT, "sliding_window is missing or 0");
    bad(V4(",\"attention_bias\":true"), QUIRE_E_UNSUPPORTED, "attention_bias = true");
    bad(V4(",\"mlp_bias\":true"), QUIRE_E_UNSUPPORTED, "mlp_bias = true");
    bad(V4(",\"index_n_heads\":0"), QUIRE_E_FORMAT, "index_n_heads is 0");
    bad(V4(",\"index_head_dim\":8"), QUIRE_E_FORMAT, "index heads of 8 dimensions, 16");
    bad(V4(",\"index_topk\":0"), QUIRE_E_FORMAT, "selected keys or blocks is 0");
    bad(V4(",\"v_head_dim\":16"), QUIRE_E_FORMAT, "values of 16");
}

#define YARN                                                                                       \
    "\"rope_type\":\"yarn\",\"factor\":8.0,\"original_max_position_embeddings\":64,"               \
    "\"beta_fast\":32.0,\"beta_slow\":1.0"

static void test_rope(void **state)
{
    (void)state;
    static const char *const same[] = {
        V4(",\"compress_rope_theta\":50000,\"rope_scaling\":{" YARN "}"),
        V4(",\"compress_rope_theta\":50000,\"rope_parameters\":{\"rope_theta\":7," YARN "}"),
        V4(",\"rope_parameters\":{\"main\":{\"rope_type\":\"default\",\"rope_theta\":10000},"
           "\"compress\":{\"rope_theta\":50000," YARN "}}"),
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct qr_model_config c = good(same[i]);
        assert_int_equal(c.n_rope, 2);
        assert_true(c.rope[0].theta == 10000 && c.rope[1].theta == 50000);
        assert_int_equal(c.rope[0].scaling, QR_ROPE_SCALING_NONE);
        assert_int_equal(c.rope[1].scaling, QR_ROPE_SCALING_YARN);
        assert_true(c.rope[1].cos_sin_scale == 1 && c.rope[1].factor == 8);
        assert_true(c.rope[0].dim == 16 && c.rope[1].dim == 16);
        qr_model_config_free(&c);
    }
    bad(V4(",\"qk_rope_head_dim\":64"), QUIRE_E_FORMAT, "64 rotary dimensions in heads of 32");
    bad(V4(",\"rope_scaling\":{\"type\":\"cubic\"}"), QUIRE_E_UNSUPPORTED, "RoPE type cubic");
    bad(V4(",\"compress_rope_theta\":null"), QUIRE_E_FORMAT, "compress_rope_theta");
}

static void test_hyper(void **state)
{
    (void)state;
    struct qr_model_config c = good(V4(",\"hc_mult\":2"));
    assert_int_equal(c.hyper.kind, QR_HYPER_SINKHORN);
    assert_int_equal(c.hyper.n_streams, 2);
    assert_int_equal(c.hyper.iterations, 20);
    assert_true(c.hyper.eps == 1e-6f);
    qr_model_config_free(&c);
    bad(V4(",\"hc_mult\":1"), QUIRE_E_FORMAT, "residual streams is 1");
    bad(V4(",\"hc_sinkhorn_iters\":0"), QUIRE_E_FORMAT, "hc_sinkhorn_iters is 0");
    bad(V4(",\"hc_sinkhorn_iters\":1000000"), QUIRE_E_FORMAT, "hc_sinkhorn_iters is 1000000");
    bad(V4(",\"hc_eps\":-1"), QUIRE_E_FORMAT, "hc_eps is -1");
    bad(V4(",\"hc_eps\":\"x\""), QUIRE_E_FORMAT, "hc_eps");
}

static void test_experts(void **state)
{
    (void)state;
    struct qr_model_config c = good(V4(""));
    assert_int_equal(c.moe.gating, QR_GATING_SQRT_SOFTPLUS);
    assert_true(c.act_limit == 10);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(c.layers[i].moe && c.layers[i].token_experts == (i < 3));
    qr_model_config_free(&c);
    c = good(V4(",\"num_hash_layers\":0,\"mlp_layer_types\":[\"moe\",\"hash_moe\",\"moe\",\"moe\","
                "\"moe\"]"));
    assert_true(!c.layers[0].token_experts && c.layers[1].token_experts);
    qr_model_config_free(&c);
    c = good(V4(",\"scoring_func\":\"sigmoid\""));
    assert_int_equal(c.moe.gating, QR_GATING_SIGMOID);
    qr_model_config_free(&c);
    bad(V4(",\"scoring_func\":\"softmax\""), QUIRE_E_UNSUPPORTED, "scoring_func softmax");
    bad(MODEL("deepseek_v3", ",\"scoring_func\":\"sqrtsoftplus\""), QUIRE_E_UNSUPPORTED,
        "scoring_func sqrtsoftplus");
    bad(V4(",\"mlp_layer_types\":[\"moe\"]"), QUIRE_E_FORMAT, "mlp_layer_types must list 4");
    bad(V4(",\"mlp_layer_types\":[\"moe\",\"moe\",\"dense\",\"moe\"]"), QUIRE_E_UNSUPPORTED,
        "mlp_layer_types[2] is dense");
    bad(V4(",\"n_shared_experts\":2"), QUIRE_E_UNSUPPORTED, "n_shared_experts is 2");
    bad(V4(",\"norm_topk_prob\":false"), QUIRE_E_UNSUPPORTED, "norm_topk_prob = false");
    bad(V4(",\"swiglu_limit\":0"), QUIRE_E_FORMAT, "swiglu_limit is 0");
    bad(V4(",\"swiglu_limit\":null"), QUIRE_E_FORMAT, "swiglu_limit");
    bad(V4(",\"num_experts_per_tok\":17"), QUIRE_E_FORMAT, "experts used is 17");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers), cmocka_unit_test(test_heads),   cmocka_unit_test(test_rope),
        cmocka_unit_test(test_hyper),  cmocka_unit_test(test_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
