/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_dspark.c - DSpark and DFlash 2 block drafters: arguments and results of the Markov
 * head and the selector, which rows of a block draft, and the order in which its tokens are
 * drawn. */
#include "engine/request.h"
#include "test_block_drafter.h"
#include <quire/markov_head.h>

static const char bonus_anchor[] = "\"sample_from_anchor\": false, ";

static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = next_uniform();
}

static void test_opening(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *base, *head;
    for (int anchor = 0; anchor < 2; anchor++) {
        struct quire_model_info info = { .struct_size = sizeof info };
        write_drafter("llama", true, anchor ? "" : bonus_anchor, "", MARKOV);
        open_models(&base, &head);
        assert_status(QUIRE_OK, quire_model_get_info(head, &info));
        assert_true(info.mtp_block_size == ROWS && info.mtp_markov_rank == RANK);
        assert_true(info.mtp_confidence == 1 && (int)info.mtp_from_anchor == anchor);
        close_models(base, head);
    }
    struct quire_model_info info = { .struct_size = sizeof info };
    write_drafter("llama", false, "", "", SELECTOR);
    open_models(&base, &head);
    assert_status(QUIRE_OK, quire_model_get_info(head, &info));
    assert_true(info.mtp_from_anchor == 0 && info.mtp_markov_rank == RANK);
    assert_true(info.mtp_confidence == 0 && info.mtp_markov_state == 1);
    close_models(base, head);
    write_models("llama", true, "", ", \"shift_label\": true");
    open_models(&base, &head);
    assert_status(QUIRE_OK, quire_model_get_info(head, &info));
    assert_true(info.mtp_from_anchor == 1 && info.mtp_markov_rank == 0);
    assert_int_equal(info.mtp_confidence, 0);
    close_models(base, head);
}

/* ---- The Markov head */

enum { N_ROWS = 6 };
static float logits[N_ROWS][320], states[N_ROWS][HIDDEN], confidence[N_ROWS];
static float *const logits_rows[] = { logits[0], logits[1], logits[2],
                                      logits[3], logits[4], logits[5] };
static const float *const state_rows[] = { states[0], states[1], states[2],
                                           states[3], states[4], states[5] };
static const int32_t previous[] = { 0, 319, 41, 7, 41, 2 };

static void refuse(struct quire_context *c, struct quire_markov_args a, quire_status want,
                   const char *text)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    a.struct_size = a.struct_size ? a.struct_size : sizeof a;
    assert_status(want, quire_context_markov(c, &a, &err));
    if (!strstr(err.msg, text))
        fail_msg("%s: %s", text, err.msg);
}

static struct quire_context *open_context(struct quire_model *m, struct quire_kv_cache *kv,
                                          struct quire_threads *threads)
{
    struct quire_context_params cp;
    struct quire_context *c = NULL;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = kv;
    cp.threads = threads;
    cp.max_seqs = N_ROWS - 1;
    assert_status(QUIRE_OK, quire_context_create(m, &cp, &c, NULL));
    return c;
}

static void test_arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t outside[] = { 320, -1 };
    struct quire_markov_args good = { .n = 2,
                                      .previous = previous,
                                      .logits = logits_rows,
                                      .hidden = state_rows,
                                      .confidence = confidence },
                             a;
    struct quire_model *base, *head;
    struct step s = { 0 };
    write_drafter("llama", true, "", "", MARKOV);
    open_models(&base, &head);
    open_step(&s, head);
    struct quire_context *c = open_context(head, s.kv, NULL);
    refuse(NULL, good, QUIRE_E_INVALID_ARG, "context");
    assert_int_equal(quire_context_markov(c, NULL, NULL), QUIRE_E_INVALID_ARG);
    a = good, a.struct_size = 8;
    refuse(c, a, QUIRE_E_MISUSE, "struct_size");
    a = good, a.reserved = 1;
    refuse(c, a, QUIRE_E_INVALID_ARG, "args.reserved");
    a = good, a.n = N_ROWS;
    refuse(c, a, QUIRE_E_LIMIT, "args.n is 6");
    a = good, a.n_threads = 2;
    refuse(c, a, QUIRE_E_LIMIT, "args.n_threads");
    a = good, a.previous = NULL;
    refuse(c, a, QUIRE_E_INVALID_ARG, "args.previous is NULL");
    a = good, a.logits = NULL;
    refuse(c, a, QUIRE_E_INVALID_ARG, "args.logits is NULL");
    a = good, a.hidden = NULL;
    refuse(c, a, QUIRE_E_INVALID_ARG, "args.hidden is NULL");
    a = good, a.logits = (float *const[]){ logits[0], NULL };
    refuse(c, a, QUIRE_E_INVALID_ARG, "args.logits[1] is NULL");
    a = good, a.hidden = (const float *const[]){ NULL, states[0] };
    refuse(c, a, QUIRE_E_INVALID_ARG, "args.hidden[0] is NULL");
    a = good, a.previous = outside;
    refuse(c, a, QUIRE_E_RANGE, "args.previous[0] is 320");
    a = good, a.previous = outside + 1, a.n = 1;
    refuse(c, a, QUIRE_E_RANGE, "args.previous[0] is -1");
    refuse(c, (struct quire_markov_args){ 0 }, QUIRE_OK, "");
    refuse(c, good, QUIRE_OK, "");
    quire_context_destroy(c);
    close_step(&s);
    close_models(base, head);
    write_models("llama", true, "", "");
    open_models(&base, &head);
    open_step(&s, head);
    refuse(s.context, good, QUIRE_E_UNSUPPORTED, "no Markov head");
    close_step(&s);
    close_models(base, head);
    write_drafter("llama", false, "", "", SELECTOR);
    open_models(&base, &head);
    open_step(&s, head);
    good.n = 1;
    refuse(s.context, good, QUIRE_E_UNSUPPORTED, "args.confidence");
    good.confidence = NULL;
    refuse(s.context, good, QUIRE_OK, "");
    good.hidden = NULL;
    refuse(s.context, good, QUIRE_E_INVALID_ARG, "args.hidden is NULL");
    close_step(&s);
    close_models(base, head);
}

/* A row has the same bits alone, beside others, and with any number of threads, and depends on the
 * token before it. */
static void check_rows_alone(enum drafter kind)
{
    static float before[N_ROWS][320], together[N_ROWS][320];
    float alone, sure[N_ROWS];
    struct quire_model *base, *head;
    struct quire_threads *threads;
    struct step s = { 0 };
    write_drafter("llama", kind == MARKOV, "", "", kind);
    open_models(&base, &head);
    open_step(&s, head);
    const struct quire_threads_params tp = { .struct_size = sizeof tp, .n_threads = 3 };
    assert_status(QUIRE_OK, quire_threads_create(&tp, &threads, NULL));
    struct quire_context *one = open_context(head, s.kv, NULL),
                         *more = open_context(head, s.kv, threads);
    fill(before[0], sizeof before / sizeof(float));
    fill(states[0], sizeof states / sizeof(float));
    for (int t = 40; t < 44; t++) /* a selector selects the tokens that have other rows */
        before[2][t] += 4;
    memcpy(before[4], before[2], sizeof before[2]);
    memcpy(before[3], before[2], sizeof before[2]);
    memcpy(states[4], states[2], sizeof states[2]);
    memcpy(states[3], states[2], sizeof states[2]);
    memcpy(logits, before, sizeof before);
    const struct quire_markov_args all = { .struct_size = sizeof all,
                                           .n = N_ROWS - 1,
                                           .previous = previous,
                                           .logits = logits_rows,
                                           .hidden = state_rows,
                                           .confidence = kind == MARKOV ? sure : NULL };
    assert_status(QUIRE_OK, quire_context_markov(more, &all, NULL));
    memcpy(together, logits, sizeof logits);
    for (int i = 0; i < N_ROWS - 1; i++) {
        memcpy(logits[i], before[i], sizeof before[i]);
        const struct quire_markov_args row = { .struct_size = sizeof row,
                                               .n = 1,
                                               .previous = previous + i,
                                               .logits = logits_rows + i,
                                               .hidden = state_rows + i,
                                               .confidence = kind == MARKOV ? &alone : NULL };
        assert_status(QUIRE_OK, quire_context_markov(one, &row, NULL));
        assert_memory_equal(logits[i], together[i], sizeof together[i]);
        assert_memory_not_equal(logits[i], before[i], sizeof before[i]);
        assert_true(kind != MARKOV || (alone == sure[i] && alone > 0 && alone < 1));
    }
    assert_memory_equal(together[2], together[4], sizeof together[2]);
    assert_memory_not_equal(together[2], together[3], sizeof together[2]);
    quire_context_destroy(one);
    quire_context_destroy(more);
    quire_threads_destroy(threads);
    close_step(&s);
    close_models(base, head);
}

static void test_rows_alone(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_rows_alone(MARKOV);
    check_rows_alone(SELECTOR);
}

/* A selector leaves the tokens with the largest logits, of equal ones those of smaller ids. */
static void test_selected(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *base, *head;
    struct step s = { 0 };
    write_drafter("llama", false, "", "", SELECTOR);
    open_models(&base, &head);
    open_step(&s, head);
    for (int t = 0; t < 320; t++)
        logits[0][t] = t == 7 || t == 300 ? 2 : t == 9 ? -INFINITY : t >= 40 && t < 60 ? 1 : 0;
    fill(states[0], HIDDEN);
    const struct quire_markov_args a = { .struct_size = sizeof a,
                                         .n = 1,
                                         .previous = previous + 2,
                                         .logits = logits_rows,
                                         .hidden = state_rows };
    assert_status(QUIRE_OK, quire_context_markov(s.context, &a, NULL));
    for (int t = 0; t < 320; t++) {
        const bool kept = t == 7 || t == 300 || (t >= 40 && t < 43);
        assert_int_equal(kept, logits[0][t] > -INFINITY);
    }
    assert_true(logits[0][7] == 2 && logits[0][300] == 2); /* tokens whose rows are 0 */
    assert_true(logits[0][40] != 1);
    close_step(&s);
    close_models(base, head);
}

/* ---- The engine */

static void test_same_answers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    write_drafter("llama", true, windows, "", MARKOV);
    check_head(head_params());
    write_drafter("qwen3_5_text", false, bonus_anchor, "", MARKOV);
    check_head(head_params());
    write_drafter("llama", false, windows, "", SELECTOR);
    check_head(head_params());
    write_models("llama", true, "", ", \"shift_label\": true");
    check_head(head_params());
}

static const struct qr_request *begin(struct quire_engine *e, uint32_t draft_tokens,
                                      quire_request_id *id)
{
    struct quire_sampling_params sampling = sampling_of(0, 5);
    sampling.presence_penalty = 0;
    struct quire_request_params p = fixed(prompt, N, 20, &sampling);
    const uint64_t before = stats_of(e).draft_model_steps;
    p.draft_tokens = draft_tokens;
    *id = submit(e, &p);
    while (stats_of(e).draft_model_steps == before)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    return qr_request_of(e->scheduler.running[0]);
}

/* The most likely token behind `token` by a row of logits and its state, after the bias. */
static int32_t draw(struct quire_context *c, int32_t token, float *row, const float *state)
{
    const struct quire_markov_args a = {
        .struct_size = sizeof a, .n = 1, .previous = &token, .logits = &row, .hidden = &state
    };
    int32_t best = 0;
    assert_status(QUIRE_OK, quire_context_markov(c, &a, NULL));
    for (int32_t t = 1; t < 320; t++)
        best = row[t] > row[best] ? t : best;
    return best;
}

/* The first row drafts unless the file says otherwise, and each token is drawn behind the one
 * before it. */
static void test_block(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result r;
    static float features[N * FEATURES * BASE], block[ROWS * 320], hidden[ROWS * HIDDEN];
    for (int round = 0; round < 3; round++) {
        const bool anchor = round == 1;
        struct quire_model *base, *head;
        struct step of_base = { 0 }, of_head = { 0 };
        quire_request_id id;
        write_drafter("llama", round < 2, round ? "" : bonus_anchor, "",
                      round < 2 ? MARKOV : SELECTOR);
        struct quire_engine_params ep = head_params();
        ep.k_dtype = ep.v_dtype = QUIRE_KV_F32;
        struct quire_engine *e = open_with(&ep);
        make_prompt(1);
        const struct qr_request *request = begin(e, 20, &id);
        const uint32_t n_drafts = ROWS - !anchor;
        const struct qr_draft_model *d = e->draft_model;
        assert_int_equal(d->batch.n_tokens, ROWS);
        assert_int_equal(d->batch.n_logits, n_drafts);
        open_models(&base, &head);
        open_step(&of_base, base);
        open_step(&of_head, head);
        struct quire_forward_args a = { .token_ids = prompt,
                                        .n_features = FEATURES,
                                        .feature_layers = d->feature_layers,
                                        .features = features };
        run_step(&of_base, N, &a, QUIRE_OK, "");
        a = (struct quire_forward_args){ .previous_hidden = features };
        run_step(&of_head, N, &a, QUIRE_OK, "");
        of_head.n_before = N;
        const uint32_t rows[] = { 0, 1, 2, 3, 4, 5 };
        a = (struct quire_forward_args){ .token_ids = d->batch.token_ids,
                                         .logits_rows = rows,
                                         .n_logits = ROWS,
                                         .logits = block,
                                         .last_hidden = hidden };
        run_step(&of_head, ROWS, &a, QUIRE_OK, "");
        int32_t token = d->batch.token_ids[0];
        for (uint32_t i = 0; i < n_drafts; i++) {
            const size_t row = i + !anchor;
            token = draw(of_head.context, token, block + row * 320, hidden + row * HIDDEN);
            assert_int_equal(request->draft[i], token);
        }
        close_step(&of_base);
        close_step(&of_head);
        close_models(base, head);
        run_to_completion(e, &id, 1, &r);
        quire_engine_close(e);
    }
}

/* Costs that rise by a tenth of a row with each row, whatever the steps of the test take. */
static void set_costs(struct quire_engine *e)
{
    struct qr_step_cost cost = { .n_records = 4 };
    for (int i = 0; i < 4; i++) {
        cost.classes[i].rows = 1 << i;
        cost.classes[i].seconds = 0.9 + 0.1 * (1 << i);
        cost.classes[i].last = 4;
    }
    e->step_cost = cost;
}

/* Largest number of drafted tokens that a step verifies, if tokens of any confidence have been
 * accepted with this probability. */
static uint32_t most_verified(double accepted)
{
    static struct result r;
    const struct quire_sampling_params sampling = sampling_of(0, 5);
    const struct quire_engine_params ep = head_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = fixed(prompt, N, 40, &sampling);
    uint32_t most = 0;
    p.draft_tokens = 5;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    const quire_request_id id = submit(e, &p);
    do {
        for (int i = 0; i < QR_CONFIDENCE_RANGES; i++) {
            e->draft_model->confidence.tried[i] = 1e9;
            e->draft_model->confidence.accepted[i] = accepted * 1e9;
        }
        set_costs(e);
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        if (e->scheduler.n_running) {
            const struct qr_request *request = qr_request_of(e->scheduler.running[0]);
            most = request->n_model_draft > most ? request->n_model_draft : most;
        }
    } while (e->scheduler.n_running);
    run_to_completion(e, &id, 1, &r);
    quire_engine_close(e);
    return most;
}

/* Of a draft the tokens are verified whose acceptance pays, at least one. */
static void test_confidence(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    write_drafter("llama", true, "", "", MARKOV);
    make_prompt(1);
    assert_int_equal(most_verified(0), 1);
    assert_true(most_verified(1) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening),      cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_rows_alone),   cmocka_unit_test(test_selected),
        cmocka_unit_test(test_same_answers), cmocka_unit_test(test_block),
        cmocka_unit_test(test_confidence),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
