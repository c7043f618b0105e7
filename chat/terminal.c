/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - standard streams, messages and progress. */
#include "terminal.h"
#include "interrupt.h"
#include "text.h"
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

/* Shows "what name 37 %" in place of the previous progress. The name is cut so that the line fits
 * the terminal: a carriage return cannot undo a line break. */
static void show_percent(const char *what, const char *name, uint64_t done, uint64_t total)
{
    const int percent = total ? (int)((double)done * 100 / (double)total) : 0;
    if (percent == percent_shown || !terminal_has_cursor(2))
        return;
    percent_shown = percent;
    const int width = (int)terminal_width(2);
    const int others = (int)strlen("quire-chat:   100 %") + (int)strlen(what);
    int name_width = width ? width - 1 - others : 40;
    name_width = name_width < 0 ? 0 : name_width > 40 ? 40 : name_width;
    fprintf(stderr, "\rquire-chat: %s %.*s %3d %%", what, name_width, name, percent);
    fflush(stderr);
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
    if (percent_shown >= 0)
        fputs("\r\033[K", stderr);
    percent_shown = -1;
}
