/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_malloc.h - counts calls of the C library's allocation functions. The linker redirects
 * those of the library and of the test to the __wrap_ functions below (tests/CMakeLists.txt). */
#ifndef QUIRE_TEST_NO_MALLOC_H
#define QUIRE_TEST_NO_MALLOC_H
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint64_t n_calls; /* atomic: team members call too */

#define COUNTED(type, name, params, ...)                                                           \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);                                         \
        return __real_##name(__VA_ARGS__);                                                         \
    }
COUNTED(void *, malloc, (size_t size), size)
COUNTED(void *, calloc, (size_t n, size_t size), n, size)
COUNTED(void *, realloc, (void *p, size_t size), p, size)
COUNTED(void *, aligned_alloc, (size_t align, size_t size), align, size)
COUNTED(int, posix_memalign, (void **p, size_t align, size_t size), p, align, size)
COUNTED(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from), at, n, prot,
        flags, fd, from)

static inline uint64_t count_allocations(void)
{
    return __atomic_load_n(&n_calls, __ATOMIC_RELAXED);
}

#endif
