/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_json_pair.h - template of tokenizer.json for pairs of texts. */
#ifndef QR_TOKENIZER_TOKENIZER_JSON_PAIR_H
#define QR_TOKENIZER_TOKENIZER_JSON_PAIR_H
#include "tokenizer/types.h"
#include "json/json.h"

/* Reads the template for pairs of the post-processor, whose template for single texts is already in
 * the spec. A template of another form than prefix, first text, tokens, second text, suffix, with
 * the prefix and suffix of single texts, is left out: the tokenizer then encodes no pairs. */
void qr_tokenizer_json_read_pair(struct qr_vocab_spec *spec, const struct qr_json *root);

#endif
