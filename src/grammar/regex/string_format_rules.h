/* SPDX-License-Identifier: Apache-2.0 */
/* string_format_rules.h - rules of formats in a small notation, after the ABNF of the RFCs. */
#ifndef QR_GRAMMAR_REGEX_STRING_FORMAT_RULES_H
#define QR_GRAMMAR_REGEX_STRING_FORMAT_RULES_H
#include "grammar/regex/regex_set.h"
#include "grammar/regex/string_format_table.h"

/* A rule describes characters: every character stands for itself, except
 *   a|b  a&b    choice and intersection; & binds less than |
 *   !(a)        complement
 *   (a)  <name> group, another rule
 *   [a-z0-9._-] one character; no complement
 *   a? a* a+ a{3} a{1,3} a{1,}
 *   \c          the character c
 * Rules are ASCII. */

/* The rules that were used so far. */
struct qr_formats {
    struct qr_regex_set *set;
    bool json; /* contents of a JSON string, else plain text */
    bool known[QR_FORMAT_MAX_RULES];
    qr_regex rules[QR_FORMAT_MAX_RULES]; /* those that are known */
};

/* The expression of a rule by its name: of the table, or one that is not written as text. A mistake
 * in a rule gives QR_REGEX_NONE. */
qr_regex qr_format_rule(struct qr_formats *f, const char *name);

/* The expression of the text of a rule. */
qr_regex qr_format_parse(struct qr_formats *f, const char *text);

#endif
