/* SPDX-License-Identifier: Apache-2.0 */
/* linear_q8_gemm_tpl.h - GEMM of int8 activations and quantized panels, with vector instructions.
 *
 * A group of weights is unpacked once for up to LINEAR_Q8_M rows; accumulators are in memory
 * between groups. Needs what linear_q8_tpl.h needs. */
#ifndef QR_TEMPLATE_LINEAR_Q8_GEMM_TPL_H
#define QR_TEMPLATE_LINEAR_Q8_GEMM_TPL_H
#include "template/linear_q8_common_tpl.h"

/* Operands of the tiles of one group: those of the first tile, advanced from tile to tile. */
struct linear_q8_group_args {
    struct linear_q8_tile_args tile;
    const uint8_t *next_end; /* end of the weights to prefetch */
    float *out;              /* outputs of the first row, to prefetch; or NULL */
    size_t out_stride;
};

/* Prefetches the outputs of a tile, whose rows are far apart: each store would miss the cache. */
QR_INLINE void prefetch_outputs(struct linear_q8_group_args *t, size_t rows)
{
    for (size_t r = 0; t->out && r < rows; r++, t->out += t->out_stride)
        for (size_t x = 0; x < LINEAR_Q8_OUTPUTS; x += QR_CACHE_LINE_BYTES / sizeof *t->out)
            qr_prefetch_write(t->out + x);
}

QR_INLINE void linear_q8_next_tile(struct linear_q8_group_args *t, size_t rows)
{
    linear_q8_next_rows(&t->tile, rows);
    t->tile.next += t->tile.n_blocks * t->tile.next_lines * QR_CACHE_LINE_BYTES;
    if (t->tile.next >= t->next_end)
        t->tile.next_lines = 0;
}

/* Rows of the largest tile. A level of sixteen registers may define a higher number for kinds whose
 * blocks need one 16-bit sum per output, LINEAR_Q8_SUM_ROWS. */
#ifndef LINEAR_Q8_SUM_ROWS
#define LINEAR_Q8_SUM_ROWS LINEAR_Q8_ROWS
#endif
QR_INLINE size_t linear_q8_tile_rows(int kind)
{
    /* NOLINTNEXTLINE(bugprone-branch-clone): most levels have one number for all kinds */
    return (kind & ~LINEAR_Q8_MIN) == LINEAR_Q8_PAIRS * 8 ? LINEAR_Q8_SUM_ROWS : LINEAR_Q8_ROWS;
}

/* Rows of the next of n tiles when m rows remain, which are divided evenly. */
QR_INLINE size_t linear_q8_share(size_t m, size_t n)
{
#if defined(VI32_MATRIX) /* products take two rows: the last tile alone may have an odd one */
    return n > 1 ? (m / n + 1) & ~(size_t)1 : m;
#else
    return m / n;
#endif
}

/* m > linear_q8_skinny_max rows in tiles, each at least half of the largest. */
#define LINEAR_Q8_TILES(name, kind)                                                                \
    static __attribute__((noinline, unused)) void linear_q8_tiles_##name(                          \
        struct linear_q8_group_args t, size_t m)                                                   \
    {                                                                                              \
        const struct qr_panel_format f = { 0 };                                                    \
        const size_t most = linear_q8_tile_rows(kind);                                             \
        for (size_t n = (m + most - 1) / most; n > 0; n--) {                                       \
            const size_t rows = linear_q8_share(m, n);                                             \
            prefetch_outputs(&t, rows);                                                            \
            switch (rows) {                                                                        \
                LINEAR_Q8_CASES(kind)                                                              \
            default:                                                                               \
                break;                                                                             \
            }                                                                                      \
            linear_q8_next_tile(&t, rows);                                                         \
            m -= rows;                                                                             \
        }                                                                                          \
    }
#define LINEAR_Q8_CASE(kind, n)                                                                    \
    case n:                                                                                        \
        if (n <= linear_q8_tile_rows(kind) && 2 * n >= linear_q8_tile_rows(kind))                  \
            linear_q8_tile(kind, f, n, LINEAR_Q8_VECS, &t.tile);                                   \
        break;
#define LINEAR_Q8_CASES(kind)                                                                      \
    LINEAR_Q8_CASE(kind, 2)                                                                        \
    LINEAR_Q8_CASE(kind, 3)                                                                        \
    LINEAR_Q8_CASE(kind, 4)                                                                        \
    LINEAR_Q8_CASE(kind, 5)                                                                        \
    LINEAR_Q8_CASE(kind, 6)

LINEAR_Q8_TILES(full, LINEAR_Q8_FULL)
LINEAR_Q8_TILES(full_min, LINEAR_Q8_FULL | LINEAR_Q8_MIN)
#if defined(VI32_PAIRS)
LINEAR_Q8_TILES(plain, LINEAR_Q8_PAIRS * 8)
LINEAR_Q8_TILES(plain_5, LINEAR_Q8_PAIRS * 4)
LINEAR_Q8_TILES(plain_6, LINEAR_Q8_PAIRS * 2)
LINEAR_Q8_TILES(plain_7, LINEAR_Q8_PAIRS * 1)
LINEAR_Q8_TILES(min, LINEAR_Q8_PAIRS * 8 | LINEAR_Q8_MIN)
LINEAR_Q8_TILES(min_5, LINEAR_Q8_PAIRS * 4 | LINEAR_Q8_MIN)
LINEAR_Q8_TILES(sub16, LINEAR_Q8_PAIRS * 8 | LINEAR_Q8_SUB16)
LINEAR_Q8_TILES(sub16_5, LINEAR_Q8_PAIRS * 4 | LINEAR_Q8_SUB16)
LINEAR_Q8_TILES(sub16_6, LINEAR_Q8_PAIRS * 2 | LINEAR_Q8_SUB16)
LINEAR_Q8_TILES(sub16_7, LINEAR_Q8_PAIRS * 1 | LINEAR_Q8_SUB16)
LINEAR_Q8_TILES(sub16_min, LINEAR_Q8_PAIRS * 8 | LINEAR_Q8_SUB16 | LINEAR_Q8_MIN)
#else
LINEAR_Q8_TILES(plain, 0)
LINEAR_Q8_TILES(min, LINEAR_Q8_MIN)
LINEAR_Q8_TILES(sub16, LINEAR_Q8_SUB16)
LINEAR_Q8_TILES(sub16_min, LINEAR_Q8_SUB16 | LINEAR_Q8_MIN)
#define linear_q8_tiles_plain_5 linear_q8_tiles_plain
#define linear_q8_tiles_plain_6 linear_q8_tiles_plain
#define linear_q8_tiles_plain_7 linear_q8_tiles_plain
#define linear_q8_tiles_min_5   linear_q8_tiles_min
#define linear_q8_tiles_sub16_5 linear_q8_tiles_sub16
#define linear_q8_tiles_sub16_6 linear_q8_tiles_sub16
#define linear_q8_tiles_sub16_7 linear_q8_tiles_sub16
#endif

QR_INLINE void linear_q8_tiles(struct qr_panel_format f, struct linear_q8_group_args t, size_t m)
{
    const int kind = linear_q8_kind(f), pairs = kind / LINEAR_Q8_PAIRS;
    /* NOLINTBEGIN(bugprone-branch-clone): levels without pairs have one function of each kind */
    switch (kind & (LINEAR_Q8_PAIRS - 1)) {
    case LINEAR_Q8_FULL:
        linear_q8_tiles_full(t, m);
        break;
    case LINEAR_Q8_FULL | LINEAR_Q8_MIN:
        linear_q8_tiles_full_min(t, m);
        break;
    case LINEAR_Q8_SUB16 | LINEAR_Q8_MIN:
        linear_q8_tiles_sub16_min(t, m);
        break;
    case LINEAR_Q8_SUB16:
        (pairs == 1   ? linear_q8_tiles_sub16_7
         : pairs == 2 ? linear_q8_tiles_sub16_6
         : pairs == 4 ? linear_q8_tiles_sub16_5
                      : linear_q8_tiles_sub16)(t, m);
        break;
    case LINEAR_Q8_MIN:
        (pairs == 4 ? linear_q8_tiles_min_5 : linear_q8_tiles_min)(t, m);
        break;
    default:
        (pairs == 1   ? linear_q8_tiles_plain_7
         : pairs == 2 ? linear_q8_tiles_plain_6
         : pairs == 4 ? linear_q8_tiles_plain_5
                      : linear_q8_tiles_plain)(t, m);
        break;
    }
    /* NOLINTEND(bugprone-branch-clone) */
}

/* Unpacked codes of a group of one panel: bytes, or with linear_q8_signs magnitudes and signs. */
struct linear_q8_unpacked {
#if defined(VI32_PAIRS)
    struct linear_codes codes, signs; /* steps of both alternate where there are signs */
#else
    struct linear_codes codes;
#endif
};

#if defined(VI32_PAIRS)
/* Unpacks the codes of the group whose first block is at `body` to magnitudes and signs at w, and
 * the first values of their sums to first[n_blocks][LINEAR_SCALES_LD]. */
QR_INLINE void linear_q8_unpack_signs(struct qr_panel_format f, const uint8_t *body,
                                      size_t n_blocks, uint8_t *w, int32_t *first)
{
    enum { LINE = QR_CACHE_LINE_BYTES };
    for (size_t b = 0; b < n_blocks;
         b++, body += qr_panel_block_bytes(f), first += LINEAR_SCALES_LD)
        for (size_t x = 0; x < LINE; x += 4 * VF32_N) {
            vi32 sum = vi32_zero(); /* 16-bit sums of up to 16 negative weights */
            QR_UNROLL_16 (size_t s = 0; s < 8; s++) {
                const vi32 code = linear_code(f, true, body + x, vi32_zero(), (int)s),
                           magnitude = vi32_magnitude(code), sign = vi32_sign(code);
                vi32_store(w + (16 * b + 2 * s) * LINE + x, magnitude);
                vi32_store(w + (16 * b + 2 * s + 1) * LINE + x, sign);
                sum = vi32_pairs_add(sum, vi32_pairs(magnitude, sign));
            }
            vi32_store(first + x / 4, vi32_sub(vi32_zero(), vi32_pairs_sum(sum)));
        }
}
#endif

#if defined(VI32_MATRIX)
/* Unpacks the codes of the group whose first block is at `body`, zipped as matrix products take
 * them. */
QR_INLINE void linear_q8_unpack_matrix(struct qr_panel_format f, const uint8_t *body,
                                       size_t n_blocks, struct linear_codes *codes)
{
    const int kind = linear_q8_kind(f) | LINEAR_Q8_PACKED;
    for (size_t x = 0; x < QR_CACHE_LINE_BYTES; x += 4 * VF32_N) {
        struct linear_q8_weights w = { { body + x }, { linear_load_delta(f, body + x) } };
        for (size_t b = 0; b < n_blocks; b++, w.at[0] += qr_panel_block_bytes(f)) {
            QR_UNROLL_16 (int s = 0; s < 8; s += 2) {
                vi32 code[2];
                linear_q8_matrix_codes(kind, f, &w, 0, s, code);
                vi32_store(&codes->step[8 * b + (size_t)s][x], code[0]);
                vi32_store(&codes->step[8 * b + (size_t)s + 1][x], code[1]);
            }
            w.delta[0] = vi32_shr(w.delta[0], 4); /* four entries per block */
        }
    }
}
#endif

/* Unpacks the codes of the group whose first block is at `body`; first as above. */
QR_INLINE void linear_q8_unpack_panel(struct qr_panel_format f, const uint8_t *body,
                                      size_t n_blocks, struct linear_q8_unpacked *u, int32_t *first)
{
#if defined(VI32_PAIRS)
    if (linear_q8_signs(linear_q8_kind(f))) {
        linear_q8_unpack_signs(f, body, n_blocks, (uint8_t *)u, first);
        return;
    }
#else
    (void)first;
#endif
#if defined(VI32_MATRIX)
    linear_q8_unpack_matrix(f, body, n_blocks, &u->codes);
#else
    linear_unpack_codes(f, VI32_W8_OFFSET == 0, body, n_blocks, &u->codes);
#endif
}

/* Unpacks nb blocks of the LINEAR_Q8_PANELS panels at `group`, and points p to them. */
QR_INLINE void linear_q8_unpack(struct qr_panel_format f, const uint8_t *group, size_t panel_bytes,
                                size_t nb, struct linear_q8_unpacked *unpacked,
                                struct linear_scales *scales, struct linear_q8_tile_args *p)
{
    const bool direct =
        f.low_bits == 8 && VI32_W8_OFFSET == f.offset; /* the codes of the panel are the bytes */
    for (size_t panel = 0; panel < LINEAR_Q8_PANELS; panel++, group += panel_bytes) {
        const uint8_t *body = group + qr_panel_header_bytes(f, nb);
        linear_unpack_scales(f, group, nb, scales, panel * QR_PANEL_ROWS);
        if (!direct)
            linear_q8_unpack_panel(f, body, nb, &unpacked[panel],
                                   scales->first[0] + panel * QR_PANEL_ROWS);
        const uint8_t *w = direct ? body : unpacked[panel].codes.step[0];
        for (size_t r = 0; r < QR_PANEL_ROWS; r += VF32_N)
            p->w[(panel * QR_PANEL_ROWS + r) / VF32_N] = w + 4 * r;
    }
    p->scale = scales->scale[0];
    p->n_blocks = nb;
}

/* Rows [i0, i0 + m) times the LINEAR_Q8_PANELS panels from output j0 on. */
QR_INLINE void linear_q8_gemm(struct qr_panel_format f, const struct qr_linear_kernel_args *a,
                              size_t i0, size_t m, size_t j0)
{
    _Alignas(64) float acc[LINEAR_Q8_M * LINEAR_Q8_LD];
    struct linear_q8_unpacked codes[LINEAR_Q8_PANELS];
    struct linear_scales scales;
    const size_t blocks = a->k / QR_BLOCK_K, most = linear_q8_tile_rows(linear_q8_kind(f)),
                 tiles = (m + most - 1) / most;
    const uint8_t *group = (const uint8_t *)a->w + j0 / QR_PANEL_ROWS * a->panel_bytes;
    memset(acc, 0, m * LINEAR_Q8_LD * sizeof *acc);
    for (size_t b = 0; b < blocks; b += LINEAR_Q8_GROUP) {
        const size_t nb = blocks - b < LINEAR_Q8_GROUP ? blocks - b : LINEAR_Q8_GROUP,
                     bytes = qr_panel_group_bytes(f, nb);
        const bool last = b + nb == blocks;
        struct linear_q8_group_args t = {
            .tile = { .q = a->q + i0 * a->q_stride + b,
                      .half_sums = a->half_sums + 2 * (i0 * a->q_stride + b),
                      .q_stride = a->q_stride,
                      .acc = acc,
                      .offset_shift = linear_q8_offset_shift(f),
                      .next_lines = (bytes / QR_CACHE_LINE_BYTES + tiles * nb - 1) / (tiles * nb),
                      .next_panel = a->panel_bytes },
            .out = last ? a->out + i0 * a->out_stride + j0 : NULL,
            .out_stride = a->out_stride,
        };
        linear_q8_unpack(f, group, a->panel_bytes, nb, codes, &scales, &t.tile);
        group += bytes;
        t.tile.next = last ? group + (LINEAR_Q8_PANELS - 1) * a->panel_bytes : group;
        t.next_end = t.tile.next + bytes;
        linear_q8_tiles(f, t, m);
    }
    linear_store(a, i0, m, j0, LINEAR_Q8_OUTPUTS, acc, LINEAR_Q8_LD);
}

#endif
