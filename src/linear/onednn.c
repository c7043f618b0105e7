/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.c - runs oneDNN's products over panels and rows, and times them against our kernels. */
#include "linear/onednn.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/team.h"
#include "base/half.h"
#include <math.h>
#include <quire/model.h>
#include <quire/onednn.h>
#include <string.h>
#include <time.h>

enum { PANEL = QR_FLOAT_PANEL_ROWS };

/* Row i, columns j .. j + n - 1, by hand: what is left when oneDNN finds no memory to work in. */
static void plain_row(const struct qr_onednn_product *p, const uint8_t *panel,
                      const struct qr_linear_kernel_args *a, size_t i, size_t j, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        float sum = 0;
        for (size_t k = 0; k < p->k; k++) {
            const size_t at = p->row_at[r] + p->k_at[k];
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

void qr_onednn_multiply(const struct qr_onednn_product *p, struct qr_onednn_runner *r,
                        const struct qr_linear_kernel_args *a)
{
    const bool f32 = p->type == QR_WEIGHT_F32;
    /* rows with gaps between them go one by one */
    const size_t most = (f32 ? a->x_stride : a->x_bf16_stride) == p->width ? QR_ONEDNN_MAX_ROWS : 1;
    for (size_t j = 0; j < a->n; j += PANEL) {
        const uint8_t *panel = (const uint8_t *)a->w + j / PANEL * a->panel_bytes;
        const size_t n = a->n - j < PANEL ? a->n - j : PANEL;
        for (size_t i = 0, rows; i < a->m; i += rows) {
            for (rows = most; rows > a->m - i;)
                rows /= 2;
            const void *x = f32 ? (const void *)(a->x + i * a->x_stride)
                                : (const void *)(a->x_bf16 + i * a->x_bf16_stride);
            const float *sums = r ? qr_onednn_execute(p, r, rows, x, panel) : NULL;
            if (sums)
                store(sums, rows, a, i, j, n);
            for (size_t row = 0; !sums && row < rows; row++)
                plain_row(p, panel, a, i + row, j, n);
        }
    }
}

/* ---- the self-test ---- */

enum { TRIAL_M = 128, TRIAL_N = 256 };

/* One weight as our kernels and as oneDNN hold it, and rows to multiply with it. */
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
    const struct quire_team alone = { 0, 1, NULL };
    const struct qr_linear_args args = {
        .w = w, .x = &t->act, .out = t->out, .out_stride = w->n, .compute = QUIRE_COMPUTE_NATIVE
    };
    const double start = seconds();
    qr_linear_part(&args, t->kernels, &alone);
    return seconds() - start;
}

static bool faster(const struct trial *t)
{
    double ours = INFINITY, theirs = INFINITY;
    /* the first round warms both up; by turns, so that a busy machine disturbs both */
    const double end = seconds() + 0.05;
    for (int round = 0; round < 2 || seconds() < end; round++) {
        const double a = time_once(t, t->ours), b = time_once(t, t->theirs);
        ours = a < ours ? a : ours;
        theirs = b < theirs ? b : theirs;
        if (a > 0.05)
            break;
    }
    return theirs < 0.95 * ours; /* a tie is ours: same bits for every batch */
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
    const unsigned views = qr_linear_views(t->theirs, QUIRE_COMPUTE_NATIVE);
    if (!qr_act_bytes(views, TRIAL_M, k, &t->act_bytes))
        return QUIRE_E_LIMIT;
    t->x = qr_alloc(t->allocator, TRIAL_N * k, sizeof *t->x); /* first the weights' source */
    t->out = qr_alloc(t->allocator, TRIAL_M * TRIAL_N, sizeof *t->out);
    t->act_memory = qr_alloc_aligned(t->allocator, t->act_bytes, QR_CACHE_LINE_BYTES);
    if (!t->x || !t->out || !t->act_memory)
        return QUIRE_E_NOMEM;
    fill_rows(type, (uint8_t *)t->x, TRIAL_N * k);
    QR_TRY(qr_packed_rows(t->ours, 0, TRIAL_N, t->x, NULL));
    QR_TRY(qr_packed_rows(t->theirs, 0, TRIAL_N, t->x, NULL));
    fill_rows(QR_WEIGHT_F32, (uint8_t *)t->x, TRIAL_M * k);
    qr_act_init(&t->act, views, t->x, k, TRIAL_M, k, t->act_memory);
    qr_act_part(&t->act, t->kernels, &(struct quire_team){ 0, 1, NULL });
    return QUIRE_OK;
}

bool qr_onednn_wins(enum qr_weight_type type, size_t k, const struct qr_kernels *kernels,
                    const struct quire_allocator *allocator)
{
    struct trial t = { .allocator = allocator, .kernels = kernels };
    const bool wins = set_up(&t, type, k) == QUIRE_OK && faster(&t);
    qr_free(allocator, t.x, TRIAL_N * k, sizeof *t.x);
    qr_free(allocator, t.out, TRIAL_M * TRIAL_N, sizeof *t.out);
    qr_free(allocator, t.act_memory, t.act_bytes, 1);
    qr_packed_destroy(t.ours);
    qr_packed_destroy(t.theirs);
    qr_onednn_destroy(t.onednn);
    return wins;
}

#ifndef QUIRE_WITH_ONEDNN
/* Without onednn_shim.c: nothing can be made, so that nothing else is ever called. */

static quire_status absent(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "this build has no oneDNN");
}

quire_status qr_onednn_create(const struct quire_allocator *allocator, struct qr_onednn **out,
                              struct quire_error *err)
{
    (void)allocator;
    *out = NULL;
    return absent(err);
}

quire_status qr_onednn_get_product(struct qr_onednn *o, enum qr_weight_type type, size_t k,
                                   const struct qr_onednn_product **out, struct quire_error *err)
{
    (void)o, (void)type, (void)k;
    *out = NULL;
    return absent(err);
}

quire_status quire_onednn_set_isa(const char *isa, struct quire_error *err)
{
    (void)isa;
    return absent(err);
}

void qr_onednn_destroy(struct qr_onednn *o) { (void)o; }
void qr_onednn_give_back(struct qr_onednn_runner *r) { (void)r; }

struct qr_onednn_runner *qr_onednn_take(const struct qr_onednn_product *p)
{
    (void)p;
    return NULL;
}

const float *qr_onednn_execute(const struct qr_onednn_product *p, struct qr_onednn_runner *r,
                               size_t rows, const void *x, const void *panel)
{
    (void)p, (void)r, (void)rows, (void)x, (void)panel;
    return NULL;
}
#endif
