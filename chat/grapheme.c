/* SPDX-License-Identifier: Apache-2.0 */
/* grapheme.c - grapheme clusters: the units of cursor movement, and their width on a terminal. */
#include "grapheme.h"
#include <utf8proc.h>

/* Reads one code point and returns its bytes. An ill-formed byte counts as U+FFFD, as which it is
 * shown. */
static size_t read_code_point(const char *s, size_t n, utf8proc_int32_t *c)
{
    const utf8proc_ssize_t length =
        utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)n, c);
    if (length >= 1)
        return (size_t)length;
    *c = 0xFFFD;
    return 1;
}

size_t grapheme_length(const char *s, size_t n)
{
    utf8proc_int32_t before = 0, c = 0, state = 0;
    size_t length = read_code_point(s, n, &before);
    while (length < n) {
        const size_t next = read_code_point(s + length, n - length, &c);
        if (utf8proc_grapheme_break_stateful(before, c, &state))
            break;
        before = c;
        length += next;
    }
    return length;
}

size_t grapheme_last_length(const char *s, size_t n)
{
    size_t begin = n - 1;
    while (begin && s[begin - 1] != '\n')
        begin--;
    for (;;) {
        const size_t length = grapheme_length(s + begin, n - begin);
        if (begin + length >= n)
            return n - begin;
        begin += length;
    }
}

static int is_emoji_modifier(utf8proc_int32_t c) { return c >= 0x1F3FB && c <= 0x1F3FF; }

unsigned grapheme_cells(const char *s, size_t n)
{
    enum { ZERO_WIDTH_JOINER = 0x200D };
    utf8proc_int32_t before = 0, c = 0;
    unsigned cells = 0;
    for (size_t i = 0; i < n; before = c) {
        i += read_code_point(s + i, n - i, &c);
        const int width = c == '\t' ? TAB_CELLS : utf8proc_charwidth(c);
        const int joined = width == 2 && (before == ZERO_WIDTH_JOINER || is_emoji_modifier(c));
        if (!joined || cells == 0)
            cells += (unsigned)width;
    }
    return cells;
}

unsigned text_cells(const char *s, size_t n)
{
    unsigned cells = 0;
    for (size_t i = 0, length; i < n; i += length) {
        length = grapheme_length(s + i, n - i);
        cells += grapheme_cells(s + i, length);
    }
    return cells;
}

size_t text_fit(const char *s, size_t n, unsigned cells)
{
    size_t i = 0;
    while (i < n) {
        const size_t length = grapheme_length(s + i, n - i);
        const unsigned width = grapheme_cells(s + i, length);
        if (width > cells)
            break;
        cells -= width;
        i += length;
    }
    return i;
}
