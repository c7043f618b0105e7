/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - table of the data types of the KV cache. */
#include "kv/dtype.h"
#include "base/error.h"
#include <string.h>

static size_t quantize_f32(const struct qr_kernels *k, void *dst, const float *src, float *scale,
                           size_t n)
{
    (void)k, (void)scale;
    memcpy(dst, src, n * sizeof *src);
    return 0;
}

static void dequantize_f32(const struct qr_kernels *k, float *dst, const void *src, float scale,
                           size_t n)
{
    (void)k, (void)scale;
    memcpy(dst, src, n * sizeof *dst);
}

/* scale_arg: argument of the quantize kernel, the pool's scale or the address of the row's */
#define KERNELS(name, scale_arg)                                                                   \
    static size_t quantize_##name(const struct qr_kernels *k, void *dst, const float *src,         \
                                  float *scale, size_t n)                                          \
    {                                                                                              \
        return k->quantize_##name(dst, src, scale_arg, n);                                         \
    }                                                                                              \
    static void dequantize_##name(const struct qr_kernels *k, float *dst, const void *src,         \
                                  float scale, size_t n)                                           \
    {                                                                                              \
        k->dequantize_##name(dst, src, scale, n);                                                  \
    }
KERNELS(bf16, *scale)
KERNELS(f16, *scale)
KERNELS(fp8_e4m3, *scale)
KERNELS(fp8_e5m2, *scale)
KERNELS(int8, scale)

static size_t quantize_int4(const struct qr_kernels *k, void *dst, const float *src, float *scale,
                            size_t n)
{
    (void)scale;
    return k->quantize_int4(dst, src, n);
}

static void dequantize_int4(const struct qr_kernels *k, float *dst, const void *src, float scale,
                            size_t n)
{
    (void)scale;
    k->dequantize_int4(dst, src, n);
}

/* name, bytes, interleave, cells, scaling, max_finite, quantize, dequantize */
static const struct qr_kv_dtype dtypes[] = {
    [QUIRE_KV_F32] = { "f32", 4, 1, false, QR_KV_NO_SCALE, 0, quantize_f32, dequantize_f32 },
    [QUIRE_KV_BF16] = { "bf16", 2, 2, false, QR_KV_NO_SCALE, 0, quantize_bf16, dequantize_bf16 },
    [QUIRE_KV_F16] = { "f16", 2, 1, false, QR_KV_NO_SCALE, 0, quantize_f16, dequantize_f16 },
    [QUIRE_KV_FP8_E4M3] = { "fp8_e4m3", 1, 4, true, QR_KV_POOL_SCALE, 448, quantize_fp8_e4m3,
                            dequantize_fp8_e4m3 },
    [QUIRE_KV_FP8_E5M2] = { "fp8_e5m2", 1, 4, true, QR_KV_POOL_SCALE, 57344, quantize_fp8_e5m2,
                            dequantize_fp8_e5m2 },
    [QUIRE_KV_INT8] = { "int8", 1, 4, false, QR_KV_ROW_SCALE, 0, quantize_int8, dequantize_int8 },
    [QUIRE_KV_INT4] = { "int4", 1, 4, false, QR_KV_GROUP_SCALE, 0, quantize_int4, dequantize_int4 },
};
enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* q8_0, q8, q4_0 and q4 are the names of llama.cpp's 8-bit and 4-bit caches. */
static const struct {
    const char *name, *dtype;
} aliases[] = { { "fp8", "fp8_e4m3" },
                { "q8_0", "int8" },
                { "q8", "int8" },
                { "q4_0", "int4" },
                { "q4", "int4" } };

const struct qr_kv_dtype *qr_kv_dtype(enum quire_kv_dtype dtype)
{
    return (unsigned)dtype < N_DTYPES ? &dtypes[dtype] : NULL;
}

const char *quire_kv_dtype_name(enum quire_kv_dtype dtype)
{
    const struct qr_kv_dtype *d = qr_kv_dtype(dtype);
    return d ? d->name : NULL;
}

quire_status quire_kv_dtype_parse(const char *name, enum quire_kv_dtype *out,
                                  struct quire_error *err)
{
    if (!name || !out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", name ? "out" : "name");
    const char *dtype = name;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(name, aliases[i].name) == 0)
            dtype = aliases[i].dtype;
    for (unsigned i = 0; i < N_DTYPES; i++) {
        if (strcmp(dtype, dtypes[i].name) == 0) {
            *out = (enum quire_kv_dtype)i;
            return QUIRE_OK;
        }
    }
    return qr_fail(err, QUIRE_E_INVALID_ARG,
                   "unknown cache type \"%.40s\": use f32, bf16, f16, fp8_e4m3 (or fp8), fp8_e5m2, "
                   "int8 (or q8_0) or int4 (or q4_0)",
                   name);
}
