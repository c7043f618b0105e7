/* SPDX-License-Identifier: Apache-2.0 */
/* read_text.c - reads small text files of /proc and /sys. */
#include "base/read_text.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool qr_read_text(const char *path, char *buf, size_t size)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n = 1;
    while (used < size - 1 && (n > 0 || errno == EINTR)) {
        n = read(fd, buf + used, size - 1 - used);
        if (n == 0)
            break;
        used += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    buf[used] = 0;
    return used > 0 && n >= 0;
}
