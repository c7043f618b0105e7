/* SPDX-License-Identifier: Apache-2.0 */
/* file_faults.h - signals about files: a mapped file that shrinks, a file that grows beyond the
 * limit. For programs: the library installs no handlers. */
#ifndef QUIRE_CHAT_FILE_FAULTS_H
#define QUIRE_CHAT_FILE_FAULTS_H

/* An access to a mapped file that was truncated or cannot be read (SIGBUS) ends the program with a
 * message and exit code 74, after `before_exit`, an async-signal-safe function or NULL. Writes
 * beyond RLIMIT_FSIZE fail with EFBIG instead of a signal (SIGXFSZ). */
void file_faults_install(const char *program, void (*before_exit)(void));

#endif
