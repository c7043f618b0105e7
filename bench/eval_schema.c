/* SPDX-License-Identifier: Apache-2.0 */
/* eval_schema.c - `quire-eval schema`: compiles JSON schemas and replays their instances token by
 * token: which valid ones are rejected, which invalid ones accepted, and how long masks take. */
#include "eval.h"
#include "eval_schema_files.h"
#include "eval_schema_report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOW_MASK    2e-3 /* seconds */
#define REPLAY_LIMIT 60   /* seconds of a schema with all its instances */

struct run {
    const struct eval_options *o;
    struct quire_tokenizer *tok;
    struct quire_grammar_vocab *vocab;
    uint32_t *mask;
    size_t n_words;
    clockid_t clock; /* of the times in the report */
    FILE *lines;     /* what is printed while schemas are checked */
    double deadline; /* of the schema that is checked */
    struct schema_report report;
};

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(const struct run *r) { return seconds_of(r->clock); }

/* ---- One instance ---- */

/* Whether the grammar accepts the tokens as a whole; *at: tokens that it accepted. */
static quire_status replay(struct run *r, struct quire_grammar *grammar, const int32_t *ids,
                           size_t n, bool *accepted, size_t *at, struct quire_error *err)
{
    struct quire_grammar_matcher *m = NULL;
    quire_status s = quire_grammar_matcher_create(grammar, &m, err);
    *accepted = false;
    for (*at = 0; s == QUIRE_OK && *at < n; ++*at) {
        if (seconds_of(CLOCK_MONOTONIC) > r->deadline) {
            snprintf(err->msg, sizeof err->msg, "not replayed within %d s", REPLAY_LIMIT);
            s = QUIRE_E_LIMIT;
            break;
        }
        double start = now(r);
        s = quire_grammar_matcher_mask(m, r->mask, r->n_words, err);
        const double seconds = now(r) - start;
        schema_report_add(&r->report.mask_times, seconds);
        if (r->o->verbose && seconds > SLOW_MASK)
            fprintf(r->lines, "    slow mask at token %zu: %.1f ms\n", *at, 1e3 * seconds);
        if (s != QUIRE_OK || !(r->mask[ids[*at] / 32] >> (ids[*at] % 32) & 1))
            break;
        start = now(r);
        s = quire_grammar_matcher_commit(m, &ids[*at], 1, err);
        schema_report_add(&r->report.commit_times, now(r) - start);
    }
    if (s == QUIRE_OK && *at == n)
        *accepted = quire_grammar_matcher_can_end(m);
    quire_grammar_matcher_destroy(m);
    return s;
}

/* Where in its text an instance was rejected. */
static void print_rejected(const struct run *r, const int32_t *ids, size_t n, size_t at,
                           const char *text)
{
    size_t offset = 0, size;
    for (size_t i = 0; i < at; i++) {
        (void)quire_tokenizer_token_bytes(r->tok, ids[i], &size);
        offset += size;
    }
    fprintf(r->lines, "    rejected at token %zu of %zu, byte %zu%s: %.200s\n", at, n, offset,
            at == n ? " (incomplete)" : "", text);
}

/* Replays the text of an instance. */
static quire_status check_instance(struct run *r, struct quire_grammar *grammar,
                                   const struct json_slice *data, bool *accepted,
                                   struct quire_error *err)
{
    size_t size, n = 0, at = 0;
    char *text = json_slice_write(data, r->o->compact, &size);
    int32_t *ids = text ? malloc((size + 1) * sizeof *ids) : NULL;
    quire_status s = QUIRE_E_NOMEM;
    if (ids != NULL)
        s = quire_tokenizer_encode(r->tok, text, size, 0, ids, size + 1, &n, err);
    if (s == QUIRE_OK)
        s = replay(r, grammar, ids, n, accepted, &at, err);
    if (s == QUIRE_OK && r->o->verbose && !*accepted)
        print_rejected(r, ids, n, at, text);
    free(ids);
    free(text);
    return s;
}

/* ---- One schema ---- */

static quire_status compile(struct run *r, const struct json_slice *schema,
                            struct quire_grammar **out, struct quire_error *err)
{
    struct quire_grammar_params p;
    quire_grammar_params_init(&p, sizeof p);
    p.kind = QUIRE_GRAMMAR_JSON_SCHEMA;
    p.text = schema->text;
    p.text_size = schema->size;
    const double start = now(r);
    const quire_status s = quire_grammar_compile(r->vocab, &p, out, err);
    schema_report_add(&r->report.compile_times, now(r) - start);
    return s;
}

/* One schema with its tests: the name is for the report. */
static void check_schema(struct run *r, const char *name, const struct json_slice *schema,
                         const struct json_slice *tests)
{
    struct schema_report *report = &r->report;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar *grammar = NULL;
    struct json_slice test, valid, data;
    unsigned rejected = 0, accepted_invalid = 0, failed = 0;
    report->schemas++;
    r->deadline = seconds_of(CLOCK_MONOTONIC) + REPLAY_LIMIT;
    if (r->o->verbose)
        fprintf(r->lines, "%s\n", name);
    if (compile(r, schema, &grammar, &err) != QUIRE_OK) {
        report->not_compiled++;
        schema_report_reason(report, err.msg);
        if (r->o->verbose)
            fprintf(r->lines, "%s: not compiled: %s\n", name, err.msg);
        return;
    }
    for (size_t at = 0; json_slice_next(tests, &at, NULL, &test);) {
        bool accepted = false;
        if (!json_slice_get(&test, "valid", &valid) || !json_slice_get(&test, "data", &data))
            continue; /* does not occur: the files are checked */
        report->instances++;
        const bool expected = json_slice_is(&valid, "true");
        if (check_instance(r, grammar, &data, &accepted, &err) != QUIRE_OK) {
            failed++;
            fprintf(r->lines, "%s: %s\n", name, err.msg);
        } else if (expected && !accepted) {
            rejected++;
        } else if (!expected && accepted) {
            accepted_invalid++;
        }
    }
    report->validation_errors += rejected > 0;
    report->invalidation_errors += accepted_invalid > 0;
    report->failures += failed > 0;
    report->passed += rejected == 0 && accepted_invalid == 0 && failed == 0;
    if (rejected > 0)
        fprintf(r->lines, "%s: %u valid instances rejected\n", name, rejected);
    if (accepted_invalid > 0)
        fprintf(r->lines, "%s: %u invalid instances accepted\n", name, accepted_invalid);
    quire_grammar_destroy(grammar);
}

/* The visitor of the files. */
static void visit(void *context, const char *name, const struct json_slice *schema,
                  const struct json_slice *tests)
{
    struct run *r = context;
    const struct eval_options *o = r->o;
    if ((o->prompt == NULL || strstr(name, o->prompt)) &&
        (o->limit == 0 || r->report.schemas < o->limit))
        check_schema(r, name, schema, tests);
}

int eval_schema(const struct eval_options *o)
{
    struct run r = { .o = o,
                     .clock = o->cpu_clock ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC,
                     .lines = o->json ? stderr : stdout };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (o->n_args < 1 || o->model == NULL) {
        fprintf(stderr, "quire-eval: usage: quire-eval schema FILE... -m TOKENIZER\n");
        return 64;
    }
    quire_status s = quire_tokenizer_open(o->model, NULL, &r.tok, &err);
    if (s != QUIRE_OK)
        return eval_fail(o->model, s, &err);
    s = quire_grammar_vocab_create(r.tok, NULL, &r.vocab, &err);
    if (s == QUIRE_OK)
        r.n_words = quire_grammar_mask_words(r.vocab);
    r.mask = malloc((r.n_words + 1) * sizeof *r.mask);
    if (s == QUIRE_OK && r.mask == NULL)
        s = QUIRE_E_NOMEM;
    int code = s == QUIRE_OK ? 0 : eval_fail("vocabulary", s, &err);
    for (int i = 0; i < o->n_args && code == 0; i++)
        code = schema_files_visit(o->args[i], visit, &r);
    if (code == 0 && r.report.schemas == 0) {
        fprintf(stderr, "quire-eval: no schema%s%s\n", o->prompt ? " with the name " : "",
                o->prompt ? o->prompt : "");
        code = 65;
    }
    if (code == 0) {
        (o->json ? schema_report_print_json : schema_report_print)(&r.report);
        code = r.report.invalidation_errors > 0 || r.report.failures > 0;
    }
    schema_report_free(&r.report);
    free(r.mask);
    quire_grammar_vocab_destroy(r.vocab);
    quire_tokenizer_close(r.tok);
    return code;
}
