/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - the index formula of the paged cache. */
#include "kv/layout.h"
#include "base/checked.h"

enum { MAX_HEAD_SIZE = 1024, COLUMN = 16, WIDE_GROUP = 64, LINE = 64 };

/* Elements that lie side by side in one step: d's of one token in K, tokens of one d in V. */
static int step_elems(enum quire_kv_dtype dtype)
{
    switch (dtype) {
    case QUIRE_KV_F32:
    case QUIRE_KV_F16:
        return 1;
    case QUIRE_KV_BF16:
        return 2;
    case QUIRE_KV_FP8_E4M3:
    case QUIRE_KV_FP8_E5M2:
        return 4;
    }
    return 0;
}

static bool is_fp8(enum quire_kv_dtype dtype)
{
    return dtype == QUIRE_KV_FP8_E4M3 || dtype == QUIRE_KV_FP8_E5M2;
}

size_t qr_kv_dtype_bytes(enum quire_kv_dtype dtype)
{
    switch (dtype) {
    case QUIRE_KV_F32:
        return 4;
    case QUIRE_KV_BF16:
    case QUIRE_KV_F16:
        return 2;
    case QUIRE_KV_FP8_E4M3:
    case QUIRE_KV_FP8_E5M2:
        return 1;
    }
    return 0;
}

static bool block_bytes(struct qr_kv_layout *l)
{
    const size_t groups = (size_t)(l->block_size / l->group);
    size_t k, v, sum;
    if (!qr_mul_size(groups, l->k_group_bytes, &k) || !qr_align_size(k, LINE, &l->k_bytes))
        return false;
    return qr_mul_size(groups, l->v_group_bytes, &v) && qr_add_size(l->k_bytes, v, &sum) &&
           qr_align_size(sum, LINE, &l->block_bytes);
}

bool qr_kv_layout_init(struct qr_kv_layout *layout, enum quire_kv_dtype k_dtype, enum quire_kv_dtype v_dtype,
                       int block_size, int k_size, int v_size)
{
    const size_t k_elem = qr_kv_dtype_bytes(k_dtype), v_elem = qr_kv_dtype_bytes(v_dtype);
    if (!k_elem || !v_elem || block_size <= 0 || block_size % COLUMN != 0)
        return false;
    if (k_size < 1 || k_size > MAX_HEAD_SIZE || v_size < 1 || v_size > MAX_HEAD_SIZE)
        return false;
    struct qr_kv_layout l = { .k_dtype = k_dtype,
                              .v_dtype = v_dtype,
                              .block_size = block_size,
                              .group = block_size % WIDE_GROUP == 0 ? WIDE_GROUP : COLUMN,
                              .k_size = k_size,
                              .v_size = v_size,
                              .k_plain = k_size % 8 != 0,
                              .v_plain = v_size % 8 != 0 };
    const size_t g = (size_t)l.group;
    l.v_padded = l.v_plain ? v_size : (v_size + COLUMN - 1) / COLUMN * COLUMN;
    /* g <= 64 and sizes <= 1024, so nothing below overflows before block_bytes() */
    l.k_group_bytes = g * (size_t)k_size * k_elem;
    l.v_group_bytes = g * (size_t)l.v_padded * v_elem;
    l.k_step_bytes = l.k_plain ? (size_t)k_size * k_elem : g * (size_t)step_elems(k_dtype) * k_elem;
    l.v_step_bytes = (size_t)l.v_padded * v_elem * (l.v_plain ? 1 : (size_t)step_elems(v_dtype));
    if (!block_bytes(&l))
        return false;
    *layout = l;
    return true;
}

/* Element index inside a packed fp8 run of 64-byte cells. A cell is 16 `wide` elements by 4 `deep` ones, as
 * [4 wide quads][2 deep pairs][4 wide][2 deep]; K is wide in tokens, V in d. */
static size_t fp8_cell(size_t wide, size_t deep)
{
    return wide / 16 * 64 + wide % 16 / 4 * 16 + deep / 2 * 8 + wide % 4 * 2 + deep % 2;
}

/* Byte offset of (wide, deep) in a packed group whose steps are step_bytes apart. */
static size_t packed_offset(enum quire_kv_dtype dtype, size_t step_bytes, size_t wide, size_t deep)
{
    const size_t n = (size_t)step_elems(dtype);
    const size_t in_step = is_fp8(dtype) ? fp8_cell(wide, deep % n) : wide * n + deep % n;
    return deep / n * step_bytes + in_step * qr_kv_dtype_bytes(dtype);
}

size_t qr_kv_k_offset(const struct qr_kv_layout *layout, int token, int d)
{
    const size_t base = (size_t)(token / layout->group) * layout->k_group_bytes;
    const size_t t = (size_t)(token % layout->group);
    if (layout->k_plain)
        return base + t * layout->k_step_bytes + (size_t)d * qr_kv_dtype_bytes(layout->k_dtype);
    return base + packed_offset(layout->k_dtype, layout->k_step_bytes, t, (size_t)d);
}

size_t qr_kv_v_offset(const struct qr_kv_layout *layout, int token, int d)
{
    const size_t base = layout->k_bytes + (size_t)(token / layout->group) * layout->v_group_bytes;
    const size_t t = (size_t)(token % layout->group);
    if (layout->v_plain)
        return base + t * layout->v_step_bytes + (size_t)d * qr_kv_dtype_bytes(layout->v_dtype);
    return base + packed_offset(layout->v_dtype, layout->v_step_bytes, (size_t)d, t);
}

size_t qr_kv_k_column(const struct qr_kv_layout *layout, int token) { return qr_kv_k_offset(layout, token, 0); }

size_t qr_kv_v_column(const struct qr_kv_layout *layout, int token) { return qr_kv_v_offset(layout, token, 0); }
