/* SPDX-License-Identifier: Apache-2.0 */
/* string_format.h - the values of the keyword `format` of JSON Schema, as expressions. Each format
 * accepts valid texts only. Fewer than its RFC (see string_format_table.c) are accepted by
 *   date, date-time  no year 0000
 *   time, date-time  second 60 at offsets of whole and half hours only, where it is 23:59 in UTC
 *   hostname, email  no label with "--" at its third place: Punycode is not checked
 *   email            address literals of IPv4 and IPv6 only
 *   uri-template     no operators that RFC 6570 reserves
 *   relative-json-pointer  no changes of the index */
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
