/* SPDX-License-Identifier: Apache-2.0 */
/* kv_convert.c - quantization and dequantization of KV cache elements for sve256. */
#define QR_ISA sve256
#include "template/kv_convert_tpl.h"
