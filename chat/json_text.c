/* SPDX-License-Identifier: Apache-2.0 */
#include "json_text.h"
#include "json/parse.h"
#include <string.h>

static void add_escaped(struct text *out, const char *s) { text_add_json(out, s, strlen(s)); }

static void add_members(struct text *out, const struct qr_json *value, bool object)
{
    text_add(out, object ? "{" : "[", 1);
    for (struct qr_json_iter i = qr_json_iterate(value); qr_json_next(&i);) {
        text_add(out, ", ", i.index ? 2 : 0);
        if (object) {
            add_escaped(out, i.key);
            text_add(out, ": ", 2);
        }
        text_add_json_value(out, i.value); /* at most QR_JSON_MAX_DEPTH deep */
    }
    text_add(out, object ? "}" : "]", 1);
}

void text_add_json_value(struct text *out, const struct qr_json *value)
{
    if (qr_json_is_object(value) || qr_json_is_array(value))
        add_members(out, value, qr_json_is_object(value));
    else if (qr_json_is_string(value))
        add_escaped(out, qr_json_string(value));
    else if (qr_json_is_number(value))
        text_add(out, qr_json_text(value), strspn(qr_json_text(value), "+-.0123456789Ee"));
    else if (qr_json_is_bool(value))
        text_addf(out, "%s", qr_json_is_true(value) ? "true" : "false");
    else
        text_add(out, "null", 4);
}
