/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.c - runs oneDNN matmuls over panels and rows, and times them against quire's kernels. */
#include "linear/onednn.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"
#include "base/team.h"
#include <math.h>
#include <string.h>
#include <time.h>

enum { PANEL = QR_FLOAT_PANEL_ROWS };

/* Computes outputs [j, j + n) of row i with a scalar loop: the fallback when oneDNN has no
 * memory. */
static void scalar_row(const struct qr_onednn_matmul *p, const uint8_t *panel,
                       const struct qr_linear_kernel_args *a, size_t i, size_t j, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        float sum = 0;
        for (size_t k = 0; k < p->k; k++) {
            const size_t at = p->row_offset[r] + p->k_offset[k];
            float w, x;
            uint16_t h;
            if (p->type == QR_WEIGHT_F32) {
                memcpy(&w, panel + sizeof w * at, sizeof w);
                x = a->x[i * a->x_stride + k];
            } else {
                memcpy(&h, panel + sizeof h * at, sizeof h);
                w = qr_bf16_to_f32(h);
                x = qr_bf16_to_f32(a->x_bf16[i * a->x_bf16_stride + k]);
            }
            sum = fmaf(x, w, sum);
        }
        a->out[i * a->out_stride + j + r] = a->bias ? sum + a->bias[j + r] : sum;
    }
}

/* Stores sums [rows][PANEL] as outputs [j, j + n) of rows [i, i + rows), plus the bias. */
static void store(const float *sums, size_t rows, const struct qr_linear_kernel_args *a, size_t i,
                  size_t j, size_t n)
{
    for (size_t row = 0; row < rows; row++, sums += PANEL) {
        float *out = a->out + (i + row) * a->out_stride + j;
        if (a->bias)
            for (size_t c = 0; c < n; c++)
                out[c] = sums[c] + a->bias[j + c];
        else
            memcpy(out, sums, n * sizeof *out);
    }
}

void qr_onednn_multiply(const struct qr_onednn_matmul *p, struct qr_onednn_runner *r,
                        const struct qr_linear_kernel_args *a)
{
    const bool f32 = p->type == QR_WEIGHT_F32;
    /* rows with a gap between them are multiplied one at a time */
    const size_t max_rows =
        (f32 ? a->x_stride : a->x_bf16_stride) == p->width ? QR_ONEDNN_MAX_ROWS : 1;
    for (size_t j = 0; j < a->n; j += PANEL) {
        const uint8_t *panel = (const uint8_t *)a->w + j / PANEL * a->panel_bytes;
        const size_t n = a->n - j < PANEL ? a->n - j : PANEL;
        for (size_t i = 0, rows; i < a->m; i += rows) {
            for (rows = max_rows; rows > a->m - i;)
                rows /= 2;
            const void *x = f32 ? (const void *)(a->x + i * a->x_stride)
                                : (const void *)(a->x_bf16 + i * a->x_bf16_stride);
            const float *sums = r ? qr_onednn_execute(p, r, rows, x, panel) : NULL;
            if (sums)
                store(sums, rows, a, i, j, n);
            for (size_t row = 0; !sums && row < rows; row++)
                scalar_row(p, panel, a, i + row, j, n);
        }
    }
}

/* ---- the self-test ---- */

enum { TRIAL_M = 128, TRIAL_N = 256 };

/* One weight, packed for quire's kernels and for oneDNN, and the rows to multiply. */
struct trial {
    const struct quire_allocator *allocator;
    const struct qr_kernels *kernels;
    struct qr_onednn *onednn;
    struct qr_packed *ours, *theirs;
    struct qr_act act;
    size_t act_bytes;
    float *x, *out;
    void *act_memory;
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_once(const struct trial *t, const struct qr_packed *w)
{
    const struct qr_linear_block all = { 0, w->n, 0, t->act.m };
    const struct qr_linear_args args = {
        .w = w, .x = &t->act, .out = t->out, .out_stride = w->n, .compute = QUIRE_COMPUTE_NATIVE
    };
    const double start = seconds();
    qr_linear_run_block(&args, &all, t->kernels);
    return seconds() - start;
}

static bool faster(const struct trial *t)
{
    double ours = INFINITY, theirs = INFINITY;
    /* The first round warms up. Runs alternate, so that other load on the machine affects both. */
    const double end = seconds() + 0.05;
    for (int round = 0; round < 2 || seconds() < end; round++) {
        const double a = time_once(t, t->ours), b = time_once(t, t->theirs);
        ours = a < ours ? a : ours;
        theirs = b < theirs ? b : theirs;
        if (a > 0.05)
            break;
    }
    return theirs < 0.95 * ours; /* quire wins ties: batch-invariant */
}

/* Small values of either sign: f32, or bf16 as the upper halves of f32. */
static void fill_rows(enum qr_weight_type type, uint8_t *raw, size_t n)
{
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        const float v = (float)(int32_t)state * 0x1p-34f;
        if (type == QR_WEIGHT_F32)
            memcpy(raw + 4 * i, &v, 4);
        else
            memcpy(raw + 2 * i, (const uint8_t *)&v + 2, 2);
    }
}

static quire_status set_up(struct trial *t, enum qr_weight_type type, size_t k)
{
    QR_TRY(qr_onednn_create(t->allocator, &t->onednn, NULL));
    QR_TRY(qr_packed_create(type, TRIAL_N, k, t->allocator, &t->ours, NULL));
    QR_TRY(qr_packed_create_onednn(t->onednn, type, TRIAL_N, k, t->allocator, &t->theirs, NULL));
    const unsigned forms = qr_linear_act_forms(t->theirs, QUIRE_COMPUTE_NATIVE, t->kernels, 1) |
                           qr_linear_act_forms(t->ours, QUIRE_COMPUTE_NATIVE, t->kernels, 1);
    if (!qr_act_bytes(forms, TRIAL_M, k, &t->act_bytes))
        return QUIRE_E_LIMIT;
    t->x = qr_alloc(t->allocator, TRIAL_N * k,
                    sizeof *t->x); /* holds the weights' source rows first */
    t->out = qr_alloc(t->allocator, TRIAL_M * TRIAL_N, sizeof *t->out);
    t->act_memory = qr_alloc_aligned(t->allocator, t->act_bytes, QR_CACHE_LINE_BYTES);
    if (!t->x || !t->out || !t->act_memory)
        return QUIRE_E_NOMEM;
    fill_rows(type, (uint8_t *)t->x, TRIAL_N * k);
    QR_TRY(qr_packed_pack_rows(t->ours, 0, TRIAL_N, t->x, NULL));
    QR_TRY(qr_packed_pack_rows(t->theirs, 0, TRIAL_N, t->x, NULL));
    fill_rows(QR_WEIGHT_F32, (uint8_t *)t->x, TRIAL_M * k);
    qr_act_init(&t->act, forms, t->x, k, TRIAL_M, k, t->act_memory);
    qr_act_convert_part(&t->act, t->kernels, &(struct quire_team){ 0, 1, NULL });
    return QUIRE_OK;
}

bool qr_onednn_is_faster(enum qr_weight_type type, size_t k, const struct qr_kernels *kernels,
                         const struct quire_allocator *allocator)
{
    struct trial t = { .allocator = allocator, .kernels = kernels };
    const bool result = set_up(&t, type, k) == QUIRE_OK && faster(&t);
    qr_free(allocator, t.x, TRIAL_N * k, sizeof *t.x);
    qr_free(allocator, t.out, TRIAL_M * TRIAL_N, sizeof *t.out);
    qr_free(allocator, t.act_memory, t.act_bytes, 1);
    qr_packed_destroy(t.ours);
    qr_packed_destroy(t.theirs);
    qr_onednn_destroy(t.onednn);
    return result;
}
