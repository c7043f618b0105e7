/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_lookup.c - copies the continuation of an earlier occurrence. */
#include "engine/speculation/prompt_lookup.h"

static bool ends_generation(const struct qr_prompt_lookup *lookup, int32_t token)
{
    for (uint32_t i = 0; i < lookup->n_eog; i++)
        if (lookup->eog[i] == token)
            return true;
    return false;
}

uint32_t qr_prompt_lookup_draft(const struct qr_prompt_lookup *lookup, struct qr_suffix_match match,
                                const int32_t *tokens, uint32_t n_tokens, int32_t *draft)
{
    if (match.length == 0 || match.length < lookup->min_match)
        return 0;
    const uint32_t period = n_tokens - match.end; /* at least 1 */
    uint32_t n = 0;
    for (; n < lookup->max_draft; n++) {
        const int32_t token = n < period ? tokens[match.end + n] : draft[n - period];
        if (token < 0 || ends_generation(lookup, token)) /* negative: an embedding row */
            break;
        draft[n] = token;
    }
    return n;
}
