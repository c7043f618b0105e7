/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - standard streams: capabilities, messages, progress. */
#ifndef QUIRE_CHAT_TERMINAL_H
#define QUIRE_CHAT_TERMINAL_H
#include <stdbool.h>
#include <stdint.h>

/* Opens descriptors 0, 1 and 2 if they are closed, so that no file opened later gets their number.
 * Must run first. */
void terminal_open(void);

bool terminal_has_cursor(int fd); /* fd is a terminal with cursor movement */
bool terminal_has_color(int fd);  /* also honors NO_COLOR */
unsigned terminal_width(int fd);  /* in columns; 0 = unknown */
unsigned terminal_height(int fd); /* in rows; 0 = unknown */

/* Whether the terminal breaks lines that are longer than its width again when the width changes.
 * Most do; there is no query for it, so those that do not are known by their environment. */
bool terminal_reflows(void);

/* Erases from the beginning of the row on. tmux copies a screen that is erased from its first cell
 * into the scrollback, hence from the second one. */
#define ERASE_FROM_ROW "\r \033[J\r"

/* Prints "quire-chat: ..." on standard error; control characters are escaped. */
void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress is one line on standard error if that is a terminal, cut to its width.
 * show_load_progress is a quire_progress_fn: user is the name to show. It cancels after Ctrl-C. */
bool show_load_progress(void *name, uint64_t done, uint64_t total);
void show_prefill_progress(uint32_t done, uint32_t total); /* in tokens */
void clear_progress(void);

#endif
