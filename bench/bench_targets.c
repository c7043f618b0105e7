/* SPDX-License-Identifier: Apache-2.0 */
/* bench_targets.c - `quire-bench targets`: runs the other commands and prints a row per result
 * with a target. */
#include "bench_stats.h"
#include "bench_table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 64, WORDS = 128 };

/* The command that measures a target. */
enum kind { ATTENTION, LINEAR, MODEL, START, CONTENTION };

/* A command with options, and the targets of its rows. */
struct target {
    const char *name;
    enum kind kind;
    const char *options, *full_options; /* full: with --full; NULL = the same */
    const char *target_roofline;        /* "65 % bf16" */
    const char *target_ratio;
    const char *baseline; /* of the ratio; NULL: the peer */
};

static const struct target targets[] = {
    { "prefill attention, bf16", ATTENTION, "--shapes llama-8b -p 512 -ctk bf16", NULL, "65 % bf16",
      "2.0", NULL },
    { "prefill at 8k, bf16", ATTENTION, "--shapes llama-8b -p 512 -d 8192 -ctk bf16", NULL,
      "80 % bf16", "1.5", NULL },
    { "prefill attention, fp8", ATTENTION, "--shapes llama-8b -p 512 -d 0,8192 -ctk fp8_e4m3", NULL,
      "-", "-", NULL },
    { "prefill attention, int8", ATTENTION, "--shapes llama-8b -p 512 -ctk int8", NULL, "-", "-",
      NULL },
    { "prefill at 8k, int8", ATTENTION, "--shapes llama-8b -p 512 -d 8192 -ctk int8", NULL,
      "50 % int8", "1.8", NULL },
    { "decode attention", ATTENTION, "--shapes llama-8b -d 4096 -ctk bf16,fp8_e4m3,int8",
      "--shapes llama-8b -d 4096,16384,32768 -ctk bf16,fp8_e4m3,int8", "85 % read", "2.5",
      "bf16 KV" },
    { "GEMM, M = 512", LINEAR, "--types q8_0,q4_0 --shapes 2048x2048 -M 512",
      "--types q8_0,q4_0 --shapes 2048x2048,8192x2048,4096x14336 -M 128,512", "65 % int8", "1.5",
      NULL },
    { "GEMM, M = 512", LINEAR, "--types q4_k,q5_k --shapes 2048x2048 -M 512",
      "--types q4_k,q5_k --shapes 2048x2048,8192x2048,4096x14336 -M 128,512", "58 % int8", "1.35",
      NULL },
    { "GEMM, M = 512", LINEAR, "--types q6_k,q3_k --shapes 2048x2048 -M 512",
      "--types q6_k,q3_k --shapes 2048x2048,8192x2048,4096x14336 -M 128,512", "50 % int8", "1.2",
      NULL },
    { "GEMM, M = 512", LINEAR, "--types bf16 --shapes 2048x2048 -M 512", NULL, "92 % bf16", "1.0",
      "oneDNN" },
    { "skinny GEMM", LINEAR, "--types q8_0,q4_0,q4_k --shapes 2048x2048 -M 4,8,16,32",
      "--types q8_0,q4_0,q4_k,q6_k,bf16 --shapes 2048x2048,14336x4096 -M 2,4,8,16,32", "-", "2.5",
      NULL },
    { "GEMV, M = 1", LINEAR, "--types all --shapes 8192x2048 -M 1", NULL, "90 % read", "1.3; 1.0",
      NULL },
    { "prefill, whole model", MODEL, "-p 512 -n 0 -d 0,4096", "-p 512 -n 0 -d 0,8192", "-",
      "1.5; 1.6 deep", NULL },
    { "decode, whole model", MODEL, "-p 0 -n 32 -d 0,4096", "-p 0 -n 32 -d 0,8192,16384",
      "85 % read", "1.05; 1.5, 1.8 deep", NULL },
    { "decode, batch of 8", MODEL, "-p 0 -n 16 -d 0 -b 8", "-p 0 -n 16 -d 0,4096 -b 4,8,32", "-",
      "2.5", "not in llama-bench" },
    { "cold start", START, "", NULL, "-", "peer + 0.5 s; 1.0 cached", NULL },
    { "CPU contention", CONTENTION, "", NULL, "-", "slowdown <= 2.2", NULL },
};

/* ---- rows of the other commands */

struct rows {
    unsigned n;
    struct bench_row v[ROWS_MAX];
};

static void take_row(void *user, const struct bench_row *row)
{
    struct rows *r = user;
    if (r->n < ROWS_MAX)
        r->v[r->n++] = *row;
}

static int collect(const struct bench_options *o, int (*command)(const struct bench_options *),
                   const char *options, struct rows *rows)
{
    const struct bench_sink sink = { take_row, rows };
    struct bench_options at = *o;
    char words[8 * WORDS];
    rows->n = 0;
    snprintf(words, sizeof words, "%s", options);
    if (!bench_options_add(&at, words))
        return bench_error(70, "bad options: %s", options);
    at.format = BENCH_TO_SINK;
    at.sink = &sink;
    return command(&at);
}

/* ---- output rows */

struct ratio {
    struct bench_samples samples;
    const char *baseline; /* or why there is no ratio */
};

static const struct bench_column columns[] = {
    { "result", "result", BENCH_TEXT, 24 }, { "case", "case", BENCH_TEXT, 38 },
    { "threads", "threads", 0, 7 },         { "value", "value", 2, 8 },
    { "unit", "unit", BENCH_TEXT, 8 },      { "of roofline", "of_roofline", BENCH_PERCENT, 11 },
    { "bound", "limit", BENCH_TEXT, 5 },    { "target", "target_of_roofline", BENCH_TEXT, 13 },
    { "error", "error", BENCH_ERROR, 8 },   { "ratio", "ratio", 2, 5 },
    { "95 % low", "ratio_lo", 2, 8 },       { "high", "ratio_hi", 2, 5 },
    { "to", "ratio_to", BENCH_TEXT, 18 },   { "target", "target_ratio", BENCH_TEXT, 24 },
};

/* Targets of decode from 8-bit keys. */
static const char kv8_target_roofline[] = "80 % read", kv8_target_ratio[] = "1.7";

struct job {
    const struct bench_options *o;
    struct bench_table table;
    struct rows rows, peer; /* peer: of compare, by test */
    struct ratio ratio;
};

static void put_row(struct job *j, const struct target *g, const struct bench_row *r,
                    const char *name, const char *key, const char *unit)
{
    struct bench_table *t = &j->table;
    const struct bench_summary ratio = bench_summarize(&j->ratio.samples);
    const bool one = j->ratio.samples.n < 2;
    bench_text(t, "%s", g->name);
    bench_text(t, "%s", name);
    bench_number(t, bench_row_number(r, "threads"));
    bench_number(t, bench_row_number(r, key));
    bench_text(t, "%s", unit);
    bench_number(t, bench_row_number(r, "of_roofline"));
    bench_text(t, "%s", bench_row_text(r, "limit"));
    bench_text(t, "%s", g->target_roofline);
    bench_number(t, bench_row_number(r, "error"));
    bench_number(t, ratio.median);
    bench_number(t, one ? NAN : ratio.lo);
    bench_number(t, one ? NAN : ratio.hi);
    bench_text(t, "%s", j->ratio.baseline);
    bench_text(t, "%s", g->target_ratio);
}

static void no_ratio(struct job *j, const char *why)
{
    j->ratio.samples.n = 0;
    j->ratio.baseline = why;
}

/* For kernels, which llama-bench cannot measure alone. */
static void no_peer_ratio(struct job *j)
{
    no_ratio(j, j->o->peer ? "not in llama-bench" : "no peer given");
}

/* ---- attention */

/* The row with a bf16 cache at the same context, or NULL. */
static const struct bench_row *bf16_row(const struct rows *rows, double context)
{
    for (unsigned i = 0; i < rows->n; i++)
        if (!strcmp(bench_row_text(&rows->v[i], "kv"), "bf16") &&
            fabs(bench_row_number(&rows->v[i], "context") - context) < 0.5)
            return &rows->v[i];
    return NULL;
}

static void attention_rows(struct job *j, const struct target *g)
{
    for (unsigned i = 0; i < j->rows.n; i++) {
        const struct bench_row *r = &j->rows.v[i];
        const double n_query = bench_row_number(r, "n_query"),
                     context = bench_row_number(r, "context");
        const struct bench_row *bf16 = g->baseline ? bf16_row(&j->rows, context) : NULL;
        struct target as = *g;
        char name[64];
        if (strcmp(bench_row_text(r, "path"), "paged") != 0)
            continue;
        no_peer_ratio(j);
        if (bf16 && bf16 != r) {
            j->ratio = (struct ratio){ .baseline = g->baseline };
            bench_sample(&j->ratio.samples,
                         bench_row_number(bf16, "us") / bench_row_number(r, "us"));
            as.target_roofline = kv8_target_roofline;
            as.target_ratio = kv8_target_ratio;
        }
        const bool decode = n_query < 2;
        snprintf(name, sizeof name, "%.16s %.9s, %.0f @ d%.0f", bench_row_text(r, "model"),
                 bench_row_text(r, "kv"), n_query, context - n_query);
        put_row(j, &as, r, name, decode ? "gb_per_s" : "giga_flops", decode ? "GB/s" : "GFLOP/s");
    }
}

/* ---- linear */

/* Measures quire and oneDNN in alternation, with weights packed as the model loader packs them
 * for oneDNN. */
static void onednn_ratio(struct job *j, const char *options)
{
    enum { TURNS = 3 };
    char onednn_options[5 * WORDS];
    struct rows *onednn = malloc(sizeof *onednn);
    snprintf(onednn_options, sizeof onednn_options, "%s --onednn", options);
    no_ratio(j, "no oneDNN");
    for (int i = 0; i < TURNS && onednn; i++) {
        if (collect(j->o, bench_linear, onednn_options, onednn) ||
            collect(j->o, bench_linear, options, &j->rows) || !onednn->n)
            break;
        j->ratio.baseline = "oneDNN";
        bench_sample(&j->ratio.samples,
                     bench_row_number(&onednn->v[0], "us") / bench_row_number(&j->rows.v[0], "us"));
    }
    free(onednn);
}

static void linear_rows(struct job *j, const struct target *g, const char *options)
{
    no_peer_ratio(j);
    if (g->baseline)
        onednn_ratio(j, options);
    for (unsigned i = 0; i < j->rows.n; i++) {
        const struct bench_row *r = &j->rows.v[i];
        const double m = bench_row_number(r, "m");
        char name[64];
        snprintf(name, sizeof name, "%.8s %.20s, M = %.0f", bench_row_text(r, "type"),
                 bench_row_text(r, "shape"), m);
        put_row(j, g, r, name, m > 1 ? "giga_ops" : "gb_per_s", m > 1 ? "GOP/s" : "GB/s");
    }
}

/* ---- whole models */

static void peer_ratio(struct job *j, const struct bench_row *r)
{
    no_peer_ratio(j);
    for (unsigned i = 0; i < j->peer.n; i++) {
        const struct bench_row *p = &j->peer.v[i];
        const double ratio = bench_row_number(p, "ratio");
        if (strcmp(bench_row_text(p, "test"), bench_row_text(r, "test")) != 0 ||
            bench_row_number(r, "seqs") > 1 || !isfinite(ratio))
            continue;
        j->ratio = (struct ratio){ .baseline = "peer" };
        bench_sample(&j->ratio.samples, ratio);
        bench_sample(&j->ratio.samples, bench_row_number(p, "ratio_lo"));
        bench_sample(&j->ratio.samples, bench_row_number(p, "ratio_hi"));
    }
}

static int model_rows(struct job *j, const struct target *g, const char *options)
{
    int code = 0;
    j->peer.n = 0;
    if (j->o->peer && !g->baseline)
        code = collect(j->o, bench_compare, options, &j->peer);
    for (unsigned i = 0; i < j->rows.n && !code; i++) {
        const struct bench_row *r = &j->rows.v[i];
        char name[64];
        peer_ratio(j, r);
        snprintf(name, sizeof name, "%.24s %.8s, %.16s", bench_row_text(r, "model"),
                 bench_row_text(r, "type"), bench_row_text(r, "test"));
        put_row(j, g, r, name, "t_per_s_median", "t/s");
    }
    return code;
}

/* Ratio: peer / quire, so that above 1 quire is faster, as in the other rows. */
static void start_rows(struct job *j, const struct target *g)
{
    for (unsigned i = 0; i < j->rows.n; i++) {
        const struct bench_row *r = &j->rows.v[i];
        no_ratio(j, "no peer given");
        if (j->o->peer) {
            j->ratio.baseline = "peer";
            bench_sample(&j->ratio.samples, 1 / bench_row_number(r, "exit_ratio"));
            bench_sample(&j->ratio.samples, 1 / bench_row_number(r, "exit_ratio_hi"));
            bench_sample(&j->ratio.samples, 1 / bench_row_number(r, "exit_ratio_lo"));
        }
        const bool is_peer = !isfinite(bench_row_number(r, "first_s"));
        put_row(j, g, r, bench_row_text(r, "program"), is_peer ? "exit_s" : "first_s",
                is_peer ? "s (exit)" : "s");
    }
}

static void contention_rows(struct job *j, const struct target *g)
{
    for (unsigned i = 0; i < j->rows.n; i++) {
        const struct bench_row *r = &j->rows.v[i];
        j->ratio = (struct ratio){ .baseline = "uncontended" };
        bench_sample(&j->ratio.samples, bench_row_number(r, "slowdown"));
        bench_sample(&j->ratio.samples, bench_row_number(r, "slowdown_lo"));
        bench_sample(&j->ratio.samples, bench_row_number(r, "slowdown_hi"));
        put_row(j, g, r, bench_row_text(r, "program"), "contended_t_per_s", "t/s");
    }
}

/* ---- the command */

/* Options appended to those of the target with --quick. */
static const char *quick_options(const struct target *g)
{
    if (g->kind == LINEAR)
        return " --shapes 256x512";
    if (g->kind == MODEL)
        return " -d 0,64";
    if (g->kind != ATTENTION)
        return "";
    const bool prefill = strstr(g->options, "-p "), deep = strstr(g->options, "-d ");
    return !prefill ? " -d 256" : deep ? " -p 70 -d 600" : " -p 128";
}

static int one_target(struct job *j, const struct target *g)
{
    static int (*const commands[])(const struct bench_options *) = { [ATTENTION] = bench_attention,
                                                                     [LINEAR] = bench_linear,
                                                                     [MODEL] = bench_model,
                                                                     [START] = bench_start,
                                                                     [CONTENTION] =
                                                                         bench_contention };
    char options[4 * WORDS];
    snprintf(options, sizeof options, "%s%s",
             j->o->full && g->full_options ? g->full_options : g->options,
             j->o->quick ? quick_options(g) : "");
    struct bench_options o = *j->o;
    if (g->kind < START)
        o.peer = NULL; /* bench_machine_open() pins threads only without --peer */
    int code = collect(&o, commands[g->kind], options, &j->rows);
    if (code)
        return code;
    switch (g->kind) {
    case ATTENTION:
        attention_rows(j, g);
        break;
    case LINEAR:
        linear_rows(j, g, options);
        break;
    case MODEL:
        return model_rows(j, g, options);
    case START:
        start_rows(j, g);
        break;
    case CONTENTION:
        contention_rows(j, g);
        break;
    }
    return 0;
}

int bench_targets(const struct bench_options *o)
{
    struct job *j = calloc(1, sizeof *j);
    int code = 0;
    if (!j)
        return bench_error(71, "out of memory");
    j->o = o;
    bench_document_begin(&j->table, o, "targets");
    bench_table_begin(&j->table, "Targets", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof targets / sizeof *targets && !code; i++)
        if (o->model || targets[i].kind < MODEL)
            code = one_target(j, &targets[i]);
    bench_table_end(&j->table);
    bench_note(
        &j->table,
        "of roofline: fraction of the limit probed in the same rounds. error: of linear and "
        "attention, to double-precision sums. ratio: speed of quire / speed of the baseline, "
        "per round; CPU contention: slowdown.");
    if (!o->model)
        bench_note(&j->table, "Results of whole models need -m FILE.");
    bench_document_end(&j->table);
    free(j);
    return code;
}
