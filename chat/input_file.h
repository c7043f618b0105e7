/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.h - reads files that options name. */
#ifndef QUIRE_CHAT_INPUT_FILE_H
#define QUIRE_CHAT_INPUT_FILE_H
#include "text.h"

/* Reads a file of at most 16 MiB. Returns 0, or after printing the failure its exit code. */
int input_file_read(const char *path, struct text *out);

#endif
