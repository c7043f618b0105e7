/* SPDX-License-Identifier: Apache-2.0 */
/* test_unknown_keys.c - keys of config.json that a family does not account for are errors; those of
 * published models are known. */
#include "model/arch/arch.h"
#include "model/config/unknown.h"
#include "test_config.h"
#include "test_hf.h"
#include "test_published_keys.h"
#include "test_published_keys_later.h"

static void model(char out[8192], const char *type, const char *more)
{
    const int n = snprintf(out, 8192, "{\"model_type\":\"%s\"," SIZES "%s}", type, more);
    assert_true(n < 8192);
}

enum {
    N_FIRST = sizeof published / sizeof *published,
    N_PUBLISHED = N_FIRST + sizeof published_later / sizeof *published_later
};

static const char *type_of(size_t i)
{
    return i < N_FIRST ? published[i].type : published_later[i - N_FIRST].type;
}

static const char *keys_of(size_t i)
{
    return i < N_FIRST ? published[i].keys : published_later[i - N_FIRST].keys;
}

static void test_published(void **state)
{
    (void)state;
    char json[8192], keys[8000];
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        snprintf(keys, sizeof keys, TODAY "%s", keys_of(i));
        model(json, type_of(i), keys);
        struct qr_model_config c = good(json);
        qr_model_config_free(&c);
    }
}

/* Every family refuses an option that it does not know, and accepts one that is off. */
static void test_every_family(void **state)
{
    (void)state;
    static const char *const values[] = { "3", "-0.5", "true", "\"cubic\"", "[1]", "{\"a\":1}" },
                             *const off[] = { "null", "false", "0", "0.0", "\"\"", "[]", "{}" };
    char json[8192], keys[8000];
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            snprintf(keys, sizeof keys, "%s,\"warp_factor\":%s", keys_of(i), values[k]);
            model(json, type_of(i), keys);
            bad(json, QUIRE_E_UNSUPPORTED, "config.json: warp_factor = ");
        }
        for (size_t k = 0; k < sizeof off / sizeof *off; k++) {
            snprintf(keys, sizeof keys, "%s,\"warp_factor\":%s", keys_of(i), off[k]);
            model(json, type_of(i), keys);
            struct qr_model_config c = good(json);
            qr_model_config_free(&c);
        }
    }
}

static void test_options_of_others(void **state)
{
    (void)state;
    /* keys that change the result of one family are unknown in another */
    bad(MODEL("llama", ",\"sliding_window\":8"), QUIRE_E_UNSUPPORTED, "sliding_window = 8");
    bad(MODEL("llama", ",\"partial_rotary_factor\":0.5,\"logit_scale\":0.5"), QUIRE_E_UNSUPPORTED,
        "logit_scale = 0.5 is not supported in family llama");
    bad(MODEL("qwen2", ",\"use_qk_norm\":true"), QUIRE_E_UNSUPPORTED, "use_qk_norm = true");
    bad(MODEL("qwen3", ",\"num_experts\":8"), QUIRE_E_UNSUPPORTED, "num_experts = 8");
    bad(MODEL("gemma3_text", ",\"attn_logit_softcapping\":50"), QUIRE_E_UNSUPPORTED,
        "attn_logit_softcapping = 50");
    bad(MODEL("phi3", ",\"attention_bias\":true"), QUIRE_E_UNSUPPORTED, "attention_bias = true");
    bad(MODEL("cohere2", ",\"use_qk_norm\":true"), QUIRE_E_UNSUPPORTED, "use_qk_norm");
    bad(MODEL("cohere2", ",\"layer_switch\":5"), QUIRE_E_UNSUPPORTED, "layer_switch = 5");
    bad(MODEL("cohere2", ",\"use_parallel_block\":false"), QUIRE_E_UNSUPPORTED,
        "use_parallel_block = false");
    bad(MODEL("gptj", ",\"rotary_dim\":8,\"rotary\":false"), QUIRE_E_UNSUPPORTED, "rotary = false");
    bad(MODEL("mpt", ",\"attn_config\":{\"softmax_scale\":0.5}"), QUIRE_E_UNSUPPORTED,
        "attn_config.softmax_scale = 0.5");
    bad(MODEL("mpt", ",\"attn_config\":{\"attn_type\":\"multiquery_attention\"}"),
        QUIRE_E_UNSUPPORTED, "attn_config.attn_type = \"multiquery_attention\"");
    bad(MODEL("opt", ",\"word_embed_proj_dim\":32"), QUIRE_E_UNSUPPORTED, "word_embed_proj_dim");
    bad(MODEL("falcon", ",\"multi_query\":false,\"num_kv_heads\":2"), QUIRE_E_UNSUPPORTED,
        "num_kv_heads is 2");
    bad(MODEL("qwen3", ",\"layer_types\":[\"full_attention\",\"linear_attention\"]"),
        QUIRE_E_UNSUPPORTED, "layer_types[1] is linear_attention");
    bad(MODEL("llama4_text", ",\"attention_chunk_size\":8,\"no_rope_layers\":[1,0,1,0]"),
        QUIRE_E_UNSUPPORTED, "no_rope_layers[1]");
    bad(MODEL("modernbert", ",\"classifier_activation\":\"relu\""), QUIRE_E_UNSUPPORTED,
        "classifier_activation");
    bad(MODEL("deepseek_v3", ",\"scoring_func\":\"softmax\""), QUIRE_E_UNSUPPORTED,
        "scoring_func softmax");
    bad(MODEL("ernie4_5", ",\"compression_ratio\":2"), QUIRE_E_UNSUPPORTED, "compression_ratio");
}

static void test_rope(void **state)
{
    (void)state;
#define ROPE(more) MODEL("llama", ",\"rope_parameters\":{\"rope_theta\":10000" more "}")
    struct qr_model_config c = good(ROPE(",\"rope_type\":\"default\",\"factor\":2"));
    qr_model_config_free(&c);
    c = good(ROPE(",\"rope_type\":\"linear\",\"type\":\"linear\",\"factor\":2"));
    qr_model_config_free(&c);
    bad(ROPE(",\"long_mscale\":1.5"), QUIRE_E_UNSUPPORTED, "rope_parameters.long_mscale = 1.5");
    bad(MODEL("llama", ",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2,\"alpha\":3}"),
        QUIRE_E_UNSUPPORTED, "rope_scaling.alpha = 3");
    /* a set for each layer type in a family with one set */
    bad(MODEL("llama", ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":10000},"
                       "\"sliding_attention\":{\"rope_theta\":500}}"),
        QUIRE_E_UNSUPPORTED, "rope_parameters.sliding_attention = {...}");
    bad(MODEL("gemma3_text", ",\"rope_parameters\":{\"full_attention\":{\"x\":1},"
                             "\"sliding_attention\":{\"rope_theta\":500}}"),
        QUIRE_E_UNSUPPORTED, "rope_parameters.full_attention.x = 1");
    /* both styles at once: the older one is not read */
    bad(MODEL("llama", ",\"rope_parameters\":{\"rope_theta\":10000},\"rope_scaling\":{\"type\":"
                       "\"linear\",\"factor\":2}"),
        QUIRE_E_UNSUPPORTED, "rope_scaling = {...}");
}

/* A value under two names is accepted if the names agree. */
static void test_aliases(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("gpt2", ",\"n_embd\":64,\"n_layer\":4"));
    assert_int_equal(c.hidden_size, 64);
    qr_model_config_free(&c);
    bad(MODEL("gpt2", ",\"n_embd\":128"), QUIRE_E_UNSUPPORTED, "hidden_size = 64");
    bad(MODEL("nemotron", ",\"norm_eps\":1e-5,\"layer_norm_eps\":1e-6"), QUIRE_E_UNSUPPORTED,
        "layer_norm_eps = 1e-06");
}

static void count_warning(void *user, enum quire_log_level level, quire_status code,
                          const char *msg)
{
    (void)code;
    int *n = user;
    if (level == QUIRE_LOG_WARN && strstr(msg, "warp_") && strstr(msg, "may be wrong"))
        (*n)++;
}

static void test_allowed(void **state)
{
    (void)state;
    static const char json[] = MODEL("llama", ",\"warp_factor\":9,\"warp_core\":{\"a\":1}");
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    int n = 0;
    const struct quire_logger logger = { &n, count_warning };
    struct qr_unknown_policy policy = { true, &logger };
    assert_status(QUIRE_OK,
                  qr_model_config_from_hf(json, sizeof json - 1, NULL, 0, &policy, NULL, &c, &err));
    qr_model_config_free(&c);
    assert_int_equal(n, 2);
    policy.logger = NULL;
    assert_status(QUIRE_OK,
                  qr_model_config_from_hf(json, sizeof json - 1, NULL, 0, &policy, NULL, &c, &err));
    qr_model_config_free(&c);
    policy.allow = false;
    assert_status(QUIRE_E_UNSUPPORTED,
                  qr_model_config_from_hf(json, sizeof json - 1, NULL, 0, &policy, NULL, &c, &err));
}

static void test_patterns(void **state)
{
    (void)state;
    assert_true(qr_name_matches("a", "a") && !qr_name_matches("a", "ab"));
    assert_true(qr_name_matches("a*", "a") && qr_name_matches("a*", "abc"));
    assert_true(!qr_name_matches("ab*", "a") && !qr_name_matches("ab*", "cab"));
    assert_true(qr_name_matches("*bc", "abc") && qr_name_matches("*bc", "bc"));
    assert_true(!qr_name_matches("*bc", "c") && !qr_name_matches("*bc", "bcd"));
    assert_true(qr_name_matches("*", "") && qr_name_matches("*", "abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),         cmocka_unit_test(test_every_family),
        cmocka_unit_test(test_options_of_others), cmocka_unit_test(test_rope),
        cmocka_unit_test(test_aliases),           cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
