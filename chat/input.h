/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - reading lines: from a person with editing and history, or from a pipe. */
#ifndef QUIRE_CHAT_INPUT_H
#define QUIRE_CHAT_INPUT_H
#include "text.h"
#include <stdbool.h>

enum input_result { INPUT_LINE, INPUT_END, INPUT_INTERRUPTED, INPUT_FAILED };

struct line_editor; /* libedit's state; there is none in builds without it, and for pipes */

struct input {
    bool interactive;
    struct line_editor *editor; /* NULL: plain reading */
};

/* interactive: show prompts on standard error, and edit lines when standard input is a terminal. */
void input_open(struct input *in, bool interactive);
void input_close(struct input *in);

/* Reads a line without its end into `line`; INPUT_INTERRUPTED after Ctrl-C. prompt is shown in
 * interactive use. */
enum input_result input_line(struct input *in, const char *prompt, struct text *line);

/* A turn of a conversation: a line, or in interactive use several between lines of """. */
enum input_result input_turn(struct input *in, struct text *turn);

/* Backend: NULL when it is not built in or the terminal cannot be edited on. */
struct line_editor *line_editor_open(bool colour);
void line_editor_close(struct line_editor *e);
enum input_result line_editor_read(struct line_editor *e, const char *prompt, struct text *line);
void line_editor_remember(struct line_editor *e, const char *entry);

#endif
