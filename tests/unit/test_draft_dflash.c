/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_dflash.c - DFlash block drafters of models of several families: arguments of steps,
 * speculative decoding with the same answers in fewer steps. */
#include "engine/request.h"
#include "test_block_drafter.h"

static void test_opening(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_error err;
    struct quire_model *base, *head;
    for (int own = 0; own < 2; own++) {
        struct quire_model_info info = { .struct_size = sizeof info };
        write_models("llama", own, "", "");
        assert_int_equal(open_path(head_path, NULL, &head, &err), QUIRE_E_UNSUPPORTED);
        open_models(&base, &head);
        assert_status(QUIRE_OK, quire_model_get_info(head, &info));
        assert_true(info.is_mtp == 1 && info.mtp_shares_kv == 0 && info.n_layers == LAYERS);
        assert_true(info.mtp_hidden_size == FEATURES * BASE && info.mtp_state_size == HIDDEN);
        assert_true(info.n_mtp_features == FEATURES && info.mtp_feature_layers[0] == 1 &&
                    info.mtp_feature_layers[1] == 2);
        assert_true(info.mtp_block_size == ROWS && info.mtp_mask_token == MASK);
        assert_int_equal(info.needs_token_ids, 1);
        assert_true(own ? info.token_weight_bytes == info.weight_bytes
                        : info.token_weight_bytes > info.weight_bytes); /* the model's matrix */
        assert_int_equal(quire_model_close(base), QUIRE_E_BUSY);
        close_models(base, head);
    }
    write_models("gemma3n_text", true, "", ""); /* several residual streams */
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    assert_int_equal(open_path(head_path, base, &head, &err), QUIRE_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "one residual stream"));
    assert_status(QUIRE_OK, quire_model_close(base));
}

/* ---- Steps */

static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = next_uniform();
}

static void test_arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static float features[N * FEATURES * BASE], logits[ROWS * 320], own[ROWS * HIDDEN],
        hidden[(LAYERS + 1) * N * HIDDEN];
    static const int32_t ids[ROWS] = { 5, MASK, MASK, MASK, MASK, MASK }, wrong[ROWS] = { 320 };
    struct quire_model *base, *head;
    struct step s = { 0 };
    write_models("llama", true, "", "");
    open_models(&base, &head);
    open_step(&s, head);
    fill(features, sizeof features / sizeof *features);
    struct quire_forward_args a = { .previous_hidden = features, .logits = logits };
    run_step(&s, N, &a, QUIRE_E_INVALID_ARG, "args.logits is not NULL");
    a = (struct quire_forward_args){ .previous_hidden = features, .last_hidden = own };
    run_step(&s, N, &a, QUIRE_E_INVALID_ARG, "args.last_hidden is not NULL");
    a = (struct quire_forward_args){ .previous_hidden = features, .hidden = hidden };
    run_step(&s, N, &a, QUIRE_E_INVALID_ARG, "args.hidden is not NULL");
    a = (struct quire_forward_args){ .previous_hidden = features, .own_hidden = own };
    run_step(&s, N, &a, QUIRE_E_INVALID_ARG, "own_hidden");
    a = (struct quire_forward_args){ .previous_hidden = features };
    run_step(&s, N, &a, QUIRE_OK, "");
    s.n_before = N;
    a = (struct quire_forward_args){ .logits = logits };
    run_step(&s, ROWS, &a, QUIRE_E_INVALID_ARG, "token_ids");
    a = (struct quire_forward_args){ .token_ids = wrong, .logits = logits };
    run_step(&s, ROWS, &a, QUIRE_E_RANGE, "token_ids[0] is 320");
    a = (struct quire_forward_args){ .token_ids = ids, .logits = logits, .last_hidden = own };
    run_step(&s, ROWS, &a, QUIRE_OK, "");
    close_step(&s);
    close_models(base, head);
}

/* The last states of a block depend on its later rows, unless the file says otherwise. */
static void test_block_mask(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static float features[N * FEATURES * BASE], first[ROWS * HIDDEN], second[ROWS * HIDDEN];
    int32_t ids[ROWS] = { 5, MASK, MASK, MASK, MASK, MASK };
    struct quire_model *base, *head;
    for (int causal = 0; causal < 2; causal++) {
        struct step s = { 0 };
        write_models("llama", true, "", causal ? ", \"causal\": true" : "");
        open_models(&base, &head);
        open_step(&s, head);
        fill(features, sizeof features / sizeof *features);
        struct quire_forward_args a = { .previous_hidden = features };
        run_step(&s, N, &a, QUIRE_OK, "");
        s.n_before = N;
        for (int last = 0; last < 2; last++) {
            ids[ROWS - 1] = last ? 7 : MASK;
            a = (struct quire_forward_args){ .token_ids = ids,
                                             .last_hidden = last ? second : first };
            run_step(&s, ROWS, &a, QUIRE_OK, "");
        }
        const int differs = memcmp(first, second, HIDDEN * sizeof *first) != 0;
        assert_int_equal(differs, !causal);
        close_step(&s);
        close_models(base, head);
    }
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
        write_models(goldens[g], g != 0, g == 2 ? windows : "", g == 1 ? ", \"causal\": true" : "");
        check_head(head_params());
    }
}

/* Begins a request with a prompt of n tokens and lets the engine step up to its first draft. */
static quire_request_id begin(struct quire_engine *e, uint32_t n, uint32_t draft_tokens)
{
    const struct quire_sampling_params sampling = sampling_of(1, 5);
    struct quire_request_params p = fixed(prompt, n, 20, &sampling);
    const uint64_t before = stats_of(e).draft_model_steps;
    p.draft_tokens = draft_tokens;
    const quire_request_id id = submit(e, &p);
    while (stats_of(e).draft_model_steps == before)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_int_equal(stats_of(e).draft_model_steps, before + 2);
    return id;
}

/* The rows of the second pass: the block behind n tokens. */
static void check_block(struct quire_engine *e, int32_t n, uint32_t rows)
{
    const struct qr_draft_model *d = e->draft_model;
    const struct qr_request *r = qr_request_of(e->scheduler.running[0]);
    assert_int_equal(d->batch.n_tokens, rows);
    assert_int_equal(d->batch.seq_lens[0], n + (int32_t)rows);
    assert_int_equal(d->batch.n_logits, rows - 1);
    assert_int_equal(d->batch.token_ids[0], r->tokens[(uint32_t)n + r->mtp_base]);
    for (uint32_t i = 1; i < rows; i++)
        assert_int_equal(d->batch.token_ids[i], MASK);
    assert_ptr_equal(r->draft_task.tokens, r->tokens + r->mtp_base + 1);
}

/* The drafter reads the features of all tokens but the last one, then a block of that and masks. */
static void test_rows(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result r;
    static float features[N * FEATURES * BASE];
    struct quire_error err;
    struct quire_model *base;
    struct step s = { 0 };
    write_models("llama", true, "", "");
    struct quire_engine_params ep = head_params();
    ep.k_dtype = ep.v_dtype = QUIRE_KV_F32;
    struct quire_engine *e = open_with(&ep);
    assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
    make_prompt(1);
    quire_request_id id = begin(e, N, 2);
    check_block(e, N, 3);
    open_step(&s, base);
    struct quire_forward_args a = { .token_ids = prompt,
                                    .n_features = FEATURES,
                                    .feature_layers = e->draft_model->feature_layers,
                                    .features = features };
    run_step(&s, N, &a, QUIRE_OK, "");
    assert_memory_equal(e->draft_model->hidden_in, features, sizeof features);
    close_step(&s);
    run_to_completion(e, &id, 1, &r);
    id = begin(e, N, 20); /* more than a block has */
    check_block(e, N, ROWS);
    run_to_completion(e, &id, 1, &r);
    assert_status(QUIRE_OK, quire_model_close(base));
    quire_engine_close(e);
}

/* The model takes a prefix from its cache that the drafter has not seen: its sequence begins where
 * features exist. */
static void test_gap(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result r;
    write_models("llama", true, "", "");
    const struct quire_engine_params ep = head_params();
    struct quire_engine *e = open_with(&ep);
    make_prompt(2);
    const struct quire_sampling_params sampling = sampling_of(1, 5);
    const struct quire_request_params plain = fixed(prompt, PROMPT, 2, &sampling);
    generate(e, &plain, &r);
    const quire_request_id id = begin(e, PROMPT, 3);
    const uint32_t mtp_base = qr_request_of(e->scheduler.running[0])->mtp_base;
    assert_true(mtp_base > 0);
    check_block(e, PROMPT - (int32_t)mtp_base, 4);
    run_to_completion(e, &id, 1, &r);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening),    cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_block_mask), cmocka_unit_test(test_same_answers),
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_gap),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
