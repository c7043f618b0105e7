/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_child.h - tests that run in a child process, which cannot leave its sandbox. */
#ifndef QUIRE_TESTS_SANDBOX_CHILD_H
#define QUIRE_TESTS_SANDBOX_CHILD_H
#include "syscall_filter.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

static inline void complain(const char *what, int line, int error)
{
    fprintf(stderr, "line %d: %s: %s\n", line, what, strerror(error));
    _exit(1);
}

/* In a child: the call fails with this errno, or succeeds. */
#define DENIED(error, call)                                                                        \
    do {                                                                                           \
        errno = 0;                                                                                 \
        if ((long)(call) != -1 || errno != (error))                                                \
            complain("not denied: " #call, __LINE__, errno);                                       \
    } while (0)
#define ALLOWED(call)                                                                              \
    do {                                                                                           \
        if ((long)(call) == -1)                                                                    \
            complain(#call, __LINE__, errno);                                                      \
    } while (0)

static inline void enter_filter(enum syscall_set set)
{
    struct api_error e = { 0 };
    if (!syscall_filter_enter(set, &e)) {
        fprintf(stderr, "%s\n", e.message);
        _exit(2);
    }
}

/* Runs fn in a child; returns the status of wait(2). */
static inline int run_child(void (*fn)(void))
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        fn();
        _exit(0);
    }
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static inline void assert_passes(void (*fn)(void)) { assert_int_equal(run_child(fn), 0); }

#endif
