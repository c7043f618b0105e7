/* SPDX-License-Identifier: Apache-2.0 */
/* line_editor.c - editing of a turn on a terminal, with history.
 *
 * Why no library does it: libedit counts a combining mark as a cell, inserts the lines of a paste
 * one by one and draws the text again below itself when the width changes; readline has the GPL;
 * replxx and isocline are not packaged in Debian 12. */
#include "line_editor.h"
#include "grapheme.h"
#include "history.h"
#include "interrupt.h"
#include "key.h"
#include "line_buffer.h"
#include "line_view.h"
#include "terminal.h"
#include "terminal_mode.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct line_editor {
    FILE *screen; /* standard error, or /dev/tty if that is redirected */
    complete_fn *complete;
    const void *complete_user;
    struct line_buffer buffer;
    struct line_view view;
    struct key_reader keys;
    unsigned queries; /* POSITION_QUERYs without an answer yet */
    struct history *history;
    size_t shown;      /* history entry in the buffer; history_size() = none */
    struct text draft; /* what was typed before an entry was shown */
};

static void draw(struct line_editor *e)
{
    line_view_draw(&e->view, &e->buffer.text, e->buffer.cursor);
}

static void query_position(struct line_editor *e)
{
    e->queries++;
    fputs(POSITION_QUERY, e->screen);
    fflush(e->screen);
}

/* After a change of the size the text is drawn when the terminal has told where its cursor is. */
static void on_screen_change(void *editor)
{
    struct line_editor *e = editor;
    if (terminal_mode_was_resumed()) {
        line_view_begin(&e->view, e->view.prompt);
        draw(e);
    } else {
        query_position(e);
    }
}

/* Draws and reads a key. Text that arrives in pieces is drawn once. */
static enum key next_key(struct line_editor *e)
{
    enum { ANSWER_TIMEOUT = 1000 }; /* milliseconds, for terminals that do not answer */
    for (;;) {
        if (e->queries == 0 && line_view_is_stale(&e->view))
            query_position(e);
        if (!key_pending(&e->keys, e->queries ? ANSWER_TIMEOUT : 0)) {
            e->queries = 0;
            draw(e);
        }
        const enum key key = key_read(&e->keys, MAX_TURN);
        if (key == KEY_INTERRUPT)
            return key;
        interrupts_reset(); /* only two Ctrl-C without a key between them exit */
        if (key != KEY_POSITION)
            return key;
        if (e->queries && --e->queries == 0)
            line_view_resized(&e->view, e->keys.row);
    }
}

struct line_editor *line_editor_open(bool color, complete_fn *complete, const void *complete_user)
{
    if (!terminal_has_cursor(0))
        return NULL;
    struct line_editor *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->screen = isatty(2) ? stderr : fopen("/dev/tty", "we");
    e->history = history_open();
    if (!e->screen || !e->history || !terminal_mode_open(fileno(e->screen))) {
        line_editor_close(e);
        return NULL;
    }
    e->complete = complete;
    e->complete_user = complete_user;
    e->keys.on_screen_change = on_screen_change;
    e->keys.user = e;
    e->view.fd = fileno(e->screen);
    e->view.color = color;
    return e;
}

void line_editor_close(struct line_editor *e)
{
    if (!e)
        return;
    terminal_mode_close();
    line_buffer_free(&e->buffer);
    line_view_free(&e->view);
    history_close(e->history);
    text_free(&e->keys.text);
    text_free(&e->draft);
    if (e->screen && e->screen != stderr)
        fclose(e->screen);
    free(e);
}

/* The bell: a key that has no effect here. */
static void beep(const struct line_editor *e)
{
    fputc('\a', e->screen);
    fflush(e->screen);
}

/* ---- History */

static void show_entry(struct line_editor *e, size_t i)
{
    const size_t n = history_size(e->history);
    if (e->shown == n && i < n) {
        text_clear(&e->draft);
        text_add(&e->draft, e->buffer.text.data, e->buffer.text.size);
    }
    e->shown = i;
    if (i < n) {
        const char *entry = history_entry(e->history, i);
        line_buffer_set(&e->buffer, entry, strlen(entry));
    } else {
        line_buffer_set(&e->buffer, e->draft.data, e->draft.size);
    }
}

static void move_up(struct line_editor *e)
{
    if (line_buffer_up(&e->buffer))
        return;
    if (e->shown)
        show_entry(e, e->shown - 1);
    else
        beep(e);
}

static void move_down(struct line_editor *e)
{
    if (line_buffer_down(&e->buffer))
        return;
    if (e->shown < history_size(e->history))
        show_entry(e, e->shown + 1);
    else
        beep(e);
}

/* Reads the words of a search and shows the newest entry with them until another key, which it
 * returns. Ctrl-R finds older ones; Ctrl-G and Escape return to the text before the search. */
static enum key search_history(struct line_editor *e)
{
    struct text words = { 0 }, prompt = { 0 };
    const size_t before = e->shown;
    const char *outer = e->view.prompt;
    size_t found;
    enum key key;
    text_add(&words, "", 0);
    for (;;) {
        text_clear(&prompt);
        text_addf(&prompt, "search '");
        text_add(&prompt, words.data, words.size);
        text_add(&prompt, "':", 2);
        e->view.prompt = prompt.failed ? outer : prompt.data;
        key = next_key(e);
        size_t end = e->shown + (e->shown < history_size(e->history));
        if (key == KEY_TEXT)
            text_add(&words, e->keys.text.data, e->keys.text.size);
        else if (key == KEY_BACKSPACE && words.size)
            words.data[words.size -= grapheme_last_length(words.data, words.size)] = 0;
        else if (key == KEY_SEARCH)
            end = e->shown;
        else
            break;
        if (words.size && history_find(e->history, end, words.data, &found))
            show_entry(e, found);
        else if (words.size)
            beep(e);
    }
    if (key == KEY_CANCEL && e->shown != before)
        show_entry(e, before);
    e->view.prompt = outer;
    text_free(&words);
    text_free(&prompt);
    return key == KEY_CANCEL ? KEY_IGNORED : key;
}

/* ---- Completion */

static void list_candidates(struct line_editor *e, const struct completion *c)
{
    struct text list = { 0 };
    for (size_t i = 0; i < c->n; i++) {
        text_add_escaped(&list, c->candidates[i], strlen(c->candidates[i]));
        text_addf(&list, i + 1 < c->n ? "  " : c->more ? "  ...\n" : "\n");
    }
    line_view_end(&e->view, &e->buffer.text);
    if (!list.failed)
        fwrite(list.data, 1, list.size, e->screen);
    fflush(e->screen);
    text_free(&list);
    line_view_begin(&e->view, e->view.prompt);
}

static void complete(struct line_editor *e)
{
    struct line_buffer *b = &e->buffer;
    struct completion c;
    e->complete(e->complete_user, b->text.data, b->cursor, &c);
    const size_t typed = b->cursor - c.begin, common = c.n ? completion_common(&c) : 0;
    if (common > typed)
        (void)line_buffer_insert(b, c.candidates[0] + typed, common - typed);
    else if (c.n > 1)
        list_candidates(e, &c);
    else if (c.n == 0)
        beep(e);
    completion_free(&c);
}

/* ---- Keys */

/* Moves the cursor or deletes. */
static void edit(struct line_editor *e, enum key key)
{
    struct line_buffer *b = &e->buffer;
    switch (key) {
    case KEY_LEFT:
        b->cursor = line_buffer_left(b);
        break;
    case KEY_RIGHT:
        b->cursor = line_buffer_right(b);
        break;
    case KEY_WORD_LEFT:
        b->cursor = line_buffer_word_left(b);
        break;
    case KEY_WORD_RIGHT:
        b->cursor = line_buffer_word_right(b);
        break;
    case KEY_LINE_BEGIN:
        b->cursor = line_buffer_line_begin(b);
        break;
    case KEY_LINE_END:
        b->cursor = line_buffer_line_end(b);
        break;
    case KEY_BACKSPACE:
        line_buffer_delete(b, line_buffer_left(b));
        break;
    case KEY_DELETE:
    case KEY_DELETE_OR_END:
        line_buffer_delete(b, line_buffer_right(b));
        break;
    case KEY_KILL_WORD_LEFT:
        line_buffer_kill(b, line_buffer_word_left(b));
        break;
    case KEY_KILL_WORD_RIGHT:
        line_buffer_kill(b, line_buffer_word_right(b));
        break;
    case KEY_KILL_TEXT:
        b->cursor = 0;
        line_buffer_kill(b, b->text.size);
        break;
    case KEY_KILL_LINE_END:
        line_buffer_kill(b, line_buffer_line_end(b));
        break;
    case KEY_YANK:
        line_buffer_yank(b);
        break;
    default:
        break;
    }
}

static void insert(struct line_editor *e, const char *s, size_t n)
{
    if (!line_buffer_insert(&e->buffer, s, n))
        beep(e);
}

/* Inserts a paste without the newlines at its end: Enter sends the turn. */
static void insert_paste(struct line_editor *e)
{
    const struct text *t = &e->keys.text;
    size_t n = t->failed ? 0 : t->size;
    while (n && (t->data[n - 1] == '\n' || t->data[n - 1] == '\r'))
        n--;
    if (n)
        insert(e, t->data, n);
}

/* Handles a key that does not end the turn. */
static void handle(struct line_editor *e, enum key key)
{
    switch (key) {
    case KEY_TEXT:
        insert(e, e->keys.text.data, e->keys.text.size);
        break;
    case KEY_PASTE:
        insert_paste(e);
        break;
    case KEY_NEWLINE:
        insert(e, "\n", 1);
        break;
    case KEY_UP:
        move_up(e);
        break;
    case KEY_DOWN:
        move_down(e);
        break;
    case KEY_TAB:
        complete(e);
        break;
    case KEY_CLEAR_SCREEN:
        line_view_clear_screen(&e->view);
        break;
    default:
        edit(e, key);
    }
}

static bool ends_turn(const struct line_editor *e, enum key key)
{
    return key == KEY_ENTER || key == KEY_INTERRUPT || key == KEY_CLOSED ||
           (key == KEY_DELETE_OR_END && e->buffer.text.size == 0);
}

enum input_result line_editor_read(struct line_editor *e, const char *prompt, struct text *line)
{
    struct text *typed = &e->buffer.text;
    enum key key;
    line_buffer_set(&e->buffer, "", 0);
    e->shown = history_size(e->history);
    e->queries = 0;
    (void)terminal_mode_was_resumed();
    terminal_mode_edit(true);
    line_view_begin(&e->view, prompt);
    for (;;) {
        key = next_key(e);
        if (key == KEY_SEARCH)
            key = search_history(e);
        if (ends_turn(e, key))
            break;
        handle(e, key);
    }
    line_view_end(&e->view, typed);
    terminal_mode_edit(false);
    if (key == KEY_INTERRUPT)
        return INPUT_INTERRUPTED;
    if (key != KEY_ENTER)
        return INPUT_END;
    text_add(line, typed->data, typed->size);
    return line->failed ? INPUT_FAILED : INPUT_LINE;
}

void line_editor_add_history(struct line_editor *e, const char *entry)
{
    history_add(e->history, entry);
}
