/* SPDX-License-Identifier: Apache-2.0 */
/* line_buffer.c - the text being edited, its cursor and the last deleted piece. */
#include "line_buffer.h"
#include "grapheme.h"
#include <string.h>

void line_buffer_free(struct line_buffer *b)
{
    text_free(&b->text);
    text_free(&b->killed);
    b->cursor = 0;
}

void line_buffer_set(struct line_buffer *b, const char *s, size_t n)
{
    text_clear(&b->text);
    b->cursor = 0;
    (void)line_buffer_insert(b, s, n);
}

/* C0 controls, DEL, and the C1 controls U+0080 .. U+009F, which some terminals execute. */
static bool is_control(const char *s, size_t length)
{
    const unsigned char c = (unsigned char)s[0];
    return c < 0x20 || c == 0x7F || (length == 2 && c == 0xC2 && (unsigned char)s[1] < 0xA0);
}

static void add_clean(struct text *out, const char *s, size_t n)
{
    for (size_t i = 0, length; i < n; i += length ? length : 1) {
        length = utf8_length(s + i, n - i);
        if (!length)
            text_add(out, "\xEF\xBF\xBD", 3); /* U+FFFD */
        else if (s[i] == '\r')
            text_add(out, "\n", i + 1 < n && s[i + 1] == '\n' ? 0 : 1);
        else if (s[i] == '\n' || s[i] == '\t' || !is_control(s + i, length))
            text_add(out, s + i, length);
    }
}

bool line_buffer_insert(struct line_buffer *b, const char *s, size_t n)
{
    struct text clean = { 0 };
    const size_t size = b->text.size;
    if (n > MAX_TURN)
        return false;
    add_clean(&clean, s, n);
    text_add(&clean, "", 0);
    const bool fits = !clean.failed && clean.size <= MAX_TURN - size;
    if (fits)
        text_add(&b->text, clean.data, clean.size); /* grows it; the bytes are placed below */
    const bool ok = fits && !b->text.failed;
    if (ok) {
        char *at = b->text.data + b->cursor;
        memmove(at + clean.size, at, size - b->cursor);
        memcpy(at, clean.data, clean.size);
        b->cursor += clean.size;
    }
    b->text.failed = false;
    text_free(&clean);
    return ok;
}

size_t line_buffer_left(const struct line_buffer *b)
{
    return b->cursor ? b->cursor - grapheme_last_length(b->text.data, b->cursor) : 0;
}

size_t line_buffer_right(const struct line_buffer *b)
{
    const size_t rest = b->text.size - b->cursor;
    return b->cursor + (rest ? grapheme_length(b->text.data + b->cursor, rest) : 0);
}

/* Letters and digits of ASCII, and everything beyond ASCII. */
static bool in_word(char c)
{
    const char lower = c | 0x20;
    return (unsigned char)c >= 0x80 || (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
}

size_t line_buffer_word_left(const struct line_buffer *b)
{
    size_t at = b->cursor;
    while (at && !in_word(b->text.data[at - 1]))
        at--;
    while (at && in_word(b->text.data[at - 1]))
        at--;
    return at;
}

size_t line_buffer_word_right(const struct line_buffer *b)
{
    size_t at = b->cursor;
    while (at < b->text.size && !in_word(b->text.data[at]))
        at++;
    while (at < b->text.size && in_word(b->text.data[at]))
        at++;
    return at;
}

static size_t begin_of_line(const struct line_buffer *b, size_t at)
{
    while (at && b->text.data[at - 1] != '\n')
        at--;
    return at;
}

static size_t end_of_line(const struct line_buffer *b, size_t at)
{
    while (at < b->text.size && b->text.data[at] != '\n')
        at++;
    return at;
}

size_t line_buffer_line_begin(const struct line_buffer *b) { return begin_of_line(b, b->cursor); }
size_t line_buffer_line_end(const struct line_buffer *b) { return end_of_line(b, b->cursor); }

/* Puts the cursor into the line from begin to end, at its present cell. */
static void move_to_line(struct line_buffer *b, size_t begin, size_t end)
{
    const char *s = b->text.data;
    const size_t from = line_buffer_line_begin(b);
    b->cursor = begin + text_fit(s + begin, end - begin, text_cells(s + from, b->cursor - from));
}

bool line_buffer_up(struct line_buffer *b)
{
    const size_t begin = line_buffer_line_begin(b);
    if (begin)
        move_to_line(b, begin_of_line(b, begin - 1), begin - 1);
    return begin > 0;
}

bool line_buffer_down(struct line_buffer *b)
{
    const size_t end = line_buffer_line_end(b);
    if (end == b->text.size)
        return false;
    move_to_line(b, end + 1, end_of_line(b, end + 1));
    return true;
}

void line_buffer_delete(struct line_buffer *b, size_t other)
{
    const size_t from = other < b->cursor ? other : b->cursor;
    const size_t to = other < b->cursor ? b->cursor : other;
    if (from == to)
        return;
    memmove(b->text.data + from, b->text.data + to, b->text.size - to + 1);
    b->text.size -= to - from;
    b->cursor = from;
}

void line_buffer_kill(struct line_buffer *b, size_t other)
{
    const size_t from = other < b->cursor ? other : b->cursor;
    const size_t to = other < b->cursor ? b->cursor : other;
    if (from == to)
        return;
    text_clear(&b->killed);
    text_add(&b->killed, b->text.data + from, to - from);
    line_buffer_delete(b, other);
}

void line_buffer_yank(struct line_buffer *b)
{
    if (b->killed.size && !b->killed.failed)
        (void)line_buffer_insert(b, b->killed.data, b->killed.size);
}
