/* SPDX-License-Identifier: Apache-2.0 */
/* engine_grammars.h - constrained requests over quire-tiny, and what their answers must match. */
#ifndef QUIRE_ENGINE_GRAMMARS_H
#define QUIRE_ENGINE_GRAMMARS_H
#include "engine_requests.h"
#include <regex.h>

enum { N_ANSWERS = 16, N_GRAMMARS = 7 };

struct test_grammar {
    enum quire_grammar_kind kind;
    uint32_t flags;
    const char *text, *oracle; /* POSIX extended expression of whole answers */
};

#define ANIMAL_SCHEMA                                                                              \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":40,"         \
    "\"maxLength\":60},"                                                                           \
    "\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":120},"                                \
    "\"kind\":{\"enum\":[\"cat\",\"dog\"]}},\"required\":[\"name\",\"age\",\"kind\"],"             \
    "\"additionalProperties\":false}"
#define FORCED_TEXT "Once upon a time there was a fox who lived under a hill and read old books."

static const struct test_grammar grammars[N_GRAMMARS] = {
    { QUIRE_GRAMMAR_JSON_SCHEMA, QUIRE_GRAMMAR_COMPACT | QUIRE_GRAMMAR_ORDERED, ANIMAL_SCHEMA,
      "^\\{\"name\":\"([^\"\\]|\\\\.)*\",\"age\":[0-9.eE+-]+,\"kind\":\"(cat|dog)\"\\}$" },
    { QUIRE_GRAMMAR_JSON_SCHEMA, 0, ANIMAL_SCHEMA,
      "^[ \t\n\r]*\\{.*\"(name|age|kind)\"[ \t\n\r]*:.*\\}[ \t\n\r]*$" },
    { QUIRE_GRAMMAR_REGEX, 0, "[a-c]{3,9}-[0-9]{2}( ok)?", "^[abc]{3,9}-[0-9]{2}( ok)?$" },
    { QUIRE_GRAMMAR_CHOICE, 0, "[\"yes\",\"no\",\"maybe later\"]", "^(yes|no|maybe later)$" },
    { QUIRE_GRAMMAR_GBNF, 0,
      "root ::= item (\",\" item){20,30} \".\"\nitem ::= [0-9] [0-9]? | \"(\" item \")\"",
      "^[(]*[0-9]{1,2}[)]*(,[(]*[0-9]{1,2}[)]*){20,30}\\.$" },
    { QUIRE_GRAMMAR_REGEX, 0,
      "Once upon a time there was a fox who lived under a hill and read "
      "old books\\.",
      "^" FORCED_TEXT "$" },
    { QUIRE_GRAMMAR_JSON_OBJECT, 0, NULL, "^[ \t\n\r]*\\{.*\\}[ \t\n\r]*$" },
};

/* One constrained request and its answer. */
struct constrained {
    struct quire_request_params params;
    struct quire_sampling_params sampling;
    int32_t prompt[96];
    struct result result;
};

static inline struct quire_engine_params tiny_params(void)
{
    struct quire_engine_params p;
    quire_engine_params_init(&p, sizeof p);
    p.model_path = QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf";
    p.n_threads = 1;
    p.thread_backend = QUIRE_THREADS_PTHREAD;
    p.context_length = 256;
    p.max_requests = 64;
    return p;
}

static inline void set_grammar(struct quire_request_params *p, const struct test_grammar *g)
{
    p->has_grammar = true;
    p->grammar_kind = g->kind;
    p->grammar_flags = g->flags;
    p->grammar_text = g->text;
    p->grammar_text_size = QUIRE_NUL_TERMINATED;
}

/* Prompts that share beginnings; random sampling, so that the model's habits do not matter. */
static inline void make_constrained(struct constrained *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, c++) {
        const uint32_t size = 8 + i * 5;
        memset(c, 0, sizeof *c);
        for (uint32_t k = 0; k < size; k++)
            c->prompt[k] = (int32_t)(300 + (k < i % 3 * 20 ? k : k * 7 + i) % 900);
        quire_sampling_params_init(&c->sampling, sizeof c->sampling);
        c->sampling.temperature = i % 4 ? 1.2f : 0;
        c->sampling.seed = 7 + i;
        quire_request_params_init(&c->params, sizeof c->params);
        c->params.tokens = c->prompt;
        c->params.n_tokens = size;
        c->params.max_tokens = 110;
        c->params.sampling = &c->sampling;
        set_grammar(&c->params, &grammars[i % N_GRAMMARS]);
    }
}

static inline bool matches(const char *expression, const char *text)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB), 0);
    const bool ok = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return ok;
}

/* A whole answer, or one that the limit of tokens ended. */
static inline void assert_satisfies(const struct test_grammar *g, const struct result *r)
{
    if (r->done.reason == QUIRE_FINISH_LENGTH)
        return;
    if (r->done.reason != QUIRE_FINISH_STOP || !matches(g->oracle, r->text))
        fail_msg("%s (%s): %s", r->text, quire_finish_reason_name(r->done.reason), r->done.message);
}

/* Submits all requests and runs them to the end. */
static inline void run_constrained(struct quire_engine *e, struct constrained *c, uint32_t n)
{
    static struct result results[N_ANSWERS];
    quire_request_id ids[N_ANSWERS];
    for (uint32_t i = 0; i < n; i++)
        ids[i] = submit(e, &c[i].params);
    run_to_completion(e, ids, n, results);
    for (uint32_t i = 0; i < n; i++) {
        c[i].result = results[i];
        c[i].result.done.usage = &c[i].result.usage;
        c[i].result.done.message = c[i].result.done.message_data;
    }
}

static inline struct quire_engine_stats stats_of(struct quire_engine *e)
{
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    return stats;
}

#endif
