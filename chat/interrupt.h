/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C and terminating signals. */
#ifndef QUIRE_CHAT_INTERRUPT_H
#define QUIRE_CHAT_INTERRUPT_H
#include <quire/quire.h>
#include <stdbool.h>

/* Installs the handlers. Ctrl-C cancels the running request; a second one before interrupts_reset()
 * exits with 130. Signals that end or stop the program restore the terminal first. */
void interrupts_install(void);

/* Blocks SIGINT, SIGCONT and SIGWINCH in this thread, so that threads created meanwhile inherit the
 * block and the main thread, which reads keys, receives them. interrupts_count() includes a pending
 * SIGINT. */
void interrupts_block(bool block);

/* Sets the request that Ctrl-C cancels; NULL, 0 = none. */
void interrupts_set_request(struct quire_engine *engine, quire_request_id id);

/* Sets a program whose process group is killed when this one ends by a signal; 0 = none. */
void interrupts_set_child(int pid);

int interrupts_count(void); /* since the last reset */
void interrupts_reset(void);
bool interrupts_consume(void); /* whether Ctrl-C was pressed since the last consume or reset */

/* Waits until fd is readable. False: Ctrl-C, also one that was pressed before and not consumed.
 * Calls on_screen_change(user) after each change of the terminal's size and each continuation after
 * a stop, also those before the call. */
bool wait_readable(int fd, void (*on_screen_change)(void *user), void *user);

/* Terminates by SIGPIPE as if it were not ignored: the reader of standard output has gone. */
void exit_by_sigpipe(void) __attribute__((noreturn));

#endif
