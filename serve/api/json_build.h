/* SPDX-License-Identifier: Apache-2.0 */
/* json_build.h - builds JSON of which nothing is missing: what does not fit into memory makes the
 * whole value NULL, which exchange_reply_json() answers with an error. */
#ifndef QUIRE_SERVE_JSON_BUILD_H
#define QUIRE_SERVE_JSON_BUILD_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Sets a member of *object, or appends to *array, and drops the reference to the value. If the
 * value is NULL or memory is out, drops the container too and sets it to NULL. If the container is
 * NULL already, only the reference is dropped. */
void json_build_set(json_t **object, const char *name, json_t *value);
void json_build_append(json_t **array, json_t *value);

/* A number that need not be finite: -INFINITY is -9999, as OpenAI writes it, NaN is null. */
json_t *json_build_logprob(double value);

/* Whether bytes are well-formed UTF-8, which JSON strings must be. */
bool json_build_is_utf8(const char *bytes, size_t size);

/* Appends the text of a value and drops the reference. NULL: out->failed is set. (Hazard: without
 * memory json_dumps() may return a text in which something is missing.) */
struct text;
void json_build_write(struct text *out, json_t *value);

/* Appends the values as an array of numbers, of which reading gives the same floats again; what is
 * not finite is null. */
void json_build_floats(struct text *out, const float *values, size_t n);

#endif
