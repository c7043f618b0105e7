/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - standard streams: messages, progress, colour, and what the signals do. */
#ifndef QUIRE_CHAT_TERMINAL_H
#define QUIRE_CHAT_TERMINAL_H
#include <quire/quire.h>
#include <stdbool.h>

/* Call first: opens what is missing of descriptors 0, 1 and 2, so that no file of ours takes
 * their place. */
void terminal_open(void);

bool terminal_shows(int fd);  /* fd is a terminal that understands cursor movement */
bool terminal_colour(int fd); /* and the user wants colour there */

/* One line on standard error, "quire-chat: ..."; control characters are made visible. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress of loading on standard error when that is a terminal; a quire_progress_fn whose user
 * is the name to show. Asks to stop after Ctrl-C. */
int show_progress(void *name, uint64_t done, uint64_t total);
void clear_progress(void);

/* Ctrl-C ends the running answer; a second one before interrupts_forget() leaves the program
 * with 130. Signals that end the program put the terminal back first. */
void signals_install(void);
void signals_watch(struct quire_engine *engine,
                   quire_request_id id); /* NULL, 0: no answer is running */
int interrupts(void);                    /* Ctrl-C since the last forget */
void interrupts_forget(void);
bool interrupts_note(void); /* was there one since the last note? */

/* Waits until fd can be read; false when Ctrl-C came first, or before and was not noted. Other
 * signals (the window changed, we were put to the foreground) call again(user) and wait on. */
bool wait_readable(int fd, void (*again)(void *user), void *user);

/* Ends the program by SIGPIPE as if it had never been ignored: nobody reads our output any more. */
void die_of_broken_pipe(void) __attribute__((noreturn));

#endif
