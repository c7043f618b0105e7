/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_tiles.h - many int8 activation rows times quantised panels for avx512_amx, on TDPBSSD. Part of linear_q8_tpl.h.
 *
 * A group of weights is unpacked to signed bytes once for up to LINEAR_Q8_M rows. Sums have to leave the tiles after each
 * sub-block to be scaled (N2); their integers are exact, so bits are those of the vectors' products. While tiles are in use
 * and for some 100 cycles after, the CPU has one port for vectors instead of two. So products and scaling take turns: some
 * sub-blocks of 16 rows by two panels, then the scaling of all of them. */
#include "simd/amx.h"

enum { TILE = 16, PHASE = 4 /* sub-blocks */ };

struct tile_sums {
    _Alignas(64) int32_t sum[PHASE][LINEAR_Q8_PANELS][TILE][QR_PANEL_ROWS];
};

/* What the rows of one group share. */
struct tile_walk {
    struct linear_q8_part part;
    const struct qr_q8_block *rest; /* the last tile's rows, or NULL: where the others are */
    /* weights to ask for into the second and, or NULL, the first cache: byte `at` of both panels, some lines each phase */
    const uint8_t *far, *soon;
    size_t at, lines, panel_bytes;
    float *out; /* outputs to ask for, of so many rows */
    size_t out_stride, out_rows;
};

/* Where tiles save time: 16 rows fill one, where vectors would unpack twice for so many; with a rest, it takes more rows.
 * Scales per 16 values and minimums as well leave the vectors more to do than tiles save. */
LINEAR_INLINE bool linear_q8_in_tiles(struct qr_panel_format f, size_t m)
{
    return (m > 24 || (m == TILE && linear_q8_most_few(f) == TILE)) &&
           !(qr_panel_sub16(f) && qr_panel_has_min(f));
}

/* Tiles 0 to 3 are sums, 4 and 5 activations, 6 and 7 weights. */
static void tiles_shape(size_t sub_k)
{
    struct amx_config c = { .palette = 1 };
    for (int t = 0; t < 8; t++) {
        c.rows[t] = (uint8_t)(t < 6 ? TILE : sub_k / 4);
        c.row_bytes[t] = (uint16_t)(t == 4 || t == 5 ? sub_k : 64);
    }
    amx_configure(&c);
}

/* Sub-block s to the sums c0 and c1 of the two panels. */
#define TILE_PRODUCTS(s, c0, c1, x)                                                                \
    do {                                                                                           \
        const size_t k = (s)*sub_k;                                                                \
        AMX_LOAD(x, p->q[k / QR_BLOCK_K].q + k % QR_BLOCK_K, stride);                              \
        AMX_LOAD(6, p->w[0] + k * QR_PANEL_ROWS, QR_LINE);                                         \
        AMX_LOAD(7, p->w[1] + k * QR_PANEL_ROWS, QR_LINE);                                         \
        AMX_ZERO(c0);                                                                              \
        AMX_ZERO(c1);                                                                              \
        AMX_DOT_S8(c0, x, 6);                                                                      \
        AMX_DOT_S8(c1, x, 7);                                                                      \
    } while (0)
#define TILE_SUMS(i, c0, c1)                                                                       \
    do {                                                                                           \
        AMX_STORE(c0, out->sum[i][0], QR_LINE);                                                    \
        AMX_STORE(c1, out->sum[i][1], QR_LINE);                                                    \
    } while (0)

/* n <= PHASE sub-blocks from s on; sums are stored while the next products run. */
LINEAR_INLINE void tiles_multiply(size_t sub_k, const struct linear_q8_part *p, size_t s, size_t n,
                                  struct tile_sums *out)
{
    const size_t stride = p->q_stride * sizeof *p->q;
    for (size_t i = 0; i < n; i += 2) {
        TILE_PRODUCTS(s + i, 0, 1, 4);
        if (i)
            TILE_SUMS(i - 1, 2, 3);
        if (i + 1 < n)
            TILE_PRODUCTS(s + i + 1, 2, 3, 5);
        TILE_SUMS(i, 0, 1);
    }
    if (n % 2 == 0)
        TILE_SUMS(n - 1, 2, 3);
}

/* The two float operations of N2 for n sub-blocks of one panel. */
LINEAR_INLINE void tiles_scale(int kind, const struct linear_q8_part *p, size_t s, size_t n,
                               size_t panel, const struct tile_sums *in)
{
    enum { MIN_AT = 16 * LINEAR_SCALES_LD };
    const size_t per_block = kind & LINEAR_Q8_SUB16 ? 2 : 1;
    const float *scale = p->scale + s * LINEAR_Q8_LD + panel * QR_PANEL_ROWS;
    float *at = p->acc + panel * QR_PANEL_ROWS;
    vf32 acc[TILE];
    LINEAR_UNROLL for (int r = 0; r < TILE; r++) acc[r] = vf32_load(at + r * LINEAR_Q8_LD);
    for (size_t i = 0; i < n; i++, s++, scale += LINEAR_Q8_LD) {
        const struct qr_q8_block *a = p->q + s / per_block;
        const vf32 dw = vf32_load(scale);
        LINEAR_UNROLL for (int r = 0; r < TILE; r++)
        {
            const struct qr_q8_block *b = a + (size_t)r * p->q_stride;
            acc[r] = vf32_fma(vf32_from_i32(vi32_load(in->sum[i][panel][r])),
                              vf32_mul(dw, vf32_set1(b->d)), acc[r]);
            if (kind & LINEAR_Q8_MIN)
                acc[r] = vf32_fnma(vf32_load(scale + MIN_AT), vf32_set1(b->d_sum), acc[r]);
        }
    }
    LINEAR_UNROLL for (int r = 0; r < TILE; r++) vf32_store(at + r * LINEAR_Q8_LD, acc[r]);
}

/* The share of one phase in asking for weights that come later, and of one tile of rows for room for outputs at the end. */
LINEAR_INLINE void tiles_ask(struct tile_walk *t)
{
    for (size_t i = 0; i < t->lines; i++, t->at += QR_LINE)
        for (size_t panel = 0; panel < LINEAR_Q8_PANELS; panel++) {
            __builtin_prefetch(t->far + t->at + panel * t->panel_bytes, 0, 2);
            if (t->soon)
                __builtin_prefetch(t->soon + t->at + panel * t->panel_bytes, 0, 3);
        }
}
LINEAR_INLINE void tiles_ask_out(struct tile_walk *t)
{
    for (size_t r = 0; r < TILE && t->out_rows; r++, t->out_rows--, t->out += t->out_stride) {
        __builtin_prefetch(t->out, 1);
        __builtin_prefetch(t->out + QR_PANEL_ROWS, 1);
    }
}

/* All `tiles` of rows of one group. */
#define TILES_GROUP(name, kind)                                                                    \
    static __attribute__((noinline)) void tiles_group_##name(struct tile_walk t, size_t tiles)     \
    {                                                                                              \
        struct tile_sums sums;                                                                     \
        const size_t sub_k = (kind)&LINEAR_Q8_SUB16 ? 16 : QR_BLOCK_K,                             \
                     subs = t.part.n_blocks * QR_BLOCK_K / sub_k;                                  \
        for (; tiles > 0; tiles--) {                                                               \
            if (tiles == 1 && t.rest) {                                                            \
                t.part.q = t.rest;                                                                 \
                t.part.q_stride = LINEAR_Q8_GROUP;                                                 \
            }                                                                                      \
            tiles_ask_out(&t);                                                                     \
            for (size_t s = 0; s < subs; s += PHASE) {                                             \
                const size_t n = subs - s < PHASE ? subs - s : PHASE;                              \
                tiles_ask(&t);                                                                     \
                tiles_multiply(sub_k, &t.part, s, n, &sums);                                       \
                tiles_scale(kind, &t.part, s, n, 0, &sums);                                        \
                tiles_scale(kind, &t.part, s, n, 1, &sums);                                        \
            }                                                                                      \
            linear_q8_next_rows(&t.part, TILE);                                                    \
        }                                                                                          \
    }
TILES_GROUP(plain, 0)
TILES_GROUP(min, LINEAR_Q8_MIN)
TILES_GROUP(sub16, LINEAR_Q8_SUB16)

/* Unpacks nb blocks of the two panels at `group` to signed bytes, and points the part to them. */
LINEAR_INLINE void tiles_unpack(struct qr_panel_format f, const uint8_t *group, size_t panel_bytes,
                                size_t nb, struct linear_codes *codes, struct linear_scales *scales,
                                struct linear_q8_part *p)
{
    const vi32 offset = linear_bytes(linear_full_bytes(f) ? 0 : f.offset);
    for (size_t panel = 0; panel < LINEAR_Q8_PANELS; panel++, group += panel_bytes) {
        const uint8_t *body = group + qr_panel_header_bytes(f, nb);
        linear_unpack_scales(f, group, nb, scales, panel * QR_PANEL_ROWS);
        for (size_t b = 0; b < nb; b++, body += qr_panel_block_bytes(f))
            LINEAR_UNROLL for (int s = 0; s < 8; s++)
                vi32_store(codes[panel].step[8 * b + (size_t)s],
                           _mm512_sub_epi8(linear_code(f, true, body, s), offset));
        p->w[panel] = codes[panel].step[0];
    }
    p->scale = scales->scale[0];
    p->n_blocks = nb;
}

/* Rows [i0, i0 + m) times the two panels from output j0 on. */
LINEAR_INLINE void linear_q8_many_tiles(struct qr_panel_format f,
                                        const struct qr_linear_kernel_args *a, size_t i0, size_t m,
                                        size_t j0)
{
    _Alignas(64) float acc[LINEAR_Q8_M * LINEAR_Q8_LD];
    struct qr_q8_block rest[TILE * LINEAR_Q8_GROUP];
    struct linear_codes codes[LINEAR_Q8_PANELS];
    struct linear_scales scales;
    const size_t blocks = a->k / QR_BLOCK_K, tiles = (m + TILE - 1) / TILE, whole = m / TILE * TILE,
                 sub_k = qr_panel_sub16(f) ? 16 : QR_BLOCK_K;
    size_t done = 0; /* bytes of the panel */
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    memset(acc, 0, tiles * TILE * LINEAR_Q8_LD * sizeof *acc);
    memset(rest, 0, whole < m ? sizeof rest : 0);
    tiles_shape(sub_k);
    for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
        const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP,
                     bytes = qr_panel_group_bytes(f, nb),
                     phases = tiles * ((nb * QR_BLOCK_K / sub_k + PHASE - 1) / PHASE);
        const bool last = b + nb == blocks;
        struct tile_walk t = {
            .part = { .q = a->q + i0 * a->q_stride + b, .q_stride = a->q_stride, .acc = acc },
            .far =
                group + LINEAR_AHEAD + (done + LINEAR_AHEAD < a->panel_bytes ? 0 : a->panel_bytes),
            .soon = tiles > 2 ? NULL : group + bytes + (last ? a->panel_bytes : 0),
            .lines = (bytes / QR_LINE + phases - 1) / phases,
            .panel_bytes = a->panel_bytes,
            .rest = whole < m ? rest : NULL,
            .out = a->out + i0 * a->out_stride + j0,
            .out_stride = a->out_stride,
            .out_rows = last ? m : 0,
        };
        tiles_unpack(f, group, a->panel_bytes, nb, codes, &scales, &t.part);
        group += bytes;
        done += bytes;
        for (size_t r = whole; r < m; r++)
            memcpy(rest + (r - whole) * LINEAR_Q8_GROUP, t.part.q + r * a->q_stride,
                   nb * sizeof *rest);
        (qr_panel_sub16(f)     ? tiles_group_sub16
         : qr_panel_has_min(f) ? tiles_group_min
                               : tiles_group_plain)(t, tiles);
    }
    amx_release();
    linear_store(a, i0, m, j0, LINEAR_Q8_OUTPUTS, acc, LINEAR_Q8_LD);
}
