/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - lines of a conversation that begin with a slash. */
#ifndef QUIRE_CHAT_COMMANDS_H
#define QUIRE_CHAT_COMMANDS_H
#include "session.h"

/* Obeys one; complains about one that does not exist. Returns true when the conversation is to
 * end. */
bool run_command(struct session *s, const char *line);

#endif
