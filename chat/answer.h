/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - one answer while it is generated: content, reasoning and calls of tools. */
#ifndef QUIRE_CHAT_ANSWER_H
#define QUIRE_CHAT_ANSWER_H
#include "answer_output.h"

/* A complete call. Owns its strings. */
struct tool_call {
    char *id, *name;
    char *arguments; /* a JSON object in one line, with uniform blanks */
};

/* The content is output.answer. Zeroes = an answer whose text is all content. */
struct answer {
    struct quire_chat_output *parser; /* owned; NULL: all text is content */
    struct text reasoning;
    struct tool_call *calls; /* [n_calls] */
    size_t n_calls;
    uint32_t n_broken; /* calls that were dropped: their arguments are no JSON object */
    struct text id, name, arguments; /* of the call that is being written */
    bool ends_in_reasoning;          /* the last text was no content */
    quire_status status;             /* the first failure; the rest of the text is lost */
};

/* Adds a piece of text and shows what it holds. */
void answer_add(struct answer *a, struct output *out, const char *text, size_t size);
/* Decides text that was held back. */
void answer_finish(struct answer *a, struct output *out);
void answer_free(struct answer *a);

/* Drops n bytes at the end of the text, markup not counted: of the content or of the reasoning. */
void answer_cut(struct answer *a, struct output *out, size_t n);

/* Appends the calls as a JSON array for struct message_extra. */
void answer_add_calls_json(const struct answer *a, struct text *out);

#endif
