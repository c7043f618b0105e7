/* SPDX-License-Identifier: Apache-2.0 */
/* hash_key.h - --hash-key: the hash of an API key for the file of keys. */
#ifndef QUIRE_SERVE_HASH_KEY_H
#define QUIRE_SERVE_HASH_KEY_H

/* Reads one line from standard input, without echo from a terminal, and prints "sha256:HEX" of it
 * without the newline. Returns the exit code; on failure prints one line to standard error. */
int hash_key_from_input(void);

#endif
