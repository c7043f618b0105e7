/* SPDX-License-Identifier: Apache-2.0 */
/** Beam search of requests (beam_width of struct quire_request_params).
 *
 *  Each step keeps the beam_width most likely partial answers, the beams. Their continuations are
 *  ranked by the sum of the log-probabilities of the answer, equal ones by the rank of the beam and
 *  then by token id. A continuation among the best beam_width that meets a stop condition becomes
 *  an answer; the best others of the first 2 * beam_width are the next beams. At max_tokens, or
 *  at the end of the context, the beams become answers too, with QUIRE_FINISH_LENGTH.
 *
 *  Score of an answer: the sum divided by the number of its tokens, the one that ended it included,
 *  to the power of length_penalty. Answers with the highest scores are kept and returned; of equal
 *  scores the earlier one.
 *
 *  Log-probabilities are those after masks, logits_hook, logit_bias, the penalties and DRY.
 *  Samplers that cut or draw are off or have the values of quire_sampling_params_init(); those that
 *  the model's author recommends are ignored. logits_hook is called for every beam.
 *
 *  If fewer than n answers exist because tokens are excluded, the others end with
 *  QUIRE_FINISH_ERROR and QUIRE_E_RANGE. A search that is cancelled or overdue returns the best
 *  answers and beams so far, all with that reason. */
#ifndef QUIRE_BEAM_SEARCH_H
#define QUIRE_BEAM_SEARCH_H

#ifdef __cplusplus
extern "C" {
#endif

/** When a search that has beam_width answers is over: early_stopping of Hugging Face's generate().
 *  Append only. */
enum quire_beam_stopping {
    /** False: when the worst of the answers scores at least as high as the best beam does at its
     *  present length */
    QUIRE_BEAM_STOP_HEURISTIC,
    QUIRE_BEAM_STOP_WHEN_FULL, /**< True: at once */
    /** "never": when no beam can exceed the worst of the answers; the best beam then counts with
     *  the maximum length if length_penalty is positive */
    QUIRE_BEAM_STOP_NEVER,
};

#ifdef __cplusplus
}
#endif
#endif
