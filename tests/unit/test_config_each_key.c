/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_each_key.c - every key of the config.json of every family in turn: without the key,
 * with values of every type, and without memory. */
#include "model/config/validate.h"
#include "test_config.h"
#include "test_hf.h"

/* A member of an object at any depth. */
struct member {
    const char *key;   /* after its opening quote */
    const char *value; /* its first character */
    const char *end;   /* comma or bracket after it */
};

/* The first member whose key begins at or after p. */
static bool next_member(const char *p, struct member *m)
{
    while (*p) {
        if (*p != '"') {
            p++;
            continue;
        }
        const char *key = ++p;
        for (; *p != '"'; p++)
            p += *p == '\\';
        p++;
        if (*p != ':')
            continue;
        m->key = key;
        m->value = p + 1 + strspn(p + 1, " ");
        m->end = end_of_member((char *)(uintptr_t)m->value);
        return true;
    }
    return false;
}

/* The text with `value` in place of the member's, or without the member for NULL. */
static void put_value(char *out, const char *json, const struct member *m, const char *value)
{
    if (value) {
        sprintf(out, "%.*s%s%s", (int)(m->value - json), json, value, m->end);
        return;
    }
    const char *begin = m->key - 1, *end = m->end + (*m->end == ',');
    if (*m->end != ',') { /* the last one: with the comma before it, if there is one */
        while (begin[-1] == ' ' || begin[-1] == '\n')
            begin--;
        begin -= begin[-1] == ',';
    }
    sprintf(out, "%.*s%s", (int)(begin - json), json, end);
}

struct tally {
    unsigned refused, named;
};

/* A configuration that is accepted is valid; another one has a message, which mostly names
 * the key: sizes are refused under their plain names. */
static void check(const char *json, const char *generation, const struct member *m, struct tally *n)
{
    struct qr_model_config cfg;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fail_alloc f;
    char key[64];
    fail_alloc_init(&f, 0, false);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(m->key, "\""), m->key);
    const quire_status s =
        qr_model_config_from_hf(json, strlen(json), generation, generation ? strlen(generation) : 0,
                                NULL, &f.hooks, &cfg, &err);
    if (s == QUIRE_OK) {
        assert_status(QUIRE_OK, qr_model_config_validate(&cfg, &err));
    } else if ((s != QUIRE_E_FORMAT && s != QUIRE_E_UNSUPPORTED) || !err.msg[0]) {
        fail_msg("%s\n  %s: got %s \"%s\"", json, key, quire_status_name(s), err.msg);
    }
    qr_model_config_free(&cfg);
    assert_int_equal(f.live_count, 0);
    n->refused += s != QUIRE_OK;
    n->named += s != QUIRE_OK && strstr(err.msg, key);
}

/* NULL: without the member. */
static const char *const values[] = {
    NULL, "null", "{\"?\":1}", "[{}]", "[0,-1,\"?\"]", "\"\"", "\"?\"",      "true",
    "0",  "-1",   "3",         "0.5",  "1e300",        "7000", "4294967295",
};

static void every_value(const char *json, const char *generation, bool in_generation,
                        struct tally *n)
{
    const char *text = in_generation ? generation : json;
    char *changed = malloc(strlen(text) + 64);
    struct member m;
    for (const char *p = text; next_member(p, &m); p = m.value)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            put_value(changed, text, &m, values[i]);
            check(in_generation ? json : changed, in_generation ? changed : generation, &m, n);
        }
    free(changed);
}

static void every_allocation(const char *json)
{
    for (int forever = 0; forever < 2; forever++)
        for (size_t n = 1;; n++) {
            struct qr_model_config cfg;
            struct quire_error err = QUIRE_ERROR_INIT;
            struct fail_alloc f;
            fail_alloc_init(&f, n, forever);
            const quire_status s =
                qr_model_config_from_hf(json, strlen(json), NULL, 0, NULL, &f.hooks, &cfg, &err);
            qr_model_config_free(&cfg);
            assert_int_equal(f.live_count, 0);
            if (f.calls < n)
                break;
            assert_int_equal(s, QUIRE_E_NOMEM);
            assert_non_null(strstr(err.msg, "memory"));
        }
}

static void test_each_key(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static const char *const names[] = { "config.json", "config_v4.json" };
    struct tally n = { 0, 0 };
    for (int i = 0; i < N_GOLDEN_DIRS; i++) {
        char *generation = slurp(golden_dirs[i], "generation_config.json");
        for (size_t k = 0; k < 2; k++) {
            char *json = slurp(golden_dirs[i], names[k]);
            if (!json)
                continue;
            every_value(json, generation, false, &n);
            if (generation && k == 0)
                every_value(json, generation, true, &n);
            every_allocation(json);
            free(json);
        }
        free(generation);
    }
    printf("%u configurations refused, %u with the key in the message\n", n.refused, n.named);
    assert_true(n.named > 3 * (n.refused / 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_key) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
