/* SPDX-License-Identifier: Apache-2.0 */
/* grammar_texts.h - grammars over bytes for tests: whether a schema compiles, and which texts its
 * grammar accepts, without a vocabulary. */
#ifndef GRAMMAR_TEXTS_H
#define GRAMMAR_TEXTS_H
#include "base/clock.h"
#include "grammar/core/automaton.h"
#include "grammar/core/limited_memory.h"
#include "grammar/core/nodes.h"
#include "grammar/json_schema/schema.h"
#include "quire_cmocka.h"
#include <math.h>
#include <string.h>

enum { TEXT_LIMIT_BYTES = 64 << 20, TEXT_MAX_PAIRS = 4096 };

struct text_grammar {
    struct qr_limited_memory memory;
    struct qr_regex_set *set;
    struct qr_builder *builder;
    struct qr_automaton *automaton;
    quire_status status; /* of the compilation */
    struct quire_error err;
};

/* Seconds of CPU time, by which compilation is limited. */
static inline double text_now(void) { return qr_clock_thread(); }

static inline void text_grammar_free(struct text_grammar *g)
{
    qr_automaton_free(g->automaton);
    qr_builder_free(g->builder);
    qr_regex_set_free(g->set);
}

/* Makes a builder to build nodes with. */
static inline struct qr_front_end text_grammar_begin(struct text_grammar *g, uint32_t flags,
                                                     double seconds)
{
    memset(g, 0, sizeof *g);
    g->err = (struct quire_error)QUIRE_ERROR_INIT;
    qr_limited_memory_init(&g->memory, NULL, TEXT_LIMIT_BYTES);
    g->set = qr_regex_set_new(&g->memory.allocator);
    g->builder = qr_builder_new(g->set, &g->memory.allocator);
    return (struct qr_front_end){ .builder = g->builder,
                                  .allocator = &g->memory.allocator,
                                  .flags = flags,
                                  .deadline = text_now() + seconds };
}

/* Tells a limit from a lack of memory. */
static inline void text_grammar_explain(struct text_grammar *g)
{
    if (g->status == QUIRE_E_NOMEM && g->memory.limit_bytes > 0)
        g->status = qr_limited_memory_failure(&g->memory);
}

/* Compiles what was built from its start node. */
static inline void text_grammar_finish(struct text_grammar *g, qr_node start)
{
    struct qr_network *net;
    qr_build_start(g->builder, start);
    g->status = qr_builder_status(g->builder);
    if (g->status == QUIRE_OK)
        g->status = qr_network_new(g->builder, INFINITY, &net, &g->err);
    if (g->status == QUIRE_OK)
        g->status = qr_automaton_new(net, g->set, g->builder->lexemes,
                                     (uint32_t)g->builder->n_lexemes, g->builder->a, &g->automaton);
    text_grammar_explain(g);
}

/* Compiles a schema; notation NULL = JSON. */
static inline void text_grammar_schema(struct text_grammar *g, const char *schema, size_t size,
                                       const struct qr_notation *notation, uint32_t flags)
{
    qr_node start = 0;
    struct qr_front_end f = text_grammar_begin(g, flags, 20.0);
    g->status = notation ? qr_schema_build_notation(&f, schema, size, notation, &start, &g->err)
                         : qr_schema_build(&f, schema, size, &start, &g->err);
    text_grammar_explain(g);
    if (g->status == QUIRE_OK)
        text_grammar_finish(g, start);
}

/* 1 accepted, 0 not, -1 failure */
static inline int text_accepts(struct text_grammar *g, const char *text, size_t size)
{
    static struct qr_pair pairs[2][TEXT_MAX_PAIRS];
    size_t n = 1;
    pairs[0][0] = qr_automaton_start(g->automaton);
    for (size_t i = 0; i < size && n; i++) {
        if (n + 1 > TEXT_MAX_PAIRS ||
            qr_automaton_step(g->automaton, pairs[i % 2], n, (uint8_t)text[i], pairs[(i + 1) % 2],
                              &n) != QUIRE_OK)
            return -1;
    }
    return n && qr_automaton_accepts(g->automaton, pairs[size % 2], n);
}

/* The first of the texts, of which there are at most n up to NULL, for which text_accepts() does
 * not give `accepted`; NULL: none. */
static inline const char *text_differing(struct text_grammar *g, const char *const *texts, size_t n,
                                         int accepted)
{
    for (size_t i = 0; i < n && texts[i]; i++)
        if (text_accepts(g, texts[i], strlen(texts[i])) != accepted)
            return texts[i];
    return NULL;
}

/* Fails unless the grammar called `name` accepts the valid texts and none of the others, of each at
 * most n up to NULL. */
static inline void text_check(struct text_grammar *g, const char *name, const char *const *valid,
                              const char *const *invalid, size_t n)
{
    const char *const rejected = text_differing(g, valid, n, 1);
    const char *const accepted = text_differing(g, invalid, n, 0);
    if (rejected)
        fail_msg("%s: %s must be accepted", name, rejected);
    if (accepted)
        fail_msg("%s: %s must be rejected", name, accepted);
}

#endif
