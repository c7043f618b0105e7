/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - row-wise kernels for sve256. */
#include "simd/vec_sve.h"
/* Functions of SLEEF stay those of neon: not every build of SLEEF has them for SVE. */
#undef QUIRE_WITH_SLEEF
#define QR_ISA sve256
#include "template/ops_tpl.h"
