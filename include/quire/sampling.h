/* SPDX-License-Identifier: Apache-2.0 */
/** Sampling: from one row of logits to one token id.
 *
 *      struct quire_sampling_params sp;
 *      quire_sampling_params_init(&sp, sizeof sp);
 *      sp.temperature = 0.7f;
 *      quire_sampler_create(n_vocab, NULL, &sampler, &err);
 *      struct quire_sample_args step = { sizeof step, logits, history, n_history, 0, index };
 *      quire_sampler_sample(sampler, &sp, &step, &token, &err);
 *
 *  The steps, in this order: logit_bias, penalties, top_k, top_p, min_p, temperature, draw.
 *  top_p and min_p look at probabilities before the temperature. The choice depends on nothing
 *  but the arguments: the random number is Philox4x32-10 of (seed, stream, index), and equal
 *  logits are ranked by rising token id.
 */
#ifndef QUIRE_SAMPLING_H
#define QUIRE_SAMPLING_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Added to the logit of one token before everything else; -INFINITY forbids the token. */
struct quire_logit_bias {
    int32_t token;
    float bias;
};

struct quire_sampling_params {
    uint32_t struct_size;
    float temperature; /**< >= 0; 0 = always the most likely token, and nothing is drawn */
    int32_t top_k;     /**< keep the k most likely tokens; <= 0 or >= the vocabulary = all */
    /** 0..1: keep the shortest list of most likely tokens with at least this probability together,
     *  and never less than one token; 1 = all */
    float top_p;
    float min_p; /**< 0..1: drop tokens below this fraction of the most likely one; 0 = none */
    /** > 0: divides a positive logit of a token seen before and multiplies a negative one; 1 = off */
    float repetition_penalty;
    float presence_penalty;  /**< subtracted from the logit of every token seen before; 0 = off */
    float frequency_penalty; /**< subtracted once for each time the token was seen; 0 = off */
    int32_t penalty_last_n;  /**< last tokens the penalties look at; -1 = all, 0 = none */
    /** [n_logit_bias] borrowed; biases of one token add up */
    const struct quire_logit_bias *logit_bias;
    uint32_t n_logit_bias;
    uint64_t seed;
};

/** temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, penalties off over 64 tokens, seed 0. */
QUIRE_API void quire_sampling_params_init(struct quire_sampling_params *params, size_t struct_size);

/** QUIRE_E_MISUSE (struct_size) or QUIRE_E_INVALID_ARG naming the field; NaN is never valid.
 *  n_vocab bounds the tokens of logit_bias. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_sampling_validate(
    const struct quire_sampling_params *params, uint32_t n_vocab, struct quire_error *err);

struct quire_sampler; /**< work space for one vocabulary size; keeps no state between calls */

/** Reserves what a choice needs (16 bytes per token of the vocabulary); choosing allocates
 *  nothing. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_sampler_create(uint32_t n_vocab, const struct quire_allocator *allocator,
                     struct quire_sampler **out, struct quire_error *err);
QUIRE_API void quire_sampler_destroy(struct quire_sampler *sampler); /**< NULL is a no-op */

struct quire_sample_args {
    uint32_t struct_size;
    const float *logits; /**< [n_vocab], not changed; -INFINITY = impossible token */
    /** [n_history] prompt and generated tokens, for the penalties; ids outside the vocabulary are
     *  passed over; may be NULL when n_history is 0 */
    const int32_t *history;
    size_t n_history;
    uint32_t stream; /**< which of several independent answers to the same prompt */
    uint64_t index;  /**< place of the token in its sequence, prompt included */
};
QUIRE_API void quire_sample_args_init(struct quire_sample_args *args, size_t struct_size);

/** Chooses a token. QUIRE_E_NUMERIC  a logit is NaN or +INFINITY, or no token is possible and
 *  what quire_sampling_validate() returns. *token is -1 on failure. One call at a time per
 *  sampler. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_sampler_sample(struct quire_sampler *sampler, const struct quire_sampling_params *params,
                     const struct quire_sample_args *step, int32_t *token, struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
