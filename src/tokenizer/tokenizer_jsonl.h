/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_jsonl.h - reads tokenizer.jsonl, the vocabulary of PLaMo 2 and 3. */
#ifndef QR_TOKENIZER_TOKENIZER_JSONL_H
#define QR_TOKENIZER_TOKENIZER_JSONL_H
#include "tokenizer/types.h"

/* Reads a line [text, score] or [text, score, type, ...] per token into an initialized description,
 * which keeps copies. Texts "<|plamo:...|>" are control tokens, whatever their type. Blank lines
 * are skipped. */
quire_status qr_tokenizer_jsonl_read(struct qr_vocab_spec *spec, const char *text, size_t size,
                                     const struct quire_allocator *a, struct quire_error *err);

#endif
