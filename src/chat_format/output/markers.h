/* SPDX-License-Identifier: Apache-2.0 */
/* markers.h - finds markers in the text that is not decided. */
#ifndef QR_CHAT_FORMAT_OUTPUT_MARKERS_H
#define QR_CHAT_FORMAT_OUTPUT_MARKERS_H
#include "chat_format/output/parser.h"

/* Adds the texts of a list; texts that the set has already keep their action. */
void qr_markers_add(struct qr_marker_set *set, const qr_marker_list list,
                    enum qr_marker_action action);

/* Finds the first marker at or after `from`, the longest if several begin there. *pos is its
 * offset in o->in. NULL: none; *pos is the first byte that may still begin one, or the end. */
const struct qr_marker *qr_markers_find(const struct quire_chat_output *o,
                                        const struct qr_marker_set *set, size_t from, size_t *pos);

/* The marker at `at`; NULL with *more: the text may still become one. */
const struct qr_marker *qr_markers_at(const struct quire_chat_output *o,
                                      const struct qr_marker_set *set, size_t at, bool *more);

/* Whether o->in has `text` at `at`: 1 yes, 0 no, -1 it may still come. */
int qr_text_at(const struct quire_chat_output *o, size_t at, const char *text);
/* Whether [at, at + size) holds a byte of a control token. */
bool qr_is_special(const struct quire_chat_output *o, size_t at, size_t size);
/* Moves the cursor over white space. False: the text ends there. */
bool qr_skip_space(struct quire_chat_output *o);
static inline bool qr_is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

#endif
