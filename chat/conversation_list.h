/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_list.h - the conversations of a session and their names. */
#ifndef QUIRE_CHAT_CONVERSATION_LIST_H
#define QUIRE_CHAT_CONVERSATION_LIST_H
#include "conversation.h"
#include "text.h"
#include <stdint.h>

/* In order of creation. Owns the conversations, whose addresses stay. Zeroes = empty. */
struct conversation_list {
    struct conversation **items;
    size_t n, capacity;
    uint64_t last_number; /* numbers count from 1 and are not used again */
};

/* Appends an empty conversation with the next number and a copy of the name, which may be NULL.
 * Returns NULL if out of memory. */
struct conversation *conversation_list_add(struct conversation_list *list, const char *name);
void conversation_list_remove(struct conversation_list *list, struct conversation *c);
void conversation_list_free(struct conversation_list *list);

/* Why no new conversation can have this name, or NULL. A name is UTF-8 of at most 64 bytes without
 * control characters, not a number, and not the name of another conversation. */
const char *conversation_list_check_name(const struct conversation_list *list, const char *name);

/* Appends the name that is shown: the given one, otherwise the first words of the first turn, up to
 * 24 terminal cells, otherwise the number. */
void conversation_add_name(const struct conversation *c, struct text *out);

/* Finds a conversation by its number, its given name, or else the first words of its first turn.
 * NULL after setting *problem: there is none, or several begin with these words. */
struct conversation *conversation_list_find(const struct conversation_list *list, const char *key,
                                            const char **problem);

#endif
