/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - standard streams: messages, progress, colour. */
#ifndef QUIRE_CHAT_TERMINAL_H
#define QUIRE_CHAT_TERMINAL_H
#include <stdbool.h>
#include <stdint.h>

/* Call first: opens what is missing of descriptors 0, 1 and 2, so that no file of ours takes
 * their place. */
void terminal_open(void);

bool terminal_shows(int fd);     /* fd is a terminal that understands cursor movement */
bool terminal_colour(int fd);    /* and the user wants colour there */
unsigned terminal_width(int fd); /* in columns; 0 = not known */

/* One line on standard error, "quire-chat: ..."; control characters are made visible. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress of loading on standard error when that is a terminal; a quire_progress_fn whose user
 * is the name to show. Asks to stop after Ctrl-C. */
bool show_progress(void *name, uint64_t done, uint64_t total);
void show_reading(uint32_t done, uint32_t total); /* the same for a prompt of several steps */
void clear_progress(void);

#endif
