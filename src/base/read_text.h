/* SPDX-License-Identifier: Apache-2.0 */
/* read_text.h - reads small text files of /proc and /sys. */
#ifndef QR_BASE_READ_TEXT_H
#define QR_BASE_READ_TEXT_H
#include <stdbool.h>
#include <stddef.h>

/* Reads at most size - 1 bytes of a file into buf and terminates them. False when the file cannot
 * be opened or is empty. */
bool qr_read_text(const char *path, char *buf, size_t size);

#endif
