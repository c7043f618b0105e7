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
    struct row_sizes s = { .k = (size_t)l->k_size * l->k_type->bytes };
    if (l->k_type->scaling == QR_KV_ROW_SCALE)
        s.k_scale = sizeof(float);
    if (l->latent)
        return s;
    s.v = (size_t)l->v_size * l->v_type->bytes;
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

static float load_scale(const uint8_t *scales, size_t row)
{
    float scale = 1;
    if (scales)
        memcpy(&scale, scales + row * sizeof scale, sizeof scale);
    return scale;
}

static void store_scale(uint8_t *scales, size_t row, float scale)
{
    if (scales)
        memcpy(scales + row * sizeof scale, &scale, sizeof scale);
}

static void put_row_v(const struct qr_kv_layout *l, unsigned char *block, int token,
                      const uint8_t *row, size_t bytes, float scale)
{
    struct qr_kv_row padded;
    if (l->v_padded != l->v_size) {
        memcpy(padded.bytes, row, bytes);
        qr_kv_zero_padding(l, padded.bytes);
        row = padded.bytes;
    }
    qr_kv_put_v(l, block, token, row, scale);
}

/* Copy the largest part of n rows that whole vectors can hold, from a token that is a multiple of
 * 16 on, and return its number of rows; row scales are not copied. The tokens of a step of d, or
 * the d's of a token, are contiguous in a block (kv/layout.h). */
static size_t put_vectors_k(const struct qr_kv_layout *l, unsigned char *block, int token,
                            const uint8_t *rows, size_t row_bytes, size_t n)
{
    const bool pairs = l->k_type->bytes == 2 && l->k_type->interleave == 1;
    const size_t n_units = row_bytes / 4, step = pairs ? 8 : 4;
    size_t i = 0;
    if (l->k_plain || l->k_type->cells || token % 16 || (!pairs && n_units % 4))
        return 0;
    for (; i + step <= n; i += step) {
        unsigned char *to = block + qr_kv_k_offset(l, token + (int)i, 0);
        if (pairs)
            qr_transpose_8_u16(to, l->k_step_bytes, rows + i * row_bytes, row_bytes, row_bytes / 2);
        else
            qr_transpose_4_u32(to, l->k_step_bytes, rows + i * row_bytes, row_bytes, n_units);
    }
    return i;
}

static size_t put_vectors_v(const struct qr_kv_layout *l, unsigned char *block, int token,
                            const uint8_t *rows, size_t row_bytes, size_t n)
{
    const size_t interleave = (size_t)l->v_type->interleave,
                 step = interleave == 1 ? 16 : interleave;
    size_t i = 0;
    if (l->v_plain || l->v_type->cells || token % 16 || l->v_padded != l->v_size)
        return 0;
    for (; i + step <= n; i += step) {
        unsigned char *to = block + qr_kv_v_offset(l, token + (int)i, 0);
        if (interleave == 1)
            memcpy(to, rows + i * row_bytes, step * row_bytes);
        else if (interleave == 2)
            qr_interleave_2_u16(to, rows + i * row_bytes, row_bytes, row_bytes / 2);
        else
            qr_interleave_4_u8(to, rows + i * row_bytes, row_bytes, row_bytes);
    }
    return i;
}

static void put_keys(const struct qr_kv_layout *l, unsigned char *block, int token,
                     const uint8_t *rows, const uint8_t *scales, size_t row_bytes, size_t n)
{
    size_t i = put_vectors_k(l, block, token, rows, row_bytes, n);
    if (scales)
        memcpy(block + l->k_scales + (size_t)token * sizeof(float), scales, i * sizeof(float));
    for (; i < n; i++)
        qr_kv_put_k(l, block, token + (int)i, rows + i * row_bytes, load_scale(scales, i));
}

static void put_values(const struct qr_kv_layout *l, unsigned char *block, int token,
                       const uint8_t *rows, const uint8_t *scales, size_t row_bytes, size_t n)
{
    size_t i = put_vectors_v(l, block, token, rows, row_bytes, n);
    if (scales)
        memcpy(block + l->v_scales + (size_t)token * sizeof(float), scales, i * sizeof(float));
    for (; i < n; i++)
        put_row_v(l, block, token + (int)i, rows + i * row_bytes, row_bytes, load_scale(scales, i));
}

/* Scales of the rows from `first` on; NULL if there are none. */
static const uint8_t *scales_from(const uint8_t *scales, size_t first)
{
    return scales ? scales + first * sizeof(float) : NULL;
}

void qr_kv_put_section(struct quire_kv_cache *kv, const struct qr_kv_section_rows *r,
                       const uint8_t *section)
{
    const struct qr_kv_group *g = &kv->groups[r->group];
    const struct qr_kv_layout *l = &g->layout;
    const struct row_sizes s = sizes_of(l);
    for (uint32_t head = 0; head < g->n_kv_heads; head++) {
        unsigned char *block = qr_kv_block(kv, r->group, r->layer, head, r->block);
        const struct head_rows h = rows_of_head((uint8_t *)section, &s, r->n_rows, head);
        put_keys(l, block, (int)r->token, h.k + r->first * s.k, scales_from(h.k_scale, r->first),
                 s.k, r->n);
        if (!l->latent)
            put_values(l, block, (int)r->token, h.v + r->first * s.v,
                       scales_from(h.v_scale, r->first), s.v, r->n);
    }
}

void qr_kv_get_section(const struct quire_kv_cache *kv, const struct qr_kv_section_rows *r,
                       uint8_t *section)
{
    const struct qr_kv_group *g = &kv->groups[r->group];
    const struct qr_kv_layout *l = &g->layout;
    const struct row_sizes s = sizes_of(l);
    struct qr_kv_row v;
    for (uint32_t head = 0; head < g->n_kv_heads; head++) {
        const unsigned char *block = qr_kv_block(kv, r->group, r->layer, head, r->block);
        const struct head_rows h = rows_of_head(section, &s, r->n_rows, head);
        for (size_t i = r->first; i < (size_t)r->first + r->n; i++) {
            const int token = (int)(r->token + (i - r->first));
            float scale = 1;
            qr_kv_get_k(l, block, token, h.k + i * s.k, &scale);
            store_scale(h.k_scale, i, scale);
            if (l->latent)
                continue;
            qr_kv_get_v(l, block, token, v.bytes, &scale); /* with padding */
            memcpy(h.v + i * s.v, v.bytes, s.v);
            store_scale(h.v_scale, i, scale);
        }
    }
}
