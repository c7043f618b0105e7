/* SPDX-License-Identifier: Apache-2.0 */
/* test_line_editor.c - the parts of the line editor without a terminal: grapheme clusters, editing,
 * rows, keys, history file. */
#include "grapheme.h"
#include "history.h"
#include "key.h"
#include "line_buffer.h"
#include "line_view.h"
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(ok) check((ok), __LINE__, #ok)
#define FAMILY    "\U0001F469\u200D\U0001F469\u200D\U0001F467" /* three emoji, joined */
#define ACUTE     "\u0301"

static int failures;

static void check(bool ok, int line, const char *what)
{
    if (!ok) {
        printf("FAILED: line %d: %s\n", line, what);
        failures++;
    }
}

static void test_graphemes(void)
{
    static const struct {
        const char *text;
        size_t first_bytes;
        unsigned cells;
    } cases[] = {
        { "ab", 1, 2 },
        { "e" ACUTE "x", 3, 2 },
        { "\u65E5\u672C", 3, 4 },
        { FAMILY "x", strlen(FAMILY), 3 },
        { "\U0001F44D\U0001F3FD", 8, 2 }, /* with a skin tone */
        { "\U0001F1E9\U0001F1EA", 8, 2 }, /* a flag */
        { "\t", 1, TAB_CELLS },
        { "\xff\xfe", 1, 2 }, /* ill-formed */
        { ACUTE, 2, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *s = cases[i].text;
        const size_t n = strlen(s);
        if (grapheme_length(s, n) != cases[i].first_bytes || text_cells(s, n) != cases[i].cells) {
            printf("FAILED: grapheme case %zu: %zu bytes, %u cells\n", i, grapheme_length(s, n),
                   text_cells(s, n));
            failures++;
        }
    }
    CHECK(grapheme_last_length("a\n" FAMILY, 2 + strlen(FAMILY)) == strlen(FAMILY));
    CHECK(grapheme_last_length("e" ACUTE "\n", 4) == 1);
    CHECK(text_fit("a\u65E5b", 5, 2) == 1 && text_fit("a\u65E5b", 5, 3) == 4);
}

static bool holds(const struct line_buffer *b, const char *text, size_t cursor)
{
    return strcmp(b->text.data, text) == 0 && b->text.size == strlen(text) && b->cursor == cursor;
}

static void test_buffer(void)
{
    struct line_buffer b = { 0 };
    line_buffer_set(&b, "one two", 7);
    b.cursor = 3;
    CHECK(line_buffer_insert(&b, "\r\n\x1b[1m\x7f\xc2\x9b\r", 10));
    CHECK(holds(&b, "one\n[1m\n two", 8));
    line_buffer_set(&b, "a\xff\0b", 4);
    CHECK(holds(&b,
                "a\uFFFD"
                "b",
                5));
    line_buffer_set(&b, "x" FAMILY "e" ACUTE, 4 + strlen(FAMILY));
    b.cursor = line_buffer_left(&b);
    CHECK(b.cursor == 1 + strlen(FAMILY));
    line_buffer_delete(&b, line_buffer_left(&b));
    CHECK(holds(&b, "xe" ACUTE, 1));
    CHECK(line_buffer_right(&b) == 4);
    line_buffer_set(&b, "first word, second", 18);
    line_buffer_kill(&b, line_buffer_word_left(&b));
    CHECK(holds(&b, "first word, ", 12));
    b.cursor = 0;
    CHECK(line_buffer_word_right(&b) == 5);
    line_buffer_yank(&b);
    CHECK(holds(&b, "secondfirst word, ", 6));
    line_buffer_set(&b, "\u65E5\u672C!\nabcd\nx", 14);
    CHECK(line_buffer_up(&b) && b.cursor == 9);
    b.cursor = 11;
    CHECK(line_buffer_up(&b) && b.cursor == 3); /* cell 3 is the second half of a character */
    CHECK(!line_buffer_up(&b));
    CHECK(line_buffer_line_end(&b) == 7 && line_buffer_line_begin(&b) == 0);
    CHECK(line_buffer_down(&b) && line_buffer_down(&b) && !line_buffer_down(&b));
    char *large = calloc(1, MAX_TURN + 1);
    memset(large, 'x', MAX_TURN);
    line_buffer_set(&b, "", 0);
    CHECK(line_buffer_insert(&b, large, MAX_TURN) && b.text.size == MAX_TURN);
    CHECK(!line_buffer_insert(&b, "y", 1) && b.text.size == MAX_TURN);
    free(large);
    line_buffer_free(&b);
}

static bool is_at(const char *text, unsigned width, unsigned row, unsigned column)
{
    const struct place p = place_after(text, strlen(text), width);
    return p.row == row && p.column == column;
}

static void test_layout(void)
{
    CHECK(is_at("abc", 4, 0, 3));
    CHECK(is_at("abcd", 4, 0, 4)); /* full: the next character begins a row */
    CHECK(is_at("abcde", 4, 1, 1));
    CHECK(is_at("abcd\n", 4, 1, 0));
    CHECK(is_at("abc\u65E5", 4, 1, 2)); /* a wide character does not fit */
    CHECK(is_at("abc\t", 4, 1, 3));
    CHECK(begin_of_row("abcdef", 6, 1, 4) == 4);
    CHECK(begin_of_row("ab\ncd", 5, 1, 4) == 3);
    CHECK(begin_of_row("abc\u65E5", 6, 1, 4) == 3);
    CHECK(begin_of_row("abc", 3, 7, 4) == 3);
    struct drawn_text d = { .width = 10 };
    text_add(&d.text, "abcdefgh", 8);
    CHECK(rows_above_cursor(&d, 4) == 1 && rows_above_cursor(&d, 3) == 2);
    d.on_cell = true;
    CHECK(rows_above_cursor(&d, 4) == 2);
    text_free(&d.text);
}

/* Every cursor on small terminals, down to one cell: what is drawn ends at the cursor. */
static void test_view(void)
{
    static const char sample[] = ACUTE "ab\u65E5\n" FAMILY "\t" ACUTE ACUTE "c\n\n\u65E5d";
    int outer, inner;
    char output[4096];
    struct text text = { 0 };
    struct line_view v = { .color = true };
    text_add(&text, sample, strlen(sample));
    CHECK(openpty(&outer, &inner, NULL, NULL, NULL) == 0);
    CHECK(fcntl(outer, F_SETFL, O_NONBLOCK) == 0);
    v.fd = inner;
    line_view_begin(&v, ">");
    for (unsigned short rows = 1; rows <= 6; rows++)
        for (unsigned short columns = 1; columns <= 9; columns++) {
            struct winsize size = { rows, columns, 0, 0 };
            CHECK(ioctl(outer, TIOCSWINSZ, &size) == 0);
            line_view_resized(&v, columns % rows);
            for (size_t cursor = 0; cursor <= text.size; cursor++) {
                line_view_draw(&v, &text, cursor);
                CHECK(!v.drawn.text.failed && v.drawn.text.size <= 2 + cursor);
                CHECK(v.cursor_row < rows);
                while (read(outer, output, sizeof output) > 0)
                    ;
            }
        }
    line_view_free(&v);
    text_free(&text);
    close(inner);
    close(outer);
}

static void ignore(void *user) { (void)user; }

static void test_keys(void)
{
    static const struct {
        const char *bytes;
        enum key key;
        const char *text;
    } cases[] = {
        { "\u65E5e", KEY_TEXT, "\u65E5e" },
        { "\r", KEY_ENTER, NULL },
        { "\033[A", KEY_UP, NULL },
        { "\033OB", KEY_DOWN, NULL },
        { "\033[1;5C", KEY_WORD_RIGHT, NULL },
        { "\033[1;2D", KEY_LEFT, NULL },
        { "\033[3~", KEY_DELETE, NULL },
        { "\033[99999;99999;1x", KEY_IGNORED, NULL },
        { "\033\r", KEY_NEWLINE, NULL },
        { "\033[200~a\r\033[Ab\033[201~", KEY_PASTE, "a\r\033[Ab" },
        { "\033[200~0123456789012345678901234567890123456789\033[201~", KEY_PASTE, NULL },
        { "\033[12;40R", KEY_POSITION, NULL },
        { "\x02", KEY_LEFT, NULL },
        { "\x7f", KEY_BACKSPACE, NULL },
    };
    enum { MAX_PASTE = 16 };
    int ends[2];
    CHECK(pipe(ends) == 0);
    struct key_reader r = { .fd = ends[0], .on_screen_change = ignore };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t n = strlen(cases[i].bytes);
        CHECK(write(ends[1], cases[i].bytes, n) == (ssize_t)n && write(ends[1], "\n", 1) == 1);
        const enum key key = key_read(&r, MAX_PASTE);
        if (key != cases[i].key || (cases[i].text && strcmp(r.text.data, cases[i].text) != 0)) {
            printf("FAILED: key case %zu: %d '%s'\n", i, key, r.text.data ? r.text.data : "");
            failures++;
        }
        CHECK(key != KEY_PASTE || r.text.size <= MAX_PASTE + 8);
        CHECK(key != KEY_POSITION || r.row == 11);
        CHECK(key_read(&r, MAX_PASTE) == KEY_ENTER && !key_pending(&r, 0));
    }
    close(ends[1]);
    CHECK(key_read(&r, MAX_PASTE) == KEY_CLOSED);
    close(ends[0]);
    text_free(&r.text);
}

static void test_history(void)
{
    char folder[] = "/tmp/quire_history_XXXXXX", path[64], command[64];
    size_t found;
    struct stat st;
    CHECK(mkdtemp(folder) != NULL);
    setenv("XDG_STATE_HOME", folder, 1);
    struct history *h = history_open();
    history_add(h, "one");
    history_add(h, "two\nlines \\ \u65E5");
    history_add(h, "two\nlines \\ \u65E5"); /* not twice */
    history_close(h);
    h = history_open();
    CHECK(history_size(h) == 2 && strcmp(history_entry(h, 0), "one") == 0);
    CHECK(strcmp(history_entry(h, 1), "two\nlines \\ \u65E5") == 0);
    CHECK(history_find(h, 2, "ne", &found) && found == 1);
    CHECK(history_find(h, found, "ne", &found) && found == 0 && !history_find(h, 0, "ne", &found));
    history_close(h);
    snprintf(path, sizeof path, "%s/quire/history", folder);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 077) == 0);
    FILE *f = fopen(path, "w"); /* as libedit writes it */
    fputs("_HiStOrY_V2_\na\\040b\\134c\\012d\n", f);
    for (int i = 0; i < 2500; i++)
        fprintf(f, "entry%d\n", i);
    fclose(f);
    h = history_open();
    CHECK(history_size(h) == 1000 && strcmp(history_entry(h, 999), "entry2499") == 0);
    history_close(h);
    h = history_open(); /* the file has been shortened */
    CHECK(history_size(h) == 1000 && stat(path, &st) == 0 && st.st_size < 12000);
    history_close(h);
    f = fopen(path, "w");
    fputs("_HiStOrY_V2_\na\\040b\\134c\\012d\n", f);
    fclose(f);
    h = history_open();
    CHECK(history_size(h) == 1 && strcmp(history_entry(h, 0), "a b\\c\nd") == 0);
    history_close(h);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
}

int main(void)
{
    test_graphemes();
    test_buffer();
    test_layout();
    test_view();
    test_keys();
    test_history();
    printf("%d failed\n", failures);
    return failures != 0;
}
