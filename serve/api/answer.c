/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include <stdlib.h>
#include <string.h>

/* Grows an array by one element. */
static void *grow(void *array, size_t n, size_t *capacity, size_t elem_size)
{
    if (n < *capacity)
        return array;
    const size_t larger = *capacity ? 2 * *capacity : 4;
    void *p = realloc(array, larger * elem_size);
    if (p != NULL)
        *capacity = larger;
    return p;
}

/* ---- Pieces ---- */

static void add_piece(struct answer *a, const struct piece *piece)
{
    struct piece *list = grow(a->pieces, a->n_pieces, &a->pieces_capacity, sizeof *list);
    if (list == NULL) {
        a->failed = true;
        return;
    }
    a->pieces = list;
    a->pieces[a->n_pieces++] = *piece;
}

static void take_deltas(struct answer *a)
{
    struct quire_chat_delta d;
    while (quire_chat_output_next(a->parser, &d)) {
        struct piece p = { .kind = PIECE_TEXT, .text = d.text, .size = d.size };
        if (d.kind == QUIRE_CHAT_TOOL_CALL_END)
            continue;
        if (d.kind == QUIRE_CHAT_REASONING)
            p.kind = PIECE_REASONING;
        else if (d.kind == QUIRE_CHAT_TOOL_CALL_ARGUMENTS)
            p = (struct piece){ PIECE_CALL, d.text, d.size, .tool_index = d.tool_index };
        else if (d.kind == QUIRE_CHAT_TOOL_CALL_BEGIN)
            p = (struct piece){ .kind = PIECE_CALL,
                                .text = "",
                                .tool_index = d.tool_index,
                                .name = d.text,
                                .name_size = d.size,
                                .id = d.id,
                                .id_size = d.id_size };
        add_piece(a, &p);
    }
}

static void split(struct answer *a, const struct quire_event *ev)
{
    quire_status s = QUIRE_OK;
    a->n_pieces = 0;
    if (a->parser == NULL) {
        if (ev->kind == QUIRE_EVENT_TEXT && ev->text_size > 0)
            add_piece(a, &(struct piece){ PIECE_TEXT, ev->text, ev->text_size, .tool_index = 0 });
        return;
    }
    if (ev->kind == QUIRE_EVENT_TEXT)
        s = quire_chat_output_push(a->parser, ev->text, ev->text_size, false, NULL);
    else if (ev->kind == QUIRE_EVENT_DONE)
        s = quire_chat_output_finish(a->parser, NULL);
    if (s != QUIRE_OK)
        a->failed = true;
    take_deltas(a);
}

/* ---- The whole answer ---- */

static void keep_call(struct answer *a, const struct piece *p)
{
    if (p->tool_index >= a->n_calls) {
        struct answer_call *calls = grow(a->calls, a->n_calls, &a->calls_capacity, sizeof *calls);
        if (calls == NULL) {
            a->failed = true;
            return;
        }
        a->calls = calls;
        a->calls[a->n_calls++] = (struct answer_call){ 0 };
    }
    struct answer_call *call = &a->calls[a->n_calls - 1];
    if (p->name != NULL) {
        text_add(&call->id, p->id, p->id_size);
        text_add(&call->name, p->name, p->name_size);
    }
    text_add(&call->arguments, p->text, p->size);
    a->failed = a->failed || call->id.failed || call->name.failed || call->arguments.failed;
}

static void keep(struct answer *a, const struct piece *p)
{
    if (p->kind == PIECE_CALL)
        keep_call(a, p);
    else
        text_add(p->kind == PIECE_TEXT ? &a->text : &a->reasoning, p->text, p->size);
}

static void set_values(struct answer *a, const struct quire_event *ev)
{
    a->values = malloc(ev->n_values * sizeof *a->values);
    if (a->values == NULL) {
        a->failed = true;
        return;
    }
    memcpy(a->values, ev->values, ev->n_values * sizeof *a->values);
    a->n_values = ev->n_values;
}

void answer_update(struct answer *a, const struct quire_event *ev, bool keep_text)
{
    if (ev->usage != NULL)
        a->usage = *ev->usage;
    split(a, ev);
    for (size_t i = 0; i < a->n_pieces; i++) {
        a->has_calls = a->has_calls || a->pieces[i].kind == PIECE_CALL;
        if (keep_text)
            keep(a, &a->pieces[i]);
    }
    if (ev->kind == QUIRE_EVENT_VECTOR)
        set_values(a, ev);
    if (ev->kind == QUIRE_EVENT_DONE) {
        a->reason = ev->reason;
        a->done = true;
    }
    a->failed = a->failed || a->text.failed || a->reasoning.failed;
}

json_t *answer_call_arguments(const struct answer_call *call)
{
    const struct text *t = &call->arguments;
    if (t->size == 0)
        return json_object();
    json_t *arguments = json_loadb(t->data, t->size, JSON_DECODE_ANY, NULL);
    return arguments ? arguments : json_stringn(t->data, t->size);
}

void answer_free(struct answer *a)
{
    for (size_t i = 0; i < a->n_calls; i++) {
        text_free(&a->calls[i].id);
        text_free(&a->calls[i].name);
        text_free(&a->calls[i].arguments);
    }
    free(a->calls);
    free(a->pieces);
    quire_chat_output_destroy(a->parser);
    text_free(&a->text);
    text_free(&a->reasoning);
    json_decref(a->data);
    free(a->values);
}
