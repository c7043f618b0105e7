/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - copies one row (token, head) of keys or values between a block and plain memory. */
#ifndef QR_KV_ROWS_H
#define QR_KV_ROWS_H
#include "kv/layout.h"
#include <quire/status.h>

/* A row of the maximum head size in the widest dtype, including the padding of V. */
struct qr_kv_row {
    _Alignas(64) unsigned char bytes[QR_KV_MAX_HEAD_SIZE * 4];
};

/* Store (put) or load (get) one row. codes: k_size elements of k_dtype, or v_padded elements of
 * v_dtype; of int4, the group scales follow. token: index in the block. scale: row
 * scale; ignored by put and not written by get if the dtype has no row scales. Latent groups: V
 * cannot be stored, and qr_kv_get_v loads all k_size elements of the key. */
void qr_kv_put_k(const struct qr_kv_layout *layout, unsigned char *block, int token,
                 const void *codes, float scale);
void qr_kv_put_v(const struct qr_kv_layout *layout, unsigned char *block, int token,
                 const void *codes, float scale);
void qr_kv_get_k(const struct qr_kv_layout *layout, const unsigned char *block, int token,
                 void *codes, float *scale);
void qr_kv_get_v(const struct qr_kv_layout *layout, const unsigned char *block, int token,
                 void *codes, float *scale);

/* Zeros the padding of a V row, elements v_size .. v_padded-1. Blocks never hold stale padding. */
void qr_kv_zero_padding(const struct qr_kv_layout *layout, void *codes);

/* Strides between rows in plain memory, in elements. */
struct qr_kv_strides {
    size_t token, head;
};

/* Replaces strides of 0 by dense ones, and checks that n_tokens * n_heads rows of `width` elements
 * do not overlap and span fewer than PTRDIFF_MAX bytes. `what` names the rows in messages. */
quire_status qr_kv_check_strides(const char *what, size_t token_stride, size_t head_stride,
                                 size_t n_tokens, size_t n_heads, size_t width, size_t elem_bytes,
                                 struct qr_kv_strides *out, struct quire_error *err);

#endif
