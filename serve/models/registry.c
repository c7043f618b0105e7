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

struct registry {
    struct server *server;
    void (*events)(struct model *m);
    struct model slots[2 * MAX_REPEATED]; /* io NULL: free */
    struct model *models[MAX_REPEATED];   /* [n] in the order of the configuration */
    unsigned n;
    bool closing;
};
enum { N_SLOTS = 2 * MAX_REPEATED }; /* removed models that are in use keep theirs */

/* A list of models under construction. */
struct registry_list {
    struct model *models[MAX_REPEATED];
    unsigned n;
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
    char *name, *path;
    bool removed; /* from the list; closed when nobody uses it */
    const char *aliases[MAX_REPEATED + 1];
    struct model_waiter *waiters;
    struct loop_job job;
    enum stage stage;
    int event_fd;
    struct model_opening opening; /* arguments and results of the job */
};

static void advance(struct model *m);
static void remove_unused(struct model *m);

static uint64_t bytes_in_use(const struct registry *r, const struct model *except)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < N_SLOTS; i++) {
        const struct model *m = &r->slots[i];
        if (m->io != NULL && m != except &&
            (m->state == MODEL_OPEN || m->state == MODEL_CLOSING || m->io->stage == STAGE_OPEN))
            bytes += m->bytes;
    }
    return bytes;
}

/* Lets models that wait for memory try again, and removed ones go. */
static void retry_waiting(struct registry *r)
{
    for (unsigned i = 0; i < N_SLOTS && !r->closing; i++) {
        struct model *m = &r->slots[i];
        if (m->io == NULL)
            continue;
        if (m->io->stage == STAGE_WAIT)
            advance(m);
        else if (m->io->removed)
            remove_unused(m);
    }
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
    if (io->registry->closing) {
        if (stage == STAGE_OPEN && io->opening.error.status == 0)
            quire_engine_close(io->opening.engine);
        m->state = MODEL_CLOSED;
        return;
    }
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
    for (unsigned i = 0; i < N_SLOTS; i++) {
        struct model *m = &r->slots[i];
        if (m->io == NULL || m == except || m->state == MODEL_CLOSED)
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
    return i < r->n ? r->models[i] : NULL;
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
        return r->models[0];
    for (unsigned i = 0; i < r->n; i++)
        if (is_called(r->models[i], name))
            return r->models[i];
    char list[400] = "";
    for (unsigned i = 0; i < r->n; i++)
        if (strlen(list) + strlen(r->models[i]->name) + 3 < sizeof list)
            strcat(strcat(list, i ? ", " : ""), r->models[i]->name);
    api_fail(error, 404, "model_not_found", "model",
             "The model `%.100s` does not exist. Models of this server: %s.", name, list);
    return NULL;
}

/* Frees the strings and the slot of a closed model. */
static void free_model(struct model *m)
{
    for (const char **a = m->io->aliases; *a != NULL; a++)
        free((char *)*a);
    free(m->io->name);
    free(m->io->path);
    free(m->io);
    *m = (struct model){ 0 };
}

/* Closes a removed model, or frees it. */
static void remove_unused(struct model *m)
{
    if (m->state == MODEL_OPEN && m->n_users == 0)
        begin_close(m);
    else if (m->state == MODEL_CLOSED && m->io->stage == STAGE_NONE && m->io->waiters == NULL)
        free_model(m);
}

/* Name of "NAME=PATH", or of "PATH": that of the file without its suffix. *path is the path. */
static char *model_name(const char *text, const char **path)
{
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    if (equals != NULL && (slash == NULL || equals < slash)) {
        *path = equals + 1;
        return strndup(text, (size_t)(equals - text));
    }
    size_t end = strlen(text), start;
    *path = text;
    while (end > 1 && text[end - 1] == '/')
        end--;
    for (start = end; start > 0 && text[start - 1] != '/'; start--)
        ;
    if (end - start > 5 && strncasecmp(text + end - 5, ".gguf", 5) == 0)
        end -= 5;
    return strndup(text + start, end - start);
}

static struct model *new_model(struct registry *r, char *name, const char *path)
{
    struct model *m = r->slots;
    while (m < r->slots + N_SLOTS && m->io != NULL)
        m++;
    struct model_io *io = m < r->slots + N_SLOTS ? calloc(1, sizeof *io) : NULL;
    struct stat st;
    if (io == NULL || (path != NULL && (io->path = strdup(path)) == NULL)) {
        free(io);
        return NULL;
    }
    io->name = name;
    io->registry = r;
    *m = (struct model){ .name = name, .path = io->path, .aliases = io->aliases, .io = io };
    m->created = path != NULL && stat(path, &st) == 0 ? (long)st.st_mtime : 0;
    return m;
}

/* Adds a model to the new list: the one of this name and path if it is there already. */
static bool list_model(struct registry *r, struct registry_list *list, const char *text,
                       bool bundled, struct api_error *error)
{
    const char *path;
    char *name = model_name(text, &path);
    struct model *m = NULL;
    path = bundled ? NULL : path;
    if (name == NULL || name[0] == '\0') {
        free(name);
        return api_fail(error, 400, NULL, NULL, "--model %s: the name is empty", text);
    }
    for (unsigned i = 0; i < list->n; i++)
        if (strcmp(list->models[i]->name, name) == 0) {
            api_fail(error, 400, NULL, NULL, "--model: two models are called %s", name);
            free(name);
            return false;
        }
    for (unsigned i = 0; i < r->n; i++)
        if (strcmp(r->models[i]->name, name) == 0 && path != NULL && r->models[i]->path != NULL &&
            strcmp(r->models[i]->path, path) == 0)
            m = r->models[i];
    if (m != NULL)
        free(name);
    else if ((m = new_model(r, name, path)) == NULL) {
        free(name);
        return api_fail(error, 500, NULL, NULL, "out of memory");
    } else
        model_opening_init(&m->io->opening, r->server, m, list->n == 0);
    list->models[list->n++] = m;
    return true;
}

/* "ALIAS=NAME" */
static bool check_alias(const struct registry_list *list, const char *text, struct api_error *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return api_fail(error, 400, NULL, NULL, "--alias %s: expected ALIAS=NAME", text);
    for (unsigned i = 0; i < list->n; i++)
        if (strcmp(list->models[i]->name, equals + 1) == 0)
            return true;
    return api_fail(error, 400, NULL, NULL, "--alias %s: there is no model %s", text, equals + 1);
}

static void set_aliases(struct model *m, const struct option_list *aliases)
{
    unsigned n = 0;
    for (const char **a = m->io->aliases; *a != NULL; a++) {
        free((char *)*a);
        *a = NULL;
    }
    for (uint32_t i = 0; i < aliases->n; i++) {
        const char *text = aliases->text[i], *equals = strchr(text, '=');
        if (strcmp(equals + 1, m->name) == 0)
            m->io->aliases[n] = strndup(text, (size_t)(equals - text));
        n += m->io->aliases[n] != NULL;
    }
}

static bool in_list(const struct model *m, struct model *const *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == m)
            return true;
    return false;
}

bool registry_set_models(struct registry *r, const struct option_list *models,
                         const struct option_list *aliases, struct api_error *error)
{
    struct registry_list list = { .n = 0 };
    bool ok = true;
#if defined(QUIRE_BUNDLED_MODEL)
    if (models->n == 0 && r->n > 0 && r->models[0]->path == NULL)
        list.models[list.n++] = r->models[0];
    else if (models->n == 0)
        ok = list_model(r, &list, "quire-tiny", true, error);
#endif
    for (uint32_t i = 0; i < models->n && ok; i++)
        ok = list_model(r, &list, models->text[i], false, error);
    if (ok && list.n == 0)
        ok = api_fail(error, 400, NULL, NULL, "--model is missing: there is no bundled model");
    for (uint32_t i = 0; i < aliases->n && ok; i++)
        ok = check_alias(&list, aliases->text[i], error);
    for (unsigned i = 0; i < list.n && !ok; i++)
        if (!in_list(list.models[i], r->models, r->n))
            free_model(list.models[i]);
    if (!ok)
        return false;
    struct model *old[MAX_REPEATED];
    const unsigned n_old = r->n;
    memcpy(old, r->models, sizeof old);
    memcpy(r->models, list.models, sizeof list.models);
    r->n = list.n;
    for (unsigned i = 0; i < r->n; i++)
        set_aliases(r->models[i], aliases);
    for (unsigned i = 0; i < n_old; i++)
        if (!in_list(old[i], r->models, r->n)) {
            old[i]->io->removed = true;
            remove_unused(old[i]);
        }
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
    if (registry_set_models(r, &o->models, &o->aliases, error))
        return r;
    registry_destroy(r);
    return NULL;
}

void registry_destroy(struct registry *r)
{
    if (r == NULL)
        return;
    r->closing = true;
    loop_finish_jobs(r->server->loop); /* models that are being opened or closed */
    for (unsigned i = 0; i < N_SLOTS; i++) {
        struct model *m = &r->slots[i];
        if (m->io == NULL)
            continue;
        if (m->state == MODEL_OPEN) {
            loop_unwatch(r->server->loop, m->io->event_fd);
            m->io->opening.engine = m->engine;
            model_close(&m->io->opening);
        }
        free_model(m);
    }
    free(r);
}
