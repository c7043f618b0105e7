/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_types.c - GGUF keys with values of a wrong type, or with values that mean the default;
 * tensors that are part of the configuration. */
#include "test_gguf_model.h"
#include <math.h>
#include <quire/model.h>

#define LEN(array) (sizeof(array) / sizeof *(array))
enum { MAX_BEFORE = 5 };

/* A string is no value of any of these keys: the error names the key. */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *key;
        struct entry before[MAX_BEFORE]; /* what makes the key count */
    } cases[] = {
        { "llama", "attention.scale", { { 0 } } },
        { "llama", "attention.key_length", { { 0 } } },
        { "llama", "attention.value_length", { { 0 } } },
        { "llama", "attention.head_count_kv", { { 0 } } },
        { "llama", "feed_forward_length", { { 0 } } },
        { "llama", "embedding_length", { { 0 } } },
        { "llama", "context_length", { { 0 } } },
        { "llama", "rope.dimension_count", { { 0 } } },
        { "llama", "rope.scale_linear", { { 0 } } },
        { "llama", "rope.scaling.factor", { { 0 } } },
        { "llama", "expert_count", { { 0 } } },
        { "llama",
          "attention.sliding_window_pattern",
          { { "llama.attention.sliding_window", QR_GGUF_U32, 8, NULL } } },
        { "gemma2", "attn_logit_softcapping", { { 0 } } },
        { "gemma2", "final_logit_softcapping", { { 0 } } },
        { "gemma2", "rope.freq_base_swa", { { 0 } } },
        { "granite", "embedding_scale", { { 0 } } },
        { "granite", "residual_scale", { { 0 } } },
        { "granite", "logit_scale", { { 0 } } },
        { "granite", "attention.clamp_kqv", { { 0 } } },
        { "bloom",
          "attention.max_alibi_bias",
          { { "bloom.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL } } },
        { "gptneox",
          "use_parallel_residual",
          { { "gptneox.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL } } },
        { "stablelm",
          "use_parallel_residual",
          { { "stablelm.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL } } },
        { "bert",
          "pooling_type",
          { { "bert.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL } } },
        { "t5", "decoder_block_count", { { 0 } } },
        { "t5", "attention.relative_buckets_count", { { 0 } } },
        { "t5",
          "decoder_start_token_id",
          { { "t5.attention.relative_buckets_count", QR_GGUF_U32, 32, NULL } } },
        { "olmo2",
          "rope.scaling.original_context_length",
          { { "olmo2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" } } },
        { "olmo2",
          "rope.scaling.yarn_beta_fast",
          { { "olmo2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" } } },
        { "olmo2",
          "rope.scaling.yarn_beta_slow",
          { { "olmo2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" } } },
        { "olmo2",
          "rope.scaling.attn_factor",
          { { "olmo2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" } } },
        { "olmo2",
          "rope.scaling.yarn_attn_factor",
          { { "olmo2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" } } },
        { "deepseek2", "attention.q_lora_rank", { { 0 } } },
        { "deepseek2", "attention.kv_lora_rank", { { 0 } } },
        { "deepseek2",
          "rope.dimension_count",
          { { "deepseek2.attention.kv_lora_rank", QR_GGUF_U32, 16, NULL } } },
        { "deepseek2",
          "attention.key_length_mla",
          { { "deepseek2.attention.kv_lora_rank", QR_GGUF_U32, 16, NULL },
            { "deepseek2.rope.dimension_count", QR_GGUF_U32, 8, NULL } } },
        { "deepseek2",
          "attention.value_length_mla",
          { { "deepseek2.attention.kv_lora_rank", QR_GGUF_U32, 16, NULL },
            { "deepseek2.rope.dimension_count", QR_GGUF_U32, 8, NULL } } },
        { "deepseek2",
          "rope.scaling.yarn_log_multiplier",
          { { "deepseek2.attention.kv_lora_rank", QR_GGUF_U32, 16, NULL },
            { "deepseek2.rope.dimension_count", QR_GGUF_U32, 8, NULL },
            { "deepseek2.rope.scaling.type", QR_GGUF_STRING, 0, "yarn" } } },
        { "llama", "expert_used_count", { { "llama.expert_count", QR_GGUF_U32, 4, NULL } } },
        { "llama",
          "expert_feed_forward_length",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
        { "llama",
          "expert_shared_count",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
        { "llama",
          "expert_shared_feed_forward_length",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
        { "llama",
          "expert_weights_norm",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
        { "llama",
          "expert_weights_scale",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
        { "llama",
          "expert_gating_func",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
        { "llama",
          "expert_group_count",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
        { "llama",
          "expert_group_used_count",
          { { "llama.expert_count", QR_GGUF_U32, 4, NULL },
            { "llama.expert_used_count", QR_GGUF_U32, 2, NULL } } },
    };
    for (size_t i = 0; i < LEN(cases); i++) {
        struct entry all[MAX_BEFORE + 1];
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        char key[128];
        size_t n = 0;
        while (n < MAX_BEFORE && cases[i].before[n].key) {
            all[n] = cases[i].before[n];
            n++;
        }
        snprintf(key, sizeof key, "%s.%s", cases[i].arch, cases[i].key);
        all[n++] = (struct entry){ key, QR_GGUF_STRING, 0, "8" };
        const quire_status s = make(cases[i].arch, all, n, &c, &err);
        if (s != QUIRE_E_FORMAT || !strstr(err.msg, key))
            print_error("%s: got %s \"%s\"\n", key, quire_status_name(s), err.msg);
        assert_int_equal(s, QUIRE_E_FORMAT);
        assert_non_null(strstr(err.msg, key));
    }
    static const char *const general[] = {
        "tokenizer.ggml.bos_token_id", "tokenizer.ggml.padding_token_id",
        "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
        "general.sampling.temp",       "general.sampling.top_p",
        "general.sampling.min_p",      "general.sampling.penalty_repeat",
        "general.sampling.top_k",      "tokenizer.ggml.suppress_tokens",
    };
    for (size_t i = 0; i < LEN(general); i++)
        bad("llama", (struct entry){ general[i], QR_GGUF_STRING, 0, "1" }, QUIRE_E_FORMAT,
            general[i]);
}

static void test_suppressed(void **state)
{
    (void)state;
    static const char key[] = "tokenizer.ggml.suppress_tokens";
    bad("llama", (struct entry){ key, BOOL_ARRAY, 0, "01" }, QUIRE_E_FORMAT,
        "tokenizer.ggml.suppress_tokens[0] must be a token id");
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct entry list[] = { { key, QR_GGUF_ARRAY, 0, "709" } };
    assert_status(QUIRE_OK, make("llama", list, 1, &c, &err));
    assert_int_equal(c.sampling.n_suppressed, 3);
    assert_memory_equal(c.sampling.suppressed, ((int32_t[]){ 7, 0, 9 }), 3 * sizeof(int32_t));
    qr_model_config_free(&c);
    const struct entry none[] = { { key, QR_GGUF_ARRAY, 0, "" } };
    assert_status(QUIRE_OK, make("llama", none, 1, &c, &err));
    assert_int_equal(c.sampling.n_suppressed, 0);
    qr_model_config_free(&c);
}

/* Arrays with one element per layer. */
static void test_arrays(void **state)
{
    (void)state;
    bad("llama", (struct entry){ "llama.attention.head_count", BOOL_ARRAY, 0, "1111" },
        QUIRE_E_FORMAT, "head_count must list 4 non-negative integers");
    bad("gemma2", (struct entry){ "gemma2.attention.head_count_kv", QR_GGUF_ARRAY, 0, "44" },
        QUIRE_E_FORMAT, "head_count_kv must list 4 non-negative integers");
    const struct entry window[] = {
        { "bert.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
        { "bert.attention.sliding_window", QR_GGUF_U32, 8, NULL },
        { "bert.attention.sliding_window_pattern", QR_GGUF_ARRAY, 0, "0210" },
    };
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_FORMAT, make("bert", window, LEN(window), &c, &err));
    assert_non_null(strstr(err.msg, "sliding_window_pattern must list 4 bools"));
    const struct entry few[] = {
        window[0],
        window[1],
        { "bert.attention.sliding_window_pattern", BOOL_ARRAY, 0, "011" },
    };
    assert_status(QUIRE_E_FORMAT, make("bert", few, LEN(few), &c, &err));
    assert_non_null(strstr(err.msg, "sliding_window_pattern must list 4 bools"));
}

/* Values of 0 that some writers store for the default. */
static void test_zero_is_default(void **state)
{
    (void)state;
    const struct entry zeros[] = {
        { "llama.attention.scale", QR_GGUF_F32, 0, NULL },
        { "llama.rope.scaling.type", QR_GGUF_STRING, 0, "linear" },
        { "llama.rope.scaling.factor", QR_GGUF_F32, 0, NULL },
    };
    struct qr_model_config c = good("llama", zeros, LEN(zeros));
    assert_true(c.attention_scale == 0.25f && c.rope[0].factor == 1);
    qr_model_config_free(&c);
    const struct entry scale[] = { { "granite.logit_scale", QR_GGUF_F32, 0, NULL } };
    c = good("granite", scale, 1);
    assert_true(c.logit_scale == 1);
    qr_model_config_free(&c);
}

static void test_mla_sizes(void **state)
{
    (void)state;
    const struct entry keys[] = {
        { "deepseek2.attention.kv_lora_rank", QR_GGUF_U32, 16, NULL },
        { "deepseek2.rope.dimension_count", QR_GGUF_U32, 16, NULL },
    };
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_FORMAT, make("deepseek2", keys, LEN(keys), &c, &err));
    assert_string_equal(err.msg, "deepseek2: heads of 16 dimensions, 16 of them rotary");
}

static quire_status with_tensors(const struct entry *extra, size_t n_extra,
                                 const struct entry_tensor *tensors, size_t n_tensors,
                                 struct qr_model_config *c, struct quire_error *err)
{
    *err = (struct quire_error)QUIRE_ERROR_INIT;
    return make_with_tensors("phi3", extra, n_extra, tensors, n_tensors, c, err);
}

/* LongRoPE and frequency factors are tensors of half the rotary dimensions. */
static void test_rope_tensors(void **state)
{
    (void)state;
    const struct entry_tensor both[] = { { "rope_factors_long.weight", 8, 4, 0 },
                                         { "rope_factors_short.weight", 8, 2, 0 },
                                         { "rope_freqs.weight", 8, 3, 0 } };
    const struct entry_tensor wrong[] = { { "rope_factors_long.weight", 7, 4, 0 } };
    const struct entry_tensor infinite[] = { { "rope_freqs.weight", 8, INFINITY, 0 } };
    const struct entry original[] = {
        { "phi3.rope.scaling.original_context_length", QR_GGUF_U32, 128, NULL },
    };
    const struct entry none[] = {
        { "phi3.rope.scaling.original_context_length", QR_GGUF_U32, 0, NULL },
    };
    const struct entry text[] = {
        { "phi3.rope.scaling.original_context_length", QR_GGUF_STRING, 0, "x" },
    };
    struct qr_model_config c;
    struct quire_error err;
    assert_status(QUIRE_OK, with_tensors(original, 1, both, 2, &c, &err));
    assert_int_equal(c.rope[0].scaling, QR_ROPE_SCALING_LONGROPE);
    assert_true(c.rope[0].factors_long[7] == 4 && c.rope[0].factors_short[7] == 2);
    assert_true(c.rope[0].cos_sin_scale > 1.13f && c.rope[0].cos_sin_scale < 1.14f);
    qr_model_config_free(&c);
    assert_status(QUIRE_OK, with_tensors(NULL, 0, both, 2, &c, &err));
    assert_true(c.rope[0].cos_sin_scale == 1); /* no longer context than the original one */
    qr_model_config_free(&c);
    assert_status(QUIRE_OK, with_tensors(NULL, 0, both + 2, 1, &c, &err));
    assert_int_equal(c.rope[0].scaling, QR_ROPE_SCALING_FREQ_FACTORS);
    qr_model_config_free(&c);
    assert_status(QUIRE_E_FORMAT, with_tensors(NULL, 0, both, 1, &c, &err));
    assert_string_equal(err.msg, "tensor rope_factors_short.weight is missing");
    assert_status(QUIRE_E_FORMAT, with_tensors(NULL, 0, both + 1, 1, &c, &err));
    assert_string_equal(err.msg, "tensor rope_factors_long.weight is missing");
    assert_status(QUIRE_E_UNSUPPORTED, with_tensors(NULL, 0, both, 3, &c, &err));
    assert_non_null(strstr(err.msg, "rope_freqs.weight together with another RoPE scaling"));
    assert_status(QUIRE_E_FORMAT, with_tensors(NULL, 0, wrong, 1, &c, &err));
    assert_non_null(strstr(err.msg, "rope_factors_long.weight must contain 8 f32 values"));
    assert_status(QUIRE_E_FORMAT, with_tensors(NULL, 0, infinite, 1, &c, &err));
    assert_non_null(strstr(err.msg, "RoPE short factor"));
    assert_status(QUIRE_E_FORMAT, with_tensors(none, 1, both, 2, &c, &err));
    assert_non_null(strstr(err.msg, "original_context_length is 0"));
    assert_status(QUIRE_E_FORMAT, with_tensors(text, 1, both, 2, &c, &err));
    assert_non_null(strstr(err.msg, "original_context_length has type string"));
}

static struct qr_model_config with(const char *arch, const struct entry *extra, size_t n_extra,
                                   const char *const *tensors, size_t n_tensors)
{
    struct entry_tensor t[4];
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t i = 0; i < n_tensors; i++)
        t[i] = (struct entry_tensor){ tensors[i], 64, 1, 0 };
    const quire_status s = make_with_tensors(arch, extra, n_extra, t, n_tensors, &c, &err);
    if (s != QUIRE_OK)
        print_error("%s: %s\n", arch, err.msg);
    assert_int_equal(s, QUIRE_OK);
    return c;
}
#define WITH(arch, extra, ...)                                                                     \
    with(arch, extra, LEN(extra), (const char *const[]){ __VA_ARGS__ },                            \
         LEN(((const char *const[]){ __VA_ARGS__ })))

/* Options that no key names: they follow from the tensors of a file. */
static void test_options_by_tensor(void **state)
{
    (void)state;
    const struct entry falcon[] = {
        { "falcon.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
    };
    struct qr_model_config c = WITH("falcon", falcon, "output.weight");
    assert_true(c.block == QR_BLOCK_PARALLEL && !c.tied_embeddings && c.alibi_max_bias == 0);
    qr_model_config_free(&c);
    c = WITH("falcon", falcon, "blk.0.attn_norm_2.weight");
    assert_true(c.block == QR_BLOCK_PARALLEL_2NORM && c.tied_embeddings);
    qr_model_config_free(&c);
    const struct entry stablelm[] = {
        { "stablelm.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
        { "stablelm.use_parallel_residual", QR_GGUF_BOOL, 1, NULL },
    };
    c = WITH("stablelm", stablelm, "blk.0.ffn_norm.weight", "blk.0.attn_norm.bias");
    assert_true(c.block == QR_BLOCK_PRE_NORM && c.qk_norm == QR_QK_NORM_NONE && c.bias.norm);
    qr_model_config_free(&c);
    c = WITH("stablelm", stablelm, "blk.0.attn_q_norm.weight");
    assert_true(c.block == QR_BLOCK_PARALLEL && c.qk_norm != QR_QK_NORM_NONE && !c.bias.norm);
    qr_model_config_free(&c);
    const struct entry neox[] = {
        { "gptneox.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
        { "gptneox.use_parallel_residual", QR_GGUF_BOOL, 0, NULL },
    };
    c = WITH("gptneox", neox, "output_norm.bias");
    assert_true(c.block == QR_BLOCK_PRE_NORM && c.bias.norm);
    qr_model_config_free(&c);
    c = with("gptneox", neox, 1, NULL, 0);
    assert_int_equal(c.block, QR_BLOCK_PARALLEL_2NORM);
    qr_model_config_free(&c);
    const struct entry mpt[] = {
        { "mpt.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
        { "mpt.attention.max_alibi_bias", QR_GGUF_F32, 8, NULL },
    };
    c = with("mpt", mpt, 2, NULL, 0);
    assert_true(c.alibi_max_bias == 8);
    qr_model_config_free(&c);
}

/* Encoders: the head of classifiers, the rows of token types; T5: its LM head and gated layers. */
static void test_encoder_tensors(void **state)
{
    (void)state;
    const struct entry bert[] = {
        { "bert.attention.layer_norm_epsilon", QR_GGUF_F32, 1e-5, NULL },
        { "bert.pooling_type", QR_GGUF_U32, 3, NULL },
    };
    struct qr_model_config c = WITH("bert", bert, "cls.output.weight", "token_types.weight");
    assert_true(c.class_head == QR_CLASS_PLAIN && c.n_labels == 1 && c.sigmoid_scores &&
                c.n_token_types == 1 && c.pooling == QUIRE_POOLING_LAST);
    qr_model_config_free(&c);
    c = WITH("bert", bert, "cls.output.weight", "cls.weight");
    assert_int_equal(c.class_head, QR_CLASS_DENSE);
    qr_model_config_free(&c);
    const struct entry t5[] = {
        { "t5.attention.relative_buckets_count", QR_GGUF_U32, 32, NULL },
        { "t5.decoder_block_count", QR_GGUF_U32, 2, NULL },
    };
    c = WITH("t5", t5, "output.weight");
    assert_true(c.logit_scale == 1 && !c.ffn_gated && c.n_layers == 2 && c.n_encoder_layers == 4);
    qr_model_config_free(&c);
    c = WITH("t5", t5, "dec.blk.0.ffn_gate.weight");
    assert_true(c.logit_scale == 0.125f && c.ffn_gated);
    qr_model_config_free(&c);
}

/* Experts are in the layers that have a router. */
static void test_expert_tensors(void **state)
{
    (void)state;
    const struct entry keys[] = {
        { "llama.expert_count", QR_GGUF_U32, 4, NULL },
        { "llama.expert_used_count", QR_GGUF_U32, 2, NULL },
        { "llama.expert_weights_scale", QR_GGUF_F32, 0, NULL },
        { "llama.expert_shared_count", QR_GGUF_U32, 1, NULL },
    };
    struct qr_model_config c =
        WITH("llama", keys, "blk.1.ffn_gate_inp.weight", "blk.3.ffn_gate_inp.weight");
    assert_true(!c.layers[0].moe && c.layers[1].moe && !c.layers[2].moe && c.layers[3].moe);
    assert_true(c.moe.weights_scale == 1 && c.moe.n_shared == 1 && c.moe.shared_ffn_size == 160);
    qr_model_config_free(&c);
    const struct entry many[] = {
        keys[0],
        keys[1],
        { "llama.expert_shared_count", QR_GGUF_U32, 1e6, NULL },
    };
    const struct entry large[] = {
        keys[0],
        keys[1],
        { "llama.expert_feed_forward_length", QR_GGUF_U32, 4e9, NULL },
    };
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_FORMAT, make("llama", many, LEN(many), &c, &err));
    assert_non_null(strstr(err.msg, "llama: 1000000 shared experts of size 160"));
    assert_status(QUIRE_E_FORMAT, make("llama", large, LEN(large), &c, &err));
    assert_non_null(strstr(err.msg, "llama: 0 shared experts of size 4000000000"));
}

/* A name is cut after a whole character, and has no control characters. */
static void test_names(void **state)
{
    (void)state;
    enum { ROOM = sizeof((struct qr_model_config *)0)->name };
    char name[ROOM + 8];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    memcpy(name, "a\x01\x7f\tb", 5);
    memcpy(name + ROOM - 2, "\xc3\xa9", 2);
    const struct entry e[] = { { "general.name", QR_GGUF_STRING, 0, name } };
    struct qr_model_config c = good("llama", e, 1);
    assert_int_equal(strlen(c.name), ROOM - 2);
    assert_memory_equal(c.name, "a   bx", 6);
    qr_model_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_suppressed),
        cmocka_unit_test(test_zero_is_default),
        cmocka_unit_test(test_mla_sizes),
        cmocka_unit_test(test_rope_tensors),
        cmocka_unit_test(test_options_by_tensor),
        cmocka_unit_test(test_encoder_tensors),
        cmocka_unit_test(test_expert_tensors),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
