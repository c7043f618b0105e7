/* SPDX-License-Identifier: Apache-2.0 */
/* test_hf_config.c - config.json of every family, in both styles; its keys. */
#include "model/config/rope.h"
#include "test_config.h"
#include "test_hf.h"
#include <math.h>

static void test_both_styles_agree(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < N_GOLDEN_DIRS; i++) {
        char *v5 = slurp(golden_dirs[i], "config.json"),
             *v4 = slurp(golden_dirs[i], "config_v4.json");
        assert_non_null(v5);
        if (!v4) { /* a family without an older style */
            struct qr_model_config only = good(v5);
            qr_model_config_free(&only);
            free(v5);
            continue;
        }
        struct qr_model_config a = good(v5), b = good(v4);
        if (strcmp(golden_dirs[i], "falcon_alibi") == 0) /* depends on the version of the writer */
            b.alibi_scale *= 2;
        if (strcmp(golden_dirs[i], "t5gemma") == 0) { /* likewise */
            b.layers[b.n_layers].window++;
            b.layers[b.n_layers + 2].window++;
        }
        assert_same_config(&a, &b);
        qr_model_config_free(&a);
        qr_model_config_free(&b);
        free(v5);
        free(v4);
    }
}

static void test_llama(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("llama", ""));
    assert_int_equal(c.layers[3].n_kv_heads, 4);
    assert_int_equal(c.head_dim, 16);
    assert_true(c.attention_scale == 0.25f && c.norm_eps == 1e-6f && c.context_length == 2048);
    assert_true(c.rope[0].kind == QR_ROPE_NEOX && c.rope[0].dim == 16 && c.rope[0].theta == 10000);
    assert_true(!c.tied_embeddings && !c.bias.q && c.n_eos == 0 && c.bos_id == -1 && c.causal);
    qr_model_config_free(&c);
    c = good(MODEL("llama",
                   ",\"head_dim\":null,\"attention_bias\":true,\"mlp_bias\":true,"
                   "\"tie_word_embeddings\":true,\"sliding_window\":null,\"eos_token_id\":[7,"
                   "9],\"bos_token_id\":null,"
                   "\"hidden_act\":\"gelu_new\",\"rope_theta\":5e5"));
    assert_true(c.bias.q && c.bias.k && c.bias.v && c.bias.o && c.bias.ffn_in && c.bias.ffn_down &&
                c.tied_embeddings);
    assert_true(c.layers[0].window == 0 && c.n_eos == 2 && c.eos_ids[1] == 9 && c.bos_id == -1);
    assert_true(c.activation == QR_ACT_GELU_TANH && c.rope[0].theta == 500000);
    qr_model_config_free(&c);
}

static void test_rope_scaling(void **state)
{
    (void)state;
    /* two spellings of the older style, and the newer style */
    static const char *const linear[] = {
        MODEL("llama", ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":4}"),
        MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":4.0}"),
        MODEL("llama",
              ",\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":4,\"rope_theta\":10000}"),
    };
    for (int i = 0; i < 3; i++) {
        struct qr_model_config c = good(linear[i]);
        assert_true(c.rope[0].scaling == QR_ROPE_SCALING_LINEAR && c.rope[0].factor == 4 &&
                    c.rope[0].cos_sin_scale == 1);
        qr_model_config_free(&c);
    }
    struct qr_model_config c = good(
        MODEL("llama",
              ",\"max_position_embeddings\":512,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,"
              "\"original_max_position_embeddings\":128,\"beta_fast\":16,\"truncate\":false}"));
    assert_true(c.rope[0].scaling == QR_ROPE_SCALING_YARN && c.rope[0].original_context == 128);
    assert_true(c.rope[0].beta_fast == 16 && c.rope[0].beta_slow == 1 && !c.rope[0].truncate);
    assert_true(c.rope[0].cos_sin_scale == (float)(0.1 * log(4) + 1));
    qr_model_config_free(&c);
    c = good(MODEL(
        "llama",
        ",\"max_position_embeddings\":512,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":null,"
        "\"original_max_position_embeddings\":64,\"mscale\":1,\"mscale_all_dim\":0.5}"));
    assert_true(c.rope[0].factor == 8);
    assert_true(c.rope[0].cos_sin_scale == (float)((0.1 * log(8) + 1) / (0.05 * log(8) + 1)));
    qr_model_config_free(&c);
    c = good(MODEL("llama",
                   ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"attention_factor\":1.5}"));
    assert_true(c.rope[0].cos_sin_scale == 1.5f && c.rope[0].original_context == 2048);
    qr_model_config_free(&c);
    /* a top-level key takes precedence over one in the object */
    c = good(MODEL(
        "llama",
        ",\"original_max_position_embeddings\":32,\"rope_scaling\":{\"rope_type\":\"llama3\","
        "\"factor\":8,"
        "\"low_freq_factor\":1,\"high_freq_factor\":4,\"original_max_position_embeddings\":64}"));
    assert_true(c.rope[0].scaling == QR_ROPE_SCALING_LLAMA3 && c.rope[0].original_context == 32);
    qr_model_config_free(&c);
    c = good(MODEL("llama", ",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}"));
    assert_true(c.rope[0].scaling == QR_ROPE_SCALING_DYNAMIC && c.rope[0].original_context == 2048);
    qr_model_config_free(&c);
    bad(MODEL("llama", ",\"rope_scaling\":{\"type\":\"spiral\",\"factor\":2}"), QUIRE_E_UNSUPPORTED,
        "spiral");
    bad(MODEL("llama", ",\"rope_scaling\":{\"type\":\"linear\"}"), QUIRE_E_FORMAT,
        "factor is missing");
    bad(MODEL("llama", ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":0}"), QUIRE_E_FORMAT,
        "RoPE factor");
    bad(MODEL("llama",
              ",\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1}"),
        QUIRE_E_FORMAT, "high_freq_factor is missing");
    bad(MODEL("llama", ",\"rope_scaling\":\"linear\""), QUIRE_E_FORMAT,
        "config.json: rope_scaling must be an object");
    bad(MODEL("llama", ",\"rope_parameters\":[]"), QUIRE_E_FORMAT,
        "config.json: rope_parameters must be an object");
    bad(MODEL("llama", ",\"rope_theta\":\"1e4\""), QUIRE_E_FORMAT, "rope_theta");
    bad(MODEL("llama", ",\"rope_theta\":0"), QUIRE_E_FORMAT, "RoPE base");
}

static void test_longrope(void **state)
{
    (void)state;
#define LONG(more)                                                                                 \
    MODEL("phi3", ",\"head_dim\":8,\"max_position_embeddings\":4096,\"original_max_position_"      \
                  "embeddings\":64,\"rope_scaling\":{" more "}")
    struct qr_model_config c =
        good(LONG("\"type\":\"longrope\",\"short_factor\":[1,1.5,2,3],\"long_factor\":[4,5,6,7]"));
    const struct qr_rope_config *r = &c.rope[0];
    assert_true(r->scaling == QR_ROPE_SCALING_LONGROPE && r->original_context == 64 &&
                r->factor == 64);
    assert_true(r->cos_sin_scale == (float)sqrt(1 + log(64) / log(64)));
    float f[4];
    qr_rope_inv_freq(r, 64, f);
    assert_true(f[0] == 1.0f && f[1] == 1.0f / (1.5f * powf(10000, 0.25f)));
    qr_rope_inv_freq(r, 65, f);
    assert_true(f[0] == 0.25f);
    qr_model_config_free(&c);
    c = good(LONG("\"type\":\"su\",\"short_factor\":[1,1,1,1],\"long_factor\":[4,5,6,7],"
                  "\"attention_factor\":2"));
    assert_true(c.rope[0].scaling == QR_ROPE_SCALING_LONGROPE && c.rope[0].cos_sin_scale == 2.0f);
    qr_model_config_free(&c);
    /* partial rotary: half as many factors; the key may be in either place */
    c = good(MODEL(
        "phi3",
        ",\"head_dim\":8,\"partial_rotary_factor\":0.5,\"rope_scaling\":{\"type\":\"longrope\","
        "\"short_factor\":[1,1],\"long_factor\":[4,5]}"));
    assert_true(c.rope[0].dim == 4 && c.rope[0].original_context == 4096);
    qr_model_config_free(&c);
    c = good(MODEL("phi3", ",\"head_dim\":8,\"rope_parameters\":{\"rope_type\":\"longrope\","
                           "\"partial_rotary_factor\":0.5,"
                           "\"rope_theta\":10000,\"short_factor\":[1,1],\"long_factor\":[4,5]}"));
    assert_true(c.rope[0].dim == 4);
    qr_model_config_free(&c);
    bad(LONG("\"type\":\"longrope\",\"short_factor\":[1,1,1],\"long_factor\":[4,5,6,7]"),
        QUIRE_E_FORMAT, "short_factor");
    bad(LONG("\"type\":\"longrope\",\"short_factor\":[1,1,1,1],\"long_factor\":[4,5,6,\"7\"]"),
        QUIRE_E_FORMAT, "long_factor[3]");
    bad(LONG("\"type\":\"longrope\",\"short_factor\":[1,1,1,1]"), QUIRE_E_FORMAT, "long_factor");
    bad(LONG("\"type\":\"longrope\",\"short_factor\":[1,1,1,-1],\"long_factor\":[4,5,6,7]"),
        QUIRE_E_FORMAT, "short_factor[3]");
    bad(MODEL("phi3",
              ",\"original_max_position_embeddings\":0,\"rope_scaling\":{\"type\":\"longrope\"}"),
        QUIRE_E_FORMAT, "original_max_position_embeddings");
}

static void expect_windows(const char *json, const char *windows)
{
    struct qr_model_config c = good(json);
    char text[64] = "";
    for (uint32_t i = 0; i < c.n_layers; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", c.layers[i].window);
    assert_string_equal(text, windows);
    qr_model_config_free(&c);
}

static void test_windows(void **state)
{
    (void)state;
    expect_windows(MODEL("mistral", ",\"sliding_window\":8"), "8 8 8 8 ");
    expect_windows(MODEL("mistral", ",\"num_key_value_heads\":2"), "4096 4096 4096 4096 ");
    expect_windows(MODEL("mistral", ",\"sliding_window\":null"), "0 0 0 0 ");
    expect_windows(MODEL("phi3", ""), "0 0 0 0 ");
    expect_windows(MODEL("phi3", ",\"sliding_window\":24"), "24 24 24 24 ");
    expect_windows(MODEL("qwen2", ",\"sliding_window\":8,\"max_window_layers\":2"), "0 0 0 0 ");
    expect_windows(
        MODEL("qwen2", ",\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":2"),
        "0 0 8 8 ");
    expect_windows(
        MODEL("qwen2", ",\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":9"),
        "0 0 0 0 ");
    expect_windows(
        MODEL(
            "qwen3",
            ",\"use_sliding_window\":true,\"sliding_window\":8,\"layer_types\":[\"full_attention\","
            "\"sliding_attention\",\"full_attention\",\"full_attention\"]"),
        "0 8 0 0 ");
    expect_windows(MODEL("qwen2", ",\"use_sliding_window\":false,\"sliding_window\":8,\"layer_"
                                  "types\":[\"full_attention\","
                                  "\"sliding_attention\",\"full_attention\",\"full_attention\"]"),
                   "0 0 0 0 ");
    expect_windows(MODEL("gemma2", ",\"sliding_window\":8"), "8 0 8 0 ");
    expect_windows(MODEL("gemma3_text", ",\"sliding_window\":8,\"sliding_window_pattern\":3"),
                   "8 8 0 8 ");
    expect_windows(MODEL("gemma3_text", ",\"sliding_window\":8,\"_sliding_window_pattern\":1"),
                   "0 0 0 0 ");
    bad(MODEL("gemma2", ",\"layer_types\":[\"full_attention\"]"), QUIRE_E_FORMAT,
        "must list 4 layers");
    bad(MODEL("gemma2", ",\"layer_types\":[1,2,3,4]"), QUIRE_E_FORMAT, "layer_types[0]");
    bad(MODEL("gemma2", ",\"layer_types\":[\"full_attention\",\"full_attention\",\"full_"
                        "attention\",\"linear_attention\"]"),
        QUIRE_E_UNSUPPORTED, "linear_attention");
    bad(MODEL("gemma3_text", ",\"sliding_window_pattern\":0"), QUIRE_E_FORMAT, "pattern is 0");
}

static void test_gemma(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(MODEL("gemma", ",\"hidden_act\":\"gelu\",\"hidden_activation\":null"));
    assert_true(c.activation == QR_ACT_GELU_TANH && c.head_dim == 256 && c.tied_embeddings &&
                c.embedding_scale == 8.0f);
    assert_true(c.norm == QR_NORM_RMS_PLUS1 && c.block == QR_BLOCK_PRE_NORM);
    qr_model_config_free(&c);
    c = good(MODEL(
        "gemma2",
        ",\"query_pre_attn_scalar\":144,\"final_logit_softcapping\":null,\"attention_bias\":true"));
    assert_true(c.attention_scale == (float)(1 / 12.0) && c.attention_softcap == 50 &&
                c.final_softcap == 0 && c.bias.o);
    assert_true(c.block == QR_BLOCK_SANDWICH_NORM && c.layers[0].window == 4096);
    qr_model_config_free(&c);
    /* a multimodal file whose text_config relies on defaults */
    c = good("{\"model_type\":\"gemma3\",\"eos_token_id\":[1,106],\"text_config\":{\"model_type\":"
             "\"gemma3_text\","
             "\"hidden_size\":2560,\"num_hidden_layers\":7,\"sliding_window\":1024,"
             "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"}},\"vision_config\":{}}");
    assert_true(c.vocab_size == 262208 && c.layers[0].n_heads == 8 && c.layers[0].n_kv_heads == 4 &&
                c.head_dim == 256);
    assert_true(c.attention_scale == 0.0625f && c.n_rope == 2 && c.qk_norm == QR_QK_NORM_HEAD &&
                c.n_eos == 2);
    assert_true(c.rope[0].theta == 1e6 && c.rope[0].factor == 8 && c.rope[1].theta == 1e4 &&
                c.rope[1].factor == 1);
    assert_true(c.layers[0].rope == 1 && c.layers[5].rope == 0 && c.layers[5].window == 0);
    qr_model_config_free(&c);
    c = good(MODEL("gemma3_text", ",\"use_bidirectional_attention\":true,\"sliding_window\":512"));
    assert_true(!c.causal && c.layers[0].window == 257);
    qr_model_config_free(&c);
}

static void test_tokens_and_sampling(void **state)
{
    (void)state;
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    static const char json[] = MODEL("llama", ",\"eos_token_id\":2,\"bos_token_id\":1");
    assert_status(
        QUIRE_OK,
        parse(json,
              "{\"eos_token_id\":[3,4,5],\"do_sample\":true,\"temperature\":0.6,\"top_k\":20,"
              "\"top_p\":0.95,\"repetition_penalty\":1.1,\"pad_token_id\":-1}",
              &c, &err));
    assert_true(c.n_eos == 3 && c.eos_ids[2] == 5 && c.bos_id == 1 && c.pad_id == -1);
    assert_true(c.sampling.has_temperature && c.sampling.temperature == 0.6f &&
                c.sampling.top_k == 20);
    assert_true(c.sampling.has_top_p && !c.sampling.has_min_p &&
                c.sampling.repetition_penalty == 1.1f && !c.sampling.greedy);
    qr_model_config_free(&c);
    assert_status(QUIRE_OK, parse(json, "{\"do_sample\":false}", &c, &err));
    assert_true(c.sampling.greedy && !c.sampling.has_temperature && c.n_eos == 1 &&
                c.eos_ids[0] == 2);
    qr_model_config_free(&c);
    static const char *const wrong[] = {
        "{\"eos_token_id\":\"x\"}",
        "{\"eos_token_id\":[1,null]}",
        "{\"eos_token_id\":320}",
        "{\"bos_token_id\":1.5}",
        "{\"bos_token_id\":-2}",
        "{\"temperature\":\"hot\"}",
        "{\"top_k\":-1}",
        "{\"do_sample\":1}",
        "{\"bos_token_id\":4294967296}",
        "[]",
        "{\"eos_token_id\":",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status(QUIRE_E_FORMAT, parse(json, wrong[i], &c, &err));
    assert_status(QUIRE_E_LIMIT,
                  parse(json, "{\"eos_token_id\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}", &c, &err));
}

static void test_bad_values(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *text;
    } cases[] = {
        { "num_hidden_layers", "0", "number of layers is 0" },
        { "num_hidden_layers", "1000000000", "number of layers is 1000000000" },
        { "num_hidden_layers", "-1", "num_hidden_layers" },
        { "num_hidden_layers", "2.0", "num_hidden_layers" },
        { "num_hidden_layers", "\"2\"", "num_hidden_layers" },
        { "num_hidden_layers", "18446744073709551616", "config.json" },
        { "num_hidden_layers", "9223372036854775807", "num_hidden_layers" },
        { "num_hidden_layers", "null", "num_hidden_layers is missing" },
        { "hidden_size", "0", "hidden size is 0" },
        { "hidden_size", "4294967295", "hidden size is 4294967295" },
        { "vocab_size", "0", "vocabulary size" },
        { "vocab_size", "2147483648", "vocabulary size" },
        { "intermediate_size", "0", "feed-forward size" },
        { "num_attention_heads", "0", "num_attention_heads" },
        { "num_attention_heads", "1000000", "head" },
        { "num_attention_heads", "-0", "num_attention_heads is 0" },
        { "query_pre_attn_scalar", "\"1\"}", "config.json" },
        { "num_key_value_heads", "0", "key-value heads" },
        { "num_key_value_heads", "3", "not a multiple" },
        { "num_key_value_heads", "8", "not a multiple" },
        { "head_dim", "0", "head_dim" },
        { "head_dim", "1025", "head_dim is 1025" },
        { "head_dim", "15", "even number" },
        { "max_position_embeddings", "0", "context length" },
        { "max_position_embeddings", "4294967295", "context length" },
        { "rms_norm_eps", "-1", "norm epsilon" },
        { "rms_norm_eps", "1e9999", "config.json" },
        { "rms_norm_eps", "NaN", "config.json" },
        { "rope_theta", "-10000", "RoPE base" },
        { "rope_theta", "1e300", "RoPE base" },
        { "partial_rotary_factor", "0", "partial_rotary_factor" },
        { "partial_rotary_factor", "1.5", "partial_rotary_factor" },
        { "attention_bias", "\"no\"", "attention_bias" },
        { "tie_word_embeddings", "1", "tie_word_embeddings" },
        { "hidden_act", "7", "hidden_act" },
        { "eos_token_id", "320", "eos token id" },
        { "quantization_config", "7}", "config.json" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[1024];
        snprintf(json, sizeof json, "{\"model_type\":\"llama\"," SIZES ",\"%s\":%s}", cases[i].key,
                 cases[i].value);
        bad(json, QUIRE_E_FORMAT, cases[i].text);
    }
    bad(MODEL("llama", ",\"hidden_act\":\"mish\""), QUIRE_E_UNSUPPORTED, "mish");
    bad(MODEL("llama", ",\"quantization_config\":{\"quant_method\":\"hqq\"}"), QUIRE_E_UNSUPPORTED,
        "quantization_config");
    bad(MODEL("gpt9", ""), QUIRE_E_UNSUPPORTED, "gpt9");
    bad("{}", QUIRE_E_FORMAT, "model_type is missing");
    bad("{\"model_type\":1}", QUIRE_E_FORMAT, "model_type");
    bad("{\"model_type\":\"llama\"}", QUIRE_E_FORMAT, "vocab_size is missing");
    bad("{\"model_type\":\"gemma3\",\"text_config\":{}}", QUIRE_E_UNSUPPORTED, "gemma3");
}

static void test_hostile_json(void **state)
{
    (void)state;
    char *deep = malloc(200001);
    for (int closed = 0; closed < 2; closed++) {
        memset(deep, '[', 100000);
        memset(deep + 100000, closed ? ']' : '[', 100000);
        deep[200000] = 0;
        memcpy(deep, "{\"a\":", 5);
        bad(deep, QUIRE_E_FORMAT, "nested deeper than 64");
    }
    free(deep);
    static const char *const broken[] = {
        "",
        " ",
        "null",
        "[]",
        "\"x\"",
        "{\"a\":1}x",
        "{\"a\":\"\\ud800\"}",
        "{'a':1}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":01}",
        "{\"a\":\"\xff\"}",
        "{\"a\":1e9999}",
        "{\"a\":18446744073709551616}",
        "{\"a\":\"\\u0000\"}",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        bad(broken[i], QUIRE_E_FORMAT, "config.json");
    static const char nul[] = "{\"model_type\":\"llama\"\0}";
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_FORMAT,
                  qr_model_config_from_hf(nul, sizeof nul - 1, NULL, 0, NULL, NULL, &c, &err));
    /* brackets inside strings do not nest */
    struct qr_model_config ok =
        good(MODEL("llama", ",\"architectures\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                            "[[[[[[[[[[[[[[[[[[[[[\\\"[\""));
    qr_model_config_free(&ok);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const char json[] =
        MODEL("phi3", ",\"head_dim\":8,\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,"
                      "1,1,1],\"long_factor\":[1,1,1,1]}");
    for (size_t n = 1;; n++) {
        struct fail_alloc f;
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, n, true);
        const quire_status s =
            qr_model_config_from_hf(json, sizeof json - 1, NULL, 0, NULL, &f.hooks, &c, &err);
        qr_model_config_free(&c);
        assert_int_equal(f.live_count, 0);
        if (s == QUIRE_OK)
            break;
        assert_int_equal(s, QUIRE_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_styles_agree),
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_rope_scaling),
        cmocka_unit_test(test_longrope),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_gemma),
        cmocka_unit_test(test_tokens_and_sampling),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_hostile_json),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
