/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.c - a conversation: its messages and the state of its prompt. */
#include "conversation.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

static bool reserve(struct conversation *c, size_t n)
{
    if (n <= c->capacity)
        return true;
    const size_t capacity = c->capacity ? 2 * c->capacity : 16; /* n is at most capacity + 1 */
    struct message *grown = realloc(c->messages, capacity * sizeof *grown);
    if (!grown)
        return false;
    c->messages = grown;
    c->capacity = capacity;
    return true;
}

static bool create_message(struct message *m, const char *role, const char *content, size_t size)
{
    struct text repaired = { 0 };
    text_add_repaired(&repaired, content, size);
    text_add(&repaired, "", 0);
    *m = (struct message){ strdup(role), repaired.data };
    if (m->role && !repaired.failed)
        return true;
    free(m->role);
    text_free(&repaired);
    return false;
}

static void free_message(struct message *m)
{
    free(m->role);
    free(m->content);
}

bool conversation_add(struct conversation *c, const char *role, const char *content, size_t size)
{
    struct message added;
    if (!reserve(c, c->n + 1) || !create_message(&added, role, content, size))
        return false;
    c->messages[c->n++] = added;
    return true;
}

void conversation_truncate(struct conversation *c, size_t n)
{
    while (c->n > n)
        free_message(&c->messages[--c->n]);
}

void conversation_free(struct conversation *c)
{
    conversation_truncate(c, 0);
    free(c->messages);
    free(c->name);
    *c = (struct conversation){ 0 };
}

static void restart(struct conversation *c)
{
    c->first = 0;
    c->n_tokens = 0;
    c->regenerations = 0;
    c->roll_reported = false;
}

void conversation_replace(struct conversation *c, struct conversation *from)
{
    conversation_truncate(c, 0);
    free(c->messages);
    c->messages = from->messages;
    c->n = from->n;
    c->capacity = from->capacity;
    restart(c);
    from->messages = NULL;
    from->n = from->capacity = 0;
}

void conversation_reset(struct conversation *c)
{
    conversation_truncate(c, conversation_system_count(c));
    restart(c);
}

bool conversation_set_system(struct conversation *c, const char *text)
{
    struct message added;
    const size_t n_added = text != NULL;
    if (!reserve(c, c->n + n_added) ||
        (text && !create_message(&added, "system", text, strlen(text))))
        return false;
    const size_t n_old = conversation_system_count(c);
    for (size_t i = 0; i < n_old; i++)
        free_message(&c->messages[i]);
    if (c->n > n_old)
        memmove(c->messages + n_added, c->messages + n_old, (c->n - n_old) * sizeof *c->messages);
    if (text)
        c->messages[0] = added;
    c->n += n_added - n_old;
    return true;
}

static bool has_role(const struct message *m, const char *role)
{
    return strcmp(m->role, role) == 0;
}

size_t conversation_system_count(const struct conversation *c)
{
    size_t n = 0;
    while (n < c->n && has_role(&c->messages[n], "system"))
        n++;
    return n;
}

size_t conversation_next_turn(const struct conversation *c, size_t from)
{
    while (from < c->n && !has_role(&c->messages[from], "user"))
        from++;
    return from;
}

size_t conversation_last_turn(const struct conversation *c, size_t n)
{
    for (size_t i = n; i > 0; i--)
        if (has_role(&c->messages[i - 1], "user"))
            return i - 1;
    return n;
}

bool conversation_ends_with_answer(const struct conversation *c)
{
    return c->n && has_role(&c->messages[c->n - 1], "assistant");
}

size_t conversation_prompt(const struct conversation *c, size_t first, size_t n,
                           struct quire_chat_message *out)
{
    const size_t head = conversation_next_turn(c, 0);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (i < head || i >= first)
            out[count++] = (struct quire_chat_message){ .role = c->messages[i].role,
                                                        .content = c->messages[i].content,
                                                        .content_len = QUIRE_NUL_TERMINATED };
    return count;
}
