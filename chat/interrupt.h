/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C, and the signals that end the program. */
#ifndef QUIRE_CHAT_INTERRUPT_H
#define QUIRE_CHAT_INTERRUPT_H
#include <quire/quire.h>
#include <stdbool.h>

/* Ctrl-C ends the running answer; a second one before interrupts_forget() leaves the program
 * with 130. Signals that end the program put the terminal back first. */
void interrupts_install(void);

/* Holds Ctrl-C back, so that threads made meanwhile never get it: it is for the thread that waits
 * for keys. interrupts() sees one that waits. */
void interrupts_hold(bool hold);

/* The answer that Ctrl-C ends; NULL, 0: none is running. */
void interrupts_watch(struct quire_engine *engine, quire_request_id id);

int interrupts(void); /* Ctrl-C since the last forget */
void interrupts_forget(void);
bool interrupts_note(void); /* was there one since the last note? */

/* Waits until fd can be read; false when Ctrl-C came first, or before and was not noted. Other
 * signals (the window changed, we were put to the foreground) call again(user) and wait on. */
bool wait_readable(int fd, void (*again)(void *user), void *user);

/* Ends the program by SIGPIPE as if it had never been ignored: nobody reads our output any more. */
void die_of_broken_pipe(void) __attribute__((noreturn));

#endif
