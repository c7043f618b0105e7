/* SPDX-License-Identifier: Apache-2.0 */
/* bench_start.c - `quire-bench start`: from the start of a process to a model's first token, and to the end. */
#include "bench_peer.h"
#include "bench_process.h"
#include "bench_table.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- what is started: one token behind nothing; with -n, more, and how fast they came */

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
    struct bench_machine team = { 0 }; /* only the threads: probes take longer than a start */
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

/* ---- starting it */

enum { ARGS_MAX = 64 };

/* One way to start. */
struct way {
    const char *name;
    const char *argv[ARGS_MAX];
    unsigned n;
    struct bench_samples first, end, of_peer, behind_peer;
    double last_end; /* of the round that runs */
    double peak_mb;
};

static void add(struct way *w, const char *word)
{
    if (w->n + 1 < ARGS_MAX)
        w->argv[w->n++] = word;
}

/* Seconds until the program says something and until it has ended. */
static bool start_once(const struct way *w, double *first, double *end, double *peak_mb)
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
    *end = bench_now() - start;
    *peak_mb = (double)usage.ru_maxrss * 1024e-6;
    return code == 0;
}

static const struct bench_column columns[] = {
    { "program", "program", BENCH_TEXT, 18 }, { "rounds", "rounds", 0, 6 },
    { "first token s", "first_s", 3, 13 },    { "95 % low", "first_s_lo", 3, 8 },
    { "high", "first_s_hi", 3, 6 },           { "end s", "end_s", 3, 6 },
    { "95 % low", "end_s_lo", 3, 8 },         { "high", "end_s_hi", 3, 6 },
    { "of peer's", "of_peer", 2, 9 },         { "95 % low", "of_peer_lo", 2, 8 },
    { "high", "of_peer_hi", 2, 5 },           { "more s", "behind_peer_s", 3, 6 },
    { "peak MB", "peak_mb", 0, 7 },
};

static void put_row(struct bench_table *t, const struct way *w, bool is_peer)
{
    const struct bench_summary first = bench_summarise(&w->first), end = bench_summarise(&w->end),
                               ratio = bench_summarise(&w->of_peer);
    const struct bench_samples none = { 0 };
    const struct bench_summary nothing = bench_summarise(&none);
    bench_text(t, "%s", w->name);
    bench_number(t, w->end.n);
    /* what a peer prints first need not be a token */
    bench_number(t, is_peer ? nothing.median : first.median);
    bench_number(t, is_peer ? nothing.median : first.lo);
    bench_number(t, is_peer ? nothing.median : first.hi);
    bench_number(t, end.median);
    bench_number(t, end.lo);
    bench_number(t, end.hi);
    bench_number(t, ratio.median);
    bench_number(t, ratio.lo);
    bench_number(t, ratio.hi);
    bench_number(t, bench_summarise(&w->behind_peer).median);
    bench_number(t, w->peak_mb);
}

/* Every way once; the first round, which brings the files into memory and makes the pack cache, is dropped. */
static int one_round(struct way *ways, unsigned n, const struct way *peer, unsigned round)
{
    for (unsigned i = 0; i < n; i++) {
        struct way *w =
            &ways[(i + round) % n]; /* so that none always meets what another has left */
        double first, end, peak_mb;
        if (!start_once(w, &first, &end, &peak_mb))
            return bench_error(69, "%s failed", w->argv[0]);
        w->last_end = end;
        if (round == 0)
            continue;
        bench_sample(&w->first, first);
        bench_sample(&w->end, end);
        w->peak_mb = peak_mb;
    }
    for (unsigned i = 0; i < n && peer && round; i++) {
        bench_sample(&ways[i].of_peer, ways[i].last_end / peer->last_end);
        bench_sample(&ways[i].behind_peer, ways[i].last_end - peer->last_end);
    }
    return 0;
}

static void our_way(struct way *w, const struct bench_options *o, const char *threads, bool cached)
{
    *w = (struct way){ .name = cached ? "quire (pack cache)" : "quire" };
    add(w, "/proc/self/exe"), add(w, "first-token");
    add(w, "-m"), add(w, o->model);
    add(w, "-t"), add(w, threads);
    if (o->isa)
        add(w, "--isa"), add(w, o->isa);
    if (cached)
        add(w, "--pack-cache"), add(w, o->pack_cache);
}

static void peer_way(struct way *w, const struct bench_options *o, const struct peer *p,
                     const char *threads)
{
    *w = (struct way){ .name = "peer" };
    add(w, o->peer);
    add(w, "-m"), add(w, o->model);
    add(w, "-t"), add(w, threads);
    add(w, "-p"), add(w, "0"), add(w, "-n"), add(w, "1"), add(w, "-r"), add(w, "1");
    for (int i = 0; i < 2 && p->no_warmup[i]; i++)
        add(w, p->no_warmup[i]);
    for (char *const *e = o->peer_args; e && *e; e++)
        add(w, *e);
}

int bench_start_times(const struct bench_options *o)
{
    const struct bench_list list = bench_list_or(&o->threads, "0");
    const uint32_t n_threads = list.v[0] ? list.v[0] : quire_threads_default_count();
    struct way *ways = calloc(3, sizeof *ways);
    const struct way *peer_at = NULL;
    struct peer p;
    struct bench_table t;
    char threads[16];
    unsigned n = 0;
    snprintf(threads, sizeof threads, "%u", n_threads);
    int code = !ways ? 71 : !o->model ? bench_error(64, "-m FILE is missing") : 0;
    if (!code && o->peer)
        code = peer_open(&p, o, n_threads);
    if (!code && o->peer)
        peer_way(&ways[n], o, &p, threads), peer_at = &ways[n++];
    if (!code)
        our_way(&ways[n++], o, threads, false);
    if (!code && o->pack_cache)
        our_way(&ways[n++], o, threads, true);
    for (unsigned i = 0; !code && i <= bench_repetitions(o, 7); i++)
        code = one_round(ways, n, peer_at, i);
    if (!code) {
        bench_document_begin(&t, o, "start");
        bench_table_begin(&t, "From exec to the first token and to the end", columns,
                          sizeof columns / sizeof *columns);
        for (unsigned i = 0; i < n; i++)
            put_row(&t, &ways[i], &ways[i] == peer_at);
        bench_table_end(&t);
        bench_note(&t, "The model's file is in the page cache. Against a peer the times to the end "
                       "are compared, taken "
                       "round by round: its program does not say when it has its first token.");
        bench_document_end(&t);
    }
    free(ways);
    return code;
}
