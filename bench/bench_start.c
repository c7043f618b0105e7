/* SPDX-License-Identifier: Apache-2.0 */
/* bench_start.c - `quire-bench start`: cold start, from exec to the first token and to exit. */
#include "bench_peer.h"
#include "bench_process.h"
#include "bench_table.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- first-token: the measured process. One token; with -n, the decode rate of n more */

static quire_status generate(struct bench_session *s, uint32_t n, struct quire_error *err)
{
    const double start = bench_now();
    quire_status status = QUIRE_OK;
    for (uint32_t i = 1; i <= n && status == QUIRE_OK; i++)
        status = bench_session_decode(s, 1, i, s->logits, err);
    printf("t/s %.6g\n", n / (bench_now() - start));
    return status;
}

int bench_first_token(const struct bench_options *o)
{
    const struct bench_list threads = bench_list_or(&o->threads, "0");
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_threads_params params;
    struct bench_machine team = { 0 }; /* threads only: probes would delay the first token */
    struct bench_session s;
    if (!o->model)
        return bench_error(64, "-m FILE is missing");
    quire_threads_params_init(&params, sizeof params);
    params.n_threads = threads.v[0];
    quire_status status = quire_threads_create(&params, &team.threads, &err);
    if (status != QUIRE_OK)
        return bench_fail("threads", status, &err);
    const struct bench_session_params p = { .path = o->model,
                                            .isa = o->isa,
                                            .pack_cache = o->pack_cache,
                                            .k_type = QUIRE_KV_F16,
                                            .v_type = QUIRE_KV_F16,
                                            .max_seqs = 1,
                                            .max_len = 1 + (o->gens.n ? o->gens.v[0] : 0),
                                            .chunk = 512 };
    int code = bench_session_open(&s, &p, &team);
    if (!code) {
        status = bench_session_decode(&s, 1, 0, s.logits, &err);
        if (status == QUIRE_OK)
            puts("token"), fflush(stdout);
        if (status == QUIRE_OK && o->gens.n)
            status = generate(&s, o->gens.v[0], &err);
        if (status != QUIRE_OK)
            code = bench_fail(o->model, status, &err);
        bench_session_close(&s);
    }
    quire_threads_destroy(team.threads);
    return code;
}

/* ---- launches */

enum { ARGS_MAX = 64 };

/* A command line and its times. */
struct launch {
    const char *name;
    const char *argv[ARGS_MAX];
    unsigned n;
    struct bench_samples first, exit;
    struct bench_samples ratio, difference; /* of exit, to the peer */
    double last_exit;                       /* of the current round */
    double peak_mb;
};

static void add(struct launch *w, const char *word)
{
    if (w->n + 1 < ARGS_MAX)
        w->argv[w->n++] = word;
}

/* Gets the seconds to the first output of the program and to its exit. */
static bool start_once(const struct launch *w, double *first, double *to_exit, double *peak_mb)
{
    struct bench_process p;
    struct rusage usage = { 0 };
    char c[256];
    const double start = bench_now();
    if (!bench_process_start(&p, (char *const *)(uintptr_t)w->argv))
        return false;
    *first = 0;
    while (bench_process_read(&p, c, sizeof c))
        if (!(*first > 0))
            *first = bench_now() - start;
    const int code = bench_process_end(&p, &usage);
    *to_exit = bench_now() - start;
    *peak_mb = (double)usage.ru_maxrss * 1024e-6;
    return code == 0;
}

static const struct bench_column columns[] = {
    { "program", "program", BENCH_TEXT, 18 }, { "rounds", "rounds", 0, 6 },
    { "first token s", "first_s", 3, 13 },    { "95 % low", "first_s_lo", 3, 8 },
    { "high", "first_s_hi", 3, 6 },           { "exit s", "exit_s", 3, 6 },
    { "95 % low", "exit_s_lo", 3, 8 },        { "high", "exit_s_hi", 3, 6 },
    { "exit / peer", "exit_ratio", 2, 11 },   { "95 % low", "exit_ratio_lo", 2, 8 },
    { "high", "exit_ratio_hi", 2, 5 },        { "exit - peer s", "exit_difference_s", 3, 13 },
    { "peak MB", "peak_mb", 0, 7 },
};

static void put_row(struct bench_table *t, const struct launch *w, bool is_peer)
{
    const struct bench_summary first = bench_summarize(&w->first),
                               to_exit = bench_summarize(&w->exit),
                               ratio = bench_summarize(&w->ratio);
    const struct bench_samples none = { 0 };
    const struct bench_summary nothing = bench_summarize(&none);
    bench_text(t, "%s", w->name);
    bench_number(t, w->exit.n);
    /* the first output of a peer need not be a token */
    bench_number(t, is_peer ? nothing.median : first.median);
    bench_number(t, is_peer ? nothing.median : first.lo);
    bench_number(t, is_peer ? nothing.median : first.hi);
    bench_number(t, to_exit.median);
    bench_number(t, to_exit.lo);
    bench_number(t, to_exit.hi);
    bench_number(t, ratio.median);
    bench_number(t, ratio.lo);
    bench_number(t, ratio.hi);
    bench_number(t, bench_summarize(&w->difference).median);
    bench_number(t, w->peak_mb);
}

/* Runs every launch once. Round 0 fills the page cache and writes the pack cache; its times are
 * dropped. */
static int one_round(struct launch *launches, unsigned n, const struct launch *peer, unsigned round)
{
    for (unsigned i = 0; i < n; i++) {
        struct launch *w = &launches[(i + round) % n]; /* rotate the order */
        double first, to_exit, peak_mb;
        if (!start_once(w, &first, &to_exit, &peak_mb))
            return bench_error(69, "%s failed", w->argv[0]);
        w->last_exit = to_exit;
        if (round == 0)
            continue;
        bench_sample(&w->first, first);
        bench_sample(&w->exit, to_exit);
        w->peak_mb = peak_mb;
    }
    for (unsigned i = 0; i < n && peer && round; i++) {
        bench_sample(&launches[i].ratio, launches[i].last_exit / peer->last_exit);
        bench_sample(&launches[i].difference, launches[i].last_exit - peer->last_exit);
    }
    return 0;
}

static void quire_launch(struct launch *w, const struct bench_options *o, const char *threads,
                         bool cached)
{
    *w = (struct launch){ .name = cached ? "quire (pack cache)" : "quire" };
    add(w, "/proc/self/exe"), add(w, "first-token");
    add(w, "-m"), add(w, o->model);
    add(w, "-t"), add(w, threads);
    if (o->isa)
        add(w, "--isa"), add(w, o->isa);
    if (cached)
        add(w, "--pack-cache"), add(w, o->pack_cache);
}

static void peer_launch(struct launch *w, const struct bench_options *o, const struct peer *p,
                        const char *threads)
{
    *w = (struct launch){ .name = "peer" };
    add(w, o->peer);
    add(w, "-m"), add(w, o->model);
    add(w, "-t"), add(w, threads);
    add(w, "-p"), add(w, "0"), add(w, "-n"), add(w, "1"), add(w, "-r"), add(w, "1");
    for (int i = 0; i < 2 && p->no_warmup[i]; i++)
        add(w, p->no_warmup[i]);
    for (char *const *e = o->peer_args; e && *e; e++)
        add(w, *e);
}

int bench_start(const struct bench_options *o)
{
    const struct bench_list list = bench_list_or(&o->threads, "0");
    const uint32_t n_threads = list.v[0] ? list.v[0] : quire_threads_default_count();
    struct launch *launches = calloc(3, sizeof *launches);
    const struct launch *peer_at = NULL;
    struct peer p;
    struct bench_table t;
    char threads[16];
    unsigned n = 0;
    snprintf(threads, sizeof threads, "%u", n_threads);
    int code = !launches ? 71 : !o->model ? bench_error(64, "-m FILE is missing") : 0;
    if (!code && o->peer)
        code = peer_open(&p, o, n_threads);
    if (!code && o->peer)
        peer_launch(&launches[n], o, &p, threads), peer_at = &launches[n++];
    if (!code)
        quire_launch(&launches[n++], o, threads, false);
    if (!code && o->pack_cache)
        quire_launch(&launches[n++], o, threads, true);
    for (unsigned i = 0; !code && i <= bench_repetitions(o, 7); i++)
        code = one_round(launches, n, peer_at, i);
    if (!code) {
        bench_document_begin(&t, o, "start");
        bench_table_begin(&t, "From exec to the first token and to exit", columns,
                          sizeof columns / sizeof *columns);
        for (unsigned i = 0; i < n; i++)
            put_row(&t, &launches[i], &launches[i] == peer_at);
        bench_table_end(&t);
        bench_note(&t,
                   "The model file is in the page cache. Ratio and difference compare the times to "
                   "exit, per round, because llama-bench does not report its first token.");
        bench_document_end(&t);
    }
    free(launches);
    return code;
}
