/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - kerncheck: runs the checker of every kernel of every level that this process can run.
 * --isa emulated: those of templates over emulated vectors, which are no level of the library. */
#include "emulated.h"
#include "kerncheck.h"
#include "kernels/dispatch.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset; /* of the pointer in struct qr_kernels */
} kernels[] = {
#define X(ret, name, params) { #name, offsetof(struct qr_kernels, name) },
    QR_KERNELS(X)
#undef X
};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

static const struct kc_checker *const families[] = {
    kc_checkers_ops,     kc_checkers_recurrent,   kc_checkers_state,  kc_checkers_kv,
    kc_checkers_kv_int4, kc_checkers_attn,        kc_checkers_linear, kc_checkers_lora,
    kc_checkers_unpack,  kc_checkers_quantize_act
};

static uint64_t seed = 1;
static sigjmp_buf on_signal;
static volatile sig_atomic_t caught;

static void handler(int sig)
{
    caught = sig;
    siglongjmp(on_signal, 1);
}

void kc_fail(struct kc_env *env, const char *fmt, ...)
{
    va_list ap;
    env->failures++;
    printf("FAIL %s at %s, seed %llu: ", env->kernel, env->level, (unsigned long long)seed);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

static const struct kc_checker *checker_of(const char *kernel)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (const struct kc_checker *c = families[f]; c->kernel; c++)
            if (strcmp(c->kernel, kernel) == 0)
                return c;
    return NULL;
}

static kc_fn entry(const struct qr_kernels *k, size_t offset)
{
    kc_fn fn = NULL;
    if (k)
        memcpy(&fn, (const char *)k + offset, sizeof fn);
    return fn;
}

/* A separate function: after the jump nothing depends on variables that it may clobber. */
static void call_guarded(const struct kc_checker *c, struct kc_env *env, kc_fn fn)
{
    if (env->k->attn_begin)
        env->k->attn_begin();
    if (sigsetjmp(on_signal, 1) == 0)
        c->check(env, fn);
    if (env->k->attn_end)
        env->k->attn_end();
}

static int check_one(const struct qr_kernels *k, const char *level, size_t i, int rounds)
{
    struct kc_env env = {
        .k = k, .level = level, .kernel = kernels[i].name, .rng = seed, .rounds = rounds
    };
    for (const char *p = kernels[i].name; *p; p++)
        env.rng = env.rng * 31 + (unsigned char)*p;
    const struct kc_checker *c = checker_of(kernels[i].name);
    if (!c) {
        printf("FAIL %s: no checker\n", kernels[i].name);
        return 1;
    }
    caught = 0;
    call_guarded(c, &env, entry(k, kernels[i].offset));
    if (caught)
        kc_fail(&env, "stopped by signal %d (%s)", (int)caught, strsignal(caught));
    kc_release();
    if (!env.failures)
        printf("ok   %-28s %-14s worst %.3f of its bound\n", kernels[i].name, level, env.worst);
    return env.failures != 0;
}

/* What to check, and the results so far. */
struct run {
    const char *level, *kernel; /* only this level, only kernels with this prefix; NULL: all */
    int rounds, n_checked, n_failed;
};

/* Checks the kernels of table k that differ from those of the table below. */
static void run_level(struct run *run, const char *level, const struct qr_kernels *k,
                      const struct qr_kernels *below)
{
    if (run->level && strcmp(run->level, level) != 0)
        return;
    for (size_t j = 0; j < N_KERNELS; j++) {
        if (run->kernel && strncmp(kernels[j].name, run->kernel, strlen(run->kernel)) != 0)
            continue;
        if (entry(k, kernels[j].offset) == entry(below, kernels[j].offset))
            continue;
        run->n_checked++;
        run->n_failed += check_one(k, level, j, run->rounds);
    }
}

static int run_levels(struct run *run)
{
    const struct qr_kernels *below = NULL, *generic = qr_level_table(0);
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        if (!k) {
            printf("skip %s: this CPU lacks it\n", qr_level_name(i));
            continue;
        }
        run_level(run, qr_level_name(i), k, below);
        below = k;
    }
    if (run->level && strcmp(run->level, "emulated") == 0)
        run_level(run, run->level, kc_emulated(generic), generic);
    printf("kerncheck: %d passed, %d failed, seed %llu\n", run->n_checked - run->n_failed,
           run->n_failed, (unsigned long long)seed);
    return run->n_failed || !run->n_checked;
}

static int list(void)
{
    int missing = 0;
    for (size_t j = 0; j < N_KERNELS; j++) {
        const bool has = checker_of(kernels[j].name) != NULL;
        missing += !has;
        printf("%-28s %s\n", kernels[j].name, has ? "checked" : "NO CHECKER");
    }
    return missing != 0;
}

int main(int argc, char **argv)
{
    struct run run = { .rounds = 40 };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--list") == 0)
            return list();
        if (strcmp(argv[i], "--full") == 0) {
            run.rounds = 400;
            continue;
        }
        if (value && strcmp(argv[i], "--isa") == 0)
            run.level = value;
        else if (value && strcmp(argv[i], "--kernel") == 0)
            run.kernel = value;
        else if (value && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(value, NULL, 0);
        else if (value && strcmp(argv[i], "--rounds") == 0)
            run.rounds = atoi(value);
        else {
            fprintf(stderr, "usage: kerncheck [--list] [--full] [--isa LEVEL] [--kernel PREFIX] "
                            "[--seed N] [--rounds N]\n");
            return 64;
        }
        i++;
    }
    struct sigaction action = { .sa_handler = handler };
    const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    for (size_t i = 0; i < 4; i++)
        sigaction(signals[i], &action, NULL);
    return run_levels(&run);
}
