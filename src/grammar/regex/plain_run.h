/* SPDX-License-Identifier: Apache-2.0 */
/* plain_run.h - how much plain text may follow, told by the form of an expression. */
#ifndef QR_GRAMMAR_REGEX_PLAIN_RUN_H
#define QR_GRAMMAR_REGEX_PLAIN_RUN_H
#include "grammar/regex/types.h"

/* Plain characters: those that a JSON string holds unescaped, from U+0020 but `"` and `\`.
 *
 * Returns a number n such that every string of at most n plain characters is the beginning of a
 * string of r: QR_REGEX_UNBOUNDED if there is no limit. For the bodies of strings, counted or not,
 * with or without a finite number of exceptions; 0 for others. r must match something. A failure of
 * the set returns 0. */
uint32_t qr_regex_plain_run(struct qr_regex_set *set, qr_regex r);

#endif
