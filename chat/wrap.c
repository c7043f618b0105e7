/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - breaks the lines of an answer between words while it streams. */
#include "wrap.h"
#include <utf8proc.h>

enum { TAB = 8, FENCE = 3 };

void wrap_clear(struct wrap *w)
{
    text_free(&w->word);
    *w = (struct wrap){ 0 };
}

static void end_word(struct wrap *w)
{
    text_clear(&w->word);
    w->cells = 0;
}

static void end_line(struct wrap *w)
{
    end_word(w);
    w->column = w->ticks = 0;
    w->inside_line = false;
}

static void note_fence(struct wrap *w, char c)
{
    if (c == '`' && !w->inside_line && ++w->ticks == FENCE)
        w->in_code = !w->in_code;
    w->inside_line |= c != '`' && c != ' ';
}

static unsigned cells_of(const char *s, size_t n)
{
    utf8proc_int32_t c;
    if (utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)n, &c) < 1)
        return 1; /* shown as one sign */
    return (unsigned)utf8proc_charwidth(c);
}

/* Takes the word off the end of this line and begins the next one with it. */
static void move_word(struct wrap *w, struct text *out)
{
    if (w->cells)
        text_addf(out, "\033[%uD\033[K", w->cells);
    text_add(out, "\n", 1);
    text_add(out, w->word.data ? w->word.data : "", w->word.size);
    w->column = w->cells;
}

static void add_letter(struct wrap *w, const char *s, size_t n, unsigned width, struct text *out)
{
    /* the last column stays free: what the cursor does there differs from terminal to terminal */
    const unsigned cells = cells_of(s, n), most = width - 1;
    if (w->column + cells > most && w->cells < w->column && w->cells + cells <= most &&
        !w->word.failed)
        move_word(w, out);
    text_add(&w->word, s, n);
    text_add(out, s, n);
    w->cells += cells;
    w->column += cells; /* a word longer than a line is left to the terminal */
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
        note_fence(w, *s);
        if (w->in_code) {
            text_add(out, s, n);
        } else if (*s == ' ' || *s == '\t') {
            end_word(w);
            w->column %= width;
            w->column = *s == ' ' ? w->column + 1 : (w->column / TAB + 1) * TAB;
            text_add(out, s, n);
        } else {
            add_letter(w, s, n, width, out);
        }
    }
}
