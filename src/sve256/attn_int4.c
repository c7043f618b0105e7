/* SPDX-License-Identifier: Apache-2.0 */
/* attn_int4.c - attention over int4 tiles for sve256. */
#include "simd/vec_sve.h"
/* int4_dot.h builds on the vec header */
#include "simd/int4_dot.h"
#define QR_ISA sve256
#include "template/attn_int4_tpl.h"
