/* SPDX-License-Identifier: Apache-2.0 */
#include "json_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest of the three precisions that is read back as the same number; it stays a real
 * number. */
static void write_real(struct text *out, double value)
{
    char digits[40] = "";
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add_string(out, digits);
    if (strpbrk(digits, ".e") == NULL)
        text_add_string(out, ".0");
}

static void write_string(struct text *out, const char *s, size_t size)
{
    size_t start = 0;
    text_add(out, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        text_add(out, s + start, i - start);
        if (c == '\n')
            text_add(out, "\\n", 2);
        else if (c == '"' || c == '\\')
            text_format(out, "\\%c", c);
        else
            text_format(out, "\\u%04x", c);
        start = i + 1;
    }
    text_add(out, s + start, size - start);
    text_add(out, "\"", 1);
}

static void write_object(struct text *out, const json_t *object)
{
    const char *separator = "";
    json_t *o = (json_t *)object; /* the iterators of Jansson take no const */
    text_add_string(out, "{");
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        const char *key = json_object_iter_key(i);
        text_add_string(out, separator);
        write_string(out, key, json_object_iter_key_len(i));
        text_add_string(out, ":");
        json_text_write(out, json_object_iter_value(i));
        separator = ",";
    }
    text_add_string(out, "}");
}

void json_text_write(struct text *out, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(out, value);
        break;
    case JSON_ARRAY:
        text_add_string(out, "[");
        for (size_t i = 0; i < json_array_size(value); i++) {
            text_add_string(out, i ? "," : "");
            json_text_write(out, json_array_get(value, i));
        }
        text_add_string(out, "]");
        break;
    case JSON_STRING:
        write_string(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        text_format(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        write_real(out, json_real_value(value));
        break;
    default:
        text_add_string(out, json_is_true(value)    ? "true"
                             : json_is_false(value) ? "false"
                                                    : "null");
        break;
    }
}
