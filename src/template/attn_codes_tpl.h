/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes_tpl.h - kernels that read tiles of 8-bit codes (fp8, int8) over vec_*.h:
 * dequantization to memory, and Q K^T scores and P V of few rows with dequantization in registers.
 *
 * Needs a vec_*.h, vec_math.h, QR_ISA, and bf16_from_codes.h or bf16_from_codes_vbmi.h.
 *
 * Few rows read each code once or twice: a tile in memory would cost more than it saves. Each chain
 * of additions is that of attn_tile_tpl.h for bf16_native. */
#include "template/attn_common_tpl.h"

typedef struct bf16_pairs codes_load_fn(const uint8_t *p);

enum {
    CODES_CELL = 64,
    CODES_LOAD = 4 * VF32_N, /* codes of one load */
    CODES_ROWS = QR_INSTRUMENTED ? 2
                 : VF32_N < 16   ? 4
                                 : QR_CODES_ROWS,
    CODES_UNITS = VF32_N < 16       ? 1
                  : QR_INSTRUMENTED ? 2
                                    : 4,
    /* rows that heed next_l2: more of them, or shorter vectors, take longer than the memory */
    CODES_L2_ROWS = VF32_N >= 16 && !QR_INSTRUMENTED ? KV_FEW_ROWS : 0,
};

/* ---- dequantization to memory */

QR_INLINE void codes_unpack(const struct qr_attn_unpack_args *a, codes_load_fn *load)
{
    const size_t n_steps = (size_t)a->n_steps, n_bytes = (size_t)a->n_cells * CODES_CELL,
                 stride = a->dst_stride;
    const uint8_t *src = a->src;
    uint16_t *dst = a->dst;
    for (size_t step = 0; step < n_steps; step++, src += a->src_stride, dst += 2 * stride)
        for (size_t i = 0; i < n_bytes; i += CODES_LOAD) {
            const struct bf16_pairs pairs = load(src + i);
            prefetch_codes(src + i);
            vi32_store(dst + i / 2, pairs.first);
            vi32_store(dst + stride + i / 2, pairs.last);
        }
}

/* ---- products with codes that are dequantized in registers */

/* Units of 16 lanes of a register tile of `rows` rows. */
QR_INLINE int codes_units(int rows) { return CODES_UNITS == 4 && rows > 4 ? 2 : CODES_UNITS; }

/* acc[rows][units] += a * b over n_steps steps of four elements; the cell of unit u and step i is
 * at b[u] + i * b_stride. Prefetches the same number of bytes from `next` on. */
QR_INLINE void codes_accumulate(vf32 acc[CODES_ROWS][CODES_UNITS * ATTN_VECS], const uint8_t *a,
                                size_t a_stride, const uint8_t *const b[CODES_UNITS],
                                size_t b_stride, struct kv_ahead next, int n_steps, int rows,
                                int units, codes_load_fn *load)
{
    const uint8_t *at[CODES_UNITS];
    QR_UNROLL_8 (int u = 0; u < units; u++)
        at[u] = b[u];
    for (int i = 0; i < n_steps; i++, a += 8, next.at += units * CODES_CELL) {
        struct bf16_pairs y[CODES_UNITS * ATTN_VECS];
        QR_UNROLL_8 (int u = 0; u < units; u++) {
            QR_UNROLL_8 (int v = 0; v < ATTN_VECS; v++)
                y[u * ATTN_VECS + v] = load(at[u] + v * CODES_LOAD);
            prefetch_kv_line(next, u * CODES_CELL);
            at[u] += b_stride;
        }
        QR_UNROLL_8 (int r = 0; r < rows; r++) {
            const vi32 x = attn_bits_at(a + (size_t)r * a_stride);
            QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
                acc[r][v] = vf32_dot_bf16(acc[r][v], x, y[v].first);
        }
        QR_UNROLL_8 (int r = 0; r < rows; r++) {
            const vi32 x = attn_bits_at(a + (size_t)r * a_stride + 4);
            QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
                acc[r][v] = vf32_dot_bf16(acc[r][v], x, y[v].last);
        }
    }
}

QR_INLINE void codes_qk_tile(const struct qr_attn_qk_args *a, size_t row, codes_load_fn *load,
                             int rows, bool l2)
{
    const int units = codes_units(rows);
    const size_t q_stride = (size_t)a->head_size * sizeof(uint16_t);
    const uint8_t *q = (const uint8_t *)a->q + row * q_stride;
    struct kv_ahead next = { a->next ? a->next : a->k[0], l2 };
    for (int c = 0; c < QR_TILE_COLUMNS;
         c += units, next.at += a->head_size / 4 * units * CODES_CELL) {
        vf32 acc[CODES_ROWS][CODES_UNITS * ATTN_VECS];
        const uint8_t *k[CODES_UNITS];
        QR_UNROLL_8 (int u = 0; u < units; u++)
            k[u] = a->k[c + u];
        QR_UNROLL_8 (int r = 0; r < rows; r++) {
            QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
                acc[r][v] = vf32_zero();
        }
        codes_accumulate(acc, q, q_stride, k, a->k_stride, next, a->head_size / 4, rows, units,
                         load);
        QR_UNROLL_8 (int r = 0; r < rows; r++) {
            float *s = a->s + (row + (size_t)r) * QR_TILE_KEYS + c * QR_COLUMN_KEYS;
            QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
                vf32_store(s + v * VF32_N, acc[r][v]);
        }
    }
}

QR_INLINE void codes_pv_tile(const struct qr_attn_pv_args *a, size_t row, size_t unit,
                             codes_load_fn *load, int rows, int units, bool l2)
{
    enum { STEPS = QR_COLUMN_KEYS / 4, P_BYTES = QR_TILE_KEYS * sizeof(uint16_t) };
    vf32 acc[CODES_ROWS][CODES_UNITS * ATTN_VECS];
    const uint8_t *p = (const uint8_t *)a->p + row * P_BYTES;
    struct kv_ahead next = { a->next ? a->next : a->v[0], l2 };
    float *o = a->o + row * a->o_stride + unit * 16;
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
            acc[r][v] = vf32_load(o + (size_t)r * a->o_stride + v * VF32_N);
    }
    next.at += unit * (QR_TILE_KEYS / 4 * CODES_CELL);
    for (int c = 0; c < QR_TILE_COLUMNS;
         c++, p += STEPS * 8, next.at += units * STEPS * CODES_CELL) {
        const uint8_t *b[CODES_UNITS];
        QR_UNROLL_8 (int u = 0; u < units; u++)
            b[u] = (const uint8_t *)a->v[c] + (unit + (size_t)u) * CODES_CELL;
        codes_accumulate(acc, p, P_BYTES, b, a->v_stride, next, STEPS, rows, units, load);
    }
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
            vf32_store(o + (size_t)r * a->o_stride + v * VF32_N, acc[r][v]);
    }
}

QR_INLINE void codes_pv_units(const struct qr_attn_pv_args *a, size_t row, codes_load_fn *load,
                              int rows, bool l2)
{
    const size_t n_units = ((size_t)a->v_head_size + 15) / 16, most = (size_t)codes_units(rows);
    size_t unit = 0;
    for (; unit + most <= n_units; unit += most)
        codes_pv_tile(a, row, unit, load, rows, codes_units(rows), l2);
    if (codes_units(rows) > 2 && unit + 2 <= n_units) {
        codes_pv_tile(a, row, unit, load, rows, 2, l2);
        unit += 2;
    }
    if (codes_units(rows) > 1 && unit < n_units)
        codes_pv_tile(a, row, unit, load, rows, 1, l2);
}

/* Rows of the next register tile when `left` rows remain, which are divided evenly. */
static inline int codes_share(int left)
{
    const int tiles = (left + CODES_ROWS - 1) / CODES_ROWS;
    return (left + tiles - 1) / tiles;
}

/* One register tile per number of rows, a constant in each; l2 is one, too. */
#define CODES_CASE(fn, n, l2)                                                                      \
    case n:                                                                                        \
        if (n <= ((l2) ? CODES_L2_ROWS : CODES_ROWS))                                              \
            fn(a, (size_t)row, load, n, l2);                                                       \
        break;
#define CODES_ALL(fn, l2)                                                                          \
    for (int row = 0, rows; row < a->n_rows; row += rows) {                                        \
        rows = codes_share(a->n_rows - row);                                                       \
        switch (rows) {                                                                            \
            CODES_CASE(fn, 1, l2)                                                                  \
            CODES_CASE(fn, 2, l2)                                                                  \
            CODES_CASE(fn, 3, l2)                                                                  \
            CODES_CASE(fn, 4, l2)                                                                  \
            CODES_CASE(fn, 5, l2)                                                                  \
            CODES_CASE(fn, 6, l2)                                                                  \
            CODES_CASE(fn, 7, l2)                                                                  \
            CODES_CASE(fn, 8, l2)                                                                  \
        }                                                                                          \
    }

/* clang-format off */
QR_INLINE void codes_qk(const struct qr_attn_qk_args *a, codes_load_fn *load, const bool l2)
{
    CODES_ALL(codes_qk_tile, l2)
}
QR_INLINE void codes_pv(const struct qr_attn_pv_args *a, codes_load_fn *load, const bool l2)
{
    CODES_ALL(codes_pv_units, l2)
}
/* clang-format on */

/* The arithmetic is in functions that are not inlined: see simd/flush.h. */
#define CODES_PRODUCT(name, type)                                                                  \
    static __attribute__((noinline)) void codes_##name##_##type(                                   \
        const struct qr_attn_##name##_args *a)                                                     \
    {                                                                                              \
        codes_##name(a, bf16_from_##type, false);                                                  \
    }                                                                                              \
    static __attribute__((noinline)) void codes_##name##_l2_##type(                                \
        const struct qr_attn_##name##_args *a)                                                     \
    {                                                                                              \
        codes_##name(a, bf16_from_##type, true);                                                   \
    }                                                                                              \
    void QR_JOIN(qr_attn_##name##_##type, QR_ISA)(const struct qr_attn_##name##_args *a)           \
    {                                                                                              \
        if (CODES_L2_ROWS > 0 && a->next_l2 && a->n_rows <= CODES_L2_ROWS) {                       \
            ATTN_FLUSHED(codes_##name##_l2_##type(a));                                             \
        } else {                                                                                   \
            ATTN_FLUSHED(codes_##name##_##type(a));                                                \
        }                                                                                          \
    }
#define CODES_KERNELS(type)                                                                        \
    void QR_JOIN(qr_attn_unpack_##type, QR_ISA)(const struct qr_attn_unpack_args *a)               \
    {                                                                                              \
        codes_unpack(a, bf16_from_##type);                                                         \
    }                                                                                              \
    CODES_PRODUCT(qk, type)                                                                        \
    CODES_PRODUCT(pv, type)
/* clang-format off */
CODES_KERNELS(fp8_e4m3)
CODES_KERNELS(fp8_e5m2)
CODES_KERNELS(int8)
/* clang-format on */
