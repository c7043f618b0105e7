/* SPDX-License-Identifier: Apache-2.0 */
/* interp.c - failures, memory and budgets of the interpreter. */
#include "jinja/interp.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef qr_jinja_fail /* macro of QR_STATIC_ANALYSIS */

/* Line of j->pos. Counted on failure only. */
static int32_t line_of(const struct qr_jinja *j)
{
    int32_t line = 1;
    for (size_t i = 0; i < j->pos && i < j->source_len; i++)
        line += j->source[i] == '\n';
    return line;
}

/* Removes an incomplete UTF-8 character from the end of a message that filled its buffer of more
 * than one byte. */
static void trim_partial_char(char *msg, size_t size)
{
    size_t n = strlen(msg);
    if (n + 1 < size)
        return;
    size_t start = n - 1;
    /* GCOVR_EXCL_BR_LINE: messages are valid UTF-8, so they begin with a lead byte. */
    while (start > 0 && ((unsigned char)msg[start] & 0xC0) == 0x80)
        start--;
    const unsigned char lead = (unsigned char)msg[start];
    const size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (n - start < want)
        msg[start] = 0;
}

quire_status qr_jinja_fail(struct qr_jinja *j, quire_status code, const char *fmt, ...)
{
    char msg[sizeof j->err->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    trim_partial_char(msg, sizeof msg);
    j->status = code;
    qr_fail_at(j->err, code, j->pos, "%s", msg);
    if (qr_error_writable(j->err))
        j->err->detail = line_of(j);
    return code;
}

void *qr_jinja_alloc(struct qr_jinja *j, size_t n, size_t size)
{
    void *p = qr_arena_alloc(&j->arena, n, size);
    if (p)
        return p;
    size_t bytes, total;
    /* The arena allocates in chunks of up to 1 MiB, so a small request can fail that much below the
     * limit. */
    const size_t chunk = (size_t)1 << 20;
    const size_t limit = j->arena.limit_bytes;
    if (!qr_mul_size(n, size, &bytes) || !qr_add_size(bytes, chunk, &bytes) ||
        !qr_add_size(bytes, j->arena.total_bytes, &total) || total > limit)
        qr_jinja_fail(j, QUIRE_E_LIMIT, "template: memory exceeds %zu bytes", limit);
    else
        qr_jinja_fail(j, QUIRE_E_NOMEM, "template: out of memory");
    return NULL;
}

quire_status qr_jinja_out_of_steps(struct qr_jinja *j)
{
    j->steps_left = 0;
    return qr_jinja_fail(j, QUIRE_E_LIMIT, "template: step budget exhausted");
}

quire_status qr_jinja_too_deep(struct qr_jinja *j)
{
    return qr_jinja_fail(j, QUIRE_E_LIMIT, "template: nested too deeply");
}
