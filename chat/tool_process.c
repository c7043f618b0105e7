/* SPDX-License-Identifier: Apache-2.0 */
#include "tool_process.h"
#include "interrupt.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_ERRORS = 4096,
    TICK_MS = 50, /* longest time between two checks of the clock, of Ctrl-C and of the program */
};

/* Our ends of the pipes, -1 when closed, in this order; and those of the program. */
struct pipes {
    int ours[3], theirs[3];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_all(int fds[3])
{
    for (int i = 0; i < 3; i++)
        close_fd(&fds[i]);
}

/* Returns 0 or an errno. */
static int open_pipes(struct pipes *p)
{
    *p = (struct pipes){ { -1, -1, -1 }, { -1, -1, -1 } };
    for (int i = 0; i < 3; i++) {
        int fds[2];
        const int reads = i == 0; /* the program reads the first, and writes the others */
        if (pipe2(fds, O_CLOEXEC) != 0) {
            const int error = errno;
            close_all(p->ours);
            close_all(p->theirs);
            return error;
        }
        p->ours[i] = fds[reads];
        p->theirs[i] = fds[!reads];
        fcntl(p->ours[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

/* Starts the program with default signals: this one ignores SIGPIPE. Returns 0 or an errno. */
static int spawn(const struct tool_process *p, const struct pipes *pipes, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    if ((error = posix_spawnattr_init(&attr)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    for (int i = 0; i < 3 && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, pipes->theirs[i], i);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &ignored);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawnp(pid, p->words[0], &actions, &attr, p->words, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Writes what the pipe takes of the input and closes it behind the end. */
static void write_input(struct tool_process *p, int *fd)
{
    const ssize_t n = write(*fd, p->input, p->input_size);
    if (n > 0) {
        p->input += n;
        p->input_size -= (size_t)n;
    }
    const bool failed = n < 0 && errno != EAGAIN && errno != EINTR; /* the program reads no more */
    if (failed || !p->input_size)
        close_fd(fd);
}

/* Reads what is there, up to `max` bytes in all, and closes the pipe at its end. More is dropped.
 * Returns whether there was more. */
static bool read_some(int *fd, struct text *out, size_t max)
{
    char buf[4096];
    ssize_t n;
    bool more = false;
    while (*fd >= 0 && !more && (n = read(*fd, buf, sizeof buf)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n < 0)
            break;
        const size_t room = max - out->size;
        more = (size_t)n > room;
        text_add(out, buf, more ? room : (size_t)n);
    }
    if (!more)
        close_fd(fd);
    return more;
}

/* Whether the program has ended; it is not reaped. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

/* Moves the data until the program ends or a limit is reached. */
static enum tool_end exchange(struct tool_process *p, struct pipes *pipes, pid_t pid)
{
    const double end = now() + p->seconds;
    bool ended = false;
    int ticks = 0; /* since it closed its output, as it does when it ends */
    while (!ended) {
        struct pollfd fds[3] = { { pipes->ours[0], POLLOUT, 0 },
                                 { pipes->ours[1], POLLIN, 0 },
                                 { pipes->ours[2], POLLIN, 0 } };
        const double left = end - now();
        const bool all_closed = pipes->ours[1] < 0 && pipes->ours[2] < 0;
        const int tick = all_closed && ticks < TICK_MS ? ++ticks : TICK_MS;
        poll(fds, 3, left * 1000 < tick ? (int)(left > 0 ? left * 1000 + 1 : 0) : tick);
        if (interrupts_consume())
            return TOOL_INTERRUPTED;
        ended = has_ended(pid); /* before the reads: all that it wrote is there */
        if (pipes->ours[0] >= 0 && fds[0].revents)
            write_input(p, &pipes->ours[0]);
        if (read_some(&pipes->ours[1], &p->output, p->max_bytes))
            return TOOL_OUTPUT_LIMIT;
        (void)read_some(&pipes->ours[2], &p->errors, MAX_ERRORS);
        if (!ended && now() >= end)
            return TOOL_TIMED_OUT;
    }
    return TOOL_EXITED;
}

enum tool_end tool_process_run(struct tool_process *p)
{
    struct pipes pipes;
    pid_t pid;
    int status = 0;
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the exit status */
    p->code = open_pipes(&pipes);
    if (p->code)
        return TOOL_NOT_STARTED;
    p->code = spawn(p, &pipes, &pid);
    close_all(pipes.theirs);
    if (p->code) {
        close_all(pipes.ours);
        return TOOL_NOT_STARTED;
    }
    interrupts_set_child(pid);
    const enum tool_end end = exchange(p, &pipes, pid);
    interrupts_set_child(0);
    close_all(pipes.ours);
    if (end != TOOL_EXITED)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (end != TOOL_EXITED)
        return end;
    p->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return WIFSIGNALED(status) ? TOOL_SIGNALLED : TOOL_EXITED;
}
