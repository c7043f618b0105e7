/* SPDX-License-Identifier: Apache-2.0 */
/* string_format_table.h - the rules of all formats. */
#ifndef QR_GRAMMAR_REGEX_STRING_FORMAT_TABLE_H
#define QR_GRAMMAR_REGEX_STRING_FORMAT_TABLE_H
#include <stdint.h>

/* A rule in the notation of string_format_rules.h. Rules refer to each other without recursion. */
struct qr_format_rule {
    const char *name, *text;
};
enum { QR_FORMAT_MAX_RULES = 96 };

extern const struct qr_format_rule qr_format_rules[];
extern const uint32_t qr_n_format_rules;

#endif
