/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_bind.h - finds the quantized matrices of a checkpoint and checks their tensors. */
#ifndef QR_MODEL_LOAD_QUANTIZED_BIND_H
#define QR_MODEL_LOAD_QUANTIZED_BIND_H
#include "format/safetensors.h"
#include "model/load/quantized_types.h"
#include "model/load/types.h"

/* A matrix that is being bound. Messages name its tensors. */
struct qr_quantized_build {
    struct qr_weights *w;
    struct quire_error *err;
    uint8_t *hidden;  /* [tensors of the files] tensors that a matrix consists of */
    const char *base; /* name of the module, or of the tensor without its ending */
    size_t base_size;
    struct qr_quantized_tensor *out;
};

/* Fills w->quantized->tensors and marks the tensors that they consist of. Errors as
 * qr_quantized_open. */
quire_status qr_quantized_bind(struct qr_weights *w, uint8_t *hidden, struct quire_error *err);

/* ---- For the methods */

/* The tensor "<base><ending>", hidden from now on; NULL and QR_NO_TENSOR if there is none. */
const struct qr_safetensor *qr_quantized_part(const struct qr_quantized_build *b,
                                              const char *ending, int64_t *number);
/* The same for a tensor that must exist and have one of up to three dtypes. */
quire_status qr_quantized_need(const struct qr_quantized_build *b, const char *ending,
                               uint32_t dtypes, int64_t *number, const struct qr_safetensor **t);
/* Hides "<base><ending>", a tensor without effect on quire's results, if it exists. */
void qr_quantized_hide(const struct qr_quantized_build *b, const char *ending);

/* Bits of `dtypes`. */
#define QR_DTYPE_BIT(dtype) (1u << QR_DTYPE_##dtype)
#define QR_DTYPE_FLOATS     (QR_DTYPE_BIT(F32) | QR_DTYPE_BIT(F16) | QR_DTYPE_BIT(BF16))

/* QUIRE_E_FORMAT unless the tensor has the shape rows x columns. */
quire_status qr_quantized_shape(const struct qr_quantized_build *b, const struct qr_safetensor *t,
                                uint64_t rows, uint64_t columns);
/* The same for a tensor that cannot be right whatever its shape, with the reason. */
quire_status qr_quantized_bad(const struct qr_quantized_build *b, const struct qr_safetensor *t,
                              const char *why);

/* Chooses the type of integer codes with `bits` bits for out->columns and out->group. */
quire_status qr_quantized_integer_type(struct qr_quantized_build *b, unsigned bits);

/* Reads g_idx, the group of each column, into out->order unless it ascends. */
quire_status qr_quantized_order(struct qr_quantized_build *b, int64_t number);

#endif
