/* SPDX-License-Identifier: Apache-2.0 */
/* activation.c - converts activation rows to bf16 and to int8 blocks. */
#include "linear/activation.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/threads.h"
#include <string.h>

enum {
    ALIGN = 64,
    SLICE_K = 256, /* values per work unit of qr_act_convert_part */
    Q8_BYTES = sizeof(struct qr_q8_block) + 2 * sizeof(float), /* of a block */
    DELTA_BYTES = QR_DELTA_SUMS * sizeof(int32_t),
};

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Elements between rows, of which `line` fill a cache line: an odd number of cache lines.
 * Micro-kernels read the same line of several rows; with a power-of-two stride these lines would
 * share a few L1 sets. */
static size_t odd_stride(size_t k, size_t line)
{
    const size_t padded = round_up(k, line);
    return padded % (2 * line) ? padded : padded + line;
}

static size_t bf16_stride(unsigned forms, size_t k)
{
    return forms & QR_ACT_DENSE ? round_up(k, 32) : odd_stride(k, 32);
}

static size_t bf16_f32_stride(size_t k) { return odd_stride(k, 16); }

bool qr_act_bytes(unsigned forms, size_t m, size_t k, size_t *bytes)
{
    size_t values, total = 0;
    /* with k padded more than in any form, all forms together take less than 8 bytes per value, and
     * the tables of a row with its delta_sums less than 16 */
    if (k > SIZE_MAX / 64 || !qr_mul_size(m, round_up(k, 64) + 64, &values) ||
        values > SIZE_MAX / 16)
        return false;
    if ((forms & QR_ACT_Q8) && k % QR_BLOCK_K != 0)
        return false;
    if (forms & QR_ACT_BF16)
        total += m * bf16_stride(0, k) * sizeof(uint16_t);
    if (forms & QR_ACT_BF16_F32)
        total += m * bf16_f32_stride(k) * sizeof(float);
    if (forms & QR_ACT_Q8)
        total += m * (k / QR_BLOCK_K) * Q8_BYTES;
    if (forms & QR_ACT_Q8_SUMS)
        total = round_up(total, ALIGN) + k / QR_BLOCK_K * QR_SUM_TABLE_BYTES;
    if (forms & QR_ACT_Q8_DELTA)
        total = round_up(total, ALIGN) + k / QR_BLOCK_K * DELTA_BYTES;
    *bytes = round_up(total, ALIGN);
    return true;
}

void qr_act_init(struct qr_act *act, unsigned forms, const float *x, size_t x_stride, size_t m,
                 size_t k, void *memory)
{
    uint8_t *p = memory;
    *act = (struct qr_act){ .forms = forms, .m = m, .k = k, .f32 = x, .f32_stride = x_stride };
    if (forms & QR_ACT_BF16) {
        act->bf16 = (uint16_t *)(void *)p;
        act->bf16_stride = bf16_stride(forms, k);
        p += m * act->bf16_stride * sizeof *act->bf16;
    }
    if (forms & QR_ACT_BF16_F32) {
        act->bf16_f32 = (float *)(void *)p;
        act->bf16_f32_stride = bf16_f32_stride(k);
        p += m * act->bf16_f32_stride * sizeof *act->bf16_f32;
    }
    if (forms & QR_ACT_Q8) {
        act->q = (struct qr_q8_block *)(void *)p;
        act->q_stride = k / QR_BLOCK_K;
        act->half_sums = (float *)(void *)(act->q + m * act->q_stride);
    }
    if (!(forms & QR_ACT_Q8_MODIFIERS) || m != 1)
        return;
    p += round_up(act->q_stride * Q8_BYTES, ALIGN);
    if (forms & QR_ACT_Q8_SUMS) {
        act->sum_tables = p;
        p += act->q_stride * QR_SUM_TABLE_BYTES;
    }
    if (forms & QR_ACT_Q8_DELTA)
        act->delta_sums = (int32_t *)(void *)p;
}

struct qr_act qr_act_rows(const struct qr_act *act, size_t first, size_t n)
{
    struct qr_act rows = *act;
    rows.m = n;
    rows.f32 += first * act->f32_stride;
    if (act->forms & QR_ACT_BF16)
        rows.bf16 += first * act->bf16_stride;
    if (act->forms & QR_ACT_BF16_F32)
        rows.bf16_f32 += first * act->bf16_f32_stride;
    if (act->forms & QR_ACT_Q8) {
        rows.q += first * act->q_stride;
        rows.half_sums += 2 * first * act->q_stride;
    }
    return rows;
}

/* Rounds x[n] to bf16. */
static void round_to_bf16(float *out, const float *x, size_t n, const struct qr_kernels *kernels)
{
    uint16_t bits[SLICE_K];
    for (size_t at = 0, part; at < n; at += part) {
        part = n - at < SLICE_K ? n - at : SLICE_K;
        (void)kernels->quantize_bf16(bits, x + at, 1, part);
        for (size_t i = 0; i < part; i++)
            out[at + i] = qr_bf16_to_f32(bits[i]);
    }
}

void qr_act_convert_slice(const struct qr_act *act, const struct qr_kernels *kernels, size_t i,
                          size_t k0, const float *x, size_t n)
{
    if (act->forms & QR_ACT_BF16) {
        uint16_t *row = act->bf16 + i * act->bf16_stride;
        (void)kernels->quantize_bf16(row + k0, x, 1, n);
        if (k0 + n == act->k)
            memset(row + act->k, 0, (act->bf16_stride - act->k) * sizeof *row);
    }
    if (act->forms & QR_ACT_BF16_F32) {
        float *row = act->bf16_f32 + i * act->bf16_f32_stride;
        round_to_bf16(row + k0, x, n, kernels);
        if (k0 + n == act->k)
            memset(row + act->k, 0, (act->bf16_f32_stride - act->k) * sizeof *row);
    }
    if (act->forms & QR_ACT_Q8) {
        const size_t b = i * act->q_stride + k0 / QR_BLOCK_K;
        kernels->quantize_act_q8(act->q + b, act->half_sums + 2 * b, x, n / QR_BLOCK_K);
        if (act->sum_tables)
            kernels->sum_tables(act->sum_tables + b * kernels->sum_table_bytes, act->q + b,
                                n / QR_BLOCK_K);
        if (act->delta_sums)
            kernels->delta_sums(act->delta_sums + b * QR_DELTA_SUMS, act->q + b, n / QR_BLOCK_K);
    }
}

void qr_act_convert_part(const struct qr_act *act, const struct qr_kernels *kernels,
                         const struct quire_team *team)
{
    if (!(act->forms & (QR_ACT_BF16 | QR_ACT_BF16_F32 | QR_ACT_Q8)) || act->m == 0 || act->k == 0)
        return;
    const size_t slices = (act->k + SLICE_K - 1) / SLICE_K;
    size_t begin, end;
    qr_team_range(team, act->m * slices, 1, &begin, &end);
    for (size_t u = begin; u < end; u++) {
        const size_t row = u / slices, k0 = u % slices * SLICE_K, left = act->k - k0;
        qr_act_convert_slice(act, kernels, row, k0, act->f32 + row * act->f32_stride + k0,
                             left < SLICE_K ? left : SLICE_K);
    }
}

void qr_act_convert_rows(const struct qr_act *act, const struct qr_kernels *kernels, size_t begin,
                         size_t end)
{
    for (size_t i = begin; i < end && act->k; i++)
        qr_act_convert_slice(act, kernels, i, 0, act->f32 + i * act->f32_stride, act->k);
}
