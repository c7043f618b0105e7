/* SPDX-License-Identifier: Apache-2.0 */
/* nfc.c - NFC normalizer in linear time, with memory from the host's allocator. */
#include "tokenizer/nfc.h"
#include "base/error.h"
#include "base/msan.h"
#include "base/utf8.h"
#include "tokenizer/encoder.h"
#include <string.h>
#include <utf8proc.h>

/* Characters below U+0300 are in NFC and do not combine with a character before them. Only spans of
 * characters from U+0300 on, each with the one character in front of it, need normalization. */
enum { FIRST_COMBINING = 0x300, FIRST_COMBINING_LEAD = 0xCC, MAX_EXPANSION = 4, SHORT_RUN = 16 };

static int ccc(int32_t cp) { return utf8proc_get_property(cp)->combining_class; }

static bool reserve_code_points(struct qr_encoder *e, size_t n)
{
    return qr_grow(e->t->a, (void **)&e->code_points, &e->cap_code_points, n,
                   sizeof *e->code_points);
}

/* Stable sort of combining marks by class. Real text has two or three in a row; the counting sort
 * bounds the time of hostile text. tmp: scratch of n elements if n > SHORT_RUN. */
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

/* Decomposes, reorders and composes one span, and appends it to e->normalized. */
static quire_status normalize_span(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    const struct quire_allocator *a = e->t->a;
    size_t n_code_points = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0;
        int boundary = 0;
        if (!reserve_code_points(e, n_code_points + MAX_EXPANSION))
            return qr_encoder_nomem(e);
        i += (size_t)qr_utf8_next_final(s + i, n - i, &cp);
        const utf8proc_ssize_t k =
            utf8proc_decompose_char((utf8proc_int32_t)cp, e->code_points + n_code_points,
                                    MAX_EXPANSION, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &boundary);
        if (k < 1 || k > MAX_EXPANSION) /* GCOVR_EXCL_BR_LINE: no character has a longer one */
            return qr_fail(e->err, QUIRE_E_INTERNAL, "decomposition of U+%04X", (unsigned)cp);
        QR_MSAN_WRITTEN(e->code_points + n_code_points, (size_t)k * sizeof *e->code_points);
        n_code_points += (size_t)k;
    }
    for (size_t i = 0; i < n_code_points;) {
        size_t end = i;
        while (end < n_code_points && ccc(e->code_points[end]))
            end++;
        if (end - i > SHORT_RUN && !reserve_code_points(e, n_code_points + end - i))
            return qr_encoder_nomem(e);
        if (end - i > 1)
            sort_marks(e->code_points + i, end - i, e->code_points + n_code_points);
        i = end + 1;
    }
    const utf8proc_ssize_t k = utf8proc_normalize_utf32(
        e->code_points, (utf8proc_ssize_t)n_code_points, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    if (k < 0) /* GCOVR_EXCL_BR_LINE: decomposed characters are valid */
        return qr_fail(e->err, QUIRE_E_INTERNAL, "normalization: %s", utf8proc_errmsg(k));
    if (!qr_bytes_reserve(a, &e->normalized, (size_t)k * QR_UTF8_MAX))
        return qr_encoder_nomem(e);
    for (utf8proc_ssize_t i = 0; i < k; i++)
        e->normalized.size +=
            qr_utf8_put(e->normalized.data + e->normalized.size, (uint32_t)e->code_points[i]);
    return QUIRE_OK;
}

quire_status qr_normalize_nfc(struct qr_encoder *e, const uint8_t **text, size_t *n)
{
    const uint8_t *s = *text;
    size_t i = 0;
    while (i < *n && s[i] < FIRST_COMBINING_LEAD)
        i++;
    if (i == *n)
        return QUIRE_OK;
    e->normalized.size = 0;
    for (size_t done = 0; done < *n;) {
        size_t begin = done, last = done; /* last: start of the character before `begin` */
        while (begin < *n && s[begin] < FIRST_COMBINING_LEAD) {
            last = begin;
            begin += qr_utf8_len(s[begin]);
        }
        size_t end = begin;
        while (end < *n && s[end] >= FIRST_COMBINING_LEAD)
            end += qr_utf8_len(s[end]);
        const size_t unchanged = begin < *n ? last - done : begin - done;
        if (!qr_bytes_reserve(e->t->a, &e->normalized, unchanged))
            return qr_encoder_nomem(e);
        if (unchanged)
            memcpy(e->normalized.data + e->normalized.size, s + done, unchanged);
        e->normalized.size += unchanged;
        if (begin < *n)
            QR_TRY(normalize_span(e, s + last, end - last));
        done = end;
    }
    *text = e->normalized.data;
    *n = e->normalized.size;
    return QUIRE_OK;
}
