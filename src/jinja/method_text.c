/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_method_text.c - methods of str that transform or classify. */
#include "jinja/call.h"

static quire_status case_method(struct qr_j *j, const struct qr_j_call *c, enum qr_j_case how,
                                struct qr_j_value *out)
{
    return qr_j_change_case(j, c->self.s, how, out);
}

static quire_status m_capitalize(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return case_method(j, c, QR_J_CAPITALIZE, out);
}

static quire_status m_casefold(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return case_method(j, c, QR_J_CASEFOLD, out);
}

static quire_status m_lower(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return case_method(j, c, QR_J_LOWER, out);
}

static quire_status m_swapcase(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return case_method(j, c, QR_J_SWAPCASE, out);
}

static quire_status m_title(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return case_method(j, c, QR_J_TITLE, out);
}

static quire_status m_upper(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return case_method(j, c, QR_J_UPPER, out);
}

static quire_status m_strip(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return qr_j_strip(j, c->self.s, c->a[0], QR_J_STRIP_LEFT | QR_J_STRIP_RIGHT, out);
}

static quire_status m_lstrip(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return qr_j_strip(j, c->self.s, c->a[0], QR_J_STRIP_LEFT, out);
}

static quire_status m_rstrip(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return qr_j_strip(j, c->self.s, c->a[0], QR_J_STRIP_RIGHT, out);
}

static quire_status m_replace(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *old, *new_;
    int64_t count = -1;
    QR_TRY(qr_j_want_str(j, c->a[0], &old));
    QR_TRY(qr_j_want_str(j, c->a[1], &new_));
    if (qr_j_given(c->a[2]))
        QR_TRY(qr_j_want_int(j, c->a[2], &count));
    return qr_j_replace(j, c->self.s, old, new_, count, out);
}

static quire_status pad_method(struct qr_j *j, const struct qr_j_call *c, enum qr_j_align align,
                               struct qr_j_value *out)
{
    const struct qr_j_str *fill = NULL;
    int64_t width;
    QR_TRY(qr_j_want_int(j, c->a[0], &width));
    if (qr_j_given(c->a[1])) {
        QR_TRY(qr_j_want_str(j, c->a[1], &fill));
        if (!fill->n || qr_j_char_len(fill->p[0]) != fill->n)
            return qr_j_type_error(j, "The fill character must be exactly one character long");
    }
    return qr_j_pad(j, c->self.s, width, fill, align, out);
}

static quire_status m_center(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return pad_method(j, c, QR_J_ALIGN_CENTER, out);
}

static quire_status m_ljust(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return pad_method(j, c, QR_J_ALIGN_LEFT, out);
}

static quire_status m_rjust(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return pad_method(j, c, QR_J_ALIGN_RIGHT, out);
}

static quire_status m_zfill(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s = c->self.s;
    const bool sign = s->n && (s->p[0] == '+' || s->p[0] == '-');
    struct qr_j_sb sb;
    int64_t width, n;
    QR_TRY(qr_j_want_int(j, c->a[0], &width));
    QR_TRY(qr_j_length(j, c->self, &n));
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_sb_part(&sb, s, 0, sign));
    QR_TRY(qr_j_sb_pad(&sb, '0', width > n ? width - n : 0, false));
    QR_TRY(qr_j_sb_part(&sb, s, sign, s->n - sign));
    return qr_j_sb_done(&sb, out);
}

static quire_status m_expandtabs(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s = c->self.s;
    struct qr_j_sb sb;
    int64_t size = 8, column = 0;
    if (qr_j_given(c->a[0]))
        QR_TRY(qr_j_want_int(j, c->a[0], &size));
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_work(j, s->n * 8));
    for (size_t off = 0, len; off < s->n; off += len) {
        len = qr_j_char_len(s->p[off]);
        if (s->p[off] == '\t') {
            const int64_t blanks = size > 0 ? size - column % size : 0;
            QR_TRY(qr_j_sb_pad(&sb, ' ', blanks, qr_j_byte_user(s, off)));
            column += blanks;
            continue;
        }
        QR_TRY(qr_j_sb_part(&sb, s, off, len));
        column = s->p[off] == '\n' || s->p[off] == '\r' ? 0 : column + 1;
    }
    return qr_j_sb_done(&sb, out);
}

static quire_status m_format(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return qr_j_brace_format(j, c->self.s, c->args, out);
}

/* --- classification: true when there is a character and all are of the class --- */
static bool is_alnum(uint32_t cp) { return cp != '_' && qr_j_is_word(cp); }
static bool is_numeric(uint32_t cp) { return is_alnum(cp) && !qr_j_is_alpha(cp); }
static bool is_ascii(uint32_t cp) { return cp < 0x80; }

static quire_status all_of(struct qr_j *j, const struct qr_j_call *c, bool (*is)(uint32_t),
                           bool if_empty, struct qr_j_value *out)
{
    const struct qr_j_str *s = c->self.s;
    bool all = s->n ? true : if_empty;
    QR_TRY(qr_j_work(j, s->n * 4));
    for (size_t off = 0; all && off < s->n; off += qr_j_char_len(s->p[off]))
        all = is(qr_j_decode(s->p + off));
    *out = qr_j_bool(all);
    return QUIRE_OK;
}

static quire_status m_isalnum(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return all_of(j, c, is_alnum, false, out);
}

static quire_status m_isalpha(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return all_of(j, c, qr_j_is_alpha, false, out);
}

static quire_status m_isascii(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return all_of(j, c, is_ascii, true, out);
}

static quire_status m_isdigit(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return all_of(j, c, qr_j_is_digit, false, out);
}

static quire_status m_isnumeric(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return all_of(j, c, is_numeric, false, out);
}

static quire_status m_isprintable(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return all_of(j, c, qr_j_is_printable, true, out);
}

static quire_status m_isspace(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return all_of(j, c, qr_j_is_space, false, out);
}

/* All letters that have a case are of this one, and there is at least one. */
static quire_status cased(struct qr_j *j, const struct qr_j_str *s, bool upper,
                          struct qr_j_value *out)
{
    bool any = false, other = false;
    QR_TRY(qr_j_work(j, s->n * 4));
    for (size_t off = 0; off < s->n; off += qr_j_char_len(s->p[off])) {
        const uint32_t cp = qr_j_decode(s->p + off);
        any = any || (upper ? qr_j_is_upper(cp) : qr_j_is_lower(cp));
        other = other || (upper ? qr_j_is_lower(cp) : qr_j_is_upper(cp));
    }
    *out = qr_j_bool(any && !other);
    return QUIRE_OK;
}

static quire_status m_islower(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return cased(j, c->self.s, false, out);
}

static quire_status m_isupper(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return cased(j, c->self.s, true, out);
}

static quire_status m_istitle(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s = c->self.s;
    bool any = false, in_word = false, ok = true;
    QR_TRY(qr_j_work(j, s->n * 4));
    for (size_t off = 0; ok && off < s->n; off += qr_j_char_len(s->p[off])) {
        const uint32_t cp = qr_j_decode(s->p + off);
        const bool upper = qr_j_is_upper(cp), lower = qr_j_is_lower(cp);
        ok = !(upper && in_word) && !(lower && !in_word);
        in_word = upper || lower;
        any = any || in_word;
    }
    *out = qr_j_bool(ok && any);
    return QUIRE_OK;
}

static const struct qr_j_builtin methods[] = {
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

const struct qr_j_builtin *qr_j_methods_text(size_t *n)
{
    *n = sizeof methods / sizeof *methods;
    return methods;
}
