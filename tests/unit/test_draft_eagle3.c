/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_eagle3.c - EAGLE-3 heads of models of several families: arguments of steps,
 * speculative decoding with the same answers in fewer steps. */
#include "test_draft_requests.h"
#include "test_mtp.h"
#include <sys/stat.h>

enum { VOCAB = 320, BASE = 64, HIDDEN = 64, HEADS = 4, KV_HEADS = 2, HEAD = 16, FFN = 96 };

static char head_path[80]; /* a folder in `dir` */

static const char head_config[] =
    "{\"architectures\": [\"LlamaForCausalLMEagle3\"], \"model_type\": \"llama\", "
    "\"vocab_size\": 320, \"draft_vocab_size\": 320, \"hidden_size\": 64, "
    "\"intermediate_size\": 96, \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"head_dim\": 16, \"max_position_embeddings\": 512, "
    "\"tie_word_embeddings\": false, \"rms_norm_eps\": 1e-05, "
    "\"eagle_config\": {\"eagle_aux_hidden_state_layer_ids\": [0, 1, 0]}}";

static void add_weights(struct folder *f, const char *name, uint64_t rows, uint64_t cols)
{
    struct tensor *t = add(f, name, rows, cols);
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = (rows ? 0 : 1) + 0.4f * next_uniform();
}

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
    struct folder f;
    char base[64];
    read_folder(&f, golden);
    seed = 7;
    narrow_output(&f);
    write_with_tokenizer(&f);
    free_folder(&f);
    memset(&f, 0, sizeof f);
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        add_weights(&f, tensors[i].name, tensors[i].rows, tensors[i].cols);
    narrow_output(&f);
    f.config = calloc(1, sizeof head_config);
    memcpy(f.config, head_config, sizeof head_config);
    snprintf(head_path, sizeof head_path, "%s/head", dir);
    (void)mkdir(head_path, 0700);
    strcpy(base, dir);
    snprintf(dir, sizeof dir, "%.50s/head", base);
    write_with_tokenizer(&f);
    strcpy(dir, base);
    free_folder(&f);
}

static struct quire_engine_params head_params(void)
{
    struct quire_engine_params p = mtp_params();
    p.draft_model_path = head_path;
    p.flags = 0;
    return p;
}

static quire_status open_path(const char *path, struct quire_model *mtp_of,
                              struct quire_model **out, struct quire_error *err)
{
    struct quire_model_params p;
    quire_model_params_init(&p, sizeof p);
    p.path = path;
    p.mtp_of = mtp_of;
    *err = (struct quire_error)QUIRE_ERROR_INIT;
    return quire_model_open(&p, out, err);
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

enum { N = 3, BLOCK = 16 };

struct step {
    struct quire_kv_cache *kv;
    struct quire_context *context;
    int32_t table[1];
    int64_t slots[N];
};

static void open_step(struct step *s, struct quire_model *m)
{
    struct quire_kv_group_config group = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_context_params cp;
    uint32_t n;
    assert_status(QUIRE_OK, quire_model_kv_groups(m, &group, 1, &n));
    group.n_blocks = 1;
    group.k_dtype = group.v_dtype = QUIRE_KV_F32;
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = BLOCK, .groups = &group, .n_groups = 1
    };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &s->kv, &err));
    assert_status(QUIRE_OK, quire_kv_alloc(s->kv, 0, -1, 1, s->table, &err));
    for (int i = 0; i < N; i++)
        s->slots[i] = (int64_t)s->table[0] * BLOCK + i;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = s->kv;
    assert_status(QUIRE_OK, quire_context_create(m, &cp, &s->context, &err));
}

static void close_step(struct step *s)
{
    quire_context_destroy(s->context);
    quire_kv_destroy(s->kv);
}

/* Runs a step of N tokens with these arguments; the batch and, if NULL, token ids are filled in. */
static void run_step(const struct step *s, struct quire_forward_args *args, quire_status want,
                     const char *text)
{
    static const int32_t starts[] = { 0, N }, len = N, ids[N] = { 3, 4, 5 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_attention_batch_group g = { .block_table = s->table,
                                             .max_blocks = 1,
                                             .slot_mapping = s->slots };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 1,
                                                 .groups = &g };
    args->struct_size = sizeof *args;
    args->batch = &batch;
    args->token_ids = args->token_ids ? args->token_ids : ids;
    assert_status(want, quire_context_forward(s->context, args, &err));
    if (want != QUIRE_OK && !strstr(err.msg, text))
        fail_msg("%s: %s", text, err.msg);
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
    struct step s;
    write_models("llama");
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_status(QUIRE_OK, open_path(head_path, base, &head, &err));
    open_step(&s, base);
    struct quire_forward_args a = { .n_features = 3, .feature_layers = layers };
    run_step(&s, &a, QUIRE_E_INVALID_ARG, "features");
    a = (struct quire_forward_args){ .n_features = 3, .features = features };
    run_step(&s, &a, QUIRE_E_INVALID_ARG, "feature_layers");
    a = (struct quire_forward_args){ .features = features };
    run_step(&s, &a, QUIRE_E_INVALID_ARG, "n_features is 0");
    a = (struct quire_forward_args){ .n_features = 2,
                                     .feature_layers = beyond,
                                     .features = features };
    run_step(&s, &a, QUIRE_E_RANGE, "feature_layers[1] is 99");
    a = (struct quire_forward_args){ .own_hidden = own };
    run_step(&s, &a, QUIRE_E_INVALID_ARG, "own_hidden");
    a = (struct quire_forward_args){
        .n_features = 3, .feature_layers = layers, .features = features, .hidden = hidden
    };
    run_step(&s, &a, QUIRE_OK, "");
    for (int r = 0; r < N; r++)
        for (int f = 0; f < 3; f++)
            assert_memory_equal(features + (r * 3 + f) * BASE,
                                hidden + ((size_t)layers[f] * N + (size_t)r) * BASE,
                                BASE * sizeof *features);
    close_step(&s);
    open_step(&s, head);
    a = (struct quire_forward_args){ 0 };
    run_step(&s, &a, QUIRE_E_INVALID_ARG, "previous_hidden is NULL");
    a = (struct quire_forward_args){ .previous_hidden = features, .own_hidden = own };
    run_step(&s, &a, QUIRE_E_INVALID_ARG, "neither is previous_hidden");
    a = (struct quire_forward_args){ .previous_hidden = features, .last_hidden = own };
    run_step(&s, &a, QUIRE_OK, "");
    a = (struct quire_forward_args){ .own_hidden = own };
    run_step(&s, &a, QUIRE_OK, "");
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
    static struct result plain, drafted;
    for (int g = 0; g < N_GOLDENS; g++) {
        write_models(goldens[g]);
        const struct quire_engine_params ep = head_params();
        struct quire_engine *e = open_with(&ep);
        assert_true(e->info.draft_weight_bytes > 0 && e->info.draft_kv_bytes > 0);
        for (uint32_t i = 0; i < 6; i++) {
            make_prompt(i);
            const struct quire_sampling_params s = sampling_of(i ? 1.0f : 0, i);
            struct quire_request_params p = fixed(prompt, 20 + 21 * i, 60, &s);
            generate(e, &p, &plain);
            p.draft_tokens = 1 + i;
            p.flags |= i % 2 ? QUIRE_REQUEST_NO_REUSE : 0;
            generate(e, &p, &drafted);
            assert_same(&plain, &drafted);
        }
        const struct quire_engine_stats stats = stats_of(e);
        assert_true(stats.model_accepted_tokens > 0);
        assert_true(stats.model_accepted_tokens < stats.model_drafted_tokens);
        assert_all_free(e);
        quire_engine_close(e);
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
    struct step s;
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
    run_step(&s, &a, QUIRE_OK, "");
    assert_memory_equal(d->hidden_in, features, sizeof features);
    close_step(&s);
    assert_status(QUIRE_OK, quire_model_close(base));
    quire_engine_close(e);
}

static void test_many(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { REQUESTS = 12 };
    static struct result plain[REQUESTS], drafted[REQUESTS];
    for (int small = 0; small < 2; small++) {
        write_models("llama");
        struct quire_engine_params ep = head_params();
        ep.max_step_tokens = 32;
        ep.max_seqs = 4;
        ep.block_size = 16;
        ep.cache_tokens = 512;
        ep.draft_cache_tokens = small ? 256 : 1024;
        struct quire_engine *e = open_with(&ep);
        for (int drafts = 0; drafts < 2; drafts++) {
            quire_request_id ids[REQUESTS];
            for (uint32_t i = 0; i < REQUESTS; i++) {
                make_prompt(i / 3);
                const struct quire_sampling_params s = sampling_of(i % 2 ? 1.0f : 0, i);
                struct quire_request_params p = fixed(prompt, 40 + 9 * i, 30 + i, &s);
                p.flags = QUIRE_REQUEST_IGNORE_EOS;
                p.flags |= i % 3 ? QUIRE_REQUEST_FIXED_DRAFT : 0;
                p.draft_tokens = drafts ? 1 + i % 5 : 0;
                ids[i] = submit(e, &p);
            }
            run_to_completion(e, ids, REQUESTS, drafts ? drafted : plain);
        }
        for (int i = 0; i < REQUESTS; i++)
            assert_same(&plain[i], &drafted[i]);
        assert_true(stats_of(e).model_accepted_tokens > 0);
        assert_all_free(e);
        quire_engine_close(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening),      cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_same_answers), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
