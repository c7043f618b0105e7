/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "json_text.h"
#include "json/parse.h"
#include <quire/chat_output.h>
#include <stdlib.h>
#include <string.h>

static void set_status(struct answer *a, quire_status status)
{
    if (a->status == QUIRE_OK)
        a->status = status;
}

/* Replaces the arguments by the same JSON with uniform blanks: models write tabs and line ends,
 * too. False: they are no JSON object. */
static bool normalize(struct text *arguments)
{
    struct qr_json_error error;
    struct text out = { 0 };
    struct qr_json *value =
        qr_json_parse(arguments->data, arguments->size,
                      QR_JSON_ALLOW_DUPLICATES | QR_JSON_ALLOW_BIG_INTEGERS, NULL, &error);
    const bool ok = qr_json_is_object(value);
    if (ok) {
        text_add_json_value(&out, value);
        text_free(arguments);
        *arguments = out;
    }
    qr_json_free(value);
    return ok;
}

static void free_call(struct tool_call *c)
{
    free(c->id);
    free(c->name);
    free(c->arguments);
}

static char *copy_text(const struct text *t) { return strdup(t->data ? t->data : ""); }

/* Keeps and shows the call that is complete now. */
static void end_call(struct answer *a, struct output *out)
{
    if (!a->arguments.size)
        text_add(&a->arguments, "{}", 2);
    if (a->id.failed || a->name.failed || a->arguments.failed) {
        set_status(a, QUIRE_E_NOMEM);
        return;
    }
    if (!normalize(&a->arguments)) {
        a->n_broken++;
        return;
    }
    struct tool_call *grown = realloc(a->calls, (a->n_calls + 1) * sizeof *grown);
    struct tool_call call = { copy_text(&a->id), copy_text(&a->name), copy_text(&a->arguments) };
    if (grown)
        a->calls = grown;
    if (a->arguments.failed || !grown || !call.id || !call.name || !call.arguments) {
        free_call(&call);
        set_status(a, QUIRE_E_NOMEM);
        return;
    }
    a->calls[a->n_calls++] = call;
    output_call(out, call.id, call.name, call.arguments);
}

static void take_delta(struct answer *a, struct output *out, const struct quire_chat_delta *d)
{
    switch (d->kind) {
    case QUIRE_CHAT_CONTENT:
        a->ends_in_reasoning = false;
        output_piece(out, d->text, d->size);
        break;
    case QUIRE_CHAT_REASONING:
        a->ends_in_reasoning = true;
        text_add(&a->reasoning, d->text, d->size);
        output_reasoning(out, d->text, d->size);
        break;
    case QUIRE_CHAT_TOOL_CALL_BEGIN:
        text_clear(&a->id);
        text_clear(&a->name);
        text_clear(&a->arguments);
        text_add(&a->id, d->id, d->id_size);
        text_add(&a->name, d->text, d->size);
        break;
    case QUIRE_CHAT_TOOL_CALL_ARGUMENTS:
        text_add(&a->arguments, d->text, d->size);
        break;
    case QUIRE_CHAT_TOOL_CALL_END:
        end_call(a, out);
        break;
    }
}

static void take_deltas(struct answer *a, struct output *out)
{
    struct quire_chat_delta d;
    while (quire_chat_output_next(a->parser, &d))
        take_delta(a, out, &d);
    if (a->reasoning.failed)
        set_status(a, QUIRE_E_NOMEM);
}

void answer_add(struct answer *a, struct output *out, const char *text, size_t size)
{
    if (!a->parser) {
        output_piece(out, text, size);
        return;
    }
    set_status(a, quire_chat_output_push(a->parser, text, size, false, NULL));
    take_deltas(a, out);
}

void answer_finish(struct answer *a, struct output *out)
{
    if (!a->parser)
        return;
    set_status(a, quire_chat_output_finish(a->parser, NULL));
    take_deltas(a, out);
}

void answer_free(struct answer *a)
{
    for (size_t i = 0; i < a->n_calls; i++)
        free_call(&a->calls[i]);
    free(a->calls);
    quire_chat_output_destroy(a->parser);
    text_free(&a->reasoning);
    text_free(&a->id);
    text_free(&a->name);
    text_free(&a->arguments);
    *a = (struct answer){ 0 };
}

void answer_cut(struct answer *a, struct output *out, size_t n)
{
    struct text *end = a->ends_in_reasoning ? &a->reasoning : &out->answer;
    text_truncate(end, end->size - (n < end->size ? n : end->size));
}

void answer_add_calls_json(const struct answer *a, struct text *out)
{
    text_add(out, "[", 1);
    for (size_t i = 0; i < a->n_calls; i++) {
        const struct tool_call *c = &a->calls[i];
        text_addf(out, i ? ", {\"id\": " : "{\"id\": ");
        text_add_json(out, c->id, strlen(c->id));
        text_addf(out, ", \"type\": \"function\", \"function\": {\"name\": ");
        text_add_json(out, c->name, strlen(c->name));
        text_addf(out, ", \"arguments\": ");
        text_add_json(out, c->arguments, strlen(c->arguments));
        text_addf(out, "}}");
    }
    text_add(out, "]", 1);
}
