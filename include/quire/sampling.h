/* SPDX-License-Identifier: Apache-2.0 */
/** Sampling: one token id from one row of logits.
 *
 *      struct quire_sampling_params sp;
 *      quire_sampling_params_init(&sp, sizeof sp);
 *      sp.temperature = 0.7f;
 *      quire_sampler_create(n_vocab, NULL, &sampler, &err);
 *      struct quire_sample_args args;
 *      quire_sample_args_init(&args, sizeof args);
 *      args.logits = logits;
 *      args.history = tokens;
 *      args.n_history = args.index = n_tokens;
 *      quire_sampler_sample(sampler, &sp, &args, &token, &err);
 *
 *  Order of operations: logit_bias, then the samplers in the order of `samplers`, then the draw.
 *  Samplers before the temperature use probabilities at temperature 1. Sampling is deterministic:
 *  the token depends on the arguments only, random numbers are Philox4x32-10 of (seed, stream,
 *  index, purpose), where the purposes are the draw, XTC and mirostat, and equal logits are ranked
 *  by ascending token id. docs/sampling.md has the formulas and the names in other programs. */
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

/** Steps of the chain of samplers; names and meaning are those of llama.cpp. */
enum quire_sampler_kind {
    QUIRE_SAMPLER_NONE,        /**< end of a list */
    QUIRE_SAMPLER_PENALTIES,   /**< "penalties": repetition, presence and frequency penalty */
    QUIRE_SAMPLER_DRY,         /**< "dry" */
    QUIRE_SAMPLER_TOP_N_SIGMA, /**< "top_n_sigma" */
    QUIRE_SAMPLER_TOP_K,       /**< "top_k" */
    QUIRE_SAMPLER_TYPICAL_P,   /**< "typ_p" */
    QUIRE_SAMPLER_TOP_P,       /**< "top_p" */
    QUIRE_SAMPLER_MIN_P,       /**< "min_p" */
    QUIRE_SAMPLER_XTC,         /**< "xtc" */
    QUIRE_SAMPLER_TEMPERATURE, /**< "temperature" */
};
enum { QUIRE_MAX_SAMPLERS = 20 }; /**< entries of a list of samplers, the end included */

/** Longest repeat that DRY counts, and largest dry_allowed_length. */
#define QUIRE_DRY_MAX_REPEAT 4096

struct quire_sampling_params {
    uint32_t struct_size;
    /** >= 0; 0 = greedy: the most likely token after logit_bias, penalties and DRY, without a
     *  random number and without the other samplers */
    float temperature;
    int32_t top_k; /**< keep the k most likely tokens; <= 0 or >= n_vocab = all */
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

    /* members of later versions: 0 is the default of each */

    /** >= 0: dynamic temperature between temperature - range (at least 0) and temperature + range,
     *  by the entropy of the tokens that are left; 0 = off */
    float dynatemp_range;
    float dynatemp_exponent; /**< > 0: exponent of the normalized entropy; 0 = 1 */
    /** 0..1: locally typical sampling: keep the tokens whose information is closest to the entropy
     *  until their total probability exceeds typical_p; 0 and 1 = all */
    float typical_p;
    /** keep tokens whose logit is at most this many standard deviations of all logits below the
     *  highest one; <= 0 = all */
    float top_n_sigma;
    float xtc_probability; /**< 0..1: probability that XTC acts on a token; 0 = off */
    /** 0..1: XTC removes all tokens of at least this probability but the least likely of them;
     *  0 = 0.1; above 0.5 it never acts */
    float xtc_threshold;
    /** >= 0: DRY subtracts dry_multiplier * dry_base^(n - dry_allowed_length) from the logit of a
     *  token that would extend a repeat of n >= dry_allowed_length tokens; 0 = off */
    float dry_multiplier;
    float dry_base;             /**< >= 1; 0 = 1.75 */
    int32_t dry_allowed_length; /**< 1..QUIRE_DRY_MAX_REPEAT; 0 = 2 */
    /** number of last tokens of the history in which DRY looks for repeats; -1 and 0 = all (off is
     *  dry_multiplier 0) */
    int32_t dry_penalty_last_n;
    /** [n_dry_breakers] borrowed: sequences of token ids, each followed by -1; a repeat does not
     *  extend over one, and DRY never penalizes one of a single token */
    const int32_t *dry_breakers;
    uint32_t n_dry_breakers; /**< length of the array, the -1 included */
    /** 2 = mirostat 2.0: logit_bias, penalties, DRY, temperature, then mirostat in place of the
     *  other samplers, whose parameters have no effect; `samplers` must be empty. 0 = off */
    uint32_t mirostat;
    float mirostat_tau; /**< > 0: target of the information per token, in bits; 0 = 5 */
    float mirostat_eta; /**< > 0: learning rate; 0 = 0.1 */
    /** least number of tokens that typical_p, top_p, min_p and XTC leave; 0 = 1 */
    uint32_t min_keep;
    /** enum quire_sampler_kind in order of execution, up to the first 0. A sampler that is not in
     *  the list does not run: without "temperature" the draw is at temperature 1. All 0 = the
     *  default order, which is that of the enum */
    uint8_t samplers[QUIRE_MAX_SAMPLERS];
};

/** Sets the defaults: temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, penalties off over 64
 *  tokens, seed 0, all other samplers off. */
QUIRE_API void quire_sampling_params_init(struct quire_sampling_params *params, size_t struct_size);

/** Checks parameters. n_vocab bounds the tokens of logit_bias and dry_breakers.
 *  QUIRE_E_MISUSE (struct_size) or QUIRE_E_INVALID_ARG (the message names the field); NaN is never
 *  valid. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_sampling_validate(
    const struct quire_sampling_params *params, uint32_t n_vocab, struct quire_error *err);

/** Name of a sampler; NULL if kind is none. */
QUIRE_API const char *quire_sampler_name(int kind);

/** Parses names separated by ";", such as "penalties;top_k;temperature", into
 *  samplers[QUIRE_MAX_SAMPLERS]; "temp" and "typical_p" are accepted too.
 *  QUIRE_E_INVALID_ARG an argument is NULL, a name is unknown or occurs twice, or there is none;
 *  *samplers is then unchanged. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_samplers_parse(const char *names, uint8_t *samplers,
                                                             struct quire_error *err);

struct quire_sampler; /**< Scratch memory for one vocabulary size; keeps no state between calls. */

/** Reserves the memory of sampling (16 bytes per token of the vocabulary and 16 KiB);
 *  quire_sampler_sample does not allocate. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_sampler_create(uint32_t n_vocab, const struct quire_allocator *allocator,
                     struct quire_sampler **out, struct quire_error *err);
QUIRE_API void quire_sampler_destroy(struct quire_sampler *sampler); /**< NULL is a no-op */

/** What mirostat carries from token to token of one sequence, owned by the caller. All zeros is the
 *  state before the first token. It depends on the parameters and on the logits and tokens so far
 *  only; a copy of it resumes the sequence at the token after which it was taken. */
struct quire_sampling_state {
    uint64_t n_sampled; /**< tokens sampled with mirostat */
    /** limit of the information of a token, in bits; not read if n_sampled is 0, then 2 * tau */
    double mirostat_mu;
};

struct quire_sample_args {
    uint32_t struct_size;
    const float *logits; /**< [n_vocab], read only; -INFINITY = excluded token */
    /** [n_history] prompt and generated tokens, for the penalties; ids outside the vocabulary are
     *  ignored and end a repeat; may be NULL when n_history is 0 */
    const int32_t *history;
    size_t n_history;
    uint32_t stream; /**< random stream: one per independent answer to the same prompt */
    uint64_t index;  /**< position of the token in its sequence, prompt included */
    /** read and updated by mirostat, otherwise ignored; may be NULL without mirostat and with
     *  temperature 0 */
    struct quire_sampling_state *state;
};
QUIRE_API void quire_sample_args_init(struct quire_sample_args *args, size_t struct_size);

/** Samples a token from args->logits. One call at a time per sampler. On failure *token is -1 and
 *  *args->state is unchanged.
 *  QUIRE_E_NUMERIC a logit is NaN or +INFINITY, or all tokens are excluded; QUIRE_E_INVALID_ARG the
 *  state has a value that is not finite; and the errors of quire_sampling_validate(). */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_sampler_sample(struct quire_sampler *sampler, const struct quire_sampling_params *params,
                     const struct quire_sample_args *args, int32_t *token, struct quire_error *err);

enum { QUIRE_MAX_TOP_LOGPROBS = 256 };

/** Natural logarithm of the probability of a token. */
struct quire_token_logprob {
    int32_t token;
    float logprob; /**< -INFINITY for an excluded token */
};

/** Gets log-probabilities of the row logits[n_vocab] (-INFINITY = excluded token), before any
 *  sampler: *chosen is that of `token`, top[n_top] those of the most likely tokens in descending
 *  order, equal ones by ascending id. Where fewer than n_top tokens are possible, the rest of top
 *  is { -1, -INFINITY }. The softmax is computed in double precision. chosen may be NULL, and top
 *  if n_top is 0. Does not allocate; any thread. On failure nothing is written.
 *  QUIRE_E_INVALID_ARG a pointer is NULL, n_vocab is 0, n_top is above QUIRE_MAX_TOP_LOGPROBS;
 *  QUIRE_E_RANGE `token` is outside the vocabulary, unless chosen is NULL; QUIRE_E_NUMERIC a logit
 *  is NaN or +INFINITY, or all tokens are excluded. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_logprobs(
    const float *logits, uint32_t n_vocab, int32_t token, struct quire_token_logprob *chosen,
    uint32_t n_top, struct quire_token_logprob *top, struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
