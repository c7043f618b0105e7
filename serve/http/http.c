/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"
#include "cors.h"
#include "exchange.h"
#include "exchange_io.h"
#include "metrics.h"
#include "receive.h"
#include "router.h"
#include "server.h"
#include "tls.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTION_MEMORY_BYTES = 24 << 10, /* limits the header of a request */
    RESERVED_DESCRIPTORS = 64,          /* for models and files */
    ONE_SEND_BYTES = 64 << 10,          /* an answer that is sent at once, with its header */
    PIECE_BYTES = 16 << 10,
};

#define WAKE_SECONDS 0.1

struct http {
    struct server *server;
    struct MHD_Daemon *daemons[LISTEN_MAX];
    unsigned n_daemons;
    struct connection *connections;
    unsigned n_connections;
    struct tls tls;
    bool run_soon; /* a connection was resumed, or has input */
    struct loop_timer again;
    uint64_t n_exchanges;
};

static void end_connection(void *user)
{
    const struct connection *c = user;
    shutdown(c->fd, SHUT_RDWR);
}

void http_set_deadline(struct connection *c, double seconds)
{
    loop_timer_set(c->http->server->loop, &c->deadline, seconds, end_connection, c);
}

/* ---- The end of a client ---- */

static void tell_aborted(void *user)
{
    struct exchange *x = user;
    void (*aborted)(void *user) = x->aborted;
    x->aborted = NULL;
    if (aborted != NULL)
        aborted(x->user);
}

/* The client has gone: tells the owner and lets libmicrohttpd close the connection. */
static void client_gone(struct exchange *x)
{
    struct exchange_io *io = x->io;
    if (io->gone)
        return;
    io->gone = true;
    tell_aborted(x);
    http_wake(x);
}

/* libmicrohttpd waits for the next event of a descriptor after a read that got less than it could
 * have; the end of the stream, if it came with the data, has no event of its own. Wakes it until it
 * has seen the end, or has the whole request. */
static void wake_reader(void *user)
{
    struct connection *c = user;
    if (c->current != NULL && c->current->io->handled)
        return;
    shutdown(c->fd, SHUT_RD);
    loop_timer_set(c->http->server->loop, &c->wake, WAKE_SECONDS, wake_reader, c);
}

/* The sending side of the client is closed: it has gone, or has nothing more to send. */
static void end_of_input(void *user, uint32_t events)
{
    struct connection *c = user;
    struct exchange *x = c->current;
    (void)events;
    loop_unwatch(c->http->server->loop, c->fd);
    c->watched = false;
    c->input_ended = true;
    if (x == NULL || !x->io->handled)
        loop_timer_set(c->http->server->loop, &c->wake, 0, wake_reader, c); /* when it has read */
    else if (!x->io->ended) /* a client may close when it has read the whole answer */
        client_gone(x);
}

static void connection_notify(void *user, struct MHD_Connection *handle, void **socket_context,
                              enum MHD_ConnectionNotificationCode code)
{
    struct http *h = user;
    struct connection *c = *socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        c = calloc(1, sizeof *c);
        if (c == NULL)
            return;
        *c = (struct connection){ .http = h, .handle = handle };
        c->fd = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        c->next = h->connections;
        if (c->next != NULL)
            c->next->previous = c;
        h->connections = c;
        h->n_connections++;
        *socket_context = c;
        http_set_deadline(c, h->server->options.header_timeout);
        c->watched = loop_watch(h->server->loop, c->fd, EPOLLRDHUP, end_of_input, c);
    } else if (c != NULL) {
        loop_timer_clear(h->server->loop, &c->deadline);
        loop_timer_clear(h->server->loop, &c->wake);
        if (c->watched)
            loop_unwatch(h->server->loop, c->fd);
        *(c->previous ? &c->previous->next : &h->connections) = c->next;
        if (c->next != NULL)
            c->next->previous = c->previous;
        h->n_connections--;
        h->run_soon = true; /* libmicrohttpd accepts again at the start of its next run */
        free(c);
        *socket_context = NULL;
    }
}

/* ---- Life of an exchange ---- */

static void report_gone(void *user) { client_gone(user); }

static void suspend(struct exchange *x)
{
    struct exchange_io *io = x->io;
    if (io->suspended)
        return;
    if (io->connection->input_ended) /* before the handler was called */
        loop_timer_set(x->server->loop, &io->report, 0, report_gone, x);
    io->suspended = true;
    MHD_suspend_connection(io->connection->handle);
}

/* Ends a connection whose client has read nothing for --send-timeout. Nothing to do while there is
 * nothing to read: the next piece sets the timer again. */
static void check_reader(void *user)
{
    struct connection *c = user;
    const struct exchange_io *io = c->current->io;
    struct loop *loop = c->http->server->loop;
    const double left = io->last_read + c->http->server->options.send_timeout - loop_now(loop);
    if (!io->ended && io->out.size == io->out_start)
        return;
    if (left > 0)
        loop_timer_set(loop, &c->deadline, left, check_reader, c);
    else
        end_connection(c);
}

void http_wake(struct exchange *x)
{
    struct exchange_io *io = x->io;
    struct connection *c = io->connection;
    if (!io->gone && !c->deadline.is_set)
        loop_timer_set(x->server->loop, &c->deadline, x->server->options.send_timeout, check_reader,
                       c);
    if (!io->suspended)
        return;
    io->suspended = false;
    MHD_resume_connection(io->connection->handle);
    io->http->run_soon = true;
}

static void drop_later(void *user)
{
    struct exchange *x = user;
    tell_aborted(x);
    http_wake(x);
}

void http_drop(struct exchange *x)
{
    x->io->gone = true;
    shutdown(x->io->connection->fd, SHUT_RDWR);
    loop_timer_set(x->server->loop, &x->io->report, 0, drop_later, x);
}

static bool valid_id(const char *id)
{
    size_t n = 0;
    for (; id[n] != '\0'; n++)
        if (n >= sizeof((struct exchange *)0)->id - 1 || strchr("_-.:", id[n]) == NULL)
            if (n >= sizeof((struct exchange *)0)->id - 1 ||
                !((id[n] >= '0' && id[n] <= '9') || ((id[n] | 32) >= 'a' && (id[n] | 32) <= 'z')))
                return false;
    return n > 0;
}

static struct exchange *exchange_create(struct http *h, struct connection *c, const char *method,
                                        const char *path)
{
    struct exchange *x = calloc(1, sizeof *x);
    struct exchange_io *io = calloc(1, sizeof *io);
    struct api_error *early = calloc(1, sizeof *early);
    if (x == NULL || io == NULL || early == NULL) {
        free(x);
        free(io);
        free(early);
        return NULL;
    }
    *x = (struct exchange){
        .server = h->server, .method = method, .path = path, .path_rest = "", .body = "", .io = io
    };
    x->received = loop_now(h->server->loop);
    *io = (struct exchange_io){ .http = h, .connection = c, .early = early };
    const char *id = MHD_lookup_connection_value(c->handle, MHD_HEADER_KIND, "X-Request-Id");
    if (id != NULL && valid_id(id))
        snprintf(x->id, sizeof x->id, "%s", id);
    else
        snprintf(x->id, sizeof x->id, "req-%08x%08x", (unsigned)getpid(),
                 (unsigned)++h->n_exchanges);
    c->current = x;
    return x;
}

static void exchange_completed(void *user, struct MHD_Connection *handle, void **request_context,
                               enum MHD_RequestTerminationCode code)
{
    struct http *h = user;
    struct exchange *x = *request_context;
    (void)handle;
    if (x == NULL)
        return;
    *request_context = NULL;
    struct exchange_io *io = x->io;
    struct connection *c = io->connection;
    const bool complete = code == MHD_REQUEST_TERMINATED_COMPLETED_OK && !io->gone;
    io->gone = true;
    tell_aborted(x);
    loop_timer_clear(h->server->loop, &io->report);
    metrics_http(h->server->metrics, x->route ? x->route->path : "other",
                 complete ? io->status : 499, loop_now(h->server->loop) - x->received);
    for (unsigned i = 0; i < io->n_headers; i++) {
        free(io->headers[i].name);
        free(io->headers[i].value);
    }
    text_free(&io->body);
    text_free(&io->out);
    free(io->early);
    free(io);
    free(x);
    c->current = NULL;
    http_set_deadline(c, h->server->options.idle_timeout);
}

/* ---- The answer ---- */

static ssize_t read_piece(void *user, uint64_t position, char *out, size_t max)
{
    struct exchange *x = user;
    struct exchange_io *io = x->io;
    (void)position;
    if (io->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    const size_t left = io->out.size - io->out_start;
    if (left == 0 && io->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (left == 0) {
        suspend(x);
        return 0;
    }
    const size_t n = left < max ? left : max;
    memcpy(out, io->out.data + io->out_start, n);
    io->out_start += n;
    io->last_read = loop_now(x->server->loop);
    return (ssize_t)n;
}

static enum MHD_Result queue_answer(struct exchange *x)
{
    struct exchange_io *io = x->io;
    struct MHD_Response *response;
    if (!io->streaming && io->out.size <= ONE_SEND_BYTES)
        response = MHD_create_response_from_buffer(io->out.size, io->out.data ? io->out.data : "",
                                                   MHD_RESPMEM_PERSISTENT);
    else
        response = MHD_create_response_from_callback(
            io->streaming ? MHD_SIZE_UNKNOWN : io->out.size, PIECE_BYTES, read_piece, x, NULL);
    if (response == NULL)
        return MHD_NO;
    io->queued = true;
    if (io->content_type != NULL)
        MHD_add_response_header(response, "Content-Type", io->content_type);
    MHD_add_response_header(response, "X-Request-Id", x->id);
    for (unsigned i = 0; i < io->n_headers; i++)
        MHD_add_response_header(response, io->headers[i].name, io->headers[i].value);
    cors_add_headers(x, response);
    if (io->early->status != 0 && io->early->status != 404 && io->early->status != 405)
        MHD_add_response_header(response, "Connection", "close");
    const enum MHD_Result result =
        MHD_queue_response(io->connection->handle, (unsigned)io->status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- The request ---- */

static enum MHD_Result access_handler(void *user, struct MHD_Connection *handle, const char *path,
                                      const char *method, const char *version, const char *data,
                                      size_t *size, void **request_context)
{
    struct exchange *x = *request_context;
    (void)version;
    if (x == NULL) {
        struct connection *c =
            MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
        x = c ? exchange_create(user, c, method, path) : NULL;
        if (x == NULL)
            return MHD_NO;
        *request_context = x;
        return receive_header(x) ? queue_answer(x) : MHD_YES;
    }
    if (x->io->queued)
        return MHD_YES;
    if (*size > 0)
        return receive_body(x, data, size) ? MHD_YES : MHD_NO;
    if (!x->io->handled)
        receive_end(x);
    if (x->io->gone)
        return MHD_NO;
    if (x->io->ready)
        return queue_answer(x);
    suspend(x);
    return MHD_YES;
}

/* ---- The daemons ---- */

static void run_soon(void *user)
{
    struct http *h = user;
    h->run_soon = true;
}

static void daemon_event(void *user, uint32_t events)
{
    (void)events;
    run_soon(user);
}

/* Runs the daemons once after all events of a turn, so that pieces written in it are sent together;
 * and again in the next turn if a connection has more to do that its descriptor does not show. */
static void after_events(void *user)
{
    struct http *h = user;
    MHD_UNSIGNED_LONG_LONG ms;
    if (!h->run_soon)
        return;
    h->run_soon = false;
    for (unsigned i = 0; i < h->n_daemons; i++) {
        MHD_run(h->daemons[i]);
        if (MHD_get_timeout(h->daemons[i], &ms) == MHD_YES && ms == 0)
            h->run_soon = true;
    }
    if (h->run_soon)
        loop_timer_set(h->server->loop, &h->again, 0, run_soon, h);
}

static unsigned connection_limit(const struct options *o)
{
    struct rlimit files;
    unsigned n = o->max_connections;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
        const rlim_t room = files.rlim_cur > 2 * RESERVED_DESCRIPTORS
                                ? files.rlim_cur - RESERVED_DESCRIPTORS
                                : RESERVED_DESCRIPTORS / 2;
        n = room < n ? (unsigned)room : n;
    }
    return n;
}

static void log_nothing(void *user, const char *format, va_list args)
{
    (void)user;
    (void)format;
    (void)args;
}

static struct MHD_Daemon *start_daemon(struct http *h, int fd)
{
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
                           MHD_USE_ERROR_LOG | (h->tls.certificate ? MHD_USE_TLS : 0);
    struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0, h->tls.certificate },
                                    { MHD_OPTION_HTTPS_MEM_KEY, 0, h->tls.key },
                                    { MHD_OPTION_END, 0, NULL } };
    struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    return MHD_start_daemon(flags, 0, NULL, NULL, access_handler, h, MHD_OPTION_EXTERNAL_LOGGER,
                            log_nothing, h, MHD_OPTION_LISTEN_SOCKET, fd,
                            MHD_OPTION_CONNECTION_LIMIT, connection_limit(&h->server->options),
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES,
                            MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
                            exchange_completed, h, MHD_OPTION_NOTIFY_CONNECTION, connection_notify,
                            h, MHD_OPTION_ARRAY, h->tls.certificate ? tls : none, MHD_OPTION_END);
}

struct http *http_start(struct server *server, const struct listener *listeners, unsigned n,
                        struct api_error *error)
{
    struct http *h = calloc(1, sizeof *h);
    if (h == NULL) {
        api_fail(error, 500, NULL, NULL, "out of memory");
        return NULL;
    }
    h->server = server;
    if (!tls_read(&h->tls, server->options.tls_cert, server->options.tls_key, error)) {
        free(h);
        return NULL;
    }
    for (unsigned i = 0; i < n && i < LISTEN_MAX; i++) {
        struct MHD_Daemon *d = start_daemon(h, listeners[i].fd);
        if (d == NULL) {
            api_fail(error, 500, NULL, NULL, "cannot serve %s%s", listeners[i].url,
                     h->tls.certificate ? ": the certificate or its key is not valid" : "");
            http_stop(h);
            return NULL;
        }
        h->daemons[h->n_daemons++] = d;
        const int fd = MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
        if (!loop_watch(server->loop, fd, EPOLLIN, daemon_event, h)) {
            api_fail(error, 500, NULL, NULL, "cannot watch %s", listeners[i].url);
            http_stop(h);
            return NULL;
        }
    }
    loop_after_events(server->loop, after_events, h);
    return h;
}

void http_quiesce(struct http *h)
{
    for (unsigned i = 0; i < h->n_daemons; i++) {
        const MHD_socket fd = MHD_quiesce_daemon(h->daemons[i]);
        if (fd != MHD_INVALID_SOCKET)
            close(fd);
    }
    for (const struct connection *c = h->connections; c != NULL; c = c->next)
        if (c->current == NULL)
            shutdown(c->fd, SHUT_RDWR);
    h->run_soon = true;
}

void http_stop(struct http *h)
{
    if (h == NULL)
        return;
    loop_after_events(h->server->loop, NULL, NULL);
    loop_timer_clear(h->server->loop, &h->again);
    /* libmicrohttpd must not be stopped while connections are suspended */
    for (struct connection *c = h->connections; c != NULL; c = c->next) {
        shutdown(c->fd, SHUT_RDWR);
        if (c->current != NULL)
            client_gone(c->current);
    }
    for (unsigned i = 0; i < h->n_daemons; i++) {
        const int fd = MHD_get_daemon_info(h->daemons[i], MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
        loop_unwatch(h->server->loop, fd);
        MHD_run(h->daemons[i]);
        MHD_stop_daemon(h->daemons[i]);
    }
    tls_free(&h->tls);
    free(h);
}

unsigned http_connections(const struct http *h) { return h->n_connections; }

bool http_is_idle(const struct http *h)
{
    for (const struct connection *c = h->connections; c != NULL; c = c->next)
        if (c->current != NULL)
            return false;
    return true;
}
