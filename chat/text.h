/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - UTF-8 that came from outside: repair it, and make it safe for a terminal or for JSON. */
#ifndef QUIRE_CHAT_TEXT_H
#define QUIRE_CHAT_TEXT_H
#include <stdbool.h>
#include <stddef.h>

/* A growing byte string, always NUL-terminated once something was added. Zeroes are an empty
 * one. */
struct text {
    char *data;
    size_t size, capacity;
    bool failed; /* memory ran out; later additions are ignored */
};

void text_add(struct text *t, const char *bytes, size_t n);
void text_clear(struct text *t);
void text_free(struct text *t);

/* Bytes of the well-formed character that starts at s (n >= 1), or 0 when there is none. */
size_t utf8_length(const char *s, size_t n);

/* Adds s with U+FFFD for every ill-formed byte and every NUL. */
void text_add_repaired(struct text *t, const char *s, size_t n);

/* Adds s with control characters made visible (\x1b), all but newline and tab. */
void text_add_escaped(struct text *t, const char *s, size_t n);

/* Adds s as a JSON string, quotes included; ill-formed bytes become U+FFFD. */
void text_add_json(struct text *t, const char *s, size_t n);

/* printf into it; at most 255 bytes a call. */
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
