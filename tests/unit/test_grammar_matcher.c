/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_matcher.c - the calls of quire/grammar.h on a small vocabulary: masks against
 * commits of every token, rollback, clone, trim, forced text, arguments, threads, limits. */
#include "test_tokenizer.h"
#include <math.h>
#include <pthread.h>
#include <quire/grammar.h>

enum { STEPS = 40, MAX_VOCAB = 512, WORDS = MAX_VOCAB / 32 };

static struct quire_tokenizer *tok;
static struct quire_grammar_vocab *vocab;
static size_t n_tokens, n_words;
static int32_t eos;

static int set_up(void **state)
{
    static const char *const pieces[] = { "{\"", "\":", "true", "\"}",  "},",    "name",
                                          "ab",  "[1",  "12",   "null", "\",\"", "aa" };
    (void)state;
    struct vocab *words = byte_vocab("gpt-2");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        add_token(words, pieces[i], QUIRE_TOKEN_NORMAL);
    eos = add_token(words, "<end>", QUIRE_TOKEN_CONTROL);
    add_token(words, "<call>", QUIRE_TOKEN_CONTROL);
    words->spec.special[QUIRE_SPECIAL_EOS] = eos;
    tok = build(words);
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_int_equal(quire_grammar_vocab_create(tok, NULL, &vocab, &err), QUIRE_OK);
    n_tokens = quire_tokenizer_vocab_size(tok);
    n_words = quire_grammar_mask_words(vocab);
    assert_true(n_words == (n_tokens + 31) / 32 && n_words <= WORDS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    quire_grammar_vocab_destroy(vocab);
    quire_tokenizer_close(tok);
    return 0;
}

static struct quire_grammar *compile(enum quire_grammar_kind kind, const char *text)
{
    struct quire_grammar_params p;
    struct quire_grammar *g = NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_grammar_params_init(&p, sizeof p);
    p.kind = kind;
    p.text = text;
    if (quire_grammar_compile(vocab, &p, &g, &err) != QUIRE_OK)
        fail_msg("%s: %s", text ? text : "(object)", err.msg);
    return g;
}

static struct quire_grammar_matcher *matcher_of(struct quire_grammar *g)
{
    struct quire_grammar_matcher *m = NULL;
    assert_int_equal(quire_grammar_matcher_create(g, &m, NULL), QUIRE_OK);
    return m;
}

static bool allowed(const uint32_t *mask, int32_t token)
{
    return mask[token / 32] >> (token % 32) & 1;
}

static void get_mask(struct quire_grammar_matcher *m, uint32_t *mask)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (quire_grammar_matcher_mask(m, mask, n_words, &err) != QUIRE_OK)
        fail_msg("mask: %s", err.msg);
}

/* Compares the mask with the check of every token, and picks one of the allowed ones; -1 if only
 * the end is allowed. */
static int32_t compare_mask(struct quire_grammar_matcher *m, uint32_t *random)
{
    uint32_t mask[WORDS];
    int32_t pick = -1;
    unsigned n = 0;
    get_mask(m, mask);
    for (int32_t t = 0; t < (int32_t)n_tokens; t++) {
        if (t == eos) {
            assert_int_equal(allowed(mask, t), quire_grammar_matcher_can_end(m));
            continue;
        }
        assert_int_equal(quire_grammar_matcher_check(m, &t, 1), allowed(mask, t));
        if (allowed(mask, t) && next_random(random) % ++n == 0)
            pick = t;
    }
    assert_int_equal(quire_grammar_matcher_must_end(m), n == 0 && quire_grammar_matcher_can_end(m));
    assert_true(n || quire_grammar_matcher_can_end(m));
    return pick;
}

static const struct {
    enum quire_grammar_kind kind;
    const char *text;
} grammars[] = {
    { QUIRE_GRAMMAR_JSON_OBJECT, NULL },
    { QUIRE_GRAMMAR_JSON_SCHEMA,
      "{\"type\":\"object\",\"properties\":{\"name\":{\"enum\":[\"ab\",\"aab\"]},\"n\":{\"type\":"
      "\"integer\",\"maximum\":120},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"null\"},"
      "\"maxItems\":2}},\"required\":[\"name\"],\"additionalProperties\":false}" },
    { QUIRE_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^(ab|a{2,5})*$\"}" },
    { QUIRE_GRAMMAR_REGEX, "(name|nam)(e?ab)*12" },
    { QUIRE_GRAMMAR_CHOICE, "[\"true\",\"truename\",\"null\"]" },
    { QUIRE_GRAMMAR_LARK, "start: \"a\" start \"b\" | \"12\" | <call>" },
    { QUIRE_GRAMMAR_STRUCTURAL_TAG,
      "{\"type\":\"structural_tag\",\"format\":{\"type\":\"regex\",\"pattern\":\"[ab]+\"}}" },
    { QUIRE_GRAMMAR_GBNF, "root ::= \"a\" root? \"b\" | [0-9]+" },
};
enum { N_GRAMMARS = sizeof grammars / sizeof *grammars };

static void masks(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (size_t i = 0; i < N_GRAMMARS; i++) {
        struct quire_grammar *g = compile(grammars[i].kind, grammars[i].text);
        for (int run = 0; run < 8; run++) {
            struct quire_grammar_matcher *m = matcher_of(g);
            for (int step = 0; step < STEPS; step++) {
                const int32_t t = compare_mask(m, &random);
                if (t < 0)
                    break;
                assert_int_equal(quire_grammar_matcher_commit(m, &t, 1, NULL), QUIRE_OK);
            }
            quire_grammar_matcher_destroy(m);
        }
        quire_grammar_destroy(g);
    }
}

/* Every state is the same after it was left and taken back, in a clone, and after trim. */
static void history(void **state)
{
    (void)state;
    uint32_t random = 3, before[STEPS + 1][WORDS], mask[WORDS];
    for (size_t i = 0; i < N_GRAMMARS; i++) {
        struct quire_grammar *g = compile(grammars[i].kind, grammars[i].text);
        struct quire_grammar_matcher *m = matcher_of(g), *copy;
        int32_t tokens[STEPS];
        size_t n = 0;
        get_mask(m, before[0]);
        while (n < STEPS && (tokens[n] = compare_mask(m, &random)) >= 0) {
            assert_int_equal(quire_grammar_matcher_commit(m, &tokens[n], 1, NULL), QUIRE_OK);
            get_mask(m, before[++n]);
        }
        assert_int_equal(quire_grammar_matcher_clone(m, &copy, NULL), QUIRE_OK);
        get_mask(copy, mask);
        assert_memory_equal(mask, before[n], n_words * sizeof *mask);
        assert_int_equal(quire_grammar_matcher_rollback(copy, 1, NULL), QUIRE_E_RANGE);
        quire_grammar_matcher_destroy(copy);
        for (size_t back = n; back-- > 0;) {
            assert_int_equal(quire_grammar_matcher_rollback(m, 1, NULL), QUIRE_OK);
            get_mask(m, mask);
            assert_memory_equal(mask, before[back], n_words * sizeof *mask);
        }
        assert_int_equal(quire_grammar_matcher_rollback(m, 1, NULL), QUIRE_E_RANGE);
        assert_int_equal(quire_grammar_matcher_check(m, tokens, n), n);
        assert_int_equal(quire_grammar_matcher_commit(m, tokens, n, NULL), QUIRE_OK);
        quire_grammar_matcher_trim(m, 1);
        get_mask(m, mask);
        assert_memory_equal(mask, before[n], n_words * sizeof *mask);
        if (n > 1)
            assert_int_equal(quire_grammar_matcher_rollback(m, 2, NULL), QUIRE_E_RANGE);
        if (n)
            assert_int_equal(quire_grammar_matcher_rollback(m, 1, NULL), QUIRE_OK);
        quire_grammar_matcher_destroy(m);
        quire_grammar_destroy(g);
    }
}

static void commits(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar *g = compile(QUIRE_GRAMMAR_CHOICE, "[\"abc\",\"abd\"]");
    struct quire_grammar_matcher *m = matcher_of(g);
    const int32_t bad[] = { 'a', 'b', 'x' }, outside[] = { (int32_t)n_tokens }, negative[] = { -1 };
    uint32_t before[WORDS], after[WORDS];
    get_mask(m, before);
    assert_int_equal(quire_grammar_matcher_check(m, bad, 3), 2);
    assert_int_equal(quire_grammar_matcher_commit(m, bad, 3, &err), QUIRE_E_MISMATCH);
    assert_non_null(strstr(err.msg, "2"));
    assert_int_equal(quire_grammar_matcher_commit(m, outside, 1, &err), QUIRE_E_RANGE);
    assert_int_equal(quire_grammar_matcher_commit(m, negative, 1, &err), QUIRE_E_RANGE);
    assert_int_not_equal(quire_grammar_matcher_commit(m, &eos, 1, &err), QUIRE_OK);
    get_mask(m, after);
    assert_memory_equal(before, after, n_words * sizeof *before);
    assert_int_equal(quire_grammar_matcher_commit(m, bad, 0, &err), QUIRE_OK);
    quire_grammar_matcher_destroy(m);
    quire_grammar_destroy(g);
}

static void forced(void **state)
{
    (void)state;
    struct quire_grammar *g = compile(QUIRE_GRAMMAR_CHOICE, "[\"name: ab12\",\"name: ab13\"]");
    struct quire_grammar_matcher *m = matcher_of(g);
    char bytes[32];
    size_t n;
    int32_t tokens[32];
    assert_int_equal(quire_grammar_matcher_forced_bytes(m, bytes, sizeof bytes, &n, NULL),
                     QUIRE_OK);
    assert_int_equal(n, 9);
    assert_memory_equal(bytes, "name: ab1", 9);
    assert_int_equal(quire_grammar_matcher_forced_bytes(m, bytes, 3, &n, NULL), QUIRE_OK);
    assert_int_equal(n, 3);
    assert_int_equal(quire_grammar_matcher_forced_tokens(m, NULL, 0, tokens, 32, &n, NULL),
                     QUIRE_OK);
    assert_int_equal(quire_grammar_matcher_check(m, tokens, n), n);
    assert_int_equal(quire_grammar_matcher_commit(m, tokens, n, NULL), QUIRE_OK);
    const int32_t end[] = { '3' };
    while (quire_grammar_matcher_commit(m, end, 1, NULL) != QUIRE_OK) {
        assert_int_equal(quire_grammar_matcher_forced_bytes(m, bytes, 1, &n, NULL), QUIRE_OK);
        assert_int_equal(n, 1);
        const int32_t t = (uint8_t)bytes[0];
        assert_int_equal(quire_grammar_matcher_commit(m, &t, 1, NULL), QUIRE_OK);
    }
    assert_true(quire_grammar_matcher_can_end(m) && quire_grammar_matcher_must_end(m));
    assert_int_equal(quire_grammar_matcher_forced_bytes(m, bytes, 1, &n, NULL), QUIRE_OK);
    assert_int_equal(n, 0);
    quire_grammar_matcher_destroy(m);
    quire_grammar_destroy(g);
}

static void logits(void **state)
{
    (void)state;
    const uint32_t mask[2] = { 0x80000001u, 2 };
    float x[70];
    for (int i = 0; i < 70; i++)
        x[i] = (float)i;
    quire_grammar_apply_mask(mask, 2, x, 70);
    for (int i = 0; i < 70; i++)
        assert_true(i == 0 || i == 31 || i == 33 ? x[i] == (float)i : x[i] == -INFINITY);
    /* sizes around words, logits without a bit, bits without a logit */
    for (size_t n = 0; n <= 70; n++) {
        for (size_t i = 0; i < 70; i++)
            x[i] = (float)i;
        quire_grammar_apply_mask(mask, n % 3, x, n);
        for (size_t i = 0; i < 70; i++) {
            const bool has_bit = i / 32 < n % 3 && mask[i / 32] >> (i % 32) & 1;
            assert_true(i >= n || has_bit ? x[i] == (float)i : x[i] == -INFINITY);
        }
    }
    quire_grammar_apply_mask(NULL, 2, x, 70);
    quire_grammar_apply_mask(mask, 2, NULL, 70);
}

static void arguments(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar_params p;
    struct quire_grammar *g = NULL;
    struct quire_grammar_matcher *m = NULL, *other = NULL;
    struct quire_grammar_vocab *v = NULL;
    quire_grammar_params_init(NULL, 0);
    quire_grammar_params_init(&p, sizeof p);
    assert_int_equal(p.kind, QUIRE_GRAMMAR_JSON_OBJECT);
    assert_int_equal(quire_grammar_vocab_create(NULL, NULL, &v, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_vocab_create(tok, NULL, NULL, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_compile(NULL, &p, &g, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_compile(vocab, NULL, &g, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_compile(vocab, &p, NULL, &err), QUIRE_E_INVALID_ARG);
    p.kind = QUIRE_GRAMMAR_JSON_SCHEMA;
    p.text = NULL;
    assert_int_equal(quire_grammar_compile(vocab, &p, &g, &err), QUIRE_E_INVALID_ARG);
    p.text = "{}";
    p.flags = 1u << 31;
    assert_int_equal(quire_grammar_compile(vocab, &p, &g, &err), QUIRE_E_INVALID_ARG);
    p.flags = 0;
    p.max_seconds = -1;
    assert_int_equal(quire_grammar_compile(vocab, &p, &g, &err), QUIRE_E_INVALID_ARG);
    p.max_seconds = 0;
    p.max_bytes = 8192;
    assert_int_equal(quire_grammar_compile(vocab, &p, &g, &err), QUIRE_E_LIMIT);
    p.max_bytes = 0;
    p.struct_size = 4;
    assert_int_equal(quire_grammar_compile(vocab, &p, &g, &err), QUIRE_E_MISUSE);
    assert_null(g);
    assert_int_equal(quire_grammar_matcher_create(NULL, &m, &err), QUIRE_E_INVALID_ARG);
    g = compile(QUIRE_GRAMMAR_JSON_OBJECT, NULL);
    assert_int_equal(quire_grammar_matcher_create(g, NULL, &err), QUIRE_E_INVALID_ARG);
    m = matcher_of(g);
    uint32_t mask[WORDS];
    size_t n;
    char c;
    assert_int_equal(quire_grammar_matcher_mask(m, NULL, n_words, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_matcher_mask(m, mask, n_words - 1, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_matcher_commit(m, NULL, 1, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_matcher_clone(NULL, &other, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_matcher_forced_bytes(m, &c, 1, NULL, &err), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_grammar_matcher_forced_bytes(m, NULL, 1, &n, &err), QUIRE_E_INVALID_ARG);
    struct quire_grammar_info info = { .struct_size = sizeof info };
    assert_int_equal(quire_grammar_get_info(g, &info), QUIRE_OK);
    assert_true(info.bytes > 0 && info.compile_seconds >= 0);
    assert_int_equal(quire_grammar_get_info(g, NULL), QUIRE_E_INVALID_ARG);
    quire_grammar_matcher_destroy(m);
    quire_grammar_destroy(g);
    quire_grammar_matcher_destroy(NULL);
    quire_grammar_destroy(NULL);
    quire_grammar_vocab_destroy(NULL);
}

/* Matchers of one grammar in two threads. */
static void *walk(void *grammar)
{
    uint32_t mask[WORDS];
    for (uint32_t run = 1; run < 40; run++) {
        struct quire_grammar_matcher *m;
        uint32_t random = run;
        if (quire_grammar_matcher_create(grammar, &m, NULL) != QUIRE_OK)
            return grammar;
        for (int step = 0; step < STEPS; step++) {
            if (quire_grammar_matcher_mask(m, mask, n_words, NULL) != QUIRE_OK)
                return grammar;
            int32_t pick = -1;
            unsigned n = 0;
            for (int32_t t = 0; t < (int32_t)n_tokens; t++)
                if (t != eos && allowed(mask, t) && next_random(&random) % ++n == 0)
                    pick = t;
            if (pick < 0)
                break;
            if (quire_grammar_matcher_commit(m, &pick, 1, NULL) != QUIRE_OK)
                return grammar;
        }
        quire_grammar_matcher_destroy(m);
    }
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    struct quire_grammar *g = compile(grammars[1].kind, grammars[1].text);
    pthread_t list[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&list[i], NULL, walk, g), 0);
    for (int i = 0; i < 2; i++) {
        void *failed = g;
        assert_int_equal(pthread_join(list[i], &failed), 0);
        assert_null(failed);
    }
    quire_grammar_destroy(g);
}

/* ---- Limits ---- */

/* Hooks that remember how many bytes were in use at most. */
struct peak_alloc {
    struct fail_alloc f;
    struct quire_allocator hooks;
    size_t peak;
};

static void *peak_get(void *user, size_t size, size_t align)
{
    struct peak_alloc *a = user;
    void *p = fail_alloc_get(&a->f, size, align);
    a->peak = a->f.live_bytes > a->peak ? a->f.live_bytes : a->peak;
    return p;
}

static void peak_put(void *user, void *p, size_t size)
{
    fail_alloc_put(&((struct peak_alloc *)user)->f, p, size);
}

static quire_status compile_limited(const struct peak_alloc *a, size_t i, uint64_t max_bytes,
                                    struct quire_grammar **g, struct quire_error *err)
{
    struct quire_grammar_params p;
    quire_grammar_params_init(&p, sizeof p);
    p.kind = grammars[i].kind;
    p.text = grammars[i].text;
    p.max_bytes = max_bytes;
    p.allocator = &a->hooks;
    return quire_grammar_compile(vocab, &p, g, err);
}

/* Follows the grammar until the automaton exceeds the limit. */
static void expect_limit(struct quire_grammar *g, uint64_t max_bytes)
{
    struct quire_grammar_info info = { .struct_size = sizeof info };
    uint32_t mask[WORDS];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar_matcher *m = matcher_of(g);
    const quire_status status = quire_grammar_matcher_mask(m, mask, n_words, &err);
    if (status != QUIRE_OK && (status != QUIRE_E_LIMIT || !strstr(err.msg, " bytes")))
        fail_msg("%d: %s", (int)status, err.msg);
    assert_int_equal(quire_grammar_get_info(g, &info), QUIRE_OK);
    assert_true(info.bytes > 0 && info.bytes <= max_bytes);
    quire_grammar_matcher_destroy(m);
}

/* Every limit of memory holds for all parts together, and is told from a lack of memory. */
static void memory_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GRAMMARS; i++) {
        struct quire_grammar *g = NULL;
        unsigned n_refused = 0;
        for (uint64_t max_bytes = 64; g == NULL; max_bytes += max_bytes / 16) {
            struct quire_error err = QUIRE_ERROR_INIT;
            struct peak_alloc a = { .hooks = { &a, peak_get, peak_put } };
            char bytes[32];
            const quire_status status = compile_limited(&a, i, max_bytes, &g, &err);
            assert_true(a.peak <= max_bytes + 1024); /* the handle is not counted */
            snprintf(bytes, sizeof bytes, "more than %llu bytes", (unsigned long long)max_bytes);
            if (status != QUIRE_OK && (status != QUIRE_E_LIMIT || !strstr(err.msg, bytes)))
                fail_msg("grammar %zu, %s: %d %s", i, bytes, (int)status, err.msg);
            n_refused += status == QUIRE_E_LIMIT;
            if (g != NULL)
                expect_limit(g, max_bytes);
            quire_grammar_destroy(g);
            assert_int_equal(a.f.live_count, 0);
        }
        assert_true(n_refused > 10);
    }
}

/* Every allocation of a compilation fails once: an error, or a memo that stays small. */
static void no_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GRAMMARS; i++) {
        bool reached = true;
        unsigned n_failures = 0;
        for (size_t at = 1; reached; at++) {
            struct quire_error err = QUIRE_ERROR_INIT;
            struct quire_grammar *g = NULL;
            struct peak_alloc a = { .f.fail_at = at, .hooks = { &a, peak_get, peak_put } };
            const quire_status status = compile_limited(&a, i, 0, &g, &err);
            if (status != QUIRE_OK && status != QUIRE_E_NOMEM)
                fail_msg("grammar %zu, allocation %zu: %d %s", i, at, (int)status, err.msg);
            n_failures += status == QUIRE_E_NOMEM;
            reached = a.f.calls >= at;
            quire_grammar_destroy(g);
            assert_int_equal(a.f.live_count, 0);
        }
        assert_true(n_failures > 5);
    }
}

/* Every kind of grammar looks at the clock. */
static void deadlines(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GRAMMARS; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_grammar *g = NULL;
        struct quire_grammar_params p;
        quire_grammar_params_init(&p, sizeof p);
        p.kind = grammars[i].kind;
        p.text = grammars[i].text;
        p.max_seconds = 1e-9;
        assert_int_equal(quire_grammar_compile(vocab, &p, &g, &err), QUIRE_E_LIMIT);
        assert_null(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks),     cmocka_unit_test(history),       cmocka_unit_test(commits),
        cmocka_unit_test(forced),    cmocka_unit_test(logits),        cmocka_unit_test(arguments),
        cmocka_unit_test(threads),   cmocka_unit_test(memory_limits), cmocka_unit_test(no_memory),
        cmocka_unit_test(deadlines),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
