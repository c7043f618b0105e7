/* SPDX-License-Identifier: Apache-2.0 */
/* lark.h - grammars in a notation like that of Lark. */
#ifndef QR_GRAMMAR_FRONT_END_LARK_H
#define QR_GRAMMAR_FRONT_END_LARK_H
#include "grammar/core/front_end.h"

/* Rules and terminals, of which "start" is the start (docs/structured-output.md). Errors have line
 * and column. */
quire_status qr_lark_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                           struct quire_error *err) QUIRE_MUST_CHECK;

#endif
