/* SPDX-License-Identifier: Apache-2.0 */
/* line_editor.h - line editing and history on a terminal; empty in builds without libedit. */
#ifndef QUIRE_CHAT_LINE_EDITOR_H
#define QUIRE_CHAT_LINE_EDITOR_H
#include "text.h"
#include <stdbool.h>

enum input_result { INPUT_LINE, INPUT_END, INPUT_INTERRUPTED, INPUT_FAILED };

struct line_editor;

/* NULL if it is not built in or standard input has no cursor movement. */
struct line_editor *line_editor_open(bool color);
void line_editor_close(struct line_editor *e);

/* Reads one line without its newline. */
enum input_result line_editor_read(struct line_editor *e, const char *prompt, struct text *line);

/* Appends an entry to the history, and to its file if there is one. */
void line_editor_add_history(struct line_editor *e, const char *entry);

#endif
