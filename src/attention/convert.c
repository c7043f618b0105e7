/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - converts query rows to f32 and f32 rows to output types. */
#include "attention/convert.h"
#include "kv/dtype.h"

enum { INT8_LIMIT = 127 };

size_t qr_out_bytes(enum quire_kv_dtype dtype)
{
    const struct qr_kv_dtype *d = qr_kv_dtype(dtype);
    return d && dtype != QUIRE_KV_INT4 ? d->bytes : 0;
}

size_t qr_query_bytes(enum quire_kv_dtype dtype)
{
    const struct qr_kv_dtype *d = qr_kv_dtype(dtype);
    return d && d->scaling != QR_KV_POOL_SCALE && dtype != QUIRE_KV_INT4 ? d->bytes : 0;
}

void qr_query_to_f32(const struct qr_kernels *k, enum quire_kv_dtype dtype, float *dst,
                     const void *src, size_t n)
{
    qr_kv_dtype(dtype)->dequantize(k, dst, src, 1, n);
}

void qr_out_from_f32(const struct qr_kernels *k, enum quire_kv_dtype dtype, void *dst,
                     const float *src, float scale, size_t n)
{
    if (dtype != QUIRE_KV_INT8) {
        const struct qr_kv_dtype *d = qr_kv_dtype(dtype);
        float s = d->scaling == QR_KV_POOL_SCALE ? scale : 1;
        d->quantize(k, dst, src, &s, n);
        return;
    }
    int8_t *out = dst;
    for (size_t i = 0; i < n; i++) {
        float x = src[i] / scale;
        x = x > INT8_LIMIT ? INT8_LIMIT : x < -INT8_LIMIT ? -INT8_LIMIT : x;
        /* adding 1.5 * 2^23 leaves no fraction bits: rounds to nearest even without a libm call */
        x = x == x ? x + 0x1.8p23f - 0x1.8p23f : 0;
        out[i] = (int8_t)x;
    }
}
