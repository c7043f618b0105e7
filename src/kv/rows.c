/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - copies one row (token, head) of keys or values between a block and plain memory. */
#include "kv/rows.h"
#include "base/checked.h"
#include "base/error.h"
#include <string.h>

/* A row is scattered over its block in chunks of one size, at one stride except for fp8: fp8 K has
 * two chunks of two d's, 8 bytes apart, per d quad; fp8 V has single bytes in cells of 16 d's. Each
 * copy_* function covers one pattern in both directions: put = 1 copies into the block. They are
 * inlined so that put and size are constants and each COPY is one load and store. */
#define COPY(put, cell, code, size) ((put) ? memcpy(cell, code, size) : memcpy(code, cell, size))
#define INLINE                      static inline __attribute__((always_inline)) void

INLINE copy_strided(int put, unsigned char *cell, unsigned char *codes, size_t n, size_t stride,
                    const size_t size)
{
    for (size_t i = 0; i < n; i++)
        COPY(put, cell + i * stride, codes + i * size, size);
}

INLINE copy_cells_k(int put, unsigned char *cell, unsigned char *codes, size_t n_quads,
                    size_t stride)
{
    for (size_t i = 0; i < n_quads; i++) {
        COPY(put, cell + i * stride, codes + 4 * i, 2);
        COPY(put, cell + i * stride + 8, codes + 4 * i + 2, 2);
    }
}

INLINE copy_cells_v(int put, unsigned char *cell, unsigned char *codes, size_t n)
{
    for (size_t i = 0; i < n; i += 4)
        for (size_t j = 0; j < 4; j++)
            COPY(put, cell + i * 4 + j * 2, codes + i + j, 1);
}

INLINE copy_k(int put, const struct qr_kv_layout *l, unsigned char *block, int token,
              unsigned char *codes)
{
    unsigned char *cell = block + qr_kv_k_offset(l, token, 0);
    const size_t n = (size_t)l->k_size, stride = l->k_step_bytes, elem = l->k_type->bytes;
    if (l->k_plain)
        COPY(put, cell, codes, n * elem);
    else if (l->k_type->cells)
        copy_cells_k(put, cell, codes, n / 4, stride);
    else if (elem == 2 && l->k_type->interleave == 1)
        copy_strided(put, cell, codes, n, stride, 2);
    else /* f32, bf16 d pairs, int8 d quads, int4 quads of bytes */
        copy_strided(put, cell, codes, qr_kv_code_bytes(l->k_type, n) / 4, stride, 4);
}

INLINE copy_v(int put, const struct qr_kv_layout *l, unsigned char *block, int token,
              unsigned char *codes)
{
    unsigned char *cell = block + qr_kv_v_offset(l, token, 0);
    const size_t n = (size_t)l->v_padded;
    if (l->v_plain || l->v_type->interleave == 1)
        COPY(put, cell, codes, n * l->v_type->bytes);
    else if (l->v_type->cells)
        copy_cells_v(put, cell, codes, n);
    else if (l->v_type->bytes == 2) /* bf16 token pairs */
        copy_strided(put, cell, codes, n, 4, 2);
    else /* int8 and int4 token quads */
        copy_strided(put, cell, codes, qr_kv_code_bytes(l->v_type, n), 4, 1);
}

/* Row scale of a token; the scales begin at byte `scales` of the block, 0 = none. */
INLINE copy_scale(int put, unsigned char *block, size_t scales, int token, float *scale)
{
    if (scales)
        COPY(put, block + scales + (size_t)token * sizeof *scale, scale, sizeof *scale);
}

/* Row scale and group scales of a token. Group scales follow the codes of its row. */
INLINE copy_k_scales(int put, const struct qr_kv_layout *l, unsigned char *block, int token,
                     unsigned char *codes, float *scale)
{
    const size_t n = (size_t)l->k_size, stride = (size_t)l->group * sizeof(uint16_t);
    copy_scale(put, block, l->k_scales, token, scale);
    if (l->k_group_scales)
        copy_strided(put, block + qr_kv_k_group_scale(l, token, 0), codes + n / 2,
                     n / QR_INT4_GROUP, stride, sizeof(uint16_t));
}

INLINE copy_v_scales(int put, const struct qr_kv_layout *l, unsigned char *block, int token,
                     unsigned char *codes, float *scale)
{
    const size_t n = (size_t)l->v_size, stride = (size_t)l->group * sizeof(uint16_t);
    copy_scale(put, block, l->v_scales, token, scale);
    if (l->v_group_scales)
        copy_strided(put, block + qr_kv_v_group_scale(l, token, 0), codes + n / 2,
                     n / QR_INT4_GROUP, stride, sizeof(uint16_t));
}

void qr_kv_put_k(const struct qr_kv_layout *layout, unsigned char *block, int token,
                 const void *codes, float scale)
{
    copy_k(1, layout, block, token, (unsigned char *)codes);
    copy_k_scales(1, layout, block, token, (unsigned char *)codes, &scale);
}

void qr_kv_put_v(const struct qr_kv_layout *layout, unsigned char *block, int token,
                 const void *codes, float scale)
{
    copy_v(1, layout, block, token, (unsigned char *)codes);
    copy_v_scales(1, layout, block, token, (unsigned char *)codes, &scale);
}

void qr_kv_get_k(const struct qr_kv_layout *layout, const unsigned char *block, int token,
                 void *codes, float *scale)
{
    copy_k(0, layout, (unsigned char *)block, token, codes);
    copy_k_scales(0, layout, (unsigned char *)block, token, codes, scale);
}

void qr_kv_get_v(const struct qr_kv_layout *layout, const unsigned char *block, int token,
                 void *codes, float *scale)
{
    if (layout->latent) {
        qr_kv_get_k(layout, block, token, codes, scale);
        return;
    }
    copy_v(0, layout, (unsigned char *)block, token, codes);
    copy_v_scales(0, layout, (unsigned char *)block, token, codes, scale);
}

void qr_kv_zero_padding(const struct qr_kv_layout *layout, void *codes)
{
    const size_t elem = layout->v_type->bytes, used = (size_t)layout->v_size;
    memset((unsigned char *)codes + used * elem, 0, ((size_t)layout->v_padded - used) * elem);
}

/* Elements from the start of the first row to the end of the last; false on overflow. */
static bool span(size_t n_tokens, size_t token, size_t n_heads, size_t head, size_t width,
                 size_t *out)
{
    size_t t, h, sum;
    return qr_mul_size(n_tokens - 1, token, &t) && qr_mul_size(n_heads - 1, head, &h) &&
           qr_add_size(t, h, &sum) && qr_add_size(sum, width, out);
}

quire_status qr_kv_check_strides(const char *what, size_t token_stride, size_t head_stride,
                                 size_t n_tokens, size_t n_heads, size_t width, size_t elem_bytes,
                                 struct qr_kv_strides *out, struct quire_error *err)
{
    const size_t head = head_stride ? head_stride : width;
    size_t token = token_stride, all, bytes, one_token, one_head;
    if ((!token && !qr_mul_size(n_heads, head, &token)) ||
        !span(n_tokens, token, n_heads, head, width, &all) ||
        !qr_mul_size(all, elem_bytes, &bytes) || bytes > PTRDIFF_MAX)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s: %zu tokens at the given strides overflow",
                       what, n_tokens);
    /* rows are disjoint if the stride of one index exceeds the extent of the other's rows */
    const bool disjoint = (head >= width || n_heads == 1) && (token >= width || n_tokens == 1) &&
                          (n_tokens == 1 || n_heads == 1 ||
                           (span(1, 0, n_heads, head, width, &one_token) && token >= one_token) ||
                           (span(n_tokens, token, 1, 0, width, &one_head) && head >= one_head));
    if (!disjoint)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "%s: rows of %zu elements overlap at token stride %zu and head stride %zu",
                       what, width, token, head);
    *out = (struct qr_kv_strides){ token, head };
    return QUIRE_OK;
}
