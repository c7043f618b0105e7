/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_json_pipeline.h - reads the tokenization pipeline of tokenizer.json. */
#ifndef QR_TOKENIZER_TOKENIZER_JSON_PIPELINE_H
#define QR_TOKENIZER_TOKENIZER_JSON_PIPELINE_H
#include "tokenizer/types.h"
#include "json/json.h"

/* Reads "normalizer", "pre_tokenizer" and "post_processor" of the root object. The model must have
 * been read. QUIRE_E_UNSUPPORTED, naming the step, for any step without an exact equivalent. */
quire_status qr_tokenizer_json_read_pipeline(struct qr_vocab_spec *spec, const struct qr_json *root,
                                             struct quire_error *err);

#endif
