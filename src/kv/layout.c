/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - element offsets in a block of the KV cache. */
#include "kv/layout.h"
#include "base/checked.h"

enum { COLUMN = 16, WIDE_GROUP = 64 /* tokens */, CACHE_LINE = 64 /* bytes */ };

/* Appends row scales, if the type has them, to the block. They end on a cache line since block_size
 * is a multiple of 16. */
static bool add_scales(struct qr_kv_layout *l, const struct qr_kv_dtype *type, size_t *offset)
{
    if (type->scaling != QR_KV_ROW_SCALE)
        return true;
    *offset = l->block_bytes;
    return qr_add_size(l->block_bytes, (size_t)l->block_size * sizeof(float), &l->block_bytes);
}

/* Likewise for group scales: 16 tokens have 32 bytes per group, so they are padded. group_bytes: of
 * one token group. */
static bool add_group_scales(struct qr_kv_layout *l, const struct qr_kv_dtype *type, int size,
                             size_t *offset, size_t *group_bytes)
{
    if (type->scaling != QR_KV_GROUP_SCALE)
        return true;
    const size_t n = (size_t)(size / QR_INT4_GROUP);
    size_t bytes, end;
    *offset = l->block_bytes;
    *group_bytes = n * (size_t)l->group * sizeof(uint16_t);
    return qr_mul_size(n * sizeof(uint16_t), (size_t)l->block_size, &bytes) &&
           qr_add_size(l->block_bytes, bytes, &end) &&
           qr_align_size(end, CACHE_LINE, &l->block_bytes);
}

/* Offsets of the parts of the block, and its size. */
static bool place_parts(struct qr_kv_layout *l)
{
    const size_t groups = (size_t)(l->block_size / l->group);
    size_t k, v, sum;
    if (!qr_mul_size(groups, l->k_group_bytes, &k) || !qr_align_size(k, CACHE_LINE, &l->k_bytes))
        return false;
    return qr_mul_size(groups, l->v_group_bytes, &v) && qr_add_size(l->k_bytes, v, &sum) &&
           qr_align_size(sum, CACHE_LINE, &l->block_bytes) &&
           add_scales(l, l->k_type, &l->k_scales) &&
           (l->latent || add_scales(l, l->v_type, &l->v_scales)) &&
           add_group_scales(l, l->k_type, l->k_size, &l->k_group_scales, &l->k_scale_bytes) &&
           add_group_scales(l, l->v_type, l->v_size, &l->v_group_scales, &l->v_scale_bytes);
}

static bool init(struct qr_kv_layout *layout, enum quire_kv_dtype k_dtype,
                 enum quire_kv_dtype v_dtype, int block_size, int k_size, int v_size, bool latent)
{
    const struct qr_kv_dtype *k_type = qr_kv_dtype(k_dtype), *v_type = qr_kv_dtype(v_dtype);
    if (!k_type || !v_type || block_size <= 0 || block_size % COLUMN != 0)
        return false;
    if (k_size < 1 || k_size > QR_KV_MAX_HEAD_SIZE || v_size < 1 || v_size > QR_KV_MAX_HEAD_SIZE)
        return false;
    const bool k_int4 = k_dtype == QUIRE_KV_INT4, v_int4 = v_dtype == QUIRE_KV_INT4;
    if ((k_int4 && k_size % QR_INT4_GROUP) || (v_int4 && v_size % QR_INT4_GROUP) ||
        (latent && k_int4))
        return false;
    struct qr_kv_layout l = { .k_dtype = k_dtype,
                              .v_dtype = v_dtype,
                              .k_type = k_type,
                              .v_type = v_type,
                              .block_size = block_size,
                              .group = block_size % WIDE_GROUP == 0 ? WIDE_GROUP : COLUMN,
                              .k_size = k_size,
                              .v_size = v_size,
                              .k_plain = k_size % 8 != 0,
                              .v_plain = v_size % 8 != 0,
                              .latent = latent };
    const size_t g = (size_t)l.group;
    l.v_padded = l.v_plain ? v_size : (v_size + COLUMN - 1) / COLUMN * COLUMN;
    /* g <= 64 and sizes <= 1024, so only place_parts can overflow */
    const size_t k_row = qr_kv_code_bytes(k_type, (size_t)k_size),
                 v_row = qr_kv_code_bytes(v_type, (size_t)l.v_padded);
    l.k_group_bytes = g * k_row;
    l.v_group_bytes = latent ? 0 : g * v_row;
    l.k_step_bytes = l.k_plain ? k_row : g * (size_t)k_type->interleave * k_type->bytes;
    l.v_step_bytes = l.v_plain ? v_row : v_row * (size_t)v_type->interleave;
    if (!place_parts(&l))
        return false;
    if (latent)
        l.v_scales = l.k_scales;
    *layout = l;
    return true;
}

bool qr_kv_layout_init(struct qr_kv_layout *layout, enum quire_kv_dtype k_dtype,
                       enum quire_kv_dtype v_dtype, int block_size, int k_size, int v_size)
{
    return init(layout, k_dtype, v_dtype, block_size, k_size, v_size, false);
}

bool qr_kv_layout_init_latent(struct qr_kv_layout *layout, enum quire_kv_dtype dtype,
                              int block_size, int k_size, int v_size)
{
    return v_size <= k_size && init(layout, dtype, dtype, block_size, k_size, v_size, true);
}

/* Element index in a sequence of 64-byte cells. A cell holds 16 `wide` by 4 `deep` elements as
 * [4 wide quads][2 deep pairs][4 wide][2 deep]: unpacking the low and high halves of a vector keeps
 * the pairs in order. `wide` counts tokens in K and d in V. */
static size_t cell_index(size_t wide, size_t deep)
{
    return wide / 16 * 64 + wide % 16 / 4 * 16 + deep / 2 * 8 + wide % 4 * 2 + deep % 2;
}

/* Byte offset of (wide, deep) in an interleaved group with a step of step_bytes. */
static size_t packed_offset(const struct qr_kv_dtype *type, size_t step_bytes, size_t wide,
                            size_t deep)
{
    const size_t n = (size_t)type->interleave;
    const size_t in_step = type->cells ? cell_index(wide, deep % n) : wide * n + deep % n;
    return deep / n * step_bytes + in_step * type->bytes;
}

/* Element of int4 as the index of its byte. */
static size_t unit_of(const struct qr_kv_dtype *type, int d)
{
    const size_t i = (size_t)d;
    return type->scaling == QR_KV_GROUP_SCALE ? i / QR_INT4_GROUP * 16 + i % 16 : i;
}

size_t qr_kv_k_offset(const struct qr_kv_layout *layout, int token, int d)
{
    const size_t base = (size_t)(token / layout->group) * layout->k_group_bytes;
    const size_t t = (size_t)(token % layout->group);
    if (layout->k_plain)
        return base + t * layout->k_step_bytes + (size_t)d * layout->k_type->bytes;
    return base +
           packed_offset(layout->k_type, layout->k_step_bytes, t, unit_of(layout->k_type, d));
}

size_t qr_kv_v_offset(const struct qr_kv_layout *layout, int token, int d)
{
    if (layout->latent)
        return qr_kv_k_offset(layout, token, d);
    const size_t base = layout->k_bytes + (size_t)(token / layout->group) * layout->v_group_bytes;
    const size_t t = (size_t)(token % layout->group);
    if (layout->v_plain)
        return base + t * layout->v_step_bytes + (size_t)d * layout->v_type->bytes;
    return base +
           packed_offset(layout->v_type, layout->v_step_bytes, unit_of(layout->v_type, d), t);
}

static size_t group_scale(const struct qr_kv_layout *l, size_t part, size_t group_bytes, int token,
                          int group)
{
    const size_t g = (size_t)l->group, t = (size_t)token;
    return part + t / g * group_bytes + ((size_t)group * g + t % g) * sizeof(uint16_t);
}

size_t qr_kv_k_group_scale(const struct qr_kv_layout *layout, int token, int group)
{
    return group_scale(layout, layout->k_group_scales, layout->k_scale_bytes, token, group);
}

size_t qr_kv_v_group_scale(const struct qr_kv_layout *layout, int token, int group)
{
    return group_scale(layout, layout->v_group_scales, layout->v_scale_bytes, token, group);
}

size_t qr_kv_k_column(const struct qr_kv_layout *layout, int token)
{
    return qr_kv_k_offset(layout, token, 0);
}

size_t qr_kv_v_column(const struct qr_kv_layout *layout, int token)
{
    return qr_kv_v_offset(layout, token, 0);
}
