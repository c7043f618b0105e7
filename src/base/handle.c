/* SPDX-License-Identifier: Apache-2.0 */
/* handle.c - reports handles of destroyed and of other objects. */
#include "base/handle.h"
#include "base/error.h"

quire_status qr_handle_check(const void *p, enum qr_kind kind, const char *name,
                             struct quire_error *err)
{
    if (!p)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", name);
    if (!qr_handle_is(p, kind))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "%s has been destroyed, or is an object of another type", name);
    return QUIRE_OK;
}
