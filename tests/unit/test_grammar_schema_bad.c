/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_schema_bad.c - hostile schemas end with a result or an error within the limits; no
 * memory is an error, too. */
#include "grammar_texts.h"
#include "quire_cmocka.h"
#include <stdlib.h>

enum { BUFFER_BYTES = 16 << 20 };

static char *buffer;
static size_t used;

static void add(const char *format, unsigned i)
{
    used += (size_t)snprintf(buffer + used, BUFFER_BYTES - used, format, i, i, i);
    assert_true(used < BUFFER_BYTES);
}

static quire_status compile(double seconds, double *took)
{
    struct text_grammar g;
    qr_node node;
    struct qr_front_end f = text_grammar_begin(&g, 0, seconds);
    const double begin = text_now();
    const quire_status status = qr_schema_build(&f, buffer, used, &node, &g.err);
    *took = text_now() - begin;
    if (status != QUIRE_OK) {
        assert_int_equal(node, 0);
        assert_int_equal(g.err.code, status);
    }
    text_grammar_free(&g);
    return status;
}

/* A schema of n pieces between two texts. */
static quire_status repeated(const char *open, const char *piece, const char *close, unsigned n)
{
    double took;
    memcpy(buffer, open, strlen(open));
    used = strlen(open);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            buffer[used++] = ',';
        add(piece, i);
    }
    memcpy(buffer + used, close, strlen(close) + 1);
    used += strlen(close);
    return compile(5.0, &took);
}

static bool result_or_error(quire_status status)
{
    return status == QUIRE_OK || status == QUIRE_E_LIMIT || status == QUIRE_E_UNSUPPORTED;
}

static void large(void **state)
{
    (void)state;
    assert_true(result_or_error(repeated("{\"enum\":[", "\"value %u\"", "]}", 20000)));
    assert_true(result_or_error(repeated("{\"enum\":[", "%u", "]}", 5000)));
    assert_true(
        result_or_error(repeated("{\"properties\":{", "\"p%u\":{\"minLength\":%u}", "}}", 20000)));
    assert_int_equal(repeated("{\"$ref\":\"#/$defs/d1\",\"$defs\":{",
                              "\"d%u\":{\"properties\":{\"a\":{\"$ref\":\"#/$defs/d%u\"}}}", "}}",
                              5000),
                     QUIRE_OK);
    assert_int_equal(repeated("{\"allOf\":[",
                              "{\"anyOf\":[{\"required\":[\"a%u\"]},{\"required\":[\"b%u\"]}]}",
                              "]}", 30),
                     QUIRE_E_LIMIT);
    assert_int_equal(repeated("{\"oneOf\":[",
                              "{\"required\":[\"k\"],\"properties\":{\"k\":{"
                              "\"const\":%u}},\"type\":\"object\"}",
                              "]}", 60),
                     QUIRE_OK);
    assert_int_equal(repeated("{\"oneOf\":[", "{\"const\":%u}", "]}", 2000), QUIRE_E_LIMIT);
    assert_true(result_or_error(repeated("{\"prefixItems\":[", "{\"const\":%u}", "]}", 5000)));
    assert_int_equal(repeated("{\"not\":{\"prefixItems\":[", "{\"const\":%u}", "]}}", 5000),
                     QUIRE_E_LIMIT);
}

/* The deadline ends loops that multiply. */
static void deadline(void **state)
{
    (void)state;
    double took;
    used = 0;
    add("{\"patternProperties\":{", 0);
    for (unsigned i = 0; i < 40; i++)
        add(i ? ",\"a.*b%u\":{\"type\":\"null\"}" : "\"a.*b%u\":{}", i);
    add("}}", 0);
    assert_int_equal(compile(0.2, &took), QUIRE_E_LIMIT);
    assert_int_equal(compile(-1, &took), QUIRE_E_LIMIT);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *schema;
        quire_status status;
    } cases[] = {
        { "{\"multipleOf\":1e-300}", QUIRE_OK },
        { "{\"multipleOf\":1e-3000}", QUIRE_E_UNSUPPORTED },
        { "{\"multipleOf\":1e300}", QUIRE_E_UNSUPPORTED },
        { "{\"multipleOf\":-1}", QUIRE_E_INVALID_ARG },
        { "{\"minimum\":1e300,\"maximum\":1e308,\"type\":\"integer\"}", QUIRE_OK },
        { "{\"minimum\":1e999}", QUIRE_E_INVALID_ARG },
        { "{\"minimum\":123456789012345678901234567890.5}", QUIRE_OK },
        { "{\"minLength\":4294967295}", QUIRE_OK },
        { "{\"maxLength\":99999999999999999999}", QUIRE_OK },
        { "{\"minItems\":1.0}", QUIRE_OK },
        { "{\"minItems\":1.5}", QUIRE_E_INVALID_ARG },
        { "{\"maxItems\":\"1\"}", QUIRE_E_INVALID_ARG },
        { "{\"pattern\":\"(((((a*)*)*)*)*)*$\"}", QUIRE_OK },
        { "{\"pattern\":\"(\"}", QUIRE_E_INVALID_ARG },
        { "{\"pattern\":\"a{100000000}\"}", QUIRE_E_LIMIT },
        { "{\"pattern\":5}", QUIRE_E_INVALID_ARG },
        { "{\"const\":\"\\ud800\"}", QUIRE_E_INVALID_ARG },
        { "{\"const\":\"\xFF\"}", QUIRE_E_INVALID_ARG },
        { "{\"a\":1,\"a\":2}", QUIRE_E_INVALID_ARG },
        { "{\"properties\":[]}", QUIRE_E_INVALID_ARG },
        { "{\"allOf\":[]}", QUIRE_E_INVALID_ARG },
        { "{\"allOf\":[1]}", QUIRE_E_INVALID_ARG },
        { "{\"enum\":1}", QUIRE_E_INVALID_ARG },
        { "{\"enum\":[]}", QUIRE_E_UNSUPPORTED },
        { "{\"$ref\":5}", QUIRE_E_INVALID_ARG },
        { "{\"$ref\":\"#/%\"}", QUIRE_E_INVALID_ARG },
        { "{\"type\":[]}", QUIRE_E_UNSUPPORTED },
        { "{\"type\":{}}", QUIRE_E_INVALID_ARG },
        { "{\"dependentRequired\":{\"a\":[1]}}", QUIRE_E_INVALID_ARG },
        { "{\"allOf\":[{\"$ref\":\"#/allOf/0\"}]}", QUIRE_E_UNSUPPORTED },
        { "false", QUIRE_E_UNSUPPORTED },
        { "", QUIRE_E_INVALID_ARG },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_grammar g;
        text_grammar_schema(&g, cases[i].schema, strlen(cases[i].schema), NULL, 0);
        if (g.status != cases[i].status)
            fail_msg("%s: %d %s", cases[i].schema, g.status, g.err.msg);
        text_grammar_free(&g);
    }
}

static void nesting(void **state)
{
    (void)state;
    double took;
    for (unsigned depth = 1; depth < 80; depth++) {
        used = 0;
        for (unsigned i = 0; i < depth; i++)
            add(depth % 2 ? "{\"not\":" : "{\"items\":", 0);
        add("{}", 0);
        for (unsigned i = 0; i < depth; i++)
            add("}", 0);
        const quire_status status = compile(5.0, &took);
        assert_true(result_or_error(status) || (depth >= 63 && status == QUIRE_E_INVALID_ARG));
    }
    /* references that are inlined */
    assert_int_equal(
        repeated("{\"$ref\":\"#/$defs/d0\",\"$defs\":{\"end\":{}", "\"x%u\":{}", "}}", 1),
        QUIRE_E_INVALID_ARG);
}

/* Every allocation fails once. */
static void no_memory(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"oneOf\":[{\"type\":\"string\",\"pattern\":"
        "\"^a(?!b)[c-x]+$\"},{\"type\":\"number\",\"minimum\":1.5}]},\"b\":{\"$ref\":\"#\"}},"
        "\"patternProperties\":{\"^x\":{\"enum\":[1,\"y\"]}},\"not\":{\"required\":[\"c\"]}}";
    for (size_t at = 1;; at++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        quire_status status = QUIRE_E_NOMEM;
        qr_node node;
        fail_alloc_init(&f, at, false);
        struct qr_regex_set *set = qr_regex_set_new(&f.hooks);
        struct qr_builder *b = set ? qr_builder_new(set, &f.hooks) : NULL;
        if (b) {
            struct qr_front_end fe = { .builder = b, .allocator = &f.hooks, .deadline = 1e30 };
            status = qr_schema_build(&fe, schema, sizeof schema - 1, &node, &err);
        }
        qr_builder_free(b);
        qr_regex_set_free(set);
        assert_int_equal(f.live_count, 0);
        if (f.calls < at) {
            assert_int_equal(status, QUIRE_OK);
            break;
        }
        if (status != QUIRE_E_NOMEM && status != QUIRE_OK) /* memo tables may stay small */
            fail_msg("allocation %zu: %d %s", at, status, err.msg);
    }
}

static int set_up(void **state)
{
    (void)state;
    return (buffer = malloc(BUFFER_BYTES)) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(buffer);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(large), cmocka_unit_test(deadline),
                                        cmocka_unit_test(numbers), cmocka_unit_test(nesting),
                                        cmocka_unit_test(no_memory) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
