/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - growing strings; repairs and escapes untrusted UTF-8. */
#ifndef QUIRE_CHAT_TEXT_H
#define QUIRE_CHAT_TEXT_H
#include <stdbool.h>
#include <stddef.h>

/* NUL-terminated after the first addition. Zeroes = empty. */
struct text {
    char *data;
    size_t size, capacity;
    bool failed; /* out of memory; later additions are ignored */
};

void text_add(struct text *t, const char *bytes, size_t n);
void text_clear(struct text *t);
/* Keeps the first n <= size bytes, and those of the UTF-8 character that they end in. */
void text_truncate(struct text *t, size_t n);
void text_free(struct text *t);

/* Length in bytes of the well-formed character at s (n >= 1), or 0. */
size_t utf8_length(const char *s, size_t n);

/* Appends s with U+FFFD in place of every ill-formed byte and every NUL. */
void text_add_repaired(struct text *t, const char *s, size_t n);

/* Appends s with control characters except newline and tab escaped as \xNN. */
void text_add_escaped(struct text *t, const char *s, size_t n);

/* Appends s as a quoted JSON string; ill-formed bytes become U+FFFD. */
void text_add_json(struct text *t, const char *s, size_t n);

/* Appends a call of a tool as a line: for people `call: NAME ARGUMENTS`, for programs the object
 * {"name", "arguments"}. arguments: JSON in one line. */
void text_add_call(struct text *t, const char *name, const char *arguments, bool for_people);

/* Appends formatted text of at most 255 bytes; more is cut off. */
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
