/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_schema_random.c - random small schemas and values: the grammar accepts a value if
 * and only if a validator, which shares nothing with the compiler but the JSON parser, does. */
#include "grammar_texts.h"
#include "quire_cmocka.h"
#include "json/parse.h"
#include <math.h>
#include <stdlib.h>

enum { TEXT_BYTES = 1 << 16, VALUES = 12 };

static uint64_t seed;

static unsigned draw(unsigned n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

/* ---- Texts */

struct out {
    char text[TEXT_BYTES];
    size_t n;
};

static void put(struct out *o, const char *text)
{
    const size_t n = strlen(text);
    assert_true(o->n + n < sizeof o->text);
    memcpy(o->text + o->n, text, n + 1);
    o->n += n;
}

static const char *const keys[] = { "a", "b", "ab", "c" };

static void put_value(struct out *o, int depth)
{
    static const char *const scalars[] = { "null",  "true",  "false",  "0",      "1",
                                           "2",     "3",     "-1",     "1.5",    "\"\"",
                                           "\"a\"", "\"b\"", "\"ab\"", "\"abc\"" };
    const unsigned kind = depth ? draw(6) : 0, n = draw(4);
    if (kind < 3) {
        put(o, scalars[draw(sizeof scalars / sizeof *scalars)]);
        return;
    }
    put(o, kind < 5 ? "{" : "[");
    unsigned first = draw(4);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            put(o, ",");
        if (kind < 5) {
            put(o, "\"");
            put(o, keys[(first + i) % 4]);
            put(o, "\":");
        }
        put_value(o, depth - 1);
    }
    put(o, kind < 5 ? "}" : "]");
}

static void put_schema(struct out *o, int depth);

static void put_list(struct out *o, const char *open, unsigned n, int depth)
{
    put(o, open);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            put(o, ",");
        put_schema(o, depth);
    }
    put(o, "]");
}

static void put_map(struct out *o, const char *open, int depth)
{
    const unsigned n = 1 + draw(2), first = draw(4);
    put(o, open);
    for (unsigned i = 0; i < n; i++) {
        put(o, i ? ",\"" : "\"");
        put(o, keys[(first + i) % 4]);
        put(o, "\":");
        put_schema(o, depth);
    }
    put(o, "}");
}

static void put_number_keyword(struct out *o, const char *name, unsigned n)
{
    char text[64];
    snprintf(text, sizeof text, "\"%s\":%u", name, draw(n));
    put(o, text);
}

/* A keyword that has no subschemas; `kind` below 12. */
static void put_simple(struct out *o, unsigned kind)
{
    static const char *const types[] = { "null",   "boolean", "integer", "number",
                                         "string", "array",   "object" };
    static const char *const counts[] = { "minLength", "maxLength",     "minItems",
                                          "maxItems",  "minProperties", "maxProperties" };
    if (kind < 2) {
        put(o, "\"type\":\"");
        put(o, types[draw(7)]);
        put(o, "\"");
    } else if (kind < 4) {
        put(o, "\"enum\":[");
        for (unsigned i = 0, n = 1 + draw(3); i < n; i++) {
            put(o, i ? "," : "");
            put_value(o, 2);
        }
        put(o, "]");
    } else if (kind == 4) {
        put(o, "\"const\":");
        put_value(o, 2);
    } else if (kind == 5) {
        put_number_keyword(o, draw(2) ? "minimum" : "exclusiveMinimum", 3);
    } else if (kind == 6) {
        put_number_keyword(o, draw(2) ? "maximum" : "exclusiveMaximum", 4);
    } else if (kind == 7) {
        put(o, draw(2) ? "\"multipleOf\":2" : "\"multipleOf\":1.5");
    } else if (kind == 8) {
        put(o, "\"required\":[\"");
        put(o, keys[draw(4)]);
        put(o, "\"]");
    } else {
        put_number_keyword(o, counts[draw(6)], 4);
    }
}

static void put_schema(struct out *o, int depth)
{
    static const char *const single[] = { "\"not\":", "\"items\":", "\"additionalProperties\":",
                                          "\"contains\":" };
    static const char *const lists[] = { "\"anyOf\":[", "\"oneOf\":[", "\"allOf\":[",
                                         "\"prefixItems\":[" };
    unsigned seen = 0, n = 1 + draw(3);
    if (draw(10) == 0) {
        put(o, draw(2) ? "true" : "false");
        return;
    }
    put(o, "{");
    for (unsigned i = 0; i < n; i++) {
        const unsigned kind = draw(depth ? 24 : 12);
        /* one of a kind, since keys are unique */
        const unsigned bit = kind < 12 ? 1u << (kind >= 9  ? 9
                                                : kind < 4 ? kind / 2
                                                           : kind)
                                       : 1u << kind;
        if (seen & bit)
            continue;
        put(o, seen ? "," : "");
        seen |= bit;
        if (kind < 12) {
            put_simple(o, kind);
        } else if (kind < 16) {
            put(o, single[kind - 12]);
            put_schema(o, depth - 1);
        } else if (kind < 20) {
            put_list(o, lists[kind - 16], 1 + draw(3), depth - 1);
        } else if (kind == 20) {
            put(o, "\"if\":");
            put_schema(o, depth - 1);
            put(o, ",\"then\":");
            put_schema(o, depth - 1);
            put(o, ",\"else\":");
            put_schema(o, depth - 1);
        } else {
            put_map(o, kind == 21 ? "\"dependentSchemas\":{" : "\"properties\":{", depth - 1);
            seen |= kind == 21 ? 0 : 7u << 22;
        }
    }
    put(o, "}");
}

/* ---- The validator */

static bool valid(const struct qr_json *s, const struct qr_json *v);

static bool has_type(const struct qr_json *v, const char *type)
{
    if (strcmp(type, "integer") == 0)
        return qr_json_is_number(v) && qr_json_number(v) == floor(qr_json_number(v));
    return (strcmp(type, "null") == 0 && qr_json_is_null(v)) ||
           (strcmp(type, "boolean") == 0 && qr_json_is_bool(v)) ||
           (strcmp(type, "number") == 0 && qr_json_is_number(v)) ||
           (strcmp(type, "string") == 0 && qr_json_is_string(v)) ||
           (strcmp(type, "array") == 0 && qr_json_is_array(v)) ||
           (strcmp(type, "object") == 0 && qr_json_is_object(v));
}

static bool in_bounds(const struct qr_json *s, const char *min, const char *max, size_t n)
{
    const struct qr_json *low = qr_json_get(s, min), *high = qr_json_get(s, max);
    return (!low || (int64_t)n >= qr_json_integer(low)) &&
           (!high || (int64_t)n <= qr_json_integer(high));
}

static bool valid_scalar(const struct qr_json *s, const struct qr_json *v)
{
    const struct qr_json *k;
    bool found = false;
    if ((k = qr_json_get(s, "type")) && !has_type(v, qr_json_string(k)))
        return false;
    if ((k = qr_json_get(s, "const")) && !qr_json_equal(k, v))
        return false;
    if ((k = qr_json_get(s, "enum"))) {
        for (struct qr_json_iter i = qr_json_iterate(k); qr_json_next(&i);)
            found |= qr_json_equal(i.value, v);
        if (!found)
            return false;
    }
    if (qr_json_is_string(v))
        return in_bounds(s, "minLength", "maxLength", qr_json_string_size(v));
    if (!qr_json_is_number(v))
        return true;
    const double x = qr_json_number(v);
    return (!(k = qr_json_get(s, "minimum")) || x >= qr_json_number(k)) &&
           (!(k = qr_json_get(s, "maximum")) || x <= qr_json_number(k)) &&
           (!(k = qr_json_get(s, "exclusiveMinimum")) || x > qr_json_number(k)) &&
           (!(k = qr_json_get(s, "exclusiveMaximum")) || x < qr_json_number(k)) &&
           (!(k = qr_json_get(s, "multipleOf")) || fmod(x, qr_json_number(k)) == 0);
}

static bool valid_array(const struct qr_json *s, const struct qr_json *v)
{
    const struct qr_json *prefix = qr_json_get(s, "prefixItems"), *items = qr_json_get(s, "items");
    const struct qr_json *contains = qr_json_get(s, "contains");
    bool found = false;
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);) {
        const struct qr_json *item =
            i.index < qr_json_size(prefix) ? qr_json_at(prefix, i.index) : items;
        if (item && !valid(item, i.value))
            return false;
        found |= contains && valid(contains, i.value);
    }
    return in_bounds(s, "minItems", "maxItems", qr_json_size(v)) && (!contains || found);
}

static bool valid_object(const struct qr_json *s, const struct qr_json *v)
{
    const struct qr_json *map = qr_json_get(s, "properties"), *k;
    const struct qr_json *more = qr_json_get(s, "additionalProperties");
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);) {
        const struct qr_json *known = qr_json_get(map, i.key);
        if ((known || more) && !valid(known ? known : more, i.value))
            return false;
    }
    k = qr_json_get(s, "required");
    for (struct qr_json_iter i = qr_json_iterate(k); qr_json_next(&i);)
        if (!qr_json_get(v, qr_json_string(i.value)))
            return false;
    k = qr_json_get(s, "dependentSchemas");
    for (struct qr_json_iter i = qr_json_iterate(k); qr_json_next(&i);)
        if (qr_json_get(v, i.key) && !valid(i.value, v))
            return false;
    return in_bounds(s, "minProperties", "maxProperties", qr_json_size(v));
}

static unsigned count_valid(const struct qr_json *list, const struct qr_json *v)
{
    unsigned n = 0;
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        n += valid(i.value, v);
    return n;
}

static bool valid(const struct qr_json *s, const struct qr_json *v)
{
    const struct qr_json *k;
    if (qr_json_is_bool(s))
        return qr_json_is_true(s);
    if (!valid_scalar(s, v) || (qr_json_is_array(v) && !valid_array(s, v)) ||
        (qr_json_is_object(v) && !valid_object(s, v)))
        return false;
    if ((k = qr_json_get(s, "not")) && valid(k, v))
        return false;
    if ((k = qr_json_get(s, "anyOf")) && !count_valid(k, v))
        return false;
    if ((k = qr_json_get(s, "oneOf")) && count_valid(k, v) != 1)
        return false;
    if ((k = qr_json_get(s, "allOf")) && count_valid(k, v) != qr_json_size(k))
        return false;
    if ((k = qr_json_get(s, "if")))
        return valid(qr_json_get(s, valid(k, v) ? "then" : "else"), v);
    return true;
}

/* ---- Tests */

static void one_schema(uint32_t flags, unsigned counts[3])
{
    static struct out schema, value;
    struct qr_json_error e;
    struct text_grammar g;
    schema.n = 0;
    put_schema(&schema, 1 + (int)draw(3));
    text_grammar_schema(&g, schema.text, schema.n, NULL, flags);
    struct qr_json *s = qr_json_parse(schema.text, schema.n, 0, NULL, &e);
    assert_non_null(s);
    for (unsigned i = 0; i < VALUES; i++) {
        value.n = 0;
        put_value(&value, 3);
        struct qr_json *v = qr_json_parse(value.text, value.n, 0, NULL, &e);
        const bool want = valid(s, v);
        qr_json_free(v);
        if (g.status == QUIRE_OK ? text_accepts(&g, value.text, value.n) != want
                                 : want && strstr(g.err.msg, "no value"))
            fail_msg("%s: %s is %s (%s)", schema.text, value.text, want ? "valid" : "invalid",
                     g.err.msg);
        counts[g.status == QUIRE_OK ? want : 2]++;
    }
    if (g.status != QUIRE_OK && g.status != QUIRE_E_UNSUPPORTED && g.status != QUIRE_E_LIMIT)
        fail_msg("%s: %s", schema.text, g.err.msg);
    qr_json_free(s);
    text_grammar_free(&g);
}

static void as_the_validator(void **state)
{
    (void)state;
    unsigned counts[3] = { 0 };
    seed = 14;
    for (unsigned i = 0; i < 3000; i++)
        one_schema(i % 2 ? QUIRE_GRAMMAR_COMPACT : 0, counts);
    assert_true(counts[0] > 5000 && counts[1] > 5000);
    assert_true(counts[2] < (counts[0] + counts[1]) / 3); /* refused or without values */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(as_the_validator) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
