/* SPDX-License-Identifier: Apache-2.0 */
/* test_speculation.c - suffix automaton, prompt lookup and verification of drafts. */
#include "engine/philox.h"
#include "engine/speculation/prompt_lookup.h"
#include "engine/speculation/verify.h"
#include "quire_cmocka.h"

static uint64_t n_random;

/* Uniform in 0 .. n-1. */
static uint32_t random_below(uint32_t n)
{
    return (uint32_t)(qr_philox_uniform(12, 0, n_random++) * n);
}

static void start(struct qr_suffix_automaton *a, uint32_t capacity)
{
    assert_status(QUIRE_OK, qr_suffix_automaton_init(a, capacity, 0x1234567890abcdef, NULL, NULL));
}

static void append(struct qr_suffix_automaton *a, int32_t token)
{
    assert_true(qr_suffix_automaton_append(a, token));
}

/* ---- Suffix automaton */

enum { MAX_LENGTH = 300 };

/* common[e] = length of the longest common suffix of the sequence and its first e tokens, for all
 * e < n, from the same lengths before the last token. */
static uint32_t longest_common(uint32_t *common, const int32_t *tokens, uint32_t n)
{
    uint32_t longest = 0;
    for (uint32_t e = n - 1; e > 0; e--) {
        common[e] = tokens[e - 1] == tokens[n - 1] ? common[e - 1] + 1 : 0;
        longest = common[e] > longest ? common[e] : longest;
    }
    return longest;
}

/* Checks the match after every token. Counts the matches, and those whose end is the latest. */
static void check_sequence(const int32_t *tokens, uint32_t n, uint32_t *matches, uint32_t *latest)
{
    uint32_t common[MAX_LENGTH + 1] = { 0 };
    struct qr_suffix_automaton a;
    start(&a, n);
    for (uint32_t i = 1; i <= n; i++) {
        append(&a, tokens[i - 1]);
        const struct qr_suffix_match m = qr_suffix_automaton_match(&a);
        const uint32_t longest = longest_common(common, tokens, i);
        assert_int_equal(m.length, longest);
        assert_true(a.n_states <= 2 * i && a.n_transitions <= 3 * i);
        if (!longest) {
            assert_int_equal(m.end, 0);
            continue;
        }
        assert_in_range(m.end, 1, i - 1);
        assert_int_equal(common[m.end], longest);
        uint32_t last = i - 1;
        while (common[last] != longest)
            last--;
        *latest += m.end == last;
        ++*matches;
    }
    assert_false(qr_suffix_automaton_append(&a, 0));
    assert_int_equal(a.n_tokens, n);
    qr_suffix_automaton_free(&a);
}

static void matches_of_random_sequences(void **state)
{
    (void)state;
    static const uint32_t alphabets[] = { 1, 2, 3, 100 };
    int32_t tokens[MAX_LENGTH];
    for (uint32_t c = 0; c < 4; c++) {
        uint32_t matches = 0, latest = 0;
        for (uint32_t sequence = 0; sequence < 2500; sequence++) {
            const uint32_t n = random_below(MAX_LENGTH + 1);
            for (uint32_t i = 0; i < n; i++)
                tokens[i] = (int32_t)random_below(alphabets[c]);
            check_sequence(tokens, n, &matches, &latest);
        }
        assert_true(latest >= matches - matches / 100);
    }
}

/* Sequences with repetitions of every length: copies of random earlier parts. */
static void matches_of_copies(void **state)
{
    (void)state;
    int32_t tokens[MAX_LENGTH];
    uint32_t matches = 0, latest = 0;
    for (uint32_t sequence = 0; sequence < 1000; sequence++) {
        uint32_t n = 0;
        while (n < MAX_LENGTH) {
            uint32_t from = n ? random_below(n) : 0, length = 1 + random_below(40);
            const bool copy = n && random_below(2);
            for (; length && n < MAX_LENGTH; length--)
                tokens[n++] = copy ? tokens[from++] : (int32_t)random_below(6);
        }
        check_sequence(tokens, n, &matches, &latest);
    }
    assert_true(latest >= matches - matches / 20);
}

/* Token i of sequences that are hard for suffix structures. */
static int32_t pattern(uint32_t kind, uint32_t i, uint32_t n)
{
    switch (kind) {
    case 0:
        return 7; /* one token */
    case 1:
        return i > 0; /* a b b b ..: 2 n - 1 states */
    case 2:
        return i + 1 == n ? 2 : i > 0; /* a b b .. b c: 3 n - 4 transitions */
    case 3:
        return __builtin_popcount(i) & 1; /* Thue-Morse */
    case 4:
        return (int32_t)((uint64_t)(i + 1) * 2654435769u >> 32 != (uint64_t)i * 2654435769u >> 32);
    case 5:
        return i < n / 2 ? 1 : 2;
    case 6:
        return (int32_t)(i % 1000);
    case 7:
        return (int32_t)random_below(2);
    case 8:
        return (int32_t)random_below(100);
    default:
        return (int32_t)i; /* all different */
    }
}

/* The work, in slots read, is linear in the number of tokens: the same bound per token at 1,000
 * and at 100,000. Appending does not allocate, and the memory has the computed size. */
static void linear_work(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < 10; kind++)
        for (uint32_t n = 1000; n <= 100000; n *= 100) {
            struct qr_suffix_automaton a;
            struct fail_alloc f;
            size_t bytes;
            fail_alloc_init(&f, 0, false);
            assert_true(qr_suffix_automaton_bytes(n, &bytes));
            assert_status(QUIRE_OK, qr_suffix_automaton_init(&a, n, 99, &f.hooks, NULL));
            assert_int_equal(f.live_bytes, bytes);
            for (uint32_t i = 0; i < n; i++)
                append(&a, pattern(kind, i, n));
            assert_int_equal(f.calls, 1);
            assert_true(a.n_probes <= 12ull * n);
            assert_true(a.n_states <= 2 * n && a.n_transitions <= 3 * n);
            if (kind == 1)
                assert_int_equal(a.n_states, 2 * n - 1);
            if (kind == 2)
                assert_int_equal(a.n_transitions, 3 * n - 4);
            qr_suffix_automaton_free(&a);
            assert_int_equal(f.live_bytes, 0);
        }
}

/* The key changes the places in the hash table, not the results. */
static void any_key(void **state)
{
    (void)state;
    static const uint64_t keys[] = { 0, 1, UINT64_MAX, 0x9E3779B97F4A7C15, 1ull << 63 };
    struct qr_suffix_automaton reference;
    int32_t tokens[2000];
    start(&reference, 2000);
    for (uint32_t i = 0; i < 2000; i++)
        append(&reference, tokens[i] = (int32_t)random_below(5));
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        struct qr_suffix_automaton a;
        assert_status(QUIRE_OK, qr_suffix_automaton_init(&a, 2000, keys[k], NULL, NULL));
        for (uint32_t i = 0; i < 2000; i++)
            append(&a, tokens[i]);
        assert_int_equal(a.n_states, reference.n_states);
        assert_memory_equal(a.states, reference.states, a.n_states * sizeof *a.states);
        assert_true(a.n_probes <= 12 * 2000);
        qr_suffix_automaton_free(&a);
    }
    qr_suffix_automaton_free(&reference);
}

static void hostile_capacities(void **state)
{
    (void)state;
    struct qr_suffix_automaton a = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t bytes;
    assert_int_equal(qr_suffix_automaton_match(&a).length, 0);
    qr_suffix_automaton_free(&a);
    start(&a, 0);
    assert_false(qr_suffix_automaton_append(&a, 1));
    assert_int_equal(qr_suffix_automaton_match(&a).length, 0);
    qr_suffix_automaton_free(&a);
    qr_suffix_automaton_free(&a);
    assert_true(qr_suffix_automaton_bytes(QR_SUFFIX_MAX_TOKENS, &bytes));
    static const uint32_t large[] = { QR_SUFFIX_MAX_TOKENS + 1, UINT32_MAX / 6 + 1, UINT32_MAX };
    for (size_t i = 0; i < 3; i++) {
        assert_false(qr_suffix_automaton_bytes(large[i], &bytes));
        assert_status(QUIRE_E_LIMIT, qr_suffix_automaton_init(&a, large[i], 0, NULL, &err));
        qr_suffix_automaton_free(&a);
    }
    struct fail_alloc f;
    fail_alloc_init(&f, 1, true);
    assert_status(QUIRE_E_NOMEM, qr_suffix_automaton_init(&a, 10, 0, &f.hooks, &err));
    qr_suffix_automaton_free(&a);
}

/* Any int32 is a token, and tokens that differ in the sign only are different. */
static void hostile_tokens(void **state)
{
    (void)state;
    static const int32_t extremes[] = { INT32_MIN, -1, 0, 1, INT32_MAX };
    int32_t tokens[MAX_LENGTH];
    uint32_t matches = 0, latest = 0;
    for (uint32_t sequence = 0; sequence < 100; sequence++) {
        for (uint32_t i = 0; i < MAX_LENGTH; i++)
            tokens[i] = extremes[random_below(5)];
        check_sequence(tokens, MAX_LENGTH, &matches, &latest);
    }
}

/* ---- Prompt lookup */

static void drafts_against_brute_force(void **state)
{
    (void)state;
    int32_t tokens[200 + 32], draft[32];
    for (uint32_t sequence = 0; sequence < 3000; sequence++) {
        const int32_t eog[] = { (int32_t)random_below(20), -5 };
        const struct qr_prompt_lookup lookup = { random_below(4), random_below(33), eog, 2 };
        const uint32_t n = 1 + random_below(200), alphabet = 1 + random_below(12);
        struct qr_suffix_automaton a;
        start(&a, n);
        for (uint32_t i = 0; i < n; i++) {
            tokens[i] = (int32_t)random_below(alphabet);
            append(&a, tokens[i]);
        }
        const struct qr_suffix_match m = qr_suffix_automaton_match(&a);
        const uint32_t got = qr_prompt_lookup_draft(&lookup, m, tokens, n, draft);
        /* appends to the sequence itself, so that a copy runs on into its own tokens */
        uint32_t expected = 0;
        while (m.length && m.length >= lookup.min_match && expected < lookup.max_draft &&
               tokens[m.end + expected] != eog[0]) {
            tokens[n + expected] = tokens[m.end + expected];
            expected++;
        }
        assert_int_equal(got, expected);
        assert_memory_equal(draft, tokens + n, got * sizeof *draft);
        qr_suffix_automaton_free(&a);
    }
}

static uint32_t draft_after(const char *text, struct qr_prompt_lookup lookup, char *out)
{
    int32_t tokens[100], draft[32];
    const uint32_t n = (uint32_t)strlen(text);
    struct qr_suffix_automaton a;
    start(&a, n);
    for (uint32_t i = 0; i < n; i++)
        append(&a, tokens[i] = text[i]);
    const uint32_t n_draft =
        qr_prompt_lookup_draft(&lookup, qr_suffix_automaton_match(&a), tokens, n, draft);
    for (uint32_t i = 0; i < n_draft; i++)
        out[i] = (char)draft[i];
    out[n_draft] = 0;
    qr_suffix_automaton_free(&a);
    return n_draft;
}

static void drafts_of_examples(void **state)
{
    (void)state;
    static const int32_t eog[] = { '!', '.' };
    static const struct {
        const char *text;
        uint32_t min_match, max_draft;
        const char *draft;
    } cases[] = {
        { "the cat sat; the c", 1, 8, "at sat; " },
        { "the cat sat; the c", 5, 2, "at" },
        { "the cat sat; the c", 6, 8, "" }, /* "the c" has five */
        { "the cat sat; the c", 1, 0, "" },
        { "xabab", 1, 7, "abababa" },
        { "aaa", 1, 4, "aaaa" },
        { "abc", 0, 4, "" },
        { "ab. ab", 1, 4, "" },         /* the draft begins with an end */
        { "abc! ab", 1, 4, "c" },       /* stops before one */
        { "-one -two -", 1, 3, "two" }, /* the latest occurrence */
        { "", 0, 4, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[33];
        draft_after(cases[i].text,
                    (struct qr_prompt_lookup){ cases[i].min_match, cases[i].max_draft, eog, 2 },
                    out);
        assert_string_equal(out, cases[i].draft);
    }
    char out[33];
    assert_int_equal(draft_after("abc! ab", (struct qr_prompt_lookup){ 1, 4, NULL, 0 }, out), 4);
    assert_string_equal(out, "c! a");
}

/* ---- Verification */

/* A model and sampler: the token of place i is drawn with the random number i, from a distribution
 * that depends on the two tokens before. */
struct toy {
    int32_t tokens[1000];
    uint32_t n, end, fail_at;
    uint32_t rows;
};

static int32_t toy_token(const struct toy *t, uint32_t i)
{
    const double u = qr_philox_uniform(5, 1, i);
    return u < 0.8 ? (t->tokens[i - 1] * 3 + t->tokens[i - 2]) % 11 : (int32_t)(u * 50);
}

static quire_status toy_sample(void *user, uint32_t row, int32_t *token, bool *ends)
{
    struct toy *t = user;
    assert_int_equal(row, t->rows++); /* in order, none twice */
    if (t->n == t->fail_at)
        return QUIRE_E_NUMERIC;
    *token = t->tokens[t->n] = toy_token(t, t->n);
    t->n++;
    *ends = t->n == t->end;
    return QUIRE_OK;
}

/* With drafts from prompt lookup, random ones and perfect ones of any depth, the tokens are those
 * of plain decoding, and only the rows up to the first difference are sampled. */
static void tokens_of_plain_decoding(void **state)
{
    (void)state;
    static struct toy plain, speculative;
    plain.n = 2;
    for (; plain.n < 1000; plain.n++)
        plain.tokens[plain.n] = toy_token(&plain, plain.n);
    for (uint32_t kind = 0; kind < 3; kind++) {
        struct qr_suffix_automaton a;
        start(&a, 1000);
        memset(&speculative, 0, sizeof speculative);
        speculative.end = 1000;
        uint32_t seen = 0, steps = 0, accepted = 0;
        for (speculative.n = 2; speculative.n < 1000; steps++) {
            int32_t draft[31];
            uint32_t n_draft = random_below(32);
            const struct qr_prompt_lookup lookup = { 1, n_draft, NULL, 0 };
            while (seen < speculative.n)
                append(&a, speculative.tokens[seen++]);
            for (uint32_t i = 0; kind && i < n_draft; i++)
                draft[i] = kind == 1 || seen + i >= 1000 ? (int32_t)random_below(11)
                                                         : plain.tokens[seen + i];
            if (kind == 0)
                n_draft = qr_prompt_lookup_draft(&lookup, qr_suffix_automaton_match(&a),
                                                 speculative.tokens, seen, draft);
            struct qr_verify_result r;
            speculative.rows = 0;
            assert_status(QUIRE_OK, qr_verify_draft(draft, n_draft, toy_sample, &speculative, &r));
            assert_int_equal(r.n_sampled, speculative.n - seen);
            assert_int_equal(r.n_sampled, speculative.rows);
            for (uint32_t i = 0; i < r.n_accepted; i++)
                assert_int_equal(draft[i], speculative.tokens[seen + i]);
            if (r.n_accepted < r.n_sampled - 1 || r.n_accepted == r.n_sampled)
                assert_int_equal(speculative.n, 1000);
            accepted += r.n_accepted;
        }
        assert_memory_equal(speculative.tokens, plain.tokens, sizeof plain.tokens);
        assert_true(accepted > (kind == 1 ? 0 : 100) && steps < 998);
        qr_suffix_automaton_free(&a);
    }
}

static void verification_ends(void **state)
{
    (void)state;
    struct toy t = { .n = 2 };
    int32_t perfect[6];
    for (; t.n < 8; t.n++)
        perfect[t.n - 2] = t.tokens[t.n] = toy_token(&t, t.n);
    struct qr_verify_result r;
    t = (struct toy){ .n = 2, .end = 5 }; /* a stop string within the draft */
    assert_status(QUIRE_OK, qr_verify_draft(perfect, 6, toy_sample, &t, &r));
    assert_true(r.n_sampled == 3 && r.n_accepted == 3 && t.rows == 3);
    t = (struct toy){ .n = 2, .fail_at = 4 };
    assert_status(QUIRE_E_NUMERIC, qr_verify_draft(perfect, 6, toy_sample, &t, &r));
    assert_true(r.n_sampled == 2 && r.n_accepted == 2 && t.rows == 3);
    t = (struct toy){ .n = 2 };
    assert_status(QUIRE_OK, qr_verify_draft(perfect, 6, toy_sample, &t, &r));
    assert_true(r.n_sampled == 7 && r.n_accepted == 6);
    t = (struct toy){ .n = 2 }; /* plain decoding */
    assert_status(QUIRE_OK, qr_verify_draft(NULL, 0, toy_sample, &t, &r));
    assert_true(r.n_sampled == 1 && r.n_accepted == 0);
    perfect[2]++;
    t = (struct toy){ .n = 2 };
    assert_status(QUIRE_OK, qr_verify_draft(perfect, 6, toy_sample, &t, &r));
    assert_true(r.n_sampled == 3 && r.n_accepted == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_of_random_sequences),
        cmocka_unit_test(matches_of_copies),
        cmocka_unit_test(linear_work),
        cmocka_unit_test(any_key),
        cmocka_unit_test(hostile_capacities),
        cmocka_unit_test(hostile_tokens),
        cmocka_unit_test(drafts_against_brute_force),
        cmocka_unit_test(drafts_of_examples),
        cmocka_unit_test(tokens_of_plain_decoding),
        cmocka_unit_test(verification_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
