/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - the protocol of sd_notify(3). */
#include "notify.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_open(void)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (name == NULL || (name[0] != '/' && name[0] != '@'))
        return -1;
    const size_t n = strlen(name);
    if (n < 2 || n >= sizeof a.sun_path)
        return -1;
    memcpy(a.sun_path, name, n);
    if (name[0] == '@')
        a.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void notify_send(int fd, const char *state)
{
    if (fd >= 0)
        (void)!send(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT);
}
