/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sampling.c - sampling parameters, logits and histories.
 *
 * Checks that validate and sample agree, that the token is one that the parameters allow, that a
 * second call gives the same token and state, and that log-probabilities are in order. */
#include "fuzz.h"
#include <math.h>
#include <quire/sampling.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VOCAB = 300, MAX_BIAS = 8, MAX_HISTORY = 64, MAX_BREAKERS = 12, MAX_TOP = 30 };

/* A typical value, or any bits. */
static float take_float(struct fuzz_input *in)
{
    static const float usual[] = { 0, 1, 0.5f, 0.9f, 0.05f, 2, -1, 1e-30f, 1e30f, -0.0f };
    const uint32_t kind = fuzz_below(in, 16);
    if (kind < 12)
        return FUZZ_PICK(in, usual);
    const uint32_t bits = (uint32_t)fuzz_take(in, 4);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static int32_t take_token(struct fuzz_input *in, uint32_t n_vocab)
{
    return fuzz_chance(in, 95) ? (int32_t)fuzz_below(in, n_vocab) : (int32_t)fuzz_take(in, 4);
}

/* Samplers that came after version 0.2. */
static void take_later_params(struct fuzz_input *in, struct quire_sampling_params *p,
                              int32_t *breakers, uint32_t n_vocab)
{
    float *const numbers[] = { &p->dynatemp_range, &p->dynatemp_exponent, &p->typical_p,
                               &p->top_n_sigma,    &p->xtc_probability,   &p->xtc_threshold,
                               &p->dry_multiplier, &p->dry_base,          &p->mirostat_tau,
                               &p->mirostat_eta };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (fuzz_chance(in, 30))
            *numbers[i] = take_float(in);
    if (fuzz_chance(in, 30))
        p->dry_allowed_length = (int32_t)fuzz_below(in, 8) - 1;
    if (fuzz_chance(in, 30))
        p->dry_penalty_last_n = (int32_t)fuzz_below(in, 80) - 2;
    if (fuzz_chance(in, 20))
        p->min_keep = fuzz_below(in, 400);
    if (fuzz_chance(in, 20))
        p->mirostat = fuzz_below(in, 4);
    for (uint32_t i = 0; i < QUIRE_MAX_SAMPLERS && fuzz_chance(in, 70); i++)
        p->samplers[i] = (uint8_t)fuzz_below(in, fuzz_chance(in, 95) ? 10 : 256);
    p->n_dry_breakers = fuzz_below(in, MAX_BREAKERS);
    for (uint32_t i = 0; i < p->n_dry_breakers; i++)
        breakers[i] = fuzz_chance(in, 40) ? -1 : take_token(in, n_vocab);
    p->dry_breakers = p->n_dry_breakers || fuzz_chance(in, 50) ? breakers : NULL;
}

static void take_params(struct fuzz_input *in, struct quire_sampling_params *p,
                        struct quire_logit_bias *bias, uint32_t n_vocab)
{
    quire_sampling_params_init(p, sizeof *p);
    float *const numbers[] = {
        &p->temperature,      &p->top_p, &p->min_p, &p->repetition_penalty, &p->presence_penalty,
        &p->frequency_penalty
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (fuzz_chance(in, 60))
            *numbers[i] = take_float(in);
    if (fuzz_chance(in, 50))
        p->top_k =
            fuzz_chance(in, 80) ? (int32_t)fuzz_below(in, 16) - 2 : (int32_t)fuzz_take(in, 4);
    if (fuzz_chance(in, 50))
        p->penalty_last_n =
            fuzz_chance(in, 80) ? (int32_t)fuzz_below(in, 80) - 2 : (int32_t)fuzz_take(in, 4);
    p->seed = fuzz_take(in, 2);
    p->n_logit_bias = fuzz_below(in, MAX_BIAS + 1);
    for (uint32_t i = 0; i < p->n_logit_bias; i++) {
        const int32_t token = take_token(in, n_vocab);
        const float value = fuzz_chance(in, 20) ? -INFINITY : take_float(in);
        bias[i] = (struct quire_logit_bias){ token, value };
    }
    p->logit_bias = p->n_logit_bias || fuzz_chance(in, 50) ? bias : NULL;
}

static bool excluded(const struct quire_sampling_params *p, const float *logits, int32_t token)
{
    bool out = logits[token] == -INFINITY;
    for (uint32_t i = 0; i < p->n_logit_bias; i++)
        out = out || (p->logit_bias[i].token == token && p->logit_bias[i].bias == -INFINITY);
    return out;
}

/* Without penalties and bias, greedy sampling gives the first largest logit. */
static void check_greedy(const struct quire_sampling_params *p, const float *logits,
                         uint32_t n_vocab, int32_t token)
{
    if (p->n_logit_bias || p->penalty_last_n || p->dry_multiplier > 0 || p->samplers[0] ||
        (p->temperature != 0 && (p->top_k != 1 || p->mirostat)))
        return;
    for (uint32_t i = 0; i < n_vocab; i++)
        fuzz_check(logits[i] < logits[token] || (logits[i] == logits[token] && (int32_t)i >= token),
                   "token %d, but %u has the logit %g", token, i, (double)logits[i]);
}

static void check_logprobs(const float *logits, uint32_t n_vocab, int32_t token, uint32_t n_top)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_token_logprob chosen, top[MAX_TOP];
    const quire_status s = quire_logprobs(logits, n_vocab, token, &chosen, n_top, top, &err);
    fuzz_check_error(s, &err);
    fuzz_check(s == QUIRE_OK || s == QUIRE_E_NUMERIC, "%s", fuzz_status(s));
    for (uint32_t i = 0; s == QUIRE_OK && i < n_top; i++) {
        fuzz_check(top[i].logprob <= 0 && (i == 0 || top[i].logprob <= top[i - 1].logprob),
                   "entry %u: %g", i, (double)top[i].logprob);
        fuzz_check(top[i].token == -1 || logits[top[i].token] > -INFINITY, "token %d",
                   top[i].token);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_sampling_params p;
    struct quire_logit_bias bias[MAX_BIAS];
    struct quire_sampler *sampler = NULL;
    struct fuzz_memory memory;
    int32_t history[MAX_HISTORY], breakers[MAX_BREAKERS], token = -2, again = -2;
    struct quire_sampling_state before = { 0 }, state, second;
    const uint32_t n_vocab = 1 + fuzz_below(&in, MAX_VOCAB),
                   n_history = fuzz_below(&in, MAX_HISTORY);
    take_params(&in, &p, bias, n_vocab);
    for (uint32_t i = 0; i < n_history; i++)
        history[i] =
            fuzz_chance(&in, 90) ? (int32_t)fuzz_below(&in, n_vocab) : (int32_t)fuzz_take(&in, 4);
    if (size % 2) { /* the others keep the meaning that they had in version 0.2 */
        take_later_params(&in, &p, breakers, n_vocab);
        before = (struct quire_sampling_state){ fuzz_below(&in, 2), (double)take_float(&in) };
    }
    state = second = before;
    float *logits = malloc(n_vocab * sizeof *logits);
    for (uint32_t i = 0; i < n_vocab; i++)
        logits[i] =
            fuzz_chance(&in, 90) ? ((float)fuzz_below(&in, 256) - 128) / 16 : take_float(&in);
    fuzz_memory_init(&memory, 1 << 16);
    quire_status s = quire_sampler_create(n_vocab, &memory.hooks, &sampler, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    struct quire_sample_args args = { .struct_size = sizeof args,
                                      .logits = logits,
                                      .history = history,
                                      .n_history = n_history,
                                      .stream = (uint32_t)size,
                                      .index = n_history,
                                      .state = &state };
    const quire_status valid = quire_sampling_validate(&p, n_vocab, &err);
    fuzz_check_error(valid, &err);
    s = quire_sampler_sample(sampler, &p, &args, &token, &err);
    fuzz_check_error(s, &err);
    fuzz_check(valid == QUIRE_OK || s == valid, "validate %s, sample %s", fuzz_status(valid),
               fuzz_status(s));
    fuzz_check(valid != QUIRE_OK || s == QUIRE_OK || s == QUIRE_E_NUMERIC ||
                   (s == QUIRE_E_INVALID_ARG && !isfinite(before.mirostat_mu)),
               "%s", fuzz_status(s));
    fuzz_check(s == QUIRE_OK || memcmp(&state, &before, sizeof state) == 0, "the state changed");
    fuzz_check(s == QUIRE_OK ? token >= 0 && (uint32_t)token < n_vocab : token == -1, "token %d",
               token);
    if (s == QUIRE_OK) {
        fuzz_check(!excluded(&p, logits, token), "token %d is excluded", token);
        check_greedy(&p, logits, n_vocab, token);
        args.state = &second;
        fuzz_check(quire_sampler_sample(sampler, &p, &args, &again, &err) == QUIRE_OK &&
                       again == token && memcmp(&state, &second, sizeof state) == 0,
                   "token %d, then %d", token, again);
        check_logprobs(logits, n_vocab, token, n_history % MAX_TOP);
    }
    quire_sampler_destroy(sampler);
    fuzz_memory_done(&memory);
    free(logits);
    return 0;
}
