/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.h - a conversation: its messages and the state of its prompt. */
#ifndef QUIRE_CHAT_CONVERSATION_H
#define QUIRE_CHAT_CONVERSATION_H
#include "text.h"
#include <quire/quire.h>
#include <stdbool.h>

/* What a message has beside role and content; each is NULL if there is none. */
struct message_extra {
    const char *reasoning;  /* of an answer */
    const char *tool_calls; /* of an answer: JSON array as in OpenAI's API, arguments as strings */
    const char *call_id;    /* of the result of a call: its id */
    const char *tool_name;  /* of the result of a call */
};

/* Owns its strings; contents are well-formed UTF-8 without NUL bytes. A turn is a user message with
 * the messages up to the next one. */
struct conversation {
    struct message {
        char *role, *content;
        char *reasoning, *tool_calls, *call_id, *tool_name; /* as in struct message_extra */
        char *members; /* these as a JSON object for the chat template; NULL: all are NULL */
    } * messages;
    size_t n, capacity;
    size_t first; /* the prompt has the messages before the first turn, and those from here on */
    uint32_t n_tokens;      /* of the last prompt and its answer; 0 = none since a change */
    uint32_t regenerations; /* of the last turn: selects the random number stream */
    bool roll_reported;
    char *name; /* NULL = none given */
    uint64_t number;
};

/* Appends a message; ill-formed UTF-8 is replaced. extra is copied; NULL = nothing. False: out of
 * memory, nothing changed. */
bool conversation_add(struct conversation *c, const char *role, const char *content, size_t size);
bool conversation_add_extra(struct conversation *c, const char *role, const char *content,
                            size_t size, const struct message_extra *extra);

/* Appends `, "key": value` for each extra member of a message under its name in OpenAI's API. */
void message_add_members(struct text *out, const struct message *m);
void conversation_truncate(struct conversation *c, size_t n); /* keeps the first n messages */
void conversation_free(struct conversation *c);

/* Moves the messages of `from` to c in place of its own and resets the state of the prompt. Name
 * and number stay. Leaves `from` empty. */
void conversation_replace(struct conversation *c, struct conversation *from);

/* Removes all messages but the system messages. */
void conversation_reset(struct conversation *c);

/* Sets the system message, which begins the conversation; NULL removes it. False: out of memory,
 * nothing changed. */
bool conversation_set_system(struct conversation *c, const char *text);

/* Number of system messages that begin the conversation. */
size_t conversation_system_count(const struct conversation *c);

/* Index of the first message of the turn at or after `from`; n if there is none. */
size_t conversation_next_turn(const struct conversation *c, size_t from);

/* Index of the first message of the last turn among the first n messages; n if there is none. */
size_t conversation_last_turn(const struct conversation *c, size_t n);

bool conversation_ends_with_answer(const struct conversation *c);

/* Whether the last message is an answer with calls of tools, which have no results yet. */
bool conversation_ends_with_calls(const struct conversation *c);

/* Writes the messages of a prompt to out [n]: of the first n messages, those before the first turn
 * and those from `first` on. Returns their number. out borrows the strings. A last answer, which
 * the model continues, is without its extra members. */
size_t conversation_prompt(const struct conversation *c, size_t first, size_t n,
                           struct quire_chat_message *out);

#endif
