/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_mtp.c - heads of multi-token prediction: opening, tensors, steps; speculative decoding
 * with them gives the same answers in fewer steps, whatever becomes of the drafts. */
#include "test_draft_requests.h"
#include "test_mtp.h"

/* ---- Opening */

static bool belongs_to_head(const struct family *of, const char *name)
{
    const char *const whole[] = { of->embd, of->hidden, of->proj, of->norm };
    for (size_t i = 0; i < 4; i++)
        if (*whole[i] == '=' && strcmp(whole[i] + 1, name) == 0)
            return true;
    return strncmp(name, of->layer, strlen(of->layer)) == 0 ||
           (of->ffn && strncmp(name, of->ffn, strlen(of->ffn)) == 0);
}

/* Every tensor of a head is required, and its shape. The model opens without them. */
static void test_tensors(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int k = 0; k < N_FAMILIES; k++) {
        struct folder f;
        struct quire_error err;
        struct quire_model *base, *head;
        read_family(&f, &families[k]);
        write_folder(&f, none, none);
        assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
        assert_status(QUIRE_OK, open_path(dir, base, &head, &err));
        assert_int_equal(quire_model_close(base), QUIRE_E_BUSY);
        assert_status(QUIRE_OK, quire_model_close(head));
        size_t n = 0;
        for (size_t i = 0; i < f.n; i++) {
            if (!belongs_to_head(&families[k], f.t[i].name))
                continue;
            n++;
            write_folder(&f, i, none);
            const quire_status s = open_path(dir, base, &head, &err);
            assert_int_equal(s,
                             strstr(err.msg, "has no head") ? QUIRE_E_UNSUPPORTED : QUIRE_E_FORMAT);
            char first[160]; /* of two names for a role, the message contains the first */
            snprintf(first, sizeof first, "%s", f.t[i].name);
            if (k == DEEPSEEK)
                replace(first, sizeof first, "shared_experts", "shared_expert");
            if (!strstr(err.msg, first))
                fail_msg("without %s: %s", first, err.msg);
            write_folder(&f, none, i);
            assert_int_equal(open_path(dir, base, &head, &err), QUIRE_E_FORMAT);
            assert_non_null(strstr(err.msg, f.t[i].name));
        }
        assert_true(n > 12);
        assert_status(QUIRE_OK, quire_model_close(base));
        free_folder(&f);
    }
}

static void test_bad_params(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_error err;
    struct quire_model *base, *head, *other;
    struct quire_model_info info = { .struct_size = sizeof info };
    write_family(&families[DEEPSEEK]);
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_status(QUIRE_OK, quire_model_get_info(base, &info));
    assert_int_equal(info.is_mtp, 0);
    assert_status(QUIRE_OK, open_path(dir, base, &head, &err));
    assert_status(QUIRE_OK, quire_model_get_info(head, &info));
    assert_true(info.is_mtp == 1 && info.n_layers == 1 && info.state_bytes == 0);
    assert_int_equal(info.token_weight_bytes, info.weight_bytes + 320 * 64 * sizeof(float));
    assert_int_equal(open_path(dir, head, &other, &err), QUIRE_E_INVALID_ARG);
    assert_non_null(strstr(err.msg, "mtp_of"));
    struct quire_model_params p;
    quire_model_params_init(&p, sizeof p);
    p.path = dir;
    p.mtp_of = base;
    p.pack_cache = "x";
    assert_int_equal(quire_model_open(&p, &other, &err), QUIRE_E_INVALID_ARG);
    assert_non_null(strstr(err.msg, "pack_cache"));
    assert_status(QUIRE_OK, quire_model_close(head));
    write_family(&families[MIMO]); /* other files than the model's */
    assert_int_equal(open_path(dir, base, &head, &err), QUIRE_E_MISMATCH);
    assert_non_null(strstr(err.msg, "mtp_of"));
    assert_status(QUIRE_OK, quire_model_close(base));
}

/* previous_hidden is required by heads and refused by others. */
static void test_previous_hidden(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 3, BLOCK = 16 };
    struct quire_error err;
    struct quire_model *m[2];
    write_family(&families[MIMO]);
    assert_status(QUIRE_OK, open_path(dir, NULL, &m[0], &err));
    assert_status(QUIRE_OK, open_path(dir, m[0], &m[1], &err));
    for (int i = 1; i >= 0; i--) {
        struct quire_kv_group_config group = { 0 };
        uint32_t n;
        struct quire_kv_cache *kv;
        struct quire_context *context;
        int32_t table[1];
        assert_status(QUIRE_OK, quire_model_kv_groups(m[i], &group, 1, &n));
        group.n_blocks = 1;
        group.k_dtype = group.v_dtype = QUIRE_KV_F32;
        const struct quire_kv_params kp = {
            .struct_size = sizeof kp, .block_size = BLOCK, .groups = &group, .n_groups = 1
        };
        assert_status(QUIRE_OK, quire_kv_create(&kp, &kv, &err));
        assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, -1, 1, table, &err));
        struct quire_context_params cp;
        quire_context_params_init(&cp, sizeof cp);
        cp.kv = kv;
        assert_status(QUIRE_OK, quire_context_create(m[i], &cp, &context, &err));
        const int32_t starts[] = { 0, N }, len = N, ids[N] = { 3, 4, 5 };
        const int64_t slots[N] = { table[0] * BLOCK, table[0] * BLOCK + 1, table[0] * BLOCK + 2 };
        struct quire_attention_batch_group g = { .block_table = table,
                                                 .max_blocks = 1,
                                                 .slot_mapping = slots };
        const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                     .n_seqs = 1,
                                                     .query_start_loc = starts,
                                                     .seq_lens = &len,
                                                     .n_groups = 1,
                                                     .groups = &g };
        static float hidden[N * 64];
        struct quire_forward_args args = { .struct_size = sizeof args,
                                           .batch = &batch,
                                           .token_ids = ids,
                                           .previous_hidden = i ? NULL : hidden };
        assert_int_equal(quire_context_forward(context, &args, &err), QUIRE_E_INVALID_ARG);
        assert_non_null(strstr(err.msg, "previous_hidden"));
        args.previous_hidden = i ? hidden : NULL;
        assert_status(QUIRE_OK, quire_context_forward(context, &args, &err));
        quire_context_destroy(context);
        quire_kv_destroy(kv);
        assert_status(QUIRE_OK, quire_model_close(m[i]));
    }
}

/* ---- The engine */

/* The same answers as without drafts, for every family. */
static void test_same_answers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int k = 0; k < N_FAMILIES; k++) {
        write_family(&families[k]);
        check_head(mtp_params());
    }
}

/* The head computes every position once, and one pass per drafted token: the first of them with
 * the rows of the last step. */
static void test_passes(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 40, K = 3 };
    static struct result r;
    write_family(&families[MIMO]);
    const struct quire_engine_params ep = mtp_params();
    struct quire_engine *e = open_with(&ep);
    const struct quire_sampling_params s = sampling_of(1, 3);
    make_prompt(1);
    struct quire_request_params p = fixed(prompt, 100, N, &s);
    p.draft_tokens = K;
    generate(e, &p, &r);
    const struct quire_engine_stats stats = stats_of(e);
    const uint64_t computed = 100 + N - 2; /* positions with a hidden state and a next token */
    assert_true(stats.draft_model_tokens <= computed + stats.model_drafted_tokens);
    assert_true(stats.draft_model_steps <= stats.n_steps + stats.model_drafted_tokens);
    assert_int_equal(stats.n_steps, N - stats.model_accepted_tokens - stats.lookup_accepted_tokens);
    quire_engine_close(e);
}

static void bad_engine(const struct quire_engine_params *p, quire_status want, const char *text)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    const quire_status s = quire_engine_open(p, &e, &err);
    if (s != want || !strstr(err.msg, text))
        print_error("%s \"%s\"\n", quire_status_name(s), err.msg);
    assert_int_equal(s, want);
    assert_non_null(strstr(err.msg, text));
}

static void test_bad_engine(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    write_family(&families[MIMO]);
    struct quire_engine_params p = mtp_params();
    p.max_draft_tokens = 0;
    bad_engine(&p, QUIRE_E_INVALID_ARG, "QUIRE_ENGINE_MTP is given, but max_draft_tokens is 0");
    p = mtp_params();
    p.draft_model_path = "x";
    bad_engine(&p, QUIRE_E_INVALID_ARG, "QUIRE_ENGINE_MTP and draft_model_path");
    p = params_for("llama-bf16.gguf");
    p.max_draft_tokens = 8;
    p.flags = QUIRE_ENGINE_MTP;
    bad_engine(&p, QUIRE_E_UNSUPPORTED, "QUIRE_ENGINE_MTP: quire knows no heads of multi-token");
    p = params_for("../gguf_2026/qwen3_next-bf16.gguf");
    p.max_draft_tokens = 8;
    p.flags = QUIRE_ENGINE_MTP;
    bad_engine(&p, QUIRE_E_UNSUPPORTED, "nextn_predict_layers is 0 or missing");
}

/* A host opens model, head and tokenizer. */
static void test_host_opens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result plain, drafted;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *models[2], *heads[2];
    struct quire_tokenizer *tokenizer;
    struct quire_tokenizer_params tp = { .struct_size = sizeof tp };
    write_family(&families[QWEN]);
    assert_status(QUIRE_OK, quire_tokenizer_open(dir, &tp, &tokenizer, &err));
    for (int i = 0; i < 2; i++) {
        assert_status(QUIRE_OK, open_path(dir, NULL, &models[i], &err));
        assert_status(QUIRE_OK, open_path(dir, models[i], &heads[i], &err));
    }
    struct quire_engine_params p = mtp_params();
    p.model_path = NULL;
    p.model = models[0];
    p.tokenizer = p.draft_tokenizer = tokenizer;
    bad_engine(&p, QUIRE_E_INVALID_ARG, "give its head as draft_model");
    p.flags = 0;
    bad_engine(&p, QUIRE_E_INVALID_ARG, "draft_tokenizer is given without draft_model");
    p.draft_model = heads[1];
    p.draft_tokenizer = tokenizer;
    bad_engine(&p, QUIRE_E_MISMATCH, "head of multi-token prediction of another model");
    p.draft_model = heads[0];
    struct quire_engine *e = open_with(&p);
    const struct quire_sampling_params s = sampling_of(1, 9);
    make_prompt(2);
    struct quire_request_params request = fixed(prompt, 50, 50, &s);
    generate(e, &request, &plain);
    request.draft_tokens = 4;
    generate(e, &request, &drafted);
    assert_same(&plain, &drafted);
    assert_true(stats_of(e).model_drafted_tokens > 0);
    quire_engine_close(e);
    for (int i = 0; i < 2; i++) {
        assert_status(QUIRE_OK, quire_model_close(heads[i]));
        assert_status(QUIRE_OK, quire_model_close(models[i]));
    }
    quire_tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),         cmocka_unit_test(test_bad_params),
        cmocka_unit_test(test_previous_hidden), cmocka_unit_test(test_same_answers),
        cmocka_unit_test(test_passes),          cmocka_unit_test(test_bad_engine),
        cmocka_unit_test(test_host_opens),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
