/* SPDX-License-Identifier: Apache-2.0 */
/* beam_reference.h - beam search as it is defined: every hypothesis is recomputed from the first
 * token of the prompt with one pass of the model, all continuations are sorted. */
#ifndef QUIRE_BEAM_REFERENCE_H
#define QUIRE_BEAM_REFERENCE_H
#include "full_forward.h"
#include <stdlib.h>

enum { REF_OUTPUT = 64, REF_BEAMS = 32, REF_STEP_MAX = 40000 };

struct ref_beam {
    int32_t tokens[REF_OUTPUT];
    uint32_t n; /* tokens that were sampled, the one that ended it included */
    double sum, score;
    bool ended; /* by its last token, which is no part of the answer unless in_text */
    bool in_text;
};

struct ref_search {
    const struct quire_request_params *params; /* tokens, limits, stops, penalties, hook */
    const int32_t *eog;
    uint32_t n_eog;
    const struct quire_tokenizer *tokenizer;
    uint32_t max_output; /* as max_tokens and the context allow */
    struct ref_beam live[REF_BEAMS], done[REF_BEAMS];
    uint32_t n_live, n_done;
};

struct ref_candidate {
    double sum;
    uint32_t beam;
    int32_t token;
};

static inline int ref_compare(const void *a, const void *b)
{
    const struct ref_candidate *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    if (x->beam != y->beam)
        return x->beam < y->beam ? -1 : 1;
    return x->token < y->token ? -1 : 1;
}

static inline bool ref_contains(const int32_t *list, uint32_t n, int32_t token)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == token)
            return true;
    return false;
}

/* Log-probabilities of the token after a beam, into row. */
static inline void ref_logprobs(const struct ref_search *s, struct full_forward *f,
                                const struct ref_beam *beam, uint32_t rank, float *row)
{
    const struct quire_request_params *p = s->params;
    int32_t all[FULL_TOKENS];
    const uint32_t n = (uint32_t)p->n_tokens + beam->n;
    memcpy(all, p->tokens, p->n_tokens * sizeof *all);
    memcpy(all + p->n_tokens, beam->tokens, beam->n * sizeof *all);
    full_run(f, all, n, n - 1);
    memcpy(row, f->logits + (size_t)(n - 1) * f->n_vocab, f->n_vocab * sizeof *row);
    for (uint32_t i = 0; i < f->n_vocab; i++) {
        const int32_t token = (int32_t)i;
        const bool eog = ref_contains(s->eog, s->n_eog, token);
        const bool ends = eog || ref_contains(p->stop_tokens, p->n_stop_tokens, token);
        if (i >= f->n_text_tokens || (eog && p->flags & QUIRE_REQUEST_IGNORE_EOS) ||
            (ends && beam->n < p->min_tokens))
            row[i] = -INFINITY;
    }
    if (p->logits_hook) {
        const struct quire_logits_args args = { .struct_size = sizeof args,
                                                .choice = rank,
                                                .tokens = all,
                                                .n_tokens = n,
                                                .logits = row,
                                                .n_vocab = f->n_vocab };
        assert_status(QUIRE_OK, p->logits_hook(p->logits_hook_user, &args));
    }
    for (uint32_t i = 0; i < p->sampling->n_logit_bias; i++)
        row[p->sampling->logit_bias[i].token] += p->sampling->logit_bias[i].bias;
    if (p->sampling->presence_penalty != 0) /* over the whole history */
        for (uint32_t i = 0; i < f->n_vocab; i++)
            if (ref_contains(all, n, (int32_t)i))
                row[i] -= p->sampling->presence_penalty;
}

/* Whether the text of the beam, which ends with its last token, has a stop string. */
static inline bool ref_has_stop(const struct ref_search *s, const struct ref_beam *beam)
{
    char text[4096];
    size_t size;
    if (s->params->n_stop == 0)
        return false;
    assert_status(QUIRE_OK, quire_tokenizer_decode(s->tokenizer, beam->tokens, beam->n,
                                                   QUIRE_DETOKENIZE_CONTINUES, text,
                                                   sizeof text - 1, &size, NULL));
    text[size] = 0;
    for (uint32_t i = 0; i < s->params->n_stop; i++)
        if (strstr(text, s->params->stop[i]))
            return true;
    return false;
}

static inline double ref_score(const struct ref_search *s, double sum, uint32_t n)
{
    return sum / pow(n, s->params->length_penalty);
}

/* Keeps the best beam_width answers; an equal score does not replace. */
static inline void ref_add(struct ref_search *s, struct ref_beam beam)
{
    beam.score = ref_score(s, beam.sum, beam.n);
    uint32_t at = 0;
    while (at < s->n_done && s->done[at].score >= beam.score)
        at++;
    if (at == s->params->beam_width)
        return;
    if (s->n_done < s->params->beam_width)
        s->n_done++;
    for (uint32_t i = s->n_done - 1; i > at; i--)
        s->done[i] = s->done[i - 1];
    s->done[at] = beam;
}

static inline bool ref_is_done(const struct ref_search *s, double best, uint32_t n)
{
    const struct quire_request_params *p = s->params;
    if (s->n_done < p->beam_width)
        return false;
    const double worst = s->done[s->n_done - 1].score;
    switch (p->early_stopping) {
    case QUIRE_BEAM_STOP_WHEN_FULL:
        return true;
    case QUIRE_BEAM_STOP_NEVER:
        return worst >= ref_score(s, best, p->length_penalty > 0 ? s->max_output : n);
    default:
        return worst >= ref_score(s, best, n);
    }
}

/* One token. False: the search is over. */
static inline bool ref_step(struct ref_search *s, struct full_forward *f)
{
    static struct ref_candidate all[REF_STEP_MAX];
    static struct ref_beam next[REF_BEAMS];
    static float row[REF_STEP_MAX / REF_BEAMS];
    const uint32_t width = s->params->beam_width;
    uint32_t n = 0, n_next = 0;
    assert_true(s->n_live * f->n_vocab <= REF_STEP_MAX);
    for (uint32_t b = 0; b < s->n_live; b++) {
        ref_logprobs(s, f, &s->live[b], b, row);
        double max = -INFINITY, sum = 0;
        for (uint32_t i = 0; i < f->n_vocab; i++)
            max = row[i] > max ? row[i] : max;
        for (uint32_t i = 0; i < f->n_vocab; i++)
            sum += exp(row[i] - max);
        for (uint32_t i = 0; i < f->n_vocab; i++)
            if (row[i] > -INFINITY)
                all[n++] = (struct ref_candidate){ s->live[b].sum + (row[i] - max - log(sum)), b,
                                                   (int32_t)i };
    }
    qsort(all, n, sizeof *all, ref_compare);
    for (uint32_t i = 0; i < n && i < 2 * width && n_next < width; i++) {
        struct ref_beam beam = s->live[all[i].beam];
        beam.tokens[beam.n++] = all[i].token;
        beam.sum = all[i].sum;
        beam.ended = ref_contains(s->eog, s->n_eog, all[i].token) ||
                     ref_contains(s->params->stop_tokens, s->params->n_stop_tokens, all[i].token);
        beam.in_text = !beam.ended && ref_has_stop(s, &beam);
        if (!beam.ended && !beam.in_text) {
            next[n_next++] = beam;
        } else if (i < width) {
            beam.ended = true;
            ref_add(s, beam);
        }
    }
    const uint32_t length = s->live[0].n + 1;
    for (uint32_t b = 0; b < n_next && length == s->max_output; b++) {
        next[b].in_text = true;
        ref_add(s, next[b]);
    }
    if (n_next == 0 || length == s->max_output || ref_is_done(s, next[0].sum, length))
        return false;
    memcpy(s->live, next, n_next * sizeof *next);
    s->n_live = n_next;
    return true;
}

/* Searches for the answers of a request for an engine, best first: done[n_done]. */
static inline void ref_run(struct ref_search *s, struct quire_engine *e,
                           const struct quire_request_params *p)
{
    struct full_forward f;
    const uint32_t room = e->info.context_length - (uint32_t)p->n_tokens + 1;
    *s = (struct ref_search){ .params = p,
                              .eog = e->eog,
                              .n_eog = e->n_eog,
                              .tokenizer = e->tokenizer,
                              .max_output =
                                  p->max_tokens && p->max_tokens < room ? p->max_tokens : room,
                              .n_live = 1 };
    assert_true(s->max_output <= REF_OUTPUT && p->beam_width <= REF_BEAMS);
    full_open(&f, e);
    while (ref_step(s, &f)) {}
    full_close(&f);
}

#endif
