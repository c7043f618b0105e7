/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_list.h - the adapters of --lora: further models, each the first model with an adapter.
 * Event loop only, except where stated. */
#ifndef QUIRE_SERVE_ADAPTER_LIST_H
#define QUIRE_SERVE_ADAPTER_LIST_H
#include "error.h"
#include "options.h"
#include <stdbool.h>

struct model;
struct model_opening;
struct registry;

/* Entries live as long as the registry, also those that are no longer listed. */
struct adapter_entry {
    char *name, *path;
    struct adapter_entry *next;
};

struct adapter_set {
    const struct adapter_entry *v[MAX_REPEATED];
    unsigned n;
};

/* The adapters of a registry. */
struct adapter_list {
    struct adapter_entry *entries; /* all */
    struct adapter_set listed;
};

/* Replaces the list ("NAME=PATH"). If the first model is open, adapters that are new are loaded
 * beside the event loop and those that are gone are removed; answers that use them go on. False:
 * *error, nothing changed. */
bool adapter_list_set(struct registry *r, const struct option_list *values,
                      struct api_error *error);
void adapter_list_free(struct adapter_list *list);

/* Adapter i of n; NULL out of range. */
const struct adapter_entry *adapter_list_at(const struct registry *r, unsigned i);
/* The adapter of a name, or NULL. */
const struct adapter_entry *adapter_list_find(const struct registry *r, const char *name);

/* Loads the adapters of opening->adapters into its engine; on the thread of the job. False:
 * opening->error. */
bool adapter_list_load(struct model_opening *opening);

/* Begins to bring an open model's adapters up to date, if they differ from the list. */
void adapter_list_sync(struct registry *r, struct model *m);

#endif
