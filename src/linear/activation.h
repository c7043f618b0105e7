/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h - the input rows of a matmul in the forms that kernels read. */
#ifndef QR_LINEAR_ACTIVATION_H
#define QR_LINEAR_ACTIVATION_H
#include "kernels/kernels.h"
#include <quire/threads.h>

enum qr_act_view {
    QR_ACT_F32 = 1 << 0,  /* the rows themselves, borrowed */
    QR_ACT_BF16 = 1 << 1, /* to nearest even; rows padded with zeros */
    QR_ACT_Q8 =
        1 << 2, /* int8 per 32 values with an f32 scale (quantize_act_q8); k a multiple of 32 */
    QR_ACT_DENSE =
        1 << 3, /* bf16 rows without a gap, as oneDNN wants them and kernels like them less */
};

/* m rows of k values, converted once per step for all weights that read them. Every row is
 * converted by itself, so its bits do not depend on the rows beside it. */
struct qr_act {
    unsigned views; /* enum qr_act_view bits that are set up */
    size_t m, k;
    const float *f32;  /* borrowed */
    size_t f32_stride; /* floats */
    uint16_t *bf16;
    size_t bf16_stride; /* elements, even */
    struct qr_q8_block *q;
    size_t q_stride; /* blocks */
};

/* Bytes that the views of up to m rows need, a multiple of 64; the caller lends them, 64-byte
 * aligned. False when k does not suit a view or on overflow. */
bool qr_act_bytes(unsigned views, size_t m, size_t k, size_t *bytes);

/* Describes m rows at x, x_stride floats apart, and lays the views out in `memory` (qr_act_bytes;
 * may be NULL when only F32 is wanted). Cheap; nothing is converted. */
void qr_act_init(struct qr_act *act, unsigned views, const float *x, size_t x_stride, size_t m,
                 size_t k, void *memory);

/* Rows [first, first + n) of `act`; borrows its memory. */
struct qr_act qr_act_rows(const struct qr_act *act, size_t first, size_t n);

/* Fills the views. Called by all members of a team; a barrier must follow before anyone reads
 * them. */
void qr_act_part(const struct qr_act *act, const struct qr_kernels *kernels,
                 const struct quire_team *team);

/* Fills the views of whole rows [begin, end), by one thread. */
void qr_act_fill_rows(const struct qr_act *act, const struct qr_kernels *kernels, size_t begin,
                      size_t end);

/* Fills the views (not F32) of values k0 .. k0 + n - 1 of row i from x[n], which need not lie in the
 * object's rows. k0 is a multiple of 32, and so is n unless it ends the row. */
void qr_act_put(const struct qr_act *act, const struct qr_kernels *kernels, size_t i, size_t k0,
                const float *x, size_t n);

#endif
