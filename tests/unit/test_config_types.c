/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_types.c - keys of config.json with values of a wrong type. */
#include "test_config.h"
#include "test_hf.h"

struct typed_key {
    const char *type, *key, *other; /* model_type, key, members that make the key count */
};

#define DEEPSEEK                                                                                   \
    ",\"kv_lora_rank\":8,\"qk_nope_head_dim\":8,\"qk_rope_head_dim\":8,\"v_head_dim\":16,"         \
    "\"n_routed_experts\":4,\"num_experts_per_tok\":2"

/* An object is no value of any of these keys: the error names the file and the key. */
static const struct typed_key cases[] = {
    { "llama", "vocab_size", "" },
    { "llama", "hidden_size", "" },
    { "llama", "num_hidden_layers", "" },
    { "llama", "num_attention_heads", "" },
    { "llama", "max_position_embeddings", "" },
    { "llama", "intermediate_size", "" },
    { "llama", "num_key_value_heads", "" },
    { "llama", "head_dim", "" },
    { "llama", "hidden_act", "" },
    { "llama", "rms_norm_eps", "" },
    { "llama", "tie_word_embeddings", "" },
    { "llama", "attention_bias", "" },
    { "llama", "mlp_bias", "" },
    { "llama", "rope_theta", "" },
    { "llama", "partial_rotary_factor", "" },
    { "llama", "bos_token_id", "" },
    { "llama", "eos_token_id", "" },
    { "mistral", "sliding_window", "" },
    { "qwen2", "use_sliding_window", "" },
    { "qwen2", "max_window_layers", ",\"use_sliding_window\":true,\"sliding_window\":8" },
    { "gemma", "hidden_activation", "" },
    { "gemma2", "query_pre_attn_scalar", "" },
    { "gemma2", "attn_logit_softcapping", "" },
    { "gemma2", "final_logit_softcapping", "" },
    { "gemma3_text", "rope_local_base_freq", "" },
    { "gemma3_text", "sliding_window_pattern", "" },
    { "gpt_bigcode", "multi_query", "" },
    { "gpt_neox", "use_parallel_residual", "" },
    { "falcon", "new_decoder_architecture", "" },
    { "falcon", "num_kv_heads", "" },
    { "falcon", "num_ln_in_parallel_attn", ",\"new_decoder_architecture\":true" },
    { "falcon", "bias", "" },
    { "falcon", "alibi", "" },
    { "falcon", "transformers_version", ",\"alibi\":true" },
    { "stablelm", "use_qkv_bias", "" },
    { "stablelm", "qk_layernorm", "" },
    { "granite", "embedding_multiplier", "" },
    { "granite", "attention_multiplier", "" },
    { "granite", "residual_multiplier", "" },
    { "granite", "logits_scaling", "" },
    { "cohere2", "logit_scale", "" },
    { "olmo", "clip_qkv", "" },
    { "opt", "word_embed_proj_dim", "" },
    { "mixtral", "num_local_experts", "" },
    { "mixtral", "num_experts_per_tok", ",\"num_local_experts\":4" },
    { "qwen3_moe", "moe_intermediate_size", ",\"num_experts\":4,\"num_experts_per_tok\":2" },
    { "qwen3_moe", "norm_topk_prob", ",\"num_experts\":4,\"num_experts_per_tok\":2" },
    { "qwen2_moe", "shared_expert_intermediate_size",
      ",\"num_experts\":4,\"num_experts_per_tok\":2" },
    { "deepseek_v3", "q_lora_rank", "" },
    { "deepseek_v3", "kv_lora_rank", "" },
    { "deepseek_v3", "qk_nope_head_dim", ",\"kv_lora_rank\":8" },
    { "deepseek_v3", "qk_rope_head_dim", ",\"kv_lora_rank\":8,\"qk_nope_head_dim\":8" },
    { "deepseek_v3", "v_head_dim",
      ",\"kv_lora_rank\":8,\"qk_nope_head_dim\":8,\"qk_rope_head_dim\":8" },
    { "t5", "relative_attention_num_buckets", "" },
    { "t5", "relative_attention_max_distance", "" },
    { "bart", "encoder_layers", "" },
    { "bart", "encoder_attention_heads", "" },
    { "bart", "encoder_ffn_dim", "" },
    { "bert", "type_vocab_size", "" },
    { "llama4_text", "attn_temperature_tuning", "" },
    { "llama4_text", "floor_scale", "" },
    { "llama4_text", "attn_scale", "" },
    { "t5", "scale_decoder_outputs", "" },
    { "gemma3_text", "use_bidirectional_attention", "" },
    { "gemma3_text", "_sliding_window_pattern", "" },
    { "modernbert", "norm_bias", "" },
    { "mpt", "alibi", "" },
    { "bloom", "alibi_bias_max", "" },
    { "roberta", "pad_token_id", "" },
    { "bart", "scale_embedding", "" },
    { "deepseek_v3", "rope_interleave",
      ",\"kv_lora_rank\":8,\"qk_nope_head_dim\":8,\"qk_rope_head_dim\":8,\"v_head_dim\":16" },
    { "gptj", "rotary_dim", "" },
    { "modernbert", "num_labels",
      ",\"architectures\":[1,\"ModernBertForSequenceClassification\"]" },
    { "modernbert", "classifier_pooling",
      ",\"architectures\":[\"ModernBertForSequenceClassification\"]" },
    { "bert", "sbert_ce_default_activation_function",
      ",\"architectures\":[\"BertForSequenceClassification\"]" },
    { "qwen3_moe", "decoder_sparse_step", ",\"num_experts\":4,\"num_experts_per_tok\":2" },
    { "qwen3_moe", "num_nextn_predict_layers", ",\"num_experts\":4,\"num_experts_per_tok\":2" },
    { "llama4_text", "intermediate_size_mlp",
      ",\"num_local_experts\":4,\"num_experts_per_tok\":1" },
    { "deepseek_v3", "n_shared_experts", DEEPSEEK },
    { "deepseek_v3", "routed_scaling_factor", DEEPSEEK },
    { "deepseek_v3", "topk_method", DEEPSEEK },
    { "deepseek_v3", "scoring_func", DEEPSEEK },
    { "deepseek_v3", "n_group", DEEPSEEK },
    { "deepseek_v3", "topk_group", DEEPSEEK },
    { "deepseek_v3", "first_k_dense_replace", DEEPSEEK },
    { "deepseek_v3", "moe_layer_freq", DEEPSEEK },
};

static void test_types(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_model_config cfg;
        struct quire_error err = QUIRE_ERROR_INIT;
        char json[1024];
        snprintf(json, sizeof json, "{\"model_type\":\"%s\"," SIZES "%s,\"%s\":{}}", cases[i].type,
                 cases[i].other, cases[i].key);
        const quire_status s = parse(json, NULL, &cfg, &err);
        if (s == QUIRE_E_FORMAT && strstr(err.msg, "config.json") && strstr(err.msg, cases[i].key))
            continue;
        print_error("%s: got %s \"%s\"\n", json, quire_status_name(s), err.msg);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* Keys of the object of RoPE parameters, by the scaling that reads them. */
static void test_rope_types(void **state)
{
    (void)state;
    static const struct {
        const char *type, *key, *other;
    } keys[] = {
        { "linear", "factor", "" },
        { "linear", "rope_theta", ",\"factor\":2" },
        { "dynamic", "factor", "" },
        { "llama3", "factor", "" },
        { "llama3", "low_freq_factor", ",\"factor\":2" },
        { "llama3", "high_freq_factor", ",\"factor\":2,\"low_freq_factor\":1" },
        { "llama3", "original_max_position_embeddings",
          ",\"factor\":2,\"low_freq_factor\":1,\"high_freq_factor\":4" },
        { "yarn", "original_max_position_embeddings", "" },
        { "yarn", "factor", "" },
        { "yarn", "mscale", "" },
        { "yarn", "mscale_all_dim", "" },
        { "yarn", "attention_factor", "" },
        { "yarn", "beta_fast", "" },
        { "yarn", "beta_slow", "" },
        { "yarn", "truncate", "" },
        { "longrope", "original_max_position_embeddings", "" },
        { "longrope", "factor", "" },
        { "longrope", "attention_factor", "" },
        { "longrope", "short_factor", "" },
        { "longrope", "partial_rotary_factor", "" },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char json[1024];
        snprintf(json, sizeof json,
                 "{\"model_type\":\"llama\"," SIZES
                 ",\"rope_scaling\":{\"rope_type\":\"%s\"%s,\"%s\":{}}}",
                 keys[i].type, keys[i].other, keys[i].key);
        bad(json, QUIRE_E_FORMAT, keys[i].key);
    }
    bad(MODEL("llama", ",\"rope_scaling\":{\"rope_type\":1}"), QUIRE_E_FORMAT, "rope_type");
    bad(MODEL("llama", ",\"rope_scaling\":{\"type\":1}"), QUIRE_E_FORMAT, "type");
    bad(MODEL("llama", ",\"original_max_position_embeddings\":{},\"rope_scaling\":{\"rope_type\":"
                       "\"yarn\"}"),
        QUIRE_E_FORMAT, "original_max_position_embeddings");
}

/* A list of one token counts as that token. */
static void test_token_lists(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("llama", ",\"bos_token_id\":[7],\"pad_token_id\":-1"));
    assert_int_equal(c.bos_id, 7);
    assert_int_equal(c.pad_id, -1);
    qr_model_config_free(&c);
    bad(MODEL("llama", ",\"bos_token_id\":[7,8]"), QUIRE_E_FORMAT, "bos_token_id must be a token");
    bad(MODEL("llama", ",\"pad_token_id\":[]"), QUIRE_E_FORMAT, "pad_token_id must be a token");
}

/* Keys of generation_config.json. */
static void test_generation_types(void **state)
{
    (void)state;
    static const char *const keys[] = { "bos_token_id", "pad_token_id",   "decoder_start_token_id",
                                        "eos_token_id", "do_sample",      "temperature",
                                        "top_p",        "min_p",          "repetition_penalty",
                                        "top_k",        "suppress_tokens" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct qr_model_config cfg;
        struct quire_error err = QUIRE_ERROR_INIT;
        char json[128];
        snprintf(json, sizeof json, "{\"%s\":{}}", keys[i]);
        assert_status(QUIRE_E_FORMAT,
                      parse(MODEL("llama", ",\"rms_norm_eps\":1e-6"), json, &cfg, &err));
        assert_non_null(strstr(err.msg, "generation_config.json"));
        assert_non_null(strstr(err.msg, keys[i]));
    }
}

static void test_suppressed(void **state)
{
    (void)state;
    static const char *const refused[] = { "3", "[3,-1]", "[3,1.5]", "[[3]]", "[2147483648]" };
    static const char *const none[] = { "null", "[]" };
    const char *llama = MODEL("llama", ",\"rms_norm_eps\":1e-6");
    struct qr_model_config cfg;
    struct quire_error err = QUIRE_ERROR_INIT;
    char json[128];
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(json, sizeof json, "{\"suppress_tokens\":%s}", refused[i]);
        assert_status(QUIRE_E_FORMAT, parse(llama, json, &cfg, &err));
        assert_non_null(strstr(err.msg, "generation_config.json: suppress_tokens must be"));
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(json, sizeof json, "{\"suppress_tokens\":%s}", none[i]);
        assert_status(QUIRE_OK, parse(llama, json, &cfg, &err));
        assert_int_equal(cfg.sampling.n_suppressed, 0);
        qr_model_config_free(&cfg);
    }
    assert_status(QUIRE_OK, parse(llama, "{\"suppress_tokens\":[3,2147483647]}", &cfg, &err));
    assert_int_equal(cfg.sampling.n_suppressed, 1);
    assert_int_equal(cfg.sampling.suppressed[0], 3);
    qr_model_config_free(&cfg);
}

#define MOE ",\"num_experts\":4,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32"

/* Lists of layers decide which of them are mixtures of experts: nothing in them is skipped. */
static void test_moe_lists(void **state)
{
    (void)state;
    bad(MODEL("qwen3_moe", MOE ",\"mlp_only_layers\":1"), QUIRE_E_FORMAT,
        "mlp_only_layers must be a list of layers");
    bad(MODEL("qwen3_moe", MOE ",\"mlp_only_layers\":[0,\"1\"]"), QUIRE_E_FORMAT,
        "mlp_only_layers[1] must be a layer number");
    bad(MODEL("qwen3_moe", MOE ",\"mlp_only_layers\":[-1]"), QUIRE_E_FORMAT,
        "mlp_only_layers[0] must be a layer number");
    bad(MODEL("qwen3_moe", MOE ",\"mlp_only_layers\":[0,1,2,3,4]"), QUIRE_E_FORMAT,
        "mlp_only_layers lists more than 4 layers");
    bad(MODEL("llama4_text",
              ",\"num_local_experts\":4,\"num_experts_per_tok\":1,\"moe_layers\":{}"),
        QUIRE_E_FORMAT, "moe_layers must be a list of layers");
    bad(MODEL("qwen3_moe", MOE ",\"decoder_sparse_step\":0"), QUIRE_E_FORMAT,
        "the step between MoE layers is 0");
    bad(MODEL("qwen3_moe", MOE ",\"mlp_layer_types\":[\"dense\",\"sparse\",\"moe\",\"dense\"]"),
        QUIRE_E_UNSUPPORTED, "mlp_layer_types[2] is moe");
    bad(MODEL("qwen3_moe", MOE ",\"mlp_layer_types\":[1,\"sparse\",\"sparse\",\"dense\"]"),
        QUIRE_E_UNSUPPORTED, "mlp_layer_types[0] is not a string");
    struct qr_model_config c =
        good(MODEL("qwen3_moe", MOE ",\"rms_norm_eps\":1e-6,\"mlp_only_layers\":[0,2]"));
    assert_true(!c.layers[0].moe && c.layers[1].moe && !c.layers[2].moe && c.layers[3].moe);
    qr_model_config_free(&c);
}

/* Numbers out of range, by the name in the message. */
static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } ranges[] = {
        { MODEL("mixtral", ",\"num_local_experts\":100000,\"num_experts_per_tok\":2"),
          "number of experts" },
        { MODEL("mixtral", ",\"num_local_experts\":4,\"num_experts_per_tok\":5"),
          "number of experts used" },
        { MODEL("mixtral", ",\"num_local_experts\":4,\"num_experts_per_tok\":0"),
          "number of experts used" },
        { MODEL("qwen3_moe", ",\"num_experts\":4,\"num_experts_per_tok\":2,"
                             "\"moe_intermediate_size\":0"),
          "expert feed-forward size" },
        { MODEL("qwen3_moe", ",\"num_experts\":4,\"num_experts_per_tok\":2,"
                             "\"moe_intermediate_size\":4000000000"),
          "shared experts of size" },
        { MODEL("qwen2_moe", ",\"num_experts\":4,\"num_experts_per_tok\":2,"
                             "\"shared_expert_intermediate_size\":4000000000"),
          "shared feed-forward size" },
        { MODEL("gemma2", ",\"attn_logit_softcapping\":-1"), "soft cap" },
        { MODEL("gemma2", ",\"final_logit_softcapping\":1e9"), "logit soft cap" },
        { MODEL("granite", ",\"embedding_multiplier\":1e9"), "embedding scale" },
        { MODEL("granite", ",\"residual_multiplier\":1e9"), "residual scale" },
        { MODEL("cohere2", ",\"logit_scale\":1e9"), "logit scale" },
        { MODEL("olmo", ",\"clip_qkv\":-1"), "clip_qkv" },
        { MODEL("llama4_text", ",\"floor_scale\":-1"), "temperature floor" },
        { MODEL("llama4_text", ",\"attn_scale\":-1"), "temperature scale" },
        { MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":2,"
                         "\"low_freq_factor\":0,\"high_freq_factor\":4}"),
          "low_freq_factor" },
        { MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":2,"
                         "\"low_freq_factor\":1,\"high_freq_factor\":0}"),
          "high_freq_factor" },
        { MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":2,"
                         "\"low_freq_factor\":2,\"high_freq_factor\":2}"),
          "low_freq_factor equals high_freq_factor" },
        { MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"beta_fast\":-1}"),
          "beta_fast" },
        { MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"beta_slow\":-1}"),
          "beta_slow" },
        { MODEL("llama", ",\"rope_theta\":1,\"rope_scaling\":{\"rope_type\":\"yarn\"}"),
          "RoPE base" },
        { MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"yarn\","
                         "\"original_max_position_embeddings\":0}"),
          "original_max_position_embeddings is 0" },
        { MODEL("llama", ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"attention_factor\":1e9}"),
          "RoPE attention factor" },
        { MODEL("llama", ",\"partial_rotary_factor\":0"), "partial_rotary_factor" },
        { MODEL("llama", ",\"bos_token_id\":320"), "bos token id" },
        { MODEL("llama", ",\"bos_token_id\":3000000000"),
          "config.json: bos_token_id must be a token id" },
        { MODEL("llama", ",\"eos_token_id\":[1,\"2\"]"),
          "config.json: eos_token_id must be a token id" },
        { MODEL("t5", ",\"relative_attention_num_buckets\":0"),
          "relative_attention_num_buckets is 0" },
        { MODEL("t5", ",\"relative_attention_num_buckets\":2"), "relative attention buckets" },
        { MODEL("t5", ",\"relative_attention_max_distance\":1"), "relative attention distance" },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct qr_model_config cfg;
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = parse(ranges[i].json, NULL, &cfg, &err);
        if (s == QUIRE_E_FORMAT && strstr(err.msg, ranges[i].text))
            continue;
        print_error("%s: got %s \"%s\"\n", ranges[i].json, quire_status_name(s), err.msg);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_types),
                                        cmocka_unit_test(test_rope_types),
                                        cmocka_unit_test(test_generation_types),
                                        cmocka_unit_test(test_suppressed),
                                        cmocka_unit_test(test_token_lists),
                                        cmocka_unit_test(test_moe_lists),
                                        cmocka_unit_test(test_ranges) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
