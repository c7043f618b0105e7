/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_lookup.h - drafts copied from the prompt and the answer so far. */
#ifndef QR_ENGINE_SPECULATION_PROMPT_LOOKUP_H
#define QR_ENGINE_SPECULATION_PROMPT_LOOKUP_H
#include "engine/speculation/suffix_automaton.h"

struct qr_prompt_lookup {
    uint32_t min_match; /* tokens; shorter matches give no draft. 0 is the same as 1 */
    uint32_t max_draft; /* tokens */
    const int32_t *eog; /* [n_eog] end-of-generation tokens; none if generation ignores them */
    uint32_t n_eog;
};

/* Writes the tokens that followed the earlier occurrence of `match` to draft[max_draft] and returns
 * their number. `match` is that of an automaton over tokens[n_tokens].
 *
 * Where the copy reaches the end of the sequence it goes on with its own beginning: the text has
 * become periodic. The draft ends before an end-of-generation token. The row before that token
 * samples it, and rows behind it are of no use. */
uint32_t qr_prompt_lookup_draft(const struct qr_prompt_lookup *lookup, struct qr_suffix_match match,
                                const int32_t *tokens, uint32_t n_tokens, int32_t *draft);

#endif
