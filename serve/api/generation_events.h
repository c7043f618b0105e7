/* SPDX-License-Identifier: Apache-2.0 */
/* generation_events.h - hands the events of an engine to the generations. */
#ifndef QUIRE_SERVE_GENERATION_EVENTS_H
#define QUIRE_SERVE_GENERATION_EVENTS_H

struct model;

/* Handles the events of a model's engine: for registry_create(). */
void generation_events(struct model *m);

#endif
