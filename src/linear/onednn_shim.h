/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_shim.h - oneDNN as the owner of f32 and bf16 weights: how their panels lie, and x W^T. */
#ifndef QR_LINEAR_ONEDNN_SHIM_H
#define QR_LINEAR_ONEDNN_SHIM_H
#include "kernels/kernels_linear.h"
#include "base/weight_type.h"
#include <quire/status.h>

/* oneDNN as one model uses it. Outlives the weights made with it. */
struct qr_onednn;

/* QUIRE_E_UNSUPPORTED: not in this build, or a oneDNN that cannot be kept on the calling thread;
 * QUIRE_E_NOMEM. *out is NULL then. */
quire_status qr_onednn_create(const struct quire_allocator *allocator, struct qr_onednn **out,
                              struct quire_error *err) QUIRE_MUST_CHECK;
void qr_onednn_destroy(struct qr_onednn *o); /* NULL is a no-op */

/* Rows of k values times one panel of QR_FLOAT_PANEL_ROWS weight rows: all panels of all weights
 * of one type and k share it. The fields are read-only for users. */
struct qr_onednn_product {
    struct qr_onednn *owner;
    enum qr_weight_type type;
    size_t k;
    size_t width;       /* values of a row of x: k, for bf16 rounded up to 32 */
    size_t panel_bytes; /* multiple of 64; what is not covered by rows and k must be zero */
    /* value (row, k) of a panel is element row_at[row] + k_at[k] */
    size_t row_at[QR_FLOAT_PANEL_ROWS];
    const size_t *k_at;
};

/* The product for a type and k, made at its first use; owned by o. One caller at a time.
 * QUIRE_E_UNSUPPORTED: oneDNN has no code for it on this CPU; QUIRE_E_NOMEM. */
quire_status qr_onednn_get_product(struct qr_onednn *o, enum qr_weight_type type, size_t k,
                                   const struct qr_onednn_product **out,
                                   struct quire_error *err) QUIRE_MUST_CHECK;

/* What a thread needs to run a product. Runners are kept and used again, so that later calls
 * allocate nothing here. Between take and give_back oneDNN stays on the calling thread. NULL when
 * memory is short. Any thread, any time. */
struct qr_onednn_runner;
struct qr_onednn_runner *qr_onednn_take(const struct qr_onednn_product *p);
void qr_onednn_give_back(struct qr_onednn_runner *r); /* NULL is a no-op */

enum { QR_ONEDNN_MAX_ROWS = 128 };

/* x[rows][p->width] times a panel: [rows][QR_FLOAT_PANEL_ROWS], the runner's until its next call.
 * rows is a power of two up to QR_ONEDNN_MAX_ROWS; x is of the weights' type. NULL: oneDNN had no
 * memory. The runner was taken for p. */
const float *qr_onednn_execute(const struct qr_onednn_product *p, struct qr_onednn_runner *r,
                               size_t rows, const void *x, const void *panel);

#endif
