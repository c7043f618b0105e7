/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"
#include "log.h"
#include "loop.h"
#include "model_open.h"
#include "server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#if defined(QUIRE_BUNDLED_MODEL)
#define BUNDLED_NAME "quire-tiny"
#endif

struct registry {
    struct server *server;
    void (*events)(struct model *m);
    struct model models[MAX_REPEATED];
    unsigned n;
    bool closing;
};

/* What the job of a model is doing. */
enum stage {
    STAGE_NONE,
    STAGE_MEASURE, /* its size is computed */
    STAGE_WAIT,    /* no job: others are in use and leave no room */
    STAGE_OPEN,
    STAGE_CLOSE,
};

struct model_io {
    struct registry *registry;
    struct model *model;
    char *name;
    const char *aliases[MAX_REPEATED + 1];
    struct model_waiter *waiters;
    struct loop_job job;
    enum stage stage;
    int event_fd;
    struct model_opening opening; /* arguments and results of the job */
};

static void advance(struct model *m);

static uint64_t bytes_in_use(const struct registry *r, const struct model *except)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < r->n; i++) {
        const struct model *m = &r->models[i];
        if (m != except &&
            (m->state == MODEL_OPEN || m->state == MODEL_CLOSING || m->io->stage == STAGE_OPEN))
            bytes += m->bytes;
    }
    return bytes;
}

/* Lets models that wait for memory try again. */
static void retry_waiting(struct registry *r)
{
    for (unsigned i = 0; i < r->n && !r->closing; i++)
        if (r->models[i].io->stage == STAGE_WAIT)
            advance(&r->models[i]);
}

static void tell_waiters(struct model *m, const struct api_error *error)
{
    struct model_waiter *w = m->io->waiters;
    m->io->waiters = NULL;
    if (error == NULL) /* all of them hold the model before the first one can release it */
        for (const struct model_waiter *v = w; v != NULL; v = v->next)
            m->n_users++;
    while (w != NULL) {
        struct model_waiter *next = w->next;
        w->ready(w->user, error);
        w = next;
    }
}

static void engine_events(void *user, uint32_t events)
{
    struct model *m = user;
    (void)events;
    m->io->registry->events(m);
}

static void work(void *user)
{
    struct model *m = user;
    switch (m->io->stage) {
    case STAGE_MEASURE:
        model_measure(&m->io->opening);
        break;
    case STAGE_OPEN:
        model_open(&m->io->opening);
        break;
    default:
        model_close(&m->io->opening);
        break;
    }
}

static void opened(struct model *m)
{
    struct model_io *io = m->io;
    struct loop *loop = io->registry->server->loop;
    struct quire_error err = QUIRE_ERROR_INIT;
    m->engine = io->opening.engine;
    m->info = io->opening.info;
    m->model_info = io->opening.model_info;
    m->bytes = io->opening.bytes;
    quire_status s = quire_engine_event_fd(m->engine, &io->event_fd, &err);
    if (s == QUIRE_OK && !loop_watch(loop, io->event_fd, EPOLLIN, engine_events, m))
        s = QUIRE_E_NOMEM;
    if (s == QUIRE_OK) {
        m->state = MODEL_OPEN;
        m->last_used = loop_now(loop);
        tell_waiters(m, NULL);
        return;
    }
    api_fail_status(&io->opening.error, s, &err);
    quire_engine_close(m->engine);
    m->engine = NULL;
    m->state = MODEL_CLOSED;
    tell_waiters(m, &io->opening.error);
}

static void done(void *user)
{
    struct model *m = user;
    struct model_io *io = m->io;
    const enum stage stage = io->stage;
    io->stage = STAGE_NONE;
    if (stage == STAGE_CLOSE) {
        m->state = MODEL_CLOSED;
        if (io->waiters != NULL)
            advance(m);
    } else if (io->opening.error.status != 0) {
        m->state = MODEL_CLOSED;
        tell_waiters(m, &io->opening.error);
    } else if (stage == STAGE_OPEN) {
        opened(m);
    } else {
        m->bytes = io->opening.bytes;
        advance(m);
    }
    retry_waiting(io->registry);
}

static void start(struct model *m, enum stage stage)
{
    struct model_io *io = m->io;
    io->stage = stage;
    io->opening.error = (struct api_error){ 0 };
    io->job = (struct loop_job){ .work = work, .done = done, .user = m };
    loop_offload(io->registry->server->loop, LANE_MODELS, &io->job);
}

static void begin_close(struct model *m)
{
    loop_unwatch(m->io->registry->server->loop, m->io->event_fd);
    m->state = MODEL_CLOSING;
    m->io->opening.engine = m->engine;
    m->engine = NULL;
    start(m, STAGE_CLOSE);
}

/* The open model that nobody uses and that was unused the longest; NULL: none. *others: models
 * whose memory will be free later. */
static struct model *least_recently_used(struct registry *r, const struct model *except,
                                         bool *others)
{
    struct model *oldest = NULL;
    *others = false;
    for (unsigned i = 0; i < r->n; i++) {
        struct model *m = &r->models[i];
        if (m == except || m->state == MODEL_CLOSED)
            continue;
        *others |= m->state != MODEL_OPENING || m->io->stage == STAGE_OPEN;
        if (m->state == MODEL_OPEN && m->n_users == 0 &&
            (oldest == NULL || m->last_used < oldest->last_used))
            oldest = m;
    }
    return oldest;
}

/* Takes the next step towards an open model. */
static void advance(struct model *m)
{
    struct registry *r = m->io->registry;
    const uint64_t limit = r->server->options.models_bytes;
    bool others;
    m->state = MODEL_OPENING;
    if (limit == 0) {
        start(m, STAGE_OPEN);
    } else if (m->bytes == 0) {
        start(m, STAGE_MEASURE);
    } else if (m->bytes + bytes_in_use(r, m) <= limit) {
        start(m, STAGE_OPEN);
    } else {
        struct model *victim = least_recently_used(r, m, &others);
        m->io->stage = STAGE_WAIT;
        if (victim != NULL) {
            begin_close(victim);
        } else if (!others) {
            struct api_error e = { 0 };
            api_fail(&e, 503, NULL, "model", "%s needs %llu MiB, --models-mem is %llu MiB.",
                     m->name, (unsigned long long)(m->bytes >> 20),
                     (unsigned long long)(limit >> 20));
            m->io->stage = STAGE_NONE;
            m->state = MODEL_CLOSED;
            tell_waiters(m, &e);
        }
    }
}

void model_acquire(struct registry *r, struct model *m, struct model_waiter *waiter)
{
    m->last_used = loop_now(r->server->loop);
    if (m->state == MODEL_OPEN) {
        m->n_users++;
        waiter->ready(waiter->user, NULL);
        return;
    }
    struct model_waiter **end = &m->io->waiters;
    while (*end != NULL)
        end = &(*end)->next;
    waiter->next = NULL;
    *end = waiter;
    if (m->state == MODEL_CLOSED)
        advance(m);
}

void model_forget(struct model *m, struct model_waiter *waiter)
{
    for (struct model_waiter **w = &m->io->waiters; *w != NULL; w = &(*w)->next)
        if (*w == waiter) {
            *w = waiter->next;
            return;
        }
}

void model_release(struct registry *r, struct model *m)
{
    m->last_used = loop_now(r->server->loop);
    if (--m->n_users == 0)
        retry_waiting(r);
}

/* ---- The list ---- */

struct model *registry_model(struct registry *r, unsigned i)
{
    return i < r->n ? &r->models[i] : NULL;
}

static bool is_called(const struct model *m, const char *name)
{
    if (strcmp(m->name, name) == 0)
        return true;
    for (const char *const *a = m->aliases; *a != NULL; a++)
        if (strcmp(*a, name) == 0)
            return true;
    return false;
}

struct model *registry_find(struct registry *r, const char *name, struct api_error *error)
{
    if (name == NULL || name[0] == '\0')
        return &r->models[0];
    for (unsigned i = 0; i < r->n; i++)
        if (is_called(&r->models[i], name))
            return &r->models[i];
    char list[400] = "";
    size_t n = 0;
    for (unsigned i = 0; i < r->n && n + strlen(r->models[i].name) + 3 < sizeof list; i++) {
        n += strlen(strcat(strcat(list, i ? ", " : ""), r->models[i].name)) - n;
    }
    api_fail(error, 404, "model_not_found", "model",
             "The model `%.100s` does not exist. Models of this server: %s.", name, list);
    return NULL;
}

/* "NAME=PATH", or "PATH", whose name is that of the file without its suffix. */
static bool add_model(struct registry *r, const char *text, struct api_error *error)
{
    struct model *m = &r->models[r->n];
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    const bool named = equals != NULL && (slash == NULL || equals < slash);
    const char *path = named ? equals + 1 : text;
    size_t length = named ? (size_t)(equals - text) : strlen(text);
    if (!named) {
        while (length > 1 && text[length - 1] == '/')
            length--;
        for (const char *p = text; p < text + length; p++)
            if (*p == '/') {
                length -= (size_t)(p + 1 - text);
                text = p + 1;
            }
        if (length > 5 && strncasecmp(text + length - 5, ".gguf", 5) == 0)
            length -= 5;
    }
    m->io = calloc(1, sizeof *m->io);
    char *name = m->io ? strndup(text, length) : NULL;
    if (name == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    m->io->name = name;
    m->io->registry = r;
    m->io->model = m;
    m->name = name;
    m->path = path;
    m->aliases = m->io->aliases;
    r->n++;
    for (unsigned i = 0; i + 1 < r->n; i++)
        if (strcmp(r->models[i].name, name) == 0)
            return api_fail(error, 400, NULL, NULL, "--model: two models are called %s", name);
    struct stat st;
    m->created = path != NULL && stat(path, &st) == 0 ? (long)st.st_mtime : 0;
    model_opening_init(&m->io->opening, r->server, m, r->n == 1);
    return length > 0 || api_fail(error, 400, NULL, NULL, "--model %s: the name is empty", path);
}

/* "ALIAS=NAME" */
static bool add_alias(struct registry *r, const char *text, struct api_error *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return api_fail(error, 400, NULL, NULL, "--alias %s: expected ALIAS=NAME", text);
    struct api_error unknown = { 0 };
    struct model *m = registry_find(r, equals + 1, &unknown);
    if (m == NULL || equals[1] == '\0')
        return api_fail(error, 400, NULL, NULL, "--alias %s: there is no model %s", text,
                        equals + 1);
    char *alias = strndup(text, (size_t)(equals - text));
    if (alias == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    unsigned n = 0;
    while (m->io->aliases[n] != NULL)
        n++;
    m->io->aliases[n] = alias;
    return true;
}

struct registry *registry_create(struct server *server, void (*events)(struct model *m),
                                 struct api_error *error)
{
    const struct options *o = &server->options;
    struct registry *r = calloc(1, sizeof *r);
    if (r == NULL) {
        api_fail(error, 500, NULL, NULL, "out of memory");
        return NULL;
    }
    r->server = server;
    r->events = events;
    bool ok = true;
#if defined(BUNDLED_NAME)
    if (o->models.n == 0) {
        ok = add_model(r, BUNDLED_NAME, error);
        r->models[0].path = NULL;
    }
#endif
    for (uint32_t i = 0; i < o->models.n && ok; i++)
        ok = add_model(r, o->models.text[i], error);
    if (ok && r->n == 0)
        ok =
            api_fail(error, 400, NULL, NULL, "--model is missing: this build has no bundled model");
    for (uint32_t i = 0; i < o->aliases.n && ok; i++)
        ok = add_alias(r, o->aliases.text[i], error);
    if (ok)
        return r;
    registry_destroy(r);
    return NULL;
}

void registry_destroy(struct registry *r)
{
    if (r == NULL)
        return;
    r->closing = true;
    for (unsigned i = 0; i < r->n; i++) {
        struct model *m = &r->models[i];
        if (m->state == MODEL_OPEN) {
            loop_unwatch(r->server->loop, m->io->event_fd);
            m->io->opening.engine = m->engine;
            model_close(&m->io->opening);
        }
        for (const char **a = m->io->aliases; *a != NULL; a++)
            free((char *)*a);
        free(m->io->name);
        free(m->io);
    }
    free(r);
}
