/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_dtype.c - names and sizes of the element types. */
#include "format/safetensors_dtype.h"
#include <stdint.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t bytes;
} dtypes[QR_DTYPE_COUNT] = {
    [QR_DTYPE_BOOL] = { "BOOL", 1 },       [QR_DTYPE_U8] = { "U8", 1 },
    [QR_DTYPE_I8] = { "I8", 1 },           [QR_DTYPE_F8_E5M2] = { "F8_E5M2", 1 },
    [QR_DTYPE_F8_E4M3] = { "F8_E4M3", 1 }, [QR_DTYPE_I16] = { "I16", 2 },
    [QR_DTYPE_U16] = { "U16", 2 },         [QR_DTYPE_F16] = { "F16", 2 },
    [QR_DTYPE_BF16] = { "BF16", 2 },       [QR_DTYPE_I32] = { "I32", 4 },
    [QR_DTYPE_U32] = { "U32", 4 },         [QR_DTYPE_F32] = { "F32", 4 },
    [QR_DTYPE_F64] = { "F64", 8 },         [QR_DTYPE_I64] = { "I64", 8 },
    [QR_DTYPE_U64] = { "U64", 8 },
};

bool qr_dtype_from_name(const char *name, size_t len, enum qr_dtype *out)
{
    for (unsigned i = 0; i < QR_DTYPE_COUNT; i++)
        if (strlen(dtypes[i].name) == len && memcmp(dtypes[i].name, name, len) == 0) {
            *out = (enum qr_dtype)i;
            return true;
        }
    return false;
}

size_t qr_dtype_bytes(enum qr_dtype t) { return dtypes[t].bytes; }
const char *qr_dtype_name(enum qr_dtype t) { return dtypes[t].name; }
