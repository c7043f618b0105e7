/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/constraint.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include <math.h>

/* Tokens before the forced ones that the tokenizer sees. */
enum { CONTEXT_TOKENS = 64 };

quire_status quire_engine_grammar_vocab(struct quire_engine *engine,
                                        struct quire_grammar_vocab **out, struct quire_error *err)
{
    if (out)
        *out = NULL;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    return qr_grammar_cache_vocab(&engine->grammars, out, err);
}

quire_status qr_constraint_check(const struct quire_engine *e, const struct quire_request_params *p,
                                 struct quire_error *err)
{
    (void)e;
    if (!p->grammar && !p->has_grammar) {
        if (p->grammar_text || p->grammar_flags)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is given without has_grammar",
                           p->grammar_text ? "grammar_text" : "grammar_flags");
        return QUIRE_OK;
    }
    if (p->grammar && p->has_grammar)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "give one of grammar and has_grammar");
    const char *field = p->task != QUIRE_TASK_GENERATE         ? "task"
                        : p->beam_width                        ? "beam_width"
                        : p->flags & QUIRE_REQUEST_PROMPT_ONLY ? "QUIRE_REQUEST_PROMPT_ONLY"
                                                               : NULL;
    if (field)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is not combined with a grammar", field);
    return QUIRE_OK;
}

/* The grammar of the request; messages begin with the name of the field. */
static quire_status acquire(struct quire_engine *e, const struct quire_request_params *p,
                            struct qr_shared_grammar **out, struct quire_error *err)
{
    struct quire_error inner = QUIRE_ERROR_INIT;
    const quire_status s = qr_grammar_cache_acquire(&e->grammars, p, out, &inner);
    return s == QUIRE_OK ? s : qr_fail(err, s, "grammar_text: %s", inner.msg);
}

quire_status qr_constraint_init(struct quire_engine *e, struct qr_request *r,
                                const struct quire_request_params *p, struct quire_error *err)
{
    struct qr_constraint *c = &r->constraint;
    struct quire_grammar *grammar = p->grammar;
    struct quire_grammar_vocab *vocab;
    if (!p->grammar && !p->has_grammar)
        return QUIRE_OK;
    QR_TRY(qr_grammar_cache_vocab(&e->grammars, &vocab, err));
    if (p->has_grammar) {
        QR_TRY(acquire(e, p, &c->shared, err));
        grammar = c->shared->grammar;
    }
    c->n_words = quire_grammar_mask_words(vocab);
    c->mask = qr_alloc(e->allocator, c->n_words, sizeof *c->mask);
    if (!c->mask)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a mask");
    return quire_grammar_matcher_create(grammar, &c->matcher, err);
}

void qr_constraint_free(struct quire_engine *e, struct qr_request *r)
{
    struct qr_constraint *c = &r->constraint;
    quire_grammar_matcher_destroy(c->matcher);
    qr_free(e->allocator, c->mask, c->n_words, sizeof *c->mask);
    qr_grammar_cache_release(&e->grammars, c->shared);
    *c = (struct qr_constraint){ 0 };
}

quire_status qr_constraint_mask(struct quire_engine *e, struct qr_request *r, float *logits,
                                bool *ends, struct quire_error *err)
{
    struct qr_constraint *c = &r->constraint;
    *ends = false;
    if (!c->matcher)
        return QUIRE_OK;
    QR_TRY(quire_grammar_matcher_mask(c->matcher, c->mask, c->n_words, err));
    quire_grammar_apply_mask(c->mask, c->n_words, logits, e->vocab_size);
    for (uint32_t i = 0; i < e->vocab_size; i++)
        if (logits[i] > -INFINITY || isnan(logits[i]))
            return QUIRE_OK;
    *ends = quire_grammar_matcher_can_end(c->matcher);
    return *ends ? QUIRE_OK
                 : qr_fail(err, QUIRE_E_MISMATCH,
                           "logit_bias or logits_hook excludes every token that the grammar "
                           "allows");
}

quire_status qr_constraint_commit(struct qr_request *r, int32_t token, bool *ends,
                                  struct quire_error *err)
{
    struct qr_constraint *c = &r->constraint;
    *ends = false;
    if (!c->matcher)
        return QUIRE_OK;
    QR_TRY(quire_grammar_matcher_commit(c->matcher, &token, 1, err));
    quire_grammar_matcher_trim(c->matcher, 0); /* answers do not go back */
    *ends = quire_grammar_matcher_must_end(c->matcher);
    return QUIRE_OK;
}

quire_status qr_constraint_forced(struct qr_request *r, int32_t *tokens, size_t max, size_t *n,
                                  struct quire_error *err)
{
    const uint32_t prompt = r->task.n_prompt, all = r->task.n_tokens;
    const uint32_t before = all - prompt < CONTEXT_TOKENS ? all - prompt : CONTEXT_TOKENS;
    return quire_grammar_matcher_forced_tokens(r->constraint.matcher, r->tokens + all - before,
                                               before, tokens, max, n, err);
}
