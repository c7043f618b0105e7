/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack_bf16.c - weights rounded to bf16 for avx512_bf16, on VCVTNE2PS2BF16, and with byte
 * tables of VBMI. */
#include "simd/vec_avx512.h"
#define QR_ISA avx512_bf16
#include "template/linear_unpack_bf16_tpl.h"
