/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - standard streams, messages and progress. */
#include "terminal.h"
#include "grapheme.h"
#include "interrupt.h"
#include "line_layout.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void terminal_open(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) {
            /* read-only for standard output: writing an answer must fail, not vanish */
            const int got = open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
            if (got >= 0 && got != fd)
                dup2(got, fd);
        }
}

bool terminal_has_cursor(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_has_color(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    return terminal_has_cursor(fd) && !(no_color && *no_color);
}

unsigned terminal_width(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

unsigned terminal_height(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

bool terminal_reflows(void)
{
    const char *term = getenv("TERM");
    if (is_set("TMUX"))
        return true;
    const bool gnu_screen = is_set("STY"), console = term && strncmp(term, "linux", 5) == 0;
    return !is_set("XTERM_VERSION") && !gnu_screen && !console;
}

void print_message(const char *format, ...)
{
    char raw[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(raw, sizeof raw, format, ap);
    va_end(ap);
    struct text line = { 0 };
    text_add(&line, "quire-chat: ", 12);
    text_add_escaped(&line, raw, strlen(raw));
    text_add(&line, "\n", 1);
    if (!line.failed)
        fwrite(line.data, 1, line.size, stderr);
    text_free(&line);
}

static int percent_shown = -1;
static struct drawn_text progress;

static unsigned progress_width(void)
{
    enum { DEFAULT_WIDTH = 80 };
    const unsigned width = terminal_width(2);
    return width ? width : DEFAULT_WIDTH;
}

/* Adds the movement to the beginning of the progress line, and erases it. */
static void add_erase_progress(struct text *out, unsigned width)
{
    const bool reflowed = progress.text.size && progress.width != width && terminal_reflows();
    const unsigned rows = reflowed ? rows_above_cursor(&progress, width) : 0;
    if (rows)
        text_addf(out, "\033[%uA", rows);
    text_addf(out, ERASE_FROM_ROW);
}

/* Adds "quire-chat: what name  37 %" in at most `cells` cells. A long name is cut; on a narrow
 * terminal the program name is left out and the rest is cut. */
static void add_progress(struct text *line, const char *what, const char *name, int percent,
                         unsigned cells)
{
    enum { PERCENT = 6, MAX_NAME = 40 }; /* cells */
    struct text label = { 0 }, safe = { 0 };
    const unsigned room = cells > PERCENT ? cells - PERCENT : 0;
    text_add_escaped(&safe, name, strcspn(name, "\n"));
    text_addf(&label, "quire-chat: %s ", what);
    text_add(&label, safe.data, safe.size ? text_fit(safe.data, safe.size, MAX_NAME) : 0);
    const char *begin = label.data;
    if (!label.failed && text_cells(begin, label.size) > room)
        begin += strlen("quire-chat: ");
    if (!label.failed && room)
        text_add(line, begin, text_fit(begin, strlen(begin), room));
    if (cells >= PERCENT)
        text_addf(line, " %3d %%", percent);
    text_free(&label);
    text_free(&safe);
}

static void show_percent(const char *what, const char *name, uint64_t done, uint64_t total)
{
    const int percent = total ? (int)((double)done * 100 / (double)total) : 0;
    if (percent == percent_shown || !terminal_has_cursor(2))
        return;
    percent_shown = percent;
    const unsigned width = progress_width();
    struct text out = { 0 };
    add_erase_progress(&out, width);
    text_clear(&progress.text);
    /* the last column stays free: terminals differ in the cursor position after it */
    add_progress(&progress.text, what, name, percent, width - 1);
    progress.width = width;
    text_add(&out, progress.text.data, progress.text.size);
    if (!out.failed)
        fwrite(out.data, 1, out.size, stderr);
    fflush(stderr);
    text_free(&out);
}

bool show_load_progress(void *name, uint64_t done, uint64_t total)
{
    const char *slash = strrchr(name, '/'); /* the last component of a path */
    show_percent("loading", slash && slash[1] ? slash + 1 : name, done, total);
    return interrupts_count() == 0;
}

void show_prefill_progress(uint32_t done, uint32_t total)
{
    if (done < total)
        show_percent("processing", "the prompt", done, total);
}

void clear_progress(void)
{
    struct text out = { 0 };
    if (percent_shown >= 0) {
        add_erase_progress(&out, progress_width());
        fwrite(out.data, 1, out.size, stderr);
    }
    percent_shown = -1;
    text_free(&out);
    text_free(&progress.text);
}
