/* SPDX-License-Identifier: Apache-2.0 */
/* json_memory.h - parses JSON so that a failed allocation has one result, no value.
 *
 * Hazard: when the text buffer of Jansson's parser (2.14) cannot grow, the parser goes on without
 * the character: names change, and a string may run over its end or end in a failed assertion. */
#ifndef QUIRE_SERVE_JSON_MEMORY_H
#define QUIRE_SERVE_JSON_MEMORY_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes Jansson allocate through this module, on all threads; once, before its first use. Texts
 * of json_dumps() are not for free(): use json_dump_callback(). */
void json_memory_init(void);

/* json_loadb(); *no_memory: an allocation failed, everything was freed and the result is NULL. */
json_t *json_memory_load(const char *text, size_t size, size_t flags, json_error_t *error,
                         bool *no_memory);

#endif
