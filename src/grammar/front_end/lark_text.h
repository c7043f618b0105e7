/* SPDX-License-Identifier: Apache-2.0 */
/* lark_text.h - strings of the notation of Lark as expressions. */
#ifndef QR_GRAMMAR_FRONT_END_LARK_TEXT_H
#define QR_GRAMMAR_FRONT_END_LARK_TEXT_H
#include "grammar/front_end/lark_tokens.h"
#include "grammar/regex/regex_set.h"

/* The text of a string token, with the flag i in upper and lower case (ASCII). *why is set to a
 * static text, and the result is QR_REGEX_NONE, where the string is malformed. */
qr_regex qr_lark_string(struct qr_regex_set *set, const struct qr_lark_token *t, const char **why);

/* One character between two strings of one character: "a".."z". */
qr_regex qr_lark_range(struct qr_regex_set *set, const struct qr_lark_token *first,
                       const struct qr_lark_token *last, const char **why);

/* The regular expression of a terminal of Lark's module `common`; NULL = none. */
const char *qr_lark_common(const char *name, size_t size);

#endif
