/* SPDX-License-Identifier: Apache-2.0 */
#include "json_build.h"
#include "text.h"
#include <math.h>

static void drop(json_t **container)
{
    json_decref(*container);
    *container = NULL;
}

void json_build_set(json_t **object, const char *name, json_t *value)
{
    if (json_object_set_new(*object, name, value) != 0)
        drop(object);
}

void json_build_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) != 0)
        drop(array);
}

json_t *json_build_logprob(double value)
{
    if (isnan(value))
        return json_null();
    return json_real(isinf(value) ? -9999.0 : value);
}

static int add(const char *data, size_t size, void *user)
{
    struct text *out = user;
    text_add(out, data, size);
    return out->failed ? -1 : 0;
}

void json_build_write(struct text *out, json_t *value)
{
    if (value == NULL || json_dump_callback(value, add, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        out->failed = true;
    json_decref(value);
}
