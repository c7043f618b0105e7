/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h - activation rows of a matmul in the forms that kernels read. */
#ifndef QR_LINEAR_ACTIVATION_H
#define QR_LINEAR_ACTIVATION_H
#include "kernels/kernels.h"
#include <quire/threads.h>

enum qr_act_form {
    QR_ACT_F32 = 1 << 0,      /* the source rows, borrowed */
    QR_ACT_BF16 = 1 << 1,     /* rounded to nearest even; rows are padded with zeros */
    QR_ACT_Q8 = 1 << 2,       /* int8 per 32 values with an f32 scale; k is a multiple of 32 */
    QR_ACT_DENSE = 1 << 3,    /* modifies BF16: no padding against cache set conflicts (oneDNN) */
    QR_ACT_BF16_F32 = 1 << 4, /* the values of BF16 as f32, for CPUs without bf16 products */
    QR_ACT_Q8_SUMS = 1 << 5,  /* modifies Q8: with the sum_tables of a single row */
    QR_ACT_Q8_DELTA = 1 << 6, /* modifies Q8: with the delta_sums of a single row */
    QR_ACT_Q8_MODIFIERS = QR_ACT_Q8_SUMS | QR_ACT_Q8_DELTA,
};

/* m rows of k values, converted once per step for all weights that read them. Each row is converted
 * independently, so its bits do not depend on the batch. */
struct qr_act {
    unsigned forms; /* set of enum qr_act_form */
    size_t m, k;
    const float *f32;       /* borrowed */
    size_t f32_stride;      /* floats */
    uint16_t *bf16;         /* NULL without BF16 */
    size_t bf16_stride;     /* elements, even */
    float *bf16_f32;        /* NULL without BF16_F32 */
    size_t bf16_f32_stride; /* floats, even */
    struct qr_q8_block *q;
    size_t q_stride;     /* blocks */
    float *half_sums;    /* two per block of q */
    uint8_t *sum_tables; /* of the blocks of q; NULL without Q8_SUMS, or if m is not 1 */
    int32_t *delta_sums; /* the same for Q8_DELTA */
};

/* Computes the bytes that the forms of up to m rows need, a multiple of 64. False when k does not
 * suit a form, or on overflow. */
bool qr_act_bytes(unsigned forms, size_t m, size_t k, size_t *bytes);

/* Describes m rows at x, x_stride floats apart, and lays out the forms in `memory`, which holds
 * qr_act_bytes, is 64-byte aligned and may be NULL for F32 alone. Converts nothing. */
void qr_act_init(struct qr_act *act, unsigned forms, const float *x, size_t x_stride, size_t m,
                 size_t k, void *memory);

/* Returns rows [first, first + n) of `act`, in the same memory. */
struct qr_act qr_act_rows(const struct qr_act *act, size_t first, size_t n);

/* Converts all rows; the work is split over the threads of the team. All threads call it; a barrier
 * must follow before a thread reads the forms. */
void qr_act_convert_part(const struct qr_act *act, const struct qr_kernels *kernels,
                         const struct quire_team *team);

/* Converts rows [begin, end) on the calling thread. */
void qr_act_convert_rows(const struct qr_act *act, const struct qr_kernels *kernels, size_t begin,
                         size_t end);

/* Converts values [k0, k0 + n) of row i from x[n], which need not lie in act->f32. F32 is not
 * written. k0 is a multiple of 32, and so is n unless it ends the row. */
void qr_act_convert_slice(const struct qr_act *act, const struct qr_kernels *kernels, size_t i,
                          size_t k0, const float *x, size_t n);

#endif
