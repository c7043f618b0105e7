/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - Ctrl-C, and the signals that end the program. */
#include "interrupt.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <termios.h>
#include <unistd.h>

/* Atomic because a handler may run on any thread. */
static atomic_int presses, noted;
static _Atomic(struct quire_engine *) watched_engine;
static _Atomic quire_request_id watched_request;
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
    struct quire_engine *engine = watched_engine;
    if (engine)
        (void)quire_request_cancel(engine, watched_request);
}

/* Installed with SA_RESETHAND: raising the signal again ends the program as it would have
 * without us. */
static void on_end(int sig)
{
    restore_terminal();
    raise(sig);
}

void interrupts_install(void)
{
    have_saved_terminal = tcgetattr(0, &saved_terminal) == 0;
    /* without SA_RESTART: reading a line must end */
    struct sigaction sa = { .sa_handler = on_interrupt };
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

static sigset_t only_interrupt(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return set;
}

void interrupts_hold(bool hold)
{
    const sigset_t set = only_interrupt();
    pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void interrupts_watch(struct quire_engine *engine, quire_request_id id)
{
    watched_engine = NULL;
    watched_request = id;
    watched_engine = engine;
    if (engine && presses) /* pressed before we could see it */
        (void)quire_request_cancel(engine, id);
}

int interrupts(void)
{
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return presses + (sigismember(&pending, SIGINT) == 1);
}

void interrupts_forget(void) { presses = noted = 0; }

bool interrupts_note(void)
{
    const bool fresh = presses > noted;
    noted = presses;
    return fresh;
}

bool wait_readable(int fd, void (*again)(void *user), void *user)
{
    const sigset_t set = only_interrupt();
    sigset_t before;
    /* blocked until ppoll sleeps, so that none falls between the look and the sleep */
    pthread_sigmask(SIG_BLOCK, &set, &before);
    bool readable = false;
    while (!readable && !interrupts_note()) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        /* any other failure is the reader's to tell */
        readable = ppoll(&p, 1, NULL, &before) > 0 || errno != EINTR;
        if (!readable && presses == noted)
            again(user);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return readable;
}

void die_of_broken_pipe(void)
{
    restore_terminal();
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(141);
}
