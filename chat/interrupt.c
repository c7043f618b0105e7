/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - Ctrl-C and terminating signals. */
#include "interrupt.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <termios.h>
#include <unistd.h>

/* Atomic: a handler may run on any thread. */
static atomic_int presses, consumed;
static _Atomic(struct quire_engine *) cancel_engine;
static _Atomic quire_request_id cancel_request;
static struct termios saved_terminal;
static bool have_saved_terminal;

void restore_terminal(void)
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
    struct quire_engine *engine = cancel_engine;
    if (engine)
        (void)quire_request_cancel(engine, cancel_request);
}

/* Installed with SA_RESETHAND: the raised signal has its default action. */
static void on_terminate(int sig)
{
    restore_terminal();
    raise(sig);
}

void interrupts_install(void)
{
    have_saved_terminal = tcgetattr(0, &saved_terminal) == 0;
    /* no SA_RESTART: Ctrl-C must interrupt the read of a line */
    struct sigaction sa = { .sa_handler = on_interrupt };
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sa.sa_handler = on_terminate;
    sa.sa_flags = (int)SA_RESETHAND;
    const int terminating[] = { SIGTERM, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof terminating / sizeof terminating[0]; i++) {
        struct sigaction old;
        if (sigaction(terminating[i], NULL, &old) == 0 &&
            old.sa_handler != SIG_IGN) /* ignored under nohup */
            sigaction(terminating[i], &sa, NULL);
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

void interrupts_block(bool block)
{
    const sigset_t set = only_interrupt();
    pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void interrupts_set_request(struct quire_engine *engine, quire_request_id id)
{
    cancel_engine = NULL;
    cancel_request = id;
    cancel_engine = engine;
    if (engine && presses) /* pressed before the request was set */
        (void)quire_request_cancel(engine, id);
}

int interrupts_count(void)
{
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return presses + (sigismember(&pending, SIGINT) == 1);
}

void interrupts_reset(void) { presses = consumed = 0; }

bool interrupts_consume(void)
{
    const bool pressed = presses > consumed;
    consumed = presses;
    return pressed;
}

bool wait_readable(int fd, void (*on_signal)(void *user), void *user)
{
    const sigset_t set = only_interrupt();
    sigset_t before;
    /* blocked until ppoll sleeps: a signal between the check and the sleep would be lost */
    pthread_sigmask(SIG_BLOCK, &set, &before);
    bool readable = false;
    while (!readable && !interrupts_consume()) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        /* any other failure is reported by the following read */
        readable = ppoll(&p, 1, NULL, &before) > 0 || errno != EINTR;
        /* not for Ctrl-C, also one that the handler of libedit has raised again and is pending */
        if (!readable && interrupts_count() == consumed)
            on_signal(user);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return readable;
}

void exit_by_sigpipe(void)
{
    restore_terminal();
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(141);
}
