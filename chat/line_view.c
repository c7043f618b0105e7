/* SPDX-License-Identifier: Apache-2.0 */
/* line_view.c - draws the edited text and its cursor on a terminal.
 *
 * The terminal itself breaks long lines, so that it joins and breaks them again when its width
 * changes, and a copied line has no line breaks. The row of the cursor follows from the widths in
 * grapheme.h, its column from the terminal: the row is drawn a second time, up to the cursor. */
#include "line_view.h"
#include "grapheme.h"
#include "terminal.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static void write_out(const struct line_view *v, const struct text *out)
{
    if (out->failed)
        return;
    for (size_t i = 0; i < out->size;) {
        const ssize_t n = write(v->fd, out->data + i, out->size - i);
        if (n > 0)
            i += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = v->fd, .events = POLLOUT }, 1, -1);
        else if (errno != EINTR)
            return; /* the read of the next key fails too */
    }
}

static void add_move_up(struct text *out, unsigned rows)
{
    if (rows)
        text_addf(out, "\033[%uA", rows);
}

/* Prompt, space and text. */
static struct text join(const struct line_view *v, const struct text *text)
{
    struct text all = { 0 };
    text_add(&all, v->prompt, strlen(v->prompt));
    text_add(&all, " ", 1);
    text_add(&all, text->data, text->size);
    return all;
}

/* Adds the bytes from `begin` to `end` of what join() has returned as a terminal shows them. */
static void add_visible(const struct line_view *v, const struct text *all, size_t begin, size_t end,
                        struct text *out)
{
    const size_t prompt = strlen(v->prompt);
    if (v->color && begin < prompt)
        text_addf(out, "\033[1;32m");
    for (size_t i = begin; i < end; i++) {
        if (v->color && i == prompt)
            text_addf(out, "\033[0m");
        if (all->data[i] == '\n')
            text_add(out, "\r\n", 2);
        else if (all->data[i] == '\t')
            text_addf(out, "%*s", TAB_CELLS, "");
        else
            text_add(out, all->data + i, 1);
    }
}

static unsigned width_of(const struct line_view *v)
{
    enum { DEFAULT_WIDTH = 80 };
    const unsigned width = terminal_width(v->fd);
    return width ? width : DEFAULT_WIDTH;
}

static unsigned height_of(const struct line_view *v)
{
    enum { DEFAULT_HEIGHT = 24 };
    const unsigned height = terminal_height(v->fd);
    return height ? height : DEFAULT_HEIGHT;
}

bool line_view_is_stale(const struct line_view *v)
{
    return v->drawn.text.size && v->drawn.width != width_of(v);
}

static bool is_reflowed(const struct line_view *v, unsigned width)
{
    return v->drawn.text.size && v->drawn.width != width && terminal_reflows();
}

void line_view_resized(struct line_view *v, unsigned cursor_row)
{
    const unsigned width = width_of(v);
    const unsigned rows =
        is_reflowed(v, width) ? rows_above_cursor(&v->drawn, width) : v->hidden + v->cursor_row;
    const unsigned visible = rows < cursor_row ? rows : cursor_row;
    v->hidden = v->drawn_from_begin ? rows - visible : 0;
    v->cursor_row = visible;
    v->drawn.width = width;
}

static void add_erase(const struct line_view *v, unsigned width, struct text *out)
{
    add_move_up(out, is_reflowed(v, width) ? rows_above_cursor(&v->drawn, width) : v->cursor_row);
    text_addf(out, ERASE_FROM_ROW);
}

/* Offset of the first row that is not in the scrollback, at most `at`, the offset of the cursor.
 * Rows there are given up, and drawn again, when they differ from the text or the cursor moves to
 * them. */
static size_t skip_hidden(struct line_view *v, const struct text *all, size_t at,
                          unsigned cursor_row, unsigned width)
{
    const struct text *drawn = &v->drawn.text;
    const size_t from = begin_of_row(all->data, at, v->hidden, width);
    if (v->drawn.width == width && cursor_row >= v->hidden && drawn->size >= from &&
        (from == 0 || memcmp(drawn->data, all->data, from) == 0))
        return from;
    v->hidden = 0;
    return 0;
}

void line_view_draw(struct line_view *v, const struct text *text, size_t cursor)
{
    const unsigned width = width_of(v), height = height_of(v);
    struct text out = { 0 }, all = join(v, text);
    if (all.failed) {
        text_free(&all);
        return;
    }
    const size_t at = all.size - text->size + cursor;
    const bool at_end = at == all.size, before_newline = !at_end && all.data[at] == '\n';
    const struct place end = place_after(all.data, all.size, width);
    struct place here = place_after(all.data, at, width);
    const bool full = here.column == width && !before_newline;
    here.row += full; /* a cursor behind a full row is shown in the next one */

    add_erase(v, width, &out);
    size_t from = skip_hidden(v, &all, at, here.row, width);
    const unsigned rows = end.row + 1 + (end.column == width);
    unsigned first = v->hidden;
    if (here.row >= first + height) {
        first = here.row - height + 1;
        from = begin_of_row(all.data, at, first, width);
        v->hidden = 0;
    }
    const bool cut = rows - first > height;
    size_t to = cut ? begin_of_row(all.data, all.size, first + height, width) : all.size;
    to -= cut && all.data[to - 1] == '\n';

    add_visible(v, &all, from, to, &out);
    if (to == all.size && end.column == width)
        text_addf(&out, " \r"); /* the terminal begins a row at the space */
    if (!at_end) {
        add_move_up(&out, (cut ? first + height : rows) - 1 - here.row);
        text_addf(&out, "\r");
        add_visible(v, &all, begin_of_row(all.data, at, here.row, width), at, &out);
    }
    write_out(v, &out);
    text_free(&out);

    v->cursor_row = here.row - first;
    v->drawn_from_begin = first == v->hidden;
    text_clear(&v->drawn.text);
    text_add(&v->drawn.text, all.data + (v->drawn_from_begin ? 0 : from),
             at - (v->drawn_from_begin ? 0 : from));
    v->drawn.on_cell = full || (!at_end && !before_newline);
    v->drawn.width = width;
    text_free(&all);
}

void line_view_end(struct line_view *v, const struct text *text)
{
    const unsigned width = width_of(v);
    struct text out = { 0 }, all = join(v, text);
    add_erase(v, width, &out);
    if (!all.failed)
        add_visible(v, &all, skip_hidden(v, &all, all.size, UINT_MAX, width), all.size, &out);
    text_add(&out, "\r\n", 2);
    write_out(v, &out);
    text_free(&out);
    text_free(&all);
}

void line_view_begin(struct line_view *v, const char *prompt)
{
    v->prompt = prompt;
    v->cursor_row = v->hidden = 0;
    text_clear(&v->drawn.text);
}

void line_view_free(struct line_view *v) { text_free(&v->drawn.text); }

void line_view_clear_screen(struct line_view *v)
{
    struct text out = { 0 };
    text_addf(&out, "\033[H\033[2J");
    write_out(v, &out);
    text_free(&out);
    line_view_begin(v, v->prompt);
}
