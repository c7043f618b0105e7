/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - the sockets on which the server listens. */
#ifndef QUIRE_SERVE_LISTEN_H
#define QUIRE_SERVE_LISTEN_H
#include "error.h"
#include "options.h"
#include <stdbool.h>

enum { LISTEN_MAX = 8 };

struct listener {
    int fd;        /* non-blocking, closed on exec */
    char url[160]; /* "http://127.0.0.1:8080", "https://[::1]:8080", "unix:/run/quire/socket" */
    bool is_unix;
    bool is_loopback;
    bool is_own; /* a Unix socket whose file the server made */
};

/* Opens the listening sockets and returns their number, or 0 with *error:
 *  - those that systemd passed (LISTEN_FDS, LISTEN_PID), whatever the options say;
 *  - the Unix socket of --unix-socket, mode 0660. A socket file there on which nobody answers is
 *    removed first; any other file is an error;
 *  - otherwise all addresses of --host, on one port. Port 0 is any free one. */
int listen_open(const struct options *o, struct listener out[LISTEN_MAX], struct api_error *error);

/* Whether only programs of this machine reach the server by TCP, and nobody by other sockets. */
bool listen_is_loopback(const struct listener *listeners, unsigned n);

/* Removes the files of the server's own Unix sockets. */
void listen_remove_files(const struct listener *listeners, unsigned n);

#endif
