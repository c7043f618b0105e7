/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/lark.h"
#include "base/error.h"

quire_status qr_lark_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                           struct quire_error *err)
{
    (void)f;
    (void)text;
    (void)size;
    *out = 0;
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "Lark grammars are not supported");
}
