/* SPDX-License-Identifier: Apache-2.0 */
/* bias.c - builders of dense bias matrices (window, ALiBi) and of relative position bias. */
#include "attention/config.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "kernels/dispatch.h"
#include "kv/dtype.h"
#include <math.h>
#include <quire/attention.h>
#include <quire/bias.h>
#include <string.h>

/* Elements of a row that are computed in f32 and converted together. */
enum { CHUNK = 256 };

/* A dense bias [n_q][n_k] in the caller's memory. */
struct matrix {
    size_t n_q, n_k, ld;
    enum quire_kv_dtype dtype;
    unsigned char *out;
};

/* Position of key j minus that of query i. */
static int64_t distance(const struct matrix *m, size_t i, size_t j)
{
    return (int64_t)j - ((int64_t)m->n_k - (int64_t)m->n_q + (int64_t)i);
}

static size_t elem_bytes(enum quire_kv_dtype dtype) { return qr_kv_dtype(dtype)->bytes; }

static quire_status check_matrix(const struct matrix *m, struct quire_error *err)
{
    size_t bytes;
    if (!m->out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    if (m->dtype != QUIRE_KV_F32 && m->dtype != QUIRE_KV_BF16 && m->dtype != QUIRE_KV_F16)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dtype %d is not f32, bf16 or f16", (int)m->dtype);
    if (m->ld < m->n_k)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "ld %zu is smaller than n_k %zu", m->ld, m->n_k);
    if (m->n_q > INT64_MAX / 4 || m->n_k > INT64_MAX / 4 ||
        !qr_mul3_size(m->n_q, m->ld, elem_bytes(m->dtype), &bytes))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_q %zu times ld %zu overflows", m->n_q, m->ld);
    return QUIRE_OK;
}

/* Converts n values and stores them at element `at`. out may be misaligned. */
static void store(const struct matrix *m, size_t at, const float *values, size_t n)
{
    float converted[CHUNK], scale = 1;
    qr_kv_dtype(m->dtype)->quantize(qr_level_table(0), converted, values, &scale, n);
    memcpy(m->out + at * elem_bytes(m->dtype), converted, n * elem_bytes(m->dtype));
}

quire_status quire_sliding_window_bias_typed(size_t n_q, size_t n_k, int64_t left, int64_t right,
                                             enum quire_kv_dtype dtype, void *out, size_t ld,
                                             struct quire_error *err)
{
    QR_FP_SCOPE;
    const struct matrix m = { n_q, n_k, ld, dtype, out };
    float row[CHUNK];
    if (left < -1 || right < -1)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is %lld, below -1",
                       left < -1 ? "left" : "right", (long long)(left < -1 ? left : right));
    QR_TRY(check_matrix(&m, err));
    for (size_t i = 0; i < n_q; i++)
        for (size_t j = 0; j < n_k; j++) {
            const int64_t d = distance(&m, i, j);
            const bool visible = (left < 0 || -d <= left) && (right < 0 || d <= right);
            row[j % CHUNK] = visible ? 0 : -INFINITY;
            if (j % CHUNK == CHUNK - 1 || j + 1 == n_k)
                store(&m, i * ld + j - j % CHUNK, row, j % CHUNK + 1);
        }
    return QUIRE_OK;
}

quire_status quire_sliding_window_bias(size_t n_q, size_t n_k, int64_t left, int64_t right,
                                       float *out, size_t ld, struct quire_error *err)
{
    return quire_sliding_window_bias_typed(n_q, n_k, left, right, QUIRE_KV_F32, out, ld, err);
}

/* Writes the ALiBi bias of one head, element `at` onwards. */
static void store_alibi(const struct matrix *m, size_t at, float slope, bool causal)
{
    float row[CHUNK];
    for (size_t i = 0; i < m->n_q; i++)
        for (size_t j = 0; j < m->n_k; j++) {
            const int64_t d = distance(m, i, j);
            row[j % CHUNK] = causal && d > 0 ? -INFINITY : slope * (float)d;
            if (j % CHUNK == CHUNK - 1 || j + 1 == m->n_k)
                store(m, at + i * m->ld + j - j % CHUNK, row, j % CHUNK + 1);
        }
}

quire_status quire_alibi_bias_typed(const float *slopes, size_t n_heads, size_t n_q, size_t n_k,
                                    bool causal, enum quire_kv_dtype dtype, void *out, size_t ld,
                                    size_t head_stride, struct quire_error *err)
{
    QR_FP_SCOPE;
    const struct matrix m = { n_q, n_k, ld, dtype, out };
    size_t all;
    if (!slopes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "slopes is NULL");
    QR_TRY(check_matrix(&m, err));
    const size_t stride = head_stride ? head_stride : n_q * ld;
    if (stride < n_q * ld)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "head_stride %zu is smaller than n_q * ld %zu",
                       stride, n_q * ld);
    if (!qr_mul3_size(n_heads, stride, elem_bytes(dtype), &all))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_heads %zu times head_stride %zu overflows",
                       n_heads, stride);
    for (size_t h = 0; h < n_heads; h++)
        store_alibi(&m, h * stride, slopes[h], causal);
    return QUIRE_OK;
}

quire_status quire_alibi_bias(const float *slopes, size_t n_heads, size_t n_q, size_t n_k,
                              bool causal, float *out, size_t ld, size_t head_stride,
                              struct quire_error *err)
{
    return quire_alibi_bias_typed(slopes, n_heads, n_q, n_k, causal, QUIRE_KV_F32, out, ld,
                                  head_stride, err);
}

quire_status quire_alibi_slopes(uint32_t n_heads, float *slopes, struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!slopes || !n_heads)
        return qr_fail(err, QUIRE_E_INVALID_ARG, slopes ? "n_heads is 0" : "slopes is NULL");
    uint32_t n = 1;
    while (n <= n_heads / 2)
        n *= 2;
    for (uint32_t h = 0; h < n_heads; h++) {
        const double exponent = h < n ? 8.0 * (h + 1) / n : 4.0 * (2.0 * (h - n) + 1) / n;
        slopes[h] = (float)exp2(-exponent);
    }
    return QUIRE_OK;
}

/* Bucket (of n for one side) of distance a >= 0, by the formula in quire/attention.h. */
static uint32_t bucket_of(uint32_t a, uint32_t n, uint32_t max_distance)
{
    const uint32_t exact = n / 2;
    if (a < exact)
        return a;
    const double part = log((double)a / exact) / log((double)max_distance / exact);
    const double bucket = exact + floor(part * (n - exact));
    return bucket < n - 1 ? (uint32_t)bucket : n - 1;
}

quire_status quire_relative_bias(const float *table, uint32_t n_buckets, uint32_t n_heads,
                                 bool bidirectional, uint32_t max_distance, uint32_t range,
                                 float *out, struct quire_error *err)
{
    QR_FP_SCOPE;
    const uint32_t n = bidirectional ? n_buckets / 2 : n_buckets;
    const size_t row = 2 * (size_t)range + 1;
    size_t bytes;
    if (!table || !out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", table ? "out" : "table");
    if (n < 2)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_buckets is %u, below %d", n_buckets,
                       bidirectional ? 4 : 2);
    if (max_distance <= n / 2)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "max_distance is %u, must exceed the %u distances with one bucket each",
                       max_distance, n / 2);
    if (range > QR_MAX_RELATIVE_RANGE)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "range is %u, above %d", range,
                       QR_MAX_RELATIVE_RANGE);
    if (!n_heads || !qr_mul3_size(n_heads, row, sizeof *out, &bytes) ||
        !qr_mul3_size(n_heads, n_buckets, sizeof *table, &bytes))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_heads is %u, which is 0 or too large", n_heads);
    for (size_t i = 0; i < row; i++) {
        const bool right = i > range;
        const uint32_t a = (uint32_t)(right ? i - range : range - i);
        const uint32_t bucket = bidirectional ? bucket_of(a, n, max_distance) + (right ? n : 0)
                                : right       ? 0
                                              : bucket_of(a, n, max_distance);
        for (size_t h = 0; h < n_heads; h++)
            out[h * row + i] = table[(size_t)bucket * n_heads + h];
    }
    return QUIRE_OK;
}
