/* SPDX-License-Identifier: Apache-2.0 */
/* section.c - copies rows between blocks and sections, their form in files. */
#include "kv/section.h"
#include "base/checked.h"
#include "kv/rows.h"
#include "kv/transpose.h"
#include <string.h>

/* Bytes of one token of a head, and offsets in the part of a head, in bytes per row. */
struct row_sizes {
    size_t k, k_scale, v, v_scale;
};

static struct row_sizes sizes_of(const struct qr_kv_layout *l)
{
    struct row_sizes s = { .k = qr_kv_row_bytes(l->k_type, (size_t)l->k_size) };
    if (l->k_type->scaling == QR_KV_ROW_SCALE)
        s.k_scale = sizeof(float);
    if (l->latent)
        return s;
    s.v = qr_kv_row_bytes(l->v_type, (size_t)l->v_size);
    if (l->v_type->scaling == QR_KV_ROW_SCALE)
        s.v_scale = sizeof(float);
    return s;
}

static size_t row_bytes(const struct row_sizes *s) { return s->k + s->k_scale + s->v + s->v_scale; }

bool qr_kv_section_bytes(const struct quire_kv_cache *kv, uint32_t group, uint32_t n_rows,
                         size_t *bytes)
{
    const struct qr_kv_group *g = &kv->groups[group];
    const struct row_sizes s = sizes_of(&g->layout);
    return qr_mul3_size(row_bytes(&s), g->n_kv_heads, n_rows, bytes);
}

/* The parts of a section that belong to one head; scales are NULL for dtypes without row scales. */
struct head_rows {
    uint8_t *k, *k_scale, *v, *v_scale;
};

static struct head_rows rows_of_head(uint8_t *section, const struct row_sizes *s, size_t n_rows,
                                     uint32_t head)
{
    uint8_t *at = section + head * n_rows * row_bytes(s);
    struct head_rows h = { .k = at };
    at += n_rows * s->k;
    h.k_scale = s->k_scale ? at : NULL;
    at += n_rows * s->k_scale;
    h.v = at;
    at += n_rows * s->v;
    h.v_scale = s->v_scale ? at : NULL;
    return h;
}

/* Copies one row of values between a block and a section, which has no padding. */
static void copy_row_v(int put, const struct qr_kv_layout *l, unsigned char *block, int token,
                       uint8_t *row, size_t bytes, float *scale)
{
    struct qr_kv_row padded;
    if (put) {
        memcpy(padded.bytes, row, bytes);
        qr_kv_zero_padding(l, padded.bytes);
        qr_kv_put_v(l, block, token, padded.bytes, *scale);
    } else {
        qr_kv_get_v(l, block, token, padded.bytes, scale);
        memcpy(row, padded.bytes, bytes);
    }
}

/* Copy the largest part of n rows that whole vectors can hold, from a token that is a multiple of
 * 16 on, and return its number of rows; row scales are not copied. The 16 tokens of a column are
 * contiguous in each of its steps of d, 16 bytes per iteration; so are the d's of a token, or of
 * `interleave` tokens, in V (kv/layout.h). */
static inline __attribute__((always_inline)) size_t copy_vectors_k(int put,
                                                                   const struct qr_kv_layout *l,
                                                                   unsigned char *block, int token,
                                                                   uint8_t *rows, size_t row_bytes,
                                                                   size_t n)
{
    const bool pairs = l->k_type->bytes == 2 && l->k_type->interleave == 1;
    const size_t n_units = row_bytes / 4, step = pairs ? 8 : 4, stride = l->k_step_bytes;
    size_t i = 0;
    if (l->k_plain || l->k_group_scales || token % 16 || (!pairs && n_units % 4))
        return 0;
    for (unsigned char *cells = NULL; i + step <= n; i += step) {
        cells = i % 16 ? cells + 16 : block + qr_kv_k_offset(l, token + (int)i, 0);
        uint8_t *from = rows + i * row_bytes;
        if (pairs)
            qr_transpose_8_u16(put, cells, stride, from, row_bytes, row_bytes / 2);
        else if (l->k_type->cells)
            qr_transpose_4_halves(put, cells, stride, from, row_bytes, n_units);
        else
            qr_transpose_4_u32(put, cells, stride, from, row_bytes, n_units);
    }
    return i;
}

static inline __attribute__((always_inline)) size_t copy_vectors_v(int put,
                                                                   const struct qr_kv_layout *l,
                                                                   unsigned char *block, int token,
                                                                   uint8_t *rows, size_t row_bytes,
                                                                   size_t n)
{
    const size_t interleave = (size_t)l->v_type->interleave,
                 step = interleave == 1 ? 16 : interleave;
    size_t i = 0;
    if (l->v_plain || l->v_group_scales || token % 16 || l->v_padded != l->v_size)
        return 0;
    for (unsigned char *cells = NULL; i + step <= n; i += step) {
        cells = i % 16 ? cells + l->v_step_bytes : block + qr_kv_v_offset(l, token + (int)i, 0);
        uint8_t *from = rows + i * row_bytes;
        if (interleave == 1)
            memcpy(put ? cells : from, put ? from : cells, step * row_bytes);
        else if (interleave == 2)
            qr_interleave_2_u16(put, cells, from, row_bytes, row_bytes / 2);
        else if (l->v_type->cells)
            qr_interleave_pairs_u8(put, cells, from, row_bytes, row_bytes);
        else
            qr_interleave_4_u8(put, cells, from, row_bytes, row_bytes);
    }
    return i;
}

/* Copies the scales of n rows, which begin at byte `offset` of the block. */
static void copy_scales(int put, unsigned char *block, size_t offset, int token, uint8_t *scales,
                        size_t n)
{
    unsigned char *cells = block + offset + (size_t)token * sizeof(float);
    if (scales)
        memcpy(put ? cells : scales, put ? scales : cells, n * sizeof(float));
}

static inline __attribute__((always_inline)) void copy_keys(int put, const struct qr_kv_layout *l,
                                                            unsigned char *block, int token,
                                                            uint8_t *rows, uint8_t *scales,
                                                            size_t row_bytes, size_t n)
{
    float scale = 1; /* overwritten by copy_scales() */
    size_t i = copy_vectors_k(put, l, block, token, rows, row_bytes, n);
    for (; i < n; i++)
        if (put)
            qr_kv_put_k(l, block, token + (int)i, rows + i * row_bytes, scale);
        else
            qr_kv_get_k(l, block, token + (int)i, rows + i * row_bytes, &scale);
    copy_scales(put, block, l->k_scales, token, scales, n);
}

static inline __attribute__((always_inline)) void copy_values(int put, const struct qr_kv_layout *l,
                                                              unsigned char *block, int token,
                                                              uint8_t *rows, uint8_t *scales,
                                                              size_t row_bytes, size_t n)
{
    float scale = 1;
    size_t i = copy_vectors_v(put, l, block, token, rows, row_bytes, n);
    for (; i < n; i++)
        copy_row_v(put, l, block, token + (int)i, rows + i * row_bytes, row_bytes, &scale);
    copy_scales(put, block, l->v_scales, token, scales, n);
}

/* Scales of the rows from `first` on; NULL if there are none. */
static uint8_t *scales_from(uint8_t *scales, size_t first)
{
    return scales ? scales + first * sizeof(float) : NULL;
}

/* Inlined, so that `put` is a constant. */
static inline __attribute__((always_inline)) void copy_section(int put,
                                                               const struct quire_kv_cache *kv,
                                                               const struct qr_kv_section_rows *r,
                                                               uint8_t *section)
{
    const struct qr_kv_group *g = &kv->groups[r->group];
    const struct qr_kv_layout *l = &g->layout;
    const struct row_sizes s = sizes_of(l);
    for (uint32_t head = 0; head < g->n_kv_heads; head++) {
        unsigned char *block = qr_kv_block(kv, r->group, r->layer, head, r->block);
        const struct head_rows h = rows_of_head(section, &s, r->n_rows, head);
        copy_keys(put, l, block, (int)r->token, h.k + r->first * s.k,
                  scales_from(h.k_scale, r->first), s.k, r->n);
        if (!l->latent)
            copy_values(put, l, block, (int)r->token, h.v + r->first * s.v,
                        scales_from(h.v_scale, r->first), s.v, r->n);
    }
}

void qr_kv_put_section(struct quire_kv_cache *kv, const struct qr_kv_section_rows *rows,
                       const uint8_t *section)
{
    copy_section(1, kv, rows, (uint8_t *)section);
}

void qr_kv_get_section(const struct quire_kv_cache *kv, const struct qr_kv_section_rows *rows,
                       uint8_t *section)
{
    copy_section(0, kv, rows, section);
}
