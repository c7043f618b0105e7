/* SPDX-License-Identifier: Apache-2.0 */
/* regex_syntax.h - the text of a regular expression over Unicode characters, as an expression over
 * bytes. */
#ifndef QR_GRAMMAR_REGEX_REGEX_SYNTAX_H
#define QR_GRAMMAR_REGEX_REGEX_SYNTAX_H
#include "grammar/regex/regex_set.h"

enum {
    /* the expression may match anywhere in the text, as the `pattern` of JSON Schema does; without
     * it the whole text */
    QR_REGEX_SEARCH = 1,
    /* the text is the contents of a JSON string in the encoding of json_string.h */
    QR_REGEX_JSON_STRING = 2,
};

/* Parses the dialect of docs/structured-output.md (ECMA 262 with the u flag, without what is not
 * regular).
 *  deadline  of the monotonic clock in seconds
 *  QUIRE_E_INVALID_ARG malformed, QUIRE_E_UNSUPPORTED not regular (back references, ...) or not
 *  supported, both with the offset; QUIRE_E_LIMIT; QUIRE_E_NOMEM. */
quire_status qr_regex_parse(struct qr_regex_set *set, const char *text, size_t size, uint32_t flags,
                            double deadline, qr_regex *out,
                            struct quire_error *err) QUIRE_MUST_CHECK;

#endif
