/* SPDX-License-Identifier: Apache-2.0 */
/* case_map.c - upper, lower and title case and case folding by Unicode's full mappings. */
#include "jinja/case_map.h"
#include "base/error.h"
#include "base/msan.h"
#include "jinja/interp.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include <utf8proc.h>

/* Characters whose upper case is a sequence of characters (SpecialCasing.txt of Unicode). */
static const struct {
    uint16_t cp, upper[3];
} special_upper[] = {
    { 0x00DF, { 0x0053, 0x0053 } },         { 0x0149, { 0x02BC, 0x004E } },
    { 0x01F0, { 0x004A, 0x030C } },         { 0x0390, { 0x0399, 0x0308, 0x0301 } },
    { 0x03B0, { 0x03A5, 0x0308, 0x0301 } }, { 0x0587, { 0x0535, 0x0552 } },
    { 0x1E96, { 0x0048, 0x0331 } },         { 0x1E97, { 0x0054, 0x0308 } },
    { 0x1E98, { 0x0057, 0x030A } },         { 0x1E99, { 0x0059, 0x030A } },
    { 0x1E9A, { 0x0041, 0x02BE } },         { 0x1F50, { 0x03A5, 0x0313 } },
    { 0x1F52, { 0x03A5, 0x0313, 0x0300 } }, { 0x1F54, { 0x03A5, 0x0313, 0x0301 } },
    { 0x1F56, { 0x03A5, 0x0313, 0x0342 } }, { 0x1F80, { 0x1F08, 0x0399 } },
    { 0x1F81, { 0x1F09, 0x0399 } },         { 0x1F82, { 0x1F0A, 0x0399 } },
    { 0x1F83, { 0x1F0B, 0x0399 } },         { 0x1F84, { 0x1F0C, 0x0399 } },
    { 0x1F85, { 0x1F0D, 0x0399 } },         { 0x1F86, { 0x1F0E, 0x0399 } },
    { 0x1F87, { 0x1F0F, 0x0399 } },         { 0x1F88, { 0x1F08, 0x0399 } },
    { 0x1F89, { 0x1F09, 0x0399 } },         { 0x1F8A, { 0x1F0A, 0x0399 } },
    { 0x1F8B, { 0x1F0B, 0x0399 } },         { 0x1F8C, { 0x1F0C, 0x0399 } },
    { 0x1F8D, { 0x1F0D, 0x0399 } },         { 0x1F8E, { 0x1F0E, 0x0399 } },
    { 0x1F8F, { 0x1F0F, 0x0399 } },         { 0x1F90, { 0x1F28, 0x0399 } },
    { 0x1F91, { 0x1F29, 0x0399 } },         { 0x1F92, { 0x1F2A, 0x0399 } },
    { 0x1F93, { 0x1F2B, 0x0399 } },         { 0x1F94, { 0x1F2C, 0x0399 } },
    { 0x1F95, { 0x1F2D, 0x0399 } },         { 0x1F96, { 0x1F2E, 0x0399 } },
    { 0x1F97, { 0x1F2F, 0x0399 } },         { 0x1F98, { 0x1F28, 0x0399 } },
    { 0x1F99, { 0x1F29, 0x0399 } },         { 0x1F9A, { 0x1F2A, 0x0399 } },
    { 0x1F9B, { 0x1F2B, 0x0399 } },         { 0x1F9C, { 0x1F2C, 0x0399 } },
    { 0x1F9D, { 0x1F2D, 0x0399 } },         { 0x1F9E, { 0x1F2E, 0x0399 } },
    { 0x1F9F, { 0x1F2F, 0x0399 } },         { 0x1FA0, { 0x1F68, 0x0399 } },
    { 0x1FA1, { 0x1F69, 0x0399 } },         { 0x1FA2, { 0x1F6A, 0x0399 } },
    { 0x1FA3, { 0x1F6B, 0x0399 } },         { 0x1FA4, { 0x1F6C, 0x0399 } },
    { 0x1FA5, { 0x1F6D, 0x0399 } },         { 0x1FA6, { 0x1F6E, 0x0399 } },
    { 0x1FA7, { 0x1F6F, 0x0399 } },         { 0x1FA8, { 0x1F68, 0x0399 } },
    { 0x1FA9, { 0x1F69, 0x0399 } },         { 0x1FAA, { 0x1F6A, 0x0399 } },
    { 0x1FAB, { 0x1F6B, 0x0399 } },         { 0x1FAC, { 0x1F6C, 0x0399 } },
    { 0x1FAD, { 0x1F6D, 0x0399 } },         { 0x1FAE, { 0x1F6E, 0x0399 } },
    { 0x1FAF, { 0x1F6F, 0x0399 } },         { 0x1FB2, { 0x1FBA, 0x0399 } },
    { 0x1FB3, { 0x0391, 0x0399 } },         { 0x1FB4, { 0x0386, 0x0399 } },
    { 0x1FB6, { 0x0391, 0x0342 } },         { 0x1FB7, { 0x0391, 0x0342, 0x0399 } },
    { 0x1FBC, { 0x0391, 0x0399 } },         { 0x1FC2, { 0x1FCA, 0x0399 } },
    { 0x1FC3, { 0x0397, 0x0399 } },         { 0x1FC4, { 0x0389, 0x0399 } },
    { 0x1FC6, { 0x0397, 0x0342 } },         { 0x1FC7, { 0x0397, 0x0342, 0x0399 } },
    { 0x1FCC, { 0x0397, 0x0399 } },         { 0x1FD2, { 0x0399, 0x0308, 0x0300 } },
    { 0x1FD3, { 0x0399, 0x0308, 0x0301 } }, { 0x1FD6, { 0x0399, 0x0342 } },
    { 0x1FD7, { 0x0399, 0x0308, 0x0342 } }, { 0x1FE2, { 0x03A5, 0x0308, 0x0300 } },
    { 0x1FE3, { 0x03A5, 0x0308, 0x0301 } }, { 0x1FE4, { 0x03A1, 0x0313 } },
    { 0x1FE6, { 0x03A5, 0x0342 } },         { 0x1FE7, { 0x03A5, 0x0308, 0x0342 } },
    { 0x1FF2, { 0x1FFA, 0x0399 } },         { 0x1FF3, { 0x03A9, 0x0399 } },
    { 0x1FF4, { 0x038F, 0x0399 } },         { 0x1FF6, { 0x03A9, 0x0342 } },
    { 0x1FF7, { 0x03A9, 0x0342, 0x0399 } }, { 0x1FFC, { 0x03A9, 0x0399 } },
    { 0xFB00, { 0x0046, 0x0046 } },         { 0xFB01, { 0x0046, 0x0049 } },
    { 0xFB02, { 0x0046, 0x004C } },         { 0xFB03, { 0x0046, 0x0046, 0x0049 } },
    { 0xFB04, { 0x0046, 0x0046, 0x004C } }, { 0xFB05, { 0x0053, 0x0054 } },
    { 0xFB06, { 0x0053, 0x0054 } },         { 0xFB13, { 0x0544, 0x0546 } },
    { 0xFB14, { 0x0544, 0x0535 } },         { 0xFB15, { 0x0544, 0x053B } },
    { 0xFB16, { 0x054E, 0x0546 } },         { 0xFB17, { 0x0544, 0x053D } },
};

static const uint16_t *find_special_upper(uint32_t cp)
{
    size_t lo = 0, hi = sizeof special_upper / sizeof *special_upper;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (special_upper[mid].cp == cp)
            return special_upper[mid].upper;
        if (special_upper[mid].cp < cp)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static utf8proc_category_t category(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }

static quire_status put_upper(struct qr_jinja_sb *sb, uint32_t cp, bool title, bool tainted)
{
    const uint32_t simple = (uint32_t)(title ? utf8proc_totitle((utf8proc_int32_t)cp)
                                             : utf8proc_toupper((utf8proc_int32_t)cp));
    const uint16_t *special = find_special_upper(cp);
    if (!special || (title && category(simple) == UTF8PROC_CATEGORY_LT))
        return qr_jinja_sb_append_char(sb, simple, tainted);
    bool begun = false; /* title case of a ligature is one capital, then small letters: Ffi */
    for (int i = 0; i < 3 && special[i]; i++) {
        const uint32_t c = special[i];
        QR_TRY(qr_jinja_sb_append_char(
            sb, begun ? (uint32_t)utf8proc_tolower((utf8proc_int32_t)c) : c, tainted));
        begun = begun || (title && qr_jinja_is_upper(c));
    }
    return QUIRE_OK;
}

/* Whether the capital sigma at off ends a word, where its lower case is the final sigma. */
static bool sigma_is_final(const struct qr_jinja_str *s, size_t off)
{
    size_t before = off;
    while (before > 0 && qr_jinja_utf8_is_cont(s->p[before - 1]))
        before--;
    const size_t after = off + 2;
    return before > 0 && qr_jinja_is_alpha(qr_jinja_utf8_decode(s->p + before - 1)) &&
           (after >= s->n || !qr_jinja_is_alpha(qr_jinja_utf8_decode(s->p + after)));
}

static quire_status put_lower(struct qr_jinja_sb *sb, const struct qr_jinja_str *s, size_t off,
                              uint32_t cp, bool tainted)
{
    if (cp == 0x130) { /* capital I with dot above */
        QR_TRY(qr_jinja_sb_append_char(sb, 'i', tainted));
        return qr_jinja_sb_append_char(sb, 0x307, tainted);
    }
    if (cp == 0x3A3 && sigma_is_final(s, off))
        return qr_jinja_sb_append_char(sb, 0x3C2, tainted);
    return qr_jinja_sb_append_char(sb, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp), tainted);
}

/* utf8proc implements full case folding, unlike the other full mappings. */
static quire_status put_folded(struct qr_jinja_sb *sb, uint32_t cp, bool tainted)
{
    utf8proc_int32_t folded[8];
    int boundary = 0;
    const utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)cp, folded, 8, UTF8PROC_CASEFOLD, &boundary);
    QR_MSAN_WRITTEN(folded, sizeof folded);
    for (utf8proc_ssize_t i = 0; i < n && i < 8; i++)
        QR_TRY(qr_jinja_sb_append_char(sb, (uint32_t)folded[i], tainted));
    return QUIRE_OK;
}

quire_status qr_jinja_map_case(struct qr_jinja *j, const struct qr_jinja_str *s,
                               enum qr_jinja_case how, struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    bool in_word = false;
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_charge_bytes(j, s->n * 8)); /* slower per byte than a copy */
    QR_TRY(qr_jinja_sb_reserve(&sb, s->n));
    for (size_t off = 0; off < s->n; off += qr_jinja_utf8_len(s->p[off])) {
        const uint32_t cp = qr_jinja_utf8_decode(s->p + off);
        const bool tainted = qr_jinja_byte_tainted(s, off), upper = qr_jinja_is_upper(cp),
                   lower = qr_jinja_is_lower(cp);
        if (how == QR_JINJA_CASE_FOLD)
            QR_TRY(put_folded(&sb, cp, tainted));
        else if (how == QR_JINJA_CASE_UPPER || (how == QR_JINJA_CASE_SWAP && lower))
            QR_TRY(put_upper(&sb, cp, false, tainted));
        else if ((how == QR_JINJA_CASE_CAPITALIZE && off == 0) ||
                 (how == QR_JINJA_CASE_TITLE && !in_word))
            QR_TRY(put_upper(&sb, cp, true, tainted));
        else if (how == QR_JINJA_CASE_SWAP && !upper)
            QR_TRY(qr_jinja_sb_append_char(&sb, cp, tainted));
        else
            QR_TRY(put_lower(&sb, s, off, cp, tainted));
        in_word = upper || lower || category(cp) == UTF8PROC_CATEGORY_LT;
    }
    return qr_jinja_sb_finish(&sb, out);
}
