/* SPDX-License-Identifier: Apache-2.0 */
/* kv_convert.c - quantization and dequantization of KV cache elements for avx512. */
#define QR_ISA avx512
#include "template/kv_convert_tpl.h"
