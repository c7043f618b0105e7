/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - standard streams, progress and signals. */
#include "terminal.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
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

int show_progress(void *name, uint64_t done, uint64_t total)
{
    const int percent = total ? (int)((double)done * 100 / (double)total) : 0;
    if (percent != percent_shown && terminal_shows(2)) {
        percent_shown = percent;
        fprintf(stderr, "\rquire-chat: loading %s %3d %%", (const char *)name, percent);
        fflush(stderr);
    }
    return interrupts() > 0;
}

void clear_progress(void)
{
    if (percent_shown >= 0)
        fputs("\r\033[K", stderr);
    percent_shown = -1;
}

/* ---- Signals */

static volatile sig_atomic_t presses, noted;
static struct quire_engine *volatile watched_engine;
static volatile quire_request_id watched_request;
static struct termios saved_terminal;
static bool have_saved_terminal;

static void restore_terminal(void)
{
    if (have_saved_terminal)
        tcsetattr(0, TCSANOW, &saved_terminal);
}

static void on_interrupt(int sig)
{
    (void)sig;
    if (++presses >= 2) {
        restore_terminal();
        _exit(130);
    }
    if (watched_engine)
        (void)quire_request_cancel(watched_engine, watched_request);
}

/* Installed with SA_RESETHAND: raising the signal again ends the program as it would have
 * without us. */
static void on_end(int sig)
{
    restore_terminal();
    raise(sig);
}

void signals_install(void)
{
    have_saved_terminal = tcgetattr(0, &saved_terminal) == 0;
    struct sigaction sa = { .sa_handler =
                                on_interrupt }; /* without SA_RESTART: reading a line must end */
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sa.sa_handler = on_end;
    sa.sa_flags = (int)SA_RESETHAND;
    const int ends[] = { SIGTERM, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction old;
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup */
            sigaction(ends[i], &sa, NULL);
    }
    sa.sa_handler = SIG_IGN;
    sa.sa_flags = 0;
    sigaction(SIGPIPE, &sa, NULL);
}

void signals_watch(struct quire_engine *engine, quire_request_id id)
{
    watched_engine = NULL;
    watched_request = id;
    watched_engine = engine;
    if (engine && presses) /* pressed before we could see it */
        (void)quire_request_cancel(engine, id);
}

int interrupts(void) { return presses; }

void interrupts_forget(void) { presses = noted = 0; }

bool interrupts_note(void)
{
    const bool fresh = presses > noted;
    noted = presses;
    return fresh;
}

bool wait_readable(int fd, void (*again)(void *user), void *user)
{
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    /* blocked until ppoll sleeps, so that none falls between the look and the sleep */
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    bool readable = false;
    while (!readable && !interrupts_note()) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        /* any other failure is the reader's to tell */
        readable = ppoll(&p, 1, NULL, &before) > 0 || errno != EINTR;
        if (!readable && presses == noted)
            again(user);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return readable;
}

void die_of_broken_pipe(void)
{
    restore_terminal();
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(141);
}
