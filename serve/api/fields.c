/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"
#include "json_memory.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_VALUES = 1000000 };

/* Checks depth and number of values without building anything: a small text of many values would
 * otherwise become a large tree. */
static bool within_limits(const char *text, size_t size, struct api_error *error)
{
    size_t depth = 0, values = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            values++;
            if (++depth > MAX_DEPTH)
                return api_fail(error, 400, NULL, NULL, "The JSON is nested more than %d deep.",
                                MAX_DEPTH);
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        } else if (c == ',' && ++values > MAX_VALUES) {
            return api_fail(error, 400, NULL, NULL, "The JSON has more than %d values.",
                            MAX_VALUES);
        }
    }
    return true;
}

json_t *fields_parse(const char *text, size_t size, struct api_error *error)
{
    if (!within_limits(text, size, error))
        return NULL;
    json_error_t at;
    bool no_memory;
    json_t *value =
        json_memory_load(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at, &no_memory);
    if (value == NULL) {
        if (no_memory || json_error_code(&at) == json_error_out_of_memory)
            api_fail(error, 500, NULL, NULL, "out of memory");
        else
            api_fail(error, 400, NULL, NULL, "The body is not valid JSON: %s (line %d, byte %d).",
                     at.text, at.line, at.position);
        return NULL;
    }
    if (!json_is_object(value)) {
        api_fail(error, 400, NULL, NULL, "The body must be a JSON object.");
        json_decref(value);
        return NULL;
    }
    return value;
}

bool fields_init(struct fields *f, json_t *value, const char *path, struct api_error *error)
{
    f->object = value;
    f->error = error;
    f->n_known = 0;
    f->ignored = NULL;
    snprintf(f->path, sizeof f->path, "%s", path);
    if (json_is_object(value))
        return error->status == 0;
    return api_fail(error, 400, NULL, path, "%s must be an object.", path[0] ? path : "The body");
}

/* The name of a member in messages. */
static void full_name(const struct fields *f, const char *name, char out[128])
{
    snprintf(out, 128, "%s%s%s", f->path, f->path[0] && name[0] ? "." : "", name);
}

bool fields_fail(struct fields *f, const char *name, const char *format, ...)
{
    char param[128], message[512];
    full_name(f, name, param);
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return api_fail(f->error, 400, NULL, param, "%s", message);
}

/* Value of a member; NULL if it is absent or null, or after an error. */
static json_t *get(struct fields *f, const char *name)
{
    if (f->n_known < MAX_FIELDS)
        f->known[f->n_known++] = name;
    if (f->error->status != 0)
        return NULL;
    json_t *v = json_object_get(f->object, name);
    return json_is_null(v) ? NULL : v;
}

static bool wrong_type(struct fields *f, const char *name, const char *expected)
{
    char param[128];
    full_name(f, name, param);
    return api_fail(f->error, 400, "invalid_type", param, "%s must be %s.", param, expected);
}

bool fields_string(struct fields *f, const char *name, const char **out)
{
    json_t *v = get(f, name);
    if (v == NULL)
        return false;
    if (!json_is_string(v))
        return wrong_type(f, name, "a string");
    if (strlen(json_string_value(v)) != json_string_length(v))
        return fields_fail(f, name, "%s contains a NUL character.", name);
    *out = json_string_value(v);
    return true;
}

bool fields_choice(struct fields *f, const char *name, const char *const *choices, unsigned *out)
{
    const char *s = "";
    if (!fields_string(f, name, &s))
        return false;
    char list[256];
    size_t n = 0;
    for (unsigned i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], s) == 0) {
            *out = i;
            return true;
        }
        if (n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", choices[i]);
    }
    return fields_fail(f, name, "%s must be one of: %s.", name, list);
}

bool fields_boolean(struct fields *f, const char *name, bool *out)
{
    json_t *v = get(f, name);
    if (v == NULL)
        return false;
    if (!json_is_boolean(v))
        return wrong_type(f, name, "true or false");
    *out = json_is_true(v);
    return true;
}

bool fields_integer(struct fields *f, const char *name, int64_t min, int64_t max, int64_t *out)
{
    json_t *v = get(f, name);
    if (v == NULL)
        return false;
    const double real = json_is_real(v) ? json_real_value(v) : 0;
    if (!json_is_integer(v) && !(json_is_real(v) && real == floor(real) && fabs(real) < 0x1p53))
        return wrong_type(f, name, "an integer");
    const int64_t i = json_is_integer(v) ? json_integer_value(v) : (int64_t)real;
    if (i < min || i > max)
        return fields_fail(f, name, "%s must be between %lld and %lld.", name, (long long)min,
                           (long long)max);
    *out = i;
    return true;
}

bool fields_number(struct fields *f, const char *name, double min, double max, double *out)
{
    json_t *v = get(f, name);
    if (v == NULL)
        return false;
    if (!json_is_number(v))
        return wrong_type(f, name, "a number");
    const double x = json_number_value(v);
    if (!(x >= min && x <= max))
        return fields_fail(f, name, "%s must be between %g and %g.", name, min, max);
    *out = x;
    return true;
}

bool fields_object(struct fields *f, const char *name, json_t **out)
{
    json_t *v = get(f, name);
    if (v == NULL)
        return false;
    if (!json_is_object(v))
        return wrong_type(f, name, "an object");
    *out = v;
    return true;
}

bool fields_array(struct fields *f, const char *name, size_t max_items, json_t **out)
{
    json_t *v = get(f, name);
    if (v == NULL)
        return false;
    if (!json_is_array(v))
        return wrong_type(f, name, "an array");
    if (json_array_size(v) > max_items)
        return fields_fail(f, name, "%s has %zu items; at most %zu are allowed.", name,
                           json_array_size(v), max_items);
    *out = v;
    return true;
}

bool fields_value(struct fields *f, const char *name, json_t **out)
{
    json_t *v = get(f, name);
    if (v == NULL)
        return false;
    *out = v;
    return true;
}

void fields_unsupported(struct fields *f, const char *name, json_t *neutral)
{
    json_t *v = get(f, name);
    char param[128];
    full_name(f, name, param);
    if (v != NULL && !(neutral != NULL && json_equal(v, neutral)))
        api_fail(f->error, 400, "unsupported_parameter", param, "%s is not supported.", param);
    json_decref(neutral);
}

static bool listed(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n && list[i] != NULL; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

bool fields_finish(struct fields *f, const char *const *harmless)
{
    const char *name;
    json_t *value;
    if (f->error->status != 0)
        return false;
    json_object_foreach(f->object, name, value)
    {
        if (json_is_null(value) || listed(name, f->known, f->n_known))
            continue;
        if (harmless != NULL && listed(name, harmless, SIZE_MAX)) {
            if (f->ignored != NULL)
                f->ignored(f->user, name);
            continue;
        }
        char param[128];
        full_name(f, name, param);
        return api_fail(f->error, 400, "unknown_parameter", param, "Unknown parameter: %s.", param);
    }
    return true;
}
