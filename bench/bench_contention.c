/* SPDX-License-Identifier: Apache-2.0 */
/* bench_contention.c - `quire-bench contention`: decode rate while another process occupies one
 * CPU. */
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

/* ---- the CPU hog */

/* Starts a busy loop on the last CPU of the affinity mask. It ends with this process. */
static pid_t start_hog(void)
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

static void stop_hog(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0)
        ;
}

/* ---- rounds: each measurement in a new process with default settings */

struct program {
    const char *name;
    struct bench_samples alone, contended, slowdown;
};

static int quire_rate(const struct bench_options *o, double *rate)
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
    return found ? 0
                 : bench_error(exit_code > 0 ? exit_code : 70,
                               "%s: no rate in the output of first-token", o->model);
}

static int peer_rate(struct peer *p, double *rate)
{
    const struct model_tests tests = { .n = 1,
                                       .v = { { .generate = true, .n = TOKENS, .n_seqs = 1 } } };
    return peer_run(p, &tests, rate);
}

/* Runs the program alone and with the hog, in alternating order. */
static int one_round(struct program *program, const struct bench_options *o, struct peer *p,
                     unsigned round)
{
    double rates[2] = { 0 };
    int code = 0;
    for (unsigned i = 0; i < 2 && !code; i++) {
        const bool contended = (i + round) % 2;
        const pid_t hog = contended ? start_hog() : 0;
        if (hog < 0)
            return bench_error(71, "cannot create a process");
        code = p ? peer_rate(p, &rates[contended]) : quire_rate(o, &rates[contended]);
        stop_hog(hog);
    }
    bench_sample(&program->alone, rates[0]);
    bench_sample(&program->contended, rates[1]);
    bench_sample(&program->slowdown, rates[0] / rates[1]);
    return code;
}

static const struct bench_column columns[] = {
    { "program", "program", BENCH_TEXT, 7 },
    { "threads", "threads", 0, 7 },
    { "rounds", "rounds", 0, 6 },
    { "alone t/s", "alone_t_per_s", 2, 9 },
    { "contended t/s", "contended_t_per_s", 2, 13 },
    { "slowdown", "slowdown", 2, 8 },
    { "95 % low", "slowdown_lo", 2, 8 },
    { "high", "slowdown_hi", 2, 5 },
};

static void put_row(struct bench_table *t, const struct program *p, uint32_t n_threads)
{
    const struct bench_summary slowdown = bench_summarize(&p->slowdown);
    bench_text(t, "%s", p->name);
    bench_number(t, n_threads);
    bench_number(t, p->slowdown.n);
    bench_number(t, bench_summarize(&p->alone).median);
    bench_number(t, bench_summarize(&p->contended).median);
    bench_number(t, slowdown.median);
    bench_number(t, slowdown.lo);
    bench_number(t, slowdown.hi);
}

int bench_contention(const struct bench_options *o)
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
        bench_document_begin(&t, o, "contention");
        bench_table_begin(&t, "Decode with one CPU occupied by another process", columns,
                          sizeof columns / sizeof *columns);
        for (int i = 0; i < (o->peer ? 2 : 1); i++)
            put_row(&t, &programs[i], n_threads);
        bench_table_end(&t);
        bench_document_end(&t);
    }
    free(programs);
    return code;
}
