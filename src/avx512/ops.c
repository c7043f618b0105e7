/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - row-wise kernels for avx512. */
#include "simd/vec_avx512.h"
#ifdef QUIRE_WITH_SLEEF
#include <sleef.h>
#define OPS_EXP  Sleef_expf16_u10avx512f
#define OPS_TANH Sleef_tanhf16_u10avx512f
#define OPS_ERF  Sleef_erff16_u10avx512f
#endif
#define QR_ISA avx512
#include "template/ops_tpl.h"
