/* SPDX-License-Identifier: Apache-2.0 */
/* unit_rows.h - divides rows of a matrix by their lengths. */
#ifndef QR_MODEL_LOAD_UNIT_ROWS_H
#define QR_MODEL_LOAD_UNIT_ROWS_H
#include "model/load/types.h"

/* Divides each of n_rows rows of the weight by its Euclidean length, summed in double, or by 1e-12
 * if that is larger, and rounds to the type: F32, F16 or BF16, others are QUIRE_E_UNSUPPORTED.
 * rows: [n_rows][row_bytes], as qr_weights_read_rows() reads them. */
quire_status qr_unit_rows(const struct qr_weight *weight, uint64_t n_rows, void *rows,
                          struct quire_error *err) QUIRE_MUST_CHECK;

#endif
