/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.h - the messages of a prompt. */
#ifndef QUIRE_CHAT_PROMPT_H
#define QUIRE_CHAT_PROMPT_H
#include "conversation.h"

struct prompt {
    const struct conversation *conversation; /* borrowed */
    size_t n;                                /* its first n messages are in the prompt */
    const char *note;                        /* borrowed; ends the system message; NULL = none */
    struct quire_chat_message *messages;     /* [n + 1] */
    char *system;                            /* the system message with the note, or NULL */
};

/* False: out of memory. Closed in any case. */
bool prompt_open(struct prompt *p, const struct conversation *c, size_t n, const char *note);
void prompt_close(struct prompt *p);

/* Fills p->messages: as conversation_prompt(), with the note. Returns their number. */
size_t prompt_fill(struct prompt *p, size_t first);

#endif
