/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/compile.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/struct_size.h"
#include "grammar/core/front_end.h"
#include "grammar/front_end/choice.h"
#include "grammar/front_end/gbnf.h"
#include "grammar/front_end/lark.h"
#include "grammar/front_end/regex.h"
#include "grammar/front_end/structural_tag.h"
#include "grammar/json_schema/schema.h"
#include <math.h>
#include <string.h>

#define DEFAULT_SECONDS 1.0
#define DEFAULT_BYTES   (64ull << 20)

void quire_grammar_params_init(struct quire_grammar_params *params, size_t struct_size)
{
    static const struct quire_grammar_params defaults = { .kind = QUIRE_GRAMMAR_JSON_OBJECT,
                                                          .text_size = QUIRE_NUL_TERMINATED };
    qr_struct_init(params, struct_size, &defaults, sizeof defaults);
}

void quire_grammar_info_init(struct quire_grammar_info *info, size_t struct_size)
{
    qr_struct_init(info, struct_size, NULL, 0);
}

/* ---- Compilation ---- */

static quire_status check_params(const struct quire_grammar_params *p, struct quire_error *err)
{
    if ((unsigned)p->kind > QUIRE_GRAMMAR_STRUCTURAL_TAG)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.kind = %d: unknown", (int)p->kind);
    if (p->text == NULL && p->kind != QUIRE_GRAMMAR_JSON_OBJECT)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.text is NULL");
    if (p->flags & ~(uint32_t)(QUIRE_GRAMMAR_COMPACT | QUIRE_GRAMMAR_ORDERED))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags = 0x%x: unknown flags", p->flags);
    if (p->reserved != 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.reserved = %u: must be 0", p->reserved);
    if (!(p->max_seconds >= 0))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.max_seconds = %g", p->max_seconds);
    return QUIRE_OK;
}

static quire_status build_nodes(struct qr_front_end *f, const struct quire_grammar_params *p,
                                qr_node *out, struct quire_error *err)
{
    static const char any_object[] = "{\"type\":\"object\"}";
    const char *text = p->text;
    const size_t size = text == NULL                           ? 0
                        : p->text_size == QUIRE_NUL_TERMINATED ? strlen(text)
                                                               : p->text_size;
    switch (p->kind) {
    case QUIRE_GRAMMAR_JSON_SCHEMA:
        return qr_schema_build(f, text, size, out, err);
    case QUIRE_GRAMMAR_JSON_OBJECT:
        return qr_schema_build(f, any_object, sizeof any_object - 1, out, err);
    case QUIRE_GRAMMAR_REGEX:
        return qr_regex_build(f, text, size, out, err);
    case QUIRE_GRAMMAR_CHOICE:
        return qr_choice_build(f, text, size, out, err);
    case QUIRE_GRAMMAR_GBNF:
        return qr_gbnf_build(f, text, size, out, err);
    case QUIRE_GRAMMAR_LARK:
        return qr_lark_build(f, text, size, out, err);
    default:
        return qr_structural_tag_build(f, text, size, out, err);
    }
}

/* Takes the lexemes of the builder. */
static quire_status copy_lexemes(struct quire_grammar *g, const qr_regex *lexemes, size_t n)
{
    g->lexemes = qr_alloc(&g->memory.allocator, n + 1, sizeof *g->lexemes);
    if (g->lexemes == NULL)
        return QUIRE_E_NOMEM;
    if (n > 0)
        memcpy(g->lexemes, lexemes, n * sizeof *lexemes);
    g->n_lexemes = n;
    return QUIRE_OK;
}

static void yield_lock(void *lock) { qr_grammar_lock_yield(lock); }

/* From the nodes to the automaton. */
static quire_status build_automaton(struct quire_grammar *g, struct qr_builder *b, double deadline,
                                    struct quire_error *err)
{
    const struct quire_allocator *a = &g->memory.allocator;
    struct qr_network *net;
    size_t n;
    const qr_regex *lexemes = qr_builder_lexemes(b, &n);
    QR_TRY(qr_network_new(b, deadline, &net, err));
    quire_status status = copy_lexemes(g, lexemes, n);
    if (status == QUIRE_OK)
        status = qr_automaton_new(net, g->set, g->lexemes, (uint32_t)n, a, &g->automaton);
    else
        qr_network_free(net);
    if (status == QUIRE_OK)
        status = qr_masks_new(g->vocab, g->automaton, yield_lock, &g->lock, &g->masks);
    return status == QUIRE_OK ? QUIRE_OK : qr_fail(err, status, "the grammar is too ambiguous");
}

static quire_status build(struct quire_grammar *g, const struct quire_grammar_params *p,
                          double deadline, struct quire_error *err)
{
    const struct quire_allocator *a = &g->memory.allocator;
    g->set = qr_regex_set_new(a);
    struct qr_builder *b = g->set ? qr_builder_new(g->set, a) : NULL;
    if (b == NULL)
        return QUIRE_E_NOMEM;
    struct qr_front_end f = {
        .builder = b, .tok = g->vocab->tok, .allocator = a, .flags = p->flags, .deadline = deadline
    };
    qr_node node = 0;
    quire_status status = build_nodes(&f, p, &node, err);
    if (status == QUIRE_OK) {
        qr_build_start(b, node);
        status = build_automaton(g, b, deadline, err);
    }
    qr_builder_free(b);
    return status;
}

static quire_status compile(struct quire_grammar *g, const struct quire_grammar_params *p,
                            struct quire_error *err)
{
    const double seconds = p->max_seconds > 0 ? p->max_seconds : DEFAULT_SECONDS;
    qr_limited_memory_init(&g->memory, g->a, p->max_bytes > 0 ? p->max_bytes : DEFAULT_BYTES);
    const quire_status status = build(g, p, qr_clock_thread() + seconds, err);
    if (status != QUIRE_E_NOMEM)
        return status;
    if (qr_limited_memory_failure(&g->memory) == QUIRE_E_LIMIT)
        return qr_fail(err, QUIRE_E_LIMIT, "the grammar needs more than %llu bytes",
                       (unsigned long long)g->memory.limit_bytes);
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
}

quire_status quire_grammar_compile(struct quire_grammar_vocab *vocab,
                                   const struct quire_grammar_params *params,
                                   struct quire_grammar **out, struct quire_error *err)
{
    struct quire_grammar_params p;
    const double start = qr_clock_now();
    if (out == NULL)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(qr_handle_check(vocab, QR_KIND_GRAMMAR_VOCAB, "vocab", err));
    QR_READ_STRUCT(&p, params, allocator, "params", err);
    QR_TRY(check_params(&p, err));
    struct quire_grammar *g = qr_calloc(p.allocator, 1, sizeof *g);
    if (g == NULL)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    g->handle.kind = QR_KIND_GRAMMAR;
    g->vocab = vocab;
    if (p.allocator != NULL) {
        g->allocator = *p.allocator;
        g->a = &g->allocator;
    }
    const int error = qr_grammar_lock_init(&g->lock);
    const quire_status status =
        error ? qr_fail_errno(err, QUIRE_E_NOMEM, error, "no lock for the grammar")
              : compile(g, &p, err);
    if (status != QUIRE_OK) {
        quire_grammar_destroy(g);
        return status;
    }
    g->compile_seconds = qr_clock_now() - start;
    *out = g;
    return QUIRE_OK;
}

void quire_grammar_destroy(struct quire_grammar *g)
{
    if (!qr_handle_end(g, QR_KIND_GRAMMAR))
        return;
    const struct quire_allocator copy = g->allocator, *a = g->a ? &copy : NULL;
    qr_masks_free(g->masks);
    qr_automaton_free(g->automaton);
    qr_free(&g->memory.allocator, g->lexemes, g->n_lexemes + 1, sizeof *g->lexemes);
    qr_regex_set_free(g->set);
    qr_grammar_lock_free(&g->lock);
    qr_free(a, g, 1, sizeof *g);
}

quire_status quire_grammar_get_info(struct quire_grammar *g, struct quire_grammar_info *info)
{
    if (!qr_handle_is(g, QR_KIND_GRAMMAR) || info == NULL)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(info, QR_SIZE_TO(struct quire_grammar_info, compile_seconds), "info",
                               NULL));
    qr_grammar_lock(&g->lock);
    const struct quire_grammar_info out = { .n_states =
                                                qr_lexer_tables(g->automaton->lexer).n_states,
                                            .bytes = g->memory.bytes,
                                            .compile_seconds = g->compile_seconds };
    qr_grammar_unlock(&g->lock);
    qr_struct_write(info, &out, sizeof out);
    return QUIRE_OK;
}
