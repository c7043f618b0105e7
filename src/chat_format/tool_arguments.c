/* SPDX-License-Identifier: Apache-2.0 */
/* tool_arguments.c - arguments of earlier tool calls as objects. */
#include "chat_format/tool_arguments.h"
#include "base/error.h"
#include "chat_format/json_value.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/value.h"
#include <string.h>

/* *out is NULL if v is no object or has no such member. */
static quire_status find_member(struct qr_jinja *j, struct qr_jinja_value v, const char *key,
                                struct qr_jinja_value **out)
{
    *out = NULL;
    if (v.type != QR_JINJA_DICT)
        return QUIRE_OK;
    return qr_jinja_dict_find_bytes(j, v.d, key, strlen(key), out);
}

/* function: the object with the member `arguments` */
static quire_status parse_function(struct qr_jinja *j, struct qr_jinja_value function)
{
    struct qr_jinja_value *arguments, object;
    QR_TRY(find_member(j, function, "arguments", &arguments));
    if (!arguments || arguments->type != QR_JINJA_STR)
        return QUIRE_OK;
    const struct qr_jinja_str *text = arguments->s;
    QR_TRY(qr_chat_object_from_text(j, text->p, text->n, true, &object));
    if (object.type == QR_JINJA_DICT) {
        object.d->text = text;
        *arguments = object;
    }
    return QUIRE_OK;
}

quire_status qr_chat_parse_arguments(struct qr_jinja *j, struct qr_jinja_value message)
{
    struct qr_jinja_value *calls, *function;
    QR_TRY(find_member(j, message, "function_call", &function));
    if (function)
        QR_TRY(parse_function(j, *function));
    QR_TRY(find_member(j, message, "tool_calls", &calls));
    if (!calls || calls->type != QR_JINJA_LIST)
        return QUIRE_OK;
    for (size_t i = 0; i < calls->l->n; i++) {
        QR_TRY(parse_function(j, calls->l->items[i])); /* calls without `function` around them */
        QR_TRY(find_member(j, calls->l->items[i], "function", &function));
        if (function)
            QR_TRY(parse_function(j, *function));
    }
    return QUIRE_OK;
}
