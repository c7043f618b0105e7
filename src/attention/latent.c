/* SPDX-License-Identifier: Apache-2.0 */
/* latent.c - the values of a tile whose keys begin with them. */
#include "attention/tile.h"
#include <string.h>

enum { TILE = QR_TILE_KEYS, COLUMN = QR_COLUMN_KEYS, COLUMNS = QR_TILE_COLUMNS };

/* How elements lie in a column of keys or values (kv/layout.h): `wide` elements across a step. */
struct form {
    bool plain;
    size_t bytes, step; /* of an element; elements side by side in a step */
    size_t stride;
};

static size_t offset(const struct form *f, size_t token, size_t deep, size_t wide, size_t d)
{
    if (f->plain)
        return token * f->stride + d * f->bytes;
    return deep / f->step * f->stride + (wide * f->step + deep % f->step) * f->bytes;
}

/* One column where either side is plain rows: element by element, as generic kernels go anyway. */
static void copy_column(const struct form *k, const struct form *v, const unsigned char *src,
                        unsigned char *dst, size_t n_values)
{
    for (size_t token = 0; token < COLUMN; token++)
        for (size_t d = 0; d < n_values; d++)
            memcpy(dst + offset(v, token, token, d, d), src + offset(k, token, d, token, d),
                   k->bytes);
}

/* Packed columns c .. of the tile that lie side by side; returns the column after the last one. */
static int transpose_columns(const struct qr_tile_source *s, const struct qr_tile *t, int c,
                             void *dst, size_t dst_stride)
{
    const int end = qr_tile_columns_together(s, t->k, c);
    s->call->kernels.transpose(&(struct qr_attn_transpose_args){ .src = t->k[c],
                                                                 .dst = dst,
                                                                 .src_stride = t->k_stride,
                                                                 .dst_stride = dst_stride,
                                                                 .n_keys = (end - c) * COLUMN,
                                                                 .n_values = s->layout->v_size });
    return end;
}

void qr_tile_latent_values(const struct qr_tile_source *s, struct qr_tile *t)
{
    const struct qr_kv_layout *l = s->layout;
    const bool pairs = s->call->kernels.transpose == s->call->group->table->attn_transpose_bf16;
    struct form k = { l->k_plain, l->k_dtype == QUIRE_KV_F32 ? 4 : 2, pairs ? 2 : 1, t->k_stride };
    struct form v = k;
    if (l->k_plain && l->v_plain) { /* rows of keys begin with the rows of values */
        memcpy(t->v, t->k, sizeof t->v);
        t->v_stride = t->k_stride;
        return;
    }
    v.plain = l->v_plain;
    v.stride = (size_t)l->v_padded * v.bytes * (v.plain ? 1 : v.step);
    const size_t column_bytes = COLUMN * (size_t)l->v_padded * v.bytes;
    unsigned char *scratch = (unsigned char *)s->call->scratch.v;
    for (int c = 0, end; c < COLUMNS; c = end) {
        unsigned char *dst = scratch + (size_t)c * column_bytes;
        end = c + 1;
        if (t->k[c] && !k.plain && !v.plain)
            end = transpose_columns(s, t, c, dst, v.stride);
        else if (t->k[c])
            copy_column(&k, &v, t->k[c], dst, (size_t)l->v_size);
        for (int i = c; t->k[c] && i < end; i++)
            t->v[i] = scratch + (size_t)i * column_bytes;
    }
    t->v_stride = v.stride;
}
