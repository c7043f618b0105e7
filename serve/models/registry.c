/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"
#include "log.h"
#include "loop.h"
#include "model_list.h"
#include "model_open.h"
#include "registry_types.h"
#include "server.h"
#include <stdlib.h>
#include <sys/epoll.h>

static void advance(struct model *m);

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
            registry_remove_unused(m);
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
    m->chat_format = io->opening.chat_format;
    m->has_thinking = io->opening.has_thinking;
    m->bytes = io->opening.bytes;
    quire_status s = quire_engine_event_fd(m->engine, &io->event_fd, &err);
    if (s == QUIRE_OK && !loop_watch(loop, io->event_fd, EPOLLIN, engine_events, m))
        s = QUIRE_E_NOMEM;
    if (s == QUIRE_OK) {
        m->state = MODEL_OPEN;
        m->last_used = loop_now(loop);
        io->loaded = io->opening.adapters;
        adapter_list_sync(io->registry, m);
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
    io->opening.adapters = (struct adapter_set){ 0 };
    if (m == registry_model(io->registry, 0))
        io->opening.adapters = io->registry->adapters.listed;
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
    const bool measured = limit == 0 || m->bytes > 0;
    if (!measured) {
        start(m, STAGE_MEASURE);
    } else if (limit == 0 || m->bytes + bytes_in_use(r, m) <= limit) {
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

void registry_free_model(struct model *m)
{
    for (const char **a = m->io->aliases; *a != NULL; a++)
        free((char *)*a);
    free(m->io->name);
    free(m->io->path);
    free(m->io);
    *m = (struct model){ 0 };
}

void registry_remove_unused(struct model *m)
{
    if (m->state == MODEL_OPEN && m->n_users == 0)
        begin_close(m);
    else if (m->state == MODEL_CLOSED && m->io->stage == STAGE_NONE && m->io->waiters == NULL)
        registry_free_model(m);
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
    if (registry_set_models(r, &o->models, &o->aliases, error) &&
        adapter_list_set(r, &o->loras, error))
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
        registry_free_model(m);
    }
    adapter_list_free(&r->adapters);
    free(r);
}
