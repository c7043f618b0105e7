/* SPDX-License-Identifier: Apache-2.0 */
/* kv_convert.c - conversions of cache elements at this level. */
#define QR_ISA avx512
#include "template/kv_convert_tpl.h"
