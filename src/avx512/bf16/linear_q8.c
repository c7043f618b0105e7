/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8.c - int8 activations times quantized weights for avx512_bf16, on VPDPBUSD, with codes
 * of up to six bits taken from bytes by VPERMB. */
#include "simd/delta_sums_avx512.h"
#include "simd/sum_tables_vbmi.h"
#include "simd/vec_avx512.h"
#define QR_ISA                   avx512_bf16
#define LINEAR_Q8_ROWS           6
#define LINEAR_Q8_VECS           2
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES_AVX512
#include "template/linear_q8_tpl.h"

void qr_init_sum_tables_avx512_bf16(struct qr_kernels *k)
{
    linear_sums_set(k);
    k->delta_sums = delta_sums_fill;
    /* AMD Zen 5, Q1_0 from memory: products are as fast as tables with one thread and, while others
     * use the memory, faster with two, since one stream waits less for it than eight */
    k->sum_tables_min_outputs = SIZE_MAX;
}
