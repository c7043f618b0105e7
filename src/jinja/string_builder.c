/* SPDX-License-Identifier: Apache-2.0 */
/* string_builder.c - growing strings with per-byte taint. */
#include "jinja/string_builder.h"
#include "base/checked.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

void qr_jinja_sb_init(struct qr_jinja_sb *sb, struct qr_jinja *j)
{
    *sb = (struct qr_jinja_sb){ .j = j };
}

quire_status qr_jinja_sb_reserve(struct qr_jinja_sb *sb, size_t extra)
{
    struct qr_jinja *j = sb->j;
    size_t need;
    if (!qr_add_size(sb->n, extra, &need) || need > j->max_bytes)
        return qr_jinja_fail(j, QUIRE_E_LIMIT, "template: string or output exceeds %zu bytes",
                             j->max_bytes);
    if (need <= sb->cap)
        return QUIRE_OK;
    size_t cap = sb->cap * 2 > need ? sb->cap * 2 : need + need / 4 + 32;
    char *p;
    uint8_t *taint = NULL;
    QR_JINJA_NEW(j, p, cap);
    if (sb->taint)
        QR_JINJA_NEW(j, taint, cap);
    QR_TRY(qr_jinja_charge_bytes(j, sb->n));
    if (sb->n)
        memcpy(p, sb->p, sb->n);
    if (sb->taint)
        memcpy(taint, sb->taint, sb->n);
    sb->p = p;
    sb->taint = taint;
    sb->cap = cap;
    return QUIRE_OK;
}

/* Switches to per-byte taint, when bytes of the other taint are appended. */
static quire_status split_taint(struct qr_jinja_sb *sb)
{
    QR_JINJA_NEW(sb->j, sb->taint, sb->cap);
    memset(sb->taint, sb->tainted, sb->n);
    return QUIRE_OK;
}

quire_status qr_jinja_sb_append(struct qr_jinja_sb *sb, const char *p, size_t n, bool tainted)
{
    if (!n)
        return QUIRE_OK;
    QR_TRY(qr_jinja_charge_bytes(sb->j, n));
    QR_TRY(qr_jinja_sb_reserve(sb, n));
    if (sb->n == 0)
        sb->tainted = tainted;
    if (!sb->taint && sb->tainted != tainted)
        QR_TRY(split_taint(sb));
    memcpy(sb->p + sb->n, p, n);
    if (sb->taint)
        memset(sb->taint + sb->n, tainted, n);
    sb->n += n;
    return QUIRE_OK;
}

quire_status qr_jinja_sb_append_literal(struct qr_jinja_sb *sb, const char *literal)
{
    return qr_jinja_sb_append(sb, literal, strlen(literal), false);
}

/* Appends runs of equal taint. */
quire_status qr_jinja_sb_append_range(struct qr_jinja_sb *sb, const struct qr_jinja_str *s,
                                      size_t off, size_t n)
{
    if (!s->taint)
        return qr_jinja_sb_append(sb, s->p + off, n, s->tainted);
    for (size_t i = off, end = off + n; i < end;) {
        size_t run = i;
        while (run < end && s->taint[run] == s->taint[i])
            run++;
        QR_TRY(qr_jinja_sb_append(sb, s->p + i, run - i, s->taint[i]));
        i = run;
    }
    return QUIRE_OK;
}

quire_status qr_jinja_sb_append_str(struct qr_jinja_sb *sb, const struct qr_jinja_str *s)
{
    return qr_jinja_sb_append_range(sb, s, 0, s->n);
}

quire_status qr_jinja_sb_append_char(struct qr_jinja_sb *sb, uint32_t cp, bool tainted)
{
    char buf[4];
    return qr_jinja_sb_append(sb, buf, qr_jinja_utf8_encode(cp, buf), tainted);
}

quire_status qr_jinja_sb_append_fill(struct qr_jinja_sb *sb, uint32_t cp, int64_t count,
                                     bool tainted)
{
    char buf[4];
    const size_t len = qr_jinja_utf8_encode(cp, buf);
    size_t total;
    if (count <= 0)
        return QUIRE_OK;
    if (!qr_mul_size((size_t)count, len, &total))
        total = SIZE_MAX;
    QR_TRY(qr_jinja_sb_reserve(sb, total));
    for (int64_t i = 0; i < count; i++)
        QR_TRY(qr_jinja_sb_append(sb, buf, len, tainted));
    return QUIRE_OK;
}

quire_status qr_jinja_sb_append_int(struct qr_jinja_sb *sb, int64_t i)
{
    char buf[24], *end = buf + sizeof buf, *p = end;
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (i < 0)
        *--p = '-';
    return qr_jinja_sb_append(sb, p, (size_t)(end - p), false);
}

/* The string shares the buffer. This is safe because contents only grow at the end. */
quire_status qr_jinja_sb_finish(struct qr_jinja_sb *sb, struct qr_jinja_value *out)
{
    struct qr_jinja_str *s;
    QR_JINJA_NEW(sb->j, s, 1);
    s->p = sb->n ? sb->p : "";
    s->n = sb->n;
    s->taint = sb->taint;
    s->tainted = sb->tainted;
    *out = qr_jinja_str_value(s);
    return QUIRE_OK;
}
