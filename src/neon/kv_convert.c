/* SPDX-License-Identifier: Apache-2.0 */
/* kv_convert.c - quantization and dequantization of KV cache elements for neon. */
#define QR_ISA neon
#include "template/kv_convert_tpl.h"
