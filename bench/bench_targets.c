/* SPDX-License-Identifier: Apache-2.0 */
/* bench_targets.c - `quire-bench targets`: one row for everything there is a target for, made by the other commands. */
#include "bench_stats.h"
#include "bench_table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 64, WORDS = 128 };

/* What the rows of a command mean here. */
enum kind { ATTENTION, PRODUCT, MODEL, START, NEIGHBOUR };

/* A target: a command with options, and what is wanted of its rows. */
struct target {
    const char *what;
    enum kind kind;
    const char *options, *full_options; /* full: with --full; NULL = the same */
    const char *want_roof;              /* "65 % bf16" */
    const char *want_ratio;
    const char *against; /* NULL: a peer's program; else what this command measures itself */
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
      "own bf16" },
    { "GEMM, M = 512", PRODUCT, "--types q8_0,q4_0 --shapes 2048x2048 -M 512",
      "--types q8_0,q4_0 --shapes 2048x2048,8192x2048,4096x14336 -M 128,512", "65 % int8", "1.5",
      NULL },
    { "GEMM, M = 512", PRODUCT, "--types q4_k,q5_k --shapes 2048x2048 -M 512",
      "--types q4_k,q5_k --shapes 2048x2048,8192x2048,4096x14336 -M 128,512", "58 % int8", "1.35",
      NULL },
    { "GEMM, M = 512", PRODUCT, "--types q6_k,q3_k --shapes 2048x2048 -M 512",
      "--types q6_k,q3_k --shapes 2048x2048,8192x2048,4096x14336 -M 128,512", "50 % int8", "1.2",
      NULL },
    { "GEMM, M = 512", PRODUCT, "--types bf16 --shapes 2048x2048 -M 512", NULL, "92 % bf16", "1.0",
      "oneDNN" },
    { "few rows", PRODUCT, "--types q8_0,q4_0,q4_k --shapes 2048x2048 -M 4,8,16,32",
      "--types q8_0,q4_0,q4_k,q6_k,bf16 --shapes 2048x2048,14336x4096 -M 2,4,8,16,32", "-", "2.5",
      NULL },
    { "GEMV, M = 1", PRODUCT,
      "--types "
      "q8_0,q4_0,q4_1,q5_0,q5_1,q2_k,q3_k,q4_k,q5_k,q6_k,iq3_xxs,iq3_s,iq4_nl,iq4_xs,mxfp4,bf16,"
      "f16,f32 "
      "--shapes 8192x2048 -M 1",
      NULL, "90 % read", "1.3; 1.0", NULL },
    { "prompt, whole model", MODEL, "-p 512 -n 0 -d 0,4096", "-p 512 -n 0 -d 0,8192", "-",
      "1.5; 1.6 deep", NULL },
    { "generation, whole model", MODEL, "-p 0 -n 32 -d 0,4096", "-p 0 -n 32 -d 0,8192,16384",
      "85 % read", "1.05; 1.5, 1.8 deep", NULL },
    { "generation, 8 sequences", MODEL, "-p 0 -n 16 -d 0 -b 8", "-p 0 -n 16 -d 0,4096 -b 4,8,32",
      "-", "2.5", "not in llama-bench" },
    { "cold start", START, "", NULL, "-", "its time + 0.5 s; 1.0 cached", NULL },
    { "busy neighbour", NEIGHBOUR, "", NULL, "-", "at most 2.2 times slower", NULL },
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

/* ---- a row of ours */

struct ratio {
    struct bench_samples samples;
    const char *against; /* or why there is none */
};

static const struct bench_column columns[] = {
    { "target", "target", BENCH_TEXT, 23 }, { "case", "case", BENCH_TEXT, 34 },
    { "threads", "threads", 0, 7 },         { "result", "result", 2, 8 },
    { "unit", "unit", BENCH_TEXT, 7 },      { "of roof", "of_roofline", BENCH_PERCENT, 7 },
    { "roof", "limit", BENCH_TEXT, 5 },     { "wanted", "wanted_of_roofline", BENCH_TEXT, 13 },
    { "error", "error", BENCH_ERROR, 8 },   { "ratio", "ratio", 2, 5 },
    { "95 % low", "ratio_lo", 2, 8 },       { "high", "ratio_hi", 2, 5 },
    { "to", "ratio_to", BENCH_TEXT, 18 },   { "wanted", "wanted_ratio", BENCH_TEXT, 28 },
};

/* Of decode from keys of 8 bits. */
static const char small_keys_roof[] = "80 % read", small_keys_ratio[] = "1.7";

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
    const struct bench_summary ratio = bench_summarise(&j->ratio.samples);
    const bool one = j->ratio.samples.n < 2;
    bench_text(t, "%s", g->what);
    bench_text(t, "%s", name);
    bench_number(t, bench_row_number(r, "threads"));
    bench_number(t, bench_row_number(r, key));
    bench_text(t, "%s", unit);
    bench_number(t, bench_row_number(r, "of_roofline"));
    bench_text(t, "%s", bench_row_text(r, "limit"));
    bench_text(t, "%s", g->want_roof);
    bench_number(t, bench_row_number(r, "error"));
    bench_number(t, ratio.median);
    bench_number(t, one ? NAN : ratio.lo);
    bench_number(t, one ? NAN : ratio.hi);
    bench_text(t, "%s", j->ratio.against);
    bench_text(t, "%s", g->want_ratio);
}

static void no_ratio(struct job *j, const char *why)
{
    j->ratio.samples.n = 0;
    j->ratio.against = why;
}

/* Of what a peer's llama-bench cannot measure alone. */
static void no_peer_ratio(struct job *j)
{
    no_ratio(j, j->o->peer ? "not in llama-bench" : "no peer given");
}

/* ---- attention */

/* The bf16 row at the same context, or NULL. */
static const struct bench_row *own_bf16(const struct rows *rows, double context)
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
        const struct bench_row *own = g->against ? own_bf16(&j->rows, context) : NULL;
        struct target as = *g;
        char name[64];
        if (strcmp(bench_row_text(r, "path"), "paged") != 0)
            continue;
        no_peer_ratio(j);
        if (own && own != r) {
            j->ratio = (struct ratio){ .against = g->against };
            bench_sample(&j->ratio.samples,
                         bench_row_number(own, "us") / bench_row_number(r, "us"));
            as.want_roof = small_keys_roof;
            as.want_ratio = small_keys_ratio;
        }
        const bool decode = n_query < 2;
        snprintf(name, sizeof name, "%.16s %.9s, %.0f %s %.0f", bench_row_text(r, "model"),
                 bench_row_text(r, "kv"), n_query, decode ? "of" : "behind",
                 decode ? context : context - n_query);
        put_row(j, &as, r, name, decode ? "gb_per_s" : "giga_flops", decode ? "GB/s" : "GFLOP/s");
    }
}

/* ---- products */

/* Ours and oneDNN's by turns, in the panels in which models give it their weights. */
static void against_onednn(struct job *j, const char *options)
{
    enum { TURNS = 3 };
    char held[5 * WORDS];
    struct rows *theirs = malloc(sizeof *theirs);
    snprintf(held, sizeof held, "%s --onednn", options);
    no_ratio(j, "no oneDNN");
    for (int i = 0; i < TURNS && theirs; i++) {
        if (collect(j->o, bench_linear, held, theirs) ||
            collect(j->o, bench_linear, options, &j->rows) || !theirs->n)
            break;
        j->ratio.against = "oneDNN";
        bench_sample(&j->ratio.samples,
                     bench_row_number(&theirs->v[0], "us") / bench_row_number(&j->rows.v[0], "us"));
    }
    free(theirs);
}

static void product_rows(struct job *j, const struct target *g, const char *options)
{
    no_peer_ratio(j);
    if (g->against)
        against_onednn(j, options);
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
        j->ratio = (struct ratio){ .against = "peer" };
        bench_sample(&j->ratio.samples, ratio);
        bench_sample(&j->ratio.samples, bench_row_number(p, "ratio_lo"));
        bench_sample(&j->ratio.samples, bench_row_number(p, "ratio_hi"));
    }
}

static int model_rows(struct job *j, const struct target *g, const char *options)
{
    int code = 0;
    j->peer.n = 0;
    if (j->o->peer && !g->against)
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

/* The peer's time over ours, as everywhere: above 1 we are faster. */
static void start_rows(struct job *j, const struct target *g)
{
    for (unsigned i = 0; i < j->rows.n; i++) {
        const struct bench_row *r = &j->rows.v[i];
        no_ratio(j, "no peer given");
        if (j->o->peer) {
            j->ratio.against = "peer";
            bench_sample(&j->ratio.samples, 1 / bench_row_number(r, "of_peer"));
            bench_sample(&j->ratio.samples, 1 / bench_row_number(r, "of_peer_hi"));
            bench_sample(&j->ratio.samples, 1 / bench_row_number(r, "of_peer_lo"));
        }
        const bool is_peer = !isfinite(bench_row_number(r, "first_s"));
        put_row(j, g, r, bench_row_text(r, "program"), is_peer ? "end_s" : "first_s",
                is_peer ? "s (end)" : "s");
    }
}

static void neighbour_rows(struct job *j, const struct target *g)
{
    for (unsigned i = 0; i < j->rows.n; i++) {
        const struct bench_row *r = &j->rows.v[i];
        j->ratio = (struct ratio){ .against = "itself alone" };
        bench_sample(&j->ratio.samples, bench_row_number(r, "slower"));
        bench_sample(&j->ratio.samples, bench_row_number(r, "slower_lo"));
        bench_sample(&j->ratio.samples, bench_row_number(r, "slower_hi"));
        put_row(j, g, r, bench_row_text(r, "program"), "beside_t_per_s", "t/s");
    }
}

/* ---- the command */

/* Options behind the target's own for --quick. */
static const char *small(const struct target *g)
{
    if (g->kind == PRODUCT)
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
                                                                     [PRODUCT] = bench_linear,
                                                                     [MODEL] = bench_model,
                                                                     [START] = bench_start_times,
                                                                     [NEIGHBOUR] =
                                                                         bench_neighbour };
    char options[4 * WORDS];
    snprintf(options, sizeof options, "%s%s",
             j->o->full && g->full_options ? g->full_options : g->options,
             j->o->quick ? small(g) : "");
    struct bench_options o = *j->o;
    if (g->kind < START)
        o.peer = NULL; /* threads are pinned where no peer runs beside them */
    int code = collect(&o, commands[g->kind], options, &j->rows);
    if (code)
        return code;
    switch (g->kind) {
    case ATTENTION:
        attention_rows(j, g);
        break;
    case PRODUCT:
        product_rows(j, g, options);
        break;
    case MODEL:
        return model_rows(j, g, options);
    case START:
        start_rows(j, g);
        break;
    case NEIGHBOUR:
        neighbour_rows(j, g);
        break;
    }
    return 0;
}

int bench_targets(const struct bench_options *o)
{
    struct job *j = calloc(1, sizeof *j);
    int code = 0;
    if (!j)
        return bench_error(71, "no memory for rows");
    j->o = o;
    bench_document_begin(&j->table, o, "targets");
    bench_table_begin(&j->table, "Targets", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof targets / sizeof *targets && !code; i++)
        if (o->model || targets[i].kind < MODEL)
            code = one_target(j, &targets[i]);
    bench_table_end(&j->table);
    bench_note(&j->table,
               "of roof: of what the machine gave in the same seconds, wanted beside it. error: "
               "of products and attention, to sums in double. ratio: our speed over the other's, "
               "round by round; of a busy neighbour, how many times slower.");
    if (!o->model)
        bench_note(&j->table, "Without -m FILE: no whole models.");
    bench_document_end(&j->table);
    free(j);
    return code;
}
