/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - the models by name: opened on demand, closed when others need their memory. Event
 * loop only. */
#ifndef QUIRE_SERVE_REGISTRY_H
#define QUIRE_SERVE_REGISTRY_H
#include "error.h"
#include "options.h"
#include <quire/quire.h>
#include <stdbool.h>
#include <stdint.h>

struct server;
struct registry;

enum model_state { MODEL_CLOSED, MODEL_OPENING, MODEL_OPEN, MODEL_CLOSING };

struct model {
    const char *name;           /* as clients say it */
    const char *const *aliases; /* other names, ends with NULL */
    const char *path;
    enum model_state state;
    uint64_t bytes;                /* memory of the open model; 0 = unknown */
    double last_used;              /* loop_now() */
    long created;                  /* time(2) of the file, for the list of models */
    struct quire_engine *engine;   /* OPEN only */
    struct quire_engine_info info; /* of the open engine, or of the last one */
    struct quire_model_info model_info;
    const char *chat_format; /* of the open engine (quire/chat_output.h), or NULL */
    bool has_thinking;       /* its template has marks of reasoning */
    uint32_t n_users;        /* generations that hold it: it is not closed meanwhile */
    uint32_t n_answers;      /* submitted and not ended */
    double answer_seconds;   /* moving average of the time of an answer, 0 = none yet */
    struct model_io *io;     /* state of the registry */
};

/* Reads the list of models from the options. events(m) is called when the engine of m may have
 * events. NULL: *error. */
struct registry *registry_create(struct server *server, void (*events)(struct model *m),
                                 struct api_error *error);

/* Saves the prefix caches and closes all models, of which none is in use. */
void registry_destroy(struct registry *r);

/* Holds a model, opening it if necessary: calls ready(user, NULL) when it is open, at once if it
 * is, or ready(user, error). The caller then calls model_release() once, after success only. */
struct model_waiter {
    void (*ready)(void *user, const struct api_error *error);
    void *user;
    struct model_waiter *next; /* of the registry */
};
void model_acquire(struct registry *r, struct model *m, struct model_waiter *waiter);
void model_forget(struct model *m, struct model_waiter *waiter); /* ready() will not be called */
void model_release(struct registry *r, struct model *m);

#endif
