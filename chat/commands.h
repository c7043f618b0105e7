/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - slash commands of a conversation. */
#ifndef QUIRE_CHAT_COMMANDS_H
#define QUIRE_CHAT_COMMANDS_H
#include "session.h"

/* Whether a turn is a command: one line that begins with a slash, or the word exit or quit. */
bool is_command(const char *turn);

/* Runs the command of such a line; an unknown one is printed as an error.
 * Returns true if the conversation ends. */
bool run_command(struct session *s, const char *line);

/* Name of the i-th command with its slash, NULL after the last. Sets *argument to the name of its
 * argument, NULL if it takes none. */
const char *command_name(size_t i, const char **argument);

#endif
