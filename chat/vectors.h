/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.h - embeddings and scores of texts in the place of a conversation: --embed, --rerank. */
#ifndef QUIRE_CHAT_VECTORS_H
#define QUIRE_CHAT_VECTORS_H
#include "session.h"

/* Texts that are computed at a time, of those that can be read without waiting. */
enum { VECTORS_AT_A_TIME = 16 };

/* Whether the options ask for vectors. */
bool vectors_wanted(const struct options *o);

/* Whether the open model can compute them; false: err->msg says what it lacks. */
bool vectors_supported(const struct session *s, struct quire_error *err);

/* Prints the vector of one text. Returns an exit code. */
int vectors_of_text(struct session *s, const char *text, size_t size);

/* Prints the vector of every line of standard input, in their order. The first failure ends the
 * program. Returns an exit code. */
int vectors_of_lines(struct session *s);

#endif
