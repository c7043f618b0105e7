/* SPDX-License-Identifier: Apache-2.0 */
/* file_faults.c - signals about files: a mapped file that shrinks, a file that grows beyond the
 * limit. */
#include "file_faults.h"
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static char message[128];
static atomic_flag ending = ATOMIC_FLAG_INIT;
static void (*cleanup)(void);

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (atomic_flag_test_and_set(&ending)) /* another thread faults at the same time */
        for (;;)
            pause();
    if (cleanup)
        cleanup();
    if (info->si_code != BUS_ADRERR) { /* not about a mapping: the default action */
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    (void)!write(STDERR_FILENO, message, strlen(message));
    _exit(EX_IOERR);
}

void file_faults_install(const char *program, void (*before_exit)(void))
{
    snprintf(message, sizeof message,
             "\n%s: a mapped file, such as the pack cache, was truncated or cannot be read\n",
             program);
    cleanup = before_exit;
    struct sigaction sa = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    sigemptyset(&sa.sa_mask);
    sigaction(SIGBUS, &sa, NULL);
    signal(SIGXFSZ, SIG_IGN);
}
