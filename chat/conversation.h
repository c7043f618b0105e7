/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.h - the messages so far, and the settings that go with them; saving and loading
 * both. */
#ifndef QUIRE_CHAT_CONVERSATION_H
#define QUIRE_CHAT_CONVERSATION_H
#include "options.h"
#include <stdbool.h>

/* Owned strings; contents are well-formed UTF-8 without NUL bytes. */
struct conversation {
    struct message {
        char *role, *content;
    } * messages;
    size_t n, capacity;
};

/* Adds a message, repairing its text. False: memory ran out, nothing changed. */
bool conversation_add(struct conversation *c, const char *role, const char *content, size_t size);
void conversation_keep(struct conversation *c, size_t n); /* drops all messages from number n on */
void conversation_free(struct conversation *c);

/* Messages before the first user message: the system prompt. */
size_t conversation_preamble(const struct conversation *c);

/* How to answer. The pointers belong to this struct. */
struct settings {
    struct quire_sampling_params sampling;
    int32_t max_tokens; /* -1 = no limit */
    char *stop[MAX_STOPS];
    uint32_t n_stop;
};
bool settings_add_stop(struct settings *s, const char *text);
void settings_free(struct settings *s);

/* Writes both as JSON: into a temporary file first, which then takes the place of `path`, so
 * that an old file is whole until the new one is. On failure says why on standard error. */
bool conversation_save(const char *path, const struct conversation *c, const struct settings *s,
                       const char *model);

/* Replaces both by what a file holds; on failure they are as they were. */
bool conversation_load(const char *path, struct conversation *c, struct settings *s);

#endif
