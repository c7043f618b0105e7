/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_scenario.c - mixed, shared-prefix, long-arrival, batch1. */
#include "bench_serve_scenario.h"
#include "bench_model.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_SEQS = 8, /* of the engine */
    QUICK = 16,       /* divides the lengths of --quick */
    HOLD_TOKENS = 32,
    LONG_PROMPT = 4096,
    LONG_ANSWER = 16,
};

struct serve_scenario {
    const char *name;
    uint32_t requests, concurrency;
    const char *prompt, *answer; /* lengths */
    uint32_t shared_prefix;
    bool holds;   /* one more request, with a long prompt, arrives while the others run */
    bool one_seq; /* compared with a batch of 1 */
    bool measures_prefix;
};

static const struct serve_scenario scenarios[] = {
    { .name = "mixed",
      .requests = 32,
      .concurrency = 16,
      .prompt = "128-1024",
      .answer = "64-256" },
    { .name = "shared-prefix",
      .requests = 16,
      .concurrency = 1, /* one after the other: no TTFT contains the work of another request */
      .prompt = "16-64",
      .answer = "16",
      .shared_prefix = 2048,
      .measures_prefix = true },
    { .name = "long-arrival",
      .requests = 8,
      .prompt = "64",
      .answer = "1024", /* the streams outlast the long prompt and are then cancelled */
      .holds = true },
    { .name = "batch1",
      .requests = 3,
      .concurrency = 1,
      .prompt = "128",
      .answer = "128",
      .one_seq = true },
};
static const struct serve_scenario plain = {
    .name = "", .requests = 32, .prompt = "128-1024", .answer = "64-256"
};

const struct serve_scenario *serve_scenario_find(const struct bench_options *o)
{
    if (!o->scenario)
        return &plain;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(o->scenario, scenarios[i].name))
            return &scenarios[i];
    bench_error(64, "--scenario %s: mixed, shared-prefix, long-arrival or batch1", o->scenario);
    return NULL;
}

/* ---- Requests */

static bool lengths(const char *given, const char *dflt, bool quick, struct workload_lengths *out)
{
    if (!workload_parse_lengths(given ? given : dflt, out))
        return false;
    if (quick && !given) {
        out->a = ceil(out->a / QUICK);
        out->b = ceil(out->b / QUICK);
    }
    return true;
}

static int read_trace(const struct bench_options *o, struct workload *w)
{
    char message[256];
    if (!workload_read_trace(w, o->trace, message, sizeof message))
        return bench_error(access(o->trace, R_OK) ? 66 : 65, "--trace %s: %s", o->trace, message);
    w->shared_prefix = o->shared_prefix;
    w->seed = o->seed;
    return 0;
}

static int generate(const struct serve_scenario *s, const struct bench_options *o,
                    struct workload *w)
{
    const uint32_t prefix = o->quick ? s->shared_prefix / QUICK : s->shared_prefix;
    struct workload_params p = {
        .n = (o->requests ? o->requests : s->requests) + s->holds,
        .shared_prefix = o->shared_prefix ? o->shared_prefix : prefix,
        .rate = o->rate,
        .seed = o->seed,
    };
    p.n_groups = o->groups ? o->groups : p.shared_prefix ? 1 : 0;
    if (p.n > WORKLOAD_MAX_REQUESTS)
        return bench_error(64, "--requests %u: more than %d", o->requests, WORKLOAD_MAX_REQUESTS);
    if (p.shared_prefix > WORKLOAD_MAX_TOKENS)
        return bench_error(64, "--shared-prefix %u: more than %d", p.shared_prefix,
                           WORKLOAD_MAX_TOKENS);
    if (!lengths(o->prompt_len, s->prompt, o->quick, &p.prompt))
        return bench_error(64, "--prompt-len %s: N, A-B or MEAN,SD in tokens", o->prompt_len);
    if (!lengths(o->answer_len, s->answer, o->quick, &p.answer))
        return bench_error(64, "--answer-len %s: N, A-B or MEAN,SD in tokens", o->answer_len);
    if (!workload_generate(w, &p))
        return bench_error(71, "no memory for %u requests", p.n);
    w->concurrency = o->concurrency ? o->concurrency : o->rate > 0 ? 0 : s->concurrency;
    if (s->holds) {
        struct workload_request *last = &w->requests[w->n - 1];
        last->prompt = o->quick ? LONG_PROMPT / QUICK : LONG_PROMPT;
        last->answer = LONG_ANSWER;
        w->hold_tokens = o->quick ? HOLD_TOKENS / QUICK : HOLD_TOKENS;
    }
    return 0;
}

int serve_scenario_workload(const struct serve_scenario *s, const struct bench_options *o,
                            struct workload *w, uint32_t *max_seqs)
{
    const int code = o->trace ? read_trace(o, w) : generate(s, o, w);
    *max_seqs = o->max_seqs;
    const uint32_t users = s->holds ? w->n : w->concurrency;
    if (!code && !*max_seqs && s->name[0] && users > DEFAULT_SEQS)
        *max_seqs = users < w->n ? users : w->n;
    return code;
}

/* ---- Reports */

static const struct bench_column prefix_columns[] = {
    { "prefix tokens", "prefix_tokens", 0, 13 },
    { "TTFT of the 1st, ms", "first_ttft_ms", 2, 19 },
    { "mean of the others", "others_mean_ttft_ms", 2, 18 },
    { "max", "others_max_ttft_ms", 2, 8 },
    { "mean / 1st", "ratio", BENCH_PERCENT, 10 },
};

static void report_prefix(const struct workload *w, const struct serve_log *log,
                          struct bench_table *t)
{
    double sum = 0, max = 0;
    uint32_t n = 0;
    for (uint32_t i = 1; i < log->n; i++) {
        const struct serve_record *r = &log->records[i];
        if (r->state != SERVE_DONE)
            continue;
        sum += serve_ttft(r);
        max = fmax(max, serve_ttft(r));
        n++;
    }
    const double first = log->records[0].state == SERVE_DONE ? serve_ttft(&log->records[0]) : NAN;
    bench_table_begin(t, "Shared prefix", prefix_columns,
                      sizeof prefix_columns / sizeof *prefix_columns);
    bench_number(t, w->shared_prefix);
    bench_number(t, 1e3 * first);
    bench_number(t, n ? 1e3 * sum / n : NAN);
    bench_number(t, n ? 1e3 * max : NAN);
    bench_number(t, n ? sum / n / first : NAN);
    bench_table_end(t);
}

static const struct bench_column long_columns[] = {
    { "streams", "streams", 0, 7 },
    { "prompt tokens", "prompt_tokens", 0, 13 },
    { "idle gaps", "idle_gaps", 0, 9 },
    { "idle p99, ms", "idle_p99_ms", 2, 12 },
    { "gaps meanwhile", "during_gaps", 0, 14 },
    { "p99 meanwhile, ms", "during_p99_ms", 2, 17 },
    { "ratio", "ratio", 2, 6 },
    { "TTFT of the prompt, ms", "long_ttft_ms", 1, 22 },
};

static void report_long(const struct workload *w, const struct serve_log *log,
                        struct bench_table *t)
{
    const uint32_t last = w->n - 1;
    const struct serve_record *r = &log->records[last];
    double all_run = log->begin; /* when the last stream got its first token */
    for (uint32_t i = 0; i < last; i++)
        all_run = fmax(all_run, log->records[i].first);
    const struct serve_summary idle = serve_log_gaps_between(log, all_run, r->arrival, last),
                               during = serve_log_gaps_between(log, r->arrival, r->first, last);
    bench_table_begin(t, "A long prompt arrives", long_columns,
                      sizeof long_columns / sizeof *long_columns);
    bench_number(t, last);
    bench_number(t, r->n_prompt);
    bench_number(t, (double)idle.n);
    bench_number(t, 1e3 * idle.p99);
    bench_number(t, (double)during.n);
    bench_number(t, 1e3 * during.p99);
    bench_number(t, during.p99 / idle.p99);
    bench_number(t, 1e3 * serve_ttft(r));
    bench_table_end(t);
}

/* Tokens per second of decode steps of one sequence without the engine, at the depth and number of
 * tokens of request 0: median of three repetitions. */
static int measure_model(const struct bench_options *o, const struct workload *w,
                         const char *model_path, double *rate)
{
    struct bench_options own = *o;
    own.model = model_path;
    const struct workload_request *r = &w->requests[0];
    struct model_tests tests = { .n = 1, .max_seqs = 1 };
    tests.v[0] = (struct model_test){ true, r->answer, r->prompt, 1 };
    tests.max_len = r->prompt + r->answer;
    tests.max_depth = r->prompt;
    enum quire_kv_dtype k_type, v_type;
    enum quire_compute modes[3];
    if (bench_kv_types(o, "f16", 0, &k_type, &v_type) < 0 ||
        bench_compute_modes(o, "native", modes) != 1)
        return 64;
    struct bench_machine machine;
    struct bench_session session;
    int code = bench_machine_open(&machine, o, o->threads.n ? o->threads.v[0] : 0);
    if (code)
        return code;
    code = model_open(&session, &own, &tests, k_type, v_type, modes[0], &machine);
    struct bench_samples rates = { 0 };
    quire_status status = QUIRE_OK;
    struct quire_error err = QUIRE_ERROR_INIT;
    for (int k = 0; k < 3 && !code && status == QUIRE_OK; k++) {
        const double begin = bench_now();
        for (uint32_t i = 0; i < r->answer && status == QUIRE_OK; i++)
            status = model_run_unit(&session, &tests.v[0], i, &err);
        bench_sample(&rates, r->answer / (bench_now() - begin));
    }
    if (status != QUIRE_OK)
        code = bench_fail(model_path, status, &err);
    *rate = bench_summarize(&rates).median;
    if (!code)
        bench_session_close(&session);
    bench_machine_close(&machine);
    return code;
}

static const struct bench_column batch1_columns[] = {
    { "depth", "depth", 0, 6 },
    { "tokens", "tokens", 0, 6 },
    { "engine t/s", "engine_t_per_s", 2, 10 },
    { "model t/s", "model_t_per_s", 2, 9 },
    { "engine / model", "ratio", 3, 14 },
};

static int report_batch1(const struct bench_options *o, const struct workload *w,
                         const struct serve_log *log, const char *model_path, struct bench_table *t)
{
    struct bench_samples engine = { 0 };
    double model;
    for (uint32_t i = 0; i < log->n; i++) { /* by the engine's clock: tokens may arrive together */
        const struct serve_record *r = &log->records[i];
        if (r->state == SERVE_DONE && r->generate_seconds > 0)
            bench_sample(&engine, (r->n_output - 1) / r->generate_seconds);
    }
    const int code = measure_model(o, w, model_path, &model);
    if (code)
        return code;
    const double rate = bench_summarize(&engine).median;
    bench_table_begin(t, "Batch of 1", batch1_columns,
                      sizeof batch1_columns / sizeof *batch1_columns);
    bench_number(t, w->requests[0].prompt);
    bench_number(t, w->requests[0].answer);
    bench_number(t, rate);
    bench_number(t, model);
    bench_number(t, rate / model);
    bench_table_end(t);
    return 0;
}

int serve_scenario_report(const struct serve_scenario *s, const struct bench_options *o,
                          const struct workload *w, const struct serve_log *log,
                          const char *model_path, struct bench_table *t)
{
    if (s->measures_prefix)
        report_prefix(w, log, t);
    if (s->holds)
        report_long(w, log, t);
    return s->one_seq ? report_batch1(o, w, log, model_path, t) : 0;
}
