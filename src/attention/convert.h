/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - conversion of query and output rows between f32 and the caller's types. */
#ifndef QR_ATTENTION_CONVERT_H
#define QR_ATTENTION_CONVERT_H
#include "kernels/kernels.h"
#include <quire/kv_cache.h>
#include <stdbool.h>

/* Bytes per element of queries and outputs; 0 for unsupported types. */
size_t qr_query_bytes(enum quire_kv_dtype dtype);
size_t qr_out_bytes(enum quire_kv_dtype dtype);

/* Converts n elements to f32; int8 without a scale. src is aligned to its element size. */
void qr_query_to_f32(const struct qr_kernels *k, enum quire_kv_dtype dtype, float *dst,
                     const void *src, size_t n);

/* Converts n values to an output type as quire_attention_args.out_dtype specifies. fp8 and int8 are
 * divided by scale. dst is aligned to its element size. */
void qr_out_from_f32(const struct qr_kernels *k, enum quire_kv_dtype dtype, void *dst,
                     const float *src, float scale, size_t n);

#endif
