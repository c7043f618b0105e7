/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_logprobs.h - log-probabilities of the tokens of prompts that are echoed with them. */
#ifndef QR_ENGINE_PROMPT_LOGPROBS_H
#define QR_ENGINE_PROMPT_LOGPROBS_H
#include "engine/types.h"

/* Computes those of the tokens that follow the rows of the step. Called once per step, between
 * qr_scheduler_commit() and sampling; it overwrites the rows of logits that the step left unused.
 * NaN in a row ends its answer. */
void qr_prompt_logprobs_step(struct quire_engine *e);

#endif
