/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/constraint.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "engine/mask_ahead.h"
#include "grammar/matcher.h"
#include "model/load/model.h"
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

static quire_status check_text(const struct quire_request_params *p, struct quire_error *err)
{
    const uint32_t known = QUIRE_GRAMMAR_COMPACT | QUIRE_GRAMMAR_ORDERED;
    if ((unsigned)p->grammar_kind > QUIRE_GRAMMAR_STRUCTURAL_TAG)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "grammar_kind %u is unknown",
                       (unsigned)p->grammar_kind);
    if (p->grammar_flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "grammar_flags 0x%x has unknown bits",
                       p->grammar_flags);
    if (!p->grammar_text && p->grammar_kind != QUIRE_GRAMMAR_JSON_OBJECT)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "grammar_text is NULL");
    return QUIRE_OK;
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
    if (p->has_grammar)
        QR_TRY(check_text(p, err));
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
    if (s == QUIRE_OK)
        return s;
    return qr_fail(err, s, s == QUIRE_E_NOMEM ? "%s" : "grammar_text: %s", inner.msg);
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
    if (grammar && grammar->vocab != vocab)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "grammar was not compiled for quire_engine_grammar_vocab() of this engine");
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
    if (c->matcher)
        qr_mask_ahead_drop(&e->mask_ahead, c);
    quire_grammar_matcher_destroy(c->matcher);
    qr_free(e->allocator, c->mask, c->n_words, sizeof *c->mask);
    qr_grammar_cache_release(&e->grammars, c->shared);
    *c = (struct qr_constraint){ 0 };
}

/* Whether a token of the mask has a logit other than -infinity. NaN is one: sampling reports it. */
static bool any_possible(const struct qr_constraint *c, const float *logits, uint32_t n_logits)
{
    for (size_t w = 0; w < c->n_words && 32 * w < n_logits; w++)
        for (uint32_t bits = c->mask[w]; bits; bits &= bits - 1) {
            const size_t i = 32 * w + (size_t)__builtin_ctz(bits);
            if (i < n_logits && !(logits[i] == -INFINITY))
                return true;
        }
    return false;
}

void qr_constraint_compute_ahead(struct quire_engine *e, struct qr_request *r)
{
    /* a draft needs the masks behind its tokens, which are not known yet */
    const bool can = r->constraint.matcher && !r->draft && !r->finished;
    if (can && __atomic_load_n(&e->thread_started, __ATOMIC_ACQUIRE))
        qr_mask_ahead_queue(&e->mask_ahead, &r->constraint);
}

static quire_status find_mask(struct quire_engine *e, struct qr_constraint *c,
                              struct quire_error *err)
{
    quire_status status;
    return qr_mask_ahead_take(&e->mask_ahead, c, &status, err)
               ? status
               : quire_grammar_matcher_mask(c->matcher, c->mask, c->n_words, err);
}

quire_status qr_constraint_mask(struct quire_engine *e, struct qr_request *r, float *logits,
                                bool *ends, struct quire_error *err)
{
    struct qr_constraint *c = &r->constraint;
    *ends = false;
    if (!c->matcher)
        return QUIRE_OK;
    QR_TRY(find_mask(e, c, err));
    qr_mask_apply(e->model->kernels, c->mask, c->n_words, logits, e->vocab_size);
    if (any_possible(c, logits, e->vocab_size))
        return QUIRE_OK;
    *ends = quire_grammar_matcher_can_end(c->matcher);
    return *ends ? QUIRE_OK
                 : qr_fail(err, QUIRE_E_MISMATCH,
                           "min_tokens, logits_hook or the size of the vocabulary excludes every "
                           "token that the grammar allows");
}

quire_status qr_constraint_commit(struct quire_engine *e, struct qr_request *r, int32_t token,
                                  bool *ends, struct quire_error *err)
{
    struct qr_constraint *c = &r->constraint;
    *ends = false;
    if (!c->matcher)
        return QUIRE_OK;
    qr_mask_ahead_drop(&e->mask_ahead, c); /* a mask before this token */
    QR_TRY(quire_grammar_matcher_commit(c->matcher, &token, 1, err));
    quire_grammar_matcher_trim(c->matcher, 0); /* answers do not go back */
    *ends = quire_grammar_matcher_must_end(c->matcher);
    return QUIRE_OK;
}

quire_status qr_constraint_forced(const struct quire_engine *e, struct qr_request *r,
                                  int32_t *tokens, size_t *n, struct quire_error *err)
{
    const uint32_t prompt = r->task.n_prompt, all = r->task.n_tokens;
    const uint32_t before = all - prompt < CONTEXT_TOKENS ? all - prompt : CONTEXT_TOKENS;
    size_t found;
    QR_TRY(quire_grammar_matcher_forced_tokens(r->constraint.matcher, r->tokens + all - before,
                                               before, tokens, QR_MAX_FORCED, &found, err));
    for (*n = 0; *n < found && (uint32_t)tokens[*n] < e->vocab_size; ++*n)
        ; /* a token without a row of the embeddings ends what can be forced */
    return QUIRE_OK;
}

uint32_t qr_constraint_check_draft(struct qr_request *r, const int32_t *draft, uint32_t n)
{
    if (!r->constraint.matcher || n == 0)
        return n;
    return (uint32_t)quire_grammar_matcher_check(r->constraint.matcher, draft, n);
}

bool qr_constraint_push_draft(struct qr_request *r, int32_t token)
{
    struct qr_constraint *c = &r->constraint;
    if (!c->matcher)
        return true;
    if (quire_grammar_matcher_commit(c->matcher, &token, 1, NULL) != QUIRE_OK)
        return false;
    c->n_draft++;
    return true;
}

void qr_constraint_drop_draft(struct qr_request *r)
{
    struct qr_constraint *c = &r->constraint;
    /* cannot fail: these tokens are in the history */
    if (c->n_draft && quire_grammar_matcher_rollback(c->matcher, c->n_draft, NULL) == QUIRE_OK)
        c->n_draft = 0;
}
