/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_hf.h - tokenizers in the files of a Hugging Face folder. */
#ifndef QR_TOKENIZER_VOCAB_HF_H
#define QR_TOKENIZER_VOCAB_HF_H
#include "tokenizer/vocab_spec.h"
#include <jansson.h>

quire_status qr_tokenizer_from_hf_folder(const char *path, const struct quire_allocator *a,
                                         struct quire_tokenizer **out, struct quire_error *err);
/* tokenizer.json or tokenizer.model, by its contents; reads what lies beside it, too. */
quire_status qr_tokenizer_from_hf_file(const char *path, const struct quire_allocator *a,
                                       struct quire_tokenizer **out, struct quire_error *err);

/* Parts of tokenizer.json. root is its object; strings of the spec point into it. */
quire_status qr_vocab_read_json(struct qr_vocab_spec *spec, const json_t *root,
                                struct quire_error *err);
quire_status qr_vocab_read_json_rules(struct qr_vocab_spec *spec, const json_t *root,
                                      struct quire_error *err);

/* tokenizer.model, a SentencePiece model; strings of the spec point into data. */
quire_status qr_vocab_read_sentencepiece(struct qr_vocab_spec *spec, const uint8_t *data,
                                         size_t size, struct quire_error *err);

#endif
