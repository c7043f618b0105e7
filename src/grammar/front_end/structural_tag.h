/* SPDX-License-Identifier: Apache-2.0 */
/* structural_tag.h - free text in which triggers start grammars, described in JSON. */
#ifndef QR_GRAMMAR_FRONT_END_STRUCTURAL_TAG_H
#define QR_GRAMMAR_FRONT_END_STRUCTURAL_TAG_H
#include "grammar/core/front_end.h"

/* {"type": "structural_tag", "format": ...} or {"structures": [...], "triggers": [...]}, see
 * docs/structured-output.md. Errors have the JSON pointer of the member. */
quire_status qr_structural_tag_build(struct qr_front_end *f, const char *text, size_t size,
                                     qr_node *out, struct quire_error *err) QUIRE_MUST_CHECK;

#endif
