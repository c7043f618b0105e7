/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - kerncheck: runs the checker of every kernel of every level that this process can run. */
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

static const struct kc_checker *const families[] = { kc_checkers_ops,  kc_checkers_recurrent,
                                                     kc_checkers_kv,   kc_checkers_kv_int4,
                                                     kc_checkers_attn, kc_checkers_linear,
                                                     kc_checkers_lora, kc_checkers_unpack };

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

static int run(const char *only_level, const char *only_kernel, int rounds)
{
    int n_checked = 0, n_failed = 0;
    const struct qr_kernels *below = NULL;
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        if (!k) {
            printf("skip %s: this CPU lacks it\n", qr_level_name(i));
            continue;
        }
        const bool wanted = !only_level || strcmp(only_level, qr_level_name(i)) == 0;
        for (size_t j = 0; wanted && j < N_KERNELS; j++) {
            if (only_kernel && strncmp(kernels[j].name, only_kernel, strlen(only_kernel)) != 0)
                continue;
            if (entry(k, kernels[j].offset) == entry(below, kernels[j].offset))
                continue;
            n_checked++;
            n_failed += check_one(k, qr_level_name(i), j, rounds);
        }
        below = k;
    }
    printf("kerncheck: %d passed, %d failed, seed %llu\n", n_checked - n_failed, n_failed,
           (unsigned long long)seed);
    return n_failed || !n_checked;
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
    const char *level = NULL, *kernel = NULL;
    int rounds = 40;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--list") == 0)
            return list();
        if (strcmp(argv[i], "--full") == 0) {
            rounds = 400;
            continue;
        }
        if (value && strcmp(argv[i], "--isa") == 0)
            level = value;
        else if (value && strcmp(argv[i], "--kernel") == 0)
            kernel = value;
        else if (value && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(value, NULL, 0);
        else if (value && strcmp(argv[i], "--rounds") == 0)
            rounds = atoi(value);
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
    return run(level, kernel, rounds);
}
