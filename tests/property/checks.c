/* SPDX-License-Identifier: Apache-2.0 */
/* checks.c - the properties: agreement with the oracle, and bit-identical results of all
 * variants. */
#include "checks.h"
#include <math.h>
#include <quire/cpu.h>
#include <stdlib.h>
#include <string.h>

/* ---- the oracle */

static bool check_row(const struct problem *s, const struct result *base, uint32_t seq,
                      uint32_t query, uint32_t head, double *want)
{
    const size_t row = (size_t)(s->seqs[seq].row + query) * s->config.n_heads + head;
    const bool rounds = oracle_rounds_q(s) || oracle_rounds_p(s);
    const bool coarse = oracle_has_8_bits(s);
    const double gate = (coarse   ? 0.1
                         : rounds ? 4e-3
                                  : 2e-5) *
                        s->max_v,
                 lse_gate = coarse   ? 0.1
                            : rounds ? 1e-3
                                     : 1e-4;
    double lse;
    oracle_row(s, seq, query, head, want, &lse);
    const double got_lse = (double)base->lse[row];
    if (lse == -INFINITY ? got_lse != -INFINITY : !(fabs(got_lse - lse) <= lse_gate))
        return failure("sequence %u query %u head %u: lse %.9g, not %.9g", seq, query, head,
                       got_lse, lse);
    for (uint32_t i = 0; i < s->v_size; i++) {
        const double got = (double)base->out[row * s->v_size + i];
        if (lse == -INFINITY ? got != 0 : !(fabs(got - want[i]) <= gate))
            return failure("sequence %u query %u head %u: out[%u] %.9g, not %.9g within %.2g", seq,
                           query, head, i, got, want[i], gate);
    }
    return true;
}

bool check_oracle(const struct problem *s, const struct result *base)
{
    double *want = malloc((s->v_size + 1) * sizeof *want);
    struct rng r = rng_fork(s->rng.state, 1);
    bool ok = true;
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        const uint32_t n = s->seqs[i].n_new, step = 1 + n / 6;
        for (uint32_t q = step > 1 ? rng_below(&r, step) : 0; ok && q < n; q += step)
            for (uint32_t h = rng_below(&r, 2); ok && h < s->config.n_heads;
                 h += 1 + s->config.n_heads / 4)
                ok = check_row(s, base, i, q, h, want);
    }
    free(want);
    return ok;
}

/* ---- comparison of variants */

static bool same_bits(const struct problem *s, const struct part *p, const struct result *got,
                      const struct result *want, bool with_lse)
{
    const size_t heads = s->config.n_heads, width = heads * s->v_size;
    for (uint32_t i = 0; i < s->n_seqs; i++)
        for (uint32_t q = p->from[i]; q < p->to[i]; q++) {
            const size_t row = s->seqs[i].row + q;
            const float *a = got->out + row * width, *b = want->out + row * width;
            for (size_t j = 0; memcmp(a, b, width * sizeof *a) && j < width; j++)
                if (memcmp(a + j, b + j, sizeof *a))
                    return failure("sequence %u query %u head %zu: out[%zu] is %.9g, was %.9g", i,
                                   q, j / s->v_size, j % s->v_size, (double)a[j], (double)b[j]);
            if (with_lse &&
                memcmp(got->lse + row * heads, want->lse + row * heads, heads * sizeof(float)))
                return failure("sequence %u query %u: another lse", i, q);
        }
    return true;
}

/* Runs part of the problem with a variant and compares bits. */
static bool same_part(const struct problem *s, const struct result *base,
                      const struct variant *variant, const struct part *p)
{
    struct result got = result_new(s);
    const bool ok =
        run_problem(s, variant, p, &got) && same_bits(s, p, &got, base, !variant->no_lse);
    result_free(&got);
    return ok;
}

static bool same(const struct problem *s, const struct result *base, const struct variant *variant)
{
    const struct part p = part_whole(s);
    return same_part(s, base, variant, &p);
}

static bool always(const struct problem *s)
{
    (void)s;
    return true;
}

/* ---- parts of the queries */

/* A tree cannot be cut into chunks. */
static bool is_no_tree(const struct problem *s) { return !s->has_tree; }

static bool decode(const struct problem *s, const struct result *base, struct rng *r)
{
    const struct variant variant = variant_default(s);
    struct part p = part_whole(s);
    for (uint32_t i = 0; i < s->n_seqs; i++) {
        const uint32_t n = s->seqs[i].n_new, k = rng_percent(r, 60) ? 1 : rng_in(r, 1, 9);
        p.from[i] = n > k ? n - k : 0;
    }
    return same_part(s, base, &variant, &p);
}

static bool alone(const struct problem *s, const struct result *base, struct rng *r)
{
    const struct variant variant = variant_default(s);
    struct part p = { 0 };
    if (!s->n_seqs)
        return true;
    const uint32_t i = rng_below(r, s->n_seqs);
    p.to[i] = s->seqs[i].n_new;
    return same_part(s, base, &variant, &p);
}

static bool sees_no_later_key(const struct problem *s)
{
    if (s->has_tree)
        return false;
    if (s->config.kind == QUIRE_ATTENTION_CROSS)
        return true;
    for (uint32_t i = 0; i < s->n_seqs; i++)
        if (!s->seqs[i].causal && s->config.window_right != 0)
            return false;
    return true;
}

/* Moves the end of a chunk past the span it would cut: a span must be in the cache as a whole. */
static void keep_spans_whole(const struct sequence *q, uint32_t *to)
{
    const uint32_t first = q->len - q->n_new;
    for (uint32_t i = 0; i < q->n_spans; i++)
        if (q->spans[i].begin < (int32_t)(first + *to) && (int32_t)(first + *to) < q->spans[i].end)
            *to = (uint32_t)q->spans[i].end - first;
}

/* Chunked prefill through one plan and cache; the keys of a chunk are written before its queries
 * run. */
static bool chunked(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    struct result got = result_new(s);
    struct testbed st;
    struct part p = { 0 };
    const struct part whole = part_whole(s);
    const uint32_t most = 1 + rng_below(r, s->n_rows > 60 ? 64 : 12);
    variant.plan_threads = rng_in(r, 1, 4);
    bool ok = testbed_open(&st, s, &variant), more = true;
    const bool cross = s->config.kind == QUIRE_ATTENTION_CROSS;
    for (uint32_t i = 0; ok && i < s->n_seqs; i++)
        ok =
            testbed_write(&st, i, 0, cross ? s->seqs[i].n_keys : s->seqs[i].len - s->seqs[i].n_new);
    while (ok && more) {
        more = false;
        for (uint32_t i = 0; ok && i < s->n_seqs; i++) {
            const struct sequence *q = &s->seqs[i];
            const uint32_t n = rng_in(r, 0, most), left = q->n_new - p.to[i];
            p.from[i] = p.to[i];
            p.to[i] += n < left ? n : left;
            keep_spans_whole(q, &p.to[i]);
            ok = cross ||
                 testbed_write(&st, i, q->len - q->n_new + p.from[i], q->len - q->n_new + p.to[i]);
            more |= p.to[i] < q->n_new;
        }
        ok = ok && testbed_run(&st, &p, &got);
    }
    ok = ok && same_bits(s, &whole, &got, base, true);
    testbed_close(&st);
    result_free(&got);
    return ok;
}

/* ---- block layout */

static bool other_blocks(const struct problem *s, const struct result *base, struct rng *r)
{
    static const uint32_t sizes[] = { 16, 32, 48, 64, 80, 128, 192, 1024 };
    struct variant variant = variant_default(s);
    if (!s->is_sparse) /* sparse lists name blocks of the problem's size */
        variant.block_size = RNG_PICK(r, sizes);
    variant.shuffle = rng_next(r);
    variant.reversed = rng_percent(r, 50);
    return same(s, base, &variant);
}

static bool freed_blocks(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    variant.omit_freed = true;
    variant.shuffle = rng_next(r);
    return same(s, base, &variant);
}

static bool shares_blocks(const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_seqs; i++)
        if (s->seqs[i].shared >= 16)
            return true;
    return false;
}

static bool shared(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    variant.share = true;
    variant.flags = rng_percent(r, 50) ? QUIRE_PLAN_CASCADE : 0;
    if (!s->is_sparse && rng_percent(r, 60))
        variant.block_size = 16u << rng_below(r, 3);
    return same(s, base, &variant);
}

/* ---- partition of work */

static bool shares_a_span(const struct problem *s)
{
    for (uint32_t i = 0; i < s->n_seqs; i++)
        if (s->seqs[i].shared >= 512)
            return true;
    return false;
}

/* Cascades read shared keys once for several sequences. */
static bool cascade(const struct problem *s, const struct result *base, struct rng *r)
{
    static const uint32_t counts[] = { 1, 2, 3, 7 };
    struct variant variant = variant_default(s);
    variant.share = true;
    variant.flags = QUIRE_PLAN_CASCADE;
    variant.n_threads = RNG_PICK(r, counts);
    variant.plan_threads = rng_in(r, 1, 9);
    variant.omit_freed = rng_percent(r, 30);
    if (!s->is_sparse && rng_percent(r, 60))
        variant.block_size = 16u << rng_below(r, 4);
    return same(s, base, &variant);
}

static bool threads(const struct problem *s, const struct result *base, struct rng *r)
{
    static const uint32_t counts[] = { 1, 2, 3, 7 };
    struct variant variant = variant_default(s);
    variant.n_threads = RNG_PICK(r, counts);
    variant.plan_threads = rng_percent(r, 70) ? variant.n_threads : RNG_PICK(r, counts);
    return same(s, base, &variant);
}

/* A plan for many threads splits the keys of a query tile; QUIRE_PLAN_FAST never does. */
static bool split_keys(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    variant.plan_threads = rng_in(r, 2, 64);
    if (rng_percent(r, 30))
        variant.flags |= QUIRE_PLAN_FAST;
    return same(s, base, &variant);
}

/* Whether a level's bits differ from those of the others: AMX sums bf16 products in a different
 * order. */
static bool has_own_bits(const struct problem *s, int level)
{
    const bool exact_k = s->k_dtype == QUIRE_KV_F32 || s->k_dtype == QUIRE_KV_F16,
               exact_v = s->v_dtype == QUIRE_KV_F32 || s->v_dtype == QUIRE_KV_F16;
    return strcmp(quire_cpu_level_name(level), "avx512_amx") == 0 &&
           s->config.compute == QUIRE_COMPUTE_NATIVE && !(exact_k && exact_v);
}

static bool levels(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    (void)r;
    for (int i = 0; quire_cpu_level_name(i); i++) {
        variant.level = i;
        if (quire_cpu_level_usable(i) && has_own_bits(s, i) == has_own_bits(s, s->level) &&
            i != s->level && !same(s, base, &variant))
            return failure("at %s, not %s", quire_cpu_level_name(i),
                           quire_cpu_level_name(s->level));
    }
    return true;
}

/* ---- the call */

static bool strides(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    variant.strided = true;
    variant.shuffle = rng_next(r);
    return same(s, base, &variant);
}

static bool without_lse(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    variant.no_lse = true;
    variant.plan_threads = rng_in(r, 1, 8);
    return same(s, base, &variant);
}

static bool has_16bit_q(const struct problem *s)
{
    return s->q_dtype == QUIRE_KV_BF16 || s->q_dtype == QUIRE_KV_F16;
}

static bool f32_queries(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    (void)r;
    variant.f32_q = true;
    return same(s, base, &variant);
}

/* Outputs of other types equal the f32 outputs divided by the scale and rounded. */
static bool output_types(const struct problem *s, const struct result *base, struct rng *r)
{
    static const enum quire_kv_dtype types[] = { QUIRE_KV_BF16, QUIRE_KV_F16, QUIRE_KV_FP8_E4M3,
                                                 QUIRE_KV_FP8_E5M2, QUIRE_KV_INT8 };
    struct variant variant = variant_default(s);
    const struct part p = part_whole(s);
    struct result want = result_new(s);
    variant.out_dtype = RNG_PICK(r, types);
    variant.out_scale = rng_percent(r, 20) ? 0 : rng_float(r, 0.001f, 0.1f);
    variant.strided = rng_percent(r, 30);
    const bool plain = variant.out_dtype == QUIRE_KV_BF16 || variant.out_dtype == QUIRE_KV_F16;
    const float divisor = plain || variant.out_scale == 0 ? 1 : variant.out_scale;
    for (size_t i = 0; i < base->n_out; i++) {
        want.out[i] = (float)number_round(variant.out_dtype, (double)(base->out[i] / divisor));
        want.out[i] += variant.out_dtype == QUIRE_KV_INT8 ? 0.0f : -0.0f; /* int8 has no -0 */
    }
    memcpy(want.lse, base->lse, base->n_lse * sizeof *want.lse);
    const bool ok = same_part(s, &want, &variant, &p);
    result_free(&want);
    return ok || failure("as %s", quire_kv_dtype_name(variant.out_dtype));
}

static bool layer_config(const struct problem *s, const struct result *base, struct rng *r)
{
    struct variant variant = variant_default(s);
    (void)r;
    variant.layer_config = true;
    return same(s, base, &variant);
}

const struct check checks[] = {
    { "decode = row of a prefill", false, is_no_tree, decode },
    { "chunked prefill = whole prefill", false, sees_no_later_key, chunked },
    { "a sequence alone", false, always, alone },
    { "other blocks", false, always, other_blocks },
    { "freed blocks", false, always, freed_blocks },
    { "shared blocks", false, shares_blocks, shared },
    { "cascade", true, shares_a_span, cascade },
    { "threads", false, always, threads },
    { "split keys", false, always, split_keys },
    { "levels", false, always, levels },
    { "contiguous keys", false, has_plain_keys, contiguous_keys },
    { "merged shards", false, can_be_cut, merged_shards },
    { "merged ranks", false, can_be_dealt, merged_ranks },
    { "strides", false, always, strides },
    { "without lse", false, always, without_lse },
    { "f32 queries", false, has_16bit_q, f32_queries },
    { "output types", false, always, output_types },
    { "configuration of the layer", false, always, layer_config },
};
const uint32_t n_checks = sizeof checks / sizeof *checks;
