/* SPDX-License-Identifier: Apache-2.0 */
/* bump.h - bump allocation of many arrays from one block of memory whose size is computed first. */
#ifndef QR_BASE_BUMP_H
#define QR_BASE_BUMP_H
#include "base/checked.h"

/* Used in two passes over the same qr_bump_alloc calls: the first with base NULL to compute `used`,
 * the second with a block of that many bytes. */
struct qr_bump {
    unsigned char *base; /* aligned to QR_BUMP_ALIGN, owned by the caller; NULL = count only */
    size_t used;         /* bytes */
    bool overflow;       /* some array did not fit in size_t */
};

enum { QR_BUMP_ALIGN = 64 }; /* bytes; of base and of every array */

/* Returns n uninitialized elements of elem bytes, or NULL in the counting pass and on overflow. */
static inline void *qr_bump_alloc(struct qr_bump *b, size_t n, size_t elem)
{
    size_t bytes, next;
    if (!qr_mul_size(n, elem, &bytes) || !qr_align_size(bytes, QR_BUMP_ALIGN, &bytes) ||
        !qr_add_size(b->used, bytes, &next)) {
        b->overflow = true;
        return NULL;
    }
    void *p = b->base ? b->base + b->used : NULL;
    b->used = next;
    return p;
}

#endif
