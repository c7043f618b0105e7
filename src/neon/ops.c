/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - row-wise kernels for neon. */
#include "simd/vec_neon.h"
#ifdef QUIRE_WITH_SLEEF
#include <sleef.h>
#define OPS_EXP  Sleef_expf4_u10advsimd
#define OPS_TANH Sleef_tanhf4_u10advsimd
#define OPS_ERF  Sleef_erff4_u10advsimd
#endif
#define QR_ISA neon
#include "template/ops_tpl.h"
