/* SPDX-License-Identifier: Apache-2.0 */
/* rope_table.c - cosines and sines of the rows of one step. */
#include "model/forward/rope_table.h"
#include "model/config/rope.h"
#include <math.h>

enum { MAX_HALF = 512 };

size_t qr_rope_table_floats(const struct qr_rope_config *rope, size_t max_tokens)
{
    return (2 + 2 * max_tokens) * (rope->dim / 2);
}

void qr_rope_table_init(struct qr_rope_table *t, const struct qr_rope_config *rope,
                        size_t max_tokens, float *memory)
{
    const size_t half = rope->dim / 2;
    *t =
        (struct qr_rope_table){ rope, memory, memory + 2 * half, memory + (2 + max_tokens) * half };
    qr_rope_inv_freq(rope, 1, t->inv_freq);
    qr_rope_inv_freq(rope, (uint64_t)rope->original_context + 1, t->inv_freq + half);
}

void qr_rope_table_row(struct qr_rope_table *t, size_t row, uint32_t position, uint32_t length)
{
    const size_t half = t->rope->dim / 2;
    float dynamic[MAX_HALF];
    const bool beyond = t->rope->original_context && length > t->rope->original_context;
    const float *inv_freq = t->inv_freq + (beyond ? half : 0);
    if (beyond && t->rope->scaling == QR_ROPE_SCALING_DYNAMIC) {
        qr_rope_inv_freq(t->rope, length, dynamic);
        inv_freq = dynamic;
    }
    float *c = t->cos + row * half, *s = t->sin + row * half;
    /* in double: at position 100000 a float angle is off by 0.004 */
    for (size_t i = 0; i < half; i++) {
        const double angle = (double)position * inv_freq[i];
        c[i] = (float)(cos(angle) * t->rope->cos_sin_scale);
        s[i] = (float)(sin(t->rope->clockwise ? -angle : angle) * t->rope->cos_sin_scale);
    }
}
