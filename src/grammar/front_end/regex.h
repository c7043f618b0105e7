/* SPDX-License-Identifier: Apache-2.0 */
/* regex.h - a regular expression as a grammar. */
#ifndef QR_GRAMMAR_FRONT_END_REGEX_H
#define QR_GRAMMAR_FRONT_END_REGEX_H
#include "grammar/core/front_end.h"

/* The whole text matches the expression. */
quire_status qr_regex_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                            struct quire_error *err) QUIRE_MUST_CHECK;

#endif
