/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_file.h - saves and loads conversations as JSON files. */
#ifndef QUIRE_CHAT_CONVERSATION_FILE_H
#define QUIRE_CHAT_CONVERSATION_FILE_H
#include "conversation.h"

/* Writes to a temporary file and renames it to path, so that an old file stays whole until the new
 * one is complete. A failure is printed on standard error. */
bool conversation_save(const char *path, const struct conversation *c, const struct settings *s,
                       const char *model);

/* Replaces conversation and settings. A failure leaves both unchanged and is printed on standard
 * error. */
bool conversation_load(const char *path, struct conversation *c, struct settings *s);

#endif
