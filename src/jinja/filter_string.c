/* SPDX-License-Identifier: Apache-2.0 */
/* filter_string.c - filters that return strings. */
#include "jinja/filter_string.h"
#include "base/error.h"
#include "jinja/args.h"
#include "jinja/attr.h"
#include "jinja/builtin.h"
#include "jinja/case_map.h"
#include "jinja/dict.h"
#include "jinja/interp.h"
#include "jinja/iterate.h"
#include "jinja/method.h"
#include "jinja/percent_format.h"
#include "jinja/print.h"
#include "jinja/str.h"
#include "jinja/string_builder.h"
#include "jinja/to_json.h"
#include "jinja/unicode.h"
#include "jinja/value.h"
#include <string.h>

static quire_status self_str(struct qr_jinja *j, const struct qr_jinja_call *c,
                             const struct qr_jinja_str **out)
{
    return qr_jinja_to_str(j, c->self, out);
}

static quire_status change_case(struct qr_jinja *j, const struct qr_jinja_call *c,
                                enum qr_jinja_case how, struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    QR_TRY(self_str(j, c, &s));
    return qr_jinja_map_case(j, s, how, out);
}

static quire_status f_upper(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return change_case(j, c, QR_JINJA_CASE_UPPER, out);
}

static quire_status f_lower(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    return change_case(j, c, QR_JINJA_CASE_LOWER, out);
}

static quire_status f_capitalize(struct qr_jinja *j, const struct qr_jinja_call *c,
                                 struct qr_jinja_value *out)
{
    return change_case(j, c, QR_JINJA_CASE_CAPITALIZE, out);
}

/* Words of the title filter begin after white space, hyphens and opening brackets, unlike those of
 * str.title. */
static bool is_word_separator(const char *p)
{
    return qr_jinja_is_space(qr_jinja_utf8_decode(p)) || (*p && strchr("-({[<", *p));
}

static quire_status f_title(struct qr_jinja *j, const struct qr_jinja_call *c,
                            struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    struct qr_jinja_sb sb;
    struct qr_jinja_value part;
    QR_TRY(self_str(j, c, &s));
    qr_jinja_sb_init(&sb, j);
    for (size_t off = 0, end; off < s->n; off = end) {
        const size_t first = qr_jinja_utf8_len(s->p[off]);
        const bool between = is_word_separator(s->p + off);
        end = off + first;
        while (end < s->n && is_word_separator(s->p + end) == between)
            end += qr_jinja_utf8_len(s->p[end]);
        QR_TRY(qr_jinja_substr(j, s, off, first, &part));
        QR_TRY(qr_jinja_map_case(j, part.s, QR_JINJA_CASE_UPPER, &part));
        QR_TRY(qr_jinja_sb_append_str(&sb, part.s));
        QR_TRY(qr_jinja_substr(j, s, off + first, end - off - first, &part));
        QR_TRY(qr_jinja_map_case(j, part.s, QR_JINJA_CASE_LOWER, &part));
        QR_TRY(qr_jinja_sb_append_str(&sb, part.s));
    }
    return qr_jinja_sb_finish(&sb, out);
}

/* str(value).strip(chars). */
static quire_status f_trim(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    QR_TRY(self_str(j, c, &s));
    return qr_jinja_str_strip(j, s, c->arg[0], QR_JINJA_STRIP_LEFT | QR_JINJA_STRIP_RIGHT, out);
}

static quire_status f_replace(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s, *old, *new_;
    int64_t count = -1;
    QR_TRY(self_str(j, c, &s));
    QR_TRY(qr_jinja_to_str(j, c->arg[0], &old));
    QR_TRY(qr_jinja_to_str(j, c->arg[1], &new_));
    if (qr_jinja_is_given(c->arg[2]) && c->arg[2].type != QR_JINJA_NONE)
        QR_TRY(qr_jinja_expect_int(j, c->arg[2], &count));
    return qr_jinja_str_replace(j, s, old, new_, count, out);
}

static quire_status f_string(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    QR_TRY(self_str(j, c, &s));
    *out = qr_jinja_str_value(s);
    return QUIRE_OK;
}

/* Without autoescape, `safe` affects only + and |escape. */
static quire_status f_safe(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    struct qr_jinja_str *safe;
    QR_TRY(self_str(j, c, &s));
    QR_JINJA_NEW(j, safe, 1);
    *safe = *s;
    safe->safe = true;
    *out = qr_jinja_str_value(safe);
    return QUIRE_OK;
}

static quire_status f_escape(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    QR_TRY(self_str(j, c, &s));
    return qr_jinja_html_escape(j, s, out);
}

/* Escapes safe strings as well. */
static quire_status f_forceescape(struct qr_jinja *j, const struct qr_jinja_call *c,
                                  struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    QR_TRY(self_str(j, c, &s));
    const struct qr_jinja_str plain = {
        .p = s->p, .n = s->n, .taint = s->taint, .tainted = s->tainted
    };
    return qr_jinja_html_escape(j, &plain, out);
}

static quire_status f_center(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    int64_t width = 80;
    QR_TRY(self_str(j, c, &s));
    if (qr_jinja_is_given(c->arg[0]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[0], &width));
    return qr_jinja_str_pad(j, s, width, NULL, QR_JINJA_ALIGN_CENTER, out);
}

static quire_status f_format(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    const struct qr_jinja_args *args = c->args;
    QR_TRY(self_str(j, c, &s));
    if (args->n_kw) {
        struct qr_jinja_dict *d;
        if (args->n_pos)
            return qr_jinja_type_error(
                j, "can't handle positional and keyword arguments at the same time");
        QR_TRY(qr_jinja_dict_new(j, &d));
        for (size_t i = 0; i < args->n_kw; i++)
            QR_TRY(qr_jinja_dict_set(j, d, args->kw_names[i], args->kw_values[i]));
        return qr_jinja_percent_format(j, s, qr_jinja_dict_value(d), out);
    }
    struct qr_jinja_list *values;
    QR_TRY(qr_jinja_list_new(j, QR_JINJA_LIST_TUPLE, args->n_pos, &values));
    for (size_t i = 0; i < args->n_pos; i++)
        values->items[i] = args->pos[i];
    return qr_jinja_percent_format(j, s, qr_jinja_list_value(values), out);
}

/* Converts items with str(), unlike str.join. */
static quire_status f_join(struct qr_jinja *j, const struct qr_jinja_call *c,
                           struct qr_jinja_value *out)
{
    const struct qr_jinja_str *sep = NULL;
    struct qr_jinja_list items;
    struct qr_jinja_sb sb;
    struct qr_jinja_value v;
    if (qr_jinja_is_given(c->arg[0]))
        QR_TRY(qr_jinja_to_str(j, c->arg[0], &sep));
    QR_TRY(qr_jinja_iterate(j, c->self, &items));
    qr_jinja_sb_init(&sb, j);
    for (size_t i = 0; i < items.n; i++) {
        QR_TRY(qr_jinja_charge(j, 1));
        if (i && sep)
            QR_TRY(qr_jinja_sb_append_str(&sb, sep));
        QR_TRY(qr_jinja_getattr_path(j, items.items[i], c->arg[1], qr_jinja_missing(), &v));
        QR_TRY(qr_jinja_print_str(&sb, v));
    }
    return qr_jinja_sb_finish(&sb, out);
}

/* indent(width, first, blank): indents lines; the first line and blank lines only on request. */
static quire_status f_indent(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s, *indent;
    struct qr_jinja_list *lines;
    struct qr_jinja_sb sb;
    struct qr_jinja_value unit;
    int64_t width = 4;
    QR_TRY(qr_jinja_expect_str(j, c->self, &s));
    if (c->arg[0].type == QR_JINJA_STR) {
        indent = c->arg[0].s;
    } else {
        if (qr_jinja_is_given(c->arg[0]))
            QR_TRY(qr_jinja_expect_int(j, c->arg[0], &width));
        QR_TRY(qr_jinja_str_literal(j, " ", &unit));
        QR_TRY(qr_jinja_str_repeat(j, unit.s, width, &unit));
        indent = unit.s;
    }
    const bool first = qr_jinja_truth(c->arg[1]), blank = qr_jinja_truth(c->arg[2]);
    /* A newline is added before splitting, so that a trailing newline yields an empty last line. */
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_sb_append_str(&sb, s));
    QR_TRY(qr_jinja_sb_append_literal(&sb, "\n"));
    QR_TRY(qr_jinja_sb_finish(&sb, &unit));
    QR_TRY(qr_jinja_str_splitlines(j, unit.s, false, &lines));
    qr_jinja_sb_init(&sb, j);
    for (size_t i = 0; i < lines->n; i++) {
        const struct qr_jinja_str *line = lines->items[i].s;
        if (i)
            QR_TRY(qr_jinja_sb_append_literal(&sb, "\n"));
        if (i ? blank || line->n : first)
            QR_TRY(qr_jinja_sb_append_str(&sb, indent));
        QR_TRY(qr_jinja_sb_append_str(&sb, line));
    }
    return qr_jinja_sb_finish(&sb, out);
}

/* truncate(length, killwords, end, leeway): lengths in characters; strings of up to length + leeway
 * are kept. */
static quire_status f_truncate(struct qr_jinja *j, const struct qr_jinja_call *c,
                               struct qr_jinja_value *out)
{
    static const struct qr_jinja_str blank = { .p = " ", .n = 1 }, dots = { .p = "...", .n = 3 };
    const struct qr_jinja_str *s, *end = &dots;
    int64_t length = 255, leeway = 5, n, end_n;
    size_t cut_at;
    struct qr_jinja_sb sb;
    if (qr_jinja_is_given(c->arg[0]))
        QR_TRY(qr_jinja_expect_int(j, c->arg[0], &length));
    if (qr_jinja_is_given(c->arg[2]))
        QR_TRY(qr_jinja_expect_str(j, c->arg[2], &end));
    if (qr_jinja_is_given(c->arg[3]) && c->arg[3].type != QR_JINJA_NONE)
        QR_TRY(qr_jinja_expect_int(j, c->arg[3], &leeway));
    QR_TRY(qr_jinja_length(j, c->self, &n));
    QR_TRY(qr_jinja_length(j, qr_jinja_str_value(end), &end_n));
    if (leeway < 0)
        return qr_jinja_type_error(j, "expected leeway >= 0, got %lld", (long long)leeway);
    if (length < end_n)
        return qr_jinja_type_error(j, "expected length >= %lld, got %lld", (long long)end_n,
                                   (long long)length);
    *out = c->self;
    if (n - leeway <= length)
        return QUIRE_OK;
    QR_TRY(qr_jinja_expect_str(j, c->self, &s));
    struct qr_jinja_str head = *s;
    head.n = qr_jinja_char_offset(s, (size_t)(length - end_n));
    head.builder = NULL;
    if (!qr_jinja_truth(c->arg[1])) { /* truncate at a word boundary */
        QR_TRY(qr_jinja_str_rfind(j, &head, head.n, &blank, &cut_at));
        head.n = cut_at == SIZE_MAX ? head.n : cut_at;
    }
    qr_jinja_sb_init(&sb, j);
    QR_TRY(qr_jinja_sb_append_str(&sb, &head));
    QR_TRY(qr_jinja_sb_append_str(&sb, end));
    return qr_jinja_sb_finish(&sb, out);
}

static quire_status f_wordcount(struct qr_jinja *j, const struct qr_jinja_call *c,
                                struct qr_jinja_value *out)
{
    const struct qr_jinja_str *s;
    int64_t n = 0;
    bool in_word = false;
    QR_TRY(self_str(j, c, &s));
    QR_TRY(qr_jinja_charge_bytes(j, s->n * 4));
    for (size_t off = 0; off < s->n; off += qr_jinja_utf8_len(s->p[off])) {
        const bool word = qr_jinja_is_word(qr_jinja_utf8_decode(s->p + off));
        n += word && !in_word;
        in_word = word;
    }
    *out = qr_jinja_int(n);
    return QUIRE_OK;
}

/* Percent-encodes the UTF-8 bytes of str(v); in a query a blank becomes a plus. */
static quire_status put_quoted(struct qr_jinja_sb *sb, struct qr_jinja_value v, bool in_query)
{
    static const char hex[] = "0123456789ABCDEF";
    const struct qr_jinja_str *s;
    QR_TRY(qr_jinja_to_str(sb->j, v, &s));
    for (size_t i = 0; i < s->n; i++) {
        const unsigned char ch = (unsigned char)s->p[i];
        const bool plain = (ch < 0x80 && qr_jinja_is_word(ch)) || ch == '-' || ch == '.' ||
                           ch == '~' || (ch == '/' && !in_query);
        const bool tainted = qr_jinja_byte_tainted(s, i);
        if (plain)
            QR_TRY(qr_jinja_sb_append_range(sb, s, i, 1));
        else if (ch == ' ' && in_query)
            QR_TRY(qr_jinja_sb_append(sb, "+", 1, tainted));
        else
            QR_TRY(qr_jinja_sb_append(sb, (const char[]){ '%', hex[ch >> 4], hex[ch & 15] }, 3,
                                      tainted));
    }
    return QUIRE_OK;
}

static quire_status f_urlencode(struct qr_jinja *j, const struct qr_jinja_call *c,
                                struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    struct qr_jinja_list pairs, pair;
    struct qr_jinja_value v = c->self;
    qr_jinja_sb_init(&sb, j);
    if (v.type == QR_JINJA_STR || !qr_jinja_is_iterable(v)) {
        QR_TRY(put_quoted(&sb, v, false));
        return qr_jinja_sb_finish(&sb, out);
    }
    if (v.type == QR_JINJA_DICT) {
        const struct qr_jinja_str items = { .p = "items", .n = 5 };
        bool unsafe;
        QR_TRY(qr_jinja_call_builtin(j, qr_jinja_method_find(v, &items, &unsafe), v, c->args, &v));
    }
    QR_TRY(qr_jinja_iterate(j, v, &pairs));
    for (size_t i = 0; i < pairs.n; i++) {
        QR_TRY(qr_jinja_iterate(j, pairs.items[i], &pair));
        if (pair.n != 2)
            return qr_jinja_type_error(j, "not enough values to unpack (expected 2, got %zu)",
                                       pair.n);
        if (i)
            QR_TRY(qr_jinja_sb_append_literal(&sb, "&"));
        QR_TRY(put_quoted(&sb, pair.items[0], true));
        QR_TRY(qr_jinja_sb_append_literal(&sb, "="));
        QR_TRY(put_quoted(&sb, pair.items[1], true));
    }
    return qr_jinja_sb_finish(&sb, out);
}

/* Attributes of an HTML tag, without those that are none or undefined. */
static quire_status f_xmlattr(struct qr_jinja *j, const struct qr_jinja_call *c,
                              struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    qr_jinja_sb_init(&sb, j);
    if (c->self.type != QR_JINJA_DICT)
        return qr_jinja_type_error(j, "'%s' object has no attribute 'items'",
                                   qr_jinja_type_name(c->self));
    for (size_t i = 0; i < c->self.d->n; i++) {
        const struct qr_jinja_entry *e = &c->self.d->entries[i];
        const struct qr_jinja_str *key, *value;
        struct qr_jinja_value escaped;
        if (e->value.type == QR_JINJA_NONE || qr_jinja_is_undefined(e->value))
            continue;
        QR_TRY(qr_jinja_expect_str(j, e->key, &key));
        for (size_t k = 0; k < key->n; k++)
            if (key->p[k] && strchr(" \t\n\r\f\v/>=", key->p[k]))
                return qr_jinja_type_error(j, "Invalid character in attribute name");
        QR_TRY(qr_jinja_to_str(j, e->value, &value));
        if (sb.n || !qr_jinja_is_given(c->arg[0]) || qr_jinja_truth(c->arg[0]))
            QR_TRY(qr_jinja_sb_append_literal(&sb, " "));
        QR_TRY(qr_jinja_html_escape(j, key, &escaped));
        QR_TRY(qr_jinja_sb_append_str(&sb, escaped.s));
        QR_TRY(qr_jinja_sb_append_literal(&sb, "=\""));
        QR_TRY(qr_jinja_html_escape(j, value, &escaped));
        QR_TRY(qr_jinja_sb_append_str(&sb, escaped.s));
        QR_TRY(qr_jinja_sb_append_literal(&sb, "\""));
    }
    return qr_jinja_sb_finish(&sb, out);
}

/* As defined by Hugging Face: json.dumps with its arguments and without HTML escapes. */
static quire_status f_tojson(struct qr_jinja *j, const struct qr_jinja_call *c,
                             struct qr_jinja_value *out)
{
    struct qr_jinja_json_options options = { .indent = c->arg[1],
                                             .ascii = qr_jinja_truth(c->arg[0]),
                                             .sort_keys = qr_jinja_truth(c->arg[3]) };
    struct qr_jinja_list pair;
    if (qr_jinja_is_given(c->arg[2]) && c->arg[2].type != QR_JINJA_NONE) {
        QR_TRY(qr_jinja_iterate(j, c->arg[2], &pair));
        if (pair.n != 2)
            return qr_jinja_type_error(j, "separators must be two strings");
        options.item_sep = pair.items[0];
        options.key_sep = pair.items[1];
    }
    return qr_jinja_to_json(j, c->self, &options, out);
}

static const struct qr_jinja_builtin filters[] = {
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

const struct qr_jinja_builtin *qr_jinja_filters_string(size_t *n)
{
    *n = sizeof filters / sizeof *filters;
    return filters;
}
