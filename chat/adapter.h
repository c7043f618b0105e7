/* SPDX-License-Identifier: Apache-2.0 */
/* adapter.h - the adapter of --lora. */
#ifndef QUIRE_CHAT_ADAPTER_H
#define QUIRE_CHAT_ADAPTER_H
#include "session.h"

/* Splits a value PATH[=SCALE]: writes the path to `path` and returns the scale, 1 by default. What
 * follows the last '=' belongs to the path unless it is a finite number. */
float adapter_parse(const char *value, char *path, size_t size);

/* Adds the adapter of --lora to the engine, if one is given. Returns 0, or after printing the
 * failure its exit code. */
int adapter_open(struct session *s);

/* Sets the adapter of a request. */
void adapter_set_request(const struct session *s, struct quire_request_params *request);

#endif
