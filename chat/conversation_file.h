/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_file.h - saves and loads conversations as JSON files. */
#ifndef QUIRE_CHAT_CONVERSATION_FILE_H
#define QUIRE_CHAT_CONVERSATION_FILE_H
#include "conversation.h"
#include "settings.h"

/* In both calls "~" at the beginning of path is the home directory, and a failure is printed on
 * standard error. */

/* Writes to a temporary file and renames it to path, so that an old file stays whole until the new
 * one is complete. Only the user can read the file. An existing path that is not a regular file,
 * also a symbolic link, is a failure. */
bool conversation_save(const char *path, const struct conversation *c, const struct settings *s,
                       const char *model);

/* Replaces conversation and settings by those of a saved file, or the conversation by a JSON array
 * of messages with "role" and "content". Returns 0, or the exit code of a failure, which leaves
 * both unchanged. */
int conversation_load(const char *path, struct conversation *c, struct settings *s);

#endif
