/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_spec.c - life cycle of the description of a tokenizer. */
#include "tokenizer/vocab_spec.h"

void qr_vocab_spec_init(struct qr_vocab_spec *spec, const struct quire_allocator *a)
{
    *spec = (struct qr_vocab_spec){ .max_word_chars = 100 };
    qr_arena_init(&spec->arena, a, 0);
    for (int i = 0; i < QUIRE_N_SPECIAL; i++)
        spec->special[i] = QUIRE_TOKEN_NONE;
}

void qr_vocab_spec_free(struct qr_vocab_spec *spec) { qr_arena_free(&spec->arena); }
