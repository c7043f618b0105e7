/* SPDX-License-Identifier: Apache-2.0 */
/* rope_table.h - cosines and sines of the rows of one step, for one set of rotary parameters. */
#ifndef QR_MODEL_FORWARD_ROPE_TABLE_H
#define QR_MODEL_FORWARD_ROPE_TABLE_H
#include "base/threads.h"
#include "model/arch/model_config.h"

struct qr_rope_table {
    const struct qr_rope_config *rope; /* borrowed from the model's configuration */
    float *inv_freq;  /* [2][dim / 2]: for lengths up to original_context, and above */
    float *cos, *sin; /* [max_tokens][dim / 2] */
};

/* Floats of a table of max_tokens rows. */
size_t qr_rope_table_floats(const struct qr_rope_config *rope, size_t max_tokens);
/* Lays out the table in `memory`, which holds qr_rope_table_floats floats and outlives it. */
void qr_rope_table_init(struct qr_rope_table *t, const struct qr_rope_config *rope,
                        size_t max_tokens, float *memory);

/* Fills a row for a token at `position` of a sequence of rotary length `length`. The length selects
 * the short or long factors of LongRoPE and scales dynamic NTK; other kinds ignore it. */
void qr_rope_table_row(struct qr_rope_table *t, size_t row, uint32_t position, uint32_t length);

#endif
