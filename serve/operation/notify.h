/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - tells systemd, or another supervisor with its protocol, the state of the server. */
#ifndef QUIRE_SERVE_NOTIFY_H
#define QUIRE_SERVE_NOTIFY_H

/* Opens a socket to the address in NOTIFY_SOCKET, a path or an abstract name that begins with `@`.
 * It stays usable when the sandbox forbids new sockets. -1: there is no supervisor. */
int notify_open(void);

/* Sends a state such as "READY=1" or "STOPPING=1" if fd is not -1. Never blocks. */
void notify_send(int fd, const char *state);

#endif
