/* SPDX-License-Identifier: Apache-2.0 */
#include "adapter_list.h"
#include "log.h"
#include "model_list.h"
#include "registry_types.h"
#include "server.h"
#include <stdlib.h>
#include <string.h>

const struct adapter_entry *adapter_list_at(const struct registry *r, unsigned i)
{
    return i < r->adapters.listed.n ? r->adapters.listed.v[i] : NULL;
}

static const struct adapter_entry *find_in(const struct adapter_set *set, const char *name)
{
    for (unsigned i = 0; i < set->n; i++)
        if (strcmp(set->v[i]->name, name) == 0)
            return set->v[i];
    return NULL;
}

const struct adapter_entry *adapter_list_find(const struct registry *r, const char *name)
{
    return name ? find_in(&r->adapters.listed, name) : NULL;
}

/* The entry of this name and path; a new one if there is none. NULL: out of memory. */
static const struct adapter_entry *intern(struct adapter_list *list, const char *name, size_t n,
                                          const char *path)
{
    for (const struct adapter_entry *e = list->entries; e != NULL; e = e->next)
        if (strlen(e->name) == n && memcmp(e->name, name, n) == 0 && strcmp(e->path, path) == 0)
            return e;
    struct adapter_entry *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->name = strndup(name, n);
    e->path = strdup(path);
    e->next = list->entries;
    if (e->name == NULL || e->path == NULL) {
        free(e->name);
        free(e->path);
        free(e);
        return NULL;
    }
    list->entries = e;
    return e;
}

/* Adds the adapter of "NAME=PATH" to a new set. */
static bool add(struct registry *r, struct adapter_set *set, const char *text,
                struct api_error *error)
{
    struct api_error none = { 0 };
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return api_fail(error, 400, NULL, NULL, "--lora %s: expected NAME=FILE", text);
    const struct adapter_entry *e = intern(&r->adapters, text, (size_t)(equals - text), equals + 1);
    if (e == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    if (find_in(set, e->name) != NULL || registry_find(r, e->name, &none) != NULL)
        return api_fail(error, 400, NULL, NULL, "--lora: two models are called %s", e->name);
    set->v[set->n++] = e;
    return true;
}

bool adapter_list_set(struct registry *r, const struct option_list *values, struct api_error *error)
{
    struct adapter_set set = { .n = 0 };
    for (uint32_t i = 0; i < values->n; i++)
        if (!add(r, &set, values->text[i], error))
            return false;
    r->adapters.listed = set;
    adapter_list_sync(r, registry_model(r, 0));
    return true;
}

void adapter_list_free(struct adapter_list *list)
{
    while (list->entries != NULL) {
        struct adapter_entry *next = list->entries->next;
        free(list->entries->name);
        free(list->entries->path);
        free(list->entries);
        list->entries = next;
    }
}

/* ---- Jobs */

static quire_status load(const struct model_opening *o, const struct adapter_entry *e,
                         struct quire_error *err)
{
    struct quire_engine_adapter_params p;
    quire_engine_adapter_params_init(&p, sizeof p);
    p.name = e->name;
    p.path = e->path;
    return quire_engine_add_adapter(o->engine, &p, err);
}

bool adapter_list_load(struct model_opening *o)
{
    for (unsigned i = 0; i < o->adapters.n; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const struct adapter_entry *e = o->adapters.v[i];
        const quire_status s = load(o, e, &err);
        if (s != QUIRE_OK)
            return api_fail(&o->error, 503, NULL, "model", "The adapter %s cannot be opened: %s",
                            e->name, err.msg[0] ? err.msg : quire_status_text(s));
    }
    return true;
}

/* Brings the engine from io->loaded to opening->adapters; on the thread of the job. What cannot be
 * loaded is left out, and tried again when the list changes. */
static void work(void *user)
{
    struct model *m = user;
    const struct model_opening *o = &m->io->opening;
    struct adapter_set *loaded = &m->io->loaded, kept = { .n = 0 };
    for (unsigned i = 0; i < loaded->n; i++) {
        const struct adapter_entry *e = loaded->v[i];
        if (find_in(&o->adapters, e->name) == e)
            kept.v[kept.n++] = e;
        else
            (void)!quire_engine_remove_adapter(o->engine, e->name, NULL); /* RANGE: it is gone */
    }
    for (unsigned i = 0; i < o->adapters.n; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const struct adapter_entry *e = o->adapters.v[i];
        if (find_in(&kept, e->name) == e)
            continue;
        const quire_status s = load(o, e, &err);
        const struct log_field fields[] = { { "adapter", e->name, 0 }, { "error", err.msg, 0 } };
        log_line(o->server->log, s == QUIRE_OK ? QUIRE_LOG_INFO : QUIRE_LOG_WARN,
                 s == QUIRE_OK ? "adapter loaded" : "adapter not loaded", fields,
                 s == QUIRE_OK ? 1 : 2);
        if (s == QUIRE_OK)
            kept.v[kept.n++] = e;
    }
    *loaded = kept;
}

static bool is_same(const struct adapter_set *a, const struct adapter_set *b)
{
    return a->n == b->n && memcmp(a->v, b->v, a->n * sizeof *a->v) == 0;
}

static void done(void *user)
{
    struct model *m = user;
    struct registry *r = m->io->registry;
    m->io->syncing = false;
    if (!r->closing) {
        if (!is_same(&m->io->opening.adapters, &r->adapters.listed))
            adapter_list_sync(r, m); /* the list has changed meanwhile */
        model_release(r, m);
    }
}

void adapter_list_sync(struct registry *r, struct model *m)
{
    if (m == NULL || m->state != MODEL_OPEN || m != registry_model(r, 0) || m->io->syncing ||
        is_same(&m->io->loaded, &r->adapters.listed))
        return;
    m->n_users++;
    m->io->syncing = true;
    m->io->opening.adapters = r->adapters.listed;
    m->io->opening.engine = m->engine;
    m->io->sync_job = (struct loop_job){ .work = work, .done = done, .user = m };
    loop_offload(r->server->loop, LANE_MODELS, &m->io->sync_job);
}
