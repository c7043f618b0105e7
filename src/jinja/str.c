/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_str.c - what filters and methods of strings share: strip, replace, lines, padding. */
#include "jinja/call.h"

/* Whether the character at p belongs to chars (NULL: is white space). */
static bool strips(const char *p, const struct qr_j_str *chars)
{
    if (!chars)
        return qr_j_is_space(qr_j_decode(p));
    return memmem(chars->p, chars->n, p, qr_j_char_len(*p)) != NULL;
}

/* Charges for looking one character up; sums small costs so that short sets count as well. */
static quire_status charge(struct qr_j *j, const struct qr_j_str *chars, size_t *cost)
{
    *cost += 4 + (chars ? chars->n : 0);
    if (*cost < 4096)
        return QUIRE_OK;
    const size_t due = *cost;
    *cost = 0;
    return qr_j_work(j, due);
}

quire_status qr_j_strip(struct qr_j *j, const struct qr_j_str *s, struct qr_j_value chars,
                        int sides, struct qr_j_value *out)
{
    const struct qr_j_str *set = NULL;
    size_t from = 0, to = s->n, cost = 0;
    if (chars.type != QR_J_MISSING && chars.type != QR_J_NONE)
        QR_TRY(qr_j_want_str(j, chars, &set));
    while ((sides & QR_J_STRIP_LEFT) && from < to && strips(s->p + from, set)) {
        QR_TRY(charge(j, set, &cost));
        from += qr_j_char_len(s->p[from]);
    }
    while ((sides & QR_J_STRIP_RIGHT) && to > from) {
        size_t last = to - 1;
        while (qr_j_is_cont(s->p[last]))
            last--;
        if (!strips(s->p + last, set))
            break;
        QR_TRY(charge(j, set, &cost));
        to = last;
    }
    return qr_j_cut(j, s, from, to - from, out);
}

quire_status qr_j_replace(struct qr_j *j, const struct qr_j_str *s, const struct qr_j_str *old,
                          const struct qr_j_str *new_, int64_t count, struct qr_j_value *out)
{
    struct qr_j_sb sb;
    size_t from = 0; /* start of what is not copied yet */
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_work(j, s->n));
    for (size_t at = 0; count != 0; count--) {
        at = qr_j_find(s, at, old);
        if (at == SIZE_MAX)
            break;
        QR_TRY(qr_j_step(j, 1));
        QR_TRY(qr_j_sb_part(&sb, s, from, at - from));
        QR_TRY(qr_j_sb_str(&sb, new_));
        from = at + old->n;
        at = from;
        if (!old->n) { /* an empty string is found before each character and at the end */
            if (at == s->n)
                break;
            at += qr_j_char_len(s->p[at]);
        }
    }
    if (from == 0 && sb.n == 0) {
        *out = qr_j_str_value(s);
        return QUIRE_OK;
    }
    QR_TRY(qr_j_sb_part(&sb, s, from, s->n - from));
    return qr_j_sb_done(&sb, out);
}

/* Length of the line break at off, 0 if there is none. */
static size_t break_length(const struct qr_j_str *s, size_t off)
{
    if (!qr_j_is_line_break(qr_j_decode(s->p + off)))
        return 0;
    if (s->p[off] == '\r' && off + 1 < s->n && s->p[off + 1] == '\n')
        return 2;
    return qr_j_char_len(s->p[off]);
}

/* Cuts s into lines; without `out` it only counts them. */
static quire_status cut_lines(struct qr_j *j, const struct qr_j_str *s, bool keep_ends,
                              struct qr_j_value *out, size_t *n)
{
    size_t start = 0;
    *n = 0;
    for (size_t off = 0; off < s->n;) {
        const size_t len = break_length(s, off);
        if (!len) {
            off += qr_j_char_len(s->p[off]);
            continue;
        }
        if (out)
            QR_TRY(qr_j_cut(j, s, start, off - start + (keep_ends ? len : 0), &out[*n]));
        ++*n;
        off += len;
        start = off;
    }
    if (start == s->n)
        return QUIRE_OK;
    if (out)
        QR_TRY(qr_j_cut(j, s, start, s->n - start, &out[*n]));
    ++*n;
    return QUIRE_OK;
}

quire_status qr_j_split_lines(struct qr_j *j, const struct qr_j_str *s, bool keep_ends,
                              struct qr_j_list **out)
{
    size_t n;
    QR_TRY(qr_j_work(j, s->n));
    QR_TRY(cut_lines(j, s, keep_ends, NULL, &n));
    QR_TRY(qr_j_list_new(j, QR_J_PLAIN, n, out));
    return cut_lines(j, s, keep_ends, (*out)->items, &n);
}

quire_status qr_j_pad(struct qr_j *j, const struct qr_j_str *s, int64_t width,
                      const struct qr_j_str *fill, enum qr_j_align align, struct qr_j_value *out)
{
    struct qr_j_sb sb;
    int64_t n;
    QR_TRY(qr_j_length(j, qr_j_str_value(s), &n));
    *out = qr_j_str_value(s);
    if (width <= n)
        return QUIRE_OK;
    const int64_t pad = width - n;
    int64_t left = align == QR_J_ALIGN_RIGHT ? pad : 0;
    if (align == QR_J_ALIGN_CENTER)
        left = pad / 2 + (pad & width & 1); /* where Python puts the odd one */
    const uint32_t cp = fill ? qr_j_decode(fill->p) : ' ';
    const bool user = fill && qr_j_byte_user(fill, 0);
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_sb_pad(&sb, cp, left, user));
    QR_TRY(qr_j_sb_str(&sb, s));
    QR_TRY(qr_j_sb_pad(&sb, cp, pad - left, user));
    return qr_j_sb_done(&sb, out);
}
