/* SPDX-License-Identifier: Apache-2.0 */
/* trace_sender.c - the process that sends traces to a collector: batches of spans, each in an HTTP
 * request with a connection of its own. */
#include "trace_sender.h"
#include "collector_url.h"
#include "landlock.h"
#include "syscall_filter.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    QUEUE_BYTES = 1 << 20,
    MAX_BATCH = 128, /* spans */
    BATCH_MS = 1000, /* longest time that a span waits for others */
    TIMEOUT_SECONDS = 5,
    N_ATTEMPTS = 3,
    CHILD_FD = 3,
};

/* State of the process. */
struct sender {
    const struct collector_url *url;
    struct addrinfo *addresses;
    const char *prefix, *suffix;
    bool sandbox;
    bool ended; /* no more spans will come */
    uint32_t n_spans;
    struct text spans; /* joined by commas */
    char error[120];
};

/* ---- HTTP ---- */

static bool fail(struct sender *s, const char *what)
{
    snprintf(s->error, sizeof s->error, "%s", what);
    return false;
}

static int connect_to(struct sender *s)
{
    const struct timeval timeout = { .tv_sec = TIMEOUT_SECONDS };
    int fd = -1;
    for (const struct addrinfo *a = s->addresses; a != NULL; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout); /* also of connect() */
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        const int e = errno;
        close(fd);
        errno = e;
    }
    fail(s, errno == EINPROGRESS ? "connecting timed out" : strerror(errno));
    return -1;
}

static bool send_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* The status of the answer; 0: there is none. Reads a short rest, so that the collector can end the
 * connection in order. */
static int read_status(int fd)
{
    char line[64], rest[4096];
    size_t n = 0;
    ssize_t got = 1;
    int status = 0;
    /* cppcheck-suppress uninitvar ; the first n bytes are set */
    while (n < sizeof line - 1 && memchr(line, '\n', n) == NULL &&
           (got = recv(fd, line + n, sizeof line - 1 - n, 0)) > 0)
        n += (size_t)got;
    for (int i = 0; i < 16 && got > 0; i++)
        got = recv(fd, rest, sizeof rest, 0);
    line[n] = '\0';
    /* NOLINTNEXTLINE(cert-err34-c): three digits */
    return sscanf(line, "HTTP/1.%*1[01] %3d", &status) == 1 ? status : 0;
}

/* Sends the batch once. *again: a later attempt may succeed. */
static bool post(struct sender *s, bool *again)
{
    struct text request = { 0 };
    const size_t size = strlen(s->prefix) + s->spans.size + strlen(s->suffix);
    text_format(&request,
                "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                "Content-Length: %zu\r\nConnection: close\r\nUser-Agent: quire-server\r\n\r\n%s",
                s->url->path, s->url->authority, size, s->prefix);
    text_add(&request, s->spans.data, s->spans.size);
    text_add_string(&request, s->suffix);
    *again = true;
    const int fd = request.failed ? -1 : connect_to(s);
    int status = 0;
    if (fd >= 0) {
        if (send_all(fd, request.data, request.size))
            status = read_status(fd);
        close(fd);
        char text[64];
        snprintf(text, sizeof text, status ? "HTTP status %d" : "no answer", status);
        fail(s, text);
        *again = status == 0 || status == 429 || (status >= 502 && status <= 504);
    }
    text_free(&request);
    return status >= 200 && status < 300;
}

/* ---- The process ---- */

/* Whether the server finishes within this time: then nobody waits for a collector that fails. */
static bool server_finished(int milliseconds)
{
    struct pollfd p = { .fd = CHILD_FD, .events = POLLRDHUP };
    return poll(&p, 1, milliseconds) != 0;
}

static bool send_batch(struct sender *s)
{
    static const int wait_ms[N_ATTEMPTS] = { 0, 1000, 4000 };
    struct trace_report report = { 0 };
    bool again = true, ok = false;
    for (int i = 0; i < N_ATTEMPTS && again && !ok; i++) {
        if (i > 0 && server_finished(wait_ms[i]))
            break;
        ok = post(s, &again);
    }
    if (ok) {
        report.sent = s->n_spans;
    } else {
        report.failed = s->n_spans;
        memcpy(report.error, s->error, sizeof report.error);
    }
    send(CHILD_FD, &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL);
    s->n_spans = 0;
    text_free(&s->spans);
    return ok;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for a span, then for others until the batch is full or old enough. */
static void collect(struct sender *s)
{
    char span[MAX_SPAN_BYTES];
    int64_t until = 0;
    while (s->n_spans < MAX_BATCH) {
        struct pollfd p = { .fd = CHILD_FD, .events = POLLIN };
        const int64_t left = until - now_ms();
        if (poll(&p, 1, s->n_spans == 0 ? -1 : left > 0 ? (int)left : 0) == 0)
            return;
        const ssize_t n = recv(CHILD_FD, span, sizeof span, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0) {
            s->ended = true;
            return;
        }
        if (s->n_spans == 0)
            until = now_ms() + BATCH_MS;
        else
            text_add(&s->spans, ",", 1);
        text_add(&s->spans, span, (size_t)n);
        s->n_spans++;
    }
}

/* Keeps the pair of sockets only: an open socket of the server would outlive it here. */
static void leave_server(int fd)
{
    const int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    if (fd != CHILD_FD)
        dup2(fd, CHILD_FD);
    if (syscall(SYS_close_range, CHILD_FD + 1, ~0u, 0) != 0)
        for (int i = CHILD_FD + 1; i < 1024; i++)
            close(i);
    const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE }; /* it ends after the server */
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "quire-trace");
}

/* No files, no programs; TCP connections to the port of the collector. */
static bool enter_sandbox(const struct sender *s)
{
    struct api_error error = { 0 };
    struct landlock l;
    return landlock_create(&l, &error) && landlock_allow_port(&l, s->url->port, &error) &&
           landlock_enter(&l, &error) && syscall_filter_enter(SYSCALLS_CLIENT, &error);
}

static void run(struct sender *s, int fd)
{
    leave_server(fd);
    if (s->sandbox && !enter_sandbox(s))
        _exit(1);
    while (!s->ended) {
        collect(s);
        if (s->n_spans > 0 && !send_batch(s) && server_finished(0))
            break;
    }
    _exit(0);
}

/* ---- The server's side ---- */

static bool resolve(struct sender *s, struct api_error *error)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    char port[8];
    snprintf(port, sizeof port, "%u", s->url->port);
    const int e = getaddrinfo(s->url->host, port, &hints, &s->addresses);
    return e == 0 || api_fail(error, 500, NULL, NULL, "--otlp-endpoint: %s: %s", s->url->host,
                              gai_strerror(e));
}

bool trace_sender_start(struct trace_sender *t, const struct collector_url *url, const char *prefix,
                        const char *suffix, bool sandbox, struct api_error *error)
{
    struct sender s = { .url = url, .prefix = prefix, .suffix = suffix, .sandbox = sandbox };
    const int size = QUEUE_BYTES;
    int fds[2];
    *t = (struct trace_sender){ .fd = -1 };
    if (!resolve(&s, error))
        return false;
    const bool pair = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0;
    t->pid = pair ? fork() : -1;
    if (t->pid == 0) {
        close(fds[0]);
        run(&s, fds[1]);
    }
    const int e = errno;
    freeaddrinfo(s.addresses);
    if (pair)
        close(fds[1]);
    if (t->pid > 0) {
        t->fd = fds[0];
        setsockopt(t->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        return true;
    }
    if (pair)
        close(fds[0]);
    return api_fail(error, 500, NULL, NULL, "--otlp-endpoint: %s", strerror(e));
}

bool trace_sender_put(struct trace_sender *s, const char *span, size_t size)
{
    return size <= MAX_SPAN_BYTES &&
           send(s->fd, span, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

bool trace_sender_report(struct trace_sender *s, struct trace_report *report, int milliseconds)
{
    struct pollfd p = { .fd = s->fd, .events = POLLIN };
    return poll(&p, 1, milliseconds) > 0 &&
           recv(s->fd, report, sizeof *report, MSG_DONTWAIT) == sizeof *report;
}

void trace_sender_finish(struct trace_sender *s) { shutdown(s->fd, SHUT_WR); }

void trace_sender_close(struct trace_sender *s)
{
    close(s->fd);
    waitpid(s->pid, NULL, WNOHANG);
}
