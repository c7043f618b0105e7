/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - the turns typed before, in memory and in a file. */
#ifndef QUIRE_CHAT_HISTORY_H
#define QUIRE_CHAT_HISTORY_H
#include <stdbool.h>
#include <stddef.h>

struct history;

/* Loads $XDG_STATE_HOME/quire/history or ~/.local/state/quire/history; without either, entries
 * stay in memory. NULL: out of memory. */
struct history *history_open(void);
void history_close(struct history *h);

/* Appends an entry, also to the file, unless it equals the last one. The file is readable by its
 * owner only. The oldest of more than 1000 entries is dropped. */
void history_add(struct history *h, const char *entry);

size_t history_size(const struct history *h);
const char *history_entry(const struct history *h, size_t i); /* 0 = oldest */

/* Index of the newest entry before `end` that contains `text`; false: none. */
bool history_find(const struct history *h, size_t end, const char *text, size_t *found);

#endif
