/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_url.c - plays requests against an OpenAI-compatible server: one connection each. */
#include "bench_serve_play.h"
#include "bench_serve_reply.h"
#include "bench_stats.h"
#include "json/json.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    SILENCE_SECONDS = 300, /* after which a request has failed */
    CONNECT_SECONDS = 10,
    RECEIVE_BYTES = 65536,
    DEFAULT_VOCAB = 32000 /* ids below it exist in the common vocabularies */
};

struct connection {
    int fd; /* -1 = closed */
    uint32_t request;
    char *out; /* the HTTP request */
    size_t out_size, sent;
    double last_data;
    struct serve_reply reply;
    struct url_player *player;
    uint32_t n_completion; /* from the usage; 0 = not reported */
    bool has_events;
    char failure[256]; /* reported in an event, or "" */
};

struct url_player {
    const struct serve_setup *setup;
    struct serve_address address;
    struct addrinfo *addresses;
    struct connection **open; /* [n_open] */
    struct pollfd *polled;    /* [n_open] scratch */
    uint32_t n_open;
};

/* ---- The address */

bool serve_parse_url(const char *url, struct serve_address *out)
{
    *out = (struct serve_address){ .port = "80" };
    if (strncmp(url, "http://", 7) != 0)
        return false;
    url += 7;
    out->brackets = *url == '[';
    if (out->brackets)
        url++;
    const size_t host = strcspn(url, out->brackets ? "]" : ":/");
    if (host == 0 || host >= sizeof out->host || (out->brackets && url[host] != ']'))
        return false;
    memcpy(out->host, url, host);
    url += host + out->brackets;
    if (*url == ':') {
        const size_t digits = strspn(++url, "0123456789");
        if (digits == 0 || digits >= sizeof out->port || strtoul(url, NULL, 10) > 65535)
            return false;
        memcpy(out->port, url, digits);
        out->port[digits] = 0;
        url += digits;
    }
    size_t path = strlen(url);
    while (path && url[path - 1] == '/')
        path--;
    if ((*url && *url != '/') || path >= sizeof out->path)
        return false;
    memcpy(out->path, url, path);
    for (const char *c = out->host; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c > '~')
            return false;
    for (const char *c = out->path; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c > '~')
            return false;
    return true;
}

/* ---- The request */

static void put_prompt(const struct url_player *p, uint32_t i, FILE *f)
{
    static const char *const words[] = { " time",  " year",   " people", " way",
                                         " day",   " man",    " thing",  " woman",
                                         " life",  " child",  " world",  " school",
                                         " state", " family", " hand",   " part" };
    const struct bench_options *o = p->setup->o;
    const uint32_t n = p->setup->w->requests[i].prompt, vocab = o->vocab ? o->vocab : DEFAULT_VOCAB;
    const uint32_t first = vocab > 600 ? 300 : 0;
    fputc(o->text_prompts ? '"' : '[', f);
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t hash = workload_token(p->setup->w, i, k) >> 32;
        if (o->text_prompts)
            fputs(words[hash % (sizeof words / sizeof *words)], f);
        else
            fprintf(f, "%s%llu", k ? "," : "",
                    (unsigned long long)(first + hash % (vocab - first)));
    }
    fputc(o->text_prompts ? '"' : ']', f);
}

static bool make_body(const struct url_player *p, uint32_t i, char **body, size_t *size)
{
    FILE *f = open_memstream(body, size);
    if (!f)
        return false;
    fputc('{', f);
    const char *model = p->setup->model_path;
    char *quoted = model ? malloc(QR_JSON_QUOTED_MAX(strlen(model))) : NULL;
    if (quoted)
        fprintf(f, "\"model\":%.*s,", (int)qr_json_quote(quoted, model, strlen(model)), quoted);
    free(quoted);
    fputs("\"prompt\":", f);
    put_prompt(p, i, f);
    fprintf(f,
            ",\"max_tokens\":%u,\"temperature\":0,\"ignore_eos\":true,\"stream\":true,"
            "\"stream_options\":{\"include_usage\":true}}",
            p->setup->w->requests[i].answer);
    const bool ok = !ferror(f);
    return fclose(f) == 0 && ok;
}

static bool make_request(const struct url_player *p, uint32_t i, struct connection *c)
{
    const struct serve_address *a = &p->address;
    char *body = NULL;
    size_t size = 0;
    FILE *f = make_body(p, i, &body, &size) ? open_memstream(&c->out, &c->out_size) : NULL;
    bool ok = f != NULL;
    if (ok) {
        fprintf(f,
                "POST %s/v1/completions HTTP/1.1\r\nHost: %s%s%s:%s\r\n"
                "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                a->path, a->brackets ? "[" : "", a->host, a->brackets ? "]" : "", a->port, size);
        fwrite(body, 1, size, f);
        ok = !ferror(f);
        ok = fclose(f) == 0 && ok;
    }
    free(body);
    return ok;
}

/* ---- Connections */

static void end_connection(struct url_player *p, struct connection *c, enum serve_state state,
                           const char *error)
{
    struct serve_log *log = p->setup->log;
    if (state == SERVE_DONE && c->n_completion)
        log->records[c->request].n_output = c->n_completion;
    serve_log_end(log, c->request, state, error);
    for (uint32_t k = 0; k < p->n_open; k++)
        if (p->open[k] == c) {
            p->open[k] = p->open[--p->n_open];
            break;
        }
    if (c->fd >= 0)
        close(c->fd);
    reply_free(&c->reply);
    free(c->out);
    free(c);
}

static void take_chunk(void *user, const char *data, size_t size)
{
    struct connection *c = user;
    struct serve_log *log = c->player->setup->log;
    struct serve_record *r = &log->records[c->request];
    struct completion_chunk chunk;
    completion_parse(data, size, &chunk);
    c->has_events = true;
    if (chunk.error[0] && !c->failure[0])
        snprintf(c->failure, sizeof c->failure, "%s", chunk.error);
    if (chunk.has_text)
        serve_log_tokens(log, c->request, 1, bench_now());
    if (!chunk.has_usage)
        return;
    c->n_completion = chunk.completion_tokens;
    r->n_prompt = chunk.prompt_tokens ? chunk.prompt_tokens : r->n_prompt;
    r->n_cached = chunk.cached_tokens;
}

/* A non-blocking socket connected to the first address that accepts; -1 with errno. */
static int open_socket(const struct url_player *p)
{
    int error = ECONNREFUSED;
    const struct timeval limit = { .tv_sec = CONNECT_SECONDS };
    for (const struct addrinfo *a = p->addresses; a; a = a->ai_next) {
        const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0) /* on Linux it limits connect() too */
            (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
            fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
            return fd;
        error = errno;
        if (fd >= 0)
            close(fd);
    }
    errno = error;
    return -1;
}

static void submit(void *self, uint32_t i)
{
    struct url_player *p = self;
    struct connection *c = calloc(1, sizeof *c);
    if (!c) {
        serve_log_end(p->setup->log, i, SERVE_FAILED, "no memory");
        return;
    }
    *c = (struct connection){ .fd = -1, .request = i, .player = p, .last_data = bench_now() };
    c->reply.on_event = take_chunk;
    c->reply.user = c;
    p->open[p->n_open++] = c;
    p->setup->log->records[i].n_prompt = p->setup->w->requests[i].prompt;
    if (!make_request(p, i, c)) {
        end_connection(p, c, SERVE_FAILED, "no memory");
        return;
    }
    c->fd = open_socket(p);
    if (c->fd < 0) {
        char text[128];
        snprintf(text, sizeof text, "cannot connect: %s", strerror(errno));
        end_connection(p, c, SERVE_FAILED, text);
    }
}

static void cancel(void *self, uint32_t i)
{
    struct url_player *p = self;
    for (uint32_t k = 0; k < p->n_open; k++)
        if (p->open[k]->request == i) {
            end_connection(p, p->open[k], SERVE_CANCELLED, NULL);
            return;
        }
}

/* The reply is over, well or not. */
static void finish(struct url_player *p, struct connection *c)
{
    const bool whole = reply_end(&c->reply);
    const bool has_tokens = p->setup->log->records[c->request].n_output > 0;
    if (!whole || c->failure[0])
        end_connection(p, c, SERVE_FAILED, whole ? c->failure : c->reply.error);
    else if (!has_tokens)
        end_connection(p, c, SERVE_FAILED,
                       c->has_events ? "the server sent no text" : "the server sent no events");
    else
        end_connection(p, c, SERVE_DONE, NULL);
}

static void send_more(struct url_player *p, struct connection *c)
{
    const ssize_t n = send(c->fd, c->out + c->sent, c->out_size - c->sent, MSG_NOSIGNAL);
    if (n >= 0)
        c->sent += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR)
        end_connection(p, c, SERVE_FAILED, strerror(errno));
}

static void receive(struct url_player *p, struct connection *c)
{
    static char bytes[RECEIVE_BYTES];
    const ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->last_data = bench_now();
    if (n < 0)
        end_connection(p, c, SERVE_FAILED, strerror(errno));
    else if (n == 0 || !reply_feed(&c->reply, bytes, (size_t)n) || c->reply.state == REPLY_COMPLETE)
        finish(p, c);
}

static void wait_for_data(void *self, double seconds)
{
    struct url_player *p = self;
    const uint32_t n = p->n_open;
    for (uint32_t k = 0; k < n; k++) {
        const struct connection *c = p->open[k];
        p->polled[k] = (struct pollfd){ .fd = c->fd,
                                        .events = POLLIN | (c->sent < c->out_size ? POLLOUT : 0) };
    }
    if (seconds < 0 || seconds > 1)
        seconds = 1; /* looks for silent connections */
    if (poll(p->polled, n, (int)(seconds * 1e3 + 0.999)) < 0)
        return;
    const double now = bench_now();
    for (uint32_t k = n; k-- > 0;) { /* a connection that ends is replaced by the last one */
        struct connection *c = p->open[k];
        /* NOLINTBEGIN(clang-analyzer-unix.Malloc): each c is another, and is left after its end */
        if (p->polled[k].revents & (POLLIN | POLLHUP | POLLERR))
            receive(p, c);
        else if (p->polled[k].revents & POLLOUT)
            send_more(p, c);
        else if (now - c->last_data > SILENCE_SECONDS)
            end_connection(p, c, SERVE_FAILED, "the server is silent");
        /* NOLINTEND(clang-analyzer-unix.Malloc) */
    }
}

int serve_url(const struct serve_setup *setup)
{
    struct url_player p = { .setup = setup };
    if (!serve_parse_url(setup->o->url, &p.address))
        return bench_error(64, "--url %s: not http://HOST[:PORT][/PATH]", setup->o->url);
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    const int error = getaddrinfo(p.address.host, p.address.port, &hints, &p.addresses);
    if (error)
        return bench_error(69, "--url %s: %s", setup->o->url, gai_strerror(error));
    p.open = calloc(setup->w->n, sizeof(struct connection *));
    p.polled = calloc(setup->w->n, sizeof *p.polled);
    const int code = p.open && p.polled ? 0 : bench_error(71, "no memory");
    const struct serve_target target = { &p, submit, wait_for_data, cancel };
    if (!code)
        serve_play(setup->w, &target, setup->log);
    freeaddrinfo(p.addresses);
    free(p.open);
    free(p.polled);
    return code;
}
