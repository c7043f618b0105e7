/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_grammar_bad.c - bad arguments of constrained requests, which change nothing; the
 * engine's cache of compiled grammars. */
#include "engine_grammars.h"
#include <pthread.h>

/* The request is refused with a message that begins with `text`, and the engine is unchanged. */
static void assert_refused(struct quire_engine *e, const struct quire_request_params *p,
                           quire_status status, const char *text)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_request_id id = 1;
    const uint32_t n_free = e->n_free;
    assert_status(status, quire_engine_submit(e, p, &id, &err));
    if (strncmp(err.msg, text, strlen(text)) != 0)
        fail_msg("\"%s\" instead of \"%s\"", err.msg, text);
    assert_true(id == 0);
    assert_int_equal(e->n_free, n_free);
    assert_int_equal(quire_engine_active_count(e), 0);
}

static struct quire_request_params request(enum quire_grammar_kind kind, const char *text)
{
    struct quire_request_params p = greedy("Hello", 30);
    set_grammar(&p, &(const struct test_grammar){ kind, 0, text, "" });
    return p;
}

static struct quire_grammar *compile_for(struct quire_grammar_vocab *vocab)
{
    struct quire_grammar_params gp;
    struct quire_grammar *grammar;
    quire_grammar_params_init(&gp, sizeof gp);
    assert_status(QUIRE_OK, quire_grammar_compile(vocab, &gp, &grammar, NULL));
    return grammar;
}

static void test_fields(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_grammar_vocab *vocab, *other;
    static struct result r;
    assert_status(QUIRE_OK, quire_engine_grammar_vocab(e, &vocab, NULL));
    struct quire_grammar *grammar = compile_for(vocab);
    struct quire_request_params p = request(QUIRE_GRAMMAR_REGEX, "[ab]");
    p.grammar = grammar;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "give one of grammar and has_grammar");
    quire_grammar_destroy(grammar);

    p = request(QUIRE_GRAMMAR_REGEX, "[ab]");
    p.has_grammar = false;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "grammar_text is given without has_grammar");
    p.grammar_text = NULL;
    p.grammar_flags = QUIRE_GRAMMAR_COMPACT;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "grammar_flags is given without has_grammar");

    p = request(QUIRE_GRAMMAR_STRUCTURAL_TAG + 1, "x");
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "grammar_kind 7 is unknown");
    p = request(QUIRE_GRAMMAR_REGEX, "x");
    p.grammar_flags = 1u << 9;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "grammar_flags 0x200 has unknown bits");
    p = request(QUIRE_GRAMMAR_REGEX, NULL);
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "grammar_text is NULL");

    p = request(QUIRE_GRAMMAR_REGEX, "[ab]");
    p.beam_width = 2;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "beam_width is not combined with a grammar");
    p.beam_width = 0;
    p.flags = QUIRE_REQUEST_PROMPT_ONLY;
    p.max_tokens = 0;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG,
                   "QUIRE_REQUEST_PROMPT_ONLY is not combined with a grammar");
    p = request(QUIRE_GRAMMAR_REGEX, "[ab]");
    p.task = QUIRE_TASK_EMBED;
    p.max_tokens = 0;
    p.sampling = NULL;
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "task is not combined with a grammar");

    /* a grammar of another vocabulary */
    assert_status(QUIRE_OK, quire_grammar_vocab_create(e->tokenizer, NULL, &other, NULL));
    p = greedy("Hello", 30);
    p.grammar = grammar = compile_for(other);
    assert_refused(e, &p, QUIRE_E_INVALID_ARG, "grammar was not compiled for");
    quire_grammar_destroy(grammar);
    quire_grammar_vocab_destroy(other);

    p = request(QUIRE_GRAMMAR_REGEX, "[ab]");
    generate(e, &p, &r);
    assert_true(matches("^[ab]$", r.text));
    quire_engine_close(e);
}

static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        enum quire_grammar_kind kind;
        const char *text;
    } cases[] = {
        { QUIRE_GRAMMAR_JSON_SCHEMA, "{" },
        { QUIRE_GRAMMAR_JSON_SCHEMA, "[]" },
        { QUIRE_GRAMMAR_JSON_SCHEMA, "{\"type\":\"strng\"}" },
        { QUIRE_GRAMMAR_JSON_SCHEMA, "{\"$ref\":\"#/nowhere\"}" },
        { QUIRE_GRAMMAR_JSON_SCHEMA, "false" },
        { QUIRE_GRAMMAR_REGEX, "(" },
        { QUIRE_GRAMMAR_REGEX, "\xff" },
        { QUIRE_GRAMMAR_CHOICE, "[1]" },
        { QUIRE_GRAMMAR_CHOICE, "[]" },
        { QUIRE_GRAMMAR_GBNF, "root ::= nothing" },
        { QUIRE_GRAMMAR_LARK, "start: nothing" },
        { QUIRE_GRAMMAR_STRUCTURAL_TAG, "{}" },
    };
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        quire_request_id id = 1;
        const uint32_t n_free = e->n_free;
        struct quire_request_params p = request(cases[i].kind, cases[i].text);
        p.n = 1 + (uint32_t)i % 3;
        const quire_status s = quire_engine_submit(e, &p, &id, &err);
        if ((s != QUIRE_E_INVALID_ARG && s != QUIRE_E_UNSUPPORTED) ||
            strncmp(err.msg, "grammar_text: ", 14) != 0)
            fail_msg("%s: %s: %s", cases[i].text, quire_status_name(s), err.msg);
        assert_true(id == 0 && e->n_free == n_free && e->grammars.n == 0);
    }
    quire_engine_close(e);
}

static void test_vocab_arguments(void **state)
{
    (void)state;
    const struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar_vocab *vocab = (void *)e, *again;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_grammar_vocab(NULL, &vocab, &err));
    assert_null(vocab);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_grammar_vocab(e, NULL, &err));
    assert_string_equal(err.msg, "out is NULL");
    assert_status(QUIRE_OK, quire_engine_grammar_vocab(e, &vocab, &err));
    assert_status(QUIRE_OK, quire_engine_grammar_vocab(e, &again, NULL));
    assert_ptr_equal(vocab, again);
    quire_engine_close(e);
}

/* ---- The cache of compiled grammars */

static void submit_schema(struct quire_engine *e, unsigned number, struct result *r)
{
    char text[96];
    snprintf(text, sizeof text, "{\"const\":\"number %u\"}", number);
    const struct quire_request_params p = request(QUIRE_GRAMMAR_JSON_SCHEMA, text);
    generate(e, &p, r);
    snprintf(text, sizeof text, "\"number %u\"", number);
    assert_int_equal(r->done.reason, QUIRE_FINISH_STOP);
    assert_non_null(strstr(r->text, text));
}

/* Unused grammars leave the cache, used ones stay, and closing frees the rest. */
static void test_eviction(void **state)
{
    (void)state;
    static struct result r;
    struct fail_alloc alloc;
    fail_alloc_init(&alloc, 0, false);
    struct quire_engine_params ep = tiny_params();
    ep.allocator = &alloc.hooks;
    struct quire_engine *e = open_with(&ep);
    const struct quire_request_params held = request(QUIRE_GRAMMAR_REGEX, "[xy]{2}");
    struct qr_shared_grammar *first, *again;
    assert_status(QUIRE_OK, qr_grammar_cache_acquire(&e->grammars, &held, &first, NULL));
    for (unsigned i = 0; i < 100; i++) {
        char text[96];
        quire_request_id unused;
        snprintf(text, sizeof text, "{\"const\":\"number %u\"}", i);
        const struct quire_request_params p = request(QUIRE_GRAMMAR_JSON_SCHEMA, text);
        assert_status(QUIRE_OK, quire_engine_submit(e, &p, &unused, NULL));
        assert_status(QUIRE_OK, quire_request_cancel(e, unused));
        struct quire_event ev = { .struct_size = sizeof ev };
        do
            assert_status(QUIRE_OK, quire_engine_wait(e, unused, -1, &ev, NULL));
        while (ev.kind != QUIRE_EVENT_DONE);
        assert_true(e->grammars.n <= 33);
    }
    assert_status(QUIRE_OK, qr_grammar_cache_acquire(&e->grammars, &held, &again, NULL));
    assert_ptr_equal(first, again);
    qr_grammar_cache_release(&e->grammars, first);
    generate(e, &held, &r);
    assert_true(matches("^[xy]{2}$", r.text));
    assert_int_equal(first->refs, 1);
    qr_grammar_cache_release(&e->grammars, again);
    assert_int_equal(first->refs, 0);
    for (unsigned i = 0; i < 100; i += 9)
        submit_schema(e, i, &r);
    assert_true(e->grammars.n <= 33 && e->grammars.n > 20);
    quire_engine_close(e);
    assert_int_equal(alloc.live_bytes, 0);
    assert_int_equal(alloc.live_count, 0);
}

static void test_close_in_use(void **state)
{
    (void)state;
    struct fail_alloc alloc;
    fail_alloc_init(&alloc, 0, false);
    struct quire_engine_params ep = tiny_params();
    ep.allocator = &alloc.hooks;
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = request(QUIRE_GRAMMAR_JSON_SCHEMA, ANIMAL_SCHEMA);
    p.n = 3;
    submit(e, &p);
    for (int i = 0; i < 4; i++)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    submit(e, &p);
    quire_engine_close(e);
    assert_int_equal(alloc.live_bytes, 0);
}

/* Allocations of submissions fail one after the other: an error, or none where the memory is
 * optional, and no leak. */
static void test_no_memory(void **state)
{
    (void)state;
    static struct result r;
    struct fail_alloc alloc;
    fail_alloc_init(&alloc, 0, false);
    struct quire_engine_params ep = tiny_params();
    ep.allocator = &alloc.hooks;
    struct quire_engine *e = open_with(&ep);
    size_t n_failed = 0;
    for (size_t n = 1;; n++) {
        char text[64];
        quire_request_id id;
        snprintf(text, sizeof text, "[\"a%zu\",\"b%zu\"]", n, n);
        const struct quire_request_params p = request(QUIRE_GRAMMAR_CHOICE, text);
        alloc.calls = 0;
        alloc.fail_at = n;
        const quire_status s = quire_engine_submit(e, &p, &id, NULL);
        const bool all = alloc.calls < n;
        alloc.fail_at = 0;
        if (s == QUIRE_OK) {
            run_one(e, id, &r);
            assert_int_equal(r.done.reason, QUIRE_FINISH_STOP);
        } else {
            assert_int_equal(s, QUIRE_E_NOMEM);
            n_failed++;
        }
        assert_int_equal(quire_engine_active_count(e), 0);
        if (all)
            break;
    }
    assert_true(n_failed > 20);
    quire_engine_close(e);
    assert_int_equal(alloc.live_bytes, 0);
}

struct submitter {
    pthread_t thread;
    struct quire_engine *engine;
    quire_status status;
    quire_request_id ids[8];
};

static void *submit_many(void *user)
{
    struct submitter *s = user;
    const struct quire_request_params p = request(QUIRE_GRAMMAR_JSON_SCHEMA, ANIMAL_SCHEMA);
    for (int i = 0; i < 8 && s->status == QUIRE_OK; i++)
        s->status = quire_engine_submit(s->engine, &p, &s->ids[i], NULL);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static struct result results[32];
    static struct submitter submitters[4];
    quire_request_id ids[32];
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    for (int i = 0; i < 4; i++) {
        submitters[i] = (struct submitter){ .engine = e };
        assert_int_equal(pthread_create(&submitters[i].thread, NULL, submit_many, &submitters[i]),
                         0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(submitters[i].thread, NULL);
        assert_status(QUIRE_OK, submitters[i].status);
        memcpy(ids + i * 8, submitters[i].ids, sizeof submitters[i].ids);
    }
    assert_int_equal(e->grammars.n, 1);
    run_to_completion(e, ids, 32, results);
    for (int i = 0; i < 32; i++)
        assert_same(&results[0], &results[i]);
    assert_int_equal(e->grammars.first->refs, 0);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),          cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_vocab_arguments), cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_close_in_use),    cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
