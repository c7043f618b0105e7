/* SPDX-License-Identifier: Apache-2.0 */
/* longest_match.h - vocabularies of the RWKV "world" models: escaped texts, greedy longest match
 * over bytes. */
#ifndef QR_TOKENIZER_LONGEST_MATCH_H
#define QR_TOKENIZER_LONGEST_MATCH_H
#include "tokenizer/types.h"

/* Writes the bytes of an escaped text, at most as many as it has, and their number to *n_out.
 * Escapes are those of Python's repr() of bytes: \\ \' \t \n \r \xNN; other bytes stand for
 * themselves. id: of the token, for messages. QUIRE_E_FORMAT for any other escape. */
quire_status qr_unescape_token(const char *text, size_t size, size_t id, uint8_t *out,
                               size_t *n_out, struct quire_error *err);

/* Writes n bytes as such a text, at most 4 n characters, and returns their number. As Python's
 * repr() without the quotes: ' has an escape only if the bytes contain ", too. */
size_t qr_escape_token(const uint8_t *bytes, size_t n, char *out);

/* Sorts the normal tokens by bytes. QUIRE_E_FORMAT if two have the same bytes, QUIRE_E_NOMEM. */
quire_status qr_longest_match_build(struct quire_tokenizer *t, struct quire_error *err);

/* Encodes a fragment: well-formed UTF-8 without added tokens. From each position it takes the
 * normal token with the most bytes that the rest of the text begins with. A byte that begins no
 * token gives the unknown token, or nothing if there is none, as in byte-level BPE.
 * Time is O(n * m * log v) for n bytes of text, m bytes of the longest token, v tokens: linear in
 * n. A search stops where no token continues with the bytes of the text. */
void qr_encode_longest_match(struct qr_encoder *e, const uint8_t *text, size_t n);

#endif
