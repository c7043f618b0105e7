/* SPDX-License-Identifier: Apache-2.0 */
/* model_open.h - opens and closes the engine of a model; runs on a thread beside the event loop. */
#ifndef QUIRE_SERVE_MODEL_OPEN_H
#define QUIRE_SERVE_MODEL_OPEN_H
#include "adapter_list.h"
#include "error.h"
#include "log.h"
#include <quire/quire.h>
#include <stdbool.h>

struct model;
struct server;

/* Arguments and results of the functions below. */
struct model_opening {
    const struct server *server;
    const struct model *model;
    bool is_first; /* options of the first model apply: draft model, chat template */
    struct log_source log;
    struct quire_logger logger;
    struct adapter_set adapters; /* to load */
    struct api_error error;      /* status 0: success */
    struct quire_engine *engine;
    struct quire_engine_info info;
    struct quire_model_info model_info;
    const char *chat_format; /* by the marks in the chat template; NULL without one */
    bool has_thinking;       /* the template has marks of reasoning */
    uint64_t bytes;          /* memory of the open model */
};

void model_opening_init(struct model_opening *o, struct server *server, const struct model *m,
                        bool is_first);

/* Computes `bytes` without loading weights. */
void model_measure(struct model_opening *o);

/* Opens the engine, restores its prefix cache and starts its thread. */
void model_open(struct model_opening *o);

/* Saves the prefix cache and closes the engine. */
void model_close(struct model_opening *o);

#endif
