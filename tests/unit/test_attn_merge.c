/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_merge.c - merging partial results: against a double-precision oracle, and every invalid
 * argument. */
#include "test_plan.h"
#include <quire/attention_dense.h>
#include <quire/attention_merge.h>

enum { MAX_PARTS = 6 };

/* Parts of random size with gaps between rows, and a result buffer. */
struct parts {
    uint32_t n, heads, size;
    size_t tokens;
    struct quire_attention_partial part[MAX_PARTS];
    float *memory[MAX_PARTS], sinks[32];
    size_t out_floats; /* of a part's memory; its lse follows */
    float *out, *lse;  /* dense */
    struct quire_attention_merge_args args;
};

static void parts_new(struct parts *p, uint32_t n, size_t tokens, uint32_t heads, uint32_t size)
{
    const size_t head_stride = size + 1, token_stride = heads * head_stride + 2;
    *p = (struct parts){ .n = n, .heads = heads, .size = size, .tokens = tokens };
    p->out_floats = tokens * token_stride;
    for (uint32_t i = 0; i < n; i++) {
        p->memory[i] = problem_values(p->out_floats + tokens * (heads + i), 3);
        p->part[i] = (struct quire_attention_partial){ .out = p->memory[i],
                                                       .lse = p->memory[i] + p->out_floats,
                                                       .out_token_stride = token_stride,
                                                       .out_head_stride = head_stride,
                                                       .lse_token_stride = heads + i };
    }
    for (uint32_t h = 0; h < heads; h++)
        p->sinks[h] = problem_uniform(-3, 3);
    p->out = problem_values(tokens * heads * size, 1);
    p->lse = problem_values(tokens * heads, 1);
    p->args = (struct quire_attention_merge_args){ .struct_size = sizeof p->args,
                                                   .n_parts = n,
                                                   .parts = p->part,
                                                   .n_tokens = tokens,
                                                   .n_heads = heads,
                                                   .v_head_size = size,
                                                   .out = p->out,
                                                   .lse = p->lse };
}

static void parts_free(struct parts *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        free(p->memory[i]);
    free(p->out), free(p->lse);
}

static float *part_row(const struct parts *p, uint32_t i, size_t token, uint32_t head)
{
    return p->memory[i] + token * p->part[i].out_token_stride + head * p->part[i].out_head_stride;
}

static float *part_lse(const struct parts *p, uint32_t i, size_t token, uint32_t head)
{
    return p->memory[i] + p->out_floats + token * p->part[i].lse_token_stride + head;
}

/* Turns a part into one that saw no key, with arbitrary bytes as its result. */
static void blind(const struct parts *p, uint32_t i, size_t token, uint32_t head)
{
    *part_lse(p, i, token, head) = -INFINITY;
    for (uint32_t d = 0; d < p->size; d++)
        part_row(p, i, token, head)[d] = d % 2 ? NAN : INFINITY;
}

/* One row by the formula in double precision. */
static void check_row(const struct parts *p, size_t token, uint32_t head)
{
    const size_t row = token * p->heads + head;
    double sum = 0;
    for (uint32_t i = 0; i < p->n; i++)
        sum += exp((double)*part_lse(p, i, token, head));
    const double all = sum + (p->args.sinks ? exp((double)p->sinks[head]) : 0);
    if (sum > 0)
        assert_true(fabs((double)p->lse[row] - log(sum)) < 2e-6);
    else
        assert_true(p->lse[row] == -INFINITY);
    for (uint32_t d = 0; d < p->size; d++) {
        double want = 0;
        for (uint32_t i = 0; i < p->n; i++)
            if (*part_lse(p, i, token, head) != -INFINITY)
                want += exp((double)*part_lse(p, i, token, head)) / all *
                        (double)part_row(p, i, token, head)[d];
        assert_true(fabs((double)p->out[row * p->size + d] - want) < 3e-6);
    }
}

static void random_parts(void **state)
{
    (void)state;
    problem_rng = 21;
    for (int round = 0; round < 200; round++) {
        struct parts p;
        parts_new(&p, 1 + problem_below(MAX_PARTS), problem_below(9), 1 + problem_below(9),
                  1 + problem_below(problem_below(4) ? 40 : 700));
        p.args.sinks = round % 2 ? p.sinks : NULL;
        for (size_t t = 0; t < p.tokens; t++)
            for (uint32_t h = 0; h < p.heads; h++)
                for (uint32_t i = 0; i < p.n; i++)
                    if (problem_below(3) == 0)
                        blind(&p, i, t, h);
        must(quire_attention_merge(&p.args, NULL, &err));
        for (size_t t = 0; t < p.tokens; t++)
            for (uint32_t h = 0; h < p.heads; h++)
                check_row(&p, t, h);
        parts_free(&p);
    }
}

/* The order of additions is fixed, for every team size and in place. */
static void the_same_bits(void **state)
{
    (void)state;
    problem_rng = 22;
    struct parts p;
    parts_new(&p, 4, 37, 5, 300);
    blind(&p, 0, 11, 2);
    must(quire_attention_merge(&p.args, NULL, &err));
    for (size_t row = 0; row < 37 * 5; row++)
        for (uint32_t d = 0; d < 300; d++) {
            double e[4], all = 0, top = -INFINITY;
            float want = 0;
            for (uint32_t i = 0; i < 4; i++)
                top = fmax(top, (double)*part_lse(&p, i, row / 5, (uint32_t)(row % 5)));
            for (uint32_t i = 0; i < 4; i++)
                all += e[i] = exp((double)*part_lse(&p, i, row / 5, (uint32_t)(row % 5)) - top);
            for (uint32_t i = 0; i < 4; i++)
                if (e[i] > 0)
                    want += (float)(e[i] / all) * part_row(&p, i, row / 5, (uint32_t)(row % 5))[d];
            assert_true(p.out[row * 300 + d] == want);
        }
    float *out = malloc(37 * 5 * 300 * sizeof *out), *lse = malloc(37 * 5 * sizeof *lse);
    memcpy(out, p.out, 37 * 5 * 300 * sizeof *out);
    memcpy(lse, p.lse, 37 * 5 * sizeof *lse);
    static const uint32_t counts[] = { 1, 2, 3, 7 };
    for (int i = 0; i < 4; i++) {
        struct quire_threads *threads = make_threads(counts[i]);
        memset(p.out, 0xee, 37 * 5 * 300 * sizeof *out);
        memset(p.lse, 0xee, 37 * 5 * sizeof *lse);
        must(quire_attention_merge(&p.args, threads, &err));
        assert_same_bits(p.out, out, 37 * 5 * 300);
        assert_same_bits(p.lse, lse, 37 * 5);
        quire_threads_destroy(threads);
    }
    p.args.out = p.memory[2];
    p.args.out_token_stride = p.part[2].out_token_stride;
    p.args.out_head_stride = p.part[2].out_head_stride;
    p.args.lse = p.memory[1] + p.out_floats;
    p.args.lse_token_stride = p.part[1].lse_token_stride;
    must(quire_attention_merge(&p.args, NULL, &err));
    for (uint32_t row = 0; row < 37 * 5; row++) {
        assert_same_bits(part_row(&p, 2, row / 5, row % 5), out + row * 300, 300);
        assert_same_bits(part_lse(&p, 1, row / 5, row % 5), lse + row, 1);
    }
    free(out), free(lse);
    parts_free(&p);
}

static void special_values(void **state)
{
    (void)state;
    problem_rng = 23;
    struct parts p;
    parts_new(&p, 3, 1, 6, 10);
    p.args.sinks = p.sinks;
    for (uint32_t h = 0; h < 6; h++)
        for (uint32_t i = 0; i < 3; i++)
            blind(&p, i, 0, h);
    /* head 0: no key visible; 1: a single part, exact bits; 2: NaN; 3: +inf; 4: far apart; 5: a
     * sink beyond everything */
    for (uint32_t h = 1; h < 6; h++)
        for (uint32_t d = 0; d < 10; d++)
            part_row(&p, 1, 0, h)[d] = d ? problem_uniform(-1, 1) : -0.0f;
    *part_lse(&p, 1, 0, 1) = 5;
    p.sinks[1] = -INFINITY;
    *part_lse(&p, 1, 0, 2) = NAN;
    *part_lse(&p, 1, 0, 3) = INFINITY;
    *part_lse(&p, 1, 0, 4) = 3e38f;
    *part_lse(&p, 2, 0, 4) = -3e38f; /* the NaN has weight 0 */
    p.sinks[4] = -3e38f;
    *part_lse(&p, 1, 0, 5) = -1e30f;
    p.sinks[5] = 3e38f;
    must(quire_attention_merge(&p.args, NULL, &err));
    assert_true(p.lse[0] == -INFINITY && p.lse[1] == 5 && p.lse[4] == 3e38f && p.lse[5] == -1e30f);
    assert_true(isnan(p.lse[2]) && isnan(p.lse[3]));
    assert_same_bits(p.out + 10, part_row(&p, 1, 0, 1), 10);
    assert_same_bits(p.out + 40, part_row(&p, 1, 0, 4), 10);
    for (uint32_t d = 0; d < 10; d++)
        assert_true(p.out[d] == 0 && isnan(p.out[20 + d]) && isnan(p.out[30 + d]) &&
                    p.out[50 + d] == 0);
    parts_free(&p);
}

/* ---- arguments */

static void bad_arguments(void **state)
{
    (void)state;
    struct parts p;
    problem_rng = 25;
    parts_new(&p, 3, 4, 5, 8);
    p.args.sinks = p.sinks;
    memset(p.out, 0xee, 4 * 5 * 8 * sizeof *p.out);
    memset(p.lse, 0xee, 4 * 5 * sizeof *p.lse);
    const struct parts good = p;
    assert_refused(QUIRE_E_INVALID_ARG, "args", quire_attention_merge(NULL, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "args", quire_attention_merge_check(NULL, &err));
#define BAD(change, code, word)                                                                    \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_attention_merge_check(&p.args, &err));                    \
        assert_refused(code, word, quire_attention_merge(&p.args, NULL, &err));                    \
        memcpy(p.part, good.part, sizeof p.part);                                                  \
        memcpy(p.sinks, good.sinks, sizeof p.sinks);                                               \
        p.args = good.args;                                                                        \
        p.args.parts = p.part;                                                                     \
        p.args.sinks = p.sinks;                                                                    \
    } while (0)
    p.args.parts = p.part;
    p.args.sinks = p.sinks;
    BAD(p.args.struct_size = 4, QUIRE_E_MISUSE, "struct_size");
    BAD(p.args.reserved = 1, QUIRE_E_INVALID_ARG, "reserved");
    BAD(p.args.n_parts = 0, QUIRE_E_INVALID_ARG, "n_parts");
    BAD(p.args.n_parts = 1025, QUIRE_E_INVALID_ARG, "n_parts");
    BAD(p.args.parts = NULL, QUIRE_E_INVALID_ARG, "parts is NULL");
    BAD(p.args.n_heads = 0, QUIRE_E_INVALID_ARG, "n_heads");
    BAD(p.args.n_heads = 65537, QUIRE_E_INVALID_ARG, "n_heads");
    BAD(p.args.v_head_size = 0, QUIRE_E_INVALID_ARG, "v_head_size");
    BAD(p.args.n_tokens = SIZE_MAX / 8, QUIRE_E_INVALID_ARG, "args.out");
    BAD(p.sinks[3] = NAN, QUIRE_E_INVALID_ARG, "sinks[3]");
    BAD(p.sinks[4] = INFINITY, QUIRE_E_INVALID_ARG, "sinks[4]");
    BAD(p.args.out = NULL, QUIRE_E_INVALID_ARG, "args.out");
    BAD(p.args.out_head_stride = 7, QUIRE_E_INVALID_ARG, "args.out");
    BAD(p.args.out_token_stride = 7, QUIRE_E_INVALID_ARG, "args.out");
    BAD(p.args.out_head_stride = SIZE_MAX / 4, QUIRE_E_INVALID_ARG, "args.out");
    BAD(p.args.lse_token_stride = 4, QUIRE_E_INVALID_ARG, "args.lse");
    BAD(p.part[1].out = NULL, QUIRE_E_INVALID_ARG, "parts[1].out");
    BAD(p.part[2].lse = NULL, QUIRE_E_INVALID_ARG, "parts[2].lse");
    BAD(p.part[2].out_head_stride = 1, QUIRE_E_INVALID_ARG, "parts[2].out");
    BAD(p.part[1].lse_token_stride = 4, QUIRE_E_INVALID_ARG, "parts[1].lse");
    BAD(p.part[1].lse_token_stride = SIZE_MAX / 2, QUIRE_E_INVALID_ARG, "parts[1].lse");
    BAD(p.args.lse = p.out + 7, QUIRE_E_INVALID_ARG, "out and lse");
    BAD(p.args.out = p.memory[1], QUIRE_E_INVALID_ARG, "out and args.parts[1].out");
    BAD(p.args.out = p.memory[1] + p.out_floats - 8, QUIRE_E_INVALID_ARG,
        "args.out and args.parts[");
    BAD(p.args.lse = p.memory[2], QUIRE_E_INVALID_ARG, "lse and args.parts[2].out");
    BAD(p.args.lse = (float *)p.part[2].lse + 1, QUIRE_E_INVALID_ARG, "lse and args.parts[2].lse");
    BAD(p.part[1].lse = p.out + 100, QUIRE_E_INVALID_ARG, "out and args.parts[1].lse");
#undef BAD
    for (size_t i = 0; i < 4 * 5 * 8 * sizeof *p.out; i++)
        assert_int_equal(((unsigned char *)p.out)[i], 0xee);
    for (size_t i = 0; i < 4 * 5 * sizeof *p.lse; i++)
        assert_int_equal(((unsigned char *)p.lse)[i], 0xee);
    parts_free(&p);
}

static void nothing_to_do(void **state)
{
    (void)state;
    struct parts p;
    problem_rng = 25;
    parts_new(&p, 3, 4, 5, 8);
    p.args.parts = p.part;
    p.args.lse = NULL;
    must(quire_attention_merge(&p.args, NULL, &err));
    p.args.n_tokens = 0;
    must(quire_attention_merge(&p.args, NULL, &err));
    parts_free(&p);
}

struct nested {
    struct quire_threads *threads;
    const struct quire_attention_merge_args *args;
};

static void merge_inside(void *arg, const struct quire_team *team)
{
    const struct nested *n = arg;
    if (quire_team_rank(team) == 0)
        assert_refused(QUIRE_E_BUSY, "threads", quire_attention_merge(n->args, n->threads, &err));
}

static void busy_threads(void **state)
{
    (void)state;
    struct parts p;
    struct nested n = { .threads = make_threads(2), .args = &p.args };
    parts_new(&p, 1, 1, 1, 1);
    assert_status(QUIRE_OK, quire_threads_run(n.threads, merge_inside, &n));
    quire_threads_destroy(n.threads);
    parts_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_parts),   cmocka_unit_test(the_same_bits),
        cmocka_unit_test(special_values), cmocka_unit_test(bad_arguments),
        cmocka_unit_test(nothing_to_do),  cmocka_unit_test(busy_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
