/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - builds a tokenizer from its description. */
#ifndef QR_TOKENIZER_BUILD_H
#define QR_TOKENIZER_BUILD_H
#include "tokenizer/types.h"

/* Validates the description and builds the tokenizer, which copies all it needs: the caller may
 * free the description and the strings it points to. */
quire_status qr_tokenizer_build(const struct qr_vocab_spec *spec, const struct quire_allocator *a,
                                struct quire_tokenizer **out, struct quire_error *err);

#endif
