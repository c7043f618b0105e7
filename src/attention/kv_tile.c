/* SPDX-License-Identifier: Apache-2.0 */
/* kv_tile.c - locates the keys and values of a tile in the paged cache and unpacks 8-bit and int4
 * tiles. */
#include "attention/kv_tile.h"
#include "attention/latent.h"
#include "base/msan.h"
#include "base/prefetch.h"
#include <string.h>

enum { TILE = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS, COLUMNS = QR_TILE_COLUMNS };

/* Where the 16 tokens of a column lie: the fields of struct qr_kv_tile, NULL where the cache has no
 * such part. */
struct place {
    const unsigned char *k, *v;
    const uint16_t *k_group_scale, *v_group_scale;
};

/* The place of the column at position `pos`. */
static inline struct place find_column(const struct qr_tile_ctx *ctx, uint32_t pos)
{
    const struct qr_kv_layout *l = ctx->layout;
    const uint32_t index = pos / ctx->block_size, slot = pos - index * ctx->block_size,
                   group = slot / (uint32_t)l->group, token = slot - group * (uint32_t)l->group;
    const unsigned char *block =
        qr_kv_head_block(&ctx->kv_head, ctx->block_ids[index - ctx->first_block]);
    struct place at = { block + group * l->k_group_bytes + token / COLUMN * ctx->k_column_bytes,
                        NULL, NULL, NULL };
    if (l->latent)
        return at;
    at.v = block + l->k_bytes + group * l->v_group_bytes + token / COLUMN * ctx->v_column_bytes;
    if (l->k_group_scales)
        at.k_group_scale = (const void *)(block + qr_kv_k_group_scale(l, (int)slot, 0));
    if (l->v_group_scales)
        at.v_group_scale = (const void *)(block + qr_kv_v_group_scale(l, (int)slot, 0));
    return at;
}

/* The place of the column c columns after `at` in the same group. */
static inline struct place next_column(const struct qr_tile_ctx *ctx, struct place at, uint32_t c)
{
    at.k += c * ctx->k_column_bytes;
    at.v = at.v ? at.v + c * ctx->v_column_bytes : NULL;
    at.k_group_scale = at.k_group_scale ? at.k_group_scale + c * COLUMN : NULL;
    at.v_group_scale = at.v_group_scale ? at.v_group_scale + c * COLUMN : NULL;
    return at;
}

/* Sets the columns of the tile at `key` that have keys of `wanted`; the others become NULL. */
static void locate_columns(const struct qr_tile_ctx *ctx, uint32_t key, uint64_t wanted,
                           struct qr_kv_tile *t)
{
    const bool one_group = ctx->layout->group == TILE; /* a single lookup, for it divides */
    struct place first = { NULL, NULL, NULL, NULL };
    if (one_group)
        first = find_column(ctx, key);
    for (uint32_t c = 0; c < COLUMNS; c++) {
        struct place at = { NULL, NULL, NULL, NULL };
        if (wanted >> (c * COLUMN) & 0xffff)
            at = one_group ? next_column(ctx, first, c) : find_column(ctx, key + c * COLUMN);
        t->k[c] = at.k;
        t->v[c] = at.v;
        t->k_group_scale[c] = at.k_group_scale;
        t->v_group_scale[c] = at.v_group_scale;
    }
}

/* Converts a column of plain 8-bit rows to bf16 rows [16][n]. */
static void convert_plain(const struct qr_tile_ctx *ctx, const struct qr_kv_dtype *type,
                          const unsigned char *src, uint16_t *dst, size_t n)
{
    const struct qr_kernels *k = ctx->kernel_table;
    float *row = ctx->scratch->row;
    QR_MSAN_WRITTEN(src, COLUMN * n); /* the mask excludes slots that no token was written to */
    for (int i = 0; i < COLUMN; i++, src += n, dst += n) {
        type->dequantize(k, row, src, 1, n);
        (void)k->quantize_bf16(dst, row, 1, n); /* exact */
    }
}

/* Unpack 8-bit columns of K or V, from column c on, to bf16 at dst. Return the end of the unpacked
 * columns. */
static int unpack_k(const struct qr_tile_ctx *ctx, const struct qr_kv_tile *t, int c, uint16_t *dst)
{
    const struct qr_kv_layout *l = ctx->layout;
    if (l->k_plain) {
        convert_plain(ctx, l->k_type, t->k[c], dst, (size_t)l->k_size);
        return c + 1;
    }
    const int end = qr_kv_tile_contiguous_end(ctx, t->k, c);
    struct qr_attn_unpack_args a = { .src = t->k[c], .dst = dst };
    a.src_stride = l->k_step_bytes;
    a.dst_stride = TILE * 2;
    a.n_steps = l->k_size / 4;
    a.n_cells = end - c;
    ctx->kernels->unpack_k(&a);
    return end;
}

static int unpack_v(const struct qr_tile_ctx *ctx, const struct qr_kv_tile *t, int c, uint16_t *dst)
{
    const struct qr_kv_layout *l = ctx->layout;
    if (l->v_plain) {
        convert_plain(ctx, l->v_type, t->v[c], dst, (size_t)l->v_size);
        return c + 1;
    }
    const int end = qr_kv_tile_contiguous_end(ctx, t->v, c);
    struct qr_attn_unpack_args a = { .src = t->v[c], .dst = dst };
    a.src_stride = l->v_step_bytes;
    a.dst_stride = (size_t)l->v_padded * 2;
    a.n_steps = (end - c) * COLUMN / 4;
    a.n_cells = l->v_padded / 16;
    ctx->kernels->unpack_v(&a);
    return end;
}

/* Unpacks an 8-bit tile and points its columns to the bf16 form. */
static void unpack_tile(const struct qr_tile_ctx *ctx, struct qr_kv_tile *t)
{
    const struct qr_kv_layout *l = ctx->layout;
    const struct qr_thread_scratch *scratch = ctx->scratch;
    const size_t k_column = COLUMN * (l->k_plain ? (size_t)l->k_size : 2);
    const size_t v_column = COLUMN * (size_t)l->v_padded;
    const bool k_unpack = ctx->kernels->unpack_k && !t->k_8bit;
    const bool v_unpack = ctx->kernels->unpack_v && !t->v_8bit;
    struct qr_kv_tile to = *t;
    for (int c = 0, end; k_unpack && c < COLUMNS; c = end) {
        end = t->k[c] ? unpack_k(ctx, t, c, scratch->k + (size_t)c * k_column) : c + 1;
        for (int i = c; t->k[c] && i < end; i++)
            to.k[i] = scratch->k + (size_t)i * k_column;
        to.k_stride = (l->k_plain ? (size_t)l->k_size : TILE * 2) * sizeof(uint16_t);
    }
    for (int c = 0, end; v_unpack && c < COLUMNS; c = end) {
        end = t->v[c] ? unpack_v(ctx, t, c, scratch->v + (size_t)c * v_column) : c + 1;
        for (int i = c; t->v[c] && i < end; i++)
            to.v[i] = scratch->v + (size_t)i * v_column;
        to.v_stride = (size_t)l->v_padded * (l->v_plain ? 1 : 2) * sizeof(uint16_t);
    }
    *t = to;
}

/* Dequantizes an int4 tile and points its columns to the bf16 form. */
static void unpack_int4_tile(const struct qr_tile_ctx *ctx, struct qr_kv_tile *t)
{
    const struct qr_kv_layout *l = ctx->layout;
    const struct qr_attention_kernels *kernels = ctx->kernels;
    struct qr_attn_unpack_int4_args a = { .scale_stride = t->group_scale_stride };
    const size_t k_row = TILE * 2, v_row = (size_t)l->v_padded * 2;
    for (size_t c = 0; c < COLUMNS; c++) {
        if (kernels->unpack_int4_k && t->k[c]) {
            a.src = t->k[c], a.scale = t->k_group_scale[c], a.src_stride = l->k_step_bytes;
            a.dst = ctx->scratch->k + c * COLUMN * 2, a.dst_stride = k_row;
            a.n_values = l->k_size, a.v = 0;
            kernels->unpack_int4_k(&a);
            t->k[c] = a.dst;
        }
        if (kernels->unpack_int4_v && t->v[c]) {
            a.src = t->v[c], a.scale = t->v_group_scale[c], a.src_stride = l->v_step_bytes;
            a.dst = ctx->scratch->v + c * (COLUMN / 2) * v_row, a.dst_stride = v_row;
            a.n_values = l->v_size, a.v = 1;
            kernels->unpack_int4_v(&a);
            t->v[c] = a.dst;
        }
    }
    t->k_stride = kernels->unpack_int4_k ? k_row * sizeof *a.dst : t->k_stride;
    t->v_stride = kernels->unpack_int4_v ? v_row * sizeof *a.dst : t->v_stride;
}

/* Row scales from position `pos` to the end of its block. `scales` is the byte offset of the scale
 * table in a block. */
static const float *row_scales(const struct qr_tile_ctx *ctx, uint32_t pos, size_t scales)
{
    const int32_t id = ctx->block_ids[pos / ctx->block_size - ctx->first_block];
    const unsigned char *block = qr_kv_head_block(&ctx->kv_head, id);
    return (const float *)(const void *)(block + scales) + pos % ctx->block_size;
}

/* Sets the prefetch targets of tile *t; the next tile is at `key`. 8-bit kernels consume memory
 * fastest, like those of int4, and prefetch a whole tile ahead: K from the next K, V from the next
 * V. The other kernels prefetch the rest of their own tile themselves, then what is read next: V
 * after K, the next K after V. When no kernel reads V in place, K is followed by the next K. No
 * kernel prefetches row scales, so this function does. */
static void set_prefetch(const struct qr_tile_ctx *ctx, uint32_t key, struct qr_kv_tile *t)
{
    const size_t scales[] = { ctx->layout->k_scales, ctx->layout->v_scales };
    const struct qr_attention_kernels *kernels = ctx->kernels;
    const bool k_codes = t->k_8bit || kernels->quantize_q, v_codes = t->v_8bit || kernels->v_int4;
    const bool reads_v =
        !ctx->layout->latent && !kernels->unpack_int4_v && (!kernels->unpack_v || t->v_8bit);
    const bool v_after_k = reads_v && !k_codes;
    t->prefetch_k = v_after_k ? t->v[0] : NULL;
    t->prefetch_v = NULL;
    if (key >= ctx->end || key / ctx->block_size < ctx->first_block)
        return;
    if (ctx->block_ids[key / ctx->block_size - ctx->first_block] < 0) /* in no sparse block list */
        return;
    const struct place next = find_column(ctx, key);
    if (!v_after_k)
        t->prefetch_k = next.k;
    if (reads_v)
        t->prefetch_v = v_codes ? next.v : next.k;
    if (ctx->layout->group == TILE) {
        if (next.k_group_scale)
            qr_prefetch_lines_l1(next.k_group_scale, ctx->layout->k_size / QR_INT4_GROUP * 2);
        if (next.v_group_scale)
            qr_prefetch_lines_l1(next.v_group_scale, ctx->layout->v_size / QR_INT4_GROUP * 2);
    }
    for (int i = 0; i < 2; i++)
        for (int c = 0; scales[i] && ctx->layout->group == TILE && c < COLUMNS; c++)
            qr_prefetch_l1(row_scales(ctx, key, scales[i]) + c * COLUMN);
}

/* The 64 row scales of the tile at `key`: a pointer into the block if they are adjacent there, else
 * gathered column by column. `scales` is the byte offset of the scale table in a block. */
static const float *tile_scales(const struct qr_tile_ctx *ctx, uint32_t key,
                                const struct qr_kv_tile *t, size_t scales, float *gathered)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        if (!t->k[c])
            continue;
        const float *column = row_scales(ctx, key + c * COLUMN, scales);
        if (ctx->layout->group == TILE)
            return column - c * COLUMN;
        memcpy(gathered + c * COLUMN, column, COLUMN * sizeof *column);
    }
    return gathered;
}

void qr_kv_tile_load(const struct qr_tile_ctx *ctx, uint32_t key, uint64_t wanted, bool keep_8bit,
                     struct qr_kv_tile *t)
{
    const struct qr_attention_kernels *kernels = ctx->kernels;
    const struct qr_kv_layout *l = ctx->layout;
    locate_columns(ctx, key, wanted, t);
    t->k_stride = l->k_step_bytes;
    t->v_stride = l->v_step_bytes;
    t->group_scale_stride = (size_t)l->group * sizeof(uint16_t);
    t->k_8bit = keep_8bit && kernels->qk_8bit;
    t->v_8bit = keep_8bit && kernels->pv_8bit;
    set_prefetch(ctx, key + TILE, t);
    t->k_scale = t->v_scale = NULL;
    if (l->k_scales)
        t->k_scale = tile_scales(ctx, key, t, l->k_scales, ctx->scratch->k_scale);
    if (l->v_scales)
        t->v_scale = tile_scales(ctx, key, t, l->v_scales, ctx->scratch->v_scale);
    if (kernels->unpack_k || kernels->unpack_v)
        unpack_tile(ctx, t);
    if (kernels->unpack_int4_k || kernels->unpack_int4_v)
        unpack_int4_tile(ctx, t);
    if (l->latent)
        qr_latent_values(ctx, t);
}
