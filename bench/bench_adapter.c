/* SPDX-License-Identifier: Apache-2.0 */
/* bench_adapter.c - `quire-bench adapter`: what LoRA adapters add to the time of a step. Steps with
 * and without alternate on one model. */
#include "bench_model.h"
#include "bench_table.h"
#include <stdio.h>

static const struct bench_column columns[] = {
    { "model", "model", BENCH_TEXT, 22 },
    { "type", "type", BENCH_TEXT, 5 },
    { "threads", "threads", 0, 7 },
    { "rank", "rank", 0, 4 },
    { "seqs", "seqs", 0, 4 },
    { "adapters", "adapters", 0, 8 },
    { "test", "test", BENCH_TEXT, 14 },
    { "without ms", "without_ms", 2, 10 },
    { "with ms", "with_ms", 2, 8 },
    { "added", "added", BENCH_PERCENT, 6 },
    { "95 % low", "added_lo", BENCH_PERCENT, 8 },
    { "high", "added_hi", BENCH_PERCENT, 6 },
};

/* Seconds of one unit of a test: a prompt, or a decode step. */
static quire_status time_unit(struct bench_session *s, const struct model_test *t, bool adapters,
                              double *seconds, struct quire_error *err)
{
    s->use_adapters = adapters;
    const double begin = bench_now();
    const quire_status status = model_run_unit(s, t, 0, err);
    *seconds = bench_now() - begin;
    return status;
}

/* Rounds of an alternating pair; the order within a pair alternates too. */
static int measure(struct bench_table *table, struct bench_session *s,
                   const struct bench_options *o, const struct model_test *t)
{
    const unsigned rounds = o->reps ? o->reps : o->quick ? 4 : t->generate ? 60 : 12;
    struct bench_samples plain = { 0 }, with = { 0 }, ratio = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    for (unsigned i = 0; i < rounds; i++) {
        double seconds[2];
        for (int k = 0; k < 2; k++) {
            const bool adapters = (k + i) % 2;
            const quire_status status = time_unit(s, t, adapters, &seconds[adapters], &err);
            if (status != QUIRE_OK)
                return bench_fail(o->model, status, &err);
        }
        bench_sample(&plain, seconds[0]);
        bench_sample(&with, seconds[1]);
        bench_sample(&ratio, seconds[1] / seconds[0] - 1);
    }
    char name[32];
    const struct bench_summary added = bench_summarize(&ratio);
    struct quire_adapter_info info;
    quire_adapter_info_init(&info, sizeof info);
    if (quire_adapter_get_info(s->adapters[0], &info) != QUIRE_OK)
        return 70;
    model_test_name(t, name, sizeof name);
    bench_text(table, "%s", s->info.name[0] ? s->info.name : s->info.arch);
    bench_text(table, "%s", s->info.weight_type);
    bench_number(table, s->machine->n_threads);
    bench_number(table, info.rank);
    bench_number(table, t->n_seqs);
    bench_number(table, t->n_seqs < BENCH_ADAPTERS ? t->n_seqs : BENCH_ADAPTERS);
    bench_text(table, "%s", name);
    bench_number(table, bench_summarize(&plain).median * 1e3);
    bench_number(table, bench_summarize(&with).median * 1e3);
    bench_number(table, added.median);
    bench_number(table, added.lo);
    bench_number(table, added.hi);
    return 0;
}

static int run(struct bench_table *table, const struct bench_options *o, struct bench_machine *m,
               const struct model_tests *tests)
{
    enum quire_kv_dtype k_type, v_type;
    enum quire_compute modes[3];
    struct bench_session s = { 0 };
    if (!bench_compute_modes(o, "native", modes) ||
        bench_kv_types(o, "bf16", 0, &k_type, &v_type) <= 0)
        return 64;
    int code = model_open(&s, o, tests, k_type, v_type, modes[0], m);
    for (unsigned i = 0; i < tests->n && !code; i++)
        code = measure(table, &s, o, &tests->v[i]);
    bench_session_close(&s);
    return code;
}

int bench_adapter(const struct bench_options *o)
{
    const struct bench_list threads = bench_list_or(&o->threads, "0");
    struct bench_table t;
    struct bench_machine m;
    struct model_tests tests;
    if (!o->lora)
        return bench_error(64, "--lora FILE is missing");
    model_tests_plan(o, &tests);
    bench_document_begin(&t, o, "adapter");
    bench_table_begin(&t, "Steps with adapters", columns, sizeof columns / sizeof *columns);
    int code = bench_machine_open(&m, o, threads.v[0]);
    if (!code) {
        code = run(&t, o, &m, &tests);
        bench_machine_close(&m);
    }
    bench_table_end(&t);
    bench_note(&t,
               "Median of pairs of steps, one with and one without, in alternating order. "
               "Sequences take turns with %d copies of the adapter.",
               BENCH_ADAPTERS);
    bench_document_end(&t);
    return code;
}
