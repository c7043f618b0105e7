/* SPDX-License-Identifier: Apache-2.0 */
/* trees.c - trees of draft tokens around the limits of a mask word, and large ones. */
#include "checks.h"
#include <quire/cpu.h>
#include <stdio.h>

enum { N_DTYPES = 6, MAX_FAILURES = 5 };

/* Compares a tree with the oracle and runs all checks that apply. */
static bool run_tree(uint64_t seed, uint32_t number, const struct constraints *w)
{
    struct problem s;
    bool ok = true;
    problem_make(&s, seed, number, w);
    struct result base = result_new(&s);
    const struct variant variant = variant_default(&s);
    const struct part whole = part_whole(&s);
    if (!run_problem(&s, &variant, &whole, &base) || !check_oracle(&s, &base)) {
        report(&s, "tree");
        ok = false;
    }
    for (uint32_t i = 0; i < n_checks && ok; i++)
        if (checks[i].applies(&s) && !checks[i].run(&s, &base, &s.rng)) {
            report(&s, checks[i].name);
            ok = false;
        }
    result_free(&base);
    problem_free(&s);
    return ok;
}

uint32_t check_trees(uint64_t seed, uint32_t step)
{
    static const uint32_t sizes[] = { 1, 63, 64, 65, 127, 128, 129, 512 };
    static const uint32_t blocks[] = { 16, 48, 64, 128 };
    uint32_t n_failed = 0, number = 0;
    for (int level = 0; quire_cpu_level_name(level); level++) {
        if (!quire_cpu_level_usable(level))
            continue;
        for (uint32_t i = 0; i < 7 * sizeof sizes / sizeof *sizes; i += step, number += step) {
            /* most are decoders; encoders must ignore the mask */
            const uint32_t size = i % 8, round = i / 8;
            const struct constraints w = {
                .level = level,
                .kind =
                    (enum quire_attention_kind)(round < 4 ? QUIRE_ATTENTION_DECODER : round - 3),
                .k_dtype = (enum quire_kv_dtype)(number % N_DTYPES),
                .v_dtype = (enum quire_kv_dtype)(number / 5 % N_DTYPES),
                .head_size = 8 + 8 * (number % 2),
                .block_size = blocks[number / 3 % 4],
                .tree_tokens = sizes[size],
            };
            n_failed += !run_tree(seed, number, &w);
            if (n_failed >= MAX_FAILURES)
                return n_failed;
        }
        printf("%s: trees of up to %d tokens\n", quire_cpu_level_name(level), MAX_TREE);
    }
    printf("%u failures\n", n_failed);
    return n_failed;
}
