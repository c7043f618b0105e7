/* SPDX-License-Identifier: Apache-2.0 */
/* process_info.c - memory, descriptors and CPU time of this process. */
#include "process_info.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void process_info_open(struct process_info *p)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    p->start = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    p->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    p->fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void process_info_close(struct process_info *p)
{
    if (p->statm >= 0)
        close(p->statm);
    if (p->fds >= 0)
        close(p->fds);
}

/* statm: "SIZE RESIDENT ..." in pages */
double process_resident_bytes(const struct process_info *p)
{
    char text[128];
    const ssize_t n = p->statm < 0 ? -1 : pread(p->statm, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *resident = strchr(text, ' ');
    if (resident == NULL)
        return -1;
    return (double)strtoull(resident + 1, NULL, 10) * (double)sysconf(_SC_PAGESIZE);
}

/* Names in a buffer of struct linux_dirent64, without "." and "..". */
static int count_names(const char *buffer, long size)
{
    int count = 0;
    for (long at = 0; at < size;) {
        const struct dirent64 *entry = (const void *)(buffer + at);
        count += entry->d_name[0] != '.';
        at += entry->d_reclen;
    }
    return count;
}

/* By the system call: fdopendir() would take the descriptor. */
double process_open_fds(const struct process_info *p)
{
    _Alignas(struct dirent64) char buffer[4096];
    int count = 0;
    if (p->fds < 0 || lseek(p->fds, 0, SEEK_SET) != 0)
        return -1;
    long n;
    while ((n = syscall(SYS_getdents64, p->fds, buffer, sizeof buffer)) > 0)
        count += count_names(buffer, n);
    return n < 0 ? -1 : count;
}

double process_max_fds(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return -1;
    return (double)limit.rlim_cur;
}

double process_cpu_seconds(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return -1;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}
