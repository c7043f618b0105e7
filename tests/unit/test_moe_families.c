/* SPDX-License-Identifier: Apache-2.0 */
/* test_moe_families.c - config.json: mixtures of experts with options of their own. */
#include "test_config.h"
#include "test_hf.h"

#define GROVE(more) MODEL("grove_moe", ",\"num_experts\":8,\"num_experts_per_tok\":3" more)

static void test_adjugate(void **state)
{
    (void)state;
    struct qr_model_config c = good(GROVE(",\"mlp_only_layers\":[1]"));
    assert_true(c.moe.adjugate_group == 2 && c.moe.adjugate_ffn_size == 128 &&
                c.moe.adjugate_scale == 0.05f && c.moe.renormalize && c.moe.ffn_size == 768);
    assert_true(c.layers[0].moe && !c.layers[1].moe && c.qk_norm == QR_QK_NORM_HEAD);
    qr_model_config_free(&c);
    bad(GROVE(",\"num_experts\":9"), QUIRE_E_FORMAT,
        "9 experts, of which each 2 share an adjugate expert");
    bad(GROVE(",\"norm_topk_prob\":false"), QUIRE_E_UNSUPPORTED, "norm_topk_prob");
    bad(GROVE(",\"expert_group_scale\":0.1"), QUIRE_E_UNSUPPORTED, "expert_group_scale");
}

/* Sizes and options in objects, and one in an object of an object. */
#define DBRX(attn, ffn)                                                                            \
    "{\"model_type\":\"dbrx\",\"vocab_size\":320,\"d_model\":64,\"n_heads\":4,\"n_layers\":2,"     \
    "\"max_seq_len\":256,\"attn_config\":{\"kv_n_heads\":2" attn "},\"ffn_config\":{"              \
    "\"ffn_hidden_size\":96,\"moe_num_experts\":8,\"moe_top_k\":3" ffn "}}"

static void test_dbrx(void **state)
{
    (void)state;
    struct qr_model_config c = good(DBRX(",\"clip_qkv\":8,\"rope_theta\":5e5", ""));
    assert_true(c.clip_qkv == 8 && c.rope[0].theta == 5e5 && c.layers[1].n_kv_heads == 2);
    assert_true(c.moe.n_experts == 8 && c.moe.top_k == 3 && c.moe.ffn_size == 96 &&
                c.moe.renormalize && c.layers[0].moe && c.layers[1].moe);
    assert_true(c.norm == QR_NORM_LAYER && !c.bias.norm && c.norm_eps == 1e-5f &&
                c.activation == QR_ACT_SILU);
    qr_model_config_free(&c);
    c = good(DBRX(",\"clip_qkv\":null", ",\"moe_normalize_expert_weights\":null,\"ffn_act_fn\":{"
                                        "\"name\":\"gelu\"}"));
    assert_true(c.clip_qkv == 0 && c.rope[0].theta == 1e4 && !c.moe.renormalize &&
                c.activation == QR_ACT_GELU_ERF);
    qr_model_config_free(&c);
    c = good(DBRX("", ",\"moe_normalize_expert_weights\":1.0,\"ffn_act_fn\":null"));
    assert_true(c.moe.renormalize && c.activation == QR_ACT_SILU);
    qr_model_config_free(&c);
    c = good(
        "{\"model_type\":\"dbrx\",\"num_key_value_heads\":2,\"rope_parameters\":{\"rope_type\":"
        "\"default\",\"rope_theta\":5e5},\"attn_config\":{\"kv_n_heads\":2,\"dtype\":\"float32\"}"
        "}");
    assert_true(c.rope[0].theta == 5e5 && c.layers[0].n_kv_heads == 2);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"dbrx\"}");
    assert_true(c.hidden_size == 2048 && c.n_layers == 24 && c.layers[0].n_kv_heads == 1 &&
                c.moe.n_experts == 4 && c.moe.top_k == 1 && c.moe.ffn_size == 3584);
    qr_model_config_free(&c);
    bad(DBRX("", ",\"moe_normalize_expert_weights\":2"), QUIRE_E_UNSUPPORTED,
        "moe_normalize_expert_weights 2");
    bad(DBRX("", ",\"moe_normalize_expert_weights\":\"1\""), QUIRE_E_FORMAT,
        "moe_normalize_expert_weights");
    bad(DBRX("", ",\"ffn_act_fn\":{\"name\":\"tanh\"}"), QUIRE_E_UNSUPPORTED, "tanh");
    bad(DBRX("", ",\"ffn_act_fn\":{\"name\":\"gelu\",\"approximate\":\"tanh\"}"),
        QUIRE_E_UNSUPPORTED, "approximate");
    bad(DBRX("", ",\"ffn_act_fn\":{\"name\":1}"), QUIRE_E_FORMAT, "name");
    bad("{\"model_type\":\"dbrx\",\"ffn_config\":{\"moe_top_k\":9}}", QUIRE_E_FORMAT,
        "experts used is 9");
    bad(DBRX(",\"clip_qkv\":-1", ""), QUIRE_E_FORMAT, "clip_qkv");
    bad(DBRX(",\"softmax_scale\":0.5", ""), QUIRE_E_UNSUPPORTED, "attn_config.softmax_scale");
    bad("{\"model_type\":\"dbrx\",\"tie_word_embeddings\":true}", QUIRE_E_UNSUPPORTED,
        "tie_word_embeddings");
}

#define ARCTIC(more)                                                                               \
    MODEL("arctic",                                                                                \
          ",\"num_local_experts\":8,\"num_experts_per_tok\":2,\"moe_layer_frequency\":2" more)

/* Dense networks beside experts, and the size of each. */
static void test_beside(void **state)
{
    (void)state;
    struct qr_model_config c = good(ARCTIC(",\"parallel_attn_mlp_res\":true"));
    assert_true(c.moe.beside_dense && c.moe.beside_plain && c.moe.beside_input == QR_BESIDE_EARLY &&
                c.moe.ffn_size == 160 && c.moe.renormalize && c.max_ffn_size == 160);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(c.layers[i].moe == i % 2 && c.layers[i].ffn_size == (i % 2 ? 64 : 160));
    qr_model_config_free(&c);
    c = good(ARCTIC(",\"parallel_attn_mlp_res\":false,\"sliding_window\":8"));
    assert_true(!c.moe.beside_dense && c.layers[1].moe && c.layers[1].window == 8);
    qr_model_config_free(&c);
    c = good(MODEL("arctic", ",\"parallel_attn_mlp_res\":true")); /* the reference's defaults */
    assert_true(c.moe.n_experts == 8 && c.moe.top_k == 1 && !c.layers[0].moe && c.layers[1].moe);
    qr_model_config_free(&c);
    bad(ARCTIC(",\"parallel_attn_mlp_res\":1"), QUIRE_E_FORMAT, "parallel_attn_mlp_res");
    bad(ARCTIC(",\"use_residual\":false"), QUIRE_E_UNSUPPORTED, "use_residual");
    bad(ARCTIC(",\"moe_layer_frequency\":0"), QUIRE_E_FORMAT, "step between MoE layers");
    bad(ARCTIC(",\"quantization\":{\"q_bits\":8}"), QUIRE_E_UNSUPPORTED, "quantization");
    bad(MODEL("mixtral", ",\"num_local_experts\":4,\"parallel_attn_mlp_res\":true"),
        QUIRE_E_UNSUPPORTED, "parallel_attn_mlp_res");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adjugate),
        cmocka_unit_test(test_dbrx),
        cmocka_unit_test(test_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
