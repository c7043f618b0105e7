/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - row-wise kernels for avx2. */
#include "simd/vec_avx2.h"
#ifdef QUIRE_WITH_SLEEF
#include <sleef.h>
#define OPS_EXP  Sleef_expf8_u10avx2
#define OPS_TANH Sleef_tanhf8_u10avx2
#define OPS_ERF  Sleef_erff8_u10avx2
#endif
#define QR_ISA avx2
#include "template/ops_tpl.h"
