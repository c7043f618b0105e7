/* SPDX-License-Identifier: Apache-2.0 */
/* interp.h - failures, memory and budgets of the interpreter. */
#ifndef QR_JINJA_INTERP_H
#define QR_JINJA_INTERP_H
#include "base/error.h"
#include "jinja/types.h"

/* Records a failure at the current source position. Returns code. */
quire_status qr_jinja_fail(struct qr_jinja *j, quire_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

#ifdef QR_STATIC_ANALYSIS /* as for qr_fail */
#define qr_jinja_fail(j, code, ...) (qr_jinja_fail(j, code, __VA_ARGS__), qr_code(code))
#endif

/* Records what Python raises as TypeError, ValueError and the like. */
#define qr_jinja_type_error(j, ...) qr_jinja_fail((j), QUIRE_E_FORMAT, __VA_ARGS__)

/* Allocates n elements of `size` bytes from the arena, zeroed. Returns NULL after recording the
 * failure in j->status. */
void *qr_jinja_alloc(struct qr_jinja *j, size_t n, size_t size);

/* Allocates n elements for ptr; returns from the calling function on failure. */
#define QR_JINJA_NEW(j, ptr, n)                                                                    \
    do {                                                                                           \
        (ptr) = qr_jinja_alloc((j), (n), sizeof *(ptr));                                           \
        if (!(ptr)) {                                                                              \
            QR_INVARIANT((j)->status != QUIRE_OK);                                                 \
            return (j)->status;                                                                    \
        }                                                                                          \
    } while (0)

/* Record an exhausted step budget or nesting limit. Return QUIRE_E_LIMIT. */
quire_status qr_jinja_out_of_steps(struct qr_jinja *j);
quire_status qr_jinja_too_deep(struct qr_jinja *j);

/* Charges n steps to the budget. */
static inline quire_status qr_jinja_charge(struct qr_jinja *j, size_t n)
{
    if (j->steps_left < n)
        return qr_jinja_out_of_steps(j);
    j->steps_left -= n;
    return QUIRE_OK;
}

/* Charges the processing of n bytes: one step per 256 bytes. */
static inline quire_status qr_jinja_charge_bytes(struct qr_jinja *j, size_t n)
{
    return qr_jinja_charge(j, n >> 8);
}

/* Enclose every recursion, so that neither templates nor values can exhaust the C stack. After a
 * failure the depth is not restored, because the render ends. */
static inline quire_status qr_jinja_enter(struct qr_jinja *j)
{
    return j->depth++ < QR_JINJA_MAX_EVAL_DEPTH ? QUIRE_OK : qr_jinja_too_deep(j);
}
static inline void qr_jinja_leave(struct qr_jinja *j) { j->depth--; }

#endif
