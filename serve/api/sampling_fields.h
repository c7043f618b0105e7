/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_fields.h - parameters of generation that the routes share. */
#ifndef QUIRE_SERVE_SAMPLING_FIELDS_H
#define QUIRE_SERVE_SAMPLING_FIELDS_H
#include "fields.h"
#include "generation.h"

/* Reads from f the parameters of OpenAI and the extensions of llama.cpp and vLLM, and sets
 * g->sampling and the first request: temperature, top_p, top_k, min_p, typical_p, top_n_sigma,
 * xtc_*, dry_*, dynatemp_*, mirostat*, samplers, seed, presence_penalty, frequency_penalty,
 * repeat_penalty / repetition_penalty, repeat_last_n, logit_bias (object or list of pairs), stop,
 * stop_token_ids, n, best_of, min_tokens, ignore_eos, cache_prompt, priority, use_beam_search,
 * length_penalty, early_stopping. Parameters of structured output (response_format of a type other
 * than text, grammar, json_schema, guided_*, structured_outputs) are errors that name them. */
bool sampling_fields_read(struct fields *f, struct generation *g);

/* For generation_start(), when the model is open: sets g->sampling to the model's recommendations
 * changed by what was read, and copies the settings of the first request to the others. No-op
 * without sampling_fields_read(). */
bool sampling_fields_apply(struct generation *g, struct api_error *error);

/* Copies everything but the prompt and the random stream. */
void sampling_fields_copy(struct quire_request_params *to, const struct quire_request_params *from);

#endif
