/* SPDX-License-Identifier: Apache-2.0 */
/* chat_template.c - the chat template API: parses templates and renders conversations. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "chat_format/chat_prompt.h"
#include "chat_format/template_context.h"
#include "jinja/ast.h"
#include "jinja/exec.h"
#include "jinja/interp.h"
#include "jinja/parse_stmt.h"
#include "jinja/scope.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include <quire/chat_template.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_STEPS = 1000000, DEFAULT_OUTPUT = 16 << 20, DEFAULT_MEMORY = 256 << 20 };

struct quire_chat_template {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    struct qr_arena arena;
    const char *source;
    size_t source_len;
    const struct qr_jinja_node *root;
    struct quire_chat_template_params params; /* with defaults resolved */
};

/* Default clock. UTC, because the library does not read the environment and hence no time zone. */
static void utc_now(void *user, struct tm *out)
{
    const time_t t = time(NULL);
    (void)user;
    gmtime_r(&t, out);
}

/* --- templates --- */
/* Copies the source, normalizes line endings to \n and removes the last one, as Jinja2 does. */
static quire_status copy_source(struct qr_jinja *j, const char *source, size_t n)
{
    size_t len = 0, bad;
    if (!qr_jinja_utf8_valid(source, n, &bad)) {
        j->pos = bad;
        return qr_jinja_fail(j, QUIRE_E_FORMAT, "chat template: invalid UTF-8 at byte %zu", bad);
    }
    char *copy = qr_jinja_alloc(j, n, 1);
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
    struct qr_jinja_node *root;
    /* Parsing takes linear time, so only memory is limited. */
    struct qr_jinja j = { .err = err, .steps_left = SIZE_MAX, .max_bytes = SIZE_MAX };
    qr_arena_init(&j.arena, t->allocator, t->params.max_memory_bytes);
    quire_status status = copy_source(&j, source, n);
    if (status == QUIRE_OK)
        status = qr_jinja_parse(&j, &root);
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
    QR_FP_SCOPE;
    struct quire_chat_template_params p = { .struct_size = sizeof p };
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (!source)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "source is NULL");
    if (params)
        QR_READ_STRUCT(&p, params, now_user, "params", err);
    struct quire_chat_template *t = qr_calloc(p.allocator, 1, sizeof *t);
    if (!t)
        return qr_fail(err, QUIRE_E_NOMEM, "chat template: out of memory");
    t->handle.kind = QR_KIND_CHAT_TEMPLATE;
    t->allocator = p.allocator;
    t->params = p;
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
    if (!qr_handle_end(tmpl, QR_KIND_CHAT_TEMPLATE))
        return;
    qr_arena_free(&tmpl->arena);
    qr_free(tmpl->allocator, tmpl, 1, sizeof *tmpl);
}

/* --- rendering --- */
static quire_status check_args(const struct quire_chat_render_args *in, struct quire_error *err)
{
    if (in->messages_json && in->n_messages)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args has both messages and messages_json");
    if (in->n_messages && !in->messages)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.messages is NULL");
    return QUIRE_OK;
}

static quire_status render(struct qr_jinja *j, const struct quire_chat_template *t,
                           const struct quire_chat_render_args *in, struct qr_jinja_sb *output)
{
    struct qr_jinja_scope *scope;
    qr_jinja_sb_init(output, j);
    j->out = output;
    QR_TRY(qr_jinja_scope_new(j, NULL, &scope));
    QR_TRY(qr_chat_define_variables(j, in, &scope->vars));
    j->source = t->source;
    j->source_len = t->source_len;
    return qr_jinja_exec(j, scope, t->root);
}

quire_status quire_chat_template_render(const struct quire_chat_template *tmpl,
                                        const struct quire_chat_render_args *args,
                                        struct quire_chat_prompt **out, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct qr_jinja_sb output;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(qr_handle_check(tmpl, QR_KIND_CHAT_TEMPLATE, "tmpl", err));
    if (!args)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args is NULL");
    struct quire_chat_render_args a;
    QR_READ_STRUCT(&a, args, add_generation_prompt, "args", err);
    QR_TRY(check_args(&a, err));
    struct qr_jinja j = { .err = err,
                          .steps_left = tmpl->params.max_steps,
                          .max_bytes = tmpl->params.max_output_bytes,
                          .now = tmpl->params.now,
                          .now_user = tmpl->params.now_user };
    qr_arena_init(&j.arena, tmpl->allocator, tmpl->params.max_memory_bytes);
    quire_status status = render(&j, tmpl, &a, &output);
    if (status == QUIRE_OK)
        status = qr_chat_prompt_new(tmpl->allocator, &output, out, err);
    qr_arena_free(&j.arena);
    return status;
}

QR_DEFINE_ZERO_INIT(quire_chat_template_params)
QR_DEFINE_ZERO_INIT(quire_chat_render_args)
