/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - one row per storage type of the cache. */
#include "kv/dtype.h"
#include "base/error.h"
#include <string.h>

static size_t narrow_f32(const struct qr_kernels *k, void *dst, const float *src, float *scale,
                         size_t n)
{
    (void)k, (void)scale;
    memcpy(dst, src, n * sizeof *src);
    return 0;
}

static void widen_f32(const struct qr_kernels *k, float *dst, const void *src, float scale,
                      size_t n)
{
    (void)k, (void)scale;
    memcpy(dst, src, n * sizeof *dst);
}

/* scale_arg: what narrow hands its kernel, the scale or where to store the row's */
#define KERNELS(name, scale_arg)                                                                   \
    static size_t narrow_##name(const struct qr_kernels *k, void *dst, const float *src,           \
                                float *scale, size_t n)                                            \
    {                                                                                              \
        return k->quantize_##name(dst, src, scale_arg, n);                                         \
    }                                                                                              \
    static void widen_##name(const struct qr_kernels *k, float *dst, const void *src, float scale, \
                             size_t n)                                                             \
    {                                                                                              \
        k->dequantize_##name(dst, src, scale, n);                                                  \
    }
KERNELS(bf16, *scale)
KERNELS(f16, *scale)
KERNELS(fp8_e4m3, *scale)
KERNELS(fp8_e5m2, *scale)
KERNELS(int8, scale)

/* name, bytes, step, cells, scaling, largest, narrow, widen */
static const struct qr_kv_dtype dtypes[] = {
    [QUIRE_KV_F32] = { "f32", 4, 1, false, QR_KV_NO_SCALE, 0, narrow_f32, widen_f32 },
    [QUIRE_KV_BF16] = { "bf16", 2, 2, false, QR_KV_NO_SCALE, 0, narrow_bf16, widen_bf16 },
    [QUIRE_KV_F16] = { "f16", 2, 1, false, QR_KV_NO_SCALE, 0, narrow_f16, widen_f16 },
    [QUIRE_KV_FP8_E4M3] = { "fp8_e4m3", 1, 4, true, QR_KV_POOL_SCALE, 448, narrow_fp8_e4m3,
                            widen_fp8_e4m3 },
    [QUIRE_KV_FP8_E5M2] = { "fp8_e5m2", 1, 4, true, QR_KV_POOL_SCALE, 57344, narrow_fp8_e5m2,
                            widen_fp8_e5m2 },
    [QUIRE_KV_INT8] = { "int8", 1, 4, false, QR_KV_ROW_SCALE, 0, narrow_int8, widen_int8 },
};
enum { N_DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* Other names for them, llama.cpp's for its own 8-bit cache among them. */
static const struct {
    const char *name, *means;
} aliases[] = { { "fp8", "fp8_e4m3" }, { "q8_0", "int8" }, { "q8", "int8" } };

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
    const char *wanted = name;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(name, aliases[i].name) == 0)
            wanted = aliases[i].means;
    for (unsigned i = 0; i < N_DTYPES; i++) {
        if (strcmp(wanted, dtypes[i].name) == 0) {
            *out = (enum quire_kv_dtype)i;
            return QUIRE_OK;
        }
    }
    return qr_fail(
        err, QUIRE_E_INVALID_ARG,
        "unknown cache type \"%.40s\": use f32, bf16, f16, fp8_e4m3 (or fp8), fp8_e5m2 or "
        "int8 (or q8_0)",
        name);
}
