/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - values of a parsed JSON document. */
#include "json/json.h"
#include "base/dtoa.h"
#include "base/error.h"
#include "json/parse.h"
#include <string.h>

/* ---- Types */

/* First character of a value; NUL for a missing one. */
static char first(const struct qr_json *v) { return v ? *qr_json_text(v) : 0; }

static bool is_container(char c)
{
    return c == '{' || c == '[' || c == QR_JSON_EMPTY_OBJECT || c == QR_JSON_EMPTY_ARRAY;
}

bool qr_json_is_object(const struct qr_json *v)
{
    return first(v) == '{' || first(v) == QR_JSON_EMPTY_OBJECT;
}

bool qr_json_is_array(const struct qr_json *v)
{
    return first(v) == '[' || first(v) == QR_JSON_EMPTY_ARRAY;
}

bool qr_json_is_string(const struct qr_json *v) { return first(v) == '"'; }

bool qr_json_is_number(const struct qr_json *v)
{
    return first(v) == '-' || (first(v) >= '0' && first(v) <= '9');
}

bool qr_json_is_bool(const struct qr_json *v) { return first(v) == 't' || first(v) == 'f'; }

bool qr_json_is_true(const struct qr_json *v) { return first(v) == 't'; }

bool qr_json_is_null(const struct qr_json *v) { return first(v) == 'n'; }

/* ---- Scalars */

const char *qr_json_string(const struct qr_json *v)
{
    return qr_json_is_string(v) ? qr_json_text(v) + 1 : NULL;
}

size_t qr_json_string_size(const struct qr_json *v)
{
    return qr_json_is_string(v) ? strlen(qr_json_string(v)) : 0;
}

static size_t number_size(const char *p) { return strspn(p, "+-.0123456789eE"); }

bool qr_json_is_integer(const struct qr_json *v)
{
    if (!qr_json_is_number(v))
        return false;
    const char *p = qr_json_text(v);
    const size_t n = number_size(p);
    int64_t value;
    return strcspn(p, ".eE") >= n && qr_json_read_integer(p, n, &value);
}

int64_t qr_json_integer(const struct qr_json *v)
{
    int64_t value = 0;
    if (qr_json_is_integer(v))
        (void)qr_json_read_integer(qr_json_text(v), number_size(qr_json_text(v)), &value);
    return value;
}

double qr_json_number(const struct qr_json *v)
{
    double value = 0;
    if (!qr_json_is_number(v))
        return 0;
    const char *p = qr_json_text(v);
    const bool negative = *p == '-';
    (void)qr_strtod(p + negative, number_size(p) - negative, &value);
    return negative ? -value : value;
}

/* ---- Containers */

/* The node after a value. */
static const struct qr_json *skip(const struct qr_json *v)
{
    return first(v) == '{' || first(v) == '[' ? v + v[1].at : v + 1;
}

struct qr_json_iter qr_json_iterate(const struct qr_json *v)
{
    struct qr_json_iter i = { .index = SIZE_MAX };
    if (!is_container(first(v)))
        return i;
    i.object_ = qr_json_is_object(v);
    i.end_ = skip(v);
    i.next_ = i.end_ == v + 1 ? i.end_ : v + 2;
    return i;
}

bool qr_json_next(struct qr_json_iter *i)
{
    if (i->next_ == i->end_)
        return false;
    if (i->object_)
        i->key = qr_json_string(i->next_++);
    i->value = i->next_;
    i->next_ = skip(i->value);
    i->index++;
    return true;
}

const struct qr_json *qr_json_get_n(const struct qr_json *object, const char *key, size_t n)
{
    const struct qr_json *found = NULL;
    if (!qr_json_is_object(object))
        return NULL;
    for (struct qr_json_iter i = qr_json_iterate(object); qr_json_next(&i);) {
        QR_INVARIANT(i.key); /* members of objects have one */
        if (strnlen(i.key, n + 1) == n && memcmp(i.key, key, n) == 0) /* `key` may hold U+0000 */
            found = i.value;
    }
    return found;
}

const struct qr_json *qr_json_get(const struct qr_json *object, const char *key)
{
    return qr_json_get_n(object, key, strlen(key));
}

size_t qr_json_size(const struct qr_json *v)
{
    struct qr_json_iter i = qr_json_iterate(v);
    while (qr_json_next(&i))
        ;
    return i.index + 1;
}

const struct qr_json *qr_json_at(const struct qr_json *array, size_t index)
{
    if (!qr_json_is_array(array))
        return NULL;
    for (struct qr_json_iter i = qr_json_iterate(array); qr_json_next(&i);)
        if (i.index == index)
            return i.value;
    return NULL;
}

/* ---- Output */

size_t qr_json_quote(char *out, const char *s, size_t n)
{
    static const char hex[] = "0123456789abcdef", letters[] = "btn\0fr"; /* of 0x08 .. 0x0D */
    char *p = out;
    *p++ = '"';
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        const char letter = c == '"' || c == '\\'    ? (char)c
                            : c >= 0x08 && c <= 0x0D ? letters[c - 0x08]
                                                     : 0;
        if (letter) {
            *p++ = '\\';
            *p++ = letter;
        } else if (c < 0x20) {
            memcpy(p, "\\u00", 4);
            p[4] = hex[c >> 4];
            p[5] = hex[c & 15];
            p += 6;
        } else {
            *p++ = (char)c;
        }
    }
    *p++ = '"';
    return (size_t)(p - out);
}

/* ---- Comparison */

static bool equal_contents(const struct qr_json *a, const struct qr_json *b)
{
    struct qr_json_iter i = qr_json_iterate(a), k = qr_json_iterate(b);
    while (qr_json_next(&i)) {
        if (!qr_json_next(&k))
            return false;
        if (!qr_json_equal(i.value, i.key ? qr_json_get(b, i.key) : k.value))
            return false;
    }
    return !qr_json_next(&k);
}

bool qr_json_equal(const struct qr_json *a, const struct qr_json *b)
{
    if (qr_json_is_number(a) && qr_json_is_number(b))
        return qr_json_is_integer(a) && qr_json_is_integer(b)
                   ? qr_json_integer(a) == qr_json_integer(b)
                   : qr_json_number(a) == qr_json_number(b);
    if (qr_json_is_string(a) && qr_json_is_string(b))
        return strcmp(qr_json_string(a), qr_json_string(b)) == 0;
    const bool objects = qr_json_is_object(a) && qr_json_is_object(b);
    if (objects || (qr_json_is_array(a) && qr_json_is_array(b)))
        return equal_contents(a, b);
    return (qr_json_is_bool(a) || qr_json_is_null(a)) && first(a) == first(b);
}
