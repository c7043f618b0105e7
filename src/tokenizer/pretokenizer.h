/* SPDX-License-Identifier: Apache-2.0 */
/* pretokenizer.h - splits text into the pieces that byte-level BPE merges. */
#ifndef QR_TOKENIZER_PRETOKENIZER_H
#define QR_TOKENIZER_PRETOKENIZER_H
#include <quire/status.h>
#include <stddef.h>
#include <stdint.h>

struct qr_pretokenizer;

/* Compiles a pre-tokenizer: a sequence of splits (enum qr_split_pattern). Each split isolates the
 * matches of its pattern in every piece that the split before it produced; the text between two
 * matches is a piece, too. */
quire_status qr_pretokenizer_create(const uint8_t *splits, uint32_t n_splits,
                                    const struct quire_allocator *a, struct qr_pretokenizer **out,
                                    struct quire_error *err);
void qr_pretokenizer_destroy(struct qr_pretokenizer *p);

/* Match state of one thread. NULL: out of memory. */
void *qr_pretokenizer_scratch_create(const struct qr_pretokenizer *p);
void qr_pretokenizer_scratch_destroy(void *scratch);

typedef quire_status (*qr_piece_fn)(void *user, const uint8_t *piece, size_t n);
/* Calls `piece` for each piece of well-formed text, in order; stops at its first failure. */
quire_status qr_pretokenizer_split(const struct qr_pretokenizer *p, void *scratch,
                                   const uint8_t *text, size_t n, qr_piece_fn piece, void *user,
                                   struct quire_error *err);

#endif
