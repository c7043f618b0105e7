/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.h - memory and output of one encode call. */
#ifndef QR_TOKENIZER_ENCODER_H
#define QR_TOKENIZER_ENCODER_H
#include "tokenizer/types.h"

/* Appends a token id; counts it only when ids[] is full. */
static inline void qr_emit(struct qr_encoder *e, int32_t id)
{
    if (e->n_ids < e->max_ids)
        e->ids[e->n_ids] = id;
    e->n_ids++;
}

/* Reports QUIRE_E_NOMEM through e->err. */
quire_status qr_encoder_nomem(struct qr_encoder *e);

/* Frees all buffers of the encoder. */
void qr_encoder_free(struct qr_encoder *e);

/* Ensures capacity for `more` bytes after b->size. False: out of memory. */
bool qr_bytes_reserve(const struct quire_allocator *a, struct qr_bytes *b, size_t more);

#endif
