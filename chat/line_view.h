/* SPDX-License-Identifier: Apache-2.0 */
/* line_view.h - draws the edited text and its cursor on a terminal. */
#ifndef QUIRE_CHAT_LINE_VIEW_H
#define QUIRE_CHAT_LINE_VIEW_H
#include "line_layout.h"

struct line_view {
    int fd;
    bool color;
    const char *prompt;
    unsigned cursor_row;   /* relative to the first row that is drawn */
    unsigned hidden;       /* rows of the text that a resize has moved to the scrollback */
    bool drawn_from_begin; /* `drawn` begins with the prompt, not with the first row drawn */
    struct drawn_text drawn;
};

/* Begins a new text in column 0. The prompt is borrowed until the next call. */
void line_view_begin(struct line_view *v, const char *prompt);
void line_view_free(struct line_view *v);

/* Draws text in place of what was drawn before. Text that is higher than the terminal is cut to the
 * rows around the cursor. */
void line_view_draw(struct line_view *v, const struct text *text, size_t cursor);

/* Whether the width of the terminal is another than when the text was drawn. */
bool line_view_is_stale(const struct line_view *v);

/* Finds what was drawn after the terminal has changed its size. cursor_row: row of its cursor,
 * 0 = the top of the screen. */
void line_view_resized(struct line_view *v, unsigned cursor_row);

/* Draws the whole text and moves to the beginning of the row after it. */
void line_view_end(struct line_view *v, const struct text *text);

/* Erases the screen; the next line_view_draw() starts at its top. */
void line_view_clear_screen(struct line_view *v);

#endif
