/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve.c - `quire-bench serve`: throughput and latencies of a stream of requests, played
 * against the engine or against a server. */
#include "bench_serve_scenario.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Options */

static int check_target(const struct bench_options *o)
{
    const bool engine_only = o->max_seqs || o->cache_tokens || o->target_itl > 0 || o->k_types ||
                             o->v_types || o->threads.n || o->chunk || o->compute ||
                             o->pack_cache || o->draft_model || o->json_schema;
    if (!o->model && !o->synth && !o->url)
        return bench_error(64, "serve: -m FILE, --synth SHAPE or --url URL is missing");
    if (o->synth && (o->model || o->url))
        return bench_error(64, "serve: --synth excludes -m and --url");
    if (!o->url && (o->vocab || o->text_prompts))
        return bench_error(64, "serve: %s is an option of --url",
                           o->vocab ? "--vocab" : "--text-prompts");
    if (o->url && engine_only)
        return bench_error(64, "serve: --url excludes the options of the engine: -t, --chunk, "
                               "--compute, -ctk, -ctv, --pack-cache, --max-seqs, --cache-tokens, "
                               "--draft-model, --json-schema, --target-itl");
    if (o->url && o->scenario && !strcmp(o->scenario, "batch1"))
        return bench_error(64, "serve: --scenario batch1 needs a model, not --url");
    if (o->threads.n > 1)
        return bench_error(64, "serve: -t takes one number of threads");
    return 0;
}

static int check_stream(const struct bench_options *o)
{
    const bool generated = o->scenario || o->requests || o->rate > 0 || o->concurrency ||
                           o->prompt_len || o->answer_len || o->groups;
    if (o->trace && generated)
        return bench_error(64, "serve: --trace excludes --scenario, --requests, --rate, "
                               "--concurrency, --prompt-len, --answer-len and --groups");
    if (o->rate > 0 && o->concurrency)
        return bench_error(64, "serve: --rate excludes --concurrency");
    const bool has_prefix =
        o->shared_prefix || (o->scenario && !strcmp(o->scenario, "shared-prefix"));
    if (o->groups && !has_prefix)
        return bench_error(64, "serve: --groups needs --shared-prefix");
    const bool holds = o->scenario && !strcmp(o->scenario, "long-arrival");
    if (holds && (o->rate > 0 || o->concurrency))
        return bench_error(64, "serve: --scenario long-arrival excludes --rate and --concurrency");
    return 0;
}

/* ---- Tables */

static const struct bench_column columns[] = {
    { "target", "target", BENCH_TEXT, 22 },
    { "type", "type", BENCH_TEXT, 5 },
    { "threads", "threads", 0, 7 },
    { "max seqs", "max_seqs", 0, 8 },
    { "requests", "requests", 0, 8 },
    { "failed", "failed", 0, 6 },
    { "s", "seconds", 2, 7 },
    { "requests/s", "requests_per_s", 2, 10 },
    { "prompt t/s", "prompt_t_per_s", 1, 10 },
    { "output t/s", "output_t_per_s", 1, 10 },
    { "cached tokens", "cached_tokens", 0, 13 },
    { "preemptions", "preemptions", 0, 11 },
    { "drafted", "drafted_tokens", 0, 8 },
    { "accepted", "accepted_tokens", 0, 8 },
    { "goodput/s", "goodput_per_s", 2, 9 },
    { "within limits", "within_limits", BENCH_PERCENT, 13 },
};

static void put_throughput(struct bench_table *t, const struct bench_options *o,
                           const struct serve_log *log, const struct serve_engine_result *engine)
{
    const double seconds = log->end - log->begin;
    double n_done = 0, n_prompt = 0, n_output = 0, n_cached = 0;
    for (uint32_t i = 0; i < log->n; i++) {
        const struct serve_record *r = &log->records[i];
        n_done += r->state == SERVE_DONE;
        n_prompt += r->n_output ? (double)r->n_prompt : 0;
        n_output += (double)r->n_output;
        n_cached += (double)r->n_cached;
    }
    bench_table_begin(t, "Serving", columns, sizeof columns / sizeof *columns);
    bench_text(t, "%s", o->url ? o->url : engine->model);
    bench_text(t, "%s", o->url ? "" : engine->weight_type);
    bench_number(t, o->url ? (double)NAN : engine->n_threads);
    bench_number(t, o->url ? (double)NAN : engine->max_seqs);
    bench_number(t, log->n);
    bench_number(t, log->n_failed);
    bench_number(t, seconds);
    bench_number(t, n_done / seconds);
    bench_number(t, n_prompt / seconds);
    bench_number(t, n_output / seconds);
    bench_number(t, n_cached);
    bench_number(t, o->url ? (double)NAN : (double)engine->n_preemptions);
    bench_number(t, o->url ? (double)NAN : (double)engine->n_drafted);
    bench_number(t, o->url ? (double)NAN : (double)engine->n_accepted);
    const struct serve_goodput good = serve_log_goodput(log, o->slo_ttft * 1e-3, o->slo_itl * 1e-3);
    bench_number(t, good.n / seconds);
    bench_number(t, good.share);
    bench_table_end(t);
}

static const struct bench_column latency_columns[] = {
    { "latency, ms", "latency", BENCH_TEXT, 19 },
    { "samples", "samples", 0, 7 },
    { "mean", "mean_ms", 2, 8 },
    { "p50", "p50_ms", 2, 8 },
    { "p90", "p90_ms", 2, 8 },
    { "p99", "p99_ms", 2, 8 },
    { "max", "max_ms", 2, 8 },
};

static void put_latencies(struct bench_table *t, const struct serve_log *log)
{
    static const char *const names[] = { "time to first token", "between tokens", "queue" };
    bench_table_begin(t, "Latencies", latency_columns,
                      sizeof latency_columns / sizeof *latency_columns);
    for (enum serve_figure f = SERVE_TTFT; f <= SERVE_QUEUE; f++) {
        const struct serve_summary s = serve_log_summary(log, f);
        bench_text(t, "%s", names[f]);
        bench_number(t, (double)s.n);
        bench_number(t, 1e3 * s.mean);
        bench_number(t, 1e3 * s.p50);
        bench_number(t, 1e3 * s.p90);
        bench_number(t, 1e3 * s.p99);
        bench_number(t, 1e3 * s.max);
    }
    bench_table_end(t);
}

/* ---- The command */

static int play_and_report(const struct serve_scenario *scenario, const struct serve_setup *setup)
{
    const struct bench_options *o = setup->o;
    struct serve_engine_result engine = { 0 };
    int code = o->url ? serve_url(setup) : serve_engine(setup, &engine);
    if (code)
        return code;
    if (setup->log->no_memory)
        return bench_error(71, "no memory for the times of the tokens");
    struct bench_table t;
    bench_document_begin(&t, o, "serve");
    put_throughput(&t, o, setup->log, &engine);
    put_latencies(&t, setup->log);
    code = serve_scenario_report(scenario, o, setup->w, setup->log, setup->model_path, &t);
    bench_note(&t,
               "prompt t/s counts cached tokens too. goodput: requests per second with a time "
               "to first token and a mean latency between tokens within --slo-ttft and "
               "--slo-itl; cancelled ones do not count. Tokens that arrive together have a latency "
               "of 0 but the first.");
    bench_document_end(&t);
    if (!code && setup->log->n_failed)
        code = bench_error(1, "%u of %u requests failed; %s", setup->log->n_failed, setup->log->n,
                           setup->log->error);
    return code;
}

/* Writes the model of --synth to a temporary file. */
static int write_synth(const struct bench_options *o, char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    char text[128];
    struct bench_options synth = *o;
    synth.arch = o->synth;
    snprintf(path, size, "%s/quire-serve-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0)
        return bench_error(73, "cannot create %s", path);
    close(fd);
    const int code = bench_synth_write(&synth, path, text, sizeof text);
    if (code)
        remove(path);
    return code;
}

int bench_serve(const struct bench_options *o)
{
    const struct serve_scenario *scenario = serve_scenario_find(o);
    int code = scenario ? check_target(o) : 64;
    if (!code)
        code = check_stream(o);
    struct bench_options own = *o;
    struct workload w = { 0 };
    struct serve_log log = { 0 };
    char path[512];
    if (!code)
        code = serve_scenario_workload(scenario, o, &w, &own.max_seqs);
    if (!code && !serve_log_open(&log, w.n))
        code = bench_error(71, "no memory for %u requests", w.n);
    if (!code && o->synth)
        code = write_synth(o, path, sizeof path);
    if (!code) {
        const struct serve_setup setup = { &own, &w, &log, o->synth ? path : o->model };
        code = play_and_report(scenario, &setup);
        if (o->synth)
            remove(path);
    }
    serve_log_close(&log);
    workload_free(&w);
    return code;
}
