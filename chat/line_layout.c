/* SPDX-License-Identifier: Apache-2.0 */
/* line_layout.c - rows and columns of a text that a terminal breaks into rows. */
#include "line_layout.h"
#include "grapheme.h"

static struct place advance(struct place p, const char *s, size_t n, unsigned width)
{
    if (*s == '\n')
        return (struct place){ p.row + 1, 0 };
    unsigned cells = grapheme_cells(s, n);
    const unsigned step = *s == '\t' ? 1 : cells; /* drawn as spaces */
    for (; cells; cells -= step) {
        if (p.column + step > width)
            p = (struct place){ p.row + 1, 0 };
        p.column += step;
    }
    return p;
}

struct place place_after(const char *s, size_t n, unsigned width)
{
    struct place p = { 0, 0 };
    for (size_t i = 0, length; i < n; i += length) {
        length = grapheme_length(s + i, n - i);
        p = advance(p, s + i, length, width);
    }
    return p;
}

unsigned rows_above_cursor(const struct drawn_text *d, unsigned width)
{
    const struct place p = place_after(d->text.data, d->text.size, width);
    return p.row + (p.column == width && d->on_cell);
}

size_t begin_of_row(const char *s, size_t n, unsigned row, unsigned width)
{
    struct place p = { 0, 0 };
    size_t i = 0;
    for (size_t length; i < n && p.row < row; i += length) {
        length = grapheme_length(s + i, n - i);
        p = advance(p, s + i, length, width);
        if (p.row == row && s[i] != '\n')
            return i;
    }
    return i;
}
