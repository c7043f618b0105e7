/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_select.h - selects the kernels of a plan group. */
#ifndef QR_ATTENTION_KERNEL_SELECT_H
#define QR_ATTENTION_KERNEL_SELECT_H
#include "attention/types.h"

/* The kernel table for these head sizes: `best`, or the generic one for plain rows. */
const struct qr_kernels *qr_attention_kernel_table(const struct qr_kernels *best,
                                                   uint32_t head_size, uint32_t v_head_size);

/* Selects the kernels of a table for a cache layout and compute mode. */
struct qr_attention_kernels qr_attention_kernels_select(const struct qr_kernels *table,
                                                        const struct qr_kv_layout *layout,
                                                        enum quire_compute compute);

#endif
