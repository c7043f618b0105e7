/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.h - the configuration file: options by name.
 *
 *     # a comment
 *     model  small=/srv/models/small.gguf   # names and values as on the command line
 *     port = 8080
 *     sandbox                               # a flag; "sandbox off" turns it off
 *     model "/srv/my models/large.gguf"     # quotes are needed for a # after a space
 *
 * A value ends at the end of the line or at a # after a space. Inside quotes nothing is special
 * except the closing quote, after which only a comment may follow. */
#ifndef QUIRE_SERVE_CONFIG_FILE_H
#define QUIRE_SERVE_CONFIG_FILE_H
#include "option_values.h"

/* Reads the options of a file into r->options, whose config_text owns the strings. An option that
 * cannot be repeated occurs once. On failure prints one line with the file and the line to standard
 * error and returns the exit code, otherwise 0. */
int config_file_read(const char *path, struct option_reader *r);

#endif
