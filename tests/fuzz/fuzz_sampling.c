/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sampling.c - sampling parameters, logits and histories.
 *
 * Checks that validate and sample agree, that the token is one that the parameters allow, and that
 * a second call gives the same token. */
#include "fuzz.h"
#include <math.h>
#include <quire/sampling.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VOCAB = 300, MAX_BIAS = 8, MAX_HISTORY = 64 };

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
        const int32_t token =
            fuzz_chance(in, 95) ? (int32_t)fuzz_below(in, n_vocab) : (int32_t)fuzz_take(in, 4);
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
    if (p->n_logit_bias || p->penalty_last_n || (p->temperature != 0 && p->top_k != 1))
        return;
    for (uint32_t i = 0; i < n_vocab; i++)
        fuzz_check(logits[i] < logits[token] || (logits[i] == logits[token] && (int32_t)i >= token),
                   "token %d, but %u has the logit %g", token, i, (double)logits[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_sampling_params p;
    struct quire_logit_bias bias[MAX_BIAS];
    struct quire_sampler *sampler = NULL;
    struct fuzz_memory memory;
    int32_t history[MAX_HISTORY], token = -2, again = -2;
    const uint32_t n_vocab = 1 + fuzz_below(&in, MAX_VOCAB),
                   n_history = fuzz_below(&in, MAX_HISTORY);
    take_params(&in, &p, bias, n_vocab);
    for (uint32_t i = 0; i < n_history; i++)
        history[i] =
            fuzz_chance(&in, 90) ? (int32_t)fuzz_below(&in, n_vocab) : (int32_t)fuzz_take(&in, 4);
    float *logits = malloc(n_vocab * sizeof *logits);
    for (uint32_t i = 0; i < n_vocab; i++)
        logits[i] =
            fuzz_chance(&in, 90) ? ((float)fuzz_below(&in, 256) - 128) / 16 : take_float(&in);
    fuzz_memory_init(&memory, 1 << 16);
    quire_status s = quire_sampler_create(n_vocab, &memory.hooks, &sampler, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    const struct quire_sample_args args = { .struct_size = sizeof args,
                                            .logits = logits,
                                            .history = history,
                                            .n_history = n_history,
                                            .stream = (uint32_t)size,
                                            .index = n_history };
    const quire_status valid = quire_sampling_validate(&p, n_vocab, &err);
    fuzz_check_error(valid, &err);
    s = quire_sampler_sample(sampler, &p, &args, &token, &err);
    fuzz_check_error(s, &err);
    fuzz_check(valid == QUIRE_OK || s == valid, "validate %s, sample %s", fuzz_status(valid),
               fuzz_status(s));
    fuzz_check(valid != QUIRE_OK || s == QUIRE_OK || s == QUIRE_E_NUMERIC, "%s", fuzz_status(s));
    fuzz_check(s == QUIRE_OK ? token >= 0 && (uint32_t)token < n_vocab : token == -1, "token %d",
               token);
    if (s == QUIRE_OK) {
        fuzz_check(!excluded(&p, logits, token), "token %d is excluded", token);
        check_greedy(&p, logits, n_vocab, token);
        fuzz_check(quire_sampler_sample(sampler, &p, &args, &again, &err) == QUIRE_OK &&
                       again == token,
                   "token %d, then %d", token, again);
    }
    quire_sampler_destroy(sampler);
    fuzz_memory_done(&memory);
    free(logits);
    return 0;
}
