/* SPDX-License-Identifier: Apache-2.0 */
/* no_memory.c - for LD_PRELOAD: one allocation of the process fails. QUIRE_FAULT_FILE names a file
 * of two 32-bit integers: the number of the allocation, counted down to 0 = off, and the number of
 * allocations that have failed. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);

static struct {
    _Atomic int countdown, n_failed;
} * shared;

__attribute__((constructor)) static void open_shared(void)
{
    const char *path = getenv("QUIRE_FAULT_FILE");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    shared = map == MAP_FAILED ? NULL : map;
}

static int fails(void)
{
    if (shared == NULL || atomic_load(&shared->countdown) <= 0 ||
        atomic_fetch_sub(&shared->countdown, 1) != 1)
        return 0;
    atomic_fetch_add(&shared->n_failed, 1);
    errno = ENOMEM;
    return 1;
}

#define EXPORTED __attribute__((visibility("default"))) /* the loader must find them */

EXPORTED void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }

EXPORTED void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }

EXPORTED void *realloc(void *block, size_t size)
{
    return fails() ? NULL : __libc_realloc(block, size);
}
