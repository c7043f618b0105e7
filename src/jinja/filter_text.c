/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_filter_text.c - filters that yield text. */
#include "jinja/call.h"

/* Most text filters take str(value) first. */
static quire_status self_str(struct qr_j *j, const struct qr_j_call *c, const struct qr_j_str **out)
{
    return qr_j_to_str(j, c->self, out);
}

static quire_status change_case(struct qr_j *j, const struct qr_j_call *c, enum qr_j_case how,
                                struct qr_j_value *out)
{
    const struct qr_j_str *s;
    QR_TRY(self_str(j, c, &s));
    return qr_j_change_case(j, s, how, out);
}

static quire_status f_upper(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return change_case(j, c, QR_J_UPPER, out);
}

static quire_status f_lower(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return change_case(j, c, QR_J_LOWER, out);
}

static quire_status f_capitalize(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    return change_case(j, c, QR_J_CAPITALIZE, out);
}

/* Jinja's words begin after blanks, hyphens and opening brackets, unlike those of str.title. */
static bool splits_words(const char *p)
{
    return qr_j_is_space(qr_j_decode(p)) || (*p && strchr("-({[<", *p));
}

static quire_status f_title(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    struct qr_j_sb sb;
    struct qr_j_value part;
    QR_TRY(self_str(j, c, &s));
    qr_j_sb_init(&sb, j);
    for (size_t off = 0, end; off < s->n; off = end) {
        const size_t first = qr_j_char_len(s->p[off]);
        const bool between = splits_words(s->p + off);
        end = off + first;
        while (end < s->n && splits_words(s->p + end) == between)
            end += qr_j_char_len(s->p[end]);
        QR_TRY(qr_j_cut(j, s, off, first, &part));
        QR_TRY(qr_j_change_case(j, part.s, QR_J_UPPER, &part));
        QR_TRY(qr_j_sb_str(&sb, part.s));
        QR_TRY(qr_j_cut(j, s, off + first, end - off - first, &part));
        QR_TRY(qr_j_change_case(j, part.s, QR_J_LOWER, &part));
        QR_TRY(qr_j_sb_str(&sb, part.s));
    }
    return qr_j_sb_done(&sb, out);
}

/* str(value).strip(chars). */
static quire_status f_trim(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    QR_TRY(self_str(j, c, &s));
    return qr_j_strip(j, s, c->a[0], QR_J_STRIP_LEFT | QR_J_STRIP_RIGHT, out);
}

static quire_status f_replace(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s, *old, *new_;
    int64_t count = -1;
    QR_TRY(self_str(j, c, &s));
    QR_TRY(qr_j_to_str(j, c->a[0], &old));
    QR_TRY(qr_j_to_str(j, c->a[1], &new_));
    if (qr_j_given(c->a[2]) && c->a[2].type != QR_J_NONE)
        QR_TRY(qr_j_want_int(j, c->a[2], &count));
    return qr_j_replace(j, s, old, new_, count, out);
}

static quire_status f_string(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    QR_TRY(self_str(j, c, &s));
    *out = qr_j_str_value(s);
    return QUIRE_OK;
}

/* Nothing is escaped unasked here; the mark matters only to + and |escape. */
static quire_status f_safe(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    struct qr_j_str *safe;
    QR_TRY(self_str(j, c, &s));
    QR_J_NEW(j, safe, 1);
    *safe = *s;
    safe->safe = true;
    *out = qr_j_str_value(safe);
    return QUIRE_OK;
}

static quire_status f_escape(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    QR_TRY(self_str(j, c, &s));
    return qr_j_html_escape(j, s, out);
}

/* Escapes even what is marked as escaped. */
static quire_status f_forceescape(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    QR_TRY(self_str(j, c, &s));
    const struct qr_j_str plain = { .p = s->p, .n = s->n, .mark = s->mark, .user = s->user };
    return qr_j_html_escape(j, &plain, out);
}

static quire_status f_center(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    int64_t width = 80;
    QR_TRY(self_str(j, c, &s));
    if (qr_j_given(c->a[0]))
        QR_TRY(qr_j_want_int(j, c->a[0], &width));
    return qr_j_pad(j, s, width, NULL, QR_J_ALIGN_CENTER, out);
}

static quire_status f_format(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    const struct qr_j_args *args = c->args;
    QR_TRY(self_str(j, c, &s));
    if (args->n_kw) {
        struct qr_j_dict *d;
        if (args->n_pos)
            return qr_j_type_error(
                j, "can't handle positional and keyword arguments at the same time");
        QR_TRY(qr_j_dict_new(j, &d));
        for (size_t i = 0; i < args->n_kw; i++)
            QR_TRY(qr_j_dict_set(j, d, args->kw_names[i], args->kw_values[i]));
        return qr_j_percent_format(j, s, qr_j_dict_value(d), out);
    }
    struct qr_j_list *values;
    QR_TRY(qr_j_list_new(j, QR_J_TUPLE, args->n_pos, &values));
    for (size_t i = 0; i < args->n_pos; i++)
        values->items[i] = args->pos[i];
    return qr_j_percent_format(j, s, qr_j_list_value(values), out);
}

/* Items are printed, so they need not be text. */
static quire_status f_join(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *sep = NULL;
    struct qr_j_list items;
    struct qr_j_sb sb;
    struct qr_j_value v;
    if (qr_j_given(c->a[0]))
        QR_TRY(qr_j_to_str(j, c->a[0], &sep));
    QR_TRY(qr_j_items(j, c->self, &items));
    qr_j_sb_init(&sb, j);
    for (size_t i = 0; i < items.n; i++) {
        QR_TRY(qr_j_step(j, 1));
        if (i && sep)
            QR_TRY(qr_j_sb_str(&sb, sep));
        QR_TRY(qr_j_attr_path(j, items.items[i], c->a[1], qr_j_missing(), &v));
        QR_TRY(qr_j_sb_value(&sb, v));
    }
    return qr_j_sb_done(&sb, out);
}

/* The lines of s after the first are indented; blank ones too if `blank`. */
static quire_status f_indent(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s, *indent;
    struct qr_j_list *lines;
    struct qr_j_sb sb;
    struct qr_j_value unit;
    int64_t width = 4;
    QR_TRY(qr_j_want_str(j, c->self, &s));
    if (c->a[0].type == QR_J_STR) {
        indent = c->a[0].s;
    } else {
        if (qr_j_given(c->a[0]))
            QR_TRY(qr_j_want_int(j, c->a[0], &width));
        QR_TRY(qr_j_textz(j, " ", &unit));
        QR_TRY(qr_j_repeat(j, unit.s, width, &unit));
        indent = unit.s;
    }
    const bool first = qr_j_truth(c->a[1]), blank = qr_j_truth(c->a[2]);
    /* a newline is added before splitting, so that one at the end yields an empty last line */
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_sb_str(&sb, s));
    QR_TRY(qr_j_sb_addz(&sb, "\n"));
    QR_TRY(qr_j_sb_done(&sb, &unit));
    QR_TRY(qr_j_split_lines(j, unit.s, false, &lines));
    qr_j_sb_init(&sb, j);
    for (size_t i = 0; i < lines->n; i++) {
        const struct qr_j_str *line = lines->items[i].s;
        if (i)
            QR_TRY(qr_j_sb_addz(&sb, "\n"));
        if (i ? blank || line->n : first)
            QR_TRY(qr_j_sb_str(&sb, indent));
        QR_TRY(qr_j_sb_str(&sb, line));
    }
    return qr_j_sb_done(&sb, out);
}

/* Lengths are in characters; a text a little too long (leeway) stays whole. */
static quire_status f_truncate(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    static const struct qr_j_str blank = { .p = " ", .n = 1 }, dots = { .p = "...", .n = 3 };
    const struct qr_j_str *s, *end = &dots;
    int64_t length = 255, leeway = 5, n, end_n;
    size_t cut_at;
    struct qr_j_sb sb;
    if (qr_j_given(c->a[0]))
        QR_TRY(qr_j_want_int(j, c->a[0], &length));
    if (qr_j_given(c->a[2]))
        QR_TRY(qr_j_want_str(j, c->a[2], &end));
    if (qr_j_given(c->a[3]) && c->a[3].type != QR_J_NONE)
        QR_TRY(qr_j_want_int(j, c->a[3], &leeway));
    QR_TRY(qr_j_length(j, c->self, &n));
    QR_TRY(qr_j_length(j, qr_j_str_value(end), &end_n));
    if (length < end_n || leeway < 0)
        return qr_j_type_error(j, "expected length >= %lld, got %lld", (long long)end_n,
                               (long long)length);
    *out = c->self;
    if (n - leeway <= length)
        return QUIRE_OK;
    QR_TRY(qr_j_want_str(j, c->self, &s));
    struct qr_j_str head = *s;
    head.n = qr_j_char_offset(s, (size_t)(length - end_n));
    head.grown = NULL;
    if (!qr_j_truth(c->a[1])) { /* back to the last blank */
        QR_TRY(qr_j_rfind(j, &head, head.n, &blank, &cut_at));
        head.n = cut_at == SIZE_MAX ? head.n : cut_at;
    }
    qr_j_sb_init(&sb, j);
    QR_TRY(qr_j_sb_str(&sb, &head));
    QR_TRY(qr_j_sb_str(&sb, end));
    return qr_j_sb_done(&sb, out);
}

static quire_status f_wordcount(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    const struct qr_j_str *s;
    int64_t n = 0;
    bool in_word = false;
    QR_TRY(self_str(j, c, &s));
    QR_TRY(qr_j_work(j, s->n * 4));
    for (size_t off = 0; off < s->n; off += qr_j_char_len(s->p[off])) {
        const bool word = qr_j_is_word(qr_j_decode(s->p + off));
        n += word && !in_word;
        in_word = word;
    }
    *out = qr_j_int(n);
    return QUIRE_OK;
}

/* Percent escapes of the UTF-8 bytes; in a query a blank is a plus. */
static quire_status put_quoted(struct qr_j_sb *sb, struct qr_j_value v, bool in_query)
{
    static const char hex[] = "0123456789ABCDEF";
    const struct qr_j_str *s;
    QR_TRY(qr_j_to_str(sb->j, v, &s));
    for (size_t i = 0; i < s->n; i++) {
        const unsigned char ch = (unsigned char)s->p[i];
        const bool plain = (ch < 0x80 && qr_j_is_word(ch)) || ch == '-' || ch == '.' || ch == '~' ||
                           (ch == '/' && !in_query);
        const bool user = qr_j_byte_user(s, i);
        if (plain)
            QR_TRY(qr_j_sb_part(sb, s, i, 1));
        else if (ch == ' ' && in_query)
            QR_TRY(qr_j_sb_add(sb, "+", 1, user));
        else
            QR_TRY(qr_j_sb_add(sb, (const char[]){ '%', hex[ch >> 4], hex[ch & 15] }, 3, user));
    }
    return QUIRE_OK;
}

static quire_status f_urlencode(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_sb sb;
    struct qr_j_list pairs, pair;
    struct qr_j_value v = c->self;
    qr_j_sb_init(&sb, j);
    if (v.type == QR_J_STR || !qr_j_is_iterable(v)) {
        QR_TRY(put_quoted(&sb, v, false));
        return qr_j_sb_done(&sb, out);
    }
    if (v.type == QR_J_DICT) {
        const struct qr_j_str items = { .p = "items", .n = 5 };
        bool unsafe;
        QR_TRY(qr_j_call_builtin(j, qr_j_method_find(v, &items, &unsafe), v, c->args, &v));
    }
    QR_TRY(qr_j_items(j, v, &pairs));
    for (size_t i = 0; i < pairs.n; i++) {
        QR_TRY(qr_j_items(j, pairs.items[i], &pair));
        if (pair.n != 2)
            return qr_j_type_error(j, "not enough values to unpack (expected 2, got %zu)", pair.n);
        if (i)
            QR_TRY(qr_j_sb_addz(&sb, "&"));
        QR_TRY(put_quoted(&sb, pair.items[0], true));
        QR_TRY(qr_j_sb_addz(&sb, "="));
        QR_TRY(put_quoted(&sb, pair.items[1], true));
    }
    return qr_j_sb_done(&sb, out);
}

/* Attributes for a tag: none and undefined values are left out. */
static quire_status f_xmlattr(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_sb sb;
    qr_j_sb_init(&sb, j);
    if (c->self.type != QR_J_DICT)
        return qr_j_type_error(j, "'%s' object has no attribute 'items'", qr_j_type_name(c->self));
    for (size_t i = 0; i < c->self.d->n; i++) {
        const struct qr_j_entry *e = &c->self.d->entries[i];
        const struct qr_j_str *key, *value;
        struct qr_j_value escaped;
        if (e->value.type == QR_J_NONE || qr_j_is_undefined(e->value))
            continue;
        QR_TRY(qr_j_to_str(j, e->key, &key));
        for (size_t k = 0; k < key->n; k++)
            if (key->p[k] && strchr(" \t\n\r\f\v/>=", key->p[k]))
                return qr_j_type_error(j, "Invalid character in attribute name");
        QR_TRY(qr_j_to_str(j, e->value, &value));
        if (sb.n || !qr_j_given(c->a[0]) || qr_j_truth(c->a[0]))
            QR_TRY(qr_j_sb_addz(&sb, " "));
        QR_TRY(qr_j_html_escape(j, key, &escaped));
        QR_TRY(qr_j_sb_str(&sb, escaped.s));
        QR_TRY(qr_j_sb_addz(&sb, "=\""));
        QR_TRY(qr_j_html_escape(j, value, &escaped));
        QR_TRY(qr_j_sb_str(&sb, escaped.s));
        QR_TRY(qr_j_sb_addz(&sb, "\""));
    }
    return qr_j_sb_done(&sb, out);
}

/* As Hugging Face defines it: json.dumps with its arguments, nothing escaped for HTML. */
static quire_status f_tojson(struct qr_j *j, const struct qr_j_call *c, struct qr_j_value *out)
{
    struct qr_j_json_style style = { .indent = c->a[1],
                                     .ascii = qr_j_truth(c->a[0]),
                                     .sort_keys = qr_j_truth(c->a[3]) };
    struct qr_j_list pair;
    if (qr_j_given(c->a[2]) && c->a[2].type != QR_J_NONE) {
        QR_TRY(qr_j_items(j, c->a[2], &pair));
        if (pair.n != 2)
            return qr_j_type_error(j, "separators must be two strings");
        style.item_sep = pair.items[0];
        style.key_sep = pair.items[1];
    }
    return qr_j_to_json(j, c->self, &style, out);
}

static const struct qr_j_builtin filters[] = {
    { "capitalize", f_capitalize, "", 0 },
    { "center", f_center, "width", 0 },
    { "e", f_escape, "", 0 },
    { "escape", f_escape, "", 0 },
    { "forceescape", f_forceescape, "", 0 },
    { "format", f_format, "*", 0 },
    { "indent", f_indent, "width first blank", 0 },
    { "join", f_join, "d attribute", 0 },
    { "lower", f_lower, "", 0 },
    { "replace", f_replace, "old new count", 2 },
    { "safe", f_safe, "", 0 },
    { "string", f_string, "", 0 },
    { "title", f_title, "", 0 },
    { "tojson", f_tojson, "ensure_ascii indent separators sort_keys", 0 },
    { "trim", f_trim, "chars", 0 },
    { "truncate", f_truncate, "length killwords end leeway", 0 },
    { "upper", f_upper, "", 0 },
    { "urlencode", f_urlencode, "", 0 },
    { "wordcount", f_wordcount, "", 0 },
    { "xmlattr", f_xmlattr, "autospace", 0 },
};

const struct qr_j_builtin *qr_j_filters_text(size_t *n)
{
    *n = sizeof filters / sizeof *filters;
    return filters;
}
