/* SPDX-License-Identifier: Apache-2.0 */
/* checksum.h - fast 64-bit checksum against damage, not against forgery. */
#ifndef QR_BASE_CHECKSUM_H
#define QR_BASE_CHECKSUM_H
#include <stddef.h>
#include <stdint.h>

/* Checksum of n bytes; depends on the byte order of the machine. Every change within one aligned
 * word of 8 bytes changes it, other changes with probability 1 - 2^-64. */
uint64_t qr_checksum(const void *data, size_t n);

#endif
