/* SPDX-License-Identifier: Apache-2.0 */
/* line_layout.h - rows and columns of a text that a terminal breaks into rows. */
#ifndef QUIRE_CHAT_LINE_LAYOUT_H
#define QUIRE_CHAT_LINE_LAYOUT_H
#include "text.h"

/* A cell, counted from the beginning of a text that begins in column 0. column == width: the row is
 * full, and the next character begins a row. */
struct place {
    unsigned row, column;
};

/* Place of the cursor after n bytes on a terminal of `width` columns. Newlines begin rows too. */
struct place place_after(const char *s, size_t n, unsigned width);

/* Offset at which a row begins, or n if the text has fewer rows. */
size_t begin_of_row(const char *s, size_t n, unsigned row, unsigned width);

/* What is drawn up to the cursor, to find its first row again after a change of the width. */
struct drawn_text {
    struct text text;
    unsigned width;
    bool on_cell; /* the cursor is on a cell that is drawn, not after the last one of its line */
};

/* Rows from the beginning of the text to the cursor, on a terminal that has changed its width to
 * `width` and reflowed the text. */
unsigned rows_above_cursor(const struct drawn_text *d, unsigned width);

#endif
