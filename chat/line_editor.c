/* SPDX-License-Identifier: Apache-2.0 */
/* line_editor.c - line editing and history with libedit, if it is built in. */
#include "line_editor.h"

#ifdef HAVE_EDITLINE
#include "interrupt.h"
#include "terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

struct line_editor {
    EditLine *el;
    History *history;
    FILE *screen; /* standard error, or /dev/tty if that is redirected */
    const char *prompt;
    char shown[32];
    bool color, interrupted;
    char history_path[PATH_MAX]; /* "" = in memory only */
};

static struct line_editor *editor_of(EditLine *el)
{
    void *editor = NULL;
    el_get(el, EL_CLIENTDATA, &editor);
    return editor;
}

/* \1 encloses sequences of zero width. libedit sends them with the character that follows, hence
 * the space at the end. */
static char *prompt_of(EditLine *el)
{
    struct line_editor *e = editor_of(el);
    snprintf(e->shown, sizeof e->shown, e->color ? "\1\033[1;32m\1%s\1\033[0m\1 " : "%s ",
             e->prompt);
    return e->shown;
}

static void refresh(void *el) { el_set(el, EL_REFRESH); }

/* Reads one character. Replaces libedit's reader, which restarts after a signal and so hides
 * Ctrl-C. */
static int read_character(EditLine *el, wchar_t *out)
{
    struct line_editor *e = editor_of(el);
    mbstate_t state = { 0 };
    for (;;) {
        char byte;
        if (!wait_readable(0, refresh, el)) {
            e->interrupted = true;
            return -1;
        }
        const ssize_t n = read(0, &byte, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        const size_t length = mbrtowc(out, &byte, 1, &state);
        if (length == (size_t)-1) { /* ill-formed in this locale: drop it */
            state = (mbstate_t){ 0 };
            continue;
        }
        if (length != (size_t)-2)
            return 1;
    }
}

/* $XDG_STATE_HOME/quire/history or ~/.local/state/quire/history; creates missing folders. */
static bool find_history(char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (state && *state == '/')
        n = snprintf(path, size, "%s/quire/history", state);
    else if (home && *home == '/')
        n = snprintf(path, size, "%s/.local/state/quire/history", home);
    if (n < 0 || (size_t)n >= size)
        return false;
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        const bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!ok)
            return false;
    }
    return true;
}

static void open_history(struct line_editor *e)
{
    HistEvent event;
    e->history = history_init();
    if (!e->history)
        return;
    history(e->history, &event, H_SETSIZE, 1000);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->el, EL_HIST, history, e->history);
    if (find_history(e->history_path, sizeof e->history_path))
        history(e->history, &event, H_LOAD, e->history_path);
    else
        e->history_path[0] = 0;
}

struct line_editor *line_editor_open(bool color)
{
    if (!terminal_has_cursor(0))
        return NULL;
    struct line_editor *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->color = color;
    e->screen = isatty(2) ? stderr : fopen("/dev/tty", "w");
    e->el = e->screen ? el_init("quire-chat", stdin, e->screen, e->screen) : NULL;
    if (!e->el) {
        line_editor_close(e);
        return NULL;
    }
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_PROMPT_ESC, prompt_of, '\1');
    el_set(e->el, EL_EDITOR, "emacs");
    /* libedit restores the terminal around Ctrl-Z and follows size changes */
    el_set(e->el, EL_SIGNAL, 1);
    el_set(e->el, EL_GETCFN, read_character);
    el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    open_history(e);
    el_source(e->el, NULL); /* ~/.editrc */
    return e;
}

void line_editor_close(struct line_editor *e)
{
    if (!e)
        return;
    if (e->el)
        el_end(e->el);
    if (e->history)
        history_end(e->history);
    if (e->screen && e->screen != stderr)
        fclose(e->screen);
    free(e);
}

enum input_result line_editor_read(struct line_editor *e, const char *prompt, struct text *line)
{
    int n = 0;
    e->prompt = prompt;
    e->interrupted = false;
    const char *got = el_gets(e->el, &n);
    if (e->interrupted) {
        el_reset(e->el);
        fputc('\n', e->screen);
        return INPUT_INTERRUPTED;
    }
    if (!got || n <= 0) {
        fputc('\n', e->screen);
        return INPUT_END;
    }
    text_add(line, got, (size_t)n - (got[n - 1] == '\n'));
    return line->failed ? INPUT_FAILED : INPUT_LINE;
}

void line_editor_add_history(struct line_editor *e, const char *entry)
{
    HistEvent event;
    if (!e->history)
        return;
    history(e->history, &event, H_ENTER, entry);
    if (!e->history_path[0])
        return;
    const mode_t mask = umask(077); /* private: readable by the user only */
    history(e->history, &event, H_SAVE, e->history_path);
    umask(mask);
}

#else

struct line_editor *line_editor_open(bool color)
{
    (void)color;
    return NULL;
}

void line_editor_close(struct line_editor *e) { (void)e; }

enum input_result line_editor_read(struct line_editor *e, const char *prompt, struct text *line)
{
    (void)e, (void)prompt, (void)line;
    return INPUT_END;
}

void line_editor_add_history(struct line_editor *e, const char *entry) { (void)e, (void)entry; }
#endif
