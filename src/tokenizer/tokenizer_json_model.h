/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_json_model.h - reads the vocabulary of tokenizer.json. */
#ifndef QR_TOKENIZER_TOKENIZER_JSON_MODEL_H
#define QR_TOKENIZER_TOKENIZER_JSON_MODEL_H
#include "tokenizer/types.h"
#include "json/json.h"

/* Reads "model" and "added_tokens" of the root object into an initialized description, whose
 * strings then point into the JSON tree. */
quire_status qr_tokenizer_json_read_model(struct qr_vocab_spec *spec, const struct qr_json *root,
                                          struct quire_error *err);

#endif
