/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_shim.h - oneDNN as a matmul backend for f32 and bf16 weights: panel layout and x W^T. */
#ifndef QR_LINEAR_ONEDNN_SHIM_H
#define QR_LINEAR_ONEDNN_SHIM_H
#include "base/weight_type.h"
#include "kernels/kernels_linear.h"
#include <quire/status.h>

/* The oneDNN state of one model. Outlives the weights created with it. */
struct qr_onednn;

/* QUIRE_E_UNSUPPORTED: not in this build, or a oneDNN that does not stay on the calling thread;
 * QUIRE_E_NOMEM. *out is NULL then. */
quire_status qr_onednn_create(const struct quire_allocator *allocator, struct qr_onednn **out,
                              struct quire_error *err) QUIRE_MUST_CHECK;
void qr_onednn_destroy(struct qr_onednn *o); /* NULL is a no-op */

/* Matmul of rows of k values and one panel of QR_FLOAT_PANEL_ROWS weight rows. All panels of all
 * weights of one type and k share it. The fields are read-only for users. */
struct qr_onednn_matmul {
    struct qr_onednn *owner;
    enum qr_weight_type type;
    size_t k;
    size_t width;       /* values of a row of x: k, for bf16 rounded up to 32 */
    size_t panel_bytes; /* multiple of 64; bytes that no row and k cover must be zero */
    /* value (row, k) of a panel is element row_offset[row] + k_offset[k] */
    size_t row_offset[QR_FLOAT_PANEL_ROWS];
    const size_t *k_offset;
};

/* Returns the matmul for a type and k, which the first call creates; owned by o. Not thread-safe.
 * QUIRE_E_UNSUPPORTED: oneDNN has no code for it on this CPU; QUIRE_E_NOMEM. */
quire_status qr_onednn_get_matmul(struct qr_onednn *o, enum qr_weight_type type, size_t k,
                                  const struct qr_onednn_matmul **out,
                                  struct quire_error *err) QUIRE_MUST_CHECK;

/* Execution state of one thread: stream, memory objects and scratchpad. Released runners are
 * reused, so later calls allocate nothing here. Between acquire and release, oneDNN stays on the
 * calling thread. NULL when memory is short. Thread-safe. */
struct qr_onednn_runner;
struct qr_onednn_runner *qr_onednn_acquire(const struct qr_onednn_matmul *p);
void qr_onednn_release(struct qr_onednn_runner *r); /* NULL is a no-op */

enum { QR_ONEDNN_MAX_ROWS = 128 };

/* Computes x[rows][p->width] times a panel: [rows][QR_FLOAT_PANEL_ROWS] in memory of the runner,
 * valid until its next call. rows is a power of two up to QR_ONEDNN_MAX_ROWS; x has the type of the
 * weights; the runner was acquired for p. NULL: oneDNN had no memory. */
const float *qr_onednn_execute(const struct qr_onednn_matmul *p, struct qr_onednn_runner *r,
                               size_t rows, const void *x, const void *panel);

#endif
