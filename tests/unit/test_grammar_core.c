/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_core.c - the parser on random grammars: ambiguous, nullable, left and right
 * recursive rules, loops of members. For every short text and every prefix of it, the automaton is
 * compared with a naive recognizer: the least fixpoint of the definition of each node. */
#include "grammar/core/automaton.h"
#include "quire_cmocka.h"
#include <math.h>
#include <string.h>

enum {
    GRAMMARS = 1500,
    MAX_TEXT = 6,
    MAX_NODES = 64,
    MAX_KIDS = 3,
    MAX_DEPTH = 3,
    MAX_RULES = 3,
    COUNTS = 5, /* counts of members that a loop distinguishes: min, max < COUNTS */
};

enum kind { LEXEME, SEQUENCE, CHOICE, LOOP, RULE };

struct node {
    enum kind kind;
    int kids[MAX_KIDS], n; /* of a rule: its body; of a lexeme: its number */
    bool once[MAX_KIDS], required[MAX_KIDS], ordered;
    int separator; /* -1: none */
    unsigned min, max;
    qr_node built;
};

/* The strings of each lexeme, of infinite ones those up to MAX_TEXT + 1 bytes and one more. */
static const struct {
    int n;
    const char *strings[9];
} lexemes[] = {
    { 1, { "a" } },
    { 1, { "b" } },
    { 1, { "ab" } },
    { 2, { "a", "ab" } },
    { 2, { "", "b" } },
    { 2, { "aa", "ba" } },
    { 1, { "" } },
    { 0, { NULL } },
    { 9, { "", "a", "aa", "aaa", "aaaa", "aaaaa", "aaaaaa", "aaaaaaa", "aaaaaaaa" } },
    { 4, { "ab", "abab", "ababab", "abababab" } },
};
enum { N_LEXEMES = 10, FINITE = 8, A_STAR = 8 };

static struct node nodes[MAX_NODES];
static int n_nodes, n_rules; /* rules are nodes[0 .. n_rules) */
static uint32_t rng;

static unsigned pick(unsigned n)
{
    rng ^= rng << 13; /* xorshift (Marsaglia 2003) */
    rng ^= rng >> 17;
    rng ^= rng << 5;
    return rng % n;
}

/* ---- Random grammars ---- */

static int new_node(enum kind kind)
{
    assert_true(n_nodes < MAX_NODES);
    nodes[n_nodes] = (struct node){ .kind = kind, .separator = -1 };
    return n_nodes++;
}

static int random_lexeme(void)
{
    const int i = new_node(LEXEME);
    nodes[i].n = (int)(pick(3) ? pick(2) : pick(N_LEXEMES));
    return i;
}

static int random_node(int depth)
{
    const unsigned k = pick(10);
    if (depth == 0 || n_nodes > MAX_NODES - 16 || k < 2)
        return pick(3) ? random_lexeme() : (int)pick((unsigned)n_rules);
    const int i = new_node(k < 5 ? SEQUENCE : k < 8 ? CHOICE : LOOP);
    const int n = (int)pick(MAX_KIDS) + (nodes[i].kind != SEQUENCE);
    nodes[i].n = n > MAX_KIDS ? MAX_KIDS : n;
    for (int j = 0; j < nodes[i].n; j++) {
        const int kid = random_node(depth - 1);
        nodes[i].kids[j] = kid;
    }
    if (nodes[i].kind != LOOP)
        return i;
    const int separator = pick(2) ? random_lexeme() : -1;
    struct node *loop = &nodes[i];
    /* what follows a separator without a text is not defined: no front end builds one */
    loop->separator = separator >= 0 && lexemes[nodes[separator].n].n > 0 ? separator : -1;
    loop->ordered = pick(2);
    loop->min = pick(3);
    loop->max = pick(3) ? loop->min + pick(3) : QR_REGEX_UNBOUNDED;
    for (int j = 0; j < loop->n; j++) {
        loop->once[j] = pick(2);
        loop->required[j] = loop->once[j] && pick(3) == 0;
    }
    return i;
}

static void random_grammar(uint32_t seed)
{
    rng = seed * 2654435761u + 1;
    n_nodes = 0;
    n_rules = 1 + (int)pick(MAX_RULES);
    for (int i = 0; i < n_rules; i++)
        new_node(RULE);
    for (int i = 0; i < n_rules; i++) {
        const int body = random_node(MAX_DEPTH);
        nodes[i].kids[0] = body;
        nodes[i].n = 1;
    }
}

/* ---- The naive recognizer ---- */

static const char *text;
static int size;
static uint16_t ends[MAX_NODES][MAX_TEXT + 1]; /* bit j: text[i .. j) is derived */
static bool prefix[MAX_NODES][MAX_TEXT + 1];   /* text[i .. size) begins a derived text */
static bool productive[MAX_NODES];

/* The progress of a loop: members so far (without a maximum at most min), once members seen as
 * bits, and in an ordered loop the first member that may come next. */
struct progress {
    unsigned count, seen;
    int position;
};

static bool may_follow(const struct node *loop, struct progress p, int member,
                       struct progress *after)
{
    *after = p;
    if (p.count >= loop->max || (loop->once[member] && (p.seen >> member & 1)) ||
        (loop->ordered && loop->once[member] && member < p.position))
        return false;
    after->count++;
    if (loop->max == QR_REGEX_UNBOUNDED && after->count > loop->min && after->count > 1)
        after->count--;
    after->seen |= loop->once[member] ? 1u << member : 0;
    after->position = loop->once[member] ? member + 1 : MAX_KIDS;
    return true;
}

static bool may_end(const struct node *loop, struct progress p)
{
    bool all = p.count >= loop->min;
    for (int j = 0; j < loop->n; j++)
        all = all && (!loop->required[j] || (p.seen >> j & 1));
    return all;
}

/* Whether the loop can end from here by productive members. */
static bool may_finish(const struct node *loop, struct progress p, int depth)
{
    struct progress after;
    if (may_end(loop, p))
        return true;
    for (int j = 0; j < loop->n && depth > 0; j++)
        if (productive[loop->kids[j]] && may_follow(loop, p, j, &after) &&
            may_finish(loop, after, depth - 1))
            return true;
    return false;
}

/* The states of a loop that begins at some place, and what it derives from there. */
struct loop_search {
    const struct node *loop;
    bool known[MAX_TEXT + 1][COUNTS][1 << MAX_KIDS][MAX_KIDS + 1];
    uint16_t ends;
    bool prefix;
};

static void search_loop(struct loop_search *s, int at, struct progress p)
{
    const struct node *loop = s->loop;
    bool *known = &s->known[at][p.count][p.seen][p.position];
    if (*known)
        return;
    *known = true;
    s->ends |= may_end(loop, p) ? (uint16_t)(1u << at) : 0;
    s->prefix = s->prefix || (at == size && may_finish(loop, p, 2 * COUNTS));
    const bool separated = loop->separator >= 0 && p.count > 0;
    for (int j = 0; j < loop->n; j++) {
        struct progress after;
        if (!may_follow(loop, p, j, &after))
            continue;
        const bool finishes = may_finish(loop, after, 2 * COUNTS);
        const uint16_t begins = separated ? ends[loop->separator][at] : (uint16_t)(1u << at);
        s->prefix = s->prefix || (separated && prefix[loop->separator][at] && finishes &&
                                  productive[loop->kids[j]]);
        for (int b = 0; b <= size; b++) {
            if (!(begins >> b & 1))
                continue;
            s->prefix = s->prefix || (prefix[loop->kids[j]][b] && finishes);
            for (int e = b; e <= size; e++)
                if (ends[loop->kids[j]][b] >> e & 1)
                    search_loop(s, e, after);
        }
    }
}

static void evaluate_lexeme(int number, int at, uint16_t *end, bool *begins)
{
    for (int k = 0; k < lexemes[number].n; k++) {
        const char *s = lexemes[number].strings[k];
        const int n = (int)strlen(s), rest = size - at;
        if (n <= rest && memcmp(text + at, s, (size_t)n) == 0)
            *end |= (uint16_t)(1u << (at + n));
        *begins = *begins || (n >= rest && memcmp(text + at, s, (size_t)rest) == 0);
    }
}

static void evaluate_sequence(const struct node *node, int at, uint16_t *end, bool *begins)
{
    uint16_t places = (uint16_t)(1u << at);
    for (int k = 0; k < node->n; k++) {
        uint16_t next = 0;
        bool rest = true;
        for (int l = k + 1; l < node->n; l++)
            rest = rest && productive[node->kids[l]];
        for (int j = 0; j <= size; j++)
            if (places >> j & 1) {
                next |= ends[node->kids[k]][j];
                *begins = *begins || (rest && prefix[node->kids[k]][j]);
            }
        places = next;
    }
    *end = places;
    *begins = *begins || (places >> size & 1);
}

static void evaluate(const struct node *node, int at, uint16_t *end, bool *begins)
{
    *end = 0;
    *begins = false;
    if (node->kind == LEXEME) {
        evaluate_lexeme(node->n, at, end, begins);
    } else if (node->kind == SEQUENCE) {
        evaluate_sequence(node, at, end, begins);
    } else if (node->kind == LOOP) {
        static struct loop_search s;
        memset(&s, 0, sizeof s);
        s.loop = node;
        search_loop(&s, at, (struct progress){ 0 });
        *end = s.ends;
        *begins = s.prefix;
    } else {
        for (int k = 0; k < node->n; k++) {
            *end |= ends[node->kids[k]][at];
            *begins = *begins || prefix[node->kids[k]][at];
        }
    }
}

static void recognize(void)
{
    memset(ends, 0, sizeof ends);
    memset(prefix, 0, sizeof prefix);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = n_nodes - 1; i >= 0; i--)
            for (int at = 0; at <= size; at++) {
                uint16_t end;
                bool begins;
                evaluate(&nodes[i], at, &end, &begins);
                changed = changed || end != ends[i][at] || begins != prefix[i][at];
                ends[i][at] = end;
                prefix[i][at] = begins;
            }
    }
}

static bool is_productive(const struct node *node)
{
    if (node->kind == LEXEME)
        return lexemes[node->n].n > 0;
    if (node->kind == LOOP)
        return may_finish(node, (struct progress){ 0 }, 2 * COUNTS);
    bool all = true, any = false;
    for (int k = 0; k < node->n; k++) {
        all = all && productive[node->kids[k]];
        any = any || productive[node->kids[k]];
    }
    return node->kind == SEQUENCE ? all : any;
}

static void find_productive(void)
{
    memset(productive, 0, sizeof productive);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n_nodes; i++)
            if (!productive[i] && is_productive(&nodes[i]))
                productive[i] = changed = true;
    }
}

/* ---- The automaton ---- */

static qr_regex build_regex(struct qr_regex_set *set, int number)
{
    qr_regex list[9];
    if (number >= FINITE)
        return qr_regex_repeat(set, qr_regex_literal(set, "ab", number == A_STAR ? 1 : 2),
                               number == A_STAR ? 0 : 1, QR_REGEX_UNBOUNDED);
    for (int k = 0; k < lexemes[number].n; k++)
        list[k] =
            qr_regex_literal(set, lexemes[number].strings[k], strlen(lexemes[number].strings[k]));
    return qr_regex_or(set, list, (size_t)lexemes[number].n);
}

static qr_node build_loop(struct qr_builder *b, const struct node *node)
{
    struct qr_loop_member members[MAX_KIDS];
    for (int k = 0; k < node->n; k++)
        members[k] =
            (struct qr_loop_member){ nodes[node->kids[k]].built, node->once[k], node->required[k] };
    const struct qr_loop loop = { .members = members,
                                  .n_members = (size_t)node->n,
                                  .separator =
                                      node->separator < 0 ? 0 : nodes[node->separator].built,
                                  .min = node->min,
                                  .max = node->max,
                                  .ordered = node->ordered };
    if (node->n == 1 && !node->once[0])
        return qr_build_repeat(b, members[0].node, loop.separator, loop.min, loop.max);
    return qr_build_loop(b, &loop);
}

static qr_node build_node(struct qr_builder *b, const struct node *node)
{
    qr_node list[MAX_KIDS];
    if (node->kind == LEXEME)
        return qr_build_lexeme(b, build_regex(qr_builder_regexes(b), node->n));
    if (node->kind == LOOP)
        return build_loop(b, node);
    for (int k = 0; k < node->n; k++)
        list[k] = nodes[node->kids[k]].built;
    return node->kind == SEQUENCE ? qr_build_sequence(b, list, (size_t)node->n)
                                  : qr_build_choice(b, list, (size_t)node->n);
}

/* Kids stand behind their parents, except rules. */
static void build_grammar(struct qr_builder *b)
{
    for (int i = 0; i < n_rules; i++)
        nodes[i].built = qr_build_rule(b);
    for (int i = n_nodes - 1; i >= n_rules; i--)
        nodes[i].built = build_node(b, &nodes[i]);
    for (int i = 0; i < n_rules; i++)
        qr_build_define(b, nodes[i].built, nodes[nodes[i].kids[0]].built);
    qr_build_start(b, nodes[0].built);
    assert_int_equal(qr_builder_status(b), QUIRE_OK);
}

/* Compares all texts that begin with text[0 .. size). */
static void compare(struct qr_automaton *m, char *bytes, int n, const struct qr_pair *pairs,
                    size_t n_pairs, uint32_t seed)
{
    size = n;
    recognize();
    const bool accepted = ends[0][0] >> n & 1, viable = prefix[0][0];
    if (accepted != qr_automaton_accepts(m, pairs, n_pairs) || viable != (n_pairs > 0))
        fail_msg("grammar %u: \"%.*s\": accepted %d, viable %d; automaton: %d, %d", seed, n, bytes,
                 accepted, viable, qr_automaton_accepts(m, pairs, n_pairs), n_pairs > 0);
    for (int c = 'a'; c <= 'b' && n < MAX_TEXT && n_pairs > 0; c++) {
        struct qr_pair next[64];
        size_t n_next;
        assert_true(n_pairs < 63);
        assert_int_equal(qr_automaton_step(m, pairs, n_pairs, (uint8_t)c, next, &n_next), QUIRE_OK);
        bytes[n] = (char)c;
        compare(m, bytes, n + 1, next, n_next, seed);
    }
}

static bool compare_grammar(uint32_t seed)
{
    struct qr_regex_set *set = qr_regex_set_new(NULL);
    struct qr_builder *b = qr_builder_new(set, NULL);
    struct qr_network *net = NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    random_grammar(seed);
    find_productive();
    build_grammar(b);
    const quire_status status = qr_network_new(b, INFINITY, &net, &err);
    if (status != (productive[0] ? QUIRE_OK : QUIRE_E_UNSUPPORTED))
        fail_msg("grammar %u: productive %d, status %d: %s", seed, productive[0], (int)status,
                 err.msg);
    if (productive[0]) {
        struct qr_automaton *m = NULL;
        char bytes[MAX_TEXT + 1] = "";
        size_t n;
        const qr_regex *list = qr_builder_lexemes(b, &n);
        assert_int_equal(qr_automaton_new(net, set, list, (uint32_t)n, NULL, &m), QUIRE_OK);
        const struct qr_pair start = qr_automaton_start(m);
        text = bytes;
        compare(m, bytes, 0, &start, 1, seed);
        qr_automaton_free(m);
    }
    qr_builder_free(b);
    qr_regex_set_free(set);
    return productive[0];
}

static void random_grammars(void **state)
{
    int compared = 0;
    (void)state;
    for (uint32_t seed = 1; seed <= GRAMMARS; seed++)
        compared += compare_grammar(seed);
    assert_true(compared > GRAMMARS / 3);
}

/* S = "a" S | "b", S = ("a" S)? and S = S "a" | "b": neither rows nor time grow with the text. */
static qr_node build_recursion(struct qr_builder *b, int form)
{
    struct qr_regex_set *set = qr_builder_regexes(b);
    const qr_node rule = qr_build_rule(b);
    const qr_node a = qr_build_lexeme(b, qr_regex_literal(set, "a", 1));
    const qr_node end = qr_build_lexeme(b, qr_regex_literal(set, "b", 1));
    const qr_node again = form == 2 ? qr_build_sequence(b, (qr_node[]){ rule, a }, 2)
                                    : qr_build_sequence(b, (qr_node[]){ a, rule }, 2);
    qr_build_define(b, rule,
                    form == 1 ? qr_build_repeat(b, again, 0, 0, 1)
                              : qr_build_choice(b, (qr_node[]){ again, end }, 2));
    qr_build_start(b, rule);
    return rule;
}

static void recursion(void **state)
{
    enum { LENGTH = 200000, MAX_ROWS = 16 };
    (void)state;
    for (int form = 0; form < 3; form++) {
        struct qr_regex_set *set = qr_regex_set_new(NULL);
        struct qr_builder *b = qr_builder_new(set, NULL);
        struct qr_network *net = NULL;
        struct qr_automaton *m = NULL;
        size_t n;
        build_recursion(b, form);
        assert_int_equal(qr_network_new(b, INFINITY, &net, NULL), QUIRE_OK);
        const qr_regex *list = qr_builder_lexemes(b, &n);
        assert_int_equal(qr_automaton_new(net, set, list, (uint32_t)n, NULL, &m), QUIRE_OK);
        struct qr_pair pairs[2] = { qr_automaton_start(m) }, next[3];
        size_t n_pairs = 1;
        for (int i = 0; i < LENGTH; i++) {
            const char c = form == 2 && i == 0 ? 'b' : 'a';
            assert_int_equal(qr_automaton_step(m, pairs, n_pairs, (uint8_t)c, next, &n_pairs),
                             QUIRE_OK);
            assert_int_equal(n_pairs, 1);
            pairs[0] = next[0];
        }
        assert_int_equal(qr_automaton_accepts(m, pairs, n_pairs), form != 0);
        assert_true(m->n_rows <= MAX_ROWS);
        qr_automaton_free(m);
        qr_builder_free(b);
        qr_regex_set_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_grammars),
                                        cmocka_unit_test(recursion) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
