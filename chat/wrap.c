/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - breaks streamed lines between words. */
#include "wrap.h"
#include <utf8proc.h>

enum { TAB = 8, FENCE = 3 };

void wrap_reset(struct wrap *w)
{
    text_free(&w->word);
    *w = (struct wrap){ 0 };
}

static void end_word(struct wrap *w)
{
    text_clear(&w->word);
    w->word_cells = 0;
}

static void end_line(struct wrap *w)
{
    end_word(w);
    w->column = w->backquotes = 0;
    w->line_started = false;
}

static void track_fence(struct wrap *w, char c)
{
    if (c == '`' && !w->line_started && ++w->backquotes == FENCE)
        w->in_code = !w->in_code;
    w->line_started |= c != '`' && c != ' ';
}

static unsigned cells_of(const char *s, size_t n)
{
    utf8proc_int32_t c = 0;
    if (utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)n, &c) < 1)
        return 1; /* ill-formed: shown as one replacement character */
    return (unsigned)utf8proc_charwidth(c);
}

/* Erases the word at the end of the line and begins the next line with it. */
static void move_word(struct wrap *w, struct text *out)
{
    if (w->word_cells)
        text_addf(out, "\033[%uD\033[K", w->word_cells);
    text_add(out, "\n", 1);
    text_add(out, w->word.data ? w->word.data : "", w->word.size);
    w->column = w->word_cells;
}

static void add_character(struct wrap *w, const char *s, size_t n, unsigned width, struct text *out)
{
    /* the last column stays free: terminals differ in the cursor position after it */
    const unsigned cells = cells_of(s, n), most = width - 1;
    if (w->column + cells > most && w->word_cells < w->column && w->word_cells + cells <= most &&
        !w->word.failed)
        move_word(w, out);
    text_add(&w->word, s, n);
    text_add(out, s, n);
    w->word_cells += cells;
    w->column += cells; /* the terminal breaks a word longer than a line */
}

void wrap_add(struct wrap *w, const char *safe, size_t size, unsigned width, struct text *out)
{
    for (size_t i = 0, n; i < size; i += n) {
        const char *s = safe + i;
        n = utf8_length(s, size - i);
        n += n == 0;
        if (*s == '\n') {
            end_line(w);
            text_add(out, s, n);
            continue;
        }
        track_fence(w, *s);
        if (w->in_code) {
            text_add(out, s, n);
        } else if (*s == ' ' || *s == '\t') {
            end_word(w);
            w->column %= width;
            w->column = *s == ' ' ? w->column + 1 : (w->column / TAB + 1) * TAB;
            text_add(out, s, n);
        } else {
            add_character(w, s, n, width, out);
        }
    }
}
