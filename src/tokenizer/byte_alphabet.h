/* SPDX-License-Identifier: Apache-2.0 */
/* byte_alphabet.h - GPT-2's byte-level alphabet. */
#ifndef QR_TOKENIZER_BYTE_ALPHABET_H
#define QR_TOKENIZER_BYTE_ALPHABET_H
#include <stdint.h>

/* Code point of the printable character that byte-level vocabularies write for a byte:
 * U+0021 .. U+0143. */
uint32_t qr_byte_to_unicode(uint8_t byte);

/* Inverse; -1 for a character outside the alphabet. */
int qr_unicode_to_byte(uint32_t cp);

#endif
