/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_grammar.c - constrained requests: every answer satisfies its grammar, with the same
 * tokens in every schedule; forced tokens, limits, stop conditions and hooks. */
#include "engine_grammars.h"
#include "test_dir.h"
#include <math.h>

static struct constrained alone[N_ANSWERS], together[N_ANSWERS];

/* ---- The same tokens in every schedule */

struct schedule {
    uint32_t threads, step, seqs, block, draft;
    uint64_t cache_tokens;
    bool restores;
};

static struct quire_engine *open_schedule(const struct schedule *s)
{
    struct quire_engine_params p = tiny_params();
    p.n_threads = s->threads;
    p.max_step_tokens = s->step;
    p.max_seqs = s->seqs;
    p.block_size = s->block;
    p.cache_tokens = s->cache_tokens;
    p.max_draft_tokens = s->draft;
    return open_with(&p);
}

static void assert_same_answers(void)
{
    for (uint32_t i = 0; i < N_ANSWERS; i++)
        assert_same(&alone[i].result, &together[i].result);
}

static void compute_alone(uint32_t flags)
{
    const struct schedule one = { 1, 256, 1, 64, 0, 0, false };
    struct quire_engine *e = open_schedule(&one);
    make_constrained(alone, N_ANSWERS);
    uint32_t n_whole = 0;
    for (uint32_t i = 0; i < N_ANSWERS; i++) {
        alone[i].params.flags = QUIRE_REQUEST_NO_REUSE | flags;
        generate(e, &alone[i].params, &alone[i].result);
        assert_satisfies(&grammars[i % N_GRAMMARS], &alone[i].result);
        n_whole += alone[i].result.done.reason == QUIRE_FINISH_STOP;
    }
    assert_true(n_whole > N_ANSWERS / 2);
    quire_engine_close(e);
}

static void run_schedule(const struct schedule *s, uint32_t flags, uint64_t *n_preempted,
                         uint64_t *n_accepted)
{
    char path[96];
    struct quire_cache_file_params file;
    snprintf(path, sizeof path, "%s/cache-%u", dir, flags);
    quire_cache_file_params_init(&file, sizeof file);
    file.path = path;
    for (int run = 0; run < 1 + s->restores; run++) {
        struct quire_engine *e = open_schedule(s);
        if (run == 1)
            assert_status(QUIRE_OK, quire_engine_restore_cache(e, &file, NULL, NULL));
        for (int round = 0; round < 2; round++) { /* then with a warm prefix cache */
            make_constrained(together, N_ANSWERS);
            for (uint32_t i = 0; i < N_ANSWERS; i++) {
                together[i].params.draft_tokens = s->draft;
                together[i].params.flags = flags | (s->draft ? QUIRE_REQUEST_FIXED_DRAFT : 0);
            }
            run_constrained(e, together, N_ANSWERS);
            assert_same_answers();
        }
        const struct quire_engine_stats stats = stats_of(e);
        *n_preempted += stats.n_preemptions;
        *n_accepted += stats.lookup_accepted_tokens;
        if (run == 0 && s->restores)
            assert_status(QUIRE_OK, quire_engine_save_cache(e, &file, NULL, NULL));
        quire_engine_close(e);
    }
}

static void check_schedules(uint32_t flags)
{
    static const struct schedule schedules[] = {
        { 2, 64, 6, 16, 8, 512, false }, { 1, 24, 16, 16, 0, 256, false },
        { 1, 256, 16, 64, 0, 0, false }, { 2, 64, 8, 16, 0, 0, true },
        { 2, 16, 4, 32, 0, 0, false },   { 1, 256, 16, 64, 8, 0, true },
    };
    /* the first one preempts and accepts drafts */
    const size_t n_schedules = MEMORY_SANITIZED ? 1
                               : takes_sample() ? 3
                                                : sizeof schedules / sizeof *schedules;
    uint64_t n_preempted = 0, n_accepted = 0;
    compute_alone(flags);
    for (size_t i = 0; i < n_schedules; i++)
        run_schedule(&schedules[i], flags, &n_preempted, &n_accepted);
    print_message("%llu preemptions, %llu accepted of drafts\n", (unsigned long long)n_preempted,
                  (unsigned long long)n_accepted);
    assert_true(n_preempted > 0 && n_accepted > 0);
}

static void test_schedules(void **state)
{
    (void)state;
    check_schedules(0);
}

static void test_schedules_without_fast_forward(void **state)
{
    (void)state;
    if (MEMORY_SANITIZED)
        skip(); /* takes ten minutes more */
    check_schedules(QUIRE_REQUEST_NO_FAST_FORWARD);
}

/* A draft model knows nothing of the grammar; the tokens are those without it. */
static void test_draft_model(void **state)
{
    (void)state;
    static char path[4200];
    static struct result plain[N_GRAMMARS], drafted;
    if (!need_shared())
        skip();
    snprintf(path, sizeof path, "%s/goldens/gguf/llama-bf16.gguf", shared_dir());
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.max_draft_tokens = 8;
    ep.draft_model_path = path;
    struct quire_engine *e = open_with(&ep);
    for (uint32_t i = 0; i < N_GRAMMARS; i++) {
        struct quire_sampling_params sampling;
        quire_sampling_params_init(&sampling, sizeof sampling);
        sampling.temperature = 0.7f;
        struct quire_request_params p = greedy(story, 80);
        p.sampling = &sampling;
        set_grammar(&p, &grammars[i]);
        generate(e, &p, &plain[i]);
        assert_satisfies(&grammars[i], &plain[i]);
        p.draft_tokens = 5;
        p.flags = QUIRE_REQUEST_FIXED_DRAFT;
        generate(e, &p, &drafted);
        assert_same(&plain[i], &drafted);
    }
    const struct quire_engine_stats stats = stats_of(e);
    print_message("%llu of %llu drafted tokens\n", (unsigned long long)stats.model_accepted_tokens,
                  (unsigned long long)stats.model_drafted_tokens);
    assert_true(stats.model_drafted_tokens > 0 && stats.model_accepted_tokens > 0);
    quire_engine_close(e);
}

/* ---- Several answers */

static void poll_choices(struct quire_engine *e, uint32_t n, struct result *results)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    for (size_t guard = 0, left = n; left; guard++) {
        assert_true(guard < 100000);
        assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
        if (ev.kind == QUIRE_EVENT_NONE) {
            assert_status(QUIRE_OK, quire_engine_step(e, NULL));
            continue;
        }
        append_event(&ev, &results[ev.choice]);
        results[ev.choice].done.reason = ev.reason;
        left -= ev.kind == QUIRE_EVENT_DONE;
    }
}

/* Answer i equals that of a request with stream + i. */
static void test_several_answers(void **state)
{
    (void)state;
    static struct result results[4], single;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    make_constrained(alone, N_GRAMMARS);
    for (uint32_t g = 0; g < N_GRAMMARS; g += takes_sample() ? 3 : 1) {
        struct quire_request_params p = alone[g].params;
        alone[g].sampling.temperature = 1.5f;
        memset(results, 0, sizeof results);
        p.n = 4;
        submit(e, &p);
        poll_choices(e, 4, results);
        for (uint32_t i = 0; i < 4; i++) {
            p.n = 0;
            p.stream = i;
            generate(e, &p, &single);
            assert_same(&single, &results[i]);
            assert_satisfies(&grammars[g], &results[i]);
        }
        p.stream = 0;
        p.n = 1;
        p.best_of = 3;
        memset(results, 0, sizeof results);
        submit(e, &p);
        poll_choices(e, 1, results);
        assert_satisfies(&grammars[g], &results[0]);
    }
    quire_engine_close(e);
}

/* ---- Forced tokens */

static void test_fast_forward(void **state)
{
    (void)state;
    static struct result fast, slow;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy(story, 0);
    p.n_logprobs = 2;
    set_grammar(&p, &grammars[5]);
    const uint64_t begin = stats_of(e).n_steps;
    generate(e, &p, &fast);
    const uint64_t fast_steps = stats_of(e).n_steps - begin;
    p.flags = QUIRE_REQUEST_NO_FAST_FORWARD;
    generate(e, &p, &slow);
    const uint64_t slow_steps = stats_of(e).n_steps - begin - fast_steps;
    assert_string_equal(fast.text, FORCED_TEXT);
    assert_string_equal(slow.text, FORCED_TEXT);
    print_message("%llu and %llu steps\n", (unsigned long long)fast_steps,
                  (unsigned long long)slow_steps);
    assert_true(fast_steps <= 4 && slow_steps >= fast_steps + 8);
    assert_int_equal(fast.usage.completion_tokens, fast.n_tokens);
    assert_int_equal(fast.done.reason, QUIRE_FINISH_STOP);
    /* the canonical tokens */
    int32_t ids[128];
    size_t n;
    assert_status(QUIRE_OK, quire_tokenizer_encode(e->tokenizer, FORCED_TEXT, strlen(FORCED_TEXT),
                                                   0, ids, 128, &n, NULL));
    assert_int_equal(n, fast.n_tokens);
    assert_memory_equal(ids, fast.tokens, n * sizeof *ids);
    quire_engine_close(e);
}

static void test_logprobs(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy(story, 0);
    struct quire_event ev = { .struct_size = sizeof ev };
    p.n_logprobs = 2;
    set_grammar(&p, &grammars[5]);
    const quire_request_id id = submit(e, &p);
    size_t n = 0;
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        assert_true(ev.n_tokens == 0 || ev.n_logprobs == 3);
        for (size_t i = 0; i < ev.n_tokens; i++, n++) {
            const struct quire_token_logprob *l = ev.logprobs + i * 3;
            assert_int_equal(l[0].token, ev.tokens[i]);
            if (n < 10) { /* the last one may be sampled among its beginnings */
                assert_true(l[0].logprob == 0 && l[1].logprob == 0);
                assert_true(l[1].token == l[0].token && l[2].token == -1 && isnan(l[2].logprob));
            }
        }
    } while (ev.kind != QUIRE_EVENT_DONE);
    assert_true(n > 10);
    assert_int_equal(ev.reason, QUIRE_FINISH_STOP);
    quire_engine_close(e);
}

/* A tokenizer that puts a space before texts. */
static void test_space_prefix(void **state)
{
    (void)state;
    static struct result fast, slow;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    struct quire_request_params p = greedy(story, 200);
    set_grammar(&p, &grammars[5]);
    const uint64_t begin = stats_of(e).n_steps;
    generate(e, &p, &fast);
    const uint64_t fast_steps = stats_of(e).n_steps - begin;
    p.flags = QUIRE_REQUEST_NO_FAST_FORWARD;
    generate(e, &p, &slow);
    assert_string_equal(fast.text, slow.text);
    assert_int_equal(fast.done.reason, QUIRE_FINISH_STOP);
    print_message("%llu steps\n", (unsigned long long)fast_steps);
    assert_true(fast_steps < 10);
    quire_engine_close(e);
}

/* ---- Ends */

static void test_limits(void **state)
{
    (void)state;
    static struct result r, whole;
    struct quire_engine_params ep = tiny_params();
    ep.context_length = 128;
    struct quire_engine *e = open_with(&ep);
    for (uint32_t fast = 0; fast < 2; fast++) {
        struct quire_request_params p = greedy("Hello", 0);
        set_grammar(&p, &grammars[5]);
        p.flags = fast ? 0 : QUIRE_REQUEST_NO_FAST_FORWARD;
        generate(e, &p, &whole);
        assert_int_equal(whole.done.reason, QUIRE_FINISH_STOP);
        for (uint32_t n = 1; n <= whole.n_tokens + 1; n++) {
            p.max_tokens = n;
            generate(e, &p, &r);
            const bool complete = n >= whole.n_tokens;
            assert_int_equal(r.done.reason, complete ? QUIRE_FINISH_STOP : QUIRE_FINISH_LENGTH);
            assert_int_equal(r.n_tokens, complete ? whole.n_tokens : n);
            assert_memory_equal(r.tokens, whole.tokens, r.n_tokens * sizeof(int32_t));
        }
    }
    /* a context that is full in the middle of forced text */
    struct quire_request_params p = greedy("Hello", 0);
    const struct test_grammar many = { QUIRE_GRAMMAR_REGEX, 0, "(the fox ){400}", "" };
    set_grammar(&p, &many);
    generate(e, &p, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_LENGTH);
    assert_true(r.done.context_full);
    quire_engine_close(e);
}

/* Neither min_tokens nor QUIRE_REQUEST_IGNORE_EOS makes an answer longer than its grammar. */
static void test_min_tokens(void **state)
{
    (void)state;
    static struct result r;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    make_constrained(alone, N_ANSWERS);
    for (uint32_t i = 0; i < N_ANSWERS; i++) {
        struct quire_request_params p = alone[i].params;
        if (p.grammar_kind == QUIRE_GRAMMAR_JSON_OBJECT)
            continue;
        p.min_tokens = 60;
        p.flags = i % 2 ? QUIRE_REQUEST_IGNORE_EOS : 0;
        generate(e, &p, &r);
        assert_satisfies(&grammars[i % N_GRAMMARS], &r);
    }
    /* the longest choice: an end-of-generation token behind "ok" would be shorter */
    struct quire_request_params p = greedy(story, 0);
    const struct test_grammar a = { QUIRE_GRAMMAR_REGEX, 0, "(a|ab|abc)", "^abc$" };
    set_grammar(&p, &a);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    generate(e, &p, &r);
    assert_satisfies(&a, &r);
    quire_engine_close(e);
}

static void test_stop(void **state)
{
    (void)state;
    static struct result r;
    static const char *const stop[] = { "lived" };
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy(story, 0);
    set_grammar(&p, &grammars[5]);
    p.stop = stop;
    p.n_stop = 1;
    generate(e, &p, &r);
    assert_string_equal(r.text, "Once upon a time there was a fox who ");
    assert_int_equal(r.done.reason, QUIRE_FINISH_STOP);
    p.n_stop = 0;
    const int32_t token = r.tokens[3];
    p.stop_tokens = &token;
    p.n_stop_tokens = 1;
    generate(e, &p, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_STOP);
    assert_int_equal(r.n_tokens, 3);
    quire_engine_close(e);
}

/* ---- Hooks */

static quire_status exclude_all(void *user, const struct quire_logits_args *args)
{
    (void)user;
    for (size_t i = 0; i < args->n_vocab; i++)
        args->logits[i] = -INFINITY;
    return QUIRE_OK;
}

static void assert_error(struct quire_engine *e, const struct quire_request_params *p,
                         const char *text)
{
    static struct result r;
    generate(e, p, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_ERROR);
    assert_non_null(strstr(r.done.message, text));
}

static void test_nothing_left(void **state)
{
    (void)state;
    static struct result r;
    static struct quire_logit_bias bias[3072];
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy(story, 20);
    set_grammar(&p, &grammars[2]);
    p.logits_hook = exclude_all;
    assert_error(e, &p, "excludes every token that the grammar allows");
    p.logits_hook = NULL;
    struct quire_sampling_params s = greedy_sampling;
    quire_sampling_params_init(&s, sizeof s);
    for (int32_t i = 0; i < 1024; i++)
        bias[i] = (struct quire_logit_bias){ i, -INFINITY };
    s.logit_bias = bias;
    s.n_logit_bias = 256; /* all single bytes */
    p.sampling = &s;
    set_grammar(&p, &(const struct test_grammar){ QUIRE_GRAMMAR_REGEX, 0, "[0-9]", "" });
    assert_error(e, &p, "all 3072 logits are -infinity");
    /* the engine goes on */
    p.sampling = &greedy_sampling;
    generate(e, &p, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_STOP);
    assert_true(matches("^[0-9]$", r.text));
    quire_engine_close(e);
}

/* Destroys the grammar of the request while its last event is delivered. */
struct own_grammar {
    struct quire_grammar *grammar;
    bool done;
};

static quire_status on_event(void *user, struct quire_engine *engine, const struct quire_event *ev)
{
    struct own_grammar *own = user;
    (void)engine;
    if (ev->kind != QUIRE_EVENT_DONE)
        return QUIRE_OK;
    assert_int_equal(ev->reason, QUIRE_FINISH_STOP);
    quire_grammar_destroy(own->grammar);
    own->done = true;
    return QUIRE_OK;
}

static void test_own_grammar(void **state)
{
    (void)state;
    static struct result r;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_grammar_vocab *vocab;
    struct quire_grammar_params gp;
    struct quire_grammar *grammar;
    assert_status(QUIRE_OK, quire_engine_grammar_vocab(e, &vocab, NULL));
    quire_grammar_params_init(&gp, sizeof gp);
    gp.kind = QUIRE_GRAMMAR_CHOICE;
    gp.text = grammars[3].text;
    gp.text_size = QUIRE_NUL_TERMINATED;
    assert_status(QUIRE_OK, quire_grammar_compile(vocab, &gp, &grammar, NULL));
    struct quire_request_params p = greedy(story, 20);
    p.grammar = grammar;
    p.n = 1;
    generate(e, &p, &r);
    quire_grammar_destroy(grammar);
    assert_satisfies(&grammars[3], &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_STOP);
    struct own_grammar own = { 0 };
    assert_status(QUIRE_OK, quire_grammar_compile(vocab, &gp, &own.grammar, NULL));
    p.grammar = own.grammar;
    p.event_callback = on_event;
    p.event_user = &own;
    submit(e, &p);
    while (quire_engine_active_count(e))
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_true(own.done);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_schedules, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_schedules_without_fast_forward, make_dir, remove_dir),
        cmocka_unit_test(test_draft_model),
        cmocka_unit_test(test_several_answers),
        cmocka_unit_test(test_fast_forward),
        cmocka_unit_test(test_logprobs),
        cmocka_unit_test(test_space_prefix),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_min_tokens),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_own_grammar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
