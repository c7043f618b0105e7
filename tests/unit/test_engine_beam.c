/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_beam.c - beam search against a reference that recomputes every hypothesis, and
 * against a lattice with a known best path. */
#include "beam_reference.h"
#include "beam_requests.h"

/* ---- The reference */

static void assert_reference(const struct ref_search *s, const struct result *answers)
{
    assert_int_equal(s->n_done, s->params->n);
    for (uint32_t i = 0; i < s->n_done; i++) {
        const struct ref_beam *want = &s->done[i];
        const struct result *got = &answers[i];
        const uint32_t n = want->n - (want->ended && !want->in_text);
        assert_int_equal(got->n_tokens, n);
        assert_memory_equal(got->tokens, want->tokens, n * sizeof(int32_t));
        assert_int_equal(got->usage.completion_tokens, want->n);
        assert_int_equal(got->done.reason, want->ended ? QUIRE_FINISH_STOP : QUIRE_FINISH_LENGTH);
        assert_true(fabs(got->done.cumulative_logprob - want->sum) < 1e-9);
        char text[sizeof got->text];
        size_t size;
        assert_status(QUIRE_OK, quire_tokenizer_decode(s->tokenizer, want->tokens, n,
                                                       QUIRE_DETOKENIZE_CONTINUES, text,
                                                       sizeof text - 1, &size, NULL));
        text[size] = 0;
        for (uint32_t k = 0; k < s->params->n_stop; k++)
            if (strstr(text, s->params->stop[k]))
                *strstr(text, s->params->stop[k]) = 0;
        assert_string_equal(got->text, text);
    }
}

/* Returns how many answers a stop condition ended. */
static uint32_t compare(struct quire_engine *e, const struct quire_request_params *p)
{
    static struct ref_search reference;
    static struct result answers[MAX_WIDTH];
    uint32_t n_ended = 0;
    ref_run(&reference, e, p);
    run_search(e, p, answers);
    assert_reference(&reference, answers);
    for (uint32_t i = 0; i < reference.n_done; i++)
        n_ended += reference.done[i].ended;
    return n_ended;
}

static void check_model(const char *model, uint32_t seed)
{
    static const double penalties[] = { 1, 0, 2, -0.5 };
    static const uint32_t widths[] = { 2, 4, 8 };
    struct quire_engine *e = open_small(model, MAX_WIDTH);
    int32_t stop_tokens[60];
    uint32_t n_ended = 0, n_searches = 0;
    for (int32_t i = 0; i < 60; i++)
        stop_tokens[i] = 3 + 5 * i;
    for (uint32_t w = 0; w < 3; w++)
        for (uint32_t k = 0; k < 4; k++)
            for (uint32_t stopping = 0; stopping <= QUIRE_BEAM_STOP_NEVER; stopping++) {
                fill_prompt(seed++);
                struct quire_request_params p = search(widths[w], 12);
                p.length_penalty = penalties[k];
                p.early_stopping = (enum quire_beam_stopping)stopping;
                p.stop_tokens = stop_tokens;
                p.n_stop_tokens = k % 2 ? 60 : 20;
                p.min_tokens = (w + k) % 3;
                n_ended += compare(e, &p);
                n_searches += widths[w];
            }
    assert_true(n_ended > n_searches / 10 && n_ended < n_searches);
    quire_engine_close(e);
}

static void test_reference(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_model("llama-q8_0.gguf", 1);
    check_model("gemma2_q32-q8_0.gguf", 100);
    check_model("qwen3_moe-bf16.gguf", 200);
    check_model("deepseek_v2-bf16.gguf", 300);
}

/* Stop strings, penalties, logit bias, the end of the context, IGNORE_EOS. */
static void test_options(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static const char *const stops[] = { "e", "th", "\n", "10" };
    struct quire_engine *e = open_small("llama-q8_0.gguf", MAX_WIDTH);
    fill_prompt(7);
    uint32_t n_ended = 0;
    for (uint32_t width = 2; width <= 8; width += 3) {
        struct quire_request_params p = search(width, 20);
        p.stop = stops;
        p.n_stop = 4;
        n_ended += compare(e, &p);
    }
    assert_true(n_ended > 5);
    struct quire_sampling_params sampling = greedy_sampling;
    const struct quire_logit_bias bias[] = { { 20, 3 }, { 21, -INFINITY }, { 30, -2.5f } };
    sampling.penalty_last_n = -1;
    sampling.presence_penalty = 1.5f;
    sampling.logit_bias = bias;
    sampling.n_logit_bias = 3;
    struct quire_request_params p = search(4, 15);
    p.sampling = &sampling;
    (void)compare(e, &p);
    p = search(3, 0);
    p.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_NO_REUSE;
    quire_engine_close(e);
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.context_length = PROMPT + 20;
    e = open_with(&ep);
    (void)compare(e, &p);
    static struct result answers[3];
    run_search(e, &p, answers);
    assert_int_equal(answers[0].n_tokens, 21);
    assert_true(answers[0].done.context_full);
    quire_engine_close(e);
}

/* Makes all likely tokens but one end the answer, twice. */
static quire_status narrow(void *user, const struct quire_logits_args *args)
{
    const size_t at = args->n_tokens - *(const size_t *)user;
    for (size_t i = 0; i < args->n_vocab && (at == 2 || at == 5); i++)
        args->logits[i] += i == 40 && args->choice == 0 ? 40 : i % 5 == 3 ? 35 : 0;
    return QUIRE_OK;
}

/* Few beams are left, then many again. */
static void test_narrow(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const size_t n_prompt = PROMPT;
    int32_t stop_tokens[60];
    struct quire_engine *e = open_small("llama-q8_0.gguf", MAX_WIDTH);
    for (int32_t i = 0; i < 60; i++)
        stop_tokens[i] = 3 + 5 * i;
    for (uint32_t width = 2; width <= 8; width += 2) {
        fill_prompt(width);
        struct quire_request_params p = search(width, 10);
        p.logits_hook = narrow;
        p.logits_hook_user = (void *)(uintptr_t)&n_prompt;
        p.stop_tokens = stop_tokens;
        p.n_stop_tokens = 60;
        p.length_penalty = 6;
        p.early_stopping = QUIRE_BEAM_STOP_NEVER;
        (void)compare(e, &p);
    }
    quire_engine_close(e);
}

/* ---- A lattice */

/* Tokens 10 .. 13 with fixed probabilities by the token before: the likely first token leads to
 * unlikely ones. */
static quire_status lattice(void *user, const struct quire_logits_args *args)
{
    static const struct {
        int32_t before;
        double p10, p11, p12, p13;
    } edges[] = { { -1, 0.5, 0.4, 0.1, 0 },
                  { 10, 0.25, 0.25, 0.25, 0.25 },
                  { 11, 0.05, 0.05, 0.9, 0 },
                  { 12, 0.1, 0.1, 0.2, 0.6 },
                  { 13, 0.25, 0.25, 0.25, 0.25 } };
    const size_t *n_prompt = user;
    const int32_t before = args->n_tokens > *n_prompt ? args->tokens[args->n_tokens - 1] : -1;
    for (size_t i = 0; i < args->n_vocab; i++)
        args->logits[i] = -INFINITY;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        if (edges[i].before == before) {
            args->logits[10] = (float)log(edges[i].p10);
            args->logits[11] = (float)log(edges[i].p11);
            args->logits[12] = (float)log(edges[i].p12);
            args->logits[13] = (float)log(edges[i].p13);
        }
    return QUIRE_OK;
}

static quire_status all_equal(void *user, const struct quire_logits_args *args)
{
    (void)user;
    for (size_t i = 0; i < args->n_vocab; i++)
        args->logits[i] = i == 10 || i == 11 ? 0 : -INFINITY;
    return QUIRE_OK;
}

static void test_lattice(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result answers[3];
    const size_t n_prompt = PROMPT;
    struct quire_engine *e = open_small("llama-q8_0.gguf", 4);
    fill_prompt(3);
    struct quire_request_params p = search(3, 3);
    p.logits_hook = lattice;
    p.logits_hook_user = (void *)(uintptr_t)&n_prompt;
    run_search(e, &p, answers);
    /* 0.4 * 0.9 * 0.6, 0.5 * 0.25 * 0.9 and 0.4 * 0.9 * 0.2. A wider search would find 10 12 13
     * with 0.075: of the equal 10 10 .. 10 13 the first two are kept. */
    static const int32_t best[3][3] = { { 11, 12, 13 }, { 10, 11, 12 }, { 11, 12, 12 } };
    static const double probability[3] = { 0.216, 0.1125, 0.072 };
    for (uint32_t i = 0; i < 3; i++) {
        assert_memory_equal(answers[i].tokens, best[i], sizeof best[i]);
        assert_true(fabs(answers[i].done.cumulative_logprob - log(probability[i])) < 1e-6);
    }
    /* greedy takes the likely first token */
    struct result greedy_answer;
    p.beam_width = p.n = 0;
    generate(e, &p, &greedy_answer);
    assert_int_equal(greedy_answer.tokens[0], 10);
    /* ties: by the rank of the beam, then by the token; of equal scores the earlier answer */
    p.beam_width = p.n = 3;
    p.logits_hook = all_equal;
    run_search(e, &p, answers);
    static const int32_t equal[3][3] = { { 10, 10, 10 }, { 10, 10, 11 }, { 10, 11, 10 } };
    for (uint32_t i = 0; i < 3; i++)
        assert_memory_equal(answers[i].tokens, equal[i], sizeof equal[i]);
    quire_engine_close(e);
}

/* One token is possible at a time: fewer answers than requested. */
static quire_status only_one(void *user, const struct quire_logits_args *args)
{
    (void)user;
    for (size_t i = 0; i < args->n_vocab; i++)
        args->logits[i] = i == 40 ? 0 : -INFINITY;
    return QUIRE_OK;
}

static quire_status fail_third(void *user, const struct quire_logits_args *args)
{
    (void)args;
    return ++*(int *)user == 8 ? QUIRE_E_IO : QUIRE_OK;
}

static quire_status write_nan(void *user, const struct quire_logits_args *args)
{
    if (++*(int *)user == 5)
        args->logits[7] = NAN;
    return QUIRE_OK;
}

static void test_hooks(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result answers[3];
    int calls = 0;
    struct quire_engine *e = open_small("llama-q8_0.gguf", 4);
    fill_prompt(3);
    struct quire_request_params p = search(3, 6);
    p.logits_hook = only_one;
    run_search(e, &p, answers);
    assert_int_equal(answers[0].n_tokens, 6);
    assert_int_equal(answers[0].done.reason, QUIRE_FINISH_LENGTH);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(answers[i].done.reason, QUIRE_FINISH_ERROR);
        assert_int_equal(answers[i].done.status, QUIRE_E_RANGE);
        assert_non_null(strstr(answers[i].done.message_data, "1 answers"));
    }
    p.logits_hook_user = &calls;
    p.logits_hook = fail_third;
    run_search(e, &p, answers);
    for (int i = 0; i < 3; i++)
        assert_int_equal(answers[i].done.status, QUIRE_E_IO);
    calls = 0;
    p.logits_hook = write_nan;
    run_search(e, &p, answers);
    for (int i = 0; i < 3; i++)
        assert_int_equal(answers[i].done.status, QUIRE_E_NUMERIC);
    quire_engine_close(e);
}

/* ---- Events */

/* Log-probabilities of the tokens of an answer sum up to that of the answer, and an echoed prompt
 * has its own. */
static void test_logprobs(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { WIDTH = 4 };
    double sums[WIDTH] = { 0 };
    uint32_t n[WIDTH] = { 0 };
    struct quire_engine *e = open_small("gemma2_q32-q8_0.gguf", 4);
    fill_prompt(11);
    struct quire_request_params p = search(WIDTH, 9);
    p.flags = QUIRE_REQUEST_ECHO | QUIRE_REQUEST_IGNORE_EOS;
    p.n_logprobs = 2;
    const quire_request_id id = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    for (uint32_t done = 0; done < WIDTH; done += ev.kind == QUIRE_EVENT_DONE) {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        for (size_t i = 0; i < ev.n_tokens; i++) {
            const struct quire_token_logprob *l = ev.logprobs + i * 3;
            const uint32_t at = n[ev.choice]++;
            assert_int_equal(ev.n_logprobs, 3);
            assert_int_equal(l->token, ev.tokens[i]);
            assert_true(isnan(l->logprob) == (at == 0));
            assert_true(at == 0 || (l[1].logprob >= l[0].logprob && l[1].logprob >= l[2].logprob));
            sums[ev.choice] += at < PROMPT ? 0 : l->logprob;
        }
        if (ev.kind == QUIRE_EVENT_DONE) {
            assert_int_equal(n[ev.choice], PROMPT + 9);
            assert_true(fabs(ev.cumulative_logprob - sums[ev.choice]) < 1e-5);
        }
    }
    assert_all_free(e);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_options),
        cmocka_unit_test(test_narrow),    cmocka_unit_test(test_lattice),
        cmocka_unit_test(test_hooks),     cmocka_unit_test(test_logprobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
