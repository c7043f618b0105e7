/* SPDX-License-Identifier: Apache-2.0 */
/* score_bias.h - a bias of every score of a call. */
#ifndef QR_ATTENTION_SCORE_BIAS_H
#define QR_ATTENTION_SCORE_BIAS_H
#include "attention/types.h"

/* Values that are added to the scores behind the scale, in attention without relative bias, ALiBi
 * and trees. A token (a row of q) and head has `stride` values, a multiple of QR_TILE_KEYS; value p
 * is for the key at position p of the sequence. Those of keys that the query does not see are not
 * used, but read. */
struct qr_score_bias {
    const float *rows; /* [tokens][n_heads][stride] */
    size_t stride;     /* at least the length of the longest sequence */
};

static inline const float *qr_score_bias_row(const struct qr_score_bias *b, size_t token,
                                             uint32_t head, uint32_t n_heads)
{
    return b->rows + (token * n_heads + head) * b->stride;
}

#endif
