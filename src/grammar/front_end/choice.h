/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h - a list of strings as a grammar. */
#ifndef QR_GRAMMAR_FRONT_END_CHOICE_H
#define QR_GRAMMAR_FRONT_END_CHOICE_H
#include "grammar/core/front_end.h"

/* The text is one of the strings of a JSON array, which is not empty. */
quire_status qr_choice_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                             struct quire_error *err) QUIRE_MUST_CHECK;

#endif
