/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_read.h - reads rows of quantized matrices. */
#ifndef QR_MODEL_LOAD_QUANTIZED_READ_H
#define QR_MODEL_LOAD_QUANTIZED_READ_H
#include "model/load/quantized_types.h"
#include "model/load/types.h"

/* Bytes of a row in the type of the matrix; false on overflow. */
bool qr_quantized_row_bytes(const struct qr_quantized_tensor *t, size_t *bytes);

/* Reads bytes [begin, begin + bytes) of the matrix as rows of its type, those of all experts one
 * after the other. Thread-safe. QUIRE_E_RANGE beyond the end; QUIRE_E_FORMAT: a scale that is not
 * finite, a zero point out of range, a NaN, with the tensor and the place; QUIRE_E_IO;
 * QUIRE_E_NOMEM. */
quire_status qr_quantized_read(const struct qr_weights *w, const struct qr_quantized_tensor *t,
                               uint64_t begin, uint64_t bytes, void *dst, struct quire_error *err);

#endif
