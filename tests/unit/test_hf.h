/* SPDX-License-Identifier: Apache-2.0 */
/* test_hf.h - checks that a config.json text is accepted, or rejected with a reason. */
#ifndef QUIRE_TEST_HF_H
#define QUIRE_TEST_HF_H
#include "model/config/config.h"
#include "model/config/hf.h"
#include "quire_cmocka.h"

/* End of the top-level member at p: its comma, or the brace. */
static inline char *end_of_member(char *p)
{
    int depth = 0;
    for (bool in_string = false; *p; p++) {
        if (in_string && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            in_string = !in_string;
        else if (!in_string && (*p == '{' || *p == '['))
            depth++;
        else if (!in_string && depth == 0 && (*p == ',' || *p == '}'))
            return p;
        else if (!in_string && (*p == '}' || *p == ']'))
            depth--;
    }
    return p;
}

/* A copy in which blanks replace a member of the object whose key comes again: the parser rejects
 * duplicate keys, and tests append the key they are about to a complete configuration. */
static inline char *last_keys_win(const char *json)
{
    char *copy = strdup(json);
    for (char *p = copy + (*copy == '{'); *p == '"';) {
        char *end = end_of_member(p);
        const size_t key = strcspn(p + 1, "\"") + 2;
        bool again = false;
        for (char *q = end; !again && *q == ','; q = end_of_member(q + 1))
            again = strncmp(q + 1, p, key) == 0;
        char *next = end + (*end == ',');
        if (again)
            memset(p, ' ', (size_t)(next - p));
        p = next;
    }
    return copy;
}

static inline quire_status parse(const char *text, const char *generation,
                                 struct qr_model_config *cfg, struct quire_error *err)
{
    char *json = last_keys_win(text);
    struct fail_alloc f; /* scope of this call: a second parse uses malloc for the result */
    fail_alloc_init(&f, 0, false);
    quire_status s =
        qr_model_config_from_hf(json, strlen(json), generation, generation ? strlen(generation) : 0,
                                NULL, &f.hooks, cfg, err);
    qr_model_config_free(cfg);
    assert_int_equal(f.live_count, 0);
    if (s == QUIRE_OK)
        s = qr_model_config_from_hf(json, strlen(json), generation,
                                    generation ? strlen(generation) : 0, NULL, NULL, cfg, err);
    free(json);
    return s;
}

static inline struct qr_model_config good(const char *json)
{
    struct qr_model_config cfg;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = parse(json, NULL, &cfg, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(s, QUIRE_OK);
    return cfg;
}

static inline void bad(const char *json, quire_status status, const char *text)
{
    struct qr_model_config cfg;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = parse(json, NULL, &cfg, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("%s\n  got %s \"%s\", expected %s \"%s\"\n", json, quire_status_name(s),
                    err.msg, quire_status_name(status), text);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
}

/* A model with 4 layers and 4 heads of size 16; `more` appends keys. */
#define SIZES                                                                                      \
    "\"vocab_size\":320,\"hidden_size\":64,\"intermediate_size\":160,\"num_hidden_layers\":4,"     \
    "\"num_attention_heads\":4,"                                                                   \
    "\"num_key_value_heads\":null"
#define MODEL(type, more) "{\"model_type\":\"" type "\"," SIZES more "}"

#endif
