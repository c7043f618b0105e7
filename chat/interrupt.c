/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - Ctrl-C and terminating signals. */
#include "interrupt.h"
#include "terminal_mode.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Atomic: a handler may run on any thread. */
static atomic_int presses, consumed;
static atomic_bool screen_changed; /* by a change of the size, or by other programs while stopped */
static _Atomic(struct quire_engine *) cancel_engine;
static _Atomic quire_request_id cancel_request;
static atomic_int child; /* process group, or 0 */

static void kill_child(void)
{
    if (child > 0)
        kill(-child, SIGKILL);
}

static void on_interrupt(int sig)
{
    (void)sig;
    if (++presses >= 2) {
        kill_child();
        terminal_mode_suspend();
        _exit(130);
    }
    struct quire_engine *engine = cancel_engine;
    if (engine)
        (void)quire_request_cancel(engine, cancel_request);
}

/* Installed with SA_RESETHAND: the raised signal has its default action. */
static void on_terminate(int sig)
{
    kill_child();
    terminal_mode_suspend();
    raise(sig);
}

static void install(int sig, void (*handler)(int sig), unsigned flags)
{
    struct sigaction old, sa = { .sa_handler = handler, .sa_flags = (int)flags };
    sigemptyset(&sa.sa_mask);
    if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL) /* ignored under nohup */
        sigaction(sig, &sa, NULL);
}

/* Installed with SA_RESETHAND and SA_NODEFER: raise() returns when the process continues. */
static void on_stop(int sig)
{
    const int saved = errno;
    terminal_mode_suspend();
    raise(sig);
    install(sig, on_stop, SA_RESETHAND | SA_NODEFER | SA_RESTART);
    terminal_mode_resume(); /* here too: an orphaned process does not stop */
    errno = saved;
}

static void on_continue(int sig)
{
    (void)sig;
    const int saved = errno;
    terminal_mode_resume();
    screen_changed = true;
    errno = saved;
}

static void on_size_change(int sig)
{
    (void)sig;
    screen_changed = true;
}

void interrupts_install(void)
{
    /* the standard signals that end a process by default, but SIGINT and SIGPIPE */
    static const int terminating[] = {
        SIGHUP,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,   SIGBUS,  SIGFPE,  SIGUSR1, SIGSEGV, SIGUSR2,
        SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR,  SIGSYS,
    };
    /* no SA_RESTART: Ctrl-C must interrupt the read of a line */
    struct sigaction sa = { .sa_handler = on_interrupt };
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL);
    for (size_t i = 0; i < sizeof terminating / sizeof terminating[0]; i++)
        install(terminating[i], on_terminate, SA_RESETHAND);
    install(SIGTSTP, on_stop, SA_RESETHAND | SA_NODEFER | SA_RESTART);
    install(SIGCONT, on_continue, SA_RESTART);
    install(SIGWINCH, on_size_change, SA_RESTART);
}

/* The signals that wait_readable() must not miss. A delayed SIGCONT still continues the process. */
static sigset_t awaited_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCONT);
    sigaddset(&set, SIGWINCH);
    return set;
}

void interrupts_block(bool block)
{
    const sigset_t set = awaited_signals();
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

void interrupts_set_child(int pid) { child = pid; }

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

bool wait_readable(int fd, void (*on_screen_change)(void *user), void *user)
{
    const sigset_t set = awaited_signals();
    sigset_t before;
    /* blocked until ppoll sleeps: a signal between the checks and the sleep would be lost */
    pthread_sigmask(SIG_BLOCK, &set, &before);
    bool readable = false;
    while (!readable && !interrupts_consume()) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (atomic_exchange(&screen_changed, false))
            on_screen_change(user);
        /* any other failure is reported by the following read */
        readable = ppoll(&p, 1, NULL, &before) > 0 || errno != EINTR;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return readable;
}

void exit_by_sigpipe(void)
{
    terminal_mode_suspend();
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(141);
}
