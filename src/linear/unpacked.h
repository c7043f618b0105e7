/* SPDX-License-Identifier: Apache-2.0 */
/* unpacked.h - weights unpacked to bf16 panels, in the scratch memory of a thread (compute mode
 * throughput).
 *
 * A thread multiplies the rows of a matmul in blocks. It keeps the last two panels that it
 * unpacked, those of gate and up, so that all blocks of rows of some outputs unpack them once. */
#ifndef QR_LINEAR_UNPACKED_H
#define QR_LINEAR_UNPACKED_H
#include "linear/packed.h"
#include <quire/compute.h>

struct qr_kernels;

/* One bf16 panel of up to 64 outputs. */
struct qr_unpacked_panel {
    const uint8_t *source; /* the first of the panels it was made of; NULL: none */
    size_t n;              /* outputs */
    size_t begin, end;     /* bytes of the scratch memory that it occupies */
};

/* Owned by one thread, used with the weights of one model. */
struct qr_unpacked {
    _Alignas(64) uint8_t *memory; /* 64-byte aligned; threads have cache lines of their own */
    size_t bytes;
    struct qr_unpacked_panel panels[2]; /* one at the start of the memory, one at the end */
    unsigned last;                      /* the panel unpacked last */
};

/* Whether a weight is multiplied in bf16, after it is unpacked. */
bool qr_linear_unpacks(const struct qr_packed *w, enum quire_compute compute);

/* Bytes of a bf16 panel of rows of k values. */
size_t qr_unpacked_bytes(size_t k);

/* u has no panels. The contents of the memory do not matter. */
void qr_unpacked_init(struct qr_unpacked *u, void *memory, size_t bytes);

/* Returns the bf16 panel of outputs [j, j + n) of w, n <= 64, j a multiple of w->panel_rows.
 * Columns from n on are zero. Valid until the next call. */
const uint8_t *qr_unpacked_get(struct qr_unpacked *u, const struct qr_packed *w, size_t j, size_t n,
                               const struct qr_kernels *kernels);

#endif
