/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.c - the messages of a conversation, and its generation settings. */
#include "conversation.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

bool conversation_add(struct conversation *c, const char *role, const char *content, size_t size)
{
    if (c->n == c->capacity) {
        const size_t capacity = c->capacity ? 2 * c->capacity : 16;
        struct message *grown = realloc(c->messages, capacity * sizeof *grown);
        if (!grown)
            return false;
        c->messages = grown;
        c->capacity = capacity;
    }
    struct text repaired = { 0 };
    text_add_repaired(&repaired, content, size);
    text_add(&repaired, "", 0);
    char *owned_role = strdup(role);
    if (!owned_role || repaired.failed) {
        free(owned_role);
        text_free(&repaired);
        return false;
    }
    c->messages[c->n++] = (struct message){ owned_role, repaired.data };
    return true;
}

void conversation_truncate(struct conversation *c, size_t n)
{
    while (c->n > n) {
        c->n--;
        free(c->messages[c->n].role);
        free(c->messages[c->n].content);
    }
}

void conversation_free(struct conversation *c)
{
    conversation_truncate(c, 0);
    free(c->messages);
    *c = (struct conversation){ 0 };
}

size_t conversation_system_messages(const struct conversation *c)
{
    size_t n = 0;
    while (n < c->n && strcmp(c->messages[n].role, "user") != 0)
        n++;
    return n;
}

bool settings_add_stop(struct settings *s, const char *text)
{
    char *copy = s->n_stop < MAX_STOPS ? strdup(text) : NULL;
    if (!copy)
        return false;
    s->stop[s->n_stop++] = copy;
    return true;
}

void settings_free(struct settings *s)
{
    while (s->n_stop)
        free(s->stop[--s->n_stop]);
}
