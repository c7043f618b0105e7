/* SPDX-License-Identifier: Apache-2.0 */
/* bench_neighbour.c - `quire-bench neighbour`: what a process that keeps one processor busy costs generation. */
#include "bench_peer.h"
#include "bench_process.h"
#include "bench_table.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOKENS = 32 };

/* ---- the neighbour */

/* On the last processor that we may use, and gone when we are. */
static pid_t start_neighbour(void)
{
    cpu_set_t allowed, one;
    size_t last = CPU_SETSIZE;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
            last = CPU_ISSET(cpu, &allowed) ? cpu : last;
    const pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&one);
    if (last < CPU_SETSIZE)
        CPU_SET(last, &one), sched_setaffinity(0, sizeof one, &one);
    for (;;)
        __asm__ volatile("" ::: "memory");
}

static void stop_neighbour(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0)
        ;
}

/* ---- rounds: each in a process of its own, as users run them */

struct program {
    const char *name;
    struct bench_samples alone, beside, slower;
};

static int ours(const struct bench_options *o, double *rate)
{
    char *argv[16], n[16], threads[16];
    int argc = 0, exit_code;
    const struct bench_list list = bench_list_or(&o->threads, "0");
    snprintf(n, sizeof n, "%d", TOKENS);
    snprintf(threads, sizeof threads, "%u", list.v[0]);
    const char *const words[] = { "/proc/self/exe",
                                  "first-token",
                                  "-m",
                                  o->model,
                                  "-n",
                                  n,
                                  "-t",
                                  threads,
                                  o->isa ? "--isa" : NULL,
                                  o->isa,
                                  o->pack_cache ? "--pack-cache" : NULL,
                                  o->pack_cache };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i])
            argv[argc++] = (char *)(uintptr_t)words[i];
    argv[argc] = NULL;
    char *text = bench_run_program(argv, &exit_code);
    const char *found = text && !exit_code ? strstr(text, "t/s") : NULL;
    *rate = found ? strtod(found + strlen("t/s"), NULL) : 0;
    free(text);
    return found ? 0 : bench_error(exit_code > 0 ? exit_code : 70, "%s: no rate", o->model);
}

static int theirs(struct peer *p, double *rate)
{
    const struct model_tests tests = { .n = 1,
                                       .v = { { .generate = true, .n = TOKENS, .n_seqs = 1 } } };
    return peer_run(p, &tests, rate);
}

/* Alone and beside the neighbour, in alternating order. */
static int one_round(struct program *program, const struct bench_options *o, struct peer *p,
                     unsigned round)
{
    double rates[2] = { 0 };
    int code = 0;
    for (unsigned i = 0; i < 2 && !code; i++) {
        const bool beside = (i + round) % 2;
        const pid_t neighbour = beside ? start_neighbour() : 0;
        if (neighbour < 0)
            return bench_error(71, "no process for a neighbour");
        code = p ? theirs(p, &rates[beside]) : ours(o, &rates[beside]);
        stop_neighbour(neighbour);
    }
    bench_sample(&program->alone, rates[0]);
    bench_sample(&program->beside, rates[1]);
    bench_sample(&program->slower, rates[0] / rates[1]);
    return code;
}

static const struct bench_column columns[] = {
    { "program", "program", BENCH_TEXT, 7 },
    { "threads", "threads", 0, 7 },
    { "rounds", "rounds", 0, 6 },
    { "alone t/s", "alone_t_per_s", 2, 9 },
    { "beside t/s", "beside_t_per_s", 2, 10 },
    { "times slower", "slower", 2, 12 },
    { "95 % low", "slower_lo", 2, 8 },
    { "high", "slower_hi", 2, 5 },
};

static void put_row(struct bench_table *t, const struct program *p, uint32_t n_threads)
{
    const struct bench_summary slower = bench_summarise(&p->slower);
    bench_text(t, "%s", p->name);
    bench_number(t, n_threads);
    bench_number(t, p->slower.n);
    bench_number(t, bench_summarise(&p->alone).median);
    bench_number(t, bench_summarise(&p->beside).median);
    bench_number(t, slower.median);
    bench_number(t, slower.lo);
    bench_number(t, slower.hi);
}

int bench_neighbour(const struct bench_options *o)
{
    const struct bench_list list = bench_list_or(&o->threads, "0");
    const uint32_t n_threads = list.v[0] ? list.v[0] : quire_threads_default_count();
    const unsigned rounds = bench_repetitions(o, 5);
    struct program *programs = calloc(2, sizeof *programs);
    struct bench_table t;
    struct peer p;
    int code = !programs ? 71 : !o->model ? bench_error(64, "-m FILE is missing") : 0;
    if (!code && o->peer)
        code = peer_open(&p, o, n_threads);
    for (unsigned i = 0; i < rounds && !code; i++) {
        code = one_round(&programs[0], o, NULL, i);
        if (!code && o->peer)
            code = one_round(&programs[1], o, &p, i);
    }
    if (!code) {
        programs[0].name = "quire";
        programs[1].name = "peer";
        bench_document_begin(&t, o, "neighbour");
        bench_table_begin(&t, "Beside a process that keeps one processor busy", columns,
                          sizeof columns / sizeof *columns);
        for (int i = 0; i < (o->peer ? 2 : 1); i++)
            put_row(&t, &programs[i], n_threads);
        bench_table_end(&t);
        bench_document_end(&t);
    }
    free(programs);
    return code;
}
