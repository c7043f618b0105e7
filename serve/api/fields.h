/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - reads the members of a JSON object with their types and ranges.
 *
 *     struct fields f;
 *     fields_init(&f, body, "", error);
 *     fields_integer(&f, "n", 1, 16, &n);
 *     fields_boolean(&f, "stream", &stream);
 *     if (!fields_finish(&f, harmless))
 *         return false;
 *
 * A member that is absent or null leaves the variable unchanged. A member of another type or out of
 * range sets the error with its name. After an error all further calls do nothing. */
#ifndef QUIRE_SERVE_FIELDS_H
#define QUIRE_SERVE_FIELDS_H
#include "error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_FIELDS = 128 };

struct fields {
    json_t *object; /* borrowed */
    char path[96];  /* of the object: "" or e.g. "messages[2]" */
    struct api_error *error;
    const char *known[MAX_FIELDS]; /* names that were read */
    unsigned n_known;
    /* counts a harmless member in the metrics; may be NULL. Set after fields_init() */
    void (*ignored)(void *user, const char *name);
    void *user;
};

/* Parses a text of at most `size` bytes: an object, nested at most 64 deep, with at most 1,000,000
 * values, without duplicate keys, in UTF-8. NULL: *error. */
json_t *fields_parse(const char *text, size_t size, struct api_error *error);

/* `value` is the object; otherwise the error says that `path` must be an object. */
bool fields_init(struct fields *f, json_t *value, const char *path, struct api_error *error);

/* Each returns whether the member was there, not null, and valid. Strings have no NUL inside. */
bool fields_string(struct fields *f, const char *name, const char **out);
/* One of the names in `choices`, which ends with NULL; *out is its index. */
bool fields_choice(struct fields *f, const char *name, const char *const *choices, unsigned *out);
bool fields_boolean(struct fields *f, const char *name, bool *out);
/* An integer, also written as 5.0. */
bool fields_integer(struct fields *f, const char *name, int64_t min, int64_t max, int64_t *out);
bool fields_number(struct fields *f, const char *name, double min, double max, double *out);
bool fields_object(struct fields *f, const char *name, json_t **out);
bool fields_array(struct fields *f, const char *name, size_t max_items, json_t **out);
/* Any type. */
bool fields_value(struct fields *f, const char *name, json_t **out);

/* Requires that the member is absent or null, or equal to a value in which case it changes nothing:
 * for parameters that are not supported. `neutral` may be NULL; its reference is dropped. */
void fields_unsupported(struct fields *f, const char *name, json_t *neutral);

/* Sets an error for the member `name` ("" = the object itself). Returns false. */
__attribute__((format(printf, 3, 4))) bool fields_fail(struct fields *f, const char *name,
                                                       const char *format, ...);

/* Any member that was not read is an error "unknown parameter", unless it is listed in
 * `harmless` (ends with NULL; may be NULL): such members do not change an answer; they are counted
 * in the metrics. Returns whether there was no error at all. */
bool fields_finish(struct fields *f, const char *const *harmless);

#endif
