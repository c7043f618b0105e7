/* SPDX-License-Identifier: Apache-2.0 */
/* line_editor.h - editing of a turn on a terminal, with history. */
#ifndef QUIRE_CHAT_LINE_EDITOR_H
#define QUIRE_CHAT_LINE_EDITOR_H
#include "completion.h"
#include "text.h"

enum input_result {
    INPUT_LINE,
    INPUT_END,
    INPUT_INTERRUPTED,
    INPUT_TOO_LONG, /* more than MAX_TURN bytes */
    INPUT_FAILED,
};

struct line_editor;

/* NULL if standard input has no cursor movement. The terminal is in bracketed paste mode until
 * close. */
struct line_editor *line_editor_open(bool color, complete_fn *complete, const void *complete_user);
void line_editor_close(struct line_editor *e);

/* Reads what the user sends with Enter. It has several lines if the user pasted them or typed
 * Alt-Enter. */
enum input_result line_editor_read(struct line_editor *e, const char *prompt, struct text *line);

/* Appends an entry to the history, and to its file if there is one. */
void line_editor_add_history(struct line_editor *e, const char *entry);

#endif
