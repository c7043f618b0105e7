/* SPDX-License-Identifier: Apache-2.0 */
/* tool_run.h - runs the calls of an answer by --tool-exec. */
#ifndef QUIRE_CHAT_TOOL_RUN_H
#define QUIRE_CHAT_TOOL_RUN_H
#include "session.h"

enum {
    TOOL_MAX_RESULT = 256 << 10, /* bytes of a result */
    TOOL_MAX_ROUNDS = 32,        /* answers with calls in a turn */
};

enum tool_run { TOOL_RUN_DONE, TOOL_RUN_STOPPED, TOOL_RUN_NO_MEMORY };

/* Runs the calls of the last message one after the other, each after a question if there is a
 * terminal to ask, and appends a message with the role "tool" for each: what the program wrote, or
 * "error: ..." with what went wrong, which is also printed. STOPPED: Ctrl-C or the end of input;
 * calls that did not run have a result that says so. are_printed: the answer has just been
 * generated; otherwise the calls are shown first. */
enum tool_run tool_run_calls(struct session *s, bool are_printed);

#endif
