/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - completes slash commands, and the file names and conversations after them. */
#ifndef QUIRE_CHAT_COMPLETION_H
#define QUIRE_CHAT_COMPLETION_H
#include "text.h"

enum { MAX_CANDIDATES = 256 };

struct completion {
    size_t begin; /* offset of the word that the candidates replace */
    char *candidates[MAX_CANDIDATES];
    size_t n;
    bool more; /* there are more than MAX_CANDIDATES */
};

/* Finds the candidates for the word that ends at offset `cursor` of a line, in byte order. A
 * command that takes an argument ends with a space, a folder with a slash. user is what
 * line_editor_open() was given, for complete_command a struct session. */
typedef void complete_fn(const void *user, const char *line, size_t cursor, struct completion *out);
complete_fn complete_command;

void completion_free(struct completion *c);

/* Bytes that all candidates (n >= 1) begin with; whole characters. */
size_t completion_common(const struct completion *c);

#endif
