/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include <stdlib.h>
#include <string.h>

/* The call of an index, which is at most the number of calls so far. NULL: out of memory. */
static struct answer_call *find_call(struct answer *a, uint32_t index)
{
    if (index < a->n_calls)
        return &a->calls[index];
    if (a->n_calls == a->capacity) {
        const size_t capacity = a->capacity ? 2 * a->capacity : 4;
        struct answer_call *calls = realloc(a->calls, capacity * sizeof *calls);
        if (calls == NULL)
            return NULL;
        a->calls = calls;
        a->capacity = capacity;
    }
    a->calls[a->n_calls] = (struct answer_call){ 0 };
    return &a->calls[a->n_calls++];
}

static void add_call(struct answer *a, const struct quire_event *ev)
{
    struct answer_call *call = find_call(a, ev->tool_index);
    if (call == NULL) {
        a->failed = true;
        return;
    }
    if (ev->tool_name != NULL) {
        text_add_string(&call->id, ev->tool_id);
        text_add_string(&call->name, ev->tool_name);
    }
    text_add(&call->arguments, ev->text, ev->text_size);
    a->failed = a->failed || call->id.failed || call->name.failed || call->arguments.failed;
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
    if (ev->kind == QUIRE_EVENT_TEXT && keep_text)
        text_add(&a->text, ev->text, ev->text_size);
    else if (ev->kind == QUIRE_EVENT_REASONING && keep_text)
        text_add(&a->reasoning, ev->text, ev->text_size);
    else if (ev->kind == QUIRE_EVENT_TOOL_CALL && keep_text)
        add_call(a, ev);
    else if (ev->kind == QUIRE_EVENT_VECTOR)
        set_values(a, ev);
    if (ev->kind == QUIRE_EVENT_DONE) {
        a->reason = ev->reason;
        a->done = true;
    }
    a->failed = a->failed || a->text.failed || a->reasoning.failed;
}

void answer_free(struct answer *a)
{
    for (size_t i = 0; i < a->n_calls; i++) {
        text_free(&a->calls[i].id);
        text_free(&a->calls[i].name);
        text_free(&a->calls[i].arguments);
    }
    free(a->calls);
    text_free(&a->text);
    text_free(&a->reasoning);
    json_decref(a->data);
    free(a->values);
}

json_t *answer_call_arguments(const struct answer_call *call)
{
    const struct text *t = &call->arguments;
    if (t->size == 0)
        return json_object();
    json_t *arguments = json_loadb(t->data, t->size, JSON_DECODE_ANY, NULL);
    return arguments ? arguments : json_stringn(t->data, t->size);
}
