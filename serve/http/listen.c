/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - opens the listening sockets. */
#include "listen.h"
#include "numbers.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, FIRST_PASSED_FD = 3, MODE = 0660 };

/* An address of any family. */
union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static bool fail(struct api_error *error, const char *what, const char *reason)
{
    return api_fail(error, 500, NULL, NULL, "cannot listen on %s: %s", what, reason);
}

static void format_url(const struct options *o, const union address *a, char url[160])
{
    char host[INET6_ADDRSTRLEN] = "";
    const char *scheme = o->tls_cert ? "https" : "http";
    if (a->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host);
        snprintf(url, 160, "%s://[%s]:%u", scheme, host, ntohs(a->v6.sin6_port));
    } else if (a->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host);
        snprintf(url, 160, "%s://%s:%u", scheme, host, ntohs(a->v4.sin_port));
    } else { /* a path, or an abstract name, which begins with NUL */
        const bool abstract = a->local.sun_path[0] == '\0';
        snprintf(url, 160, "unix:%s%.107s", abstract ? "@" : "", a->local.sun_path + abstract);
    }
}

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
    return a->any.sa_family == AF_INET && ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Fills a listener from a bound socket. */
static bool describe(const struct options *o, int fd, struct listener *l)
{
    union address a = { 0 };
    socklen_t size = sizeof a;
    if (getsockname(fd, &a.any, &size) != 0)
        return false;
    *l = (struct listener){ .fd = fd,
                            .is_unix = a.any.sa_family == AF_UNIX,
                            .is_loopback = is_loopback(&a) };
    format_url(o, &a, l->url);
    return true;
}

/* ---- Sockets passed by systemd */

/* Their number; 0 = there are none, -1 = the variables are wrong. */
static int count_passed(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    int64_t value, n;
    if (pid == NULL || fds == NULL || !parse_integer(pid, 1, INT32_MAX, &value) ||
        value != getpid()) /* inherited by chance */
        return 0;
    return parse_integer(fds, 0, LISTEN_MAX, &n) ? (int)n : -1;
}

static int take_passed(const struct options *o, int n, struct listener out[LISTEN_MAX],
                       struct api_error *error)
{
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    for (int i = 0; i < n; i++) {
        const int fd = FIRST_PASSED_FD + i;
        int type = 0, listens = 0;
        socklen_t size = sizeof type;
        char what[64];
        snprintf(what, sizeof what, "descriptor %d of LISTEN_FDS", fd);
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0)
            return fail(error, what, strerror(errno));
        if (type != SOCK_STREAM || !listens)
            return fail(error, what, "it is not a listening stream socket");
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 || !describe(o, fd, &out[i]))
            return fail(error, what, strerror(errno));
    }
    return n;
}

/* ---- Unix socket */

/* Removes the file of a server that has ended. */
static bool remove_stale(const char *path, const union address *a, struct api_error *error)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT || fail(error, path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return fail(error, path, "there is a file that is not a socket");
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail(error, path, strerror(errno));
    const bool refused = connect(fd, &a->any, sizeof a->local) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (!refused)
        return fail(error, path, "another server listens there");
    return unlink(path) == 0 || fail(error, path, strerror(errno));
}

static int open_unix(const struct options *o, struct listener *out, struct api_error *error)
{
    const char *path = o->unix_socket;
    union address a = { .local = { .sun_family = AF_UNIX } };
    if (strlen(path) >= sizeof a.local.sun_path)
        return fail(error, path, "the path of a Unix socket has at most 107 bytes");
    memcpy(a.local.sun_path, path, strlen(path) + 1);
    if (!remove_stale(path, &a, error))
        return 0;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* the mode before bind() keeps others out until the mode of the file is set */
    if (fd < 0 || fchmod(fd, S_IRUSR | S_IWUSR) != 0 || bind(fd, &a.any, sizeof a.local) != 0 ||
        listen(fd, BACKLOG) != 0 || chmod(path, MODE) != 0 || !describe(o, fd, out)) {
        fail(error, path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return 0;
    }
    out->is_own = true;
    return 1;
}

bool listen_is_loopback(const struct listener *listeners, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!listeners[i].is_loopback)
            return false;
    return n > 0;
}

void listen_remove_files(const struct listener *listeners, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (listeners[i].is_own)
            unlink(listeners[i].url + strlen("unix:"));
}

/* ---- TCP */

/* Whether an address of a name may be left out since this machine does not have it. */
static bool is_absent(int error)
{
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EPROTONOSUPPORT;
}

static bool is_any_v6(const union address *a)
{
    return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);
}

/* Address and port of an element of getaddrinfo(). */
static union address address_of(const struct addrinfo *info, uint16_t port)
{
    union address a = { 0 };
    memcpy(&a, info->ai_addr, info->ai_addrlen < sizeof a ? info->ai_addrlen : sizeof a);
    if (a.any.sa_family == AF_INET6)
        a.v6.sin6_port = htons(port);
    else
        a.v4.sin_port = htons(port);
    return a;
}

/* Opens one address. Returns 0 or an errno. SO_REUSEADDR permits a restart while old connections
 * linger in TIME_WAIT; two servers on one port remain an error. */
static int open_address(const struct options *o, const union address *a, socklen_t size,
                        struct listener *out)
{
    const int one = 1, only_v6 = !is_any_v6(a); /* :: is every address of both versions */
    const int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        (a->any.sa_family != AF_INET6 ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) == 0) &&
        bind(fd, &a->any, size) == 0 && listen(fd, BACKLOG) == 0 && describe(o, fd, out))
        return 0;
    const int code = errno;
    close(fd);
    return code;
}

/* Whether an address is open: /etc/hosts may give a name the same one twice. */
static bool is_open(const struct listener *listeners, int n, const char *url)
{
    for (int i = 0; i < n; i++)
        if (strcmp(listeners[i].url, url) == 0)
            return true;
    return false;
}

static uint16_t port_of(int fd)
{
    union address a = { 0 };
    socklen_t size = sizeof a;
    if (getsockname(fd, &a.any, &size) != 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

static int open_all(const struct options *o, const struct addrinfo *list,
                    struct listener out[LISTEN_MAX], struct api_error *error)
{
    int n = 0, absent = 0;
    char url[160], absent_url[160] = "";
    uint16_t port = o->port;
    for (const struct addrinfo *i = list; i != NULL && n < LISTEN_MAX; i = i->ai_next) {
        const union address a = address_of(i, port);
        format_url(o, &a, url);
        if (is_open(out, n, url))
            continue;
        const int code = open_address(o, &a, i->ai_addrlen, &out[n]);
        if (is_absent(code)) {
            absent = code;
            memcpy(absent_url, url, sizeof url);
        } else if (code != 0) {
            while (n > 0)
                close(out[--n].fd);
            return fail(error, url,
                        code == EADDRINUSE ? "another program listens there (see --port)"
                                           : strerror(code));
        } else {
            port = port_of(out[n++].fd);
        }
    }
    return n > 0 ? n : fail(error, absent_url, strerror(absent));
}

static int open_tcp(const struct options *o, struct listener out[LISTEN_MAX],
                    struct api_error *error)
{
    const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    const int code = getaddrinfo(o->host, NULL, &hints, &list);
    if (code != 0) {
        char what[300];
        snprintf(what, sizeof what, "--host %s", o->host);
        return fail(error, what, code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
    }
    const int n = open_all(o, list, out, error);
    freeaddrinfo(list);
    return n;
}

int listen_open(const struct options *o, struct listener out[LISTEN_MAX], struct api_error *error)
{
    const int passed = count_passed();
    if (passed < 0)
        return fail(error, "the sockets of LISTEN_FDS", "give 1 to 8");
    if (passed > 0)
        return take_passed(o, passed, out, error);
    return o->unix_socket ? open_unix(o, out, error) : open_tcp(o, out, error);
}
