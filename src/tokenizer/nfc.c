/* SPDX-License-Identifier: Apache-2.0 */
/* tok_nfc.c - Unicode normal form C in linear time and with our own memory. */
#include "base/utf8.h"
#include "tokenizer/impl.h"
#include <utf8proc.h>

/* Below U+0300 every character is in form C already and combines with nothing before it, so the
 * text falls apart there: only stretches of other characters, with the one in front of them, need
 * work. */
enum { FIRST_ACTIVE = 0x300, FIRST_ACTIVE_LEAD = 0xCC, MAX_EXPANSION = 4, SHORT_RUN = 16 };

static int ccc(int32_t cp) { return utf8proc_get_property(cp)->combining_class; }

static bool reserve_points(struct qr_encoder *e, size_t n)
{
    return qr_grow(e->t->a, (void **)&e->points, &e->cap_points, n, sizeof *e->points);
}

/* Stable sort of combining marks by class. Real text has two or three in a row; the counting
 * sort is there for text that was made to be slow. tmp has room for n when that is more than
 * SHORT_RUN. */
static void sort_marks(int32_t *p, size_t n, int32_t *tmp)
{
    if (n <= SHORT_RUN) {
        for (size_t i = 1; i < n; i++) {
            const int32_t cp = p[i];
            const int c = ccc(cp);
            size_t k = i;
            for (; k > 0 && ccc(p[k - 1]) > c; k--)
                p[k] = p[k - 1];
            p[k] = cp;
        }
        return;
    }
    size_t start[257] = { 0 };
    for (size_t i = 0; i < n; i++)
        start[ccc(p[i]) + 1]++;
    for (int c = 0; c < 256; c++)
        start[c + 1] += start[c];
    for (size_t i = 0; i < n; i++)
        tmp[start[ccc(p[i])]++] = p[i];
    memcpy(p, tmp, n * sizeof *p);
}

/* Decomposes, orders and composes one stretch, and appends it to e->normal. */
static quire_status normalize_stretch(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    const struct quire_allocator *a = e->t->a;
    size_t n_points = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0;
        int boundary = 0;
        if (!reserve_points(e, n_points + MAX_EXPANSION))
            return qr_encoder_nomem(e);
        i += (size_t)qr_utf8_next_final(s + i, n - i, &cp);
        const utf8proc_ssize_t k =
            utf8proc_decompose_char((utf8proc_int32_t)cp, e->points + n_points, MAX_EXPANSION,
                                    UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &boundary);
        if (k < 1 || k > MAX_EXPANSION)
            return qr_fail(e->err, QUIRE_E_INTERNAL, "decomposition of U+%04X", (unsigned)cp);
        n_points += (size_t)k;
    }
    for (size_t i = 0; i < n_points;) {
        size_t end = i;
        while (end < n_points && ccc(e->points[end]))
            end++;
        if (end - i > SHORT_RUN && !reserve_points(e, n_points + end - i))
            return qr_encoder_nomem(e);
        if (end - i > 1)
            sort_marks(e->points + i, end - i, e->points + n_points);
        i = end + 1;
    }
    const utf8proc_ssize_t k = utf8proc_normalize_utf32(e->points, (utf8proc_ssize_t)n_points,
                                                        UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    if (k < 0)
        return qr_fail(e->err, QUIRE_E_INTERNAL, "normalisation: %s", utf8proc_errmsg(k));
    if (!qr_bytes_reserve(a, &e->normal, (size_t)k * QR_UTF8_MAX))
        return qr_encoder_nomem(e);
    for (utf8proc_ssize_t i = 0; i < k; i++)
        e->normal.size += qr_utf8_put(e->normal.data + e->normal.size, (uint32_t)e->points[i]);
    return QUIRE_OK;
}

quire_status qr_normalize_nfc(struct qr_encoder *e, const uint8_t **text, size_t *n)
{
    const uint8_t *s = *text;
    size_t i = 0;
    while (i < *n && s[i] < FIRST_ACTIVE_LEAD)
        i++;
    if (i == *n)
        return QUIRE_OK;
    e->normal.size = 0;
    for (size_t done = 0; done < *n;) {
        size_t begin = done, last = done; /* last: where the character before `begin` starts */
        while (begin < *n && s[begin] < FIRST_ACTIVE_LEAD) {
            last = begin;
            begin += qr_utf8_len(s[begin]);
        }
        size_t end = begin;
        while (end < *n && s[end] >= FIRST_ACTIVE_LEAD)
            end += qr_utf8_len(s[end]);
        const size_t quiet = begin < *n ? last - done : begin - done;
        if (!qr_bytes_reserve(e->t->a, &e->normal, quiet))
            return qr_encoder_nomem(e);
        if (quiet)
            memcpy(e->normal.data + e->normal.size, s + done, quiet);
        e->normal.size += quiet;
        if (begin < *n)
            QR_TRY(normalize_stretch(e, s + last, end - last));
        done = end;
    }
    *text = e->normal.data;
    *n = e->normal.size;
    return QUIRE_OK;
}
