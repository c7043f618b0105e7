/* SPDX-License-Identifier: Apache-2.0 */
/* registry_types.h - state of the registry, for registry.c and model_list.c. */
#ifndef QUIRE_SERVE_REGISTRY_TYPES_H
#define QUIRE_SERVE_REGISTRY_TYPES_H
#include "adapter_list.h"
#include "loop.h"
#include "model_open.h"
#include "registry.h"

struct registry {
    struct server *server;
    void (*events)(struct model *m);
    struct model slots[2 * MAX_REPEATED]; /* io NULL: free */
    struct model *models[MAX_REPEATED];   /* [n] in the order of the configuration */
    unsigned n;
    bool closing;
    struct adapter_list adapters;
};
enum { N_SLOTS = 2 * MAX_REPEATED }; /* removed models that are in use keep theirs */

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
    bool removed;                              /* from the list; closed when nobody uses it */
    const char *aliases[2 * MAX_REPEATED + 1]; /* ends with NULL */
    struct model_waiter *waiters;
    struct loop_job job;
    enum stage stage;
    int event_fd;
    struct model_opening opening; /* arguments and results of the job */
    struct adapter_set loaded;    /* adapters of the open engine, while syncing of the job */
    bool syncing;                 /* sync_job runs */
    struct loop_job sync_job;
};

/* Frees the strings and the slot of a closed model. */
void registry_free_model(struct model *m);

/* Closes a model that was removed from the list, or frees it. */
void registry_remove_unused(struct model *m);

#endif
