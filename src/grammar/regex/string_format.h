/* SPDX-License-Identifier: Apache-2.0 */
/* string_format.h - the values of the keyword `format` of JSON Schema, as expressions. Each format
 * accepts valid texts only; docs/structured-output.md says where it accepts fewer than its RFC. */
#ifndef QR_GRAMMAR_REGEX_STRING_FORMAT_H
#define QR_GRAMMAR_REGEX_STRING_FORMAT_H
#include "grammar/regex/regex_set.h"

/* The strings of a format.
 *  name  e.g. "date-time"
 *  json  the contents of a JSON string, in the encoding of json_string.h; else plain UTF-8
 *  QUIRE_E_INVALID_ARG no standard format has this name; QUIRE_E_UNSUPPORTED a standard format that
 *  no expression describes exactly (regex, idn-hostname, idn-email); QUIRE_E_LIMIT, QUIRE_E_NOMEM
 *  the set has failed. */
quire_status qr_string_format(struct qr_regex_set *set, const char *name, bool json,
                              qr_regex *out) QUIRE_MUST_CHECK;

#endif
