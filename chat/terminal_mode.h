/* SPDX-License-Identifier: Apache-2.0 */
/* terminal_mode.h - state of the terminal that outlives a process: raw mode, bracketed paste. */
#ifndef QUIRE_CHAT_TERMINAL_MODE_H
#define QUIRE_CHAT_TERMINAL_MODE_H
#include <stdbool.h>

/* Enables bracketed paste on the terminal `fd`, and saves the mode of standard input. False: that
 * is no terminal. Close restores both. */
bool terminal_mode_open(int fd);
void terminal_mode_close(void);

/* Raw mode while a line is edited: keys arrive one by one and are not echoed; Ctrl-C, Ctrl-Z and
 * Ctrl-\ still send signals. */
void terminal_mode_edit(bool on);

/* For signal handlers: leave the state of `open` and `edit` before the process stops or ends, and
 * enter it again when the process continues. Without effect in the background, where the terminal
 * belongs to another process. */
void terminal_mode_suspend(void);
void terminal_mode_resume(void);

/* Whether the process has continued since the last call: other output is on the screen. */
bool terminal_mode_was_resumed(void);

#endif
