/* SPDX-License-Identifier: Apache-2.0 */
/* tool_question.h - asks on the terminal whether a call may run. */
#ifndef QUIRE_CHAT_TOOL_QUESTION_H
#define QUIRE_CHAT_TOOL_QUESTION_H
#include <stdbool.h>

enum tool_consent {
    TOOL_YES,
    TOOL_NO,
    TOOL_ALWAYS,
    TOOL_STOP /* Ctrl-C, or the end of input */
};

/* fd       terminal in its normal mode; keys that were typed before the question are dropped
 * is_shown the call is on the screen; otherwise the question shows it
 * arguments  JSON in one line */
enum tool_consent tool_question_ask(int fd, bool is_shown, const char *name, const char *arguments);

#endif
