/* SPDX-License-Identifier: Apache-2.0 */
/* charsmap.h - the normalizer of SentencePiece models: a precompiled map from character sequences
 * to their replacements. */
#ifndef QR_TOKENIZER_CHARSMAP_H
#define QR_TOKENIZER_CHARSMAP_H
#include "tokenizer/types.h"

/* A map: u32 bytes of the trie; the trie, an array of u32 units of a double array; replacements,
 * each ended by a NUL. Little endian. The value of a key is the offset of its replacement. */

/* Checks the sizes and the replacements of a map, which is borrowed, and stores it. `name`: for
 * messages. An empty map stores nothing. QUIRE_E_FORMAT, QUIRE_E_LIMIT. */
quire_status qr_charsmap_read(struct qr_vocab_spec *spec, const uint8_t *data, size_t size,
                              const char *name, struct quire_error *err);
/* The same for a map in base64; the decoded bytes are in the arena of the description. */
quire_status qr_charsmap_read_base64(struct qr_vocab_spec *spec, const char *text, size_t size,
                                     const char *name, struct quire_error *err);

/* Replaces the longest keys of the map in well-formed text, from left to right; other characters
 * stay. Points *text and *n to e->normalized. QUIRE_E_NOMEM. */
quire_status qr_charsmap_normalize(struct qr_encoder *e, const uint8_t **text, size_t *n);

#endif
