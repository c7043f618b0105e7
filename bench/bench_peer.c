/* SPDX-License-Identifier: Apache-2.0 */
/* bench_peer.c - runs llama-bench, given by path, and reads its JSON. */
#include "bench_peer.h"
#include "bench_process.h"
#include "json/parse.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGS_MAX = 128 };

int peer_open(struct peer *p, const struct bench_options *o, uint32_t threads)
{
    int exit_code;
    *p = (struct peer){
        .program = o->peer, .model = o->model, .extra = o->peer_args, .threads = threads
    };
    if (!o->peer)
        return bench_error(64, "--peer PROGRAM is missing");
    if (access(o->peer, X_OK) != 0)
        return bench_error(66, "%s: %s", o->peer, strerror(errno));
    char help[] = "--help", *argv[] = { (char *)(uintptr_t)o->peer, help, NULL };
    char *text = bench_run_program(argv, &exit_code);
    if (!text || exit_code == 127)
        return free(text), bench_error(69, "%s cannot be run", o->peer);
    p->has_depth = strstr(text, "--n-depth") != NULL;
    if (strstr(text, "--no-warmup"))
        p->no_warmup[0] = "--no-warmup";
    else if (strstr(text, "--warmup"))
        p->no_warmup[0] = "--warmup", p->no_warmup[1] = "0";
    free(text);
    return 0;
}

/* ---- command line: all tests in one process, one repetition after the warm-up of the program */

struct command {
    char *argv[ARGS_MAX];
    char words[ARGS_MAX][24];
    unsigned n, n_words;
};

static void add(struct command *c, const char *word)
{
    if (c->n + 1 < ARGS_MAX)
        c->argv[c->n++] = (char *)(uintptr_t)word;
}

static void add_numbers(struct command *c, const char *option, uint32_t a, uint32_t b, bool pair)
{
    char *word = c->words[c->n_words];
    if (c->n_words + 1 >= ARGS_MAX)
        return;
    c->n_words++;
    snprintf(word, sizeof c->words[0], pair ? "%u,%u" : "%u", a, b);
    add(c, option);
    add(c, word);
}

/* Whether test i needs no new -p (generate: -n) option: it is of the other kind, or a test
 * before it has the same n. */
static bool is_listed(const struct model_tests *t, unsigned i, bool generate)
{
    for (unsigned k = 0; k < i; k++)
        if (t->v[k].n == t->v[i].n && t->v[k].generate == t->v[i].generate)
            return true;
    return t->v[i].generate != generate;
}

/* Adds lists of -p, -n and -d; the program tests their combinations. */
static void add_tests(struct command *c, const struct peer *p, const struct model_tests *t)
{
    bool prompts = false, gens = false;
    for (unsigned i = 0; i < t->n; i++) {
        const struct model_test *v = &t->v[i];
        if (v->depth && !p->has_depth) {
            if (v->generate && v->n_seqs == 1)
                add_numbers(c, "-gp", v->depth, v->n, true);
            continue;
        }
        if (!is_listed(t, i, false))
            prompts = true, add_numbers(c, "-p", v->n, 0, false);
        if (!is_listed(t, i, true))
            gens = true, add_numbers(c, "-n", v->n, 0, false);
    }
    if (!prompts)
        add_numbers(c, "-p", 0, 0, false);
    if (!gens)
        add_numbers(c, "-n", 0, 0, false);
    for (unsigned i = 0; i < t->n && p->has_depth; i++)
        if (i == 0 || t->v[i].depth != t->v[i - 1].depth)
            add_numbers(c, "-d", t->v[i].depth, 0, false);
}

/* ---- results */

static double number(const struct qr_json *row, const char *key)
{
    const struct qr_json *v = qr_json_get(row, key);
    return qr_json_is_string(v) ? strtod(qr_json_string(v), NULL) : qr_json_number(v);
}

static const char *word(const struct qr_json *row, const char *key)
{
    const char *s = qr_json_string(qr_json_get(row, key));
    return s ? s : "?";
}

/* Whether a row of the peer is this test. A row with both counts is decode at the depth of a
 * prompt (-gp). */
static bool is_test(const struct qr_json *row, const struct model_test *t)
{
    const double prompt = number(row, "n_prompt"), gen = number(row, "n_gen"),
                 depth = number(row, "n_depth");
    if (t->n_seqs != 1)
        return false;
    if (!t->generate)
        return prompt == t->n && gen == 0 && depth == t->depth;
    return gen == t->n && (prompt > 0 ? prompt == t->depth : depth == t->depth);
}

int peer_run(struct peer *p, const struct model_tests *tests, double *rates)
{
    struct command *c = calloc(1, sizeof *c);
    int exit_code = -1;
    if (!c)
        return 71;
    add(c, p->program);
    add(c, "-m"), add(c, p->model);
    add(c, "-o"), add(c, "json");
    add_numbers(c, "-r", 1, 0, false);
    add_numbers(c, "-t", p->threads, 0, false);
    add_tests(c, p, tests);
    for (char *const *e = p->extra; e && *e; e++)
        add(c, *e);
    char *text = bench_run_program(c->argv, &exit_code);
    free(c);
    const char *start = text ? strchr(text, '[') : NULL;
    const char *end = start ? strrchr(start, ']') : NULL;
    struct qr_json_error error;
    struct qr_json *rows =
        end ? qr_json_parse(start, (size_t)(end + 1 - start), 0, NULL, &error) : NULL;
    free(text);
    if (!qr_json_is_array(rows)) {
        qr_json_free(rows);
        return bench_error(69, "%s printed no JSON (exit code %d)", p->program, exit_code);
    }
    for (unsigned i = 0; i < tests->n; i++) {
        rates[i] = NAN;
        for (struct qr_json_iter row = qr_json_iterate(rows); qr_json_next(&row);)
            if (is_test(row.value, &tests->v[i]))
                rates[i] = number(row.value, "avg_ts");
    }
    const struct qr_json *first = qr_json_at(rows, 0);
    snprintf(p->about, sizeof p->about, "commit %s, %s, KV %s/%s", word(first, "build_commit"),
             word(first, "model_type"), word(first, "type_k"), word(first, "type_v"));
    qr_json_free(rows);
    return 0;
}
