/* SPDX-License-Identifier: Apache-2.0 */
/* beam_setup.c - checks the parameters of a beam search and reserves its memory. */
#include "engine/beam_setup.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/struct_size.h"
#include <math.h>

/* ---- Parameters */

/* Samplers that cut or draw have no meaning here. They are accepted when they are off or have the
 * value that quire_sampling_params_init() sets. */
static quire_status check_sampling(const struct quire_sampling_params *given,
                                   struct quire_error *err)
{
    struct quire_sampling_params d, s;
    quire_sampling_params_init(&d, sizeof d);
    quire_sampling_params_init(&s, sizeof s);
    qr_struct_copy(&s, sizeof s, given);
    const struct {
        const char *name;
        bool accepted;
    } fields[] = {
        { "temperature",
          s.temperature == d.temperature || s.temperature == 0 || s.temperature == 1 },
        { "top_k", s.top_k == d.top_k || s.top_k <= 0 },
        { "top_p", s.top_p == d.top_p || s.top_p == 1 },
        { "min_p", s.min_p == d.min_p || s.min_p == 0 },
        { "typical_p", s.typical_p == 0 || s.typical_p == 1 },
        { "top_n_sigma", s.top_n_sigma <= 0 },
        { "xtc_probability", s.xtc_probability == 0 },
        { "dynatemp_range", s.dynatemp_range == 0 },
        { "mirostat", s.mirostat == 0 },
        { "samplers", s.samplers[0] == 0 },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!fields[i].accepted)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "sampling.%s has no effect with beam_width: leave the default",
                           fields[i].name);
    return QUIRE_OK;
}

quire_status qr_beam_check(const struct quire_engine *e, const struct quire_request_params *p,
                           struct quire_error *err)
{
    if (!p->beam_width)
        return QUIRE_OK;
    if (p->beam_width < 2 || p->beam_width > QR_MAX_BEAMS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "beam_width %u is not 0 or in 2..%d",
                       p->beam_width, QR_MAX_BEAMS);
    if (p->beam_width > e->info.max_seqs)
        return qr_fail(err, QUIRE_E_LIMIT, "beam_width %u is above max_seqs %u", p->beam_width,
                       e->info.max_seqs);
    if (!isfinite(p->length_penalty))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "length_penalty %g is not finite",
                       p->length_penalty);
    if ((uint32_t)p->early_stopping > QUIRE_BEAM_STOP_NEVER)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "early_stopping %d is not a rule",
                       (int)p->early_stopping);
    if (p->n > p->beam_width)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n %u is above beam_width %u", p->n,
                       p->beam_width);
    const char *field = p->best_of                             ? "best_of"
                        : p->draft_tokens                      ? "draft_tokens"
                        : p->flags & QUIRE_REQUEST_PROMPT_ONLY ? "QUIRE_REQUEST_PROMPT_ONLY"
                                                               : NULL;
    if (field)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is given with beam_width", field);
    return p->sampling ? check_sampling(p->sampling, err) : QUIRE_OK;
}

/* ---- Memory */

static quire_status check_blocks(const struct quire_engine *e, const struct qr_beam_search *b,
                                 struct quire_error *err)
{
    for (uint32_t g = 0; g < e->memory.n_groups; g++) {
        struct quire_kv_group_config config;
        QR_TRY(quire_kv_get_group(e->kv, g, &config, err));
        const uint32_t n = qr_task_group_blocks(&e->memory, &b->limits, g);
        if (n > config.n_blocks)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "beam_width %u: as many sequences of up to %u tokens need %u blocks of "
                           "the KV cache, which has %u",
                           b->width, b->limits.max_tokens, n, config.n_blocks);
    }
    return QUIRE_OK;
}

static quire_status allocate(struct quire_engine *e, struct qr_beam_search *b,
                             const struct qr_request *leader, const struct quire_request_params *p,
                             struct quire_error *err)
{
    const struct quire_allocator *a = e->allocator;
    const size_t width = b->width, output = width * b->max_output;
    b->candidates = qr_alloc(a, width * 2 * width, sizeof *b->candidates);
    b->top = b->n_logprobs ? qr_alloc(a, width * b->n_logprobs, sizeof *b->top) : NULL;
    b->next = qr_calloc(a, width, sizeof *b->next);
    b->token_memory = qr_alloc(a, output, sizeof *b->token_memory);
    b->logprob_memory =
        b->n_logprobs ? qr_alloc(a, output * b->n_logprobs, sizeof *b->logprob_memory) : NULL;
    if (!b->candidates || !b->next || !b->token_memory ||
        (b->n_logprobs && (!b->top || !b->logprob_memory)))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u beams of %u tokens", b->width,
                       b->max_output);
    for (uint32_t i = 0; i < b->width; i++) {
        b->hypotheses[i].tokens = b->token_memory + i * (size_t)b->max_output;
        b->hypotheses[i].logprobs =
            b->logprob_memory ? b->logprob_memory + i * (size_t)b->max_output * b->n_logprobs
                              : NULL;
        QR_TRY(qr_output_text_init(&b->next[i], e->tokenizer, leader->text_flags, p->stop,
                                   p->n_stop, a, err));
    }
    return qr_output_text_init(&b->fresh, e->tokenizer, leader->text_flags, p->stop, p->n_stop, a,
                               err);
}

static void make_group(struct qr_request *leader)
{
    for (struct qr_request *r = leader; r; r = r->next) {
        r->task.group = &leader->task;
        r->task.group_limits = &leader->beams->limits;
        r->task.next_in_group = r->next ? &r->next->task : NULL;
        r->task.idle = r != leader;
    }
}

quire_status qr_beam_init(struct quire_engine *e, struct qr_request *leader,
                          const struct quire_request_params *p, struct quire_error *err)
{
    struct qr_beam_search *b = leader->beams = qr_calloc(e->allocator, 1, sizeof *b);
    if (!b)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a beam search");
    b->width = p->beam_width;
    b->max_output = leader->capacity - leader->task.n_prompt;
    b->n_logprobs = leader->n_logprobs;
    b->length_penalty = p->length_penalty;
    b->stopping = p->early_stopping;
    b->live[0] = leader;
    b->n_live = 1;
    b->limits = (struct qr_task_group_limits){
        .n_tasks = b->width,
        .n_prompt = leader->task.n_prompt,
        .max_tokens = leader->capacity - 1, /* no step computes the last token */
        .max_step_tokens = e->info.max_step_tokens,
        .n_source = leader->task.n_source,
    };
    QR_TRY(check_blocks(e, b, err));
    make_group(leader);
    return allocate(e, b, leader, p, err);
}

void qr_beam_free(struct quire_engine *e, struct qr_request *leader)
{
    const struct quire_allocator *a = e->allocator;
    struct qr_beam_search *b = leader->beams;
    if (!b)
        return;
    const size_t width = b->width, output = width * b->max_output;
    for (uint32_t i = 0; b->next && i < b->width; i++)
        qr_output_text_free(&b->next[i]);
    qr_output_text_free(&b->fresh);
    qr_free(a, b->candidates, width * 2 * width, sizeof *b->candidates);
    qr_free(a, b->top, width * b->n_logprobs, sizeof *b->top);
    qr_free(a, b->next, width, sizeof *b->next);
    qr_free(a, b->token_memory, output, sizeof *b->token_memory);
    qr_free(a, b->logprob_memory, output * b->n_logprobs, sizeof *b->logprob_memory);
    qr_free(a, b, 1, sizeof *b);
    leader->beams = NULL;
}
