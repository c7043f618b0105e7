/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - breaks streamed lines between words. */
#ifndef QUIRE_CHAT_WRAP_H
#define QUIRE_CHAT_WRAP_H
#include "text.h"

/* Cursor position and the word being streamed. Zeroes = the beginning of a line. */
struct wrap {
    unsigned column;     /* cells used in the line */
    struct text word;    /* incomplete word at the end of the line */
    unsigned word_cells; /* its width */
    unsigned backquotes; /* at the beginning of the line */
    bool line_started;   /* the line has other characters than spaces and backquotes */
    bool in_code;        /* inside a ``` fence: lines are not broken */
};

void wrap_reset(struct wrap *w);

/* Appends text for a terminal of `width` columns to out. A word that grows beyond its line is
 * erased there and moved to the next. safe: UTF-8 without control characters except newline and
 * tab. */
void wrap_add(struct wrap *w, const char *safe, size_t size, unsigned width, struct text *out);

#endif
