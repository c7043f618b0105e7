/* SPDX-License-Identifier: Apache-2.0 */
/* template_context.c - builds the variables of a render from struct quire_chat_render_args. */
#include "chat_format/template_context.h"
#include "base/error.h"
#include "chat_format/json_value.h"
#include "chat_format/tool_arguments.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/value.h"
#include <string.h>

/* Removes the taint of a role that is a plain name (letters, digits, - and _, at most 64), so that
 * templates can build markers such as <|user|> from it. Other values stay tainted. */
static quire_status untaint_role(struct qr_jinja *j, struct qr_jinja_value role,
                                 struct qr_jinja_value *out)
{
    *out = role;
    if (role.type != QR_JINJA_STR || role.s->n == 0 || role.s->n > 64)
        return QUIRE_OK;
    for (size_t i = 0; i < role.s->n; i++) {
        const char c = role.s->p[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!plain)
            return QUIRE_OK;
    }
    return qr_jinja_str_borrow(j, role.s->p, role.s->n, false, out);
}

static quire_status set_var(struct qr_jinja *j, struct qr_jinja_dict *vars, const char *name,
                            struct qr_jinja_value v)
{
    struct qr_jinja_value key;
    QR_TRY(qr_jinja_str_literal(j, name, &key));
    return qr_jinja_dict_set(j, vars, key, v);
}

/* Defines a variable per member of a JSON object; json may be NULL. */
static quire_status set_members(struct qr_jinja *j, struct qr_jinja_dict *vars, const char *json,
                                const char *what, bool tainted)
{
    struct qr_jinja_value v;
    if (!json)
        return QUIRE_OK;
    QR_TRY(qr_chat_value_from_json(j, json, what, tainted, &v));
    if (v.type != QR_JINJA_DICT)
        return qr_jinja_fail(j, QUIRE_E_FORMAT, "%s is not a JSON object", what);
    for (size_t i = 0; i < v.d->n; i++)
        QR_TRY(qr_jinja_dict_set(j, vars, v.d->entries[i].key, v.d->entries[i].value));
    return QUIRE_OK;
}

static quire_status set_token(struct qr_jinja *j, struct qr_jinja_dict *vars, const char *name,
                              const char *text)
{
    struct qr_jinja_value v;
    if (!text)
        return QUIRE_OK;
    QR_TRY(qr_chat_value_from_text(j, text, strlen(text), false, &v));
    return set_var(j, vars, name, v);
}

/* Makes a dict of the fields in declaration order, then the members of extra_json. */
static quire_status make_message(struct qr_jinja *j, const struct quire_chat_message *m, size_t i,
                                 struct qr_jinja_value *out)
{
    struct qr_jinja_dict *d;
    struct qr_jinja_value v;
    if (!m->role)
        return qr_jinja_fail(j, QUIRE_E_INVALID_ARG, "args.messages[%zu].role is NULL", i);
    QR_TRY(qr_jinja_dict_new(j, &d));
    *out = qr_jinja_dict_value(d);
    QR_TRY(qr_chat_value_from_text(j, m->role, strlen(m->role), true, &v));
    QR_TRY(set_var(j, d, "role", v));
    if (m->content) {
        const bool terminated = m->content_len == 0 || m->content_len == QUIRE_NUL_TERMINATED;
        const size_t n = terminated ? strlen(m->content) : m->content_len;
        QR_TRY(qr_chat_value_from_text(j, m->content, n, true, &v));
        QR_TRY(set_var(j, d, "content", v));
    }
    return set_members(j, d, m->extra_json, "extra_json of a message", true);
}

static quire_status make_messages(struct qr_jinja *j, const struct quire_chat_render_args *in,
                                  struct qr_jinja_value *out)
{
    struct qr_jinja_list *l;
    if (in->messages_json) {
        QR_TRY(qr_chat_value_from_json(j, in->messages_json, "messages_json", true, out));
        if (out->type != QR_JINJA_LIST)
            return qr_jinja_fail(j, QUIRE_E_FORMAT, "messages_json is not a JSON array");
    } else {
        QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, in->n_messages, &l));
        for (size_t i = 0; i < l->n; i++)
            QR_TRY(make_message(j, &in->messages[i], i, &l->items[i]));
        *out = qr_jinja_list_value(l);
    }
    for (size_t i = 0; i < out->l->n; i++) {
        struct qr_jinja_value *role = NULL;
        if (out->l->items[i].type == QR_JINJA_DICT)
            QR_TRY(qr_jinja_dict_find_bytes(j, out->l->items[i].d, "role", 4, &role));
        if (role)
            QR_TRY(untaint_role(j, *role, role));
        QR_TRY(qr_chat_parse_arguments(j, out->l->items[i]));
    }
    return QUIRE_OK;
}

/* As Hugging Face: tools and documents default to none, not undefined. */
quire_status qr_chat_define_variables(struct qr_jinja *j, const struct quire_chat_render_args *in,
                                      struct qr_jinja_dict *vars)
{
    struct qr_jinja_value v;
    /* in the first chunk of memory */
    QR_TRY(set_var(j, vars, "tools", qr_jinja_none())); /* GCOVR_EXCL_BR_LINE */
    QR_TRY(set_var(j, vars, "documents", qr_jinja_none()));
    QR_TRY(set_members(j, vars, in->special_tokens_json, "special_tokens_json", false));
    QR_TRY(set_token(j, vars, "bos_token", in->bos_token));
    QR_TRY(set_token(j, vars, "eos_token", in->eos_token));
    QR_TRY(set_members(j, vars, in->variables_json, "variables_json", true));
    QR_TRY(
        set_var(j, vars, "add_generation_prompt", qr_jinja_bool(in->add_generation_prompt != 0)));
    if (in->tools_json) {
        QR_TRY(qr_chat_value_from_json(j, in->tools_json, "tools_json", true, &v));
        QR_TRY(set_var(j, vars, "tools", v));
    }
    QR_TRY(make_messages(j, in, &v));
    return set_var(j, vars, "messages", v);
}
