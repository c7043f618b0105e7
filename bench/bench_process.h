/* SPDX-License-Identifier: Apache-2.0 */
/* bench_process.h - starts programs and reads their output from a pipe. */
#ifndef QUIRE_BENCH_BENCH_PROCESS_H
#define QUIRE_BENCH_BENCH_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct bench_process {
    pid_t pid;
    int out; /* read end of the pipe on its stdout */
};

/* Starts a program with stderr at /dev/null. Returns false if the process cannot be created. */
bool bench_process_start(struct bench_process *p, char *const *argv);
/* Reads output of the program. Returns 0 at the end. */
size_t bench_process_read(const struct bench_process *p, char *buffer, size_t size);
/* Waits for the end of the process. Returns its exit code, -1 if a signal ended it. usage may be
 * NULL. */
int bench_process_end(struct bench_process *p, struct rusage *usage);

/* Runs a program. Returns its output, NUL-terminated, which the caller frees, or NULL. */
char *bench_run_program(char *const *argv, int *exit_code);

#endif
