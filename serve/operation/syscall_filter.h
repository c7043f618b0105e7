/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_filter.h - limits the system calls of the process by seccomp. */
#ifndef QUIRE_SERVE_SYSCALL_FILTER_H
#define QUIRE_SERVE_SYSCALL_FILTER_H
#include "error.h"
#include <stdbool.h>

enum syscall_set {
    SYSCALLS_SERVER, /* what the server and the engines need once sockets are open */
    SYSCALLS_CLIENT, /* the same, and sockets that connect: for the process that sends traces */
};

/* From now on all threads of the process may only use the system calls of the set: others fail with
 * EPERM, and those that are newer than this source with ENOSYS. A system call of another
 * architecture ends the process. False: *error. */
bool syscall_filter_enter(enum syscall_set set, struct api_error *error);

#endif
