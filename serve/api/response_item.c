/* SPDX-License-Identifier: Apache-2.0 */
#include "response_item.h"
#include "json_build.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct response_item *append(struct response_items *items, enum response_item_kind kind,
                                    const char *suffix)
{
    static const char *const prefixes[] = { "msg", "rs", "fc" };
    if (items->list == NULL || items->n == items->capacity) {
        const size_t capacity = items->capacity ? 2 * items->capacity : 4;
        struct response_item *list = realloc(items->list, capacity * sizeof *list);
        if (list == NULL) {
            items->failed = true;
            return NULL;
        }
        items->list = list;
        items->capacity = capacity;
    }
    struct response_item *item = &items->list[items->n];
    *item = (struct response_item){ .kind = kind };
    snprintf(item->id, sizeof item->id, "%s_%s%02zu", prefixes[kind], suffix, items->n);
    items->n++;
    return item;
}

struct response_item *response_items_add_message(struct response_items *items, const char *suffix)
{
    return append(items, ITEM_MESSAGE, suffix);
}

struct response_item *response_items_find(struct response_items *items, const struct piece *piece,
                                          const char *suffix, bool *begun)
{
    static const enum response_item_kind kinds[] = {
        [PIECE_TEXT] = ITEM_MESSAGE, [PIECE_REASONING] = ITEM_REASONING, [PIECE_CALL] = ITEM_CALL
    };
    const enum response_item_kind kind = kinds[piece->kind];
    struct response_item *last = items->n > 0 ? &items->list[items->n - 1] : NULL;
    *begun = last == NULL || last->kind != kind || piece->name != NULL;
    if (!*begun)
        return last;
    struct response_item *item = append(items, kind, suffix);
    if (item != NULL && piece->name != NULL) {
        text_add(&item->call_id, piece->id, piece->id_size);
        text_add(&item->name, piece->name, piece->name_size);
    }
    return item;
}

void response_items_free(struct response_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        struct response_item *item = &items->list[i];
        text_free(&item->text);
        text_free(&item->call_id);
        text_free(&item->name);
        json_decref(item->logprobs);
    }
    free(items->list);
}

static const char *string_of(const struct text *t) { return t->data ? t->data : ""; }

json_t *response_part_json(const struct response_item *item, bool done)
{
    const struct text *t = &item->text;
    json_t *text = json_stringn(done ? string_of(t) : "", done ? t->size : 0);
    if (item->kind == ITEM_REASONING)
        return json_pack("{s:s, s:o}", "type", "reasoning_text", "text", text);
    json_t *logprobs =
        done && item->logprobs != NULL ? json_deep_copy(item->logprobs) : json_array();
    return json_pack("{s:s, s:o, s:[], s:o}", "type", "output_text", "text", text, "annotations",
                     "logprobs", logprobs);
}

json_t *response_item_json(const struct response_item *item, const char *status)
{
    const bool done = strcmp(status, "in_progress") != 0;
    if (item->kind == ITEM_CALL)
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s%}", "type", "function_call", "id", item->id,
                         "status", status, "call_id", string_of(&item->call_id), "name",
                         string_of(&item->name), "arguments", done ? string_of(&item->text) : "",
                         done ? item->text.size : (size_t)0);
    json_t *content = json_array();
    if (done)
        json_build_append(&content, response_part_json(item, true));
    if (item->kind == ITEM_REASONING)
        return json_pack("{s:s, s:s, s:s, s:[], s:o}", "type", "reasoning", "id", item->id,
                         "status", status, "summary", "content", content);
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "type", "message", "id", item->id, "status",
                     status, "role", "assistant", "content", content);
}
