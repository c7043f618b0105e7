/* SPDX-License-Identifier: Apache-2.0 */
/* check_tokenizer.h - invariants of an open tokenizer. */
#ifndef QUIRE_FUZZ_CHECK_TOKENIZER_H
#define QUIRE_FUZZ_CHECK_TOKENIZER_H
#include "fuzz.h"
#include <quire/tokenizer.h>

/* The lists of the vocabulary agree with each other. */
void check_vocab(const struct quire_tokenizer *t);

/* Encodes a text in every way and decodes it:
 *   - counting, encoding and encoding with one span give the same ids, all inside the vocabulary;
 *   - decode is well-formed UTF-8, and equal to the streamed text;
 *   - user spans give no control token but the unknown one, and encode like unmarked text.
 * round_trip: the vocabulary has a token for every byte and changes no text, so that decoding gives
 * the text again with U+FFFD for every ill-formed sequence. */
void check_text(const struct quire_tokenizer *t, const char *text, size_t size, bool round_trip);

/* Decodes any ids at once and streamed. */
void check_ids(const struct quire_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags);

#endif
