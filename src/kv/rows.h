/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - one row (token, head) of keys or values between a block and plain memory. */
#ifndef QR_KV_ROWS_H
#define QR_KV_ROWS_H
#include "kv/pool.h"

/* A row of the largest head size and the widest element, V's padding included. */
struct qr_kv_row {
    _Alignas(64) unsigned char bytes[QR_KV_MAX_HEAD_SIZE * 4];
};

/* Moves one row of codes. codes: k_size elements of k_dtype; v_padded elements of v_dtype (put
 * stores all of them, get fills all of them). token: slot in the block. scale: that of the row,
 * moved with it where rows have scales of their own; elsewhere put does not look at it and get
 * leaves it as it is. Of a latent group only K is put, and what qr_kv_get_v gives are all elements
 * of the key. */
void qr_kv_put_k(const struct qr_kv_layout *layout, unsigned char *block, int token,
                 const void *codes, float scale);
void qr_kv_put_v(const struct qr_kv_layout *layout, unsigned char *block, int token,
                 const void *codes, float scale);
void qr_kv_get_k(const struct qr_kv_layout *layout, const unsigned char *block, int token,
                 void *codes, float *scale);
void qr_kv_get_v(const struct qr_kv_layout *layout, const unsigned char *block, int token,
                 void *codes, float *scale);

/* Zeros the codes behind the first v_size of a row of V: padding in a block is never left over. */
void qr_kv_zero_padding(const struct qr_kv_layout *layout, void *codes);

/* Strides of rows in plain memory, in elements. */
struct qr_kv_strides {
    size_t token, head;
};

/* Replaces strides of 0 by dense ones and checks that n_tokens * n_heads rows of `width` elements
 * do not overlap and span fewer than PTRDIFF_MAX bytes. what: "k" or "v". */
quire_status qr_kv_check_strides(const char *what, size_t token_stride, size_t head_stride,
                                 size_t n_tokens, size_t n_heads, size_t width, size_t elem_bytes,
                                 struct qr_kv_strides *out, struct quire_error *err);

#endif
