/* SPDX-License-Identifier: Apache-2.0 */
/* constraint.h - --json-schema, --grammar and --regex: the form of every answer. */
#ifndef QUIRE_CHAT_CONSTRAINT_H
#define QUIRE_CHAT_CONSTRAINT_H
#include "session.h"

/* Compiles the grammar of the options for the open engine. Returns 0, also without one, or after
 * printing the failure its exit code: no answer is generated without the grammar. */
int constraint_open(struct session *s);

/* Before the engine is closed. */
void constraint_close(struct session *s);

#endif
