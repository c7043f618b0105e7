/* SPDX-License-Identifier: Apache-2.0 */
/* tool_process.h - runs a program with bounded output and time. */
#ifndef QUIRE_CHAT_TOOL_PROCESS_H
#define QUIRE_CHAT_TOOL_PROCESS_H
#include "text.h"

enum tool_end {
    TOOL_EXITED,       /* code: exit status */
    TOOL_SIGNALLED,    /* code: number of the signal */
    TOOL_NOT_STARTED,  /* code: errno */
    TOOL_TIMED_OUT,    /* killed */
    TOOL_OUTPUT_LIMIT, /* killed: it wrote more than max_bytes */
    TOOL_INTERRUPTED,  /* killed after Ctrl-C */
};

struct tool_process {
    char *const *words; /* program and arguments, ended by NULL; searched in PATH */
    const char *input;  /* [input_size] its standard input, then end of file */
    size_t input_size;
    double seconds;   /* limit of the time */
    size_t max_bytes; /* limit of its standard output */
    /* results */
    struct text output; /* standard output, at most max_bytes of any bytes; freed by the caller */
    struct text errors; /* the first 4096 bytes of standard error; freed by the caller */
    int code;
};

/* Runs the program in a session of its own, without a terminal, and waits for its end. A program
 * that is killed dies with all processes of its session's group; processes that it leaves running
 * after its own end are left alone, and their later output is not read. */
enum tool_end tool_process_run(struct tool_process *p);

#endif
