/* SPDX-License-Identifier: Apache-2.0 */
/* model_list.h - the list of models of a registry: names, paths, aliases. Event loop only. */
#ifndef QUIRE_SERVE_MODEL_LIST_H
#define QUIRE_SERVE_MODEL_LIST_H
#include "registry.h"

/* Replaces the list: models of the same name and path stay as they are, new ones are opened on
 * demand, removed ones are closed when their answers have ended. Several names of one path are one
 * model: the further names become aliases. False: *error, nothing changed. */
bool registry_set_models(struct registry *r, const struct option_list *models,
                         const struct option_list *aliases, struct api_error *error);

/* Model i of n in the order of the configuration; NULL out of range. */
struct model *registry_model(struct registry *r, unsigned i);

/* The model of a name or an alias; NULL or "" is the first one. NULL: *error is a 404 with the list
 * of names. */
struct model *registry_find(struct registry *r, const char *name, struct api_error *error);

#endif
