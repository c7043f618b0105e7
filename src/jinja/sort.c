/* SPDX-License-Identifier: Apache-2.0 */
/* sort.c - stable merge sort by keys whose comparison may fail. */
#include "jinja/sort.h"
#include "base/error.h"
#include "jinja/compare.h"
#include "jinja/interp.h"
#include <string.h>

struct sorter {
    struct qr_jinja *j;
    struct qr_jinja_value *items, *keys, *item_space, *key_space;
    bool reverse;
};

/* Whether element b must precede element a, where a < b. */
static quire_status precedes(struct sorter *s, size_t b, size_t a, bool *out)
{
    return s->reverse ? qr_jinja_order(s->j, QR_JINJA_LT, s->keys[a], s->keys[b], out)
                      : qr_jinja_order(s->j, QR_JINJA_LT, s->keys[b], s->keys[a], out);
}

static quire_status merge(struct sorter *s, size_t from, size_t mid, size_t to)
{
    size_t a = from, b = mid, n = 0;
    while (a < mid || b < to) {
        bool take_right = a == mid;
        if (a < mid && b < to)
            QR_TRY(precedes(s, b, a, &take_right));
        const size_t at = take_right ? b++ : a++;
        s->item_space[n] = s->items[at];
        s->key_space[n++] = s->keys[at];
    }
    memcpy(s->items + from, s->item_space, n * sizeof *s->items);
    memcpy(s->keys + from, s->key_space, n * sizeof *s->keys);
    return QUIRE_OK;
}

quire_status qr_jinja_sort(struct qr_jinja *j, struct qr_jinja_value *items,
                           struct qr_jinja_value *keys, size_t n, bool reverse)
{
    struct sorter s = { .j = j, .items = items, .keys = keys, .reverse = reverse };
    QR_JINJA_NEW(j, s.item_space, n);
    QR_JINJA_NEW(j, s.key_space, n);
    for (size_t width = 1; width < n; width *= 2)
        for (size_t from = 0; from + width < n; from += 2 * width)
            QR_TRY(merge(&s, from, from + width, from + 2 * width < n ? from + 2 * width : n));
    return QUIRE_OK;
}
