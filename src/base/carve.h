/* SPDX-License-Identifier: Apache-2.0 */
/* carve.h - many arrays in one request of memory, whose size is known before it is made. */
#ifndef QR_BASE_CARVE_H
#define QR_BASE_CARVE_H
#include "base/checked.h"

/* Deals out one block of memory; with base NULL it only counts. */
struct qr_carve {
    unsigned char *base;
    size_t used;
    bool overflow;
};

enum { QR_CARVE_ALIGN = 64 }; /* of base and of every array */

static inline void *qr_carve_take(struct qr_carve *c, size_t n, size_t elem)
{
    size_t bytes, next;
    if (!qr_mul_size(n, elem, &bytes) || !qr_align_size(bytes, QR_CARVE_ALIGN, &bytes) ||
        !qr_add_size(c->used, bytes, &next)) {
        c->overflow = true;
        return NULL;
    }
    void *p = c->base ? c->base + c->used : NULL;
    c->used = next;
    return p;
}

#endif
