/* SPDX-License-Identifier: Apache-2.0 */
#include "model_list.h"
#include "registry_types.h"
#include "server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct shared_name {
    char *name;
    struct model *model;
};

/* A list of models under construction. */
struct registry_list {
    struct model *models[MAX_REPEATED];
    unsigned n;
    /* further names of models that were listed before, with the same path */
    struct shared_name shared[MAX_REPEATED];
    unsigned n_shared;
};

static void free_shared(struct registry_list *list)
{
    for (unsigned i = 0; i < list->n_shared; i++)
        free(list->shared[i].name);
}

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
    char list[400] = "", *end = list;
    for (unsigned i = 0; i < r->n; i++)
        if ((size_t)(end - list) + strlen(r->models[i]->name) + 3 < sizeof list)
            end = stpcpy(stpcpy(end, end > list ? ", " : ""), r->models[i]->name);
    api_fail(error, 404, "model_not_found", "model",
             "The model `%.100s` does not exist. Models of this server: %s.", name, list);
    return NULL;
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

static bool has_path(const struct model *m, const char *path)
{
    return path != NULL && m->path != NULL && strcmp(m->path, path) == 0;
}

static bool has_name(const struct registry_list *list, const char *name)
{
    for (unsigned i = 0; i < list->n; i++)
        if (strcmp(list->models[i]->name, name) == 0)
            return true;
    for (unsigned i = 0; i < list->n_shared; i++)
        if (strcmp(list->shared[i].name, name) == 0)
            return true;
    return false;
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
    if (has_name(list, name)) {
        api_fail(error, 400, NULL, NULL, "--model: two models are called %s", name);
        free(name);
        return false;
    }
    for (unsigned i = 0; i < list->n; i++)
        if (has_path(list->models[i], path)) {
            list->shared[list->n_shared++] = (struct shared_name){ name, list->models[i] };
            return true;
        }
    for (unsigned i = 0; i < r->n; i++)
        if (strcmp(r->models[i]->name, name) == 0 && has_path(r->models[i], path))
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
    if (has_name(list, equals + 1))
        return true;
    return api_fail(error, 400, NULL, NULL, "--alias %s: there is no model %s", text, equals + 1);
}

/* Whether `name` is the name of the model, or one that it shares. */
static bool is_named(const struct registry_list *list, const struct model *m, const char *name)
{
    if (strcmp(m->name, name) == 0)
        return true;
    for (unsigned i = 0; i < list->n_shared; i++)
        if (list->shared[i].model == m && strcmp(list->shared[i].name, name) == 0)
            return true;
    return false;
}

/* The aliases of a model: the further names of its path, then those of --alias. */
static void set_aliases(struct model *m, const struct registry_list *list,
                        const struct option_list *aliases)
{
    unsigned n = 0;
    for (const char **a = m->io->aliases; *a != NULL; a++) {
        free((char *)*a);
        *a = NULL;
    }
    for (unsigned i = 0; i < list->n_shared; i++) {
        if (list->shared[i].model == m)
            m->io->aliases[n] = strdup(list->shared[i].name);
        n += m->io->aliases[n] != NULL;
    }
    for (uint32_t i = 0; i < aliases->n; i++) {
        const char *text = aliases->text[i], *equals = strchr(text, '=');
        if (is_named(list, m, equals + 1))
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

/* Reads the options into a new list. On failure the models that are not in the old list are
 * freed. */
static bool read_list(struct registry *r, const struct option_list *models,
                      const struct option_list *aliases, struct registry_list *list,
                      struct api_error *error)
{
    bool ok = true;
#if defined(QUIRE_BUNDLED_MODEL)
    if (models->n == 0 && r->n > 0 && r->models[0]->path == NULL)
        list->models[list->n++] = r->models[0];
    else if (models->n == 0)
        ok = list_model(r, list, "quire-tiny", true, error);
#endif
    for (uint32_t i = 0; i < models->n && ok; i++)
        ok = list_model(r, list, models->text[i], false, error);
    if (ok && list->n == 0)
        ok = api_fail(error, 400, NULL, NULL, "--model is missing: there is no bundled model");
    for (uint32_t i = 0; i < aliases->n && ok; i++)
        ok = check_alias(list, aliases->text[i], error);
    for (unsigned i = 0; i < list->n && !ok; i++)
        if (!in_list(list->models[i], r->models, r->n))
            registry_free_model(list->models[i]);
    return ok;
}

bool registry_set_models(struct registry *r, const struct option_list *models,
                         const struct option_list *aliases, struct api_error *error)
{
    struct registry_list list = { .n = 0 };
    const bool ok = read_list(r, models, aliases, &list, error);
    if (!ok) {
        free_shared(&list);
        return false;
    }
    struct model *old[MAX_REPEATED];
    const unsigned n_old = r->n;
    memcpy(old, r->models, sizeof old);
    memcpy(r->models, list.models, sizeof list.models);
    r->n = list.n;
    for (unsigned i = 0; i < r->n; i++)
        set_aliases(r->models[i], &list, aliases);
    for (unsigned i = 0; i < n_old; i++)
        if (!in_list(old[i], r->models, r->n)) {
            old[i]->io->removed = true;
            registry_remove_unused(old[i]);
        }
    free_shared(&list);
    return true;
}
