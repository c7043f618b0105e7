/* SPDX-License-Identifier: Apache-2.0 */
/* weights_read.h - reads weights in rows from fused, interleaved, transposed and stacked
 * tensors. */
#ifndef QR_MODEL_LOAD_WEIGHTS_READ_H
#define QR_MODEL_LOAD_WEIGHTS_READ_H
#include "model/load/types.h"

/* Weight number `expert` (< n_experts) of a stack. */
struct qr_weight qr_weights_expert(const struct qr_weight *stack, uint32_t expert);

/* Reads rows [row0, row0 + n_rows) in weight->type into dst[n_rows * weight->row_bytes], without
 * gaps. Thread-safe. QUIRE_E_RANGE beyond the rows, QUIRE_E_IO, QUIRE_E_CANCELLED from the progress
 * hook, which receives the bytes read so far and qr_weights_total_bytes. */
quire_status qr_weights_read_rows(struct qr_weights *w, const struct qr_weight *weight,
                                  uint64_t row0, uint64_t n_rows, void *dst,
                                  struct quire_error *err) QUIRE_MUST_CHECK;

/* The order of the columns that rows are read in, as of struct qr_source_tensor. */
const uint32_t *qr_weights_order(const struct qr_weights *w, const struct qr_weight *weight);

/* The scale that multiplies the matrix and that its rows do not contain; 1: none. */
float qr_weights_scale(const struct qr_weights *w, const struct qr_weight *weight);

/* Reads a vector (or a small matrix) of type F32, F16 or BF16 as f32; n = n_rows * n_cols. */
quire_status qr_weights_read_f32(struct qr_weights *w, const struct qr_weight *weight, float *dst,
                                 uint64_t n, struct quire_error *err) QUIRE_MUST_CHECK;

/* Reports bytes to the progress hook that need not be read. QUIRE_E_CANCELLED. */
quire_status qr_weights_skip(struct qr_weights *w, uint64_t bytes,
                             struct quire_error *err) QUIRE_MUST_CHECK;

#endif
