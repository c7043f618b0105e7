/* SPDX-License-Identifier: Apache-2.0 */
/* bench_compare.c - `quire-bench compare`: the same tests in quire and in llama-bench, in
 * interleaved rounds. */
#include "bench_peer.h"
#include "bench_table.h"
#include <math.h>
#include <stdlib.h>

static const struct bench_column columns[] = {
    { "test", "test", BENCH_TEXT, 14 },   { "seqs", "seqs", 0, 4 },
    { "rounds", "rounds", 0, 6 },         { "quire t/s", "quire_t_per_s", 2, 9 },
    { "peer t/s", "peer_t_per_s", 2, 9 }, { "ratio", "ratio", 2, 5 },
    { "95 % low", "ratio_lo", 2, 8 },     { "high", "ratio_hi", 2, 5 },
};

struct pair {
    struct bench_samples quire, peer, ratio;
};

/* One round of quire: every test once. */
static quire_status run_quire(struct bench_session *s, const struct model_tests *tests,
                              double *rates, struct quire_error *err)
{
    quire_status status = QUIRE_OK;
    for (unsigned i = 0; i < tests->n && status == QUIRE_OK; i++) {
        const struct model_test *t = &tests->v[i];
        const double start = bench_now();
        for (uint32_t k = 0; k < model_n_units(t) && status == QUIRE_OK; k++)
            status = model_run_unit(s, t, k, err);
        rates[i] = (double)t->n * t->n_seqs / (bench_now() - start);
    }
    return status;
}

/* Runs both programs per round, in alternating order, so that thermal and cache state favor
 * neither. */
static int rounds(struct bench_session *s, struct peer *p, const struct bench_options *o,
                  const struct model_tests *tests, struct pair *pairs)
{
    const unsigned n = bench_repetitions(o, 5);
    double quire_rates[MODEL_TESTS_MAX], peer_rates[MODEL_TESTS_MAX];
    for (unsigned i = 0; i < n; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        quire_status status = QUIRE_OK;
        int code = 0;
        if (i % 2 == 0)
            status = run_quire(s, tests, quire_rates, &err);
        if (status == QUIRE_OK)
            code = peer_run(p, tests, peer_rates);
        if (status == QUIRE_OK && !code && i % 2)
            status = run_quire(s, tests, quire_rates, &err);
        if (status != QUIRE_OK || code)
            return code ? code : bench_fail(o->model, status, &err);
        for (unsigned k = 0; k < tests->n; k++) {
            bench_sample(&pairs[k].quire, quire_rates[k]);
            if (!(peer_rates[k] > 0))
                continue;
            bench_sample(&pairs[k].peer, peer_rates[k]);
            bench_sample(&pairs[k].ratio, quire_rates[k] / peer_rates[k]);
        }
    }
    return 0;
}

static void put_rows(struct bench_table *t, const struct model_tests *tests,
                     const struct pair *pairs)
{
    for (unsigned i = 0; i < tests->n; i++) {
        const struct bench_summary ratio = bench_summarize(&pairs[i].ratio);
        char name[32];
        model_test_name(&tests->v[i], name, sizeof name);
        bench_text(t, "%s", name);
        bench_number(t, tests->v[i].n_seqs);
        bench_number(t, pairs[i].quire.n);
        bench_number(t, bench_summarize(&pairs[i].quire).median);
        bench_number(t, bench_summarize(&pairs[i].peer).median);
        bench_number(t, ratio.median);
        bench_number(t, ratio.lo);
        bench_number(t, ratio.hi);
    }
}

static int compare(struct bench_table *t, const struct bench_options *o, struct bench_machine *m,
                   struct peer *p)
{
    enum quire_kv_dtype k_type, v_type;
    enum quire_compute modes[3];
    struct model_tests tests;
    struct bench_session s;
    model_tests_plan(o, &tests);
    if (!bench_compute_modes(o, "native", modes) ||
        bench_kv_types(o, "bf16", 0, &k_type, &v_type) < 0)
        return 64;
    struct pair *pairs = calloc(tests.n ? tests.n : 1, sizeof *pairs);
    int code = pairs ? model_open(&s, o, &tests, k_type, v_type, modes[0], m) : 71;
    if (!code) {
        code = rounds(&s, p, o, &tests, pairs);
        bench_session_close(&s);
    }
    if (!code) {
        bench_note(t, "peer: %s (%s), %u threads; quire: KV %s/%s, %s", p->program, p->about,
                   p->threads, quire_kv_dtype_name(k_type), quire_kv_dtype_name(v_type),
                   bench_compute_name(modes[0]));
        bench_table_begin(t, "quire and peer", columns, sizeof columns / sizeof *columns);
        put_rows(t, &tests, pairs);
        bench_table_end(t);
        bench_note(t, "Medians over interleaved rounds. ratio: quire / peer, taken per round.");
    }
    free(pairs);
    return code;
}

int bench_compare(const struct bench_options *o)
{
    const struct bench_list threads = bench_list_or(&o->threads, "0");
    struct bench_machine m;
    struct bench_table t;
    struct peer p;
    int code = bench_machine_open(&m, o, threads.v[0]);
    if (code)
        return code;
    code = peer_open(&p, o, m.n_threads);
    if (!code) {
        bench_document_begin(&t, o, "compare");
        code = compare(&t, o, &m, &p);
        bench_document_end(&t);
    }
    bench_machine_close(&m);
    return code;
}
