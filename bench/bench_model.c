/* SPDX-License-Identifier: Apache-2.0 */
/* bench_model.c - `quire-bench model`: prefill and decode rates of a whole model. */
#include "bench_model.h"
#include "bench_table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tests */

static void add_test(struct model_tests *t, struct model_test test)
{
    if (!test.n || t->n == MODEL_TESTS_MAX)
        return;
    t->v[t->n++] = test;
    const uint32_t len = test.depth + test.n;
    t->max_len = len > t->max_len ? len : t->max_len;
    t->max_seqs = test.n_seqs > t->max_seqs ? test.n_seqs : t->max_seqs;
    t->max_depth = test.depth > t->max_depth ? test.depth : t->max_depth;
}

void model_tests_plan(const struct bench_options *o, struct model_tests *tests)
{
    const struct bench_list prompts = bench_list_or(&o->prompts, o->quick ? "64" : "512");
    const struct bench_list gens = bench_list_or(&o->gens, o->quick ? "8" : "128");
    const struct bench_list depths = bench_list_or(&o->depths, "0"),
                            batches = bench_list_or(&o->batches, "1");
    *tests = (struct model_tests){ .max_seqs = 1 };
    for (uint32_t d = 0; d < depths.n; d++) {
        for (uint32_t i = 0; i < prompts.n; i++)
            add_test(tests, (struct model_test){ false, prompts.v[i], depths.v[d], 1 });
        for (uint32_t i = 0; i < gens.n; i++)
            for (uint32_t b = 0; b < batches.n; b++)
                add_test(tests, (struct model_test){ true, gens.v[i], depths.v[d],
                                                     batches.v[b] ? batches.v[b] : 1 });
    }
}

void model_test_name(const struct model_test *t, char *out, size_t size)
{
    const int n = snprintf(out, size, "%s%u", t->generate ? "tg" : "pp", t->n);
    if (t->depth && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, " @ d%u", t->depth);
}

int model_open(struct bench_session *s, const struct bench_options *o,
               const struct model_tests *tests, enum quire_kv_dtype k_type,
               enum quire_kv_dtype v_type, enum quire_compute compute, struct bench_machine *m)
{
    if (!o->model)
        return bench_error(64, "-m FILE is missing");
    if (!tests->n)
        return bench_error(64, "nothing to measure: -p and -n are 0");
    const struct bench_session_params p = { .path = o->model,
                                            .pack_cache = o->pack_cache,
                                            .lora = o->lora,
                                            .isa = o->isa,
                                            .compute = compute,
                                            .k_type = k_type,
                                            .v_type = v_type,
                                            .bf16_states = o->bf16_states,
                                            .max_seqs = tests->max_seqs,
                                            .max_len = tests->max_len,
                                            .depth = tests->max_depth,
                                            .chunk = o->chunk ? o->chunk : 512,
                                            .shuffle = o->shuffle,
                                            .seed = o->seed };
    struct quire_error err = QUIRE_ERROR_INIT;
    const int code = bench_session_open(s, &p, m);
    if (code)
        return code;
    const quire_status status = bench_session_decode(s, 1, 0, s->logits, &err);
    return status == QUIRE_OK ? 0 : (bench_session_close(s), bench_fail(o->model, status, &err));
}

uint32_t model_n_units(const struct model_test *t) { return t->generate ? t->n : 1; }

quire_status model_run_unit(struct bench_session *s, const struct model_test *t, uint32_t i,
                            struct quire_error *err)
{
    if (!t->generate)
        return bench_session_prompt(s, t->depth, t->n, s->chunk, s->logits, err);
    return bench_session_decode(s, t->n_seqs, t->depth + i, s->logits, err);
}

/* ---- correctness: logits must be bit-identical when computed with another chunking */

/* Compares the logits of the test with those of another prefill: pp with another chunk size, tg
 * with a prompt of the generated tokens of sequence 0. */
static quire_status same_bits(struct bench_session *s, const struct model_test *t, bool *same,
                              struct quire_error *err)
{
    const uint32_t chunk = t->generate                    ? s->chunk
                           : s->chunk / 2 + 13 < s->chunk ? s->chunk / 2 + 13
                                                          : s->chunk;
    quire_status status = bench_session_reset_states(s, err);
    if (status == QUIRE_OK)
        status = bench_session_prompt(s, t->depth, t->n, chunk, s->other_logits, err);
    *same = status == QUIRE_OK &&
            !memcmp(s->logits, s->other_logits, s->info.vocab_size * sizeof(float));
    for (uint32_t i = 0; i < s->info.vocab_size && *same; i++)
        *same = isfinite(s->logits[i]);
    return status;
}

/* ---- rows */

static const struct bench_column columns[] = {
    { "model", "model", BENCH_TEXT, 22 },
    { "type", "type", BENCH_TEXT, 5 },
    { "GB", "gb", 2, 5 },
    { "threads", "threads", 0, 7 },
    { "KV", "kv", BENCH_TEXT, 8 },
    { "compute", "compute", BENCH_TEXT, 10 },
    { "seqs", "seqs", 0, 4 },
    { "test", "test", BENCH_TEXT, 14 },
    { "t/s", "t_per_s", 2, 8 },
    { "+-", "t_per_s_sd", 2, 6 },
    { "median t/s", "t_per_s_median", 2, 10 },
    { "95 % low", "t_per_s_lo", 2, 8 },
    { "high", "t_per_s_hi", 2, 8 },
    { "of roofline", "of_roofline", BENCH_PERCENT, 11 },
    { "bound", "limit", BENCH_TEXT, 5 },
    { "samples", "samples", BENCH_TEXT, 7 },
    { "bits", "bits", BENCH_TEXT, 6 },
};

struct figures {
    struct bench_samples rates; /* tokens per second of each repetition, by wall time */
    struct bench_record units;  /* decode steps or prompts */
    struct bench_timing timing; /* of the units */
    bool same;
};

/* Runs one repetition with a probe after every GROUP units. The limit of a unit is the faster of
 * the probes around its group. */
static quire_status repeat(struct bench_session *s, const struct model_test *t,
                           const struct bench_work *work, struct figures *f,
                           struct quire_error *err)
{
    enum { GROUP = 8 };
    struct {
        double seconds;
        bool preempted;
    } group[GROUP];
    const uint32_t n = model_n_units(t);
    quire_status status = bench_session_reset_states(s, err);
    double passed = 0, before = bench_limit(s->machine, work, &f->timing.limit);
    for (uint32_t i = 0; i < n && status == QUIRE_OK;) {
        const uint32_t some = n - i < GROUP ? n - i : GROUP;
        for (uint32_t k = 0; k < some && status == QUIRE_OK; k++, i++) {
            struct bench_stopwatch watch;
            bench_stopwatch_start(s->machine, &watch);
            status = model_run_unit(s, t, i, err);
            passed += bench_now() - watch.start;
            group[k].seconds = bench_stopwatch_stop(s->machine, &watch, &group[k].preempted);
        }
        const double after = bench_limit(s->machine, work, &f->timing.limit);
        for (uint32_t k = 0; k < some && status == QUIRE_OK; k++)
            bench_record_add(&f->units, group[k].seconds, fmin(before, after), group[k].preempted);
        before = after;
    }
    bench_sample(&f->rates, (double)t->n * t->n_seqs / passed);
    return status;
}

static quire_status measure(struct bench_session *s, const struct bench_options *o,
                            const struct model_test *t, struct figures *f, struct quire_error *err)
{
    const unsigned n = bench_repetitions(o, t->generate ? 3 : 5);
    struct bench_work work = { 0 };
    quire_status status = QUIRE_OK;
    /* tg: limit at the mean depth */
    bench_session_need(s, t->n_seqs, t->depth + (t->generate ? t->n / 2 : 0),
                       t->generate ? 1 : t->n, work.need);
    for (unsigned i = 0; i < n && status == QUIRE_OK; i++)
        status = repeat(s, t, &work, f, err);
    bench_record_result(&f->units, &f->timing);
    return status == QUIRE_OK ? same_bits(s, t, &f->same, err) : status;
}

static void put_row(struct bench_table *t, const struct bench_session *s,
                    const struct model_test *test, const struct figures *f)
{
    const struct bench_summary rate = bench_summarize(&f->rates), unit = f->timing.seconds;
    const double per_unit = (double)test->n_seqs * test->n / model_n_units(test);
    const struct quire_kv_group_config *g = &s->groups[0];
    char name[32];
    model_test_name(test, name, sizeof name);
    bench_text(t, "%s", s->info.name[0] ? s->info.name : s->info.arch);
    bench_text(t, "%s", s->info.weight_type);
    bench_number(t, (double)s->info.weight_bytes * 1e-9);
    bench_number(t, s->machine->n_threads);
    bench_text(t, g->k_dtype == g->v_dtype ? "%s" : "%s/%s", quire_kv_dtype_name(g->k_dtype),
               quire_kv_dtype_name(g->v_dtype));
    bench_text(t, "%s", bench_compute_name(s->info.compute));
    bench_number(t, test->n_seqs);
    bench_text(t, "%s", name);
    bench_number(t, rate.mean);
    bench_number(t, rate.sd);
    bench_number(t, per_unit / unit.median);
    bench_number(t, per_unit / unit.hi);
    bench_number(t, per_unit / unit.lo);
    bench_number(t, f->timing.fraction);
    bench_text(t, "%s", f->timing.limit);
    bench_text(t, "%u%s", f->timing.rounds, f->timing.cpu_time ? " cpu" : "");
    bench_text(t, "%s", f->same ? "same" : "DIFFER");
}

/* Runs all tests for one thread count, pair of KV dtypes and compute mode. */
static int session_rows(struct bench_table *t, const struct bench_options *o,
                        struct bench_machine *m, const struct model_tests *tests,
                        enum quire_kv_dtype k_type, enum quire_kv_dtype v_type,
                        enum quire_compute compute)
{
    struct bench_session s;
    struct figures *f = malloc(sizeof *f);
    int code = f ? model_open(&s, o, tests, k_type, v_type, compute, m) : 71;
    if (code) {
        free(f);
        return code;
    }
    for (unsigned i = 0; i < tests->n && !code; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        *f = (struct figures){ 0 };
        const quire_status status = measure(&s, o, &tests->v[i], f, &err);
        if (status != QUIRE_OK) {
            code = bench_fail(o->model, status, &err);
            break;
        }
        put_row(t, &s, &tests->v[i], f);
        if (!f->same)
            code = bench_error(1, "the logits of the test above depend on the chunking");
    }
    free(f);
    bench_session_close(&s);
    return code;
}

static int machine_rows(struct bench_table *t, const struct bench_options *o,
                        struct bench_machine *m, const struct model_tests *tests)
{
    enum quire_kv_dtype k_type, v_type;
    enum quire_compute modes[3];
    const unsigned n_modes = bench_compute_modes(o, "native", modes);
    if (!n_modes)
        return 64;
    for (unsigned k = 0;; k++) {
        const int found = bench_kv_types(o, "bf16", k, &k_type, &v_type);
        if (found <= 0)
            return found < 0 ? 64 : 0;
        for (unsigned i = 0; i < n_modes; i++) {
            const int code = session_rows(t, o, m, tests, k_type, v_type, modes[i]);
            if (code)
                return code;
        }
    }
}

int bench_model(const struct bench_options *o)
{
    const struct bench_list threads = bench_list_or(&o->threads, "0");
    struct bench_table t;
    struct model_tests tests;
    int code = 0;
    model_tests_plan(o, &tests);
    bench_document_begin(&t, o, "model");
    bench_table_begin(&t, "Whole model", columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; !code && i < threads.n; i++) {
        struct bench_machine m;
        code = bench_machine_open(&m, o, threads.v[i]);
        if (code)
            break;
        code = machine_rows(&t, o, &m, &tests);
        bench_machine_close(&m);
    }
    bench_table_end(&t);
    bench_note(&t, "t/s +-: mean and standard deviation of the repetitions. median t/s: median and "
                   "95 %% confidence interval of single decode steps (tg) or prompts (pp). bits: "
                   "whether the last logits are bit-identical when computed with another chunk "
                   "size (pp) or as one prompt (tg).");
    bench_document_end(&t);
    return code;
}
