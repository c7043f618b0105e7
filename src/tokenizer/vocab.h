/* SPDX-License-Identifier: Apache-2.0 */
/* vocab.h - token texts and bytes, index from text to id, byte tokens. */
#ifndef QR_TOKENIZER_VOCAB_H
#define QR_TOKENIZER_VOCAB_H
#include "tokenizer/types.h"

static inline const char *qr_token_text(const struct quire_tokenizer *t, int32_t id)
{
    return t->pool + t->tokens[id].text_offset;
}

/* Whether plain text may produce the token. Control, unknown and unused tokens never come from
 * plain text. */
static inline bool qr_token_is_normal(const struct quire_tokenizer *t, int32_t id)
{
    return t->tokens[id].type == QUIRE_TOKEN_NORMAL;
}

/* Id of a stored text, of any type, or QUIRE_TOKEN_NONE. Needs the index of texts. */
int32_t qr_vocab_find(const struct quire_tokenizer *t, const void *text, size_t size);

/* Slots of an open-addressing table for n entries: a power of two, at most two thirds full. */
size_t qr_vocab_table_slots(size_t n);

/* Bytes of the tables of a vocabulary. */
uint64_t qr_vocab_bytes(const struct quire_tokenizer *t);

/* The steps of the build, in this order. */

/* Validates the tokens and stores their texts and decoded bytes. */
quire_status qr_vocab_add_tokens(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                 struct quire_error *err);
/* Builds the index from text to id. Token types must be final. */
quire_status qr_vocab_index_texts(struct quire_tokenizer *t, struct quire_error *err);
/* Fills byte_token[]. QUIRE_E_FORMAT for a SentencePiece vocabulary that can encode some character
 * neither by byte fallback nor by the unknown token. */
quire_status qr_vocab_find_byte_tokens(struct quire_tokenizer *t, struct quire_error *err);

#endif
