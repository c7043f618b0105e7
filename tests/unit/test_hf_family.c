/* SPDX-License-Identifier: Apache-2.0 */
/* test_hf_family.c - config.json: options by which the models of a family differ. */
#include "test_config.h"
#include "test_hf.h"

static void expect_windows(const char *json, const char *windows)
{
    struct qr_model_config c = good(json);
    char text[64] = "";
    for (uint32_t i = 0; i < c.n_layers; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", c.layers[i].window);
    assert_string_equal(text, windows);
    qr_model_config_free(&c);
}

/* Options that select a variant of a family. */
static void test_falcon(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL(
        "falcon", ",\"alibi\":true,\"parallel_attn\":false,\"multi_query\":false,\"bias\":true"));
    assert_true(c.block == QR_BLOCK_PRE_NORM && c.alibi_max_bias == 8 && c.alibi_scale == 0.25f &&
                c.n_rope == 0);
    assert_true(c.layers[0].n_kv_heads == 4 && c.layers[0].rope == QR_LAYER_NO_ROPE && c.bias.q &&
                c.bias.ffn_down);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"falcon\",\"hidden_size\":64,\"num_attention_heads\":4,\"num_hidden_"
             "layers\":2}");
    assert_true(c.block == QR_BLOCK_PARALLEL && c.layers[0].n_kv_heads == 1 && c.n_rope == 1 &&
                !c.bias.q);
    assert_true(c.layers[0].ffn_size == 256 && c.tied_embeddings);
    qr_model_config_free(&c);
    c = good(MODEL("falcon", ",\"new_decoder_architecture\":true,\"num_kv_heads\":2"));
    assert_true(c.block == QR_BLOCK_PARALLEL_2NORM && c.layers[3].n_kv_heads == 2);
    qr_model_config_free(&c);
    c = good(MODEL("falcon", ",\"new_decoder_architecture\":true,\"num_ln_in_parallel_attn\":1"));
    assert_true(c.block == QR_BLOCK_PARALLEL);
    qr_model_config_free(&c);
#define FALCON_ALIBI "\"alibi\":true,\"parallel_attn\":false,\"multi_query\":false"
    c = good(MODEL("falcon", "," FALCON_ALIBI ",\"transformers_version\":\"4.48.0\""));
    assert_true(c.alibi_scale == 0.25f);
    qr_model_config_free(&c);
    c = good(MODEL("falcon", "," FALCON_ALIBI ",\"transformers_version\":\"5.0.0.dev0\""));
    assert_true(c.alibi_scale == 0.5f);
    qr_model_config_free(&c);
    bad(MODEL("falcon", "," FALCON_ALIBI ",\"transformers_version\":5"), QUIRE_E_FORMAT,
        "transformers_version");
}

static void test_options(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL(
        "gpt_neox", ",\"use_parallel_residual\":false,\"rotary_pct\":0.5,\"rotary_emb_base\":500"));
    assert_true(c.block == QR_BLOCK_PRE_NORM && c.rope[0].dim == 8 && c.rope[0].theta == 500 &&
                c.bias.o);
    qr_model_config_free(&c);
    c = good(MODEL("gptj", ",\"rotary_dim\":8"));
    assert_true(c.rope[0].dim == 8 && c.rope[0].kind == QR_ROPE_INTERLEAVED && c.bias.output &&
                !c.bias.q);
    qr_model_config_free(&c);
    c = good(
        MODEL("granite",
              ",\"logits_scaling\":8,\"attention_multiplier\":0.5,\"residual_multiplier\":0.25"));
    assert_true(c.logit_scale == 0.125f && c.attention_scale == 0.5f && c.residual_scale == 0.25f);
    qr_model_config_free(&c);
    c = good(MODEL("cohere2", ",\"sliding_window\":8"));
    assert_true(c.layers[0].rope == 0 && c.layers[3].rope == QR_LAYER_NO_ROPE &&
                c.logit_scale == 0.0625f);
    qr_model_config_free(&c);
    expect_windows(
        MODEL("gpt_neo", ",\"window_size\":8,\"attention_types\":[[[\"global\",\"local\"],2]]"),
        "0 8 0 8 ");
    /* more entries than layers */
    expect_windows(
        MODEL("gpt_neo", ",\"window_size\":8,\"attention_types\":[[[\"global\",\"local\"],3]]"),
        "0 8 0 8 ");
    expect_windows(
        MODEL("gpt_neo", ",\"attention_layers\":[\"local\",\"global\",\"global\",\"global\"]"),
        "256 0 0 0 ");
    c = good(MODEL("bloom", ",\"transformers_version\":\"5.0.0\""));
    assert_true(c.alibi_scale == 1);
    qr_model_config_free(&c);
    expect_windows(MODEL("gpt_oss", ",\"num_local_experts\":4"), "128 0 128 0 ");
    expect_windows(MODEL("llama4_text", ",\"attention_chunk_size\":24"), "24 24 24 0 ");
}

static void test_unsupported_options(void **state)
{
    (void)state;
    bad(MODEL("gpt_neo", ",\"attention_types\":[[[\"global\"],3]]"), QUIRE_E_FORMAT,
        "3 of 4 layers");
    bad(MODEL("gpt_neo", ",\"attention_types\":[[[],4]]"), QUIRE_E_FORMAT, "attention_types[0]");
    bad(MODEL("gpt_neo", ",\"attention_types\":[[[\"global\"],-1]]"), QUIRE_E_FORMAT,
        "attention_types[0]");
    bad(MODEL("gpt2", ",\"scale_attn_by_inverse_layer_idx\":true"), QUIRE_E_UNSUPPORTED,
        "scale_attn_by_inverse");
    bad(MODEL("phi", ",\"qk_layernorm\":true"), QUIRE_E_UNSUPPORTED, "qk_layernorm = true");
    bad(MODEL("opt", ",\"do_layer_norm_before\":false"), QUIRE_E_UNSUPPORTED,
        "do_layer_norm_before = false");
    bad(MODEL("mpt", ",\"attn_config\":{\"alibi\":false}"), QUIRE_E_UNSUPPORTED, "alibi = false");
    bad(MODEL("mpt", ",\"attn_config\":{\"alibi\":3}"), QUIRE_E_FORMAT, "alibi");
    bad(MODEL("mpt", ",\"attn_config\":{\"clip_qkv\":-1}"), QUIRE_E_FORMAT, "clip_qkv");
    bad(MODEL("bloom", ",\"apply_residual_connection_post_layernorm\":true"), QUIRE_E_UNSUPPORTED,
        "post_layernorm");
    bad(MODEL("gpt2", ",\"hidden_size\":4294967295,\"intermediate_size\":null"), QUIRE_E_FORMAT,
        "hidden_size");
    bad(MODEL("granite", ",\"logits_scaling\":0"), QUIRE_E_FORMAT, "logit scale");
}

/* Heads, sinks and gates that differ between layers. */
static void test_layer_heads(void **state)
{
    (void)state;
#define MIMO(more)                                                                                 \
    MODEL("mimo_v2_flash",                                                                         \
          ",\"head_dim\":24,\"hybrid_layer_pattern\":[0,1,1,0],\"sliding_window\":8,"              \
          "\"n_routed_experts\":4,\"num_experts_per_tok\":2" more)
#define LAGUNA(more)                                                                               \
    MODEL("laguna", ",\"layer_types\":[\"sliding_attention\",\"full_attention\","                  \
                    "\"full_attention\",\"full_attention\"],\"num_experts\":4,"                    \
                    "\"num_experts_per_tok\":2" more)
    struct qr_model_config c = good(MIMO(",\"swa_num_key_value_heads\":1,\"moe_layer_freq\":"
                                         "[0,0,1,1],\"add_full_attention_sink_bias\":true"));
    assert_true(c.layers[0].n_kv_heads == 4 && c.layers[1].n_kv_heads == 1);
    assert_true(c.layers[0].sinks && c.layers[1].sinks && !c.layers[1].moe && c.layers[2].moe);
    qr_model_config_free(&c);
    bad(MIMO(",\"swa_head_dim\":8"), QUIRE_E_UNSUPPORTED, "swa_head_dim is 8");
    bad(MIMO(",\"swa_v_head_dim\":8"), QUIRE_E_UNSUPPORTED, "swa_v_head_dim is 8");
    bad(MIMO(",\"swa_num_key_value_heads\":3"), QUIRE_E_FORMAT, "kv heads");
    bad(MIMO(",\"moe_layer_freq\":[0,1,1]"), QUIRE_E_FORMAT, "moe_layer_freq");
    bad(MIMO(",\"moe_layer_freq\":[0,1,1,2]"), QUIRE_E_FORMAT, "moe_layer_freq");
    bad(MODEL("mimo_v2_flash", ",\"sliding_window\":8,\"hybrid_layer_pattern\":[0,1,2,0]"),
        QUIRE_E_FORMAT, "hybrid_layer_pattern[2]");
    c = good(LAGUNA(",\"num_attention_heads_per_layer\":[8,4,4,12],\"gating\":\"per-element\""));
    assert_true(c.layers[0].n_heads == 8 && c.layers[3].n_heads == 12 && c.max_heads == 12);
    assert_true(c.gate_softplus && !c.gate_per_head);
    qr_model_config_free(&c);
    bad(LAGUNA(",\"num_attention_heads_per_layer\":[8,4,4]"), QUIRE_E_FORMAT, "must list 4");
    bad(LAGUNA(",\"num_attention_heads_per_layer\":[8,4,4,-1]"), QUIRE_E_FORMAT, "[3]");
    bad(LAGUNA(",\"gating\":false"), QUIRE_E_UNSUPPORTED, "gating");
    bad(LAGUNA(",\"gating\":\"per-layer\""), QUIRE_E_UNSUPPORTED, "gating per-layer");
    bad(LAGUNA(",\"gating_types\":[\"per_element\"]"), QUIRE_E_UNSUPPORTED, "gating_types[0]");
    bad(LAGUNA(",\"gating_types\":[1]"), QUIRE_E_UNSUPPORTED, "gating_types[0] is not a string");
    static const struct {
        const char *json;
        bool per_head;
    } gates[] = {
        { LAGUNA(",\"gating\":\"per-element\",\"gating_types\":[\"per_element\"]"), false },
        { LAGUNA(",\"gating\":\"per_element\""), false },
        { LAGUNA(",\"gating\":\"per-head\",\"gating_types\":[\"per_head\"]"), true },
        { LAGUNA(",\"gating\":\"per_head\""), true },
        { LAGUNA(",\"gating\":true"), true },
    };
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        c = good(gates[i].json);
        assert_int_equal(c.gate_per_head, gates[i].per_head);
        qr_model_config_free(&c);
    }
    bad(LAGUNA(",\"moe_router_logit_softcapping\":-1"), QUIRE_E_FORMAT, "router soft cap");
    bad(LAGUNA(",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":10000}}"), QUIRE_E_FORMAT,
        "sliding_attention");
}

/* Selected keys, pairs of layers, values of two heads, a bias of keys. */
static void test_other_attention(void **state)
{
    (void)state;
#define DSA(more)                                                                                  \
    MODEL("glm_moe_dsa", ",\"q_lora_rank\":32,\"kv_lora_rank\":16,\"qk_nope_head_dim\":16,"        \
                         "\"qk_rope_head_dim\":8,\"v_head_dim\":16" more)
    struct qr_model_config c = good(DSA(",\"index_topk_freq\":2,\"index_skip_topk_offset\":2"));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(c.layers[i].index, i == 2 ? QR_INDEX_SHARED : QR_INDEX_OWN);
    qr_model_config_free(&c);
    c = good(DSA(",\"index_topk_pattern\":\"FSSF\",\"indexer_rope_interleave\":false"));
    assert_true(c.layers[1].index == QR_INDEX_SHARED && !c.index.interleaved);
    qr_model_config_free(&c);
    bad(DSA(",\"index_topk_pattern\":\"FSS\""), QUIRE_E_FORMAT, "index_topk_pattern");
    bad(DSA(",\"index_topk_pattern\":\"FSXF\""), QUIRE_E_FORMAT, "must be 4 letters F or S");
    bad(DSA(",\"index_topk_pattern\":\"SSFF\""), QUIRE_E_FORMAT, "layer 0 has an indexer");
    bad(DSA(",\"indexer_types\":[\"full\"]"), QUIRE_E_FORMAT, "indexer_types must list 4");
    bad(DSA(",\"indexer_types\":[\"full\",\"full\",\"none\",\"full\"]"), QUIRE_E_UNSUPPORTED,
        "indexer_types[2] is none");
    bad(DSA(",\"index_topk\":0"), QUIRE_E_FORMAT, "selected keys");
    bad(DSA(",\"index_n_heads\":0"), QUIRE_E_FORMAT, "index_n_heads is 0");
    bad(DSA(",\"index_head_dim\":4"), QUIRE_E_FORMAT, "index heads of 4");
    bad(DSA(",\"layer_types\":[\"full_attention\"]"), QUIRE_E_UNSUPPORTED, "layer_types[0]");
#define M3(more)                                                                                   \
    MODEL("minimax_m3_vl_text", ",\"index_head_dim\":16,\"index_topk_blocks\":3,"                  \
                                "\"num_local_experts\":4,\"num_experts_per_tok\":2" more)
#define SPARSE                                                                                     \
    ",\"layer_types\":[\"full_attention\",\"minimax_m3_sparse\",\"full_attention\",\"full_"        \
    "attention\"]"
    c = good(M3(",\"index_n_heads\":2" SPARSE));
    assert_true(c.layers[0].index == QR_INDEX_NONE && c.layers[1].index == QR_INDEX_OWN);
    qr_model_config_free(&c);
    bad(M3(",\"index_n_heads\":3" SPARSE), QUIRE_E_UNSUPPORTED, "3 index heads for the 4 kv heads");
    bad(M3(",\"index_n_heads\":2,\"index_local_blocks\":4" SPARSE), QUIRE_E_FORMAT, "local blocks");
    bad(M3(",\"index_n_heads\":2"), QUIRE_E_FORMAT, "must list 4 layers");
    bad(M3(",\"index_n_heads\":2,\"layer_types\":[0,0,0,0]"), QUIRE_E_FORMAT, "no layer has");
    bad(M3(",\"index_n_heads\":2,\"layer_types\":[0,1,2,0]"), QUIRE_E_UNSUPPORTED,
        "layer_types[2]");
    bad(M3(",\"index_n_heads\":2,\"layer_types\":[\"full_attention\",\"mamba\",0,0]"),
        QUIRE_E_UNSUPPORTED, "layer_types[1] is mamba");
    bad(M3(",\"sparse_score_type\":\"mean\",\"index_n_heads\":2" SPARSE), QUIRE_E_UNSUPPORTED,
        "sparse_score_type");
    c = good(MODEL("longcat_flash", ",\"qk_rope_head_dim\":64"));
    assert_true(c.n_layers == 8 && c.layers[0].shortcut && !c.layers[1].moe && c.moe.n_identity);
    qr_model_config_free(&c);
    bad(MODEL("longcat_flash", ",\"zero_expert_type\":\"copy\""), QUIRE_E_UNSUPPORTED, "copy");
    bad(MODEL("longcat_flash", ",\"zero_expert_num\":-1"), QUIRE_E_FORMAT, "zero_expert_num");
    bad(MODEL("longcat_flash", ",\"qk_rope_head_dim\":64,\"zero_expert_num\":100000"),
        QUIRE_E_FORMAT, "identity experts");
    bad("{\"model_type\":\"diffllama\",\"vocab_size\":320,\"hidden_size\":64,\"num_hidden_layers\":"
        "1,"
        "\"intermediate_size\":64,\"num_attention_heads\":3,\"num_key_value_heads\":3}",
        QUIRE_E_FORMAT, "even number");
    bad(MODEL("doge", ",\"keep_window_size\":512"), QUIRE_E_UNSUPPORTED, "keep_window_size is 512");
    bad(MODEL("doge", ",\"is_moe\":true"), QUIRE_E_UNSUPPORTED, "is_moe");
}

static void test_shortcuts(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("longcat_flash", ",\"qk_rope_head_dim\":64"));
    assert_true(qr_model_has_shortcuts(&c));
    c.layers[0].shortcut = c.layers[2].shortcut = c.layers[4].shortcut = false;
    assert_true(qr_model_has_shortcuts(&c));
    c.layers[6].shortcut = false;
    assert_false(qr_model_has_shortcuts(&c));
    qr_model_config_free(&c);
}

/* Factors by their old and new names, scores divided by the head dimension or its root. */
static void test_jais(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(MODEL("jais", ",\"embeddings_scale\":14.5,\"width_scale\":0.25,"
                           "\"scale_qk_dot_by_d\":true,\"alibi_scaling\":null"));
    assert_true(c.embedding_scale == 14.5f && c.logit_scale == 0.25f && c.ffn_gated);
    assert_true(c.attention_scale == 1.0f / 16 && c.alibi_max_bias == 8 && c.alibi_scale == 1);
    qr_model_config_free(&c);
    c = good(MODEL("jais", ",\"mup_embeddings_scale\":2.5,\"mup_output_alpha\":1.5,"
                           "\"mup_width_scale\":0.5,\"activation_function\":\"swiglu\""));
    assert_true(c.embedding_scale == 2.5f && c.logit_scale == 0.75f && c.attention_scale == 0.25f);
    qr_model_config_free(&c);
    bad(MODEL("jais", ",\"alibi_scaling\":{\"factor\":2}"), QUIRE_E_UNSUPPORTED, "alibi_scaling");
    bad(MODEL("jais", ",\"position_embedding_type\":\"learned\""), QUIRE_E_UNSUPPORTED,
        "position_embedding_type learned");
    bad(MODEL("jais", ",\"activation_function\":\"gelu\""), QUIRE_E_UNSUPPORTED, "gelu");
    bad(MODEL("jais", ",\"mup_width_scale\":[]"), QUIRE_E_FORMAT, "mup_width_scale");
    bad(MODEL("jais", ",\"scale_qk_dot_by_d\":1"), QUIRE_E_FORMAT, "scale_qk_dot_by_d");
    bad(MODEL("jais", ",\"width_scale\":1e9"), QUIRE_E_FORMAT, "logit scale");
}

/* Models of other programs: diffusion language models, and Grok. */
static void test_unsupported(void **state)
{
    (void)state;
    static const char *const types[] = { "llada", "llada_moe", "Dream", "rnd1", "grok-1" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char json[512], text[64];
        snprintf(json, sizeof json, "{\"model_type\":\"%s\"," SIZES "}", types[i]);
        snprintf(text, sizeof text, "model_type %s is not supported", types[i]);
        bad(json, QUIRE_E_UNSUPPORTED, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_falcon),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_unsupported_options),
        cmocka_unit_test(test_layer_heads),
        cmocka_unit_test(test_other_attention),
        cmocka_unit_test(test_shortcuts),
        cmocka_unit_test(test_jais),
        cmocka_unit_test(test_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
