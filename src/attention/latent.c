/* SPDX-License-Identifier: Apache-2.0 */
/* latent.c - values of latent (MLA) tiles, whose keys begin with the values. */
#include "attention/latent.h"
#include "attention/kv_tile.h"
#include <string.h>

enum { TILE = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS, COLUMNS = QR_TILE_COLUMNS };

/* Memory format of a column of keys or values (kv/layout.h). */
struct format {
    bool plain;
    size_t bytes;  /* of an element */
    size_t step;   /* adjacent elements of the deep dimension */
    size_t stride; /* bytes from one step (plain: row) to the next */
};

/* Byte offset of element d of a token. `deep` is the index in the dimension cut into steps, `wide`
 * the index in the other: d and token for keys, token and d for values. */
static size_t offset(const struct format *f, size_t token, size_t deep, size_t wide, size_t d)
{
    if (f->plain)
        return token * f->stride + d * f->bytes;
    return deep / f->step * f->stride + (wide * f->step + deep % f->step) * f->bytes;
}

/* Copies one column element by element, if either side has plain rows; only generic kernels read
 * these, so speed does not matter. */
static void copy_column(const struct format *k, const struct format *v, const unsigned char *src,
                        unsigned char *dst, size_t n_values)
{
    for (size_t token = 0; token < COLUMN; token++)
        for (size_t d = 0; d < n_values; d++)
            memcpy(dst + offset(v, token, token, d, d), src + offset(k, token, d, token, d),
                   k->bytes);
}

/* Transposes the adjacent packed columns from c on. Returns their end. */
static int transpose_columns(const struct qr_tile_ctx *ctx, const struct qr_kv_tile *t, int c,
                             void *dst, size_t dst_stride)
{
    const int end = qr_kv_tile_contiguous_end(ctx, t->k, c);
    ctx->kernels->transpose(&(struct qr_attn_transpose_args){ .src = t->k[c],
                                                              .dst = dst,
                                                              .src_stride = t->k_stride,
                                                              .dst_stride = dst_stride,
                                                              .n_keys = (end - c) * COLUMN,
                                                              .n_values = ctx->layout->v_size });
    return end;
}

void qr_latent_values(const struct qr_tile_ctx *ctx, struct qr_kv_tile *t)
{
    const struct qr_kv_layout *l = ctx->layout;
    const bool pairs = ctx->kernels->transpose == ctx->kernel_table->attn_transpose_bf16;
    struct format k = { l->k_plain, l->k_dtype == QUIRE_KV_F32 ? 4 : 2, pairs ? 2 : 1,
                        t->k_stride };
    struct format v = k;
    if (l->k_plain && l->v_plain) { /* K rows begin with the V rows */
        memcpy(t->v, t->k, sizeof t->v);
        t->v_stride = t->k_stride;
        return;
    }
    v.plain = l->v_plain;
    v.stride = (size_t)l->v_padded * v.bytes * (v.plain ? 1 : v.step);
    const size_t column_bytes = COLUMN * (size_t)l->v_padded * v.bytes;
    unsigned char *scratch = (unsigned char *)ctx->scratch->v;
    for (int c = 0, end; c < COLUMNS; c = end) {
        unsigned char *dst = scratch + (size_t)c * column_bytes;
        end = c + 1;
        if (t->k[c] && !k.plain && !v.plain)
            end = transpose_columns(ctx, t, c, dst, v.stride);
        else if (t->k[c])
            copy_column(&k, &v, t->k[c], dst, (size_t)l->v_size);
        for (int i = c; t->k[c] && i < end; i++)
            t->v[i] = scratch + (size_t)i * column_bytes;
    }
    t->v_stride = v.stride;
}
