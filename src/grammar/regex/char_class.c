/* SPDX-License-Identifier: Apache-2.0 */
/* char_class.c - sets of characters of regular expressions. */
#include "grammar/regex/char_class.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { LAST_CHAR = 0x10FFFF };

void qr_char_set_free(struct qr_char_set *set)
{
    qr_free(set->a, set->ranges, set->capacity, sizeof *set->ranges);
    *set = (struct qr_char_set){ .a = set->a };
}

bool qr_char_set_add(struct qr_char_set *set, uint32_t first, uint32_t last)
{
    if (set->n == set->capacity &&
        !qr_grow(set->a, (void **)&set->ranges, &set->capacity, set->n + 8, sizeof *set->ranges))
        return false;
    set->ranges[set->n++] = (struct qr_char_range){ first, last };
    return true;
}

bool qr_char_set_add_set(struct qr_char_set *set, const struct qr_char_set *other)
{
    for (size_t i = 0; i < other->n; i++)
        if (!qr_char_set_add(set, other->ranges[i].first, other->ranges[i].last))
            return false;
    return true;
}

static int by_first(const void *a, const void *b)
{
    const struct qr_char_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

void qr_char_set_normalize(struct qr_char_set *set)
{
    size_t n = 0;
    if (!set->n)
        return;
    qsort(set->ranges, set->n, sizeof *set->ranges, by_first);
    for (size_t i = 1; i < set->n; i++) {
        struct qr_char_range *last = &set->ranges[n];
        const struct qr_char_range r = set->ranges[i];
        if (r.first <= last->last + 1)
            last->last = last->last > r.last ? last->last : r.last;
        else
            set->ranges[++n] = r;
    }
    set->n = n + 1;
}

bool qr_char_set_negate(struct qr_char_set *set)
{
    struct qr_char_set out = { .a = set->a };
    uint32_t next = 0;
    bool ok = true;
    qr_char_set_normalize(set);
    for (size_t i = 0; ok && i < set->n; i++) {
        if (set->ranges[i].first > next)
            ok = qr_char_set_add(&out, next, set->ranges[i].first - 1);
        next = set->ranges[i].last + 1;
    }
    if (ok && next <= LAST_CHAR)
        ok = qr_char_set_add(&out, next, LAST_CHAR);
    qr_char_set_free(set);
    *set = out;
    return ok;
}

bool qr_char_set_add_escape(struct qr_char_set *set, char letter)
{
    static const struct qr_char_range digits[] = { { '0', '9' } };
    static const struct qr_char_range words[] = {
        { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
    };
    /* WhiteSpace and LineTerminator of ECMA 262 */
    static const struct qr_char_range spaces[] = {
        { 9, 13 },          { ' ', ' ' },       { 0xA0, 0xA0 },     { 0x1680, 0x1680 },
        { 0x2000, 0x200A }, { 0x2028, 0x2029 }, { 0x202F, 0x202F }, { 0x205F, 0x205F },
        { 0x3000, 0x3000 }, { 0xFEFF, 0xFEFF },
    };
    const struct qr_char_range *list = letter == 'd' ? digits : letter == 'w' ? words : spaces;
    const size_t n = letter == 'd' ? 1 : letter == 'w' ? 4 : sizeof spaces / sizeof *spaces;
    return qr_char_set_add_set(set, &(struct qr_char_set){ .ranges = (void *)list, .n = n });
}

/* ---- General categories */

struct category {
    const char *name, *long_name;
};

/* In the order of utf8proc_category_t. */
static const struct category categories[] = {
    { "Cn", "Unassigned" },
    { "Lu", "Uppercase_Letter" },
    { "Ll", "Lowercase_Letter" },
    { "Lt", "Titlecase_Letter" },
    { "Lm", "Modifier_Letter" },
    { "Lo", "Other_Letter" },
    { "Mn", "Nonspacing_Mark" },
    { "Mc", "Spacing_Mark" },
    { "Me", "Enclosing_Mark" },
    { "Nd", "Decimal_Number" },
    { "Nl", "Letter_Number" },
    { "No", "Other_Number" },
    { "Pc", "Connector_Punctuation" },
    { "Pd", "Dash_Punctuation" },
    { "Ps", "Open_Punctuation" },
    { "Pe", "Close_Punctuation" },
    { "Pi", "Initial_Punctuation" },
    { "Pf", "Final_Punctuation" },
    { "Po", "Other_Punctuation" },
    { "Sm", "Math_Symbol" },
    { "Sc", "Currency_Symbol" },
    { "Sk", "Modifier_Symbol" },
    { "So", "Other_Symbol" },
    { "Zs", "Space_Separator" },
    { "Zl", "Line_Separator" },
    { "Zp", "Paragraph_Separator" },
    { "Cc", "Control" },
    { "Cf", "Format" },
    { "Cs", "Surrogate" },
    { "Co", "Private_Use" },
};

static const struct category groups[] = {
    { "L", "Letter" }, { "M", "Mark" },           { "N", "Number" }, { "P", "Punctuation" },
    { "S", "Symbol" }, { "Z", "Separator" },      { "C", "Other" },  { "N", "digit" },
    { "P", "punct" },  { "M", "Combining_Mark" },
};

static bool is_name(const char *name, size_t size, const char *known)
{
    return strlen(known) == size && memcmp(name, known, size) == 0;
}

/* The categories that a name stands for, bit i = category i. */
static uint32_t category_mask(const char *name, size_t size)
{
    uint32_t mask = 0;
    enum { N = sizeof categories / sizeof *categories };
    if (is_name(name, size, "digit"))
        return 1u << UTF8PROC_CATEGORY_ND;
    for (size_t i = 0; i < N; i++)
        if (is_name(name, size, categories[i].name) || is_name(name, size, categories[i].long_name))
            return 1u << i;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        if (is_name(name, size, groups[g].name) || is_name(name, size, groups[g].long_name))
            for (size_t i = 0; i < N; i++)
                if (categories[i].name[0] == groups[g].name[0])
                    mask |= 1u << i;
    return mask;
}

bool qr_char_set_add_property(struct qr_char_set *set, const char *name, size_t size, bool *known)
{
    static const char *const prefixes[] = { "gc=", "General_Category=" };
    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(prefixes[i]);
        if (size > n && memcmp(name, prefixes[i], n) == 0) {
            name += n;
            size -= n;
        }
    }
    *known = true;
    if (is_name(name, size, "Any"))
        return qr_char_set_add(set, 0, LAST_CHAR);
    if (is_name(name, size, "ASCII"))
        return qr_char_set_add(set, 0, 0x7F);
    const uint32_t mask = category_mask(name, size);
    *known = mask;
    for (uint32_t first = 0; mask && first <= LAST_CHAR; first++) {
        uint32_t end = first;
        while (end <= LAST_CHAR && mask >> utf8proc_category((utf8proc_int32_t)end) & 1)
            end++;
        if (end > first && !qr_char_set_add(set, first, end - 1))
            return false;
        first = end;
    }
    return true;
}
