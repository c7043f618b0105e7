/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_sb.c - growing strings that carry, per byte, whether it is the caller's data; cutting and
 * joining. */
#include "jinja/text.h"

void qr_j_sb_init(struct qr_j_sb *sb, struct qr_j *j) { *sb = (struct qr_j_sb){ .j = j }; }

quire_status qr_j_sb_reserve(struct qr_j_sb *sb, size_t extra)
{
    struct qr_j *j = sb->j;
    size_t need;
    if (!qr_add_size(sb->n, extra, &need) || need > j->max_bytes)
        return qr_j_fail(j, QUIRE_E_LIMIT, "chat template: text of more than %zu bytes",
                         j->max_bytes);
    if (need <= sb->cap)
        return QUIRE_OK;
    size_t cap = sb->cap * 2 > need ? sb->cap * 2 : need + need / 4 + 32;
    char *p;
    uint8_t *mark = NULL;
    QR_J_NEW(j, p, cap);
    if (sb->mark)
        QR_J_NEW(j, mark, cap);
    QR_TRY(qr_j_work(j, sb->n));
    if (sb->n)
        memcpy(p, sb->p, sb->n);
    if (sb->mark)
        memcpy(mark, sb->mark, sb->n);
    sb->p = p;
    sb->mark = mark;
    sb->cap = cap;
    return QUIRE_OK;
}

/* Starts keeping one mark per byte, because bytes of the other kind are about to arrive. */
static quire_status split_marks(struct qr_j_sb *sb)
{
    QR_J_NEW(sb->j, sb->mark, sb->cap);
    memset(sb->mark, sb->user, sb->n);
    return QUIRE_OK;
}

quire_status qr_j_sb_add(struct qr_j_sb *sb, const char *p, size_t n, bool user)
{
    if (!n)
        return QUIRE_OK;
    QR_TRY(qr_j_work(sb->j, n));
    QR_TRY(qr_j_sb_reserve(sb, n));
    if (sb->n == 0 && !sb->mark)
        sb->user = user;
    if (!sb->mark && sb->user != user)
        QR_TRY(split_marks(sb));
    memcpy(sb->p + sb->n, p, n);
    if (sb->mark)
        memset(sb->mark + sb->n, user, n);
    sb->n += n;
    return QUIRE_OK;
}

quire_status qr_j_sb_addz(struct qr_j_sb *sb, const char *literal)
{
    return qr_j_sb_add(sb, literal, strlen(literal), false);
}

/* Copies runs of equally marked bytes, so the usual string takes one step. */
quire_status qr_j_sb_part(struct qr_j_sb *sb, const struct qr_j_str *s, size_t off, size_t n)
{
    if (!s->mark)
        return qr_j_sb_add(sb, s->p + off, n, s->user);
    for (size_t i = off, end = off + n; i < end;) {
        size_t run = i;
        while (run < end && s->mark[run] == s->mark[i])
            run++;
        QR_TRY(qr_j_sb_add(sb, s->p + i, run - i, s->mark[i]));
        i = run;
    }
    return QUIRE_OK;
}

quire_status qr_j_sb_str(struct qr_j_sb *sb, const struct qr_j_str *s)
{
    return qr_j_sb_part(sb, s, 0, s->n);
}

quire_status qr_j_sb_char(struct qr_j_sb *sb, uint32_t cp, bool user)
{
    char buf[4];
    return qr_j_sb_add(sb, buf, qr_j_encode(cp, buf), user);
}

quire_status qr_j_sb_pad(struct qr_j_sb *sb, uint32_t cp, int64_t count, bool user)
{
    char buf[4];
    const size_t len = qr_j_encode(cp, buf);
    size_t total;
    if (count <= 0)
        return QUIRE_OK;
    if (!qr_mul_size((size_t)count, len, &total))
        total = SIZE_MAX;
    QR_TRY(qr_j_sb_reserve(sb, total));
    for (int64_t i = 0; i < count; i++)
        QR_TRY(qr_j_sb_add(sb, buf, len, user));
    return QUIRE_OK;
}

quire_status qr_j_sb_int(struct qr_j_sb *sb, int64_t i)
{
    char buf[24], *end = buf + sizeof buf, *p = end;
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (i < 0)
        *--p = '-';
    return qr_j_sb_add(sb, p, (size_t)(end - p), false);
}

/* The string borrows the buffer; that is safe because buffers only ever grow at their end. */
quire_status qr_j_sb_done(struct qr_j_sb *sb, struct qr_j_value *out)
{
    struct qr_j_str *s;
    QR_J_NEW(sb->j, s, 1);
    s->p = sb->n ? sb->p : "";
    s->n = sb->n;
    s->mark = sb->mark;
    s->user = sb->user;
    *out = qr_j_str_value(s);
    return QUIRE_OK;
}

/* No bytes are copied: strings never change. */
quire_status qr_j_cut(struct qr_j *j, const struct qr_j_str *s, size_t off, size_t n,
                      struct qr_j_value *out)
{
    if (off == 0 && n == s->n) {
        *out = qr_j_str_value(s);
        return QUIRE_OK;
    }
    struct qr_j_str *cut;
    QR_J_NEW(j, cut, 1);
    *cut = (struct qr_j_str){ .p = s->p + off, .n = n, .user = s->user, .safe = s->safe };
    cut->mark = s->mark ? s->mark + off : NULL;
    *out = qr_j_str_value(cut);
    return QUIRE_OK;
}

quire_status qr_j_concat(struct qr_j *j, const struct qr_j_str *a, const struct qr_j_str *b,
                         struct qr_j_value *out)
{
    if (a->safe != b->safe) { /* escaped text stays escaped, as markupsafe does it */
        struct qr_j_value escaped;
        QR_TRY(qr_j_html_escape(j, a->safe ? b : a, &escaped));
        *(a->safe ? &b : &a) = escaped.s;
    }
    struct qr_j_sb *sb = a->grown;
    if (!sb || sb->p != a->p || sb->n != a->n) {
        QR_J_NEW(j, sb, 1);
        qr_j_sb_init(sb, j);
        QR_TRY(qr_j_sb_reserve(sb, a->n)); /* fails early, before b->n is added */
        QR_TRY(qr_j_sb_str(sb, a));
    }
    QR_TRY(qr_j_sb_str(sb, b));
    struct qr_j_str *s;
    QR_TRY(qr_j_sb_done(sb, out));
    QR_J_NEW(j, s, 1);
    *s = *out->s;
    s->grown = sb;
    s->safe = a->safe;
    *out = qr_j_str_value(s);
    return QUIRE_OK;
}

quire_status qr_j_html_escape(struct qr_j *j, const struct qr_j_str *s, struct qr_j_value *out)
{
    struct qr_j_sb sb;
    struct qr_j_str *safe;
    if (s->safe) {
        *out = qr_j_str_value(s);
        return QUIRE_OK;
    }
    qr_j_sb_init(&sb, j);
    size_t from = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char c = s->p[i];
        const char *e = c == '&'    ? "&amp;"
                        : c == '<'  ? "&lt;"
                        : c == '>'  ? "&gt;"
                        : c == '"'  ? "&#34;"
                        : c == '\'' ? "&#39;"
                                    : NULL;
        if (!e)
            continue;
        QR_TRY(qr_j_sb_part(&sb, s, from, i - from));
        QR_TRY(qr_j_sb_add(&sb, e, strlen(e), qr_j_byte_user(s, i)));
        from = i + 1;
    }
    QR_TRY(qr_j_sb_part(&sb, s, from, s->n - from));
    QR_TRY(qr_j_sb_done(&sb, out));
    QR_J_NEW(j, safe, 1);
    *safe = *out->s;
    safe->safe = true;
    *out = qr_j_str_value(safe);
    return QUIRE_OK;
}

size_t qr_j_find(const struct qr_j_str *hay, size_t from, const struct qr_j_str *needle)
{
    if (from > hay->n || needle->n > hay->n - from)
        return SIZE_MAX;
    if (!needle->n)
        return from;
    const char *p = memmem(hay->p + from, hay->n - from, needle->p, needle->n);
    return p ? (size_t)(p - hay->p) : SIZE_MAX;
}

quire_status qr_j_rfind(struct qr_j *j, const struct qr_j_str *hay, size_t end,
                        const struct qr_j_str *needle, size_t *out)
{
    size_t left = end < hay->n ? end : hay->n;
    *out = SIZE_MAX;
    if (needle->n > left)
        return QUIRE_OK;
    left -= needle->n; /* last possible start */
    if (!needle->n) {
        *out = left;
        return QUIRE_OK;
    }
    for (const char *p; (p = memrchr(hay->p, needle->p[0], left + 1)); left--) {
        left = (size_t)(p - hay->p);
        /* not linear for periodic text, so the budget must see it */
        QR_TRY(qr_j_step(j, 1 + (needle->n >> 8)));
        if (memcmp(p, needle->p, needle->n) == 0) {
            *out = left;
            return QUIRE_OK;
        }
        if (left == 0)
            break;
    }
    return QUIRE_OK;
}
