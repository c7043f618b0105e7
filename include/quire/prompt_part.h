/* SPDX-License-Identifier: Apache-2.0 */
/** Parts of a prompt: texts, token ids, and rows of embeddings from outside, such as those of an
 *  image encoder or a soft prompt. For quire_request_params.parts (quire/engine.h). */
#ifndef QUIRE_PROMPT_PART_H
#define QUIRE_PROMPT_PART_H
#include <stddef.h>
#include <stdint.h>

/** Exactly one of text, tokens and embeddings; what is not used is 0.
 *
 *  A row of embeddings counts as a token everywhere, but has no id and no text: hooks and events
 *  show -1, and penalties, DRY and drafts ignore it. In the prefix cache two rows are equal if all
 *  their bits are; the cache keeps copies of them as long as their keys and values. Saved prefixes
 *  end before their first row of embeddings. */
struct quire_prompt_part {
    const char *text;      /**< UTF-8, tokenized on its own */
    size_t text_size;      /**< bytes */
    const int32_t *tokens; /**< [n_tokens] ids */
    size_t n_tokens;
    /** f32 [n_rows][hidden_size], finite, as the model's embedding lookup returns them (see
     *  quire_forward_args.embeddings): a model that scales its embeddings scales these too.
     *  Attention is causal, as among tokens */
    const float *embeddings;
    size_t n_rows;
    uint32_t hidden_size; /**< floats per row: quire_model_info.hidden_size */
    uint32_t text_flags;  /**< QUIRE_ENCODE_* for text; 0 = none, not even BOS */
    uint32_t reserved[6]; /**< 0 */
};

#endif
