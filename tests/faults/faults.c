/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - lets every system call of every scenario fail, once and for ever.
 *
 * A run under a fault ends with an error or with the results of a run without; it leaves no memory,
 * file descriptor or file behind, and the same calls succeed when the fault is gone. Interrupted
 * and partial transfers are no errors.
 *
 * usage: faults [--full] [--seed N] [SCENARIO...]
 *   --full   every call; otherwise POINTS calls per scenario, kind and mode
 *   --seed N chooses the calls (default 1) */
#include "../scenarios/scenarios.h"
#include "inject.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POINTS = 8, MAX_FAILURES = 20 };

struct state {
    char dir[64], shared[4096];
    bool full;
    uint64_t seed;
    unsigned long long n_runs, n_refused, n_failures;
};

struct outcome {
    quire_status status;
    uint64_t hash;
    uint32_t n_cached;
    uint64_t counts[N_FAULT_KINDS];
    int64_t leaked;
    int fds, files; /* more than before */
    char message[sizeof((struct quire_error *)0)->msg];
};

static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void run_once(const struct state *st, const struct scenario *sc, enum fault_kind kind,
                     enum fault_mode mode, uint64_t at, struct outcome *o)
{
    struct run run = { .allocator = inject_allocator(), .shared = st->shared, .dir = st->dir };
    const int fds = entries("/proc/self/fd"), files = entries(st->dir);
    const int64_t before = inject_live();
    inject_begin(kind, mode, at);
    o->status = sc->run(&run);
    inject_end(o->counts);
    o->leaked = inject_live() - before;
    o->fds = entries("/proc/self/fd") - fds;
    o->files = entries(st->dir) - files;
    o->hash = run.hash;
    o->n_cached = run.n_cached;
    memcpy(o->message, run.err.msg, sizeof o->message);
}

static void report(struct state *st, const struct scenario *sc, enum fault_kind kind,
                   enum fault_mode mode, uint64_t at, const char *what, const struct outcome *o)
{
    printf("%s: %s %llu %s: %s (%s, %s)\n", sc->name, fault_kind_names[kind],
           (unsigned long long)at, fault_mode_names[mode], what, quire_status_name(o->status),
           o->message);
    fflush(stdout);
    st->n_failures++;
}

static void check_point(struct state *st, const struct scenario *sc, enum fault_kind kind,
                        enum fault_mode mode, uint64_t at, const struct outcome *clean)
{
    struct outcome o, retry;
    run_once(st, sc, kind, mode, at, &o);
    st->n_runs++;
    st->n_refused += o.status != QUIRE_OK;
    if (o.status == QUIRE_OK && o.hash != clean->hash)
        report(st, sc, kind, mode, at, "other results", &o);
    if ((o.status != QUIRE_OK || o.n_cached != clean->n_cached) && mode >= FAULT_INTERRUPT)
        report(st, sc, kind, mode, at, "no error was expected", &o);
    if (o.status == QUIRE_E_INTERNAL || (o.status != QUIRE_OK && !o.message[0]))
        report(st, sc, kind, mode, at, "no message, or an internal error", &o);
    if (o.leaked > 0)
        report(st, sc, kind, mode, at, "memory is lost", &o);
    if (o.fds > 0 || o.files > 0)
        report(st, sc, kind, mode, at, "a file or descriptor is left", &o);
    run_once(st, sc, kind, mode, 0, &retry);
    if (retry.status != QUIRE_OK || retry.hash != clean->hash)
        report(st, sc, kind, mode, at, "a retry fails", &retry);
}

/* The calls of one kind that fail in turn: all, or some, the first and the last among them. */
static void check_kind(struct state *st, const struct scenario *sc, enum fault_kind kind,
                       enum fault_mode mode, const struct outcome *clean)
{
    const uint64_t n = clean->counts[kind];
    if (mode == FAULT_SHORT && kind != FAULT_read && kind != FAULT_pread && kind != FAULT_write)
        return;
    if (mode == FAULT_INTERRUPT && kind != FAULT_read && kind != FAULT_pread &&
        kind != FAULT_write && kind != FAULT_open && kind != FAULT_fsync)
        return;
    for (uint64_t i = 0, points = st->full || n < POINTS ? n : POINTS; i < points; i++) {
        uint64_t at = 1 + i * n / points;
        if (points < n && i + 1 == points) {
            at = n;
        } else if (points < n && i) {
            st->seed = st->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            at += (st->seed >> 33) % (n / points);
        }
        if (st->n_failures < MAX_FAILURES)
            check_point(st, sc, kind, mode, at, clean);
    }
}

static void check_scenario(struct state *st, const struct scenario *sc)
{
    struct outcome clean;
    run_once(st, sc, FAULT_alloc, FAULT_ONCE, 0, &clean); /* fills caches of other libraries */
    run_once(st, sc, FAULT_alloc, FAULT_ONCE, 0, &clean);
    if (clean.status != QUIRE_OK || clean.leaked > 0 || clean.fds > 0)
        report(st, sc, FAULT_alloc, FAULT_ONCE, 0, "fails or leaks without a fault", &clean);
    for (int kind = 0; kind < N_FAULT_KINDS; kind++)
        for (int mode = 0; mode < N_FAULT_MODES; mode++)
            check_kind(st, sc, (enum fault_kind)kind, (enum fault_mode)mode, &clean);
    printf("%-12s", sc->name);
    for (int kind = 0; kind < N_FAULT_KINDS; kind++)
        if (clean.counts[kind])
            printf(" %s %llu", fault_kind_names[kind], (unsigned long long)clean.counts[kind]);
    printf("\n");
    fflush(stdout);
}

static bool wanted(int argc, char **argv, const char *name)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0) {
            i++;
            continue;
        }
        if (argv[i][0] == '-')
            continue;
        any = true;
        if (strcmp(argv[i], name) == 0)
            return true;
    }
    return !any;
}

int main(int argc, char **argv)
{
    static struct state st = { .seed = 1 };
    for (int i = 1; i < argc; i++) {
        st.full = st.full || strcmp(argv[i], "--full") == 0;
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            st.seed = strtoull(argv[++i], NULL, 10);
    }
    struct stat info;
    const char *env = getenv("QUIRE_SHARED");
    snprintf(st.shared, sizeof st.shared, "%s", env && *env ? env : QUIRE_SOURCE_DIR "/../shared");
    if (stat(st.shared, &info) != 0) {
        printf("skipped: no reference data at %s (set QUIRE_SHARED)\n", st.shared);
        return 77;
    }
    strcpy(st.dir, "/tmp/quire-faults-XXXXXX");
    if (!mkdtemp(st.dir))
        return 70;
    for (size_t i = 0; i < n_scenarios; i++)
        if (wanted(argc, argv, scenarios[i].name))
            check_scenario(&st, &scenarios[i]);
    rmdir(st.dir);
    printf("%llu faults, %llu refused with an error, %llu failures\n", st.n_runs, st.n_refused,
           st.n_failures);
    return st.n_failures || !st.n_runs;
}
