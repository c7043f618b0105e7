/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - standard streams and progress. */
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
            /* standard output stays unwritable: losing the answer must be an error */
            const int got = open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
            if (got >= 0 && got != fd)
                dup2(got, fd);
        }
}

bool terminal_shows(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    return terminal_shows(fd) && !(no_color && *no_color);
}

unsigned terminal_width(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void complain(const char *format, ...)
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

/* Shows "what name 37 %" over what was shown before. */
static void show_percent(const char *what, const char *name, uint64_t done, uint64_t total)
{
    const int percent = total ? (int)((double)done * 100 / (double)total) : 0;
    if (percent == percent_shown || !terminal_shows(2))
        return;
    percent_shown = percent;
    fprintf(stderr, "\rquire-chat: %s %.40s %3d %%", what, name, percent);
    fflush(stderr);
}

bool show_progress(void *name, uint64_t done, uint64_t total)
{
    const char *slash = strrchr(name, '/'); /* the last part of a path will do */
    show_percent("loading", slash && slash[1] ? slash + 1 : name, done, total);
    return interrupts() == 0;
}

void show_reading(uint32_t done, uint32_t total)
{
    if (done < total)
        show_percent("reading", "the prompt", done, total);
}

void clear_progress(void)
{
    if (percent_shown >= 0)
        fputs("\r\033[K", stderr);
    percent_shown = -1;
}
