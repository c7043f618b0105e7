/* SPDX-License-Identifier: Apache-2.0 */
/* activation.c - converts activation rows to bf16 and to int8 blocks. */
#include "linear/activation.h"
#include "base/checked.h"
#include "base/threads.h"
#include <string.h>

enum { ALIGN = 64, UNIT_K = 256 }; /* work is shared out in units of 256 values of a row */

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Elements from one bf16 row to the next. An odd number of lines: tiles of rows are read a column of lines at a time,
 * which a power of two in between would all send to the same few places of the first cache. */
static size_t bf16_stride(unsigned views, size_t k)
{
    const size_t padded = round_up(k, 32);
    return views & QR_ACT_DENSE || padded % 64 ? padded : padded + 32;
}

bool qr_act_bytes(unsigned views, size_t m, size_t k, size_t *bytes)
{
    size_t values, total = 0;
    /* with k padded by more than any view does, all views together take less than 8 bytes a value */
    if (k > SIZE_MAX - 128 || !qr_mul_size(m, round_up(k, 64) + 64, &values) ||
        values > SIZE_MAX / 8)
        return false;
    if ((views & QR_ACT_Q8) && k % QR_BLOCK_K != 0)
        return false;
    if (views & QR_ACT_BF16)
        total += m * bf16_stride(0, k) * sizeof(uint16_t);
    if (views & QR_ACT_Q8)
        total += m * (k / QR_BLOCK_K) * sizeof(struct qr_q8_block);
    *bytes = round_up(total, ALIGN);
    return true;
}

void qr_act_init(struct qr_act *act, unsigned views, const float *x, size_t x_stride, size_t m,
                 size_t k, void *memory)
{
    uint8_t *p = memory;
    *act = (struct qr_act){ .views = views, .m = m, .k = k, .f32 = x, .f32_stride = x_stride };
    if (views & QR_ACT_BF16) {
        act->bf16 = (uint16_t *)(void *)p;
        act->bf16_stride = bf16_stride(views, k);
        p += m * act->bf16_stride * sizeof *act->bf16;
    }
    if (views & QR_ACT_Q8) {
        act->q = (struct qr_q8_block *)(void *)p;
        act->q_stride = k / QR_BLOCK_K;
    }
}

struct qr_act qr_act_rows(const struct qr_act *act, size_t first, size_t n)
{
    struct qr_act rows = *act;
    rows.m = n;
    rows.f32 += first * act->f32_stride;
    if (act->views & QR_ACT_BF16)
        rows.bf16 += first * act->bf16_stride;
    if (act->views & QR_ACT_Q8)
        rows.q += first * act->q_stride;
    return rows;
}

void qr_act_put(const struct qr_act *act, const struct qr_kernels *kernels, size_t i, size_t k0,
                const float *x, size_t n)
{
    if (act->views & QR_ACT_BF16) {
        uint16_t *row = act->bf16 + i * act->bf16_stride;
        (void)kernels->quantize_bf16(row + k0, x, 1, n);
        if (k0 + n == act->k)
            memset(row + act->k, 0, (act->bf16_stride - act->k) * sizeof *row);
    }
    if (act->views & QR_ACT_Q8)
        kernels->quantize_act_q8(act->q + i * act->q_stride + k0 / QR_BLOCK_K, x, n / QR_BLOCK_K);
}

void qr_act_part(const struct qr_act *act, const struct qr_kernels *kernels,
                 const struct quire_team *team)
{
    if (!(act->views & (QR_ACT_BF16 | QR_ACT_Q8)) || act->m == 0 || act->k == 0)
        return;
    const size_t units = (act->k + UNIT_K - 1) / UNIT_K;
    size_t begin, end;
    qr_team_range(team, act->m * units, 1, &begin, &end);
    for (size_t u = begin; u < end; u++) {
        const size_t k0 = u % units * UNIT_K, left = act->k - k0;
        qr_act_put(act, kernels, u / units, k0, act->f32 + u / units * act->f32_stride + k0,
                   left < UNIT_K ? left : UNIT_K);
    }
}

void qr_act_fill_rows(const struct qr_act *act, const struct qr_kernels *kernels, size_t begin,
                      size_t end)
{
    for (size_t i = begin; i < end && act->k; i++)
        qr_act_put(act, kernels, i, 0, act->f32 + i * act->f32_stride, act->k);
}
