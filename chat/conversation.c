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

static void free_message(struct message *m)
{
    free(m->role);
    free(m->content);
    free(m->reasoning);
    free(m->tool_calls);
    free(m->call_id);
    free(m->tool_name);
    free(m->members);
}

static void add_member(struct text *out, const char *key, const char *value)
{
    text_addf(out, ", \"%s\": ", key);
    text_add_json(out, value, strlen(value));
}

void message_add_members(struct text *out, const struct message *m)
{
    if (m->reasoning)
        add_member(out, "reasoning_content", m->reasoning);
    if (m->tool_calls) {
        text_addf(out, ", \"tool_calls\": ");
        text_add(out, m->tool_calls, strlen(m->tool_calls));
    }
    if (m->call_id)
        add_member(out, "tool_call_id", m->call_id);
    if (m->tool_name)
        add_member(out, "name", m->tool_name);
}

/* A repaired copy, NULL for NULL. Clears *ok without memory. */
static char *copy_text(const char *text, size_t size, bool *ok)
{
    struct text repaired = { 0 };
    if (!text)
        return NULL;
    text_add_repaired(&repaired, text, size);
    text_add(&repaired, "", 0);
    *ok = *ok && !repaired.failed;
    return repaired.data;
}

static char *copy_string(const char *text, bool *ok)
{
    return copy_text(text, text ? strlen(text) : 0, ok);
}

static bool create_message(struct message *m, const char *role, const char *content, size_t size,
                           const struct message_extra *extra)
{
    static const struct message_extra none;
    const struct message_extra *e = extra ? extra : &none;
    struct text members = { 0 };
    bool ok = true;
    *m = (struct message){ .role = strdup(role),
                           .content = copy_text(content, size, &ok),
                           .reasoning = copy_string(e->reasoning, &ok),
                           .tool_calls = copy_string(e->tool_calls, &ok),
                           .call_id = copy_string(e->call_id, &ok),
                           .tool_name = copy_string(e->tool_name, &ok) };
    if (ok)
        message_add_members(&members, m);
    if (members.size) {
        members.data[0] = '{'; /* in place of the comma */
        text_add(&members, "}", 1);
    }
    m->members = members.data;
    if (m->role && ok && !members.failed)
        return true;
    free_message(m);
    return false;
}

bool conversation_add_extra(struct conversation *c, const char *role, const char *content,
                            size_t size, const struct message_extra *extra)
{
    struct message added;
    if (!reserve(c, c->n + 1) || !create_message(&added, role, content, size, extra))
        return false;
    c->messages[c->n++] = added;
    return true;
}

bool conversation_add(struct conversation *c, const char *role, const char *content, size_t size)
{
    return conversation_add_extra(c, role, content, size, NULL);
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
        (text && !create_message(&added, "system", text, strlen(text), NULL)))
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

bool conversation_ends_with_calls(const struct conversation *c)
{
    return conversation_ends_with_answer(c) && c->messages[c->n - 1].tool_calls;
}

size_t conversation_prompt(const struct conversation *c, size_t first, size_t n,
                           struct quire_chat_message *out)
{
    const size_t head = conversation_next_turn(c, 0);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct message *m = &c->messages[i];
        const bool continued = i + 1 == n && has_role(m, "assistant");
        if (i < head || i >= first)
            out[count++] =
                (struct quire_chat_message){ .role = m->role,
                                             .content = m->content,
                                             .content_len = QUIRE_NUL_TERMINATED,
                                             .extra_json = continued ? NULL : m->members };
    }
    return count;
}
