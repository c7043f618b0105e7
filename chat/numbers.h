/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h - parses and prints numbers independently of the locale. */
#ifndef QUIRE_CHAT_NUMBERS_H
#define QUIRE_CHAT_NUMBERS_H
#include <stdbool.h>
#include <stdint.h>

/* Each parses the whole text; false, with *out unchanged, if it is malformed or out of range. */
bool parse_integer(const char *text, int64_t min, int64_t max, int64_t *out);
bool parse_real(const char *text, double *out);    /* finite; "0.8", "-1", ".5", "1e-3" */
bool parse_bytes(const char *text, uint64_t *out); /* "4G", "512M", "1.5GiB"; units of 1024 */

/* "512.0 MiB"; returns buf. */
const char *format_bytes(uint64_t bytes, char buf[24]);

#endif
