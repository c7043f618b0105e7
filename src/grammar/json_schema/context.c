/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - failures, memory and limits of a compilation. */
#include "grammar/json_schema/context.h"
#include "base/clock.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 240 };

bool qr_schema_fail(struct qr_schema *s, quire_status status, const struct qr_json *at,
                    const char *keyword, const char *fmt, ...)
{
    char text[MESSAGE_BYTES];
    va_list args;
    if (!qr_schema_ok(s))
        return false;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    char *copy = n < 0 ? NULL : qr_arena_strndup(&s->arena, text, strlen(text));
    s->failure =
        (struct qr_schema_failure){ status, at, keyword, copy ? copy : "no memory", false };
    return false;
}

void *qr_schema_alloc(struct qr_schema *s, size_t n, size_t elem_size)
{
    void *p = qr_arena_alloc(&s->arena, n ? n : 1, elem_size);
    if (!p)
        qr_schema_fail(s, QUIRE_E_NOMEM, NULL, NULL, "no memory");
    return p;
}

bool qr_schema_check(struct qr_schema *s)
{
    quire_status status = qr_regex_set_status(s->regexes);
    if (!qr_schema_ok(s))
        return false;
    if (status == QUIRE_OK)
        status = qr_builder_status(s->f->builder);
    if (status != QUIRE_OK)
        return qr_schema_fail(s, status, NULL, NULL,
                              status == QUIRE_E_LIMIT ? "the expressions are nested too deeply"
                                                      : "no memory");
    if (qr_clock_thread() > s->f->deadline)
        return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "compilation takes too long");
    return true;
}

bool qr_schema_recover(struct qr_schema *s)
{
    if (s->failure.status == QUIRE_E_UNSUPPORTED || s->failure.status == QUIRE_E_LIMIT)
        s->failure = (struct qr_schema_failure){ 0 };
    return qr_schema_check(s);
}
