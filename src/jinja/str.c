/* SPDX-License-Identifier: Apache-2.0 */
/* str.c - substrings, concatenation, search, strip, replace, lines, padding, HTML escapes. */
#include "jinja/str.h"
#include "base/checked.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

bool qr_jinja_str_is(const struct qr_jinja_str *s, const char *literal)
{
    return s->n == strlen(literal) && memcmp(s->p, literal, s->n) == 0;
}

quire_status qr_jinja_substr(struct qr_jinja *j, const struct qr_jinja_str *s, size_t off, size_t n,
                             struct qr_jinja_value *out)
{
    if (off == 0 && n == s->n) {
        *out = qr_jinja_str_value(s);
        return QUIRE_OK;
    }
    struct qr_jinja_str *cut;
    QR_JINJA_NEW(j, cut, 1);
    *cut = (struct qr_jinja_str){ .p = s->p + off, .n = n, .tainted = s->tainted, .safe = s->safe };
    cut->taint = s->taint ? s->taint + off : NULL;
    *out = qr_jinja_str_value(cut);
    return QUIRE_OK;
}

quire_status qr_jinja_str_concat(struct qr_jinja *j, const struct qr_jinja_str *a,
                                 const struct qr_jinja_str *b, struct qr_jinja_value *out)
{
    if (a->safe != b->safe) { /* as markupsafe: the result is safe, so escape the other operand */
        struct qr_jinja_value escaped;
        QR_TRY(qr_jinja_html_escape(j, a->safe ? b : a, &escaped));
        *(a->safe ? &b : &a) = escaped.s;
    }
    struct qr_jinja_sb *sb = a->builder;
    if (!sb || sb->p != a->p || sb->n != a->n) {
        QR_JINJA_NEW(j, sb, 1);
        qr_jinja_sb_init(sb, j);
        QR_TRY(qr_jinja_sb_reserve(sb, a->n)); /* check the limit before copying */
        QR_TRY(qr_jinja_sb_append_str(sb, a));
    }
    QR_TRY(qr_jinja_sb_append_str(sb, b));
    struct qr_jinja_str *s;
    QR_TRY(qr_jinja_sb_finish(sb, out));
    QR_JINJA_NEW(j, s, 1);
    *s = *out->s;
    s->builder = sb;
    s->safe = a->safe;
    *out = qr_jinja_str_value(s);
    return QUIRE_OK;
}

quire_status qr_jinja_html_escape(struct qr_jinja *j, const struct qr_jinja_str *s,
                                  struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    struct qr_jinja_str *safe;
    if (s->safe) {
        *out = qr_jinja_str_value(s);
        return QUIRE_OK;
    }
    qr_jinja_sb_init(&sb, j);
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
        QR_TRY(qr_jinja_sb_append_range(&sb, s, from, i - from));
        QR_TRY(qr_jinja_sb_append(&sb, e, strlen(e), qr_jinja_byte_tainted(s, i)));
        from = i + 1;
    }
    QR_TRY(qr_jinja_sb_append_range(&sb, s, from, s->n - from));
    QR_TRY(qr_jinja_sb_finish(&sb, out));
    QR_JINJA_NEW(j, safe, 1);
    *safe = *out->s;
    safe->safe = true;
    *out = qr_jinja_str_value(safe);
    return QUIRE_OK;
}

size_t qr_jinja_str_find(const struct qr_jinja_str *hay, size_t from,
                         const struct qr_jinja_str *needle)
{
    if (needle->n > hay->n - from)
        return SIZE_MAX;
    if (!needle->n)
        return from;
    const char *p = memmem(hay->p + from, hay->n - from, needle->p, needle->n);
    return p ? (size_t)(p - hay->p) : SIZE_MAX;
}

quire_status qr_jinja_str_rfind(struct qr_jinja *j, const struct qr_jinja_str *hay, size_t end,
                                const struct qr_jinja_str *needle, size_t *out)
{
    size_t left = end < hay->n ? end : hay->n;
    *out = SIZE_MAX;
    if (needle->n > left)
        return QUIRE_OK;
    left -= needle->n; /* last possible match */
    if (!needle->n) {
        *out = left;
        return QUIRE_OK;
    }
    for (const char *p; (p = memrchr(hay->p, needle->p[0], left + 1)); left--) {
        left = (size_t)(p - hay->p);
        /* Quadratic for periodic strings, so each candidate is charged. */
        QR_TRY(qr_jinja_charge(j, 1 + (needle->n >> 8)));
        if (memcmp(p, needle->p, needle->n) == 0) {
            *out = left;
            return QUIRE_OK;
        }
        if (left == 0)
            break;
    }
    return QUIRE_OK;
}

/* Whether the character at p is in chars (NULL: is white space). */
static bool in_strip_set(const char *p, const struct qr_jinja_str *chars)
{
    if (!chars)
        return qr_jinja_is_space(qr_jinja_utf8_decode(p));
    return memmem(chars->p, chars->n, p, qr_jinja_utf8_len(*p)) != NULL;
}

/* Charges the lookup of one character in chars. Accumulates costs in *cost, because small ones
 * would round down to zero steps. */
static quire_status charge_lookup(struct qr_jinja *j, const struct qr_jinja_str *chars,
                                  size_t *cost)
{
    *cost += 4 + (chars ? chars->n : 0);
    if (*cost < 4096)
        return QUIRE_OK;
    const size_t due = *cost;
    *cost = 0;
    return qr_jinja_charge_bytes(j, due);
}

quire_status qr_jinja_str_strip(struct qr_jinja *j, const struct qr_jinja_str *s,
                                struct qr_jinja_value chars, int sides, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *set = NULL;
    size_t from = 0, to = s->n, cost = 0;
    if (chars.type != QR_JINJA_MISSING && chars.type != QR_JINJA_NONE)
        QR_TRY(qr_jinja_expect_str(j, chars, &set));
    while ((sides & QR_JINJA_STRIP_LEFT) && from < to && in_strip_set(s->p + from, set)) {
        QR_TRY(charge_lookup(j, set, &cost));
        from += qr_jinja_utf8_len(s->p[from]);
    }
    while ((sides & QR_JINJA_STRIP_RIGHT) && to > from) {
        size_t last = to - 1;
        while (qr_jinja_utf8_is_cont(s->p[last]))
            last--;
        if (!in_strip_set(s->p + last, set))
            break;
        QR_TRY(charge_lookup(j, set, &cost));
        to = last;
    }
    return qr_jinja_substr(j, s, from, to - from, out);
}

quire_status qr_jinja_str_replace(struct qr_jinja *j, const struct qr_jinja_str *s,
                                  const struct qr_jinja_str *old, const struct qr_jinja_str *new_,
                                  int64_t count, struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    size_t from = 0; /* start of the bytes not copied yet */
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_charge_bytes(j, s->n));
    for (size_t at = 0; count != 0; count--) {
        at = qr_jinja_str_find(s, at, old);
        if (at == SIZE_MAX)
            break;
        QR_TRY(qr_jinja_charge(j, 1));
        QR_TRY(qr_jinja_sb_append_range(&sb, s, from, at - from));
        QR_TRY(qr_jinja_sb_append_str(&sb, new_));
        from = at + old->n;
        at = from;
        if (!old->n) { /* an empty string matches before each character and at the end */
            if (at == s->n)
                break;
            at += qr_jinja_utf8_len(s->p[at]);
        }
    }
    if (from == 0 && sb.n == 0) {
        *out = qr_jinja_str_value(s);
        return QUIRE_OK;
    }
    QR_TRY(qr_jinja_sb_append_range(&sb, s, from, s->n - from));
    return qr_jinja_sb_finish(&sb, out);
}

/* Length in bytes of the line break at off, 0 if there is none. */
static size_t break_length(const struct qr_jinja_str *s, size_t off)
{
    if (!qr_jinja_is_line_break(qr_jinja_utf8_decode(s->p + off)))
        return 0;
    if (s->p[off] == '\r' && off + 1 < s->n && s->p[off + 1] == '\n')
        return 2;
    return qr_jinja_utf8_len(s->p[off]);
}

/* Length of the line at start without its line break; *brk: length of the break, 0 at the end of
 * s. */
static size_t line_length(const struct qr_jinja_str *s, size_t start, size_t *brk)
{
    size_t off = start;
    *brk = 0;
    while (off < s->n && !(*brk = break_length(s, off)))
        off += qr_jinja_utf8_len(s->p[off]);
    return off - start;
}

quire_status qr_jinja_str_splitlines(struct qr_jinja *j, const struct qr_jinja_str *s,
                                     bool keep_ends, struct qr_jinja_list **out)
{
    size_t n = 0, len, brk;
    QR_TRY(qr_jinja_charge_bytes(j, s->n));
    for (size_t start = 0; start < s->n; start += len + brk, n++)
        len = line_length(s, start, &brk);
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_PLAIN, n, out));
    n = 0;
    for (size_t start = 0; start < s->n; start += len + brk, n++) {
        len = line_length(s, start, &brk);
        QR_TRY(qr_jinja_substr(j, s, start, len + (keep_ends ? brk : 0), &(*out)->items[n]));
    }
    return QUIRE_OK;
}

quire_status qr_jinja_str_pad(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t width,
                              const struct qr_jinja_str *fill, enum qr_jinja_align align,
                              struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    int64_t n;
    QR_TRY(qr_jinja_length(j, qr_jinja_str_value(s), &n));
    *out = qr_jinja_str_value(s);
    if (width <= n)
        return QUIRE_OK;
    const int64_t pad = width - n;
    int64_t left = align == QR_JINJA_ALIGN_RIGHT ? pad : 0;
    if (align == QR_JINJA_ALIGN_CENTER)
        left = pad / 2 + (pad & width & 1); /* the odd blank goes where CPython puts it */
    const uint32_t cp = fill ? qr_jinja_utf8_decode(fill->p) : ' ';
    const bool tainted = fill && qr_jinja_byte_tainted(fill, 0);
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_sb_append_fill(&sb, cp, left, tainted));
    QR_TRY(qr_jinja_sb_append_str(&sb, s));
    QR_TRY(qr_jinja_sb_append_fill(&sb, cp, pad - left, tainted));
    return qr_jinja_sb_finish(&sb, out);
}

quire_status qr_jinja_str_repeat(struct qr_jinja *j, const struct qr_jinja_str *s, int64_t times,
                                 struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    size_t total = 0;
    qr_jinja_sb_init(&sb, j);
    if (times > 0 && !qr_mul_size(s->n, (size_t)times, &total))
        total = SIZE_MAX;
    QR_TRY(qr_jinja_sb_reserve(&sb, total)); /* check the limit before the loop */
    for (int64_t i = 0; total && i < times; i++) {
        QR_TRY(qr_jinja_charge(j, i % 64 == 0));
        QR_TRY(qr_jinja_sb_append_str(&sb, s));
    }
    return qr_jinja_sb_finish(&sb, out);
}
