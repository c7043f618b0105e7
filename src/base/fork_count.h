/* SPDX-License-Identifier: Apache-2.0 */
/* fork_count.h - detects that this process is a child of the one that created an object. */
#ifndef QR_BASE_FORK_COUNT_H
#define QR_BASE_FORK_COUNT_H
#include <stdbool.h>
#include <stdint.h>

/* Starts counting. False: no memory; a later call tries again. */
bool qr_fork_count_start(void);

/* A number that differs between a process and each child that fork() made of it since
 * qr_fork_count_start(). A load, no system call. */
uint32_t qr_fork_count(void);

#endif
