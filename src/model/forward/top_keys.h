/* SPDX-License-Identifier: Apache-2.0 */
/* top_keys.h - the keys with the highest scores. */
#ifndef QR_MODEL_FORWARD_TOP_KEYS_H
#define QR_MODEL_FORWARD_TOP_KEYS_H
#include <stddef.h>
#include <stdint.h>

/* Sets bit i % 64 of word i / 64 for the k highest of n scores, and clears the other bits of the
 * words that hold n bits. Of equal scores those with the lowest indices are chosen. Scores of
 * -INFINITY are never chosen; there is no NaN. */
void qr_top_keys(const float *scores, uint32_t n, uint32_t k, uint64_t *bits);

#endif
