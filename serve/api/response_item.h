/* SPDX-License-Identifier: Apache-2.0 */
/* response_item.h - items of the output of a response: messages, reasoning, calls of functions. */
#ifndef QUIRE_SERVE_RESPONSE_ITEM_H
#define QUIRE_SERVE_RESPONSE_ITEM_H
#include "answer.h"
#include <stdbool.h>
#include <stddef.h>

enum response_item_kind { ITEM_MESSAGE, ITEM_REASONING, ITEM_CALL };

struct response_item {
    enum response_item_kind kind;
    char id[64];
    struct text text;          /* of a message or of reasoning; arguments of a call */
    struct text call_id, name; /* of a call */
    json_t *logprobs;          /* of a message: [entries], or NULL */
};

struct response_items {
    struct response_item *list; /* [n] in the order in which they began */
    size_t n, capacity;
    bool failed; /* out of memory */
};

/* The item that a piece belongs to, a new one (*begun) if it does not
 * continue the last one. suffix: of the id of the response. NULL: items->failed. */
struct response_item *response_items_find(struct response_items *items, const struct piece *piece,
                                          const char *suffix, bool *begun);
/* Appends an empty message. NULL: items->failed. */
struct response_item *response_items_add_message(struct response_items *items, const char *suffix);
void response_items_free(struct response_items *items);

/* The part of a message or of reasoning with its text; `done`: as far as it has come, else
 * empty. */
json_t *response_part_json(const struct response_item *item, bool done);

/* The item. status: "in_progress" without contents, "completed" or "incomplete". */
json_t *response_item_json(const struct response_item *item, const char *status);

#endif
