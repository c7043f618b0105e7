/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_size.h - how many prompt tokens a step computes beside the tokens it generates. */
#ifndef QR_ENGINE_CHUNK_SIZE_H
#define QR_ENGINE_CHUNK_SIZE_H
#include "engine/step_cost.h"

enum { QR_CHUNK_MIN_TOKENS = 16 }; /* smaller chunks would read the weights for too few rows */

/* Measured durations of steps. The cost of a prompt token depends on how many share a step, because
 * all rows share the reading of the weights; so steps are measured by their size. */
struct qr_chunk_size {
    double decode_seconds;    /* running average of steps without prompts; 0 = none yet */
    struct qr_step_cost cost; /* of steps with prompts, by their rows */
};

/* Records a step of n_rows tokens, of which n_prompt are of prompts. */
void qr_chunk_size_record(struct qr_chunk_size *c, uint32_t n_prompt, uint32_t n_rows,
                          double seconds);

/* Number of prompt tokens, at most max, for a step that also generates n_decoding tokens and shall
 * take `target` seconds, while the prompts of n_prompts requests are not complete. 0: 2.5 times as
 * long as the steps without prompts; more in proportion while there are more prompts than answers,
 * because a step delays the tokens of the answers and brings the first tokens of the others closer,
 * up to 10 times. All of max if nobody waits for a next token, the target is INFINITY or nothing
 * has been measured; else at most twice what was measured. */
uint32_t qr_chunk_size_choose(const struct qr_chunk_size *c, uint32_t n_decoding,
                              uint32_t n_prompts, double target, uint32_t max);

#endif
