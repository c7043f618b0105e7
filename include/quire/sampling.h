/* SPDX-License-Identifier: Apache-2.0 */
/** Sampling: one token id from one row of logits.
 *
 *      struct quire_sampling_params sp;
 *      quire_sampling_params_init(&sp, sizeof sp);
 *      sp.temperature = 0.7f;
 *      quire_sampler_create(n_vocab, NULL, &sampler, &err);
 *      struct quire_sample_args step = { sizeof step, logits, history, n_history, 0, index };
 *      quire_sampler_sample(sampler, &sp, &step, &token, &err);
 *
 *  Order of operations: logit_bias, penalties, top_k, top_p, min_p, temperature, draw. top_p and
 *  min_p use probabilities before the temperature. Sampling is deterministic: the token depends on
 *  the arguments only, the random number is Philox4x32-10 of (seed, stream, index), and equal
 *  logits are ranked by ascending token id. */
#ifndef QUIRE_SAMPLING_H
#define QUIRE_SAMPLING_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Added to the logit of one token before all other operations; -INFINITY excludes the token. */
struct quire_logit_bias {
    int32_t token;
    float bias;
};

struct quire_sampling_params {
    uint32_t struct_size;
    float temperature; /**< >= 0; 0 = greedy: the most likely token, without a random number */
    int32_t top_k;     /**< keep the k most likely tokens; <= 0 or >= n_vocab = all */
    /** 0..1: nucleus sampling: keep the shortest list of most likely tokens whose total probability
     *  is at least top_p, and at least one token; 1 = all */
    float top_p;
    /** 0..1: drop tokens less likely than this fraction of the most likely one; 0 = none */
    float min_p;
    /** > 0: divides a positive logit of a token in the history and multiplies a negative one;
     *  1 = off */
    float repetition_penalty;
    float presence_penalty; /**< subtracted from the logit of every token in the history; 0 = off */
    float frequency_penalty; /**< subtracted once per occurrence in the history; 0 = off */
    /** number of last tokens of the history that penalties count; -1 = all, 0 = none */
    int32_t penalty_last_n;
    /** [n_logit_bias] borrowed; several biases of one token are summed */
    const struct quire_logit_bias *logit_bias;
    uint32_t n_logit_bias;
    uint64_t seed;
};

/** Sets the defaults: temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, penalties off over 64
 *  tokens, seed 0. */
QUIRE_API void quire_sampling_params_init(struct quire_sampling_params *params, size_t struct_size);

/** Checks parameters. n_vocab bounds the tokens of logit_bias.
 *  QUIRE_E_MISUSE (struct_size) or QUIRE_E_INVALID_ARG (the message names the field); NaN is never
 *  valid. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_sampling_validate(
    const struct quire_sampling_params *params, uint32_t n_vocab, struct quire_error *err);

struct quire_sampler; /**< Scratch memory for one vocabulary size; keeps no state between calls. */

/** Reserves the memory of sampling (16 bytes per token of the vocabulary); quire_sampler_sample
 *  does not allocate. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_sampler_create(uint32_t n_vocab, const struct quire_allocator *allocator,
                     struct quire_sampler **out, struct quire_error *err);
QUIRE_API void quire_sampler_destroy(struct quire_sampler *sampler); /**< NULL is a no-op */

struct quire_sample_args {
    uint32_t struct_size;
    const float *logits; /**< [n_vocab], read only; -INFINITY = excluded token */
    /** [n_history] prompt and generated tokens, for the penalties; ids outside the vocabulary are
     *  ignored; may be NULL when n_history is 0 */
    const int32_t *history;
    size_t n_history;
    uint32_t stream; /**< random stream: one per independent answer to the same prompt */
    uint64_t index;  /**< position of the token in its sequence, prompt included */
};
QUIRE_API void quire_sample_args_init(struct quire_sample_args *args, size_t struct_size);

/** Samples a token from step->logits. One call at a time per sampler. *token is -1 on failure.
 *  QUIRE_E_NUMERIC a logit is NaN or +INFINITY, or all tokens are excluded; and the errors of
 *  quire_sampling_validate(). */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_sampler_sample(struct quire_sampler *sampler, const struct quire_sampling_params *params,
                     const struct quire_sample_args *args, int32_t *token, struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
