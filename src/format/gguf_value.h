/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_value.h - value types of GGUF metadata: sizes and names. */
#ifndef QR_FORMAT_GGUF_VALUE_H
#define QR_FORMAT_GGUF_VALUE_H
#include <stddef.h>
#include <stdint.h>

/* Numbered as in the file. */
enum qr_gguf_type {
    QR_GGUF_U8,
    QR_GGUF_I8,
    QR_GGUF_U16,
    QR_GGUF_I16,
    QR_GGUF_U32,
    QR_GGUF_I32,
    QR_GGUF_F32,
    QR_GGUF_BOOL,
    QR_GGUF_STRING,
    QR_GGUF_ARRAY,
    QR_GGUF_U64,
    QR_GGUF_I64,
    QR_GGUF_F64,
    QR_GGUF_N_TYPES
};

/* Bytes of one value; 0 for strings, arrays and unknown types. */
size_t qr_gguf_value_bytes(uint32_t type);
const char *qr_gguf_value_name(uint32_t type);

#endif
