/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - paths of files that the user names. */
#ifndef QUIRE_CHAT_PATH_H
#define QUIRE_CHAT_PATH_H
#include "text.h"

/* Adds path with the home directory in place of "~" or a leading "~/". */
void path_add_expanded(struct text *out, const char *path);

/* Why a file cannot be written to path by renaming another one to it; NULL: path is a regular file,
 * or does not exist. A symbolic link is an obstacle, since the rename would replace the link and
 * not the file that it leads to. */
const char *path_obstacle(const char *path);

#endif
