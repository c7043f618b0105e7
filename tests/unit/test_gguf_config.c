/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_config.c - configurations from GGUF metadata: values, options, unknown keys. */
#include "test_config.h"
#include "test_gguf_model.h"
#include <math.h>
#include <quire/model.h>

static void test_bad_values(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint32_t type;
        double value;
        const char *text;
    } cases[] = {
        { "llama.block_count", QR_GGUF_U32, 0, "number of layers is 0" },
        { "llama.block_count", QR_GGUF_U32, 1e9, "number of layers is 1000000000" },
        { "llama.block_count", QR_GGUF_F32, 2, "llama.block_count has type f32" },
        { "llama.block_count", NO_KEY, 0, "llama.block_count is missing" },
        { "llama.embedding_length", QR_GGUF_U32, 0, "hidden size" },
        { "llama.embedding_length", QR_GGUF_U32, 4294967295.0, "hidden size" },
        { "llama.vocab_size", QR_GGUF_U32, 0, "vocabulary size" },
        { "llama.vocab_size", QR_GGUF_U32, 4294967295.0, "vocabulary size" },
        { "llama.vocab_size", NO_KEY, 0, "llama.vocab_size is missing" },
        { "llama.context_length", QR_GGUF_U32, 0, "context length" },
        { "llama.feed_forward_length", QR_GGUF_U32, 0, "feed-forward size" },
        { "llama.attention.head_count", QR_GGUF_U32, 0, "head_count is 0" },
        { "llama.attention.head_count", QR_GGUF_U32, 100000, "head" },
        { "llama.attention.head_count_kv", QR_GGUF_U32, 0, "key-value heads" },
        { "llama.attention.head_count_kv", QR_GGUF_U32, 3, "not a multiple" },
        { "llama.attention.key_length", QR_GGUF_U32, 0, "head_dim" },
        { "llama.attention.key_length", QR_GGUF_U32, 4096, "head_dim" },
        { "llama.attention.value_length", QR_GGUF_U32, 0, "v_head_dim" },
        { "llama.attention.layer_norm_rms_epsilon", QR_GGUF_F32, (double)NAN, "norm epsilon" },
        { "llama.attention.layer_norm_rms_epsilon", NO_KEY, 0, "rms_epsilon is missing" },
        { "llama.attention.scale", QR_GGUF_F32, (double)NAN, "attention scale" },
        { "llama.rope.freq_base", QR_GGUF_F32, (double)NAN, "RoPE base" },
        { "llama.rope.freq_base", QR_GGUF_F32, (double)INFINITY, "RoPE base" },
        { "llama.rope.freq_base", QR_GGUF_U32, 10000, "freq_base has type u32" },
        { "llama.rope.dimension_count", QR_GGUF_U32, 0, "rotary dimensions" },
        { "llama.rope.dimension_count", QR_GGUF_U32, 7, "even number" },
        { "llama.rope.dimension_count", QR_GGUF_U32, 4294967295.0, "rotary dimensions" },
        { "llama.rope.scale_linear", QR_GGUF_F32, (double)NAN, "RoPE factor" },
        { "llama.attention.sliding_window", QR_GGUF_U32, 4294967295.0, "sliding window" },
        { "tokenizer.ggml.eos_token_id", QR_GGUF_U32, 320, "eos token id" },
        { "tokenizer.ggml.bos_token_id", QR_GGUF_F32, 1, "bos_token_id has type" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bad("llama", (struct entry){ cases[i].key, cases[i].type, cases[i].value, NULL },
            QUIRE_E_FORMAT, cases[i].text);
    bad("llama", (struct entry){ "llama.rope.scaling.type", QR_GGUF_STRING, 0, "spiral" },
        QUIRE_E_UNSUPPORTED, "spiral");
    bad("qwen2", (struct entry){ "qwen2.expert_count", QR_GGUF_U32, 8, NULL }, QUIRE_E_UNSUPPORTED,
        "expert_count is 8");
    bad("llama", (struct entry){ "llama.expert_count", QR_GGUF_U32, 8, NULL }, QUIRE_E_FORMAT,
        "expert_used_count is missing");
    bad("llama", (struct entry){ "llama.attention.head_count", QR_GGUF_ARRAY, 0, "222" },
        QUIRE_E_FORMAT, "must list 4");
    bad("llama", (struct entry){ "llama.attention.sliding_window", QR_GGUF_STRING, 0, "8" },
        QUIRE_E_FORMAT, "sliding_window");
    bad("phi3", (struct entry){ "phi3.rope.scaling.type", QR_GGUF_STRING, 0, "longrope" },
        QUIRE_E_FORMAT, "tensor rope_factors_long.weight is missing");
    bad("apertus", (struct entry){ "apertus.vocab_size", QR_GGUF_U32, 320, NULL }, QUIRE_E_FORMAT,
        "xielu.alpha_p is missing");
    bad("apertus", (struct entry){ "xielu.alpha_p", QR_GGUF_ARRAY, 0, "11" }, QUIRE_E_FORMAT,
        "xielu.alpha_p must list 4 numbers");
    bad("eurobert", (struct entry){ "eurobert.hidden_activation", QR_GGUF_STRING, 0, "relu6" },
        QUIRE_E_UNSUPPORTED, "hidden_activation relu6");
    bad("glm4moe", (struct entry){ "glm4moe.nextn_predict_layers", QR_GGUF_U32, 4, NULL },
        QUIRE_E_FORMAT, "4 layers, 4 of them predict");
    bad("phi9", (struct entry){ "x", QR_GGUF_U32, 0, NULL }, QUIRE_E_UNSUPPORTED,
        "general.architecture phi9");
}

/* Keys without a known effect are errors, unless their value switches them off. */
static void test_unknown_keys(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        struct entry entry;
    } unknown[] = {
        { "llama", { "llama.attention.temperature_length", QR_GGUF_U32, 8192, NULL } },
        { "llama", { "llama.attention.temperature_scale", QR_GGUF_F32, 0.1, NULL } },
        { "llama", { "llama.attention.causal_blocks", QR_GGUF_BOOL, 1, NULL } },
        { "llama", { "llama.attention.kind", QR_GGUF_STRING, 0, "linear" } },
        { "llama", { "llama.attention.layers", BOOL_ARRAY, 0, "0000" } },
        { "llama", { "llama.attention.max_alibi_bias", QR_GGUF_F32, 8, NULL } },
        { "llama", { "llama.rope.scaling.alpha", QR_GGUF_F32, 1, NULL } },
        { "llama", { "llama.rope.scaling.attn_factor", QR_GGUF_F32, 1.5, NULL } },
        { "llama", { "llama.rope.scaling.yarn_log_multiplier", QR_GGUF_F32, 0.1, NULL } },
        { "llama", { "llama.nextn_predict_layers", QR_GGUF_U32, 1, NULL } },
        { "qwen2", { "qwen2.attention.sliding_window", QR_GGUF_U32, 8, NULL } },
        { "gemma3", { "gemma3.rope.global.freq_base", QR_GGUF_F32, 1e6, NULL } },
        { "gemma2", { "gemma2.router_logit_softcapping", QR_GGUF_F32, 30, NULL } },
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        bad(unknown[i].arch, unknown[i].entry, QUIRE_E_UNSUPPORTED, unknown[i].entry.key);
    const struct entry harmless[] = {
        { "llama.tensor_data_layout", QR_GGUF_STRING, 0, "Meta AI original pth" },
        { "llama.rope.scaling.attn_factor", QR_GGUF_F32, 1, NULL },
        { "llama.rope.scaling.finetuned", QR_GGUF_BOOL, 1, NULL },
        { "llama.expert_feed_forward_length", QR_GGUF_U32, 9, NULL },
        { "llama.attention.max_alibi_bias", QR_GGUF_F32, 0, NULL },
        { "llama.use_parallel_residual", QR_GGUF_BOOL, 0, NULL },
        { "mistral.attention.heads", QR_GGUF_U32, 3, NULL },
        { "llamas.attention.heads", QR_GGUF_U32, 3, NULL },
    };
    struct qr_model_config c = good("llama", harmless, 8);
    qr_model_config_free(&c);
    /* a window that the whole context fits into */
    const struct entry wide[] = { { "qwen2.attention.sliding_window", QR_GGUF_U32, 512, NULL } };
    c = good("qwen2", wide, 1);
    qr_model_config_free(&c);
    char name[160] = "llama.";
    memset(name + 6, 'k', 150);
    bad("llama", (struct entry){ name, QR_GGUF_U32, 1, NULL }, QUIRE_E_UNSUPPORTED, "llama.kkk");
}

/* The base of layers with a window, and OLMo 3, whose YaRN applies to the other layers. */
static void test_local_rope(void **state)
{
    (void)state;
    const struct entry base[] = { { "gemma2.attention.sliding_window", QR_GGUF_U32, 8, NULL },
                                  { "gemma2.rope.freq_base", QR_GGUF_F32, 1e6, NULL },
                                  { "gemma2.rope.freq_base_swa", QR_GGUF_F32, 500, NULL } };
    struct qr_model_config c = good("gemma2", base, 3);
    assert_true(c.n_rope == 2 && c.rope[0].theta == 1e6 && c.rope[1].theta == 500);
    assert_true(c.layers[0].rope == 1 && c.layers[1].rope == 0);
    qr_model_config_free(&c);
    c = good("gemma2", base, 2);
    assert_int_equal(c.n_rope, 1);
    qr_model_config_free(&c);
    const struct entry olmo[] = { { "olmo2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" },
                                  { "olmo2.rope.scaling.factor", QR_GGUF_F32, 4, NULL },
                                  { "olmo2.attention.sliding_window", QR_GGUF_U32, 8, NULL } };
    c = good("olmo2", olmo, 3);
    assert_true(c.n_rope == 2 && c.rope[1].scaling == QR_ROPE_SCALING_NONE &&
                c.rope[0].scaling == QR_ROPE_SCALING_YARN && c.rope[1].cos_sin_scale == 1);
    assert_true(c.layers[2].window == 8 && c.layers[2].rope == 1 && c.layers[3].window == 0);
    qr_model_config_free(&c);
    c = good("olmo2", olmo, 2);
    assert_true(c.n_rope == 1 && c.layers[0].rope == 0);
    qr_model_config_free(&c);
}

/* Keys of encoders and encoder-decoders. */
static void test_encoders(void **state)
{
    (void)state;
    const struct entry bert[] = { { "bert.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-12, NULL },
                                  { "bert.pooling_type", QR_GGUF_U32, 2, NULL },
                                  { "bert.attention.sliding_window", QR_GGUF_U32, 8, NULL },
                                  { "bert.attention.sliding_window_pattern", BOOL_ARRAY, 0,
                                    "0110" } };
    struct qr_model_config c = good("bert", bert, 4);
    assert_true(c.kind == QR_MODEL_ENCODER && !c.causal && c.pooling == QUIRE_POOLING_CLS &&
                c.n_token_types == 0);
    assert_true(c.layers[0].window == 0 && c.layers[1].window == 5); /* in each direction */
    qr_model_config_free(&c);
    c = good("bert", bert, 1);
    assert_int_equal(c.pooling, QUIRE_POOLING_MEAN);
    qr_model_config_free(&c);
    const struct entry t5[] = { { "t5.attention.relative_buckets_count", QR_GGUF_U32, 32, NULL },
                                { "t5.decoder_block_count", QR_GGUF_U32, 3, NULL },
                                { "t5.decoder_start_token_id", QR_GGUF_U32, 7, NULL } };
    c = good("t5", t5, 3);
    assert_true(c.kind == QR_MODEL_ENCODER_DECODER && c.causal && c.n_layers == 3 &&
                c.n_encoder_layers == 4);
    assert_true(c.layers[6].encoder && c.layers[6].ffn_size == 160 && c.layers[6].n_kv_heads == 4);
    assert_true(c.relative_buckets == 32 && c.relative_distance == 128 && c.decoder_start_id == 7);
    assert_true(c.logit_scale == 0.125f && c.attention_scale == 1 && !c.ffn_gated &&
                c.activation == QR_ACT_RELU);
    qr_model_config_free(&c);
    c = good("t5", t5, 1);
    assert_true(c.n_layers == 4 && c.n_encoder_layers == 4 && c.decoder_start_id == -1);
    qr_model_config_free(&c);
    bad("t5", (struct entry){ "x", QR_GGUF_U32, 0, NULL }, QUIRE_E_FORMAT,
        "relative_buckets_count is missing");
    bad("t5", (struct entry){ "t5.attention.relative_buckets_count", QR_GGUF_U32, 0, NULL },
        QUIRE_E_FORMAT, "relative_buckets_count is 0");
    bad("t5", (struct entry){ "t5.attention.relative_buckets_count", QR_GGUF_U32, 300, NULL },
        QUIRE_E_FORMAT, "relative attention distance is 128");
    const struct entry encoder = { "t5encoder.attention.relative_buckets_count", QR_GGUF_U32, 32,
                                   NULL };
    c = good("t5encoder", &encoder, 1);
    assert_true(c.kind == QR_MODEL_ENCODER && !c.causal && c.n_layers == 4 &&
                c.n_encoder_layers == 0 && c.relative_distance == 128);
    qr_model_config_free(&c);
    bad("t5encoder", (struct entry){ "x", QR_GGUF_U32, 0, NULL }, QUIRE_E_FORMAT,
        "relative_buckets_count is missing");
    /* a decoder family whose file requests bidirectional attention */
    const struct entry both[] = { { "qwen2.attention.causal", QR_GGUF_BOOL, 0, NULL } };
    c = good("qwen2", both, 1);
    assert_true(c.kind == QR_MODEL_ENCODER && !c.causal);
    qr_model_config_free(&c);
}

static void test_layers(void **state)
{
    (void)state;
    const struct entry heads[] = { { "llama.attention.head_count", QR_GGUF_ARRAY, 0, "4248" },
                                   { "llama.attention.head_count_kv", QR_GGUF_ARRAY, 0, "2112" },
                                   { "llama.attention.key_length", QR_GGUF_U32, 16, NULL } };
    struct qr_model_config c = good("llama", heads, 3);
    assert_true(c.layers[1].n_heads == 2 && c.layers[3].n_heads == 8 &&
                c.layers[3].n_kv_heads == 2);
    assert_true(c.max_heads == 8 && c.max_kv_heads == 2 && c.head_dim == 16);
    qr_model_config_free(&c);
    static const struct {
        const char *arch;
        struct entry pattern;
        uint32_t windows[4];
    } cases[] = {
        { "llama", { "x", QR_GGUF_U32, 0, NULL }, { 8, 8, 8, 8 } },
        { "phi3", { "x", QR_GGUF_U32, 0, NULL }, { 8, 8, 8, 8 } },
        { "gemma2", { "x", QR_GGUF_U32, 0, NULL }, { 8, 0, 8, 0 } },
        { "gemma3", { "x", QR_GGUF_U32, 0, NULL }, { 8, 8, 8, 8 } },
        { "gemma3",
          { "gemma3.attention.sliding_window_pattern", QR_GGUF_U32, 3, NULL },
          { 8, 8, 0, 8 } },
        { "qwen2",
          { "qwen2.attention.sliding_window_pattern", BOOL_ARRAY, 0, "0110" },
          { 0, 8, 8, 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.attention.sliding_window", cases[i].arch);
        const struct entry e[] = { { key, QR_GGUF_U32, 8, NULL }, cases[i].pattern };
        c = good(cases[i].arch, e, 2);
        for (uint32_t l = 0; l < 4; l++) {
            assert_int_equal(c.layers[l].window, cases[i].windows[l]);
            assert_int_equal(c.layers[l].rope, c.n_rope == 2 && c.layers[l].window ? 1 : 0);
        }
        qr_model_config_free(&c);
    }
}

static void test_families(void **state)
{
    (void)state;
    const struct entry big[] = { { "gemma2.block_count", QR_GGUF_U32, 46, NULL },
                                 { "gemma2.attention.key_length", QR_GGUF_U32, 32, NULL } };
    struct qr_model_config c = good("gemma2", big, 2);
    assert_true(c.attention_scale == 0.25f && c.attention_softcap == 50 &&
                c.final_softcap == 30); /* 27B rule: 64 / 4 */
    qr_model_config_free(&c);
    c = good("gemma2", big + 1, 1);
    assert_true(c.attention_scale == (float)(1 / sqrt(32)));
    qr_model_config_free(&c);
    const struct entry local[] = { { "gemma3.rope.freq_base", QR_GGUF_F32, 1e6, NULL },
                                   { "gemma3.rope.scaling.type", QR_GGUF_STRING, 0, "linear" },
                                   { "gemma3.rope.scaling.factor", QR_GGUF_F32, 8, NULL } };
    c = good("gemma3", local, 3);
    assert_true(c.n_rope == 2 && c.rope[0].theta == 1e6 && c.rope[0].factor == 8 &&
                c.rope[1].theta == 1e4);
    assert_true(c.rope[1].scaling == QR_ROPE_SCALING_NONE && c.attention_softcap == 0 &&
                c.embedding_scale == 8);
    qr_model_config_free(&c);
    const struct entry yarn[] = {
        { "qwen2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" },
        { "qwen2.rope.scaling.factor", QR_GGUF_F32, 4, NULL },
        { "qwen2.rope.scaling.original_context_length", QR_GGUF_U32, 128, NULL },
        { "tokenizer.ggml.eos_token_id", QR_GGUF_U32, 5, NULL },
        { "tokenizer.ggml.eot_token_id", QR_GGUF_U32, 5, NULL },
        { "tokenizer.ggml.eom_token_id", QR_GGUF_U32, 6, NULL },
        { "tokenizer.ggml.bos_token_id", QR_GGUF_U32, 4294967295.0, NULL }
    };
    c = good("qwen2", yarn, 7);
    assert_true(c.rope[0].scaling == QR_ROPE_SCALING_YARN &&
                c.rope[0].cos_sin_scale == (float)(1 + 0.1 * log(4)));
    assert_true(c.n_eos == 2 && c.eos_ids[0] == 5 && c.eos_ids[1] == 6 && c.bos_id == -1);
    qr_model_config_free(&c);
}

/* Values of a wrong type: strings in place of numbers and bools, numbers in place of strings. */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *key, *other; /* a key that makes the first one count; with value */
        uint32_t other_type;
        double value;
        const char *text;
    } cases[] = {
        { .key = "llama.embedding_length" },
        { .key = "llama.context_length" },
        { .key = "llama.vocab_size" },
        { .key = "llama.attention.head_count" },
        { .key = "llama.attention.head_count_kv" },
        { .key = "llama.feed_forward_length" },
        { .key = "llama.attention.key_length" },
        { .key = "llama.attention.value_length" },
        { .key = "llama.attention.sliding_window" },
        { "gemma3.attention.sliding_window_pattern", "gemma3.attention.sliding_window", QR_GGUF_U32,
          8, 0 },
        { .key = "llama.attention.causal" },
        { .key = "llama.attention.layer_norm_rms_epsilon" },
        { .key = "llama.attention.scale" },
        { .key = "gemma2.attn_logit_softcapping" },
        { .key = "gemma2.final_logit_softcapping" },
        { .key = "granite.embedding_scale" },
        { .key = "granite.residual_scale" },
        { .key = "granite.logit_scale" },
        { .key = "llama.attention.clamp_kqv" },
        { .key = "llama.pooling_type" },
        { .key = "llama.rope.dimension_count" },
        { .key = "llama.rope.scale_linear" },
        { .key = "llama.rope.scaling.factor" },
        { .key = "llama.rope.freq_base_swa" },
        { "llama.rope.scaling.original_context_length", "llama.rope.scaling.type", QR_GGUF_STRING,
          0, "yarn" },
        { "llama.rope.scaling.yarn_beta_fast", "llama.rope.scaling.type", QR_GGUF_STRING, 0,
          "yarn" },
        { "llama.rope.scaling.yarn_beta_slow", "llama.rope.scaling.type", QR_GGUF_STRING, 0,
          "yarn" },
        { "llama.rope.scaling.attn_factor", "llama.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" },
        { "llama.rope.scaling.yarn_attn_factor", "llama.rope.scaling.type", QR_GGUF_STRING, 0,
          "yarn" },
        { .key = "deepseek2.attention.q_lora_rank" },
        { .key = "deepseek2.attention.kv_lora_rank" },
        { "deepseek2.rope.dimension_count", "deepseek2.attention.kv_lora_rank", QR_GGUF_U32, 8, 0 },
        { .key = "llama.expert_count" },
        { "llama.expert_used_count", "llama.expert_count", QR_GGUF_U32, 4, 0 },
        { .key = "tokenizer.ggml.bos_token_id" },
        { .key = "tokenizer.ggml.padding_token_id" },
        { .key = "tokenizer.ggml.eos_token_id" },
        { .key = "tokenizer.ggml.eot_token_id" },
        { .key = "general.sampling.temp" },
        { .key = "general.sampling.top_p" },
        { .key = "general.sampling.min_p" },
        { .key = "general.sampling.top_k" },
        { .key = "general.sampling.penalty_repeat" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arch[32];
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        const struct entry e[] = { { cases[i].key, QR_GGUF_STRING, 0, "1" },
                                   { cases[i].other, cases[i].other_type, cases[i].value,
                                     cases[i].text } };
        snprintf(arch, sizeof arch, "%.*s", (int)strcspn(cases[i].key, "."), cases[i].key);
        const bool general = strcmp(arch, "general") == 0 || strcmp(arch, "tokenizer") == 0;
        const quire_status s = make(general ? "llama" : arch, e, cases[i].other ? 2 : 1, &c, &err);
        if (s != QUIRE_E_FORMAT || !strstr(err.msg, cases[i].key) || !strstr(err.msg, "type"))
            print_error("%s: got %s \"%s\"\n", cases[i].key, quire_status_name(s), err.msg);
        assert_int_equal(s, QUIRE_E_FORMAT);
        assert_non_null(strstr(err.msg, cases[i].key));
    }
    bad("llama", (struct entry){ "general.name", QR_GGUF_U32, 1, 0 }, QUIRE_E_FORMAT,
        "general.name has type");
    bad("llama", (struct entry){ "llama.rope.scaling.type", QR_GGUF_U32, 1, 0 }, QUIRE_E_FORMAT,
        "llama.rope.scaling.type has type");
}

/* The same for keys that count in a mixture of experts only. */
static void test_moe_types(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "llama.expert_feed_forward_length",
        "llama.expert_shared_count",
        "llama.expert_shared_feed_forward_length",
        "llama.expert_weights_norm",
        "llama.expert_weights_scale",
        "llama.expert_gating_func",
        "llama.expert_group_count",
        "llama.expert_group_used_count",
    };
    struct entry e[] = { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
                         { "llama.expert_used_count", QR_GGUF_U32, 2, NULL },
                         { NULL, QR_GGUF_STRING, 0, "1" } };
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        e[2].key = keys[i];
        assert_status(QUIRE_E_FORMAT, make("llama", e, 3, &c, &err));
        assert_non_null(strstr(err.msg, keys[i]));
        assert_non_null(strstr(err.msg, "has type string"));
    }
    e[2] = (struct entry){ "llama.expert_gating_func", QR_GGUF_U32, 9, NULL };
    assert_status(QUIRE_E_UNSUPPORTED, make("llama", e, 3, &c, &err));
    assert_non_null(strstr(err.msg, "expert_gating_func 9 is not supported"));
    e[2] = (struct entry){ "llama.expert_shared_count", QR_GGUF_U32, 1e9, NULL };
    assert_status(QUIRE_E_FORMAT, make("llama", e, 3, &c, &err));
    assert_non_null(strstr(err.msg, "1000000000 shared experts"));
    for (uint32_t gating = 0; gating < 4; gating++) { /* read, but no layer has a router */
        e[2] = (struct entry){ "llama.expert_gating_func", QR_GGUF_U32, gating, NULL };
        assert_status(QUIRE_E_FORMAT, make("llama", e, 3, &c, &err));
        assert_non_null(strstr(err.msg, "no layer has a router"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_values), cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_local_rope), cmocka_unit_test(test_encoders),
        cmocka_unit_test(test_layers),     cmocka_unit_test(test_families),
        cmocka_unit_test(test_types),      cmocka_unit_test(test_moe_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
