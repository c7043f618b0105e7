/* SPDX-License-Identifier: Apache-2.0 */
/* bench_process.c - starts programs and reads their output from a pipe. */
#include "bench_process.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

bool bench_process_start(struct bench_process *p, char *const *argv)
{
    int fds[2];
    if (pipe(fds) != 0)
        return false;
    p->pid = fork();
    if (p->pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]), close(fds[1]);
        if (!freopen("/dev/null", "w", stderr))
            _exit(127);
        execv(argv[0], argv);
        _exit(127);
    }
    close(fds[1]);
    p->out = fds[0];
    if (p->pid < 0)
        close(p->out);
    return p->pid > 0;
}

size_t bench_process_read(const struct bench_process *p, char *buffer, size_t size)
{
    ssize_t n;
    do
        n = read(p->out, buffer, size);
    while (n < 0 && errno == EINTR);
    return n > 0 ? (size_t)n : 0;
}

int bench_process_end(struct bench_process *p, struct rusage *usage)
{
    int status;
    pid_t ended;
    close(p->out);
    do
        ended = wait4(p->pid, &status, 0, usage);
    while (ended < 0 && errno == EINTR);
    return ended == p->pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *bench_run_program(char *const *argv, int *exit_code)
{
    struct bench_process p;
    size_t size = 0, cap = 1 << 16;
    *exit_code = -1;
    if (!bench_process_start(&p, argv))
        return NULL;
    char *text = malloc(cap);
    while (text) {
        const size_t n = bench_process_read(&p, text + size, cap - size - 1);
        if (!n)
            break;
        size += n;
        char *more = size + 1 < cap ? text : realloc(text, cap *= 2);
        if (!more)
            free(text);
        text = more;
    }
    *exit_code = bench_process_end(&p, NULL);
    if (text)
        text[size] = 0;
    return text;
}
