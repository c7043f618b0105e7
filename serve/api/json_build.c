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

bool json_build_is_utf8(const char *bytes, size_t size)
{
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0; i < size;) {
        const unsigned c = p[i];
        const size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || size - i < n)
            return false;
        for (size_t k = 1; k < n; k++)
            if ((p[i + k] & 0xc0) != 0x80)
                return false;
        /* overlong forms, surrogates, beyond U+10FFFF */
        if ((c == 0xe0 && p[i + 1] < 0xa0) || (c == 0xed && p[i + 1] > 0x9f) ||
            (c == 0xf0 && p[i + 1] < 0x90) || (c == 0xf4 && p[i + 1] > 0x8f))
            return false;
        i += n;
    }
    return true;
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

void json_build_floats(struct text *out, const float *values, size_t n)
{
    text_add_string(out, "[");
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            text_format(out, "%s%.9g", i ? "," : "", values[i]);
        else
            text_format(out, "%snull", i ? "," : "");
    text_add_string(out, "]");
}
