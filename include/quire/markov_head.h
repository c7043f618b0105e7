/* SPDX-License-Identifier: Apache-2.0 */
/** The Markov head of a block drafter (DSpark, quire_model_params.mtp_of), or its selector (DFlash
 *  2): tokens of a block are drawn one by one, each from logits that depend on the one before it.
 *
 *      quire_context_forward(drafter, &block, &err);        logits of all rows of the block
 *      per token: quire_context_markov(drafter, &args, &err)
 *                 draw it from args.logits */
#ifndef QUIRE_MARKOV_HEAD_H
#define QUIRE_MARKOV_HEAD_H
#include <quire/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Operands of quire_context_markov(): rows of logits of one or more blocks. */
struct quire_markov_args {
    uint32_t struct_size;
    uint32_t n;              /**< rows, up to params.max_seqs of the context; 0 is valid: no work */
    const int32_t *previous; /**< [n] the token before the one that the row predicts */
    float *const *logits;    /**< [n] rows of [vocab_size] f32, changed */
    /** [n] rows of [mtp_state_size] f32: last_hidden of these rows; may be NULL if confidence is
     *  NULL and quire_model_info.mtp_markov_state 0 */
    const float *const *hidden;
    /** [n] f32 out: the drafter's estimate of the probability that the model accepts the token
     *  that is drawn from the row's logits, 0 to 1. NULL: not computed */
    float *confidence;
    uint32_t n_threads; /**< as in quire_forward_args */
    uint32_t reserved;  /**< 0 */
};
QUIRE_API void quire_markov_args_init(struct quire_markov_args *args, size_t struct_size);

/** Adds to logits of rows of a block a function of the token before the one that a row predicts, of
 *  the Markov head of a block drafter. Tokens are drawn one by one: the row of the next one is
 *  computed with the token that was drawn before. `context` is of the drafter. All arguments are
 *  checked before anything is written.
 *      logits[i][t] += OUT[t] . IN[previous[i]]
 *      confidence[i] = sigmoid(w . [norm(hidden[i]); IN[previous[i]]] + b)
 *  The second half of the last line is absent in some drafters. Logits of tokens that the drafter
 *  has no outputs for stay as they are. A selector keeps the tokens t with the largest logits, as
 *  many as its file says, and excludes the others:
 *      logits[i][t] += OUT[t] . (IN[previous[i]] * H norm(hidden[i])), or = -INFINITY
 *  The result of a row depends on nothing but the row.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_RANGE (previous), QUIRE_E_LIMIT (n, n_threads),
 *  QUIRE_E_UNSUPPORTED (the model has neither, or no confidence), QUIRE_E_BUSY. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_context_markov(struct quire_context *context,
                                                             const struct quire_markov_args *args,
                                                             struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
