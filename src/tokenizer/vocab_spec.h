/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_spec.h - life cycle of the description of a tokenizer. */
#ifndef QR_TOKENIZER_VOCAB_SPEC_H
#define QR_TOKENIZER_VOCAB_SPEC_H
#include "tokenizer/types.h"

/* Initializes an empty description: no tokens, every special id QUIRE_TOKEN_NONE. */
void qr_vocab_spec_init(struct qr_vocab_spec *spec, const struct quire_allocator *a);
void qr_vocab_spec_free(struct qr_vocab_spec *spec);

#endif
