/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - rows of queries and results in the types that callers hand in. */
#ifndef QR_ATTENTION_CONVERT_H
#define QR_ATTENTION_CONVERT_H
#include "kernels/kernels.h"
#include <quire/kv_cache.h>
#include <stdbool.h>

/* Bytes of an element of queries or results; 0 for a type that they cannot have. */
size_t qr_query_bytes(enum quire_kv_dtype dtype);
size_t qr_out_bytes(enum quire_kv_dtype dtype);

/* n elements, int8 ones as the integers they are, to f32. src is aligned to its elements. */
void qr_query_widen(const struct qr_kernels *k, enum quire_kv_dtype dtype, float *dst,
                    const void *src, size_t n);

/* n values as the header says of out_dtype; scale counts for fp8 and int8. dst is aligned to its
 * elements. */
void qr_out_narrow(const struct qr_kernels *k, enum quire_kv_dtype dtype, void *dst,
                   const float *src, float scale, size_t n);

#endif
