/* SPDX-License-Identifier: Apache-2.0 */
/* chat_template.c - the public face of the Jinja interpreter: templates, conversations, prompts. */
#include "base/struct_size.h"
#include "jinja/call.h"
#include "jinja/input.h"
#include <quire/chat_template.h>

enum { DEFAULT_STEPS = 1000000, DEFAULT_OUTPUT = 16 << 20, DEFAULT_MEMORY = 256 << 20 };

struct quire_chat_template {
    const struct quire_allocator *allocator;
    struct qr_arena arena;
    const char *source;
    size_t source_len;
    const struct qr_j_node *root;
    struct quire_chat_template_params params; /* with the defaults filled in */
};

struct quire_chat_prompt {
    const struct quire_allocator *allocator;
    char *text;
    size_t len;
    struct quire_text_span *spans;
    size_t n_spans;
};

/* The library reads no environment, so no time zone either. */
static void utc_now(void *user, struct tm *out)
{
    const time_t t = time(NULL);
    (void)user;
    gmtime_r(&t, out);
}

/* --- templates --- */
/* Copies the source with all line ends as \n and without one at the end, as Jinja2 does. */
static quire_status copy_source(struct qr_j *j, const char *source, size_t n)
{
    size_t len = 0, bad;
    if (!qr_j_valid_utf8(source, n, &bad)) {
        j->pos = bad;
        return qr_j_fail(j, QUIRE_E_FORMAT, "chat template: invalid UTF-8 at byte %zu", bad);
    }
    char *copy = qr_j_alloc(j, n, 1);
    if (!copy)
        return j->status;
    for (size_t i = 0; i < n; i++) {
        if (source[i] == '\n' && i > 0 && source[i - 1] == '\r')
            continue;
        copy[len++] = source[i] == '\r' ? '\n' : source[i];
    }
    j->source = copy;
    j->source_len = len - (len > 0 && copy[len - 1] == '\n');
    return QUIRE_OK;
}

static quire_status parse_source(struct quire_chat_template *t, const char *source, size_t n,
                                 struct quire_error *err)
{
    struct qr_j_node *root;
    /* parsing is linear in the source, so only memory needs a limit */
    struct qr_j j = { .err = err, .steps_left = SIZE_MAX, .max_bytes = SIZE_MAX };
    qr_arena_init(&j.arena, t->allocator, t->params.max_memory_bytes);
    quire_status status = copy_source(&j, source, n);
    if (status == QUIRE_OK)
        status = qr_j_parse(&j, &root);
    if (status != QUIRE_OK) {
        qr_arena_free(&j.arena);
        return status;
    }
    t->arena = j.arena;
    t->source = j.source;
    t->source_len = j.source_len;
    t->root = root;
    return QUIRE_OK;
}

quire_status quire_chat_template_create(const char *source, size_t source_len,
                                        const struct quire_chat_template_params *params,
                                        struct quire_chat_template **out, struct quire_error *err)
{
    const struct quire_chat_template_params defaults = { .struct_size = sizeof defaults };
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (!source)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "source is NULL");
    if (!params)
        params = &defaults;
    if (params->struct_size != sizeof *params)
        return qr_fail(err, QUIRE_E_MISUSE, "params.struct_size is %u, not %zu",
                       params->struct_size, sizeof *params);
    struct quire_chat_template *t = qr_calloc(params->allocator, 1, sizeof *t);
    if (!t)
        return qr_fail(err, QUIRE_E_NOMEM, "chat template: out of memory");
    t->allocator = params->allocator;
    t->params = *params;
    if (!t->params.max_steps)
        t->params.max_steps = DEFAULT_STEPS;
    if (!t->params.max_output_bytes)
        t->params.max_output_bytes = DEFAULT_OUTPUT;
    if (!t->params.max_memory_bytes)
        t->params.max_memory_bytes = DEFAULT_MEMORY;
    if (!t->params.now)
        t->params.now = utc_now;
    const size_t n = source_len == QUIRE_NUL_TERMINATED ? strlen(source) : source_len;
    const quire_status status = parse_source(t, source, n, err);
    if (status != QUIRE_OK) {
        qr_free(t->allocator, t, 1, sizeof *t);
        return status;
    }
    *out = t;
    return QUIRE_OK;
}

void quire_chat_template_destroy(struct quire_chat_template *tmpl)
{
    if (!tmpl)
        return;
    qr_arena_free(&tmpl->arena);
    qr_free(tmpl->allocator, tmpl, 1, sizeof *tmpl);
}

/* --- variables --- */
static quire_status set_var(struct qr_j *j, struct qr_j_dict *vars, const char *name,
                            struct qr_j_value v)
{
    struct qr_j_value key;
    QR_TRY(qr_j_textz(j, name, &key));
    return qr_j_dict_set(j, vars, key, v);
}

/* Sets a variable per member of a JSON object; NULL is an empty one. */
static quire_status set_members(struct qr_j *j, struct qr_j_dict *vars, const char *json,
                                const char *what, bool user)
{
    struct qr_j_value v;
    if (!json)
        return QUIRE_OK;
    QR_TRY(qr_j_from_json(j, json, what, user, &v));
    if (v.type != QR_J_DICT)
        return qr_j_fail(j, QUIRE_E_FORMAT, "%s is no JSON object", what);
    for (size_t i = 0; i < v.d->n; i++)
        QR_TRY(qr_j_dict_set(j, vars, v.d->entries[i].key, v.d->entries[i].value));
    return QUIRE_OK;
}

static quire_status set_token(struct qr_j *j, struct qr_j_dict *vars, const char *name,
                              const char *text)
{
    struct qr_j_value v;
    if (!text)
        return QUIRE_OK;
    QR_TRY(qr_j_from_text(j, text, strlen(text), false, &v));
    return set_var(j, vars, name, v);
}

/* Members in the order of the fields, then the extra ones. */
static quire_status make_message(struct qr_j *j, const struct quire_chat_message *m, size_t i,
                                 struct qr_j_value *out)
{
    struct qr_j_dict *d;
    struct qr_j_value v;
    if (!m->role)
        return qr_j_fail(j, QUIRE_E_INVALID_ARG, "input.messages[%zu].role is NULL", i);
    QR_TRY(qr_j_dict_new(j, &d));
    *out = qr_j_dict_value(d);
    QR_TRY(qr_j_from_text(j, m->role, strlen(m->role), true, &v));
    QR_TRY(set_var(j, d, "role", v));
    if (m->content) {
        const bool terminated = m->content_len == 0 || m->content_len == QUIRE_NUL_TERMINATED;
        const size_t n = terminated ? strlen(m->content) : m->content_len;
        QR_TRY(qr_j_from_text(j, m->content, n, true, &v));
        QR_TRY(set_var(j, d, "content", v));
    }
    return set_members(j, d, m->extra_json, "extra_json of a message", true);
}

static quire_status make_messages(struct qr_j *j, const struct quire_chat_render_args *in,
                                  struct qr_j_value *out)
{
    struct qr_j_list *l;
    if (in->messages_json) {
        QR_TRY(qr_j_from_json(j, in->messages_json, "messages_json", true, out));
        if (out->type != QR_J_LIST)
            return qr_j_fail(j, QUIRE_E_FORMAT, "messages_json is no JSON array");
    } else {
        QR_TRY(qr_j_list_new(j, QR_J_PLAIN, in->n_messages, &l));
        for (size_t i = 0; i < l->n; i++)
            QR_TRY(make_message(j, &in->messages[i], i, &l->items[i]));
        *out = qr_j_list_value(l);
    }
    for (size_t i = 0; i < out->l->n; i++) {
        struct qr_j_value *role = NULL;
        if (out->l->items[i].type == QR_J_DICT)
            QR_TRY(qr_j_dict_find_text(j, out->l->items[i].d, "role", 4, &role));
        if (role)
            QR_TRY(qr_j_role(j, *role, role));
    }
    return QUIRE_OK;
}

/* What Hugging Face passes: tools and documents are none, not undefined, when there are none. */
static quire_status set_variables(struct qr_j *j, const struct quire_chat_render_args *in,
                                  struct qr_j_dict *vars)
{
    struct qr_j_value v;
    QR_TRY(set_var(j, vars, "tools", qr_j_none()));
    QR_TRY(set_var(j, vars, "documents", qr_j_none()));
    QR_TRY(set_members(j, vars, in->special_tokens_json, "special_tokens_json", false));
    QR_TRY(set_token(j, vars, "bos_token", in->bos_token));
    QR_TRY(set_token(j, vars, "eos_token", in->eos_token));
    QR_TRY(set_members(j, vars, in->variables_json, "variables_json", true));
    QR_TRY(set_var(j, vars, "add_generation_prompt", qr_j_bool(in->add_generation_prompt != 0)));
    if (in->tools_json) {
        QR_TRY(qr_j_from_json(j, in->tools_json, "tools_json", true, &v));
        QR_TRY(set_var(j, vars, "tools", v));
    }
    QR_TRY(make_messages(j, in, &v));
    return set_var(j, vars, "messages", v);
}

/* --- prompts --- */
/* Fills spans (NULL: only counts) with the runs of equal marks. */
static size_t cut_spans(const struct qr_j_sb *sb, struct quire_text_span *spans)
{
    size_t n = 0;
    for (size_t from = 0, end; from < sb->n; from = end) {
        const bool user = sb->mark ? sb->mark[from] : sb->user;
        end = sb->mark ? from : sb->n;
        while (end < sb->n && sb->mark[end] == user)
            end++;
        if (spans)
            spans[n] = (struct quire_text_span){ from, end - from, user };
        n++;
    }
    return n;
}

/* Owned by the host's allocator, since the arena goes with the render. */
static quire_status make_prompt(const struct quire_allocator *a, const struct qr_j_sb *sb,
                                struct quire_chat_prompt **out, struct quire_error *err)
{
    struct quire_chat_prompt *p = qr_calloc(a, 1, sizeof *p);
    if (!p)
        return qr_fail(err, QUIRE_E_NOMEM, "chat prompt: out of memory");
    p->allocator = a;
    p->len = sb->n;
    p->n_spans = cut_spans(sb, NULL);
    p->text = qr_strndup(a, sb->p, sb->n);
    p->spans = qr_calloc(a, p->n_spans, sizeof *p->spans);
    if (!p->text || !p->spans) {
        quire_chat_prompt_destroy(p);
        return qr_fail(err, QUIRE_E_NOMEM, "chat prompt: out of memory");
    }
    cut_spans(sb, p->spans);
    *out = p;
    return QUIRE_OK;
}

const char *quire_chat_prompt_text(const struct quire_chat_prompt *prompt, size_t *len)
{
    if (len)
        *len = prompt ? prompt->len : 0;
    return prompt ? prompt->text : NULL;
}

const struct quire_text_span *quire_chat_prompt_spans(const struct quire_chat_prompt *prompt,
                                                      size_t *n_spans)
{
    if (n_spans)
        *n_spans = prompt ? prompt->n_spans : 0;
    return prompt ? prompt->spans : NULL;
}

void quire_chat_prompt_destroy(struct quire_chat_prompt *prompt)
{
    if (!prompt)
        return;
    qr_free(prompt->allocator, prompt->text, prompt->len + 1, 1);
    qr_free(prompt->allocator, prompt->spans, prompt->n_spans, sizeof *prompt->spans);
    qr_free(prompt->allocator, prompt, 1, sizeof *prompt);
}

/* --- rendering --- */
static quire_status check_input(const struct quire_chat_render_args *in, struct quire_error *err)
{
    if (!in)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "input is NULL");
    if (in->struct_size != sizeof *in)
        return qr_fail(err, QUIRE_E_MISUSE, "input.struct_size is %u, not %zu", in->struct_size,
                       sizeof *in);
    if (in->messages_json && in->n_messages)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "input has both messages and messages_json");
    if (in->n_messages && !in->messages)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "input.messages is NULL");
    return QUIRE_OK;
}

static quire_status run(struct qr_j *j, const struct quire_chat_template *t,
                        const struct quire_chat_render_args *in, struct qr_j_sb *document)
{
    struct qr_j_scope *scope;
    qr_j_sb_init(document, j);
    j->out = document;
    QR_TRY(qr_j_scope_new(j, NULL, &scope));
    QR_TRY(set_variables(j, in, &scope->vars));
    j->source = t->source;
    j->source_len = t->source_len;
    return qr_j_exec(j, scope, t->root);
}

quire_status quire_chat_template_render(const struct quire_chat_template *tmpl,
                                        const struct quire_chat_render_args *input,
                                        struct quire_chat_prompt **out, struct quire_error *err)
{
    struct qr_j_sb document;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (!tmpl)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "tmpl is NULL");
    QR_TRY(check_input(input, err));
    struct qr_j j = { .err = err,
                      .steps_left = tmpl->params.max_steps,
                      .max_bytes = tmpl->params.max_output_bytes,
                      .now = tmpl->params.now,
                      .now_user = tmpl->params.now_user };
    qr_arena_init(&j.arena, tmpl->allocator, tmpl->params.max_memory_bytes);
    quire_status status = run(&j, tmpl, input, &document);
    if (status == QUIRE_OK)
        status = make_prompt(tmpl->allocator, &document, out, err);
    qr_arena_free(&j.arena);
    return status;
}

QR_DEFINE_ZERO_INIT(quire_chat_template_params)
QR_DEFINE_ZERO_INIT(quire_chat_render_args)
