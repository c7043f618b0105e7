/* SPDX-License-Identifier: Apache-2.0 */
/* test_wrap.c - line breaking between words, checked on an emulated terminal. */
#include "wrap.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 24, LINES = 64, CELL = 8 };

/* A cell holds the bytes of its character; the right half of a wide character is empty. */
struct screen {
    char cell[LINES][WIDTH][CELL];
    int line, column;
    bool past_end; /* the last column is written; the next character begins a line */
};

static int failures;

static int width_of(const char *s)
{
    const unsigned char lead = (unsigned char)*s; /* covers the characters of this test */
    return lead >= 0xe3 && lead <= 0xe9 ? 2 : 1;
}

static size_t show(struct screen *t, const char *s)
{
    const size_t n = (unsigned char)*s < 0x80 ? 1 : (unsigned char)*s < 0xe0 ? 2 : 3;
    if (t->past_end || t->column + width_of(s) > WIDTH) {
        t->line++;
        t->column = 0;
        t->past_end = false;
    }
    memcpy(t->cell[t->line][t->column], s, n);
    t->cell[t->line][t->column][n] = 0;
    t->column += width_of(s);
    if (t->column == WIDTH) {
        t->past_end = true;
        t->column = WIDTH - 1;
    }
    return n;
}

/* Executes text, cursor left (CUB) and erase to the end of the line (EL). */
static void play(struct screen *t, const char *s)
{
    int n, used;
    while (*s) {
        if (*s == '\n') {
            t->line++, t->column = 0, t->past_end = false;
            s++;
        } else if (sscanf(s, "\033[%dD%n", &n, &used) == 1 && s[used - 1] == 'D') {
            t->column = n > t->column ? 0 : t->column - n;
            t->past_end = false;
            s += used;
        } else if (strncmp(s, "\033[K", 3) == 0) {
            for (int c = t->column; c < WIDTH; c++)
                t->cell[t->line][c][0] = 0;
            s += 3;
        } else {
            s += show(t, s);
        }
    }
}

static void line_of(const struct screen *t, int line, char *out)
{
    *out = 0;
    for (int c = 0; c < WIDTH; c++)
        strcat(out, t->cell[line][c]);
    for (size_t n = strlen(out); n && out[n - 1] == ' ';) /* trailing spaces are invisible */
        out[--n] = 0;
}

/* Streams text in pieces of `piece` bytes, 0 = whole, and compares the lines of the screen. */
static void expect(const char *text, size_t piece, const char *const *lines)
{
    static struct screen t;
    memset(&t, 0, sizeof t);
    struct wrap w = { 0 };
    struct text out = { 0 };
    for (size_t i = 0, n; text[i]; i += n) {
        n = strlen(text + i);
        if (piece && n > piece) {
            n = piece;
            while (((unsigned char)text[i + n] & 0xc0) == 0x80) /* whole characters */
                n++;
        }
        text_clear(&out);
        wrap_add(&w, text + i, n, WIDTH, &out);
        play(&t, out.data ? out.data : "");
    }
    wrap_reset(&w);
    text_free(&out);
    for (int l = 0; l <= t.line || lines[l]; l++) {
        char got[WIDTH * CELL + 1];
        line_of(&t, l, got);
        if (!lines[l] || strcmp(got, lines[l]) != 0) {
            printf("FAILED: pieces of %zu, line %d is \"%s\", not \"%s\"\n", piece, l, got,
                   lines[l] ? lines[l] : "(none)");
            failures++;
            return;
        }
    }
}

int main(void)
{
    static const struct {
        const char *text, *lines[8];
    } cases[] = {
        { "short", { "short" } },
        { "one two three four five six seven", { "one two three four five", "six seven" } },
        { "exactly twenty three wide", { "exactly twenty three", "wide" } },
        { "exactly twenty threes wi", { "exactly twenty threes", "wi" } },
        { "a line\nand another one which is longer",
          { "a line", "and another one which", "is longer" } },
        { "supercalifragilisticexpialidocious end",
          { "supercalifragilisticexpi", "alidocious end" } },
        { "x supercalifragilisticexpialidocious",
          { "x", "supercalifragilisticexpi", "alidocious" } },
        { "\xc3\xa4\xc3\xb6 eins zwei drei vier f\xc3\xbcnf",
          { "\xc3\xa4\xc3\xb6 eins zwei drei vier", "f\xc3\xbcnf" } },
        { "ab \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac "
          "\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5",
          { "ab \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac",
            "\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5" } },
        { "```c\nint a; /* a comment here */\n```\nafter the code come words",
          { "```c", "int a; /* a comment here", " */", "```", "after the code come", "words" } },
        { "a `tick` ``` does not begin code", { "a `tick` ``` does not", "begin code" } },
        { "", { "" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 0; piece < 12; piece++)
            expect(cases[i].text, piece, cases[i].lines);
    printf("%d failed\n", failures);
    return failures != 0;
}
