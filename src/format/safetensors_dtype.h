/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_dtype.h - element types of safetensors files. */
#ifndef QR_FORMAT_SAFETENSORS_DTYPE_H
#define QR_FORMAT_SAFETENSORS_DTYPE_H
#include <stdbool.h>
#include <stddef.h>

enum qr_dtype {
    QR_DTYPE_BOOL,
    QR_DTYPE_U8,
    QR_DTYPE_I8,
    QR_DTYPE_F8_E5M2,
    QR_DTYPE_F8_E4M3,
    QR_DTYPE_I16,
    QR_DTYPE_U16,
    QR_DTYPE_F16,
    QR_DTYPE_BF16,
    QR_DTYPE_I32,
    QR_DTYPE_U32,
    QR_DTYPE_F32,
    QR_DTYPE_F64,
    QR_DTYPE_I64,
    QR_DTYPE_U64,
    QR_DTYPE_COUNT
};

/* Finds a type by its name in the header, e.g. "BF16"; false if it is unknown. */
bool qr_dtype_from_name(const char *name, size_t len, enum qr_dtype *out);
size_t qr_dtype_bytes(enum qr_dtype t);
const char *qr_dtype_name(enum qr_dtype t);

#endif
