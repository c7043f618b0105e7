/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - dispatches calls by the type of the callee. */
#include "jinja/call.h"
#include "jinja/builtin.h"
#include "jinja/exec.h"
#include "jinja/interp.h"
#include "jinja/macro.h"
#include "jinja/undefined.h"
#include "jinja/value.h"

/* Empty on the first call, then the separator. */
static quire_status call_joiner(struct qr_jinja *j, struct qr_jinja_joiner *joiner,
                                struct qr_jinja_value *out)
{
    if (joiner->used) {
        *out = joiner->sep;
        return QUIRE_OK;
    }
    joiner->used = true;
    return qr_jinja_str_literal(j, "", out);
}

quire_status qr_jinja_call_value(struct qr_jinja *j, struct qr_jinja_value callee,
                                 const struct qr_jinja_args *args, struct qr_jinja_value *out)
{
    switch (callee.type) {
    case QR_JINJA_FUNCTION:
        return qr_jinja_call_builtin(j, callee.fn, qr_jinja_missing(), args, out);
    case QR_JINJA_METHOD:
        return qr_jinja_call_builtin(j, callee.m->fn, callee.m->self, args, out);
    case QR_JINJA_MACRO:
        return qr_jinja_call_macro(j, callee.macro, args, out);
    case QR_JINJA_LOOP:
        return qr_jinja_call_loop(j, callee.loop, args, out);
    case QR_JINJA_JOINER:
        return call_joiner(j, callee.joiner, out);
    case QR_JINJA_UNDEFINED:
        return qr_jinja_undefined_error(j, callee);
    default:
        return qr_jinja_type_error(j, "'%s' object is not callable", qr_jinja_type_name(callee));
    }
}
