/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - breaks the lines of an answer between words while it streams. */
#ifndef QUIRE_CHAT_WRAP_H
#define QUIRE_CHAT_WRAP_H
#include "text.h"

/* Where the answer stands on the screen. Zeroes are the beginning of a line. */
struct wrap {
    unsigned column;  /* cells used in this line */
    struct text word; /* the word that is not over yet; it stands at the end of the line */
    unsigned cells;   /* of it */
    unsigned ticks;   /* backquotes at the beginning of this line, so far */
    bool inside_line; /* something else has come since it began */
    bool in_code;     /* between lines of three backquotes, which are left as they are */
};

void wrap_clear(struct wrap *w);

/* Adds text for a terminal of `width` columns to out: a word that comes to be too long for its line is taken back and
 * begins the next one. safe is UTF-8 without control characters but newline and tab. */
void wrap_add(struct wrap *w, const char *safe, size_t size, unsigned width, struct text *out);

#endif
