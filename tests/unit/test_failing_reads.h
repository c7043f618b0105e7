/* SPDX-License-Identifier: Apache-2.0 */
/* test_failing_reads.h - lets the n-th read of a file fail. Programs with it are linked with
 * -Wl,--wrap=pread. */
#ifndef QUIRE_TEST_FAILING_READS_H
#define QUIRE_TEST_FAILING_READS_H
#include <errno.h>
#include <sys/types.h>

static size_t n_reads, failing_read; /* failing_read: 1 = the first, 0 = none */

ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
    if (__atomic_add_fetch(&n_reads, 1, __ATOMIC_RELAXED) == failing_read) {
        errno = EIO;
        return -1;
    }
    return __real_pread(fd, p, n, at);
}

static inline void fail_read(size_t at)
{
    n_reads = 0;
    failing_read = at;
}
#endif
