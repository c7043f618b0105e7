/* SPDX-License-Identifier: Apache-2.0 */
/* lark.h - EBNF in the notation of Lark as a grammar.
 *
 *     start: greeting ("," NAME)* "!"?
 *     greeting: "hello"i | "bye" -> farewell
 *     NAME: /[A-Z][a-z]+/
 *     %ignore /[ \t]+/
 *
 * Lower-case names are rules, upper-case ones terminals: one lexeme each. Accepted: | ( ) [ ] * + ?
 * ~n ~n..m {n} {n,m}, strings with the flag i, "a".."z", regular expressions without flags
 * (regex/regex_syntax.h), aliases, priorities and the marks ? and ! of rules (without effect),
 * %ignore, %import common.X, <name> for a control token, %json and a schema (an object) in rules,
 * comments with // and #. Refused: templates, %declare, %override, %extend, and terminals that
 * refer to themselves.
 *
 * A text is accepted if some division into lexemes derives it; Lark itself divides the text first,
 * by priority and length, and can therefore reject such a text. */
#ifndef QR_GRAMMAR_FRONT_END_LARK_H
#define QR_GRAMMAR_FRONT_END_LARK_H
#include "grammar/core/front_end.h"

/* Start rule "start". Messages name the line. */
quire_status qr_lark_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                           struct quire_error *err) QUIRE_MUST_CHECK;

#endif
