/* SPDX-License-Identifier: Apache-2.0 */
/* test_hf_decoders.c - config.json: what single families of decoders read and refuse. */
#include "test_config.h"
#include "test_hf.h"
#include <math.h>

/* local_attention counts two directions, of which a decoder has one; every third layer from 0 is
 * full. Files of Transformers 4 have one RoPE base in effect. */
static void test_modernbert_decoder(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(MODEL("modernbert-decoder", ",\"local_attention\":17,\"sliding_window\":8,"
                                         "\"local_rope_theta\":500"));
    assert_true(c.kind == QR_MODEL_DECODER && c.causal && c.head_dense && c.ffn_gated);
    assert_true(c.layers[0].skip_attn_norm && !c.layers[1].skip_attn_norm && c.embedding_norm);
    assert_true(c.layers[0].window == 0 && c.layers[1].window == 8 && c.layers[2].window == 8 &&
                c.layers[3].window == 0);
    assert_true(c.layers[0].rope == 0 && c.layers[1].rope == 1 && c.rope[0].theta == 160000 &&
                c.rope[1].theta == 500);
    assert_true(!c.bias.q && !c.bias.ffn_in && !c.bias.norm && c.bias.output && c.tied_embeddings);
    qr_model_config_free(&c);
    c = good(MODEL("modernbert-decoder", ",\"local_rope_theta\":500,\"global_rope_theta\":5000,"
                                         "\"transformers_version\":\"4.57.1\""));
    assert_true(c.layers[1].window == 64 && c.rope[0].theta == 5000 && c.rope[1].theta == 5000);
    qr_model_config_free(&c);
    c = good(MODEL("modernbert-decoder",
                   ",\"transformers_version\":\"4.57.1\",\"rope_parameters\":{"
                   "\"full_attention\":{\"rope_theta\":5000},"
                   "\"sliding_attention\":{\"rope_theta\":500}}"));
    assert_true(c.rope[0].theta == 5000 && c.rope[1].theta == 500);
    qr_model_config_free(&c);
#define WITH(more) MODEL("modernbert-decoder", ",\"local_rope_theta\":500" more)
    c = good(WITH(",\"transformers_version\":\"5.0.0\",\"decoder_bias\":false"));
    assert_true(c.rope[1].theta == 500 && !c.bias.output);
    qr_model_config_free(&c);
    bad(MODEL("modernbert-decoder", ""), QUIRE_E_FORMAT, "local_rope_theta is missing");
    bad(WITH(",\"local_attention\":1"), QUIRE_E_UNSUPPORTED, "local_attention is below 2");
    bad(WITH(",\"local_attention\":null"), QUIRE_E_UNSUPPORTED, "local_attention is below 2");
    bad(WITH(",\"local_attention\":\"x\""), QUIRE_E_FORMAT, "local_attention");
    bad(WITH(",\"sliding_window\":128"), QUIRE_E_UNSUPPORTED, "sliding_window is 128");
    bad(WITH(",\"sliding_window\":\"x\""), QUIRE_E_FORMAT, "sliding_window");
    bad(WITH(",\"transformers_version\":4"), QUIRE_E_FORMAT, "transformers_version");
    bad(WITH(",\"classifier_activation\":\"silu\""), QUIRE_E_UNSUPPORTED, "classifier_activation");
    bad(WITH(",\"is_causal\":3"), QUIRE_E_UNSUPPORTED, "is_causal = 3");
}

/* One KV head; the width is 2/3 of n_inner or of 4 n_embd, rounded up to a multiple of 256. */
static void test_refact(void **state)
{
    (void)state;
#define REFACT "{\"model_type\":\"gpt_refact\",\"n_embd\":384,\"n_head\":6,\"n_layer\":2"
    struct qr_model_config c = good(REFACT "}");
    assert_true(c.layers[0].n_kv_heads == 1 && c.head_dim == 64 && c.alibi_max_bias == 8);
    assert_true(c.layers[0].ffn_size == 1024 && c.ffn_gated && c.norm == QR_NORM_LAYER);
    assert_true(!c.bias.norm && !c.bias.q && c.n_rope == 0 && !c.tied_embeddings);
    qr_model_config_free(&c);
    c = good(REFACT ",\"n_inner\":1200}");
    assert_true(c.layers[1].ffn_size == 1024);
    qr_model_config_free(&c);
    bad(REFACT ",\"multi_query\":false}", QUIRE_E_UNSUPPORTED, "multi_query");
    bad(REFACT ",\"scale_attn_weights\":false,\"add_cross_attention\":true}", QUIRE_E_UNSUPPORTED,
        "add_cross_attention");
}

/* n_shared_head query heads have one KV head; num_key_value_heads has no effect. */
static void test_plamo(void **state)
{
    (void)state;
#define PLAMO(more) MODEL("plamo", ",\"num_attention_heads\":16,\"num_key_value_heads\":16" more)
    struct qr_model_config c = good(PLAMO(",\"n_shared_head\":4"));
    assert_true(c.tiled_heads && c.layers[0].n_kv_heads == 4 && c.block == QR_BLOCK_PARALLEL);
    qr_model_config_free(&c);
    c = good(PLAMO("")); /* the default, 8 */
    assert_true(c.tiled_heads && c.layers[0].n_kv_heads == 2);
    qr_model_config_free(&c);
    c = good(PLAMO(",\"n_shared_head\":20"));
    assert_true(!c.tiled_heads && c.layers[0].n_kv_heads == 1);
    qr_model_config_free(&c);
    c = good(PLAMO(",\"n_shared_head\":1"));
    assert_true(!c.tiled_heads && c.layers[0].n_kv_heads == 16);
    qr_model_config_free(&c);
    bad(PLAMO(",\"n_shared_head\":0"), QUIRE_E_FORMAT, "n_shared_head is 0");
    bad(PLAMO(",\"n_shared_head\":[]"), QUIRE_E_FORMAT, "n_shared_head");
    bad(PLAMO(",\"n_shared_head\":3"), QUIRE_E_FORMAT, "not a multiple of its 6 kv heads");
    bad(PLAMO(",\"v_head_dim\":2"), QUIRE_E_UNSUPPORTED, "tiled heads");
    bad(MODEL("llama", ",\"n_shared_head\":4"), QUIRE_E_UNSUPPORTED, "n_shared_head = 4");
}

/* ERNIE 4.5 over the halves of heads; the sections of RoPE have the positions of the text. */
static void test_paddleocr(void **state)
{
    (void)state;
    struct qr_model_config c = good(
        MODEL("paddleocr_vl", ",\"rope_scaling\":{\"type\":\"default\",\"rope_type\":\"default\","
                              "\"mrope_section\":[4,2,2]}"));
    assert_true(c.rope[0].kind == QR_ROPE_NEOX && c.rope[0].scaling == QR_ROPE_SCALING_NONE);
    assert_true(c.rope[0].theta == 500000 && !c.bias.q && !c.bias.ffn_in && c.tied_embeddings);
    qr_model_config_free(&c);
    c = good(MODEL("paddleocr_vl", ",\"use_bias\":true"));
    assert_true(c.bias.q && c.bias.o && c.bias.ffn_in);
    qr_model_config_free(&c);
    bad(MODEL("paddleocr_vl", ",\"compression_ratio\":2"), QUIRE_E_UNSUPPORTED,
        "compression_ratio = 2");
    bad(MODEL("paddleocr_vl", ",\"rope_is_neox_style\":false"), QUIRE_E_UNSUPPORTED,
        "rope_is_neox_style");
}

/* The base of RoPE is enlarged by alpha, whatever the scaling is called. */
static void test_hunyuan_vl(void **state)
{
    (void)state;
#define XDROPE ",\"rope_scaling\":{\"type\":\"xdrope\",\"alpha\":1000,\"xdrope_section\":[2,2,2,2]}"
    struct qr_model_config c = good(MODEL("hunyuan_vl", XDROPE));
    assert_true(c.rope[0].kind == QR_ROPE_NEOX && c.rope[0].scaling == QR_ROPE_SCALING_NONE);
    assert_true(c.qk_norm == QR_QK_NORM_HEAD && c.qk_norm_after_rope && c.tied_embeddings);
    assert_true(fabs(c.rope[0].theta / (10000 * pow(1000, 16 / 14.0)) - 1) < 1e-12);
    qr_model_config_free(&c);
    bad(MODEL("hunyuan_vl", ",\"use_qk_norm\":false"), QUIRE_E_UNSUPPORTED, "use_qk_norm");
    bad(MODEL("hunyuan_vl", ",\"norm_type\":\"layer\""), QUIRE_E_UNSUPPORTED, "norm_type");
    bad(MODEL("hunyuan_vl", ",\"num_experts\":4"), QUIRE_E_UNSUPPORTED, "num_experts");
    bad(MODEL("llama", XDROPE), QUIRE_E_UNSUPPORTED, "RoPE type xdrope");
}

static void test_talkie(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("talkie", ""));
    assert_true(c.gains && c.output_gain && c.embedding_norm && !c.tied_embeddings);
    assert_true(c.qk_norm == QR_QK_NORM_L2 && c.norm == QR_NORM_RMS_PLAIN && c.ffn_gated);
    assert_true(c.rope[0].clockwise && c.rope[0].theta == 1e6 && c.norm_eps == 0x1p-23f);
    qr_model_config_free(&c);
    c = good(MODEL("llama", ""));
    assert_true(!c.gains && !c.output_gain);
    qr_model_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modernbert_decoder),
        cmocka_unit_test(test_refact),
        cmocka_unit_test(test_plamo),
        cmocka_unit_test(test_paddleocr),
        cmocka_unit_test(test_hunyuan_vl),
        cmocka_unit_test(test_talkie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
