/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_tiles.h - GEMM of int8 activations and quantized panels on TDPBSSD.
 *
 * A group of weights is unpacked to signed bytes once for up to LINEAR_Q8_M rows. The sums leave
 * the tiles after each sub-block to be scaled (N2); they are exact integers, so the bits are those
 * of the vector kernels. While tiles are in use and for some 100 cycles after, the CPU has one port
 * for 512-bit vectors instead of two. Products and scaling therefore alternate: some sub-blocks of
 * 16 rows by two panels, then the scaling of all of them.
 *
 * Needs vec_avx512.h, QR_ISA and the register tile of linear_q8_tpl.h. */
#ifndef QR_AVX512_AMX_LINEAR_Q8_TILES_H
#define QR_AVX512_AMX_LINEAR_Q8_TILES_H
#include "simd/amx.h"
#include "template/linear_q8_common_tpl.h"

enum { TILE = 16, PHASE = 4 /* sub-blocks multiplied, then scaled */ };

struct tile_sums {
    _Alignas(64) int32_t sum[PHASE][LINEAR_Q8_PANELS][TILE][QR_PANEL_ROWS];
};

/* Operands of the tiles of one group. */
struct tile_group_args {
    struct linear_q8_tile_args tile;
    size_t overlap; /* rows that the last tile shares with the one before it */
    /* weights to prefetch into L2 and, or NULL, into L1: `lines` per phase of both panels, from
     * byte `at` on */
    const uint8_t *l2, *l1;
    size_t at, lines, panel_bytes;
    float *out; /* outputs to prefetch, of out_rows rows */
    size_t out_stride, out_rows;
};

/* Whether tiles save time. 16 rows fill one, where skinny GEMM would unpack twice; with a partial
 * tile it takes more rows. With scales per 16 values and minimums, the vectors have more to do than
 * the tiles save. */
QR_INLINE bool linear_q8_use_amx(struct qr_panel_format f, size_t m)
{
    return (m > 24 || (m == TILE && linear_q8_skinny_max(f) == TILE)) &&
           !(qr_panel_sub16(f) && qr_panel_has_min(f));
}

/* Configures tiles 0 to 3 for sums, 4 and 5 for activations, 6 and 7 for weights. */
static void tiles_shape(size_t sub_k)
{
    struct amx_config c = { .palette = 1 };
    for (int t = 0; t < 8; t++) {
        c.rows[t] = (uint8_t)(t < 6 ? TILE : sub_k / 4);
        c.row_bytes[t] = (uint16_t)(t == 4 || t == 5 ? sub_k : 64);
    }
    amx_configure(&c);
}

/* Products of sub-block s: the sums of the two panels in tiles c0 and c1. */
#define TILE_PRODUCTS(s, c0, c1, x)                                                                \
    do {                                                                                           \
        const size_t k = (s)*sub_k;                                                                \
        AMX_LOAD(x, p->q[k / QR_BLOCK_K].q + k % QR_BLOCK_K, stride);                              \
        AMX_LOAD(6, p->w[0] + k * QR_PANEL_ROWS, QR_CACHE_LINE_BYTES);                             \
        AMX_LOAD(7, p->w[1] + k * QR_PANEL_ROWS, QR_CACHE_LINE_BYTES);                             \
        AMX_ZERO(c0);                                                                              \
        AMX_ZERO(c1);                                                                              \
        AMX_DOT_S8(c0, x, 6);                                                                      \
        AMX_DOT_S8(c1, x, 7);                                                                      \
    } while (0)
#define TILE_SUMS(i, c0, c1)                                                                       \
    do {                                                                                           \
        AMX_STORE(c0, out->sum[i][0], QR_CACHE_LINE_BYTES);                                        \
        AMX_STORE(c1, out->sum[i][1], QR_CACHE_LINE_BYTES);                                        \
    } while (0)

/* Multiplies n <= PHASE sub-blocks from s on; stores sums while the next products run. */
QR_INLINE void tiles_multiply(size_t sub_k, const struct linear_q8_tile_args *p, size_t s, size_t n,
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

/* Scales n sub-blocks of one panel: the two float operations of N2. */
QR_INLINE void tiles_scale(int kind, const struct linear_q8_tile_args *p, size_t s, size_t n,
                           size_t panel, const struct tile_sums *in)
{
    enum { MIN_AT = 16 * LINEAR_SCALES_LD };
    const size_t per_block = kind & LINEAR_Q8_SUB16 ? 2 : 1;
    const float *scale = p->scale + s * LINEAR_SCALES_LD + panel * QR_PANEL_ROWS;
    float *at = p->acc + panel * QR_PANEL_ROWS;
    vf32 acc[TILE];
    QR_UNROLL_16 (int r = 0; r < TILE; r++)
        acc[r] = vf32_load(at + r * LINEAR_Q8_LD);
    for (size_t i = 0; i < n; i++, s++, scale += LINEAR_SCALES_LD) {
        const struct qr_q8_block *a = p->q + s / per_block;
        const vf32 dw = vf32_load(scale);
        QR_UNROLL_16 (int r = 0; r < TILE; r++) {
            const struct qr_q8_block *b = a + (size_t)r * p->q_stride;
            acc[r] = vf32_fma(vf32_from_i32(vi32_load(in->sum[i][panel][r])),
                              vf32_mul(dw, vf32_set1(b->d)), acc[r]);
            if (kind & LINEAR_Q8_MIN)
                acc[r] = vf32_fnma(vf32_load(scale + MIN_AT), vf32_set1(b->d_sum), acc[r]);
        }
    }
    QR_UNROLL_16 (int r = 0; r < TILE; r++)
        vf32_store(at + r * LINEAR_Q8_LD, acc[r]);
}

/* Prefetches the share of one phase of the following weights. */
QR_INLINE void prefetch_tile_weights(struct tile_group_args *t)
{
    for (size_t i = 0; i < t->lines; i++, t->at += QR_CACHE_LINE_BYTES)
        for (size_t panel = 0; panel < LINEAR_Q8_PANELS; panel++) {
            qr_prefetch_l2(t->l2 + t->at + panel * t->panel_bytes);
            if (t->l1)
                qr_prefetch_l1(t->l1 + t->at + panel * t->panel_bytes);
        }
}

/* Prefetches the outputs of one tile of rows. */
QR_INLINE void prefetch_tile_outputs(struct tile_group_args *t)
{
    for (size_t r = 0; r < TILE && t->out_rows; r++, t->out_rows--, t->out += t->out_stride) {
        qr_prefetch_write(t->out);
        qr_prefetch_write(t->out + QR_PANEL_ROWS);
    }
}

/* tiles_group_<variant>: one group of two panels times all `tiles` of rows. */
#define TILES_GROUP(name, kind)                                                                    \
    static                                                                                         \
        __attribute__((noinline)) void tiles_group_##name(struct tile_group_args t, size_t tiles)  \
    {                                                                                              \
        struct tile_sums sums;                                                                     \
        const size_t sub_k = (kind)&LINEAR_Q8_SUB16 ? 16 : QR_BLOCK_K,                             \
                     subs = t.tile.n_blocks * QR_BLOCK_K / sub_k;                                  \
        for (; tiles > 0; tiles--) {                                                               \
            if (tiles == 1)                                                                        \
                t.tile.q -= t.overlap * t.tile.q_stride;                                           \
            prefetch_tile_outputs(&t);                                                             \
            for (size_t s = 0; s < subs; s += PHASE) {                                             \
                const size_t n = subs - s < PHASE ? subs - s : PHASE;                              \
                prefetch_tile_weights(&t);                                                         \
                tiles_multiply(sub_k, &t.tile, s, n, &sums);                                       \
                tiles_scale(kind, &t.tile, s, n, 0, &sums);                                        \
                tiles_scale(kind, &t.tile, s, n, 1, &sums);                                        \
            }                                                                                      \
            linear_q8_next_rows(&t.tile, TILE);                                                    \
        }                                                                                          \
    }
TILES_GROUP(plain, 0)
TILES_GROUP(min, LINEAR_Q8_MIN)
TILES_GROUP(sub16, LINEAR_Q8_SUB16)

/* Unpacks nb blocks of the two panels at `group` to signed bytes, and points p to them. */
QR_INLINE void tiles_unpack(struct qr_panel_format f, const uint8_t *group, size_t panel_bytes,
                            size_t nb, struct linear_codes *codes, struct linear_scales *scales,
                            struct linear_q8_tile_args *p)
{
    const vi32 offset = linear_bytes(linear_full_bytes(f) ? 0 : f.offset);
    for (size_t panel = 0; panel < LINEAR_Q8_PANELS; panel++, group += panel_bytes) {
        const uint8_t *body = group + qr_panel_header_bytes(f, nb);
        linear_unpack_scales(f, group, nb, scales, panel * QR_PANEL_ROWS);
        vi32 delta = linear_load_delta(f, body);
        for (size_t b = 0; b < nb; b++, body += qr_panel_block_bytes(f)) {
            QR_UNROLL_16 (int s = 0; s < 8; s++)
                vi32_store(codes[panel].step[8 * b + (size_t)s],
                           _mm512_sub_epi8(linear_code(f, true, body, delta, s), offset));
            delta = vi32_shr(delta, 4); /* four entries per block */
        }
        p->w[panel] = codes[panel].step[0];
    }
    p->scale = scales->scale[0];
    p->n_blocks = nb;
}

/* Rows [i0, i0 + m), m >= TILE, times the two panels from output j0 on. Where m is no multiple of
 * TILE, the last tile begins before the end of the one before it: no row is padded, and the rows of
 * both are computed twice with the same bits. */
QR_INLINE void linear_q8_gemm_amx(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                                  size_t i0, size_t m, size_t j0)
{
    _Alignas(64) float acc[LINEAR_Q8_M * LINEAR_Q8_LD];
    struct linear_codes codes[LINEAR_Q8_PANELS];
    struct linear_scales scales;
    const size_t blocks = a->k / QR_BLOCK_K, tiles = (m + TILE - 1) / TILE, whole = m / TILE * TILE,
                 overlap = tiles * TILE - m, sub_k = qr_panel_sub16(f) ? 16 : QR_BLOCK_K;
    size_t done = 0; /* bytes of the panel multiplied so far */
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    memset(acc, 0, tiles * TILE * LINEAR_Q8_LD * sizeof *acc);
    tiles_shape(sub_k);
    for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
        const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP,
                     bytes = qr_panel_group_bytes(f, nb),
                     phases = tiles * ((nb * QR_BLOCK_K / sub_k + PHASE - 1) / PHASE);
        const bool last = b + nb == blocks;
        struct tile_group_args t = {
            .tile = { .q = a->q + i0 * a->q_stride + b,
                      .half_sums = a->half_sums + 2 * (i0 * a->q_stride + b),
                      .q_stride = a->q_stride,
                      .acc = acc },
            .l2 = group + WEIGHT_PREFETCH_L2_BYTES_AMX +
                  (done + WEIGHT_PREFETCH_L2_BYTES_AMX < a->panel_bytes ? 0 : a->panel_bytes),
            .l1 = tiles > 2 ? NULL : group + bytes + (last ? a->panel_bytes : 0),
            .lines = (bytes / QR_CACHE_LINE_BYTES + phases - 1) / phases,
            .panel_bytes = a->panel_bytes,
            .overlap = overlap,
            .out = a->out + i0 * a->out_stride + j0,
            .out_stride = a->out_stride,
            .out_rows = last ? m : 0,
        };
        tiles_unpack(f, group, a->panel_bytes, nb, codes, &scales, &t.tile);
        group += bytes;
        done += bytes;
        (qr_panel_sub16(f)     ? tiles_group_sub16
         : qr_panel_has_min(f) ? tiles_group_min
                               : tiles_group_plain)(t, tiles);
    }
    amx_release();
    linear_store(a, i0, whole, j0, LINEAR_Q8_OUTPUTS, acc, LINEAR_Q8_LD);
    linear_store(a, i0 + whole, m - whole, j0, LINEAR_Q8_OUTPUTS,
                 acc + (whole + overlap) * LINEAR_Q8_LD, LINEAR_Q8_LD);
}

#endif
