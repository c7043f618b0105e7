/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c - finds the keys and values of a tile in the paged cache, and unpacks those of
 * 8 bits. */
#include "attention/tile.h"
#include <string.h>

enum { TILE = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS, COLUMNS = QR_TILE_COLUMNS };

struct qr_tile_source qr_tile_source_of(const struct qr_attention_call *call,
                                        const struct qr_plan_item *item)
{
    const struct qr_kv_layout *l = &call->kv->layout;
    const struct qr_plan_table *table = &call->group->tables[item->seq];
    struct qr_tile_source s = { .call = call, .layout = l };
    s.blocks =
        qr_kv_block(call->plan->kv, call->group->kv_group, call->args.layer, item->kv_head, 0);
    s.ids = call->group->blocks + table->at;
    s.first_block = table->first;
    s.block_size = (uint32_t)l->block_size;
    s.end = (table->first + table->count) * s.block_size;
    s.k_column = qr_kv_k_column(l, COLUMN % l->group);
    s.v_column = l->latent ? 0 : qr_kv_v_column(l, COLUMN % l->group) - l->k_bytes;
    return s;
}

/* Sets column c to the 16 tokens at position `at`. */
static void find_column(const struct qr_tile_source *s, uint32_t at, struct qr_tile *t, uint32_t c)
{
    const struct qr_kv_layout *l = s->layout;
    const uint32_t slot = at % s->block_size, group = (uint32_t)l->group;
    const int32_t id = s->ids[at / s->block_size - s->first_block];
    const unsigned char *block = s->blocks + (size_t)id * l->block_bytes;
    const size_t in_group = slot % group / COLUMN;
    t->k[c] = block + slot / group * l->k_group_bytes + in_group * s->k_column;
    if (l->latent)
        return;
    t->v[c] = block + l->k_bytes + slot / group * l->v_group_bytes + in_group * s->v_column;
}

/* A plain column of bytes as bf16 rows [16][n]. */
static void widen_plain(const struct qr_tile_source *s, const struct qr_kv_dtype *type,
                        const unsigned char *src, uint16_t *dst, size_t n)
{
    const struct qr_kernels *k = s->call->group->table;
    float *row = s->call->scratch.row;
    for (int i = 0; i < COLUMN; i++, src += n, dst += n) {
        type->dequantize(k, row, src, 1, n);
        (void)k->narrow_bf16(dst, row, 1, n); /* exact */
    }
}

int qr_tile_columns_together(const struct qr_tile_source *s, const void *const *columns, int c)
{
    int end = c + 1;
    while (s->layout->group == TILE && end < COLUMNS && columns[end])
        end++;
    return end;
}

/* Columns c.. of bytes of K or V to bf16 at dst; returns the column after the last one done. */
static int unpack_k(const struct qr_tile_source *s, const struct qr_tile *t, int c, uint16_t *dst)
{
    const struct qr_kv_layout *l = s->layout;
    if (l->k_plain) {
        widen_plain(s, l->k_type, t->k[c], dst, (size_t)l->k_size);
        return c + 1;
    }
    const int end = qr_tile_columns_together(s, t->k, c);
    struct qr_attn_unpack_args a = { .src = t->k[c], .dst = dst };
    a.src_stride = l->k_step_bytes;
    a.dst_stride = TILE * 2;
    a.n_steps = l->k_size / 4;
    a.n_cells = end - c;
    s->call->kernels.unpack_k(&a);
    return end;
}

static int unpack_v(const struct qr_tile_source *s, const struct qr_tile *t, int c, uint16_t *dst)
{
    const struct qr_kv_layout *l = s->layout;
    if (l->v_plain) {
        widen_plain(s, l->v_type, t->v[c], dst, (size_t)l->v_size);
        return c + 1;
    }
    const int end = qr_tile_columns_together(s, t->v, c);
    struct qr_attn_unpack_args a = { .src = t->v[c], .dst = dst };
    a.src_stride = l->v_step_bytes;
    a.dst_stride = (size_t)l->v_padded * 2;
    a.n_steps = (end - c) * COLUMN / 4;
    a.n_cells = l->v_padded / 16;
    s->call->kernels.unpack_v(&a);
    return end;
}

/* Points the live columns of a tile of bytes to their bf16 form. */
static void unpack_tile(const struct qr_tile_source *s, struct qr_tile *t)
{
    const struct qr_kv_layout *l = s->layout;
    const struct qr_plan_scratch *scratch = &s->call->scratch;
    const size_t k_column = COLUMN * (l->k_plain ? (size_t)l->k_size : 2);
    const size_t v_column = COLUMN * (size_t)l->v_padded;
    const bool k_too = s->call->kernels.unpack_k && !t->k_codes;
    const bool v_too = s->call->kernels.unpack_v && !t->v_codes;
    struct qr_tile to = *t;
    for (int c = 0, end; k_too && c < COLUMNS; c = end) {
        end = t->k[c] ? unpack_k(s, t, c, scratch->k + (size_t)c * k_column) : c + 1;
        for (int i = c; t->k[c] && i < end; i++)
            to.k[i] = scratch->k + (size_t)i * k_column;
        to.k_stride = (l->k_plain ? (size_t)l->k_size : TILE * 2) * sizeof(uint16_t);
    }
    for (int c = 0, end; v_too && c < COLUMNS; c = end) {
        end = t->v[c] ? unpack_v(s, t, c, scratch->v + (size_t)c * v_column) : c + 1;
        for (int i = c; t->v[c] && i < end; i++)
            to.v[i] = scratch->v + (size_t)i * v_column;
        to.v_stride = (size_t)l->v_padded * (l->v_plain ? 1 : 2) * sizeof(uint16_t);
    }
    *t = to;
}

/* Scales from position `at` on to the end of its block, of the table at byte `scales` of blocks. */
static const float *scales_at(const struct qr_tile_source *s, uint32_t at, size_t scales)
{
    const int32_t id = s->ids[at / s->block_size - s->first_block];
    const unsigned char *block = s->blocks + (size_t)id * s->layout->block_bytes;
    return (const float *)(const void *)(block + scales) + at % s->block_size;
}

/* What the kernels ask for while they read the keys and values of *t, with the tile at `key` as the
 * next one. Codes are read fast: a whole tile ahead. Others ask for the rest of their own tile by
 * themselves and then for what is read after it; values that no kernel reads follow their keys.
 * Scales, which no kernel asks for ahead, are asked for here. */
static void find_next(const struct qr_tile_source *s, uint32_t key, struct qr_tile *t)
{
    const size_t scales[] = { s->layout->k_scales, s->layout->v_scales };
    const bool reads_v = !s->layout->latent && (!s->call->kernels.unpack_v || t->v_codes);
    const bool own_v = reads_v && !t->k_codes;
    struct qr_tile next = { 0 };
    if (own_v)
        t->next_k = t->v[0];
    if (key >= s->end || key / s->block_size < s->first_block)
        return;
    if (s->ids[key / s->block_size - s->first_block] < 0) /* in no block list */
        return;
    find_column(s, key, &next, 0);
    if (!own_v)
        t->next_k = next.k[0];
    if (reads_v)
        t->next_v = t->v_codes ? next.v[0] : next.k[0];
    for (int i = 0; i < 2; i++)
        for (int c = 0; scales[i] && s->layout->group == TILE && c < COLUMNS; c++)
            __builtin_prefetch(scales_at(s, key, scales[i]) + c * COLUMN);
}

/* The 64 scales of the tile at `key`, one table of which begins at byte `scales` of each block: in
 * place where they lie side by side, else gathered column by column. */
static const float *find_scales(const struct qr_tile_source *s, uint32_t key,
                                const struct qr_tile *t, size_t scales, float *gathered)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        if (!t->k[c])
            continue;
        const float *column = scales_at(s, key + c * COLUMN, scales);
        if (s->layout->group == TILE)
            return column - c * COLUMN;
        memcpy(gathered + c * COLUMN, column, COLUMN * sizeof *column);
    }
    return gathered;
}

struct qr_tile qr_tile_load(const struct qr_tile_source *source, uint32_t key, uint64_t wanted,
                            bool as_codes)
{
    const struct qr_attention_kernels *kernels = &source->call->kernels;
    const struct qr_kv_layout *l = source->layout;
    struct qr_tile t = { .k_stride = l->k_step_bytes, .v_stride = l->v_step_bytes };
    for (uint32_t c = 0; c < COLUMNS; c++)
        if (wanted >> (c * COLUMN) & 0xffff)
            find_column(source, key + c * COLUMN, &t, c);
    t.k_codes = as_codes && kernels->qk_codes;
    t.v_codes = as_codes && kernels->pv_codes;
    find_next(source, key + TILE, &t);
    if (l->k_scales)
        t.k_scale = find_scales(source, key, &t, l->k_scales, source->call->scratch.k_scale);
    if (l->v_scales)
        t.v_scale = find_scales(source, key, &t, l->v_scales, source->call->scratch.v_scale);
    if (kernels->unpack_k || kernels->unpack_v)
        unpack_tile(source, &t);
    if (l->latent)
        qr_tile_latent_values(source, &t);
    return t;
}
