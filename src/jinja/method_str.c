/* SPDX-License-Identifier: Apache-2.0 */
/* method_str.c - methods of str that transform or classify. */
#include "jinja/method_str.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/case_map.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/str.h"
#include "jinja/str_format.h"
#include "jinja/string_builder.h"
#include "jinja/unicode.h"
#include "jinja/value.h"

static quire_status case_method(struct qr_jinja *j, const struct qr_jinja_call *c,
                                enum qr_jinja_case how, struct qr_jinja_value *out)
{
    return qr_jinja_map_case(j, c->self.s, how, out);
}

static quire_status m_capitalize(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    return case_method(j, c, QR_JINJA_CASE_CAPITALIZE, out);
}

static quire_status m_casefold(struct qr_jinja *j, const struct qr_jinja_call *c,
                               struct qr_jinja_value *out)
{
    return case_method(j, c, QR_JINJA_CASE_FOLD, out);
}

static quire_status m_lower(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return case_method(j, c, QR_JINJA_CASE_LOWER, out);
}

static quire_status m_swapcase(struct qr_jinja *j, const struct qr_jinja_call *c,
                               struct qr_jinja_value *out)
{
    return case_method(j, c, QR_JINJA_CASE_SWAP, out);
}

static quire_status m_title(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return case_method(j, c, QR_JINJA_CASE_TITLE, out);
}

static quire_status m_upper(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return case_method(j, c, QR_JINJA_CASE_UPPER, out);
}

static quire_status m_strip(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return qr_jinja_str_strip(j, c->self.s, c->arg[0], QR_JINJA_STRIP_LEFT | QR_JINJA_STRIP_RIGHT,
                              out);
}

static quire_status m_lstrip(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return qr_jinja_str_strip(j, c->self.s, c->arg[0], QR_JINJA_STRIP_LEFT, out);
}

static quire_status m_rstrip(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return qr_jinja_str_strip(j, c->self.s, c->arg[0], QR_JINJA_STRIP_RIGHT, out);
}

static quire_status m_replace(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    const struct qr_jinja_str *old, *new_;
    int64_t count = -1;
    QR_TRY(qr_jinja_expect_str(j, c->arg[0], &old));
    QR_TRY(qr_jinja_expect_str(j, c->arg[1], &new_));
    if (qr_jinja_is_given(c->arg[2]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[2], &count));
    return qr_jinja_str_replace(j, c->self.s, old, new_, count, out);
}

static quire_status pad_method(struct qr_jinja *j, const struct qr_jinja_call *c,
                               enum qr_jinja_align align, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *fill = NULL;
    int64_t width;
    QR_TRY(qr_jinja_expect_int(j, c->arg[0], &width));
    if (qr_jinja_is_given(c->arg[1])) {
        QR_TRY(qr_jinja_expect_str(j, c->arg[1], &fill));
        if (!fill->n || qr_jinja_utf8_len(fill->p[0]) != fill->n)
            return qr_jinja_type_error(j, "The fill character must be exactly one character long");
    }
    return qr_jinja_str_pad(j, c->self.s, width, fill, align, out);
}

static quire_status m_center(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return pad_method(j, c, QR_JINJA_ALIGN_CENTER, out);
}

static quire_status m_ljust(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return pad_method(j, c, QR_JINJA_ALIGN_LEFT, out);
}

static quire_status m_rjust(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return pad_method(j, c, QR_JINJA_ALIGN_RIGHT, out);
}

static quire_status m_zfill(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s = c->self.s;
    const bool sign = s->n && (s->p[0] == '+' || s->p[0] == '-');
    struct qr_jinja_sb sb;
    int64_t width, n;
    QR_TRY(qr_jinja_expect_int(j, c->arg[0], &width));
    QR_TRY(qr_jinja_length(j, c->self, &n));
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_sb_append_range(&sb, s, 0, sign));
    QR_TRY(qr_jinja_sb_append_fill(&sb, '0', width > n ? width - n : 0, false));
    QR_TRY(qr_jinja_sb_append_range(&sb, s, sign, s->n - sign));
    return qr_jinja_sb_finish(&sb, out);
}

static quire_status m_expandtabs(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s = c->self.s;
    struct qr_jinja_sb sb;
    int64_t size = 8, column = 0;
    if (qr_jinja_is_given(c->arg[0]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[0], &size));
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_charge_bytes(j, s->n * 8));
    for (size_t off = 0, len; off < s->n; off += len) {
        len = qr_jinja_utf8_len(s->p[off]);
        if (s->p[off] == '\t') {
            const int64_t blanks = size > 0 ? size - column % size : 0;
            QR_TRY(qr_jinja_sb_append_fill(&sb, ' ', blanks, qr_jinja_byte_tainted(s, off)));
            column += blanks;
            continue;
        }
        QR_TRY(qr_jinja_sb_append_range(&sb, s, off, len));
        column = s->p[off] == '\n' || s->p[off] == '\r' ? 0 : column + 1;
    }
    return qr_jinja_sb_finish(&sb, out);
}

static quire_status m_format(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    return qr_jinja_str_format(j, c->self.s, c->args, out);
}

/* --- classification: true if s is not empty and all characters are of the class --- */
static bool is_alnum(uint32_t cp) { return cp != '_' && qr_jinja_is_word(cp); }
static bool is_numeric(uint32_t cp) { return is_alnum(cp) && !qr_jinja_is_alpha(cp); }
static bool is_ascii(uint32_t cp) { return cp < 0x80; }

static quire_status all_of(struct qr_jinja *j, const struct qr_jinja_call *c, bool (*is)(uint32_t),
                           bool if_empty, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s = c->self.s;
    bool all = s->n ? true : if_empty;
    QR_TRY(qr_jinja_charge_bytes(j, s->n * 4));
    for (size_t off = 0; all && off < s->n; off += qr_jinja_utf8_len(s->p[off]))
        all = is(qr_jinja_utf8_decode(s->p + off));
    *out = qr_jinja_bool(all);
    return QUIRE_OK;
}

static quire_status m_isalnum(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    return all_of(j, c, is_alnum, false, out);
}

static quire_status m_isalpha(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    return all_of(j, c, qr_jinja_is_alpha, false, out);
}

static quire_status m_isascii(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    return all_of(j, c, is_ascii, true, out);
}

static quire_status m_isdigit(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    return all_of(j, c, qr_jinja_is_digit, false, out);
}

static quire_status m_isnumeric(struct qr_jinja *j, const struct qr_jinja_call *c,
                                struct qr_jinja_value *out)
{
    return all_of(j, c, is_numeric, false, out);
}

static quire_status m_isprintable(struct qr_jinja *j, const struct qr_jinja_call *c,
                                  struct qr_jinja_value *out)
{
    return all_of(j, c, qr_jinja_is_printable, true, out);
}

static quire_status m_isspace(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    return all_of(j, c, qr_jinja_is_space, false, out);
}

/* Whether s has cased characters and all of them are of this case. */
static quire_status cased(struct qr_jinja *j, const struct qr_jinja_str *s, bool upper,
                          struct qr_jinja_value *out)
{
    bool any = false, other = false;
    QR_TRY(qr_jinja_charge_bytes(j, s->n * 4));
    for (size_t off = 0; off < s->n; off += qr_jinja_utf8_len(s->p[off])) {
        const uint32_t cp = qr_jinja_utf8_decode(s->p + off);
        any = any || (upper ? qr_jinja_is_upper(cp) : qr_jinja_is_lower(cp));
        other = other || (upper ? qr_jinja_is_lower(cp) : qr_jinja_is_upper(cp));
    }
    *out = qr_jinja_bool(any && !other);
    return QUIRE_OK;
}

static quire_status m_islower(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    return cased(j, c->self.s, false, out);
}

static quire_status m_isupper(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    return cased(j, c->self.s, true, out);
}

static quire_status m_istitle(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s = c->self.s;
    bool any = false, in_word = false, ok = true;
    QR_TRY(qr_jinja_charge_bytes(j, s->n * 4));
    for (size_t off = 0; ok && off < s->n; off += qr_jinja_utf8_len(s->p[off])) {
        const uint32_t cp = qr_jinja_utf8_decode(s->p + off);
        const bool upper = qr_jinja_is_upper(cp), lower = qr_jinja_is_lower(cp);
        ok = !(upper && in_word) && !(lower && !in_word);
        in_word = upper || lower;
        any = any || in_word;
    }
    *out = qr_jinja_bool(ok && any);
    return QUIRE_OK;
}

static const struct qr_jinja_builtin methods[] = {
    { "capitalize", m_capitalize, "", 0 },
    { "casefold", m_casefold, "", 0 },
    { "center", m_center, "width fillchar", 1 },
    { "expandtabs", m_expandtabs, "tabsize", 0 },
    { "format", m_format, "*", 0 },
    { "isalnum", m_isalnum, "", 0 },
    { "isalpha", m_isalpha, "", 0 },
    { "isascii", m_isascii, "", 0 },
    { "isdecimal", m_isdigit, "", 0 },
    { "isdigit", m_isdigit, "", 0 },
    { "islower", m_islower, "", 0 },
    { "isnumeric", m_isnumeric, "", 0 },
    { "isprintable", m_isprintable, "", 0 },
    { "isspace", m_isspace, "", 0 },
    { "istitle", m_istitle, "", 0 },
    { "isupper", m_isupper, "", 0 },
    { "ljust", m_ljust, "width fillchar", 1 },
    { "lower", m_lower, "", 0 },
    { "lstrip", m_lstrip, "chars", 0 },
    { "replace", m_replace, "old new count", 2 },
    { "rjust", m_rjust, "width fillchar", 1 },
    { "rstrip", m_rstrip, "chars", 0 },
    { "strip", m_strip, "chars", 0 },
    { "swapcase", m_swapcase, "", 0 },
    { "title", m_title, "", 0 },
    { "upper", m_upper, "", 0 },
    { "zfill", m_zfill, "width", 1 },
};

const struct qr_jinja_builtin *qr_jinja_methods_str(size_t *n)
{
    *n = sizeof methods / sizeof *methods;
    return methods;
}
