/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - turns of a conversation from standard input. */
#ifndef QUIRE_CHAT_INPUT_H
#define QUIRE_CHAT_INPUT_H
#include "line_editor.h"
#include "text.h"
#include <stdbool.h>

struct session;

struct input {
    bool interactive;
    struct line_editor *editor; /* NULL: plain reading */
};

/* interactive: print prompts on standard error, and edit lines if standard input is a terminal.
 * Completion of names refers to the session, which is borrowed until close. */
void input_open(struct input *in, bool interactive, const struct session *s);
void input_close(struct input *in);

/* Reads a line without its newline. INPUT_INTERRUPTED after Ctrl-C. After INPUT_TOO_LONG the rest
 * of the line has not been read. */
enum input_result input_line(struct input *in, const char *prompt, struct text *line);

/* Reads a turn: one line, or in interactive use several lines between """ or those of a paste. */
enum input_result input_turn(struct input *in, struct text *turn);

#endif
