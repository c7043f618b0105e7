/* SPDX-License-Identifier: Apache-2.0 */
/* thread_state.h - the rows of the residual stream that a thread computes, and its scratch memory.
 *
 * With few rows (QR_REPLICATED_ROWS_MAX) each thread keeps a copy of the residual stream and
 * computes norms and activation forms of all rows itself. With more rows there is one residual
 * stream, and each thread computes the same range of rows in all layers. */
#ifndef QR_MODEL_FORWARD_THREAD_STATE_H
#define QR_MODEL_FORWARD_THREAD_STATE_H
#include "model/forward/types.h"

enum {
    QR_TILE_ROWS = 128, /* rows of an FFN tile of full height, which is 64 outputs wide */
    QR_TILE_FLOATS = QR_TILE_ROWS * 64,
};

struct qr_thread_state {
    float *x, *h;      /* residual stream and normed input */
    size_t begin, end; /* the rows of x and h that the thread computes; it reads no others */
    /* scratch */
    float *tile_a, *tile_b;       /* [QR_TILE_FLOATS] */
    float *own_rows;              /* [QR_REPLICATED_ROWS_MAX][hidden]; is h in replicated mode */
    void *own_act_memory;         /* activation forms of up to QR_REPLICATED_ROWS_MAX rows */
    struct qr_unpacked *unpacked; /* of compute mode throughput, else NULL */
};
struct qr_thread_state qr_thread_state(const struct qr_step *s, const struct quire_team *team);
struct qr_unpacked *qr_thread_unpacked(const struct qr_step *s, const struct quire_team *team);

/* Prepares the counters of work-stealing loops for a run of n_threads threads. */
void qr_thread_reset_counters(struct quire_context *ctx, uint32_t n_threads);

/* Makes ctx->x complete: copies the residual stream there in replicated mode. Ends with a
 * barrier. */
void qr_thread_publish_rows(const struct qr_step *s, const struct quire_team *team);

#endif
