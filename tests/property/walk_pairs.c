/* SPDX-License-Identifier: Apache-2.0 */
/* walk_pairs.c - every pair of options at every level: against the oracle, and in some of the ways
 * that must not change a bit. */
#include "checks.h"
#include <quire/cpu.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FAILURES = 10, N_DTYPES = 6, CHECKS_OF_A_PAIR = 5 };

/* One choice of the walk: an option, a kind, or the dtype of K or V. */
struct choice {
    char name[24];
    enum { OF_OPTION, OF_KIND, OF_Q, OF_K, OF_V } of;
    uint32_t option; /* bits */
    int value;       /* kind or dtype */
};

static const char *const option_names[N_OPTIONS] = {
    [WINDOW_LEFT] = "window_left", [WINDOW_RIGHT] = "window_right",
    [NOT_CAUSAL] = "not causal",   [OWN_CAUSAL] = "batch.causal",
    [CHUNK] = "chunk_size",        [SPANS] = "spans",
    [TREE] = "tree_mask",          [SPARSE] = "sparse",
    [SOFT_CAP] = "soft cap",       [SLOPES] = "slopes",
    [RELATIVE] = "relative_bias",  [SINKS] = "sinks",
    [HALF_SINKS] = "typed_sinks",  [COMPUTE_F32] = "compute f32",
    [Q_BF16] = "q bf16",           [Q_F16] = "q f16",
    [Q_INT8] = "q int8",           [LATENT] = "latent",
};
enum { MAX_CHOICES = N_OPTIONS + 3 + 2 * (N_DTYPES - 1) };

static uint32_t list_choices(struct choice *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_OPTIONS; i++, n++) {
        out[n] = (struct choice){ .of = i == Q_BF16 || i == Q_F16 || i == Q_INT8 ? OF_Q : OF_OPTION,
                                  .option = 1u << i };
        snprintf(out[n].name, sizeof out[n].name, "%s", option_names[i]);
    }
    for (int kind = QUIRE_ATTENTION_ENCODER; kind <= QUIRE_ATTENTION_CROSS; kind++, n++) {
        out[n] = (struct choice){ .of = OF_KIND, .value = kind };
        snprintf(out[n].name, sizeof out[n].name, "kind %d", kind);
    }
    for (int of = OF_K; of <= OF_V; of++)
        for (int dtype = 1; dtype < N_DTYPES; dtype++, n++) {
            out[n] = (struct choice){ .of = of, .value = dtype };
            snprintf(out[n].name, sizeof out[n].name, "%c %s", of == OF_K ? 'K' : 'V',
                     quire_kv_dtype_name((enum quire_kv_dtype)dtype));
        }
    return n;
}

static void apply(const struct choice *c, struct constraints *w)
{
    w->options |= c->option;
    if (c->of == OF_KIND)
        w->kind = (enum quire_attention_kind)c->value;
    if (c->of == OF_K)
        w->k_dtype = (enum quire_kv_dtype)c->value;
    if (c->of == OF_V)
        w->v_dtype = (enum quire_kv_dtype)c->value;
}

/* A problem of the constraints with a query; others are drawn until there is one. */
static void draw_problem(struct problem *s, uint64_t seed, uint32_t number,
                         const struct constraints *w)
{
    for (problem_make(s, seed, number, w); !s->n_rows; problem_make(s, seed, number, w)) {
        problem_free(s);
        number += 1u << 20;
    }
}

static bool check_problem(const struct problem *s, uint32_t number)
{
    struct problem copy = *s; /* the checks draw from its generator */
    struct result r = result_new(s);
    const struct variant variant = variant_default(s);
    const struct part whole = part_whole(s);
    bool ok = run_problem(s, &variant, &whole, &r) && check_oracle(s, &r);
    for (uint32_t i = 0; ok && i < CHECKS_OF_A_PAIR; i++) {
        const struct check *check = &checks[(number * CHECKS_OF_A_PAIR + i) % n_checks];
        ok = !check->applies(s) || check->run(s, &r, &copy.rng) || failure("%s", check->name);
    }
    result_free(&r);
    return ok;
}

uint32_t walk_pairs(uint64_t seed)
{
    static struct choice choices[MAX_CHOICES];
    const uint32_t n = list_choices(choices);
    uint32_t n_failed = 0, number = 0;
    for (int level = 0; quire_cpu_level_name(level); level++)
        for (uint32_t i = 0; quire_cpu_level_usable(level) && i < n; i++)
            for (uint32_t j = 0; j <= i && n_failed < MAX_FAILURES; j++) {
                const struct choice *a = &choices[i], *b = &choices[j];
                if (i != j && a->of == b->of && a->of != OF_OPTION)
                    continue; /* two values of one field */
                struct problem s;
                struct constraints w = {
                    .exact = true, .level = level, .head_size = 8 + i % 3 * 12, .block_size = 16
                };
                apply(a, &w);
                apply(b, &w);
                draw_problem(&s, seed, number, &w);
                if (!check_problem(&s, number++)) {
                    char text[80];
                    snprintf(text, sizeof text, "pair of %.23s and %.23s", a->name, b->name);
                    report(&s, text);
                    n_failed++;
                }
                problem_free(&s);
            }
    printf("%u pairs of %u options\n", number, n);
    return n_failed;
}
