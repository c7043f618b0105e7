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
 * than text, grammar, json_schema, guided_*, structured_outputs) are errors that name them. Defaults
 * are the model's: it must be open when the request is submitted, not here. */
bool sampling_fields_read(struct fields *f, struct generation *g);

/* Copies the settings of the first request to the others. */
void sampling_fields_copy(struct generation *g);

#endif
