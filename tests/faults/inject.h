/* SPDX-License-Identifier: Apache-2.0 */
/* inject.h - counts the calls of system functions that can fail, and lets chosen ones fail. */
#ifndef QUIRE_TEST_INJECT_H
#define QUIRE_TEST_INJECT_H
#include <errno.h>
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(function, errno of a failure). Allocations are those of all libraries in the process, or, under
 * a sanitizer that owns malloc, those through the allocator hooks. */
#define FAULT_KINDS(X)                                                                             \
    X(alloc, ENOMEM)                                                                               \
    X(open, EMFILE)                                                                                \
    X(stat, EACCES)                                                                                \
    X(fstat, EIO)                                                                                  \
    X(read, EIO)                                                                                   \
    X(pread, EIO)                                                                                  \
    X(write, ENOSPC)                                                                               \
    X(fsync, EIO)                                                                                  \
    X(rename, EIO)                                                                                 \
    X(mmap, ENOMEM)                                                                                \
    X(pthread_create, EAGAIN)

enum fault_kind {
#define X(name, error) FAULT_##name,
    FAULT_KINDS(X)
#undef X
        N_FAULT_KINDS
};

enum fault_mode {
    FAULT_ONCE,      /* call `at` fails */
    FAULT_FOR_EVER,  /* call `at` and all later ones fail */
    FAULT_INTERRUPT, /* call `at` is interrupted by a signal: EINTR, nothing done */
    FAULT_SHORT,     /* call `at` of read, pread or write transfers one byte */
    N_FAULT_MODES
};

extern const char *const fault_kind_names[N_FAULT_KINDS];
extern const char *const fault_mode_names[N_FAULT_MODES];

/* Starts counting, and lets call `at` (1 = the first; 0 = none) of one kind fail. */
void inject_begin(enum fault_kind kind, enum fault_mode mode, uint64_t at);
/* Stops; counts[kind] = calls since inject_begin. */
void inject_end(uint64_t counts[N_FAULT_KINDS]);

/* Allocations that are alive now. */
int64_t inject_live(void);
/* Hooks for the allocations of the library, or NULL where malloc itself is replaced. */
const struct quire_allocator *inject_allocator(void);

#endif
