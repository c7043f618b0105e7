/* SPDX-License-Identifier: Apache-2.0 */
/* gbnf.h - grammars in llama.cpp's notation. */
#ifndef QR_GRAMMAR_FRONT_END_GBNF_H
#define QR_GRAMMAR_FRONT_END_GBNF_H
#include "grammar/core/front_end.h"

/* Rules `name ::= alternatives`, of which "root" is the start; literals, classes of characters, the
 * dot, groups, * + ? {m,n}, comments. Errors have line and column. */
quire_status qr_gbnf_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                           struct quire_error *err) QUIRE_MUST_CHECK;

#endif
