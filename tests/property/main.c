/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - checks random problems against the oracle and some variants against each other.
 *
 *     property [--seed N] [--cases N] [--from K] [--case K] [--checks N] [--list]
 *     property --walk [--step N]
 *     property --trees [--seed N] [--step N] */
#include "checks.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_TEAM = 8, MAX_FAILURES = 5 };

struct options {
    uint64_t seed;
    uint32_t from, cases, checks;
    uint32_t step; /* stride of --walk in head sizes, of --trees in cases */
    bool one;      /* a single case: runs every check and prints the problem */
    bool walk;     /* every shape in place of random cases */
    bool trees;    /* large trees in place of random cases */
};

static char reason[1024];

bool failure(const char *format, ...)
{
    const size_t used = strlen(reason);
    va_list args;
    va_start(args, format);
    const int n = snprintf(reason + used, sizeof reason - used, "%s", used ? "; " : "");
    if (n >= 0 && used + (size_t)n < sizeof reason)
        vsnprintf(reason + used + n, sizeof reason - used - (size_t)n, format, args);
    va_end(args);
    return false;
}

static struct quire_threads *teams[MAX_TEAM];

struct quire_threads *team_of(uint32_t n)
{
    const struct quire_threads_params params = { .struct_size = sizeof params,
                                                 .backend = QUIRE_THREADS_PTHREAD,
                                                 .n_threads = n };
    struct quire_error err = QUIRE_ERROR_INIT;
    if (n < MAX_TEAM && !teams[n] && quire_threads_create(&params, &teams[n], &err) != QUIRE_OK) {
        fprintf(stderr, "property: cannot create %u threads: %s\n", n, err.msg);
        exit(70);
    }
    return n < MAX_TEAM ? teams[n] : NULL;
}

void report(const struct problem *s, const char *check)
{
    printf("FAILED case %u, %s: %s\n", s->number, check, reason);
    problem_print(s);
    reason[0] = 0;
}

static void report_case(const struct problem *s, const char *check)
{
    report(s, check);
    printf("  rerun: property --seed %llu --case %u\n", (unsigned long long)s->seed, s->number);
}

/* Number of runs of each check. From 2500 cases on, every check must have run. */
static uint32_t n_runs[64];

static bool all_checks_ran(uint32_t n_cases)
{
    bool ok = true;
    for (uint32_t i = 0; i < n_checks; i++) {
        printf("%7u times %s\n", n_runs[i], checks[i].name);
        ok = ok && (n_runs[i] || n_cases < 2500);
    }
    printf("%7u plans with split query tiles, %u with cascades\n", plans.split, plans.cascade);
    return ok && ((plans.split && plans.cascade) || n_cases < 2500);
}

/* Runs one case: the oracle, then a rotating subset of the applicable checks. */
static uint32_t run_case(const struct options *o, uint32_t number)
{
    struct problem s;
    uint32_t n_failed = 0;
    problem_make(&s, o->seed, number, NULL);
    if (o->one)
        problem_print(&s);
    struct result base = result_new(&s);
    const struct variant plain = variant_default(&s);
    const struct part whole = part_whole(&s);
    if (!run_problem(&s, &plain, &whole, &base) || !check_oracle(&s, &base)) {
        report_case(&s, "oracle");
        n_failed++;
    }
    for (uint32_t i = 0; i < n_checks; i++) {
        const uint32_t at = (number * o->checks + i) % n_checks;
        if (!checks[at].applies(&s) || !(i < o->checks || o->one || checks[at].rare))
            continue;
        n_runs[at]++;
        if (!checks[at].run(&s, &base, &s.rng)) {
            report_case(&s, checks[at].name);
            n_failed++;
        }
    }
    result_free(&base);
    problem_free(&s);
    return n_failed;
}

static uint64_t number_of(const char *option, const char *text)
{
    char *end;
    errno = 0;
    const unsigned long long n = text ? strtoull(text, &end, 10) : 0;
    if (!text || !*text || *end || errno) {
        fprintf(stderr, "property: %s needs a number\n", option);
        exit(64);
    }
    return n;
}

static struct options parse(int argc, char **argv)
{
    struct options o = { .seed = 1, .cases = 1000, .checks = 4, .step = 1 };
    const char *cases = getenv("QUIRE_PROPERTY_CASES");
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--list")) {
            for (uint32_t c = 0; c < n_checks; c++)
                puts(checks[c].name);
            exit(0);
        }
        if (!strcmp(name, "--walk")) {
            o.walk = true;
            continue;
        }
        if (!strcmp(name, "--trees")) {
            o.trees = true;
            continue;
        }
        const bool timed = !strcmp(name, "--seed") && value && !strcmp(value, "time");
        const uint64_t n = timed ? (uint64_t)time(NULL) : number_of(name, value);
        i++;
        if (!strcmp(name, "--seed")) {
            o.seed = n;
        } else if (!strcmp(name, "--cases")) {
            o.cases = (uint32_t)n;
        } else if (!strcmp(name, "--from")) {
            o.from = (uint32_t)n;
        } else if (!strcmp(name, "--checks")) {
            o.checks = (uint32_t)n;
        } else if (!strcmp(name, "--step") && n) {
            o.step = (uint32_t)n;
        } else if (!strcmp(name, "--case")) {
            o.from = (uint32_t)n;
            o.one = true;
        } else {
            fprintf(stderr, "property: unknown option %s\n", name);
            exit(64);
        }
    }
    if (cases && *cases)
        o.cases = (uint32_t)number_of("QUIRE_PROPERTY_CASES", cases);
    if (o.one)
        o.cases = 1;
    return o;
}

int main(int argc, char **argv)
{
    const struct options o = parse(argc, argv);
    uint32_t n_failed = 0, n = 0;
    if (o.walk)
        return walk(o.seed, o.step) != 0;
    if (o.trees)
        return check_trees(o.seed, o.step) != 0;
    printf("seed %llu, cases %u to %u\n", (unsigned long long)o.seed, o.from, o.from + o.cases - 1);
    for (; n < o.cases && n_failed < MAX_FAILURES; n++)
        n_failed += run_case(&o, o.from + n);
    for (uint32_t i = 0; i < MAX_TEAM; i++)
        quire_threads_destroy(teams[i]);
    const bool ran = n_failed || o.one || all_checks_ran(n);
    printf("%u cases, %u failures%s\n", n, n_failed, ran ? "" : ", but some checks never ran");
    return n_failed || !ran;
}
