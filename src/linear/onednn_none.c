/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_none.c - replaces onednn_shim.c in builds without oneDNN: creation fails with
 * QUIRE_E_UNSUPPORTED, so the other functions are never called with an object. */
#include "base/error.h"
#include "linear/onednn_shim.h"
#include <quire/model.h>
#include <quire/onednn.h>

#ifndef QUIRE_WITH_ONEDNN

static quire_status unsupported(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "this build has no oneDNN");
}

quire_status qr_onednn_create(const struct quire_allocator *allocator, struct qr_onednn **out,
                              struct quire_error *err)
{
    (void)allocator;
    *out = NULL;
    return unsupported(err);
}

quire_status qr_onednn_get_matmul(struct qr_onednn *o, enum qr_weight_type type, size_t k,
                                  const struct qr_onednn_matmul **out, struct quire_error *err)
{
    (void)o, (void)type, (void)k;
    *out = NULL;
    return unsupported(err);
}

quire_status quire_onednn_set_isa(const char *isa, struct quire_error *err)
{
    (void)isa;
    return unsupported(err);
}

void qr_onednn_destroy(struct qr_onednn *o) { (void)o; }
void qr_onednn_release(struct qr_onednn_runner *r) { (void)r; }

struct qr_onednn_runner *qr_onednn_acquire(const struct qr_onednn_matmul *p)
{
    (void)p;
    return NULL;
}

const float *qr_onednn_execute(const struct qr_onednn_matmul *p, struct qr_onednn_runner *r,
                               size_t rows, const void *x, const void *panel)
{
    (void)p, (void)r, (void)rows, (void)x, (void)panel;
    return NULL;
}

#endif
