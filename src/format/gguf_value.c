/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_value.c - sizes and names of the metadata value types. */
#include "format/gguf_value.h"

size_t qr_gguf_value_bytes(uint32_t type)
{
    static const uint8_t bytes[QR_GGUF_N_TYPES] = {
        [QR_GGUF_U8] = 1,  [QR_GGUF_I8] = 1,  [QR_GGUF_U16] = 2, [QR_GGUF_I16] = 2,
        [QR_GGUF_U32] = 4, [QR_GGUF_I32] = 4, [QR_GGUF_F32] = 4, [QR_GGUF_BOOL] = 1,
        [QR_GGUF_U64] = 8, [QR_GGUF_I64] = 8, [QR_GGUF_F64] = 8,
    };
    return type < QR_GGUF_N_TYPES ? bytes[type] : 0;
}

const char *qr_gguf_value_name(uint32_t type)
{
    static const char *const names[QR_GGUF_N_TYPES] = {
        "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
        "bool", "string", "array", "u64", "i64", "f64",
    };
    return type < QR_GGUF_N_TYPES ? names[type] : "unknown";
}
