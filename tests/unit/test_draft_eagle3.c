/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_eagle3.c - EAGLE-3 heads of models of several families: arguments of steps,
 * speculative decoding with the same answers in fewer steps. */
#include "test_draft_heads.h"
#include "test_head_step.h"

enum { VOCAB = 320, BASE = 64, HIDDEN = 64, HEADS = 4, KV_HEADS = 2, HEAD = 16, FFN = 96, N = 3 };

static const char head_config[] =
    "{\"architectures\": [\"LlamaForCausalLMEagle3\"], \"model_type\": \"llama\", "
    "\"vocab_size\": 320, \"draft_vocab_size\": 320, \"hidden_size\": 64, "
    "\"intermediate_size\": 96, \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"head_dim\": 16, \"max_position_embeddings\": 512, "
    "\"tie_word_embeddings\": false, \"rms_norm_eps\": 1e-05, "
    "\"eagle_config\": {\"eagle_aux_hidden_state_layer_ids\": [0, 1, 0]}}";

/* Writes the model to `dir` and its head to a folder in it. Both have outputs for four tokens. */
static void write_models(const char *golden)
{
    static const struct {
        const char *name;
        uint64_t rows, cols;
    } tensors[] = {
        { "midlayer.input_layernorm.weight", 0, HIDDEN },
        { "midlayer.hidden_norm.weight", 0, HIDDEN },
        { "midlayer.post_attention_layernorm.weight", 0, HIDDEN },
        { "midlayer.self_attn.q_proj.weight", (uint64_t)HEADS * HEAD, (uint64_t)2 * HIDDEN },
        { "midlayer.self_attn.k_proj.weight", (uint64_t)KV_HEADS * HEAD, (uint64_t)2 * HIDDEN },
        { "midlayer.self_attn.v_proj.weight", (uint64_t)KV_HEADS * HEAD, (uint64_t)2 * HIDDEN },
        { "midlayer.self_attn.o_proj.weight", HIDDEN, (uint64_t)HEADS * HEAD },
        { "midlayer.mlp.gate_proj.weight", FFN, HIDDEN },
        { "midlayer.mlp.up_proj.weight", FFN, HIDDEN },
        { "midlayer.mlp.down_proj.weight", HIDDEN, FFN },
        { "fc.weight", HIDDEN, (uint64_t)3 * BASE },
        { "norm.weight", 0, HIDDEN },
    };
    struct folder f = { 0 };
    write_base(golden);
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        add_weights(&f, tensors[i].name, tensors[i].rows, tensors[i].cols);
    narrow_output(&f);
    write_head(&f, head_config);
}

static void test_opening(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_error err;
    struct quire_model *base, *head;
    struct quire_model_info info = { .struct_size = sizeof info };
    write_models("llama");
    assert_int_equal(open_path(head_path, NULL, &head, &err), QUIRE_E_UNSUPPORTED);
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_status(QUIRE_OK, open_path(head_path, base, &head, &err));
    assert_status(QUIRE_OK, quire_model_get_info(head, &info));
    assert_true(info.is_mtp == 1 && info.mtp_shares_kv == 0 && info.n_layers == 1);
    assert_true(info.mtp_hidden_size == 3 * BASE && info.mtp_state_size == HIDDEN);
    assert_true(info.n_mtp_features == 3 && info.mtp_feature_layers[0] == 1 &&
                info.mtp_feature_layers[1] == 2 && info.mtp_feature_layers[2] == 1);
    assert_int_equal(info.needs_token_ids, 1);
    assert_int_equal(info.token_weight_bytes, info.weight_bytes); /* the embedding is the model's */
    assert_int_equal(quire_model_close(base), QUIRE_E_BUSY);
    assert_status(QUIRE_OK, quire_model_close(head));
    assert_status(QUIRE_OK, quire_model_close(base));
    write_models("gemma3n_text"); /* several residual streams */
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_int_equal(open_path(head_path, base, &head, &err), QUIRE_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "one residual stream"));
    assert_status(QUIRE_OK, quire_model_close(base));
}

/* ---- Arguments of a step */

/* A step of N tokens, with these ids unless the arguments have some. */
static void run(const struct step *s, struct quire_forward_args *args, quire_status want,
                const char *text)
{
    static const int32_t ids[N] = { 3, 4, 5 };
    if (!args->token_ids)
        args->token_ids = ids;
    run_step(s, N, args, want, text);
}

static void test_arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static float features[N * 3 * BASE], hidden[(16 + 1) * N * BASE], own[N * HIDDEN];
    static const uint32_t layers[] = { 2, 0, 1 }, beyond[] = { 0, 99 };
    struct quire_error err;
    struct quire_model *base, *head;
    struct step s = { 0 };
    write_models("llama");
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_status(QUIRE_OK, open_path(head_path, base, &head, &err));
    open_step(&s, base);
    struct quire_forward_args a = { .n_features = 3, .feature_layers = layers };
    run(&s, &a, QUIRE_E_INVALID_ARG, "features");
    a = (struct quire_forward_args){ .n_features = 3, .features = features };
    run(&s, &a, QUIRE_E_INVALID_ARG, "feature_layers");
    a = (struct quire_forward_args){ .features = features };
    run(&s, &a, QUIRE_E_INVALID_ARG, "n_features is 0");
    a = (struct quire_forward_args){ .n_features = 2,
                                     .feature_layers = beyond,
                                     .features = features };
    run(&s, &a, QUIRE_E_RANGE, "feature_layers[1] is 99");
    a = (struct quire_forward_args){ .own_hidden = own };
    run(&s, &a, QUIRE_E_INVALID_ARG, "own_hidden");
    a = (struct quire_forward_args){ .reserved3 = 1 };
    run(&s, &a, QUIRE_E_INVALID_ARG, "reserved3");
    a = (struct quire_forward_args){
        .n_features = 3, .feature_layers = layers, .features = features, .hidden = hidden
    };
    run(&s, &a, QUIRE_OK, "");
    for (int r = 0; r < N; r++)
        for (int f = 0; f < 3; f++)
            assert_memory_equal(features + (r * 3 + f) * BASE,
                                hidden + ((size_t)layers[f] * N + (size_t)r) * BASE,
                                BASE * sizeof *features);
    close_step(&s);
    open_step(&s, head);
    a = (struct quire_forward_args){ 0 };
    run(&s, &a, QUIRE_E_INVALID_ARG, "previous_hidden is NULL");
    a = (struct quire_forward_args){ .previous_hidden = features, .own_hidden = own };
    run(&s, &a, QUIRE_E_INVALID_ARG, "neither is previous_hidden");
    a = (struct quire_forward_args){ .previous_hidden = features, .last_hidden = own };
    run(&s, &a, QUIRE_OK, "");
    a = (struct quire_forward_args){ .own_hidden = own };
    run(&s, &a, QUIRE_OK, "");
    close_step(&s);
    assert_status(QUIRE_OK, quire_model_close(head));
    assert_status(QUIRE_OK, quire_model_close(base));
}

/* ---- The engine */

static const char *const goldens[] = { "llama", "qwen3_5_text", "qwen3_5_moe_text" };
enum { N_GOLDENS = sizeof goldens / sizeof *goldens };

static void test_same_answers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int g = 0; g < N_GOLDENS; g++) {
        write_models(goldens[g]);
        check_head(head_params());
    }
}

/* What the head reads: the tokens behind the first one, and the model's features before them. */
static void test_rows(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result r;
    static float features[N * 3 * BASE];
    struct quire_error err;
    struct quire_model *base;
    struct step s = { 0 };
    write_models("llama");
    struct quire_engine_params ep = head_params();
    ep.k_dtype = ep.v_dtype = QUIRE_KV_F32;
    struct quire_engine *e = open_with(&ep);
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    make_prompt(1);
    const struct quire_sampling_params sampling = sampling_of(1, 5);
    struct quire_request_params p = fixed(prompt, N, 2, &sampling);
    p.draft_tokens = 1;
    generate(e, &p, &r);
    const struct qr_draft_model *d = e->draft_model;
    assert_int_equal(stats_of(e).draft_model_steps, 1); /* its batch has the prompt's rows */
    assert_int_equal(d->batch.n_tokens, N);
    assert_memory_equal(d->batch.token_ids, prompt + 1, (N - 1) * sizeof *prompt);
    assert_int_equal(d->batch.token_ids[N - 1], r.tokens[0]);
    open_step(&s, base);
    struct quire_forward_args a = { .token_ids = prompt,
                                    .n_features = 3,
                                    .feature_layers = d->feature_layers,
                                    .features = features };
    run(&s, &a, QUIRE_OK, "");
    assert_memory_equal(d->hidden_in, features, sizeof features);
    close_step(&s);
    assert_status(QUIRE_OK, quire_model_close(base));
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_same_answers),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
