/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - merges attention results over disjoint parts of the keys by their LSEs. */
#include "attention/sinks.h"
#include "attention/tensor.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include <math.h>
#include <quire/attention_dense.h>
#include <quire/attention_merge.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 1024, MAX_HEADS = 65536, CHUNK = 256, ROWS_TOGETHER = 8 };

/* Strides of out and lse with defaults filled in. */
struct strides {
    size_t out_token, out_head, lse_token;
};

static struct strides strides_of(const struct quire_attention_merge_args *a, size_t out_token,
                                 size_t out_head, size_t lse_token)
{
    struct strides s = { .out_head = out_head ? out_head : a->v_head_size };
    s.out_token = out_token ? out_token : a->n_heads * s.out_head;
    s.lse_token = lse_token ? lse_token : a->n_heads;
    return s;
}

static struct strides strides_of_part(const struct quire_attention_merge_args *a, uint32_t i)
{
    const struct quire_attention_partial *p = &a->parts[i];
    return strides_of(a, p->out_token_stride, p->out_head_stride, p->lse_token_stride);
}

static struct strides strides_of_result(const struct quire_attention_merge_args *a)
{
    return strides_of(a, a->out_token_stride, a->out_head_stride, a->lse_token_stride);
}

static struct qr_sinks sinks_of(const struct quire_attention_merge_args *a)
{
    return qr_sinks_of(a->sinks, a->typed_sinks, a->sinks_dtype);
}

/* ---- checks */

/* Buffers of a partial or of the result. */
struct buffers {
    const float *out, *lse;
    struct strides strides;
    struct qr_extent out_extent, lse_extent;
};

/* Validates out and lse and sets their extents. name: "args" or "args.parts[i]". */
static quire_status check_buffers(const struct quire_attention_merge_args *a, const char *name,
                                  bool lse_optional, struct buffers *b, struct quire_error *err)
{
    char out_name[40], lse_name[40];
    snprintf(out_name, sizeof out_name, "%s.out", name);
    snprintf(lse_name, sizeof lse_name, "%s.lse", name);
    const struct strides *s = &b->strides;
    const struct qr_tensor out = { out_name,       b->out,       a->n_tokens, a->n_heads,
                                   a->v_head_size, s->out_token, s->out_head, sizeof(float) };
    const struct qr_tensor lse = { lse_name,   b->lse,       a->n_tokens,  1,
                                   a->n_heads, s->lse_token, s->lse_token, sizeof(float) };
    QR_TRY(qr_tensor_check(&out, &b->out_extent, err));
    b->lse_extent = (struct qr_extent){ 0, 0 };
    return lse_optional && !b->lse ? QUIRE_OK : qr_tensor_check(&lse, &b->lse_extent, err);
}

/* Checks that the result either coincides with a part (in-place merge) or does not overlap it. */
static quire_status check_overlap(const struct buffers *result, const struct buffers *part,
                                  uint32_t i, struct quire_error *err)
{
    const struct strides *r = &result->strides, *p = &part->strides;
    const bool out_in_place =
        result->out == part->out && r->out_token == p->out_token && r->out_head == p->out_head;
    const bool lse_in_place = result->lse == part->lse && r->lse_token == p->lse_token;
    const bool out_out = !out_in_place && qr_extent_overlap(result->out_extent, part->out_extent);
    const bool out_lse = qr_extent_overlap(result->out_extent, part->lse_extent);
    const bool lse_out = qr_extent_overlap(result->lse_extent, part->out_extent);
    const bool lse_lse = !lse_in_place && qr_extent_overlap(result->lse_extent, part->lse_extent);
    if (out_out || out_lse || lse_out || lse_lse)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s and args.parts[%u].%s overlap",
                       out_out || out_lse ? "out" : "lse", i,
                       out_out || (lse_out && !out_lse) ? "out" : "lse");
    return QUIRE_OK;
}

static quire_status check_numbers(const struct quire_attention_merge_args *a,
                                  struct quire_error *err)
{
    if (a->n_parts < 1 || a->n_parts > MAX_PARTS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.n_parts is %u, not 1 .. %d", a->n_parts,
                       MAX_PARTS);
    if (!a->parts)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.parts is NULL");
    if (a->n_heads < 1 || a->n_heads > MAX_HEADS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.n_heads is %u, not 1 .. %d", a->n_heads,
                       MAX_HEADS);
    if (!a->v_head_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.v_head_size is 0");
    if (a->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.reserved is not 0");
    if (!qr_sinks_dtype_ok(a->sinks_dtype))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.sinks_dtype %d is not f32, bf16 or f16",
                       (int)a->sinks_dtype);
    if (a->sinks && a->typed_sinks)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.sinks and args.typed_sinks are both given");
    const uint32_t bad = qr_sinks_find_bad(sinks_of(a), a->n_heads);
    if (bad < a->n_heads)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s[%u] is NaN or +inf",
                       a->sinks ? "sinks" : "typed_sinks", bad);
    return QUIRE_OK;
}

quire_status quire_attention_merge_check(const struct quire_attention_merge_args *caller_args,
                                         struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_attention_merge_args copy;
    const struct quire_attention_merge_args *args = &copy;
    QR_READ_STRUCT(&copy, caller_args, lse_token_stride, "args", err);
    QR_TRY(check_numbers(args, err));
    struct buffers result = { .out = args->out, .lse = args->lse };
    result.strides = strides_of_result(args);
    QR_TRY(check_buffers(args, "args", true, &result, err));
    if (qr_extent_overlap(result.out_extent, result.lse_extent))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.out and lse overlap");
    for (uint32_t i = 0; i < args->n_parts; i++) {
        struct buffers part = { .out = args->parts[i].out, .lse = args->parts[i].lse };
        char name[30];
        snprintf(name, sizeof name, "args.parts[%u]", i);
        part.strides = strides_of_part(args, i);
        QR_TRY(check_buffers(args, name, false, &part, err));
        QR_TRY(check_overlap(&result, &part, i, err));
    }
    return QUIRE_OK;
}

/* ---- merge */

/* Computes the weight of every part for one row; 0 for parts that saw no key. Returns the row's
 * LSE, -inf if no part saw a key. */
static float part_weights(const struct quire_attention_merge_args *a, size_t token, size_t head,
                          float *weights)
{
    double e[MAX_PARTS], sum = 0;
    float lse[MAX_PARTS], top = -INFINITY;
    bool seen = false;
    for (uint32_t i = 0; i < a->n_parts; i++) {
        memcpy(&lse[i], a->parts[i].lse + token * strides_of_part(a, i).lse_token + head,
               sizeof lse[i]);
        top = lse[i] > top ? lse[i] : top;
        seen = seen || lse[i] != -INFINITY; /* NaN propagates to the result */
    }
    if (!seen) {
        memset(weights, 0, a->n_parts * sizeof *weights);
        return -INFINITY;
    }
    for (uint32_t i = 0; i < a->n_parts; i++)
        sum += e[i] = lse[i] == -INFINITY ? 0 : exp((double)lse[i] - (double)top);
    const struct qr_sinks sinks = sinks_of(a);
    const double all =
        sum + (sinks.values ? exp((double)qr_sinks_at(sinks, head) - (double)top) : 0);
    for (uint32_t i = 0; i < a->n_parts; i++)
        weights[i] = (float)(e[i] / all);
    return (float)((double)top + log(sum));
}

/* Computes elements [begin, begin + n) of a row: the weighted parts, summed in index order. */
static void add_parts(const struct quire_attention_merge_args *a, size_t token, size_t head,
                      const float *weights, size_t begin, size_t n, float *sum)
{
    bool first = true;
    memset(sum, 0, n * sizeof *sum);
    for (uint32_t i = 0; i < a->n_parts; i++) {
        if (weights[i] == 0)
            continue;
        const struct strides s = strides_of_part(a, i);
        float x[CHUNK];
        memcpy(x, a->parts[i].out + token * s.out_token + head * s.out_head + begin,
               n * sizeof *x); /* may be misaligned */
        for (size_t d = 0; d < n; d++)
            x[d] *= weights[i];
        for (size_t d = 0; d < n; d++)
            sum[d] = first ? x[d] : sum[d] + x[d]; /* 0 + x would lose the sign of a -0 */
        first = false;
    }
}

/* Merges one row. Reads each chunk before writing it, so in-place merges are correct. */
static void merge_row(const struct quire_attention_merge_args *a, size_t token, size_t head)
{
    const struct strides s = strides_of_result(a);
    float weights[MAX_PARTS], sum[CHUNK];
    const float lse = part_weights(a, token, head, weights);
    float *out = a->out + token * s.out_token + head * s.out_head;
    for (size_t begin = 0; begin < a->v_head_size; begin += CHUNK) {
        const size_t left = a->v_head_size - begin, n = left < CHUNK ? left : CHUNK;
        add_parts(a, token, head, weights, begin, n, sum);
        memcpy(out + begin, sum, n * sizeof *sum);
    }
    if (a->lse)
        memcpy(a->lse + token * s.lse_token + head, &lse, sizeof lse);
}

void quire_attention_merge_part(const struct quire_attention_merge_args *caller_args,
                                const struct quire_team *team)
{
    QR_FP_SCOPE;
    struct quire_attention_merge_args copy;
    const struct quire_attention_merge_args *args = &copy;
    size_t begin, end;
    qr_struct_copy(&copy, sizeof copy, caller_args);
    qr_team_range(team, args->n_tokens * args->n_heads, ROWS_TOGETHER, &begin, &end);
    for (size_t row = begin; row < end; row++)
        merge_row(args, row / args->n_heads, row % args->n_heads);
}

static void run_part(void *arg, const struct quire_team *team)
{
    const struct quire_attention_merge_args *const *args = arg;
    quire_attention_merge_part(*args, team);
}

quire_status quire_attention_merge(const struct quire_attention_merge_args *args,
                                   struct quire_threads *threads, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(quire_attention_merge_check(args, err));
    return qr_part_run(threads, run_part, &args, err);
}

QR_DEFINE_ZERO_INIT(quire_attention_merge_args)
