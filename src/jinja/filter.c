/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - looks up filters. */
#include "jinja/filter.h"
#include "jinja/builtin.h"
#include "jinja/filter_number.h"
#include "jinja/filter_select.h"
#include "jinja/filter_sequence.h"
#include "jinja/filter_string.h"

const struct qr_jinja_builtin *qr_jinja_filter_find(const struct qr_jinja_str *name)
{
    static const struct qr_jinja_builtin *(*const parts[])(
        size_t *) = { qr_jinja_filters_string, qr_jinja_filters_sequence, qr_jinja_filters_select,
                      qr_jinja_filters_number };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n;
        const struct qr_jinja_builtin *table = parts[i](&n);
        const struct qr_jinja_builtin *found = qr_jinja_builtin_find(table, n, name);
        if (found)
            return found;
    }
    return NULL;
}
