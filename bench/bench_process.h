/* SPDX-License-Identifier: Apache-2.0 */
/* bench_process.h - other programs, with their output on a pipe. */
#ifndef QUIRE_BENCH_BENCH_PROCESS_H
#define QUIRE_BENCH_BENCH_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct bench_process {
    pid_t pid;
    int out; /* what it prints */
};

/* Starts a program, its stderr to /dev/null. False where there is no process. */
bool bench_process_start(struct bench_process *p, char *const *argv);
/* Reads what it prints; 0 at the end. */
size_t bench_process_read(const struct bench_process *p, char *buffer, size_t size);
/* Waits for its end. The exit code, -1 where it did not end by itself. usage may be NULL. */
int bench_process_end(struct bench_process *p, struct rusage *usage);

/* Runs a program. Returns the text that it prints, NUL-terminated, to be freed, or NULL. */
char *bench_run_program(char *const *argv, int *exit_code);

#endif
