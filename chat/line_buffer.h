/* SPDX-License-Identifier: Apache-2.0 */
/* line_buffer.h - the text being edited, its cursor and the last deleted piece. */
#ifndef QUIRE_CHAT_LINE_BUFFER_H
#define QUIRE_CHAT_LINE_BUFFER_H
#include "text.h"

/* The text is UTF-8 whose only control characters are newline and tab. The cursor is the offset of
 * a grapheme cluster. Zeroes = empty. */
struct line_buffer {
    struct text text;
    size_t cursor;      /* in bytes */
    struct text killed; /* for "yank" */
};

void line_buffer_free(struct line_buffer *b);
void line_buffer_set(struct line_buffer *b, const char *s, size_t n); /* cursor at the end */

/* Inserts at the cursor. Line ends become newlines, other control characters are dropped,
 * ill-formed bytes become U+FFFD. False: nothing was inserted, because the text would be longer
 * than MAX_TURN or memory ran out. */
bool line_buffer_insert(struct line_buffer *b, const char *s, size_t n);
enum { MAX_TURN = 16 << 20 }; /* bytes */

/* Offsets relative to the cursor. Lines are those between newlines. */
size_t line_buffer_left(const struct line_buffer *b);
size_t line_buffer_right(const struct line_buffer *b);
size_t line_buffer_word_left(const struct line_buffer *b);
size_t line_buffer_word_right(const struct line_buffer *b);
size_t line_buffer_line_begin(const struct line_buffer *b);
size_t line_buffer_line_end(const struct line_buffer *b);

/* Moves the cursor to the line above or below, to the same cell if there is one. False: there is
 * no such line. */
bool line_buffer_up(struct line_buffer *b);
bool line_buffer_down(struct line_buffer *b);

/* Deletes between the cursor and `other` and puts the cursor there; kill keeps the piece for
 * yank. */
void line_buffer_delete(struct line_buffer *b, size_t other);
void line_buffer_kill(struct line_buffer *b, size_t other);
void line_buffer_yank(struct line_buffer *b);

#endif
