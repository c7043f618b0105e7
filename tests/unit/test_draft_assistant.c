/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_assistant.c - a head of multi-token prediction in files of its own, Gemma 4 with its
 * assistant: opening, steps, speculative decoding with the same answers in fewer steps. */
#include "test_draft_heads.h"

enum { VOCAB = 320, BASE = 64, HIDDEN = 32, LAYERS = 3, HEADS = 4, FFN = 48 };

static const char head_config[] =
    "{\"model_type\": \"gemma4_assistant\", \"backbone_hidden_size\": 64, \"text_config\": {"
    "\"model_type\": \"gemma4_text\", \"vocab_size\": 320, \"hidden_size\": 32, "
    "\"intermediate_size\": 48, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"head_dim\": 16, \"global_head_dim\": 32, \"sliding_window\": "
    "16, "
    "\"num_kv_shared_layers\": 3, \"hidden_size_per_layer_input\": 0, "
    "\"layer_types\": [\"sliding_attention\", \"sliding_attention\", \"full_attention\"], "
    "\"rope_parameters\": {\"full_attention\": {\"partial_rotary_factor\": 0.25, "
    "\"rope_theta\": 1000000.0, \"rope_type\": \"proportional\"}, "
    "\"sliding_attention\": {\"rope_theta\": 10000.0, \"rope_type\": \"default\"}}}}";

static void add_layer(struct folder *f, int i)
{
    static const struct {
        const char *name;
        uint64_t rows, cols; /* of heads of 16; full layers have heads of 32 */
    } parts[] = {
        { "input_layernorm", 0, HIDDEN },
        { "post_attention_layernorm", 0, HIDDEN },
        { "pre_feedforward_layernorm", 0, HIDDEN },
        { "post_feedforward_layernorm", 0, HIDDEN },
        { "self_attn.q_norm", 0, 16 },
        { "self_attn.q_proj", (uint64_t)HEADS * 16, HIDDEN },
        { "self_attn.o_proj", HIDDEN, (uint64_t)HEADS * 16 },
        { "mlp.gate_proj", FFN, HIDDEN },
        { "mlp.up_proj", FFN, HIDDEN },
        { "mlp.down_proj", HIDDEN, FFN },
    };
    char name[80];
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const uint64_t wide = i == LAYERS - 1 ? 2 : 1;
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", i, parts[p].name);
        add_weights(f, name, p == 5 ? parts[p].rows * wide : parts[p].rows,
                    p == 4 || p == 6 ? parts[p].cols * wide : parts[p].cols);
    }
    snprintf(name, sizeof name, "model.layers.%d.layer_scalar", i);
    add_weights(f, name, 0, 1);
}

/* Writes the model to `dir` and its head to a folder in it. The head drafts four tokens only, those
 * that the model generates. */
static void write_models(const char *golden)
{
    struct folder f = { 0 };
    write_base(golden);
    add_weights(&f, "model.norm.weight", 0, HIDDEN);
    add_weights(&f, "pre_projection.weight", HIDDEN, (uint64_t)2 * BASE);
    add_weights(&f, "post_projection.weight", BASE, HIDDEN);
    struct tensor *t = add(&f, "model.embed_tokens.weight", VOCAB, HIDDEN);
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = i / HIDDEN >= 40 && i / HIDDEN < 44 ? next_uniform() : 0;
    for (int i = 0; i < LAYERS; i++)
        add_layer(&f, i);
    write_head(&f, head_config);
}

static void test_opening(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_error err;
    struct quire_model *base, *head, *other;
    struct quire_model_info info = { .struct_size = sizeof info };
    struct quire_kv_group_config groups[2][4];
    uint32_t n[2];
    write_models("gemma4_text");
    assert_int_equal(open_path(head_path, NULL, &head, &err), QUIRE_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "mtp_of"));
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_status(QUIRE_OK, open_path(head_path, base, &head, &err));
    assert_status(QUIRE_OK, quire_model_get_info(head, &info));
    assert_true(info.is_mtp == 1 && info.mtp_shares_kv == 1 && info.n_layers == LAYERS);
    assert_true(info.hidden_size == HIDDEN && info.mtp_hidden_size == BASE);
    assert_int_equal(info.needs_token_ids, 1);
    assert_int_equal(info.token_weight_bytes, info.weight_bytes);
    assert_int_equal(quire_model_close(base), QUIRE_E_BUSY);
    /* the head's contexts take the model's cache */
    assert_status(QUIRE_OK, quire_model_kv_groups(base, groups[0], 4, &n[0]));
    assert_status(QUIRE_OK, quire_model_kv_groups(head, groups[1], 4, &n[1]));
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(groups[0], groups[1], n[0] * sizeof groups[0][0]);
    assert_int_equal(open_path(dir, head, &other, &err), QUIRE_E_INVALID_ARG);
    assert_status(QUIRE_OK, quire_model_close(head));
    assert_status(QUIRE_OK, quire_model_close(base));
    info.mtp_shares_kv = 1;
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_status(QUIRE_OK, quire_model_get_info(base, &info));
    assert_true(info.mtp_shares_kv == 0 && info.mtp_hidden_size == 0);
    assert_status(QUIRE_OK, quire_model_close(base));
}

/* Another model has other keys, a file of a whole model is no head. */
static void test_other_models(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_error err;
    struct quire_model *base, *head;
    write_models("gemma4_text_moe"); /* one KV head in layers without a window */
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_int_equal(open_path(head_path, base, &head, &err), QUIRE_E_MISMATCH);
    assert_non_null(strstr(err.msg, "keys per token"));
    assert_int_equal(open_path(dir, base, &head, &err), QUIRE_E_UNSUPPORTED);
    assert_status(QUIRE_OK, quire_model_close(base));
    write_family(&families[MIMO]);
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_int_equal(open_path(head_path, base, &head, &err), QUIRE_E_MISMATCH);
    assert_non_null(strstr(err.msg, "mtp_of"));
    assert_status(QUIRE_OK, quire_model_close(base));
}

static void test_bad_engine(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    write_models("gemma4_text");
    struct quire_engine_params p = head_params();
    p.draft_cache_tokens = 256;
    assert_int_equal(quire_engine_open(&p, &e, &err), QUIRE_E_INVALID_ARG);
    assert_non_null(strstr(err.msg, "draft_cache_tokens"));
    p = head_params();
    p.model_path = head_path; /* no model */
    p.draft_model_path = NULL;
    assert_int_equal(quire_engine_open(&p, &e, &err), QUIRE_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "head of multi-token prediction"));
}

/* The same answers as without drafts, with keys and values of every type. */
static void test_same_answers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static const enum quire_kv_dtype types[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_FP8_E4M3,
                                                 QUIRE_KV_INT8 };
    write_models("gemma4_text");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct quire_engine_params ep = head_params();
        ep.k_dtype = ep.v_dtype = types[t];
        struct quire_engine *e = open_with(&ep);
        assert_true(e->info.draft_weight_bytes > 0 && e->info.draft_context_bytes > 0);
        assert_true(e->info.draft_kv_bytes == 0 && e->info.draft_cache_tokens == 0);
        check_requests(e);
        const struct quire_engine_stats stats = stats_of(e);
        assert_int_equal(stats.draft_model_tokens, stats.model_drafted_tokens);
        quire_engine_close(e);
    }
    check_many_requests(head_params());
}

/* A prompt of one token, whose hidden state is the only one. */
static void test_short_prompt(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result plain, drafted;
    write_models("gemma4_text");
    const struct quire_engine_params ep = head_params();
    struct quire_engine *e = open_with(&ep);
    const struct quire_sampling_params s = sampling_of(1, 4);
    make_prompt(3);
    struct quire_request_params p = fixed(prompt, 1, 30, &s);
    generate(e, &p, &plain);
    p.draft_tokens = 5;
    generate(e, &p, &drafted);
    assert_same(&plain, &drafted);
    assert_true(stats_of(e).model_drafted_tokens > 0);
    quire_engine_close(e);
}

/* Final hidden state of a model at the last of n tokens, in a cache of its own. */
static void last_hidden_of(struct quire_model *m, const int32_t *tokens, uint32_t n, float *out)
{
    enum { MAX_GROUPS = 4, BLOCK = 16, N_BLOCKS = 16 };
    struct quire_kv_group_config groups[MAX_GROUPS];
    struct quire_attention_batch_group tables[MAX_GROUPS];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    int32_t table[N_BLOCKS];
    int64_t slots[N_BLOCKS * BLOCK];
    static float hidden[N_BLOCKS * BLOCK * BASE];
    uint32_t n_groups;
    assert_true(n <= N_BLOCKS * BLOCK);
    assert_status(QUIRE_OK, quire_model_kv_groups(m, groups, MAX_GROUPS, &n_groups));
    for (uint32_t g = 0; g < n_groups; g++) {
        groups[g].n_blocks = N_BLOCKS;
        groups[g].k_dtype = groups[g].v_dtype = QUIRE_KV_F32;
    }
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = BLOCK, .groups = groups, .n_groups = n_groups
    };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &kv, &err));
    for (uint32_t g = 0; g < n_groups; g++)
        assert_status(QUIRE_OK, quire_kv_alloc(kv, g, -1, N_BLOCKS, table, &err));
    for (uint32_t i = 0; i < n; i++)
        slots[i] = (int64_t)table[i / BLOCK] * BLOCK + i % BLOCK;
    for (uint32_t g = 0; g < n_groups; g++)
        tables[g] = (struct quire_attention_batch_group){ .block_table = table,
                                                          .max_blocks = N_BLOCKS,
                                                          .slot_mapping = slots };
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = kv;
    assert_status(QUIRE_OK, quire_context_create(m, &cp, &context, &err));
    const int32_t starts[] = { 0, (int32_t)n }, len = (int32_t)n;
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = n_groups,
                                                 .groups = tables };
    const struct quire_forward_args args = {
        .struct_size = sizeof args, .batch = &batch, .token_ids = tokens, .last_hidden = hidden
    };
    assert_status(QUIRE_OK, quire_context_forward(context, &args, &err));
    memcpy(out, hidden + (size_t)(n - 1) * BASE, BASE * sizeof *out);
    quire_context_destroy(context);
    quire_kv_destroy(kv);
}

/* What the head reads: the last token, the model's hidden state at the one before it, and keys and
 * values up to there, after a step whose draft was accepted or not. */
static void test_rows(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { P = 30 };
    static struct result r;
    int32_t all[P + 64];
    float hidden[BASE];
    struct quire_error err = QUIRE_ERROR_INIT;
    write_models("gemma4_text");
    struct quire_engine_params ep = head_params();
    ep.k_dtype = ep.v_dtype = QUIRE_KV_F32;
    struct quire_engine *e = open_with(&ep);
    struct quire_model *base;
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    make_prompt(1);
    memcpy(all, prompt, P * sizeof *all);
    for (uint32_t n = 3; n < 40; n += 4) {
        const struct quire_sampling_params s = sampling_of(1, n);
        struct quire_request_params p = fixed(prompt, P, n, &s);
        p.draft_tokens = 1;
        generate(e, &p, &r);
        memcpy(all + P, r.tokens, r.n_tokens * sizeof *all);
        const struct qr_batch *b = &e->draft_model->batch;
        const int32_t keys = b->seq_lens[0];
        assert_true(b->n_tokens == 1 && keys >= P && keys < P + (int32_t)n);
        assert_int_equal(b->token_ids[0], all[keys]);
        last_hidden_of(base, all, (uint32_t)keys, hidden);
        assert_memory_equal(e->draft_model->hidden_in, hidden, sizeof hidden);
    }
    assert_status(QUIRE_OK, quire_model_close(base));
    quire_engine_close(e);
}

/* A host opens model, head and tokenizer; a dry run measures the head's context. */
static void test_host_opens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result plain, drafted;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *base, *head;
    struct quire_tokenizer *tokenizer;
    struct quire_tokenizer_params tp = { .struct_size = sizeof tp };
    write_models("gemma4_text");
    assert_status(QUIRE_OK, quire_tokenizer_open(dir, &tp, &tokenizer, &err));
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_status(QUIRE_OK, open_path(head_path, base, &head, &err));
    struct quire_engine_params p = head_params();
    p.model_path = p.draft_model_path = NULL;
    p.model = base;
    p.draft_model = head;
    p.tokenizer = p.draft_tokenizer = tokenizer;
    p.flags = QUIRE_ENGINE_DRY_RUN;
    struct quire_engine *e = open_with(&p);
    const uint64_t bytes = e->info.draft_context_bytes;
    assert_true(bytes > 0);
    quire_engine_close(e);
    p.flags = 0;
    e = open_with(&p);
    assert_int_equal(e->info.draft_context_bytes, bytes);
    const struct quire_sampling_params s = sampling_of(1, 9);
    make_prompt(2);
    struct quire_request_params request = fixed(prompt, 50, 50, &s);
    generate(e, &request, &plain);
    request.draft_tokens = 4;
    generate(e, &request, &drafted);
    assert_same(&plain, &drafted);
    assert_true(stats_of(e).model_drafted_tokens > 0);
    quire_engine_close(e);
    assert_status(QUIRE_OK, quire_model_close(head));
    assert_status(QUIRE_OK, quire_model_close(base));
    quire_tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening),      cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_bad_engine),   cmocka_unit_test(test_same_answers),
        cmocka_unit_test(test_short_prompt), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_host_opens),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
