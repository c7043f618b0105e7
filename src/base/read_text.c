/* SPDX-License-Identifier: Apache-2.0 */
/* read_text.c - reads small text files of /proc and /sys. */
#include "base/read_text.h"
#include <fcntl.h>
#include <unistd.h>

bool qr_read_text(const char *path, char *buf, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n;
    while (used < size - 1 && (n = read(fd, buf + used, size - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    buf[used] = 0;
    return used > 0;
}
