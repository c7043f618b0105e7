/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - quire-server: start, signals, shutdown. */
#include "adapter_list.h"
#include "generation.h"
#include "generation_events.h"
#include "http.h"
#include "json_memory.h"
#include "keys.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "model_list.h"
#include "notify.h"
#include "registry.h"
#include "response_store.h"
#include "sandbox.h"
#include "server.h"
#include "trace.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#define DRAIN_CHECK_SECONDS 0.1

/* A server that runs, and what ends it. */
struct program {
    struct server server;
    int signal_fd;
    double drain_until; /* loop_now() */
    struct loop_timer drain;
    struct model *first; /* of the list at the start */
    struct model_waiter preload;
    int notify_fd; /* of the supervisor, or -1 */
    int argc;
    char **argv;
    int exit_code;
};

static void say(struct program *p, enum quire_log_level level, const char *message,
                const char *name, const char *value)
{
    const struct log_field field = { name, value, 0 };
    log_line(p->server.log, level, message, &field, value != NULL);
}

/* After SIGTERM: ends when all answers have ended, or cancels them when the time is over. */
static void check_drained(void *user)
{
    struct program *p = user;
    struct server *s = &p->server;
    const bool over = loop_now(s->loop) >= p->drain_until;
    if (s->generations == NULL && (over || http_is_idle(s->http))) {
        loop_stop(s->loop);
        return;
    }
    if (over)
        generation_cancel_all(s);
    loop_timer_set(s->loop, &p->drain, DRAIN_CHECK_SECONDS, check_drained, p);
}

/* SIGHUP: reads the options again; the list of models and their aliases take effect. */
static void reload(struct program *p)
{
    struct options fresh = { 0 };
    struct api_error error = { 0 };
    bool exit_now = false;
    if (options_read(&fresh, p->argc, p->argv, &exit_now) == 0 &&
        registry_set_models(p->server.registry, &fresh.models, &fresh.aliases, &error) &&
        adapter_list_set(p->server.registry, &fresh.loras, &error))
        say(p, QUIRE_LOG_INFO, "models reloaded", NULL, NULL);
    else
        say(p, QUIRE_LOG_ERROR, "models not reloaded", "error", error.message);
    free(fresh.config_text); /* the registry has copies */
}

static void signalled(void *user, uint32_t events)
{
    struct program *p = user;
    struct signalfd_siginfo info;
    (void)events;
    if (read(p->signal_fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGHUP) {
        reload(p);
        return;
    }
    if (p->server.draining) { /* the second time: at once */
        p->drain_until = 0;
        return;
    }
    say(p, QUIRE_LOG_INFO, "shutting down", NULL, NULL);
    notify_send(p->notify_fd, "STOPPING=1");
    p->server.draining = true;
    p->drain_until = loop_now(p->server.loop) + p->server.options.drain_timeout;
    http_quiesce(p->server.http);
    check_drained(p);
}

static bool watch_signals(struct program *p)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a prefix cache above the limit of file sizes is an error */
    sigprocmask(SIG_BLOCK, &set, NULL);
    p->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return p->signal_fd >= 0 && loop_watch(p->server.loop, p->signal_fd, EPOLLIN, signalled, p);
}

/* The first model is opened at the start; without it there is nothing to serve. */
static void preloaded(void *user, const struct api_error *error)
{
    struct program *p = user;
    if (error == NULL) {
        say(p, QUIRE_LOG_INFO, "ready", "model", p->first->name);
        notify_send(p->notify_fd, "READY=1");
        model_release(p->server.registry, p->first);
        return;
    }
    say(p, QUIRE_LOG_ERROR, "cannot start", "error", error->message);
    p->exit_code = EX_DATAERR;
    loop_stop(p->server.loop);
}

static int fail(struct program *p, int code, const struct api_error *error)
{
    say(p, QUIRE_LOG_ERROR, "cannot start", "error", error->message);
    return code;
}

static int serve(struct program *p)
{
    struct server *s = &p->server;
    struct api_error error = { 0 };
    struct listener listeners[LISTEN_MAX];
    if (s->options.otlp_endpoint != NULL) {
        s->trace = trace_open(s->options.otlp_endpoint, s->options.sandbox, s->log, &error);
        if (s->trace == NULL)
            return fail(p, EX_CONFIG, &error);
    }
    s->keys = keys_open(s->options.api_key_file, &error);
    if (s->keys == NULL)
        return fail(p, EX_CONFIG, &error);
    s->registry = registry_create(s, generation_events, &error);
    if (s->registry == NULL)
        return fail(p, EX_USAGE, &error);
    const int n = listen_open(&s->options, listeners, &error);
    if (n <= 0)
        return fail(p, EX_UNAVAILABLE, &error);
    s->checks_host = s->options.api_key_file == NULL && listen_is_loopback(listeners, (unsigned)n);
    s->http = http_start(s, listeners, (unsigned)n, &error);
    if (s->http == NULL)
        return fail(p, EX_CONFIG, &error);
    if (s->options.sandbox && !sandbox_enter(&s->options, s->registry, &error))
        return fail(p, EX_UNAVAILABLE, &error);
    for (int i = 0; i < n; i++)
        say(p, QUIRE_LOG_INFO, "listening", "url", listeners[i].url);
    p->preload = (struct model_waiter){ .ready = preloaded, .user = p };
    p->first = registry_model(s->registry, 0);
    model_acquire(s->registry, p->first, &p->preload);
    loop_run(s->loop);
    listen_remove_files(listeners, (unsigned)n);
    return p->exit_code;
}

int main(int argc, char **argv)
{
    static struct program p;
    json_memory_init();
    p.argc = argc;
    p.argv = argv;
    struct server *s = &p.server;
    bool exit_now = false;
    const int code = options_read(&s->options, argc, argv, &exit_now);
    if (code != 0 || exit_now)
        return code;
    s->log = log_open(s->options.log_format, s->options.log_level);
    s->loop = loop_create();
    s->metrics = metrics_create();
    s->responses = response_store_create(s->options.response_store);
    if (s->log == NULL || s->loop == NULL || s->metrics == NULL || s->responses == NULL ||
        !watch_signals(&p)) {
        fprintf(stderr, "quire-server: cannot start: %s\n", strerror(errno));
        return EX_OSERR;
    }
    p.notify_fd = notify_open();
    p.exit_code = serve(&p);
    http_stop(s->http);
    registry_destroy(s->registry);
    trace_close(s->trace);
    keys_close(s->keys);
    response_store_destroy(s->responses);
    metrics_destroy(s->metrics);
    loop_destroy(s->loop);
    log_close(s->log);
    return p.exit_code;
}
