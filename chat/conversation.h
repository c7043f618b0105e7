/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.h - the messages of a conversation, and its generation settings. */
#ifndef QUIRE_CHAT_CONVERSATION_H
#define QUIRE_CHAT_CONVERSATION_H
#include "options.h"
#include <stdbool.h>

/* Owns its strings; contents are well-formed UTF-8 without NUL bytes. */
struct conversation {
    struct message {
        char *role, *content;
    } * messages;
    size_t n, capacity;
};

/* Appends a message; ill-formed UTF-8 is replaced. False: out of memory, nothing changed. */
bool conversation_add(struct conversation *c, const char *role, const char *content, size_t size);
void conversation_truncate(struct conversation *c, size_t n); /* keeps the first n messages */
void conversation_free(struct conversation *c);

/* Number of messages before the first user message. */
size_t conversation_system_messages(const struct conversation *c);

/* Owns its stop strings. */
struct settings {
    struct quire_sampling_params sampling;
    int32_t max_tokens; /* -1 = no limit */
    char *stop[MAX_STOPS];
    uint32_t n_stop;
};
bool settings_add_stop(struct settings *s, const char *text); /* false: too many, or no memory */
void settings_free(struct settings *s);

#endif
