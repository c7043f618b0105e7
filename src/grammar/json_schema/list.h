/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - growing arrays in the arena of a compilation. */
#ifndef QR_GRAMMAR_JSON_SCHEMA_LIST_H
#define QR_GRAMMAR_JSON_SCHEMA_LIST_H
#include "base/error.h"
#include "grammar/json_schema/context.h"
#include <string.h>

/* Zero = empty. The items of a list that grows are copied; the old ones stay in the arena. */
struct qr_list {
    void *items;
    uint32_t n, capacity;
};

/* Appends an item of `size` bytes. False and a failure without memory. */
static inline bool qr_list_push(struct qr_schema *s, struct qr_list *list, const void *item,
                                size_t size)
{
    if (list->n == list->capacity) {
        const uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
        void *items = qr_schema_alloc(s, capacity, size);
        if (!items)
            return false;
        QR_INVARIANT(list->n == 0 || list->items);
        if (list->n)
            memcpy(items, list->items, list->n * size);
        list->items = items;
        list->capacity = capacity;
    }
    QR_INVARIANT(list->items);
    memcpy((char *)list->items + list->n++ * size, item, size);
    return true;
}

#endif
