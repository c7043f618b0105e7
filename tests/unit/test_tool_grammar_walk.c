/* SPDX-License-Identifier: Apache-2.0 */
/* test_tool_grammar_walk.c - constrained calls from the structural tag to the message: random walks
 * over the masks of the grammar engine with the bundled vocabulary, in all formats. The text of
 * each walk must parse into calls whose arguments the schema allows. */
#include "chat_format/output/formats/formats.h"
#include "quire_cmocka.h"
#include "test_chat_output.h"
#include "json/parse.h"
#include <quire/grammar.h>

enum { WALKS = 30, MAX_TOKENS = 1500, MAX_GOAL = 64 };

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"tool_a\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"s\":{\"type\":\"string\",\"maxLength\":6},\"i\":{\"type\":\"integer\","
    "\"minimum\":0,\"maximum\":9999},\"b\":{\"type\":\"boolean\"}},\"required\":[\"s\"],"
    "\"additionalProperties\":false}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"tool_b\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"l\":{\"type\":\"array\",\"maxItems\":3,\"items\":{\"enum\":[\"x\",\"y "
    "z\"]}},"
    "\"o\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"boolean\"}},\"required\":[\"k\"],"
    "\"additionalProperties\":false}},\"required\":[\"o\"],\"additionalProperties\":false}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"tool_c\"}}]";

static struct quire_tokenizer *tok;
static struct quire_grammar_vocab *vocab;
static uint64_t random_state = 1;

static unsigned below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* ---- The walk */

static void take_token(struct joined_text *text, int32_t token)
{
    size_t size;
    const char *const bytes = quire_tokenizer_token_bytes(tok, token, &size);
    joined_add(text, bytes, size);
}

/* Commits the tokens of a text if all are allowed here: ends free text, which a random walk would
 * hardly leave. */
static void try_text(struct quire_grammar_matcher *m, const char *goal, struct joined_text *text)
{
    int32_t ids[MAX_GOAL];
    size_t n;
    if (!goal || quire_tokenizer_encode(tok, goal, strlen(goal), QUIRE_ENCODE_PARSE_SPECIAL, ids,
                                        MAX_GOAL, &n, NULL) != QUIRE_OK)
        return;
    if (quire_grammar_matcher_check(m, ids, n) < n)
        return;
    assert_int_equal(quire_grammar_matcher_commit(m, ids, n, NULL), QUIRE_OK);
    for (size_t i = 0; i < n; i++)
        take_token(text, ids[i]);
}

/* A random allowed token; -1: none but the end. */
static int32_t choose(const uint32_t *mask, size_t n_tokens)
{
    int32_t chosen = -1;
    unsigned seen = 0;
    for (size_t t = 0; t < n_tokens; t++)
        if (mask[t / 32] >> t % 32 & 1 && !quire_tokenizer_is_eog(tok, (int32_t)t) &&
            below(++seen) == 0)
            chosen = (int32_t)t;
    return chosen;
}

/* False: the walk was cut at MAX_TOKENS. */
static bool walk(struct quire_grammar *g, const struct qr_output_format *f, bool calls,
                 struct joined_text *text)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar_matcher *m;
    const size_t words = quire_grammar_mask_words(vocab);
    const struct qr_call_syntax *const s = f->syntax;
    uint32_t *const mask = calloc(words, sizeof *mask);
    const char *const goals[] = { s->think_close ? s->think_close : f->think_close[0],
                                  calls ? s->trigger : NULL, s->content_close };
    bool ended = false;
    assert_int_equal(quire_grammar_matcher_create(g, &m, &err), QUIRE_OK);
    for (unsigned i = 0; i < MAX_TOKENS && !ended; i++) {
        if (quire_grammar_matcher_mask(m, mask, words, &err) != QUIRE_OK)
            fail_msg("%s: %s after %s", f->name, err.msg, text->text);
        const int32_t token = choose(mask, quire_tokenizer_vocab_size(tok));
        ended = token < 0 || (quire_grammar_matcher_can_end(m) && below(4) == 0);
        if (ended) {
            assert_true(quire_grammar_matcher_can_end(m));
            break;
        }
        assert_int_equal(quire_grammar_matcher_commit(m, &token, 1, &err), QUIRE_OK);
        take_token(text, token);
        if (below(4) == 0)
            for (size_t k = 0; k < sizeof goals / sizeof *goals; k++)
                try_text(m, goals[k], text);
    }
    quire_grammar_matcher_destroy(m);
    free(mask);
    return ended;
}

/* ---- Checks */

static bool is_string(const struct qr_json *v, const char *a, const char *b)
{
    const char *const s = qr_json_string(v);
    return s && (strcmp(s, a) == 0 || strcmp(s, b) == 0);
}

static bool follows_schema(const char *name, const struct qr_json *v)
{
    const struct qr_json *const i = qr_json_get(v, "i"), *const b = qr_json_get(v, "b");
    const struct qr_json *const o = qr_json_get(v, "o");
    if (!qr_json_is_object(v))
        return false;
    if (strcmp(name, "tool_a") == 0)
        return qr_json_is_string(qr_json_get(v, "s")) && (!i || qr_json_is_number(i)) &&
               (!b || qr_json_is_bool(b)) && qr_json_size(v) == (i ? 2u : 1u) + (b ? 1u : 0u);
    if (strcmp(name, "tool_c") == 0)
        return qr_json_size(v) == 0;
    bool ok = qr_json_size(o) == 1 && qr_json_is_bool(qr_json_get(o, "k"));
    for (struct qr_json_iter k = qr_json_iterate(qr_json_get(v, "l")); qr_json_next(&k);)
        ok = ok && is_string(k.value, "x", "y z");
    return ok;
}

static bool check_calls(const struct joined *j)
{
    bool ok = !j->disorder;
    for (uint32_t i = 0; ok && i < j->n_calls; i++) {
        struct qr_json_error e;
        struct qr_json *const v =
            qr_json_parse(j->calls[i].arguments.text, j->calls[i].arguments.size, 0, NULL, &e);
        /* U+0000 is valid in JSON, but no text of this parser */
        ok = (v && follows_schema(j->calls[i].name.text, v)) ||
             strstr(j->calls[i].arguments.text, "\\u0000");
        qr_json_free(v);
    }
    return ok;
}

static void walk_format(const struct qr_output_format *f, enum quire_tool_choice choice,
                        unsigned *bad, unsigned *calls)
{
    struct quire_chat_tool_grammar_params g;
    struct quire_grammar_params gp;
    struct quire_chat_output_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar *grammar;
    char *tag;
    quire_chat_tool_grammar_params_init(&g, sizeof g);
    quire_chat_output_params_init(&p, sizeof p);
    p.format = g.format = f->name;
    p.tools_json = g.tools_json = tools;
    p.thinking = g.thinking = QUIRE_THINKING_CLOSED;
    p.tool_choice = g.tool_choice = choice;
    g.tool_name = "tool_b";
    if (quire_chat_tool_grammar(&g, &tag, &err) != QUIRE_OK)
        fail_msg("%s: %s", f->name, err.msg);
    quire_grammar_params_init(&gp, sizeof gp);
    gp.kind = QUIRE_GRAMMAR_STRUCTURAL_TAG;
    gp.text = tag;
    gp.text_size = strlen(tag);
    if (quire_grammar_compile(vocab, &gp, &grammar, &err) != QUIRE_OK)
        fail_msg("%s: %s in %s", f->name, err.msg, tag);
    for (unsigned i = 0; i < WALKS; i++) {
        struct joined_text text = { 0 };
        struct joined j;
        joined_add(&text, "", 0);
        const bool ended = walk(grammar, f, choice == QUIRE_TOOL_CHOICE_AUTO, &text);
        assert_int_equal(joined_run(&j, &p, text.text, text.size, (struct pieces){ 0 }, &err),
                         QUIRE_OK);
        const bool ok =
            !ended || (check_calls(&j) && (choice == QUIRE_TOOL_CHOICE_AUTO || j.n_calls > 0));
        struct joined k;
        assert_int_equal(joined_run(&k, &p, text.text, text.size,
                                    (struct pieces){ .longest = 3, .seed = i }, &err),
                         QUIRE_OK);
        if (!ok || !joined_same(&j, &k)) {
            fprintf(stderr, "%s choice %d: %s\n  content %s\n", f->name, (int)choice, text.text,
                    j.content.text);
            for (uint32_t c = 0; c < j.n_calls; c++)
                fprintf(stderr, "  %s %s\n", j.calls[c].name.text, j.calls[c].arguments.text);
            ++*bad;
        }
        *calls += j.n_calls;
        joined_free(&j);
        joined_free(&k);
        free(text.text);
    }
    quire_grammar_destroy(grammar);
    quire_chat_tool_grammar_free(NULL, tag);
}

static void walks(void **state)
{
    unsigned bad = 0, calls = 0;
    (void)state;
    for (size_t i = 0; qr_output_formats[i]; i++) {
        if (!qr_output_formats[i]->syntax)
            continue;
        walk_format(qr_output_formats[i], QUIRE_TOOL_CHOICE_REQUIRED, &bad, &calls);
        walk_format(qr_output_formats[i], QUIRE_TOOL_CHOICE_NAMED, &bad, &calls);
        walk_format(qr_output_formats[i], QUIRE_TOOL_CHOICE_AUTO, &bad, &calls);
    }
    print_message("%u calls\n", calls);
    assert_int_equal(bad, 0);
}

static int open_vocab(void **state)
{
    static const char path[] = QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf";
    (void)state;
    return quire_tokenizer_open(path, NULL, &tok, NULL) != QUIRE_OK ||
           quire_grammar_vocab_create(tok, NULL, &vocab, NULL) != QUIRE_OK;
}

static int close_vocab(void **state)
{
    (void)state;
    quire_grammar_vocab_destroy(vocab);
    quire_tokenizer_close(tok);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(walks) };
    return cmocka_run_group_tests(tests, open_vocab, close_vocab);
}
