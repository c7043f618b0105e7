/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C and terminating signals. */
#ifndef QUIRE_CHAT_INTERRUPT_H
#define QUIRE_CHAT_INTERRUPT_H
#include <quire/quire.h>
#include <stdbool.h>

/* Installs the handlers. Ctrl-C cancels the running request; a second one before interrupts_reset()
 * exits with 130. Terminating signals restore the terminal first. */
void interrupts_install(void);

/* Blocks SIGINT in this thread, so that threads created meanwhile inherit the block and the main
 * thread, which reads keys, receives it. interrupts_count() includes a pending one. */
void interrupts_block(bool block);

/* Sets the request that Ctrl-C cancels; NULL, 0 = none. */
void interrupts_set_request(struct quire_engine *engine, quire_request_id id);

int interrupts_count(void); /* since the last reset */
void interrupts_reset(void);
bool interrupts_consume(void); /* whether Ctrl-C was pressed since the last consume or reset */

/* Waits until fd is readable. False: Ctrl-C, also one that was pressed before and not consumed.
 * Other signals (window size change, continue after stop) call on_signal(user) and do not end the
 * wait. */
bool wait_readable(int fd, void (*on_signal)(void *user), void *user);

/* Terminates by SIGPIPE as if it were not ignored: the reader of standard output has gone. */
void exit_by_sigpipe(void) __attribute__((noreturn));

/* Restores the modes that the terminal had at interrupts_install. Async-signal-safe. */
void restore_terminal(void);

#endif
