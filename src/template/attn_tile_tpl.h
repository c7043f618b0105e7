/* SPDX-License-Identifier: Apache-2.0 */
/* attn_tile_tpl.h - Q K^T scores and P V of a tile over vec_*.h, for one element type.
 *
 * Needs a vec_*.h, vec_math.h, QR_ISA, and one of ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_BF16_NATIVE,
 * which is undefined again at the end: the header can be included once per type.
 *
 * Both products are one register tile: acc[r][lane] += a[r][step] * b[step][lane] over ascending
 * steps. For scores, a is the query, lanes are keys and steps run over d; for P V, a holds the
 * weights, lanes are d and steps run over keys. A unit is 16 lanes. The chain of additions of a row
 * is therefore the same in every tile shape. */
#include "template/attn_common_tpl.h"

/* Definitions of a type: its name, elements per lane and step (DEPTH), bytes of one vector of b in
 * memory and of one step of a, rows of a register tile, types of a and b in registers, their loads
 * and their multiply-add. */
#if defined(ATTN_F32) || defined(ATTN_F16)
#define T_DEPTH           1
#define T_A_BYTES         4
#define T_ROWS            ATTN_ROWS
#define T_B               vf32
#define T_A               vf32
#define T_A_LOAD(p)       vf32_set1(attn_f32_at(p))
#define T_FMA(acc, a, b)  vf32_fma(a, b, acc)
#define T_A_SEEN(a, seen) (a)
#define T_B_SEEN(b, seen) (b)
#ifdef ATTN_F32
#define T_NAME      f32
#define T_B_BYTES   (4 * VF32_N)
#define T_B_LOAD(p) vf32_load((const float *)(const void *)(p))
#else
#define T_NAME      f16
#define T_B_BYTES   (2 * VF32_N)
#define T_B_LOAD(p) vf32_load_f16((const uint16_t *)(const void *)(p))
#endif

#else
#define T_DEPTH           2
#define T_B_BYTES         (4 * VF32_N)
#define T_B               vi32
#define T_B_LOAD(p)       vi32_load(p)
#define T_B_SEEN(b, seen) vi32_and(b, attn_seen_mask(seen))
#ifdef ATTN_BF16
#define T_NAME            bf16
#define T_A_BYTES         8
#define T_ROWS            (QR_INSTRUMENTED ? 2 : 4)
#define T_A               struct attn_pair
#define T_A_LOAD(p)       attn_pair_at(p)
#define T_FMA(acc, a, b)  attn_fma_pair(acc, a, b)
#define T_A_SEEN(a, seen) attn_pair_seen(a, seen)
struct attn_pair {
    vf32 even, odd;
};
QR_INLINE struct attn_pair attn_pair_at(const uint8_t *p)
{
    return (struct attn_pair){ vf32_set1(attn_f32_at(p)), vf32_set1(attn_f32_at(p + 4)) };
}
QR_INLINE struct attn_pair attn_pair_seen(struct attn_pair a, uint64_t seen)
{
    return (struct attn_pair){ seen & 1 ? a.even : vf32_zero(), seen & 2 ? a.odd : vf32_zero() };
}
QR_INLINE vf32 attn_fma_pair(vf32 acc, struct attn_pair a, vi32 b)
{
    acc = vf32_fma(a.even, vf32_even_bf16(b), acc);
    return vf32_fma(a.odd, vf32_odd_bf16(b), acc);
}
#else
#define T_NAME    bf16_native
#define T_A_BYTES 4
#ifdef VF32_HAS_BF16
#define T_ROWS ATTN_ROWS
#else
#define T_ROWS (QR_INSTRUMENTED ? 2 : 4)
#endif
#define T_A               vi32
#define T_A_LOAD(p)       attn_bits_at(p)
#define T_FMA(acc, a, b)  vf32_dot_bf16(acc, a, b)
#define T_A_SEEN(a, seen) vi32_and(a, attn_seen_mask(seen))
#endif
#endif
#define T_UNIT_BYTES   (ATTN_VECS * T_B_BYTES)
#define T_FN(name)     QR_JOIN(name, T_NAME)
#define T_KERNEL(name) QR_JOIN(T_FN(qr_attn_##name), QR_ISA)

/* acc[rows][units] += a * b over n_steps steps. Prefetches as many bytes from `next` on; with many
 * rows, which take longer than the memory, always into L1. */
QR_INLINE void T_FN(accumulate)(vf32 acc[ATTN_ROWS][ATTN_UNITS * ATTN_VECS], const uint8_t *a,
                                size_t a_stride, const uint8_t *const b[ATTN_UNITS],
                                size_t b_stride, struct kv_ahead next, int n_steps, int rows,
                                int units)
{
    const uint8_t *at[ATTN_UNITS];
    QR_UNROLL_8 (int u = 0; u < units; u++)
        at[u] = b[u];
    next.l2 = rows <= KV_FEW_ROWS && next.l2;
    for (int i = 0; i < n_steps; i++, a += T_A_BYTES) {
        T_B y[ATTN_UNITS * ATTN_VECS];
        QR_UNROLL_8 (int u = 0; u < units; u++) {
            QR_UNROLL_8 (int v = 0; v < ATTN_VECS; v++)
                y[u * ATTN_VECS + v] = T_B_LOAD(at[u] + v * T_B_BYTES);
            prefetch_kv_line(next, u * T_UNIT_BYTES);
            at[u] += b_stride;
        }
        next.at += units * T_UNIT_BYTES;
        QR_UNROLL_8 (int r = 0; r < rows; r++) {
            const T_A x = T_A_LOAD(a + (size_t)r * a_stride);
            QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
                acc[r][v] = T_FMA(acc[r][v], x, y[v]);
        }
    }
}

/* ---- scores */

/* Columns of a tile that some row sees: their keys and the destination of their scores. */
struct T_FN(columns) {
    const uint8_t *k[QR_TILE_COLUMNS];
    float *s[QR_TILE_COLUMNS];
};

QR_INLINE void T_FN(qk_tile)(const struct qr_attn_qk_args *a, const uint8_t *q, size_t row,
                             const struct T_FN(columns) * c, int rows, int units)
{
    const int n_steps = a->head_size / T_DEPTH;
    const struct attn_prefetch ahead = attn_prefetch_plan(
        c->k[0], a->next, a->next_l2, (size_t)n_steps * (size_t)units * T_UNIT_BYTES);
    const int own_steps = (int)(ahead.own_bytes / ((size_t)units * T_UNIT_BYTES));
    const uint8_t *b[ATTN_UNITS];
    vf32 acc[ATTN_ROWS][ATTN_UNITS * ATTN_VECS];
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
            acc[r][v] = vf32_zero();
    }
    QR_UNROLL_8 (int u = 0; u < units; u++)
        b[u] = c->k[u];
    for (int step = 0, end; step < n_steps; step = end) {
        end = step < own_steps ? own_steps : n_steps;
        T_FN(accumulate)
        (acc, q + step * T_A_BYTES, (size_t)n_steps * T_A_BYTES, b, a->k_stride,
         attn_prefetch_at(&ahead, (size_t)step * (size_t)units * T_UNIT_BYTES), end - step, rows,
         units);
        QR_UNROLL_8 (int u = 0; u < units; u++)
            b[u] += (size_t)(end - step) * a->k_stride;
    }
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        const size_t at = (row + (size_t)r) * QR_TILE_KEYS;
        QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
            vf32_store(c->s[v / ATTN_VECS] + at + v % ATTN_VECS * VF32_N, acc[r][v]);
    }
}

/* One register tile per (rows, units) pair, both constants in each. */
/* clang-format off */
#define T_CASE(fn, rows, units, ...)                    \
    case 8 * rows + units:                              \
        if (rows <= T_ROWS && units <= ATTN_UNITS)      \
            fn(__VA_ARGS__, rows, units);               \
        break;
#define T_CASES(fn, units, ...)                         \
    T_CASE(fn, 1, units, __VA_ARGS__)                   \
    T_CASE(fn, 2, units, __VA_ARGS__)                   \
    T_CASE(fn, 3, units, __VA_ARGS__)                   \
    T_CASE(fn, 4, units, __VA_ARGS__)                   \
    T_CASE(fn, 5, units, __VA_ARGS__)                   \
    T_CASE(fn, 6, units, __VA_ARGS__)
#define T_DISPATCH(fn, rows, units, ...)                \
    switch (8 * (rows) + (units)) {                     \
        T_CASES(fn, 1, __VA_ARGS__)                     \
        T_CASES(fn, 2, __VA_ARGS__)                     \
        T_CASES(fn, 3, __VA_ARGS__)                     \
        T_CASES(fn, 4, __VA_ARGS__)                     \
    }
/* clang-format on */

/* Rows of the next register tile when `left` rows remain, which are divided evenly. */
static inline int T_FN(share)(int left)
{
    const int tiles = (left + T_ROWS - 1) / T_ROWS;
    return (left + tiles - 1) / tiles;
}

static __attribute__((noinline)) void T_FN(qk_all)(const struct qr_attn_qk_args *a)
{
    struct T_FN(columns) live;
    int n_live = 0;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        if (a->k[c]) {
            live.k[n_live] = a->k[c];
            live.s[n_live++] = a->s + c * QR_COLUMN_KEYS;
        }
    const size_t q_stride = (size_t)(a->head_size / T_DEPTH) * T_A_BYTES;
    for (int first = 0; first < n_live; first += ATTN_UNITS) {
        const int units = n_live - first < ATTN_UNITS ? n_live - first : ATTN_UNITS;
        struct T_FN(columns) group;
        for (int u = 0; u < units; u++) {
            group.k[u] = live.k[first + u];
            group.s[u] = live.s[first + u];
        }
        for (int row = 0; row < a->n_rows;) {
            const int rows = T_FN(share)(a->n_rows - row);
            const uint8_t *q = (const uint8_t *)a->q + (size_t)row * q_stride;
            T_DISPATCH(T_FN(qk_tile), rows, units, a, q, (size_t)row, &group)
            row += rows;
        }
    }
}

/* ---- P V */

enum { T_FN(P_BYTES) = QR_TILE_KEYS / T_DEPTH * T_A_BYTES }; /* of one row of weights */

/* Adds keys [lo, hi), multiples of DEPTH, to rows of `units` units from lane 16 * unit on. */
QR_INLINE void T_FN(pv_tile)(const struct qr_attn_pv_args *a, size_t row, int unit, int lo, int hi,
                             int rows, int units)
{
    vf32 acc[ATTN_ROWS][ATTN_UNITS * ATTN_VECS];
    const uint8_t *p = (const uint8_t *)a->p + row * T_FN(P_BYTES);
    const size_t unit_bytes = (size_t)(QR_TILE_KEYS / T_DEPTH) * T_UNIT_BYTES;
    const struct attn_prefetch ahead =
        attn_prefetch_plan(a->v[lo / QR_COLUMN_KEYS], a->next, a->next_l2,
                           (size_t)((a->v_head_size + 15) / 16) * unit_bytes);
    struct kv_ahead next = attn_prefetch_at(&ahead, (size_t)unit * unit_bytes);
    float *o = a->o + row * a->o_stride + (size_t)unit * 16;
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
            acc[r][v] = vf32_load(o + (size_t)r * a->o_stride + v * VF32_N);
    }
    for (int key = lo, end; key < hi; key = end) { /* column by column */
        const int column = key / QR_COLUMN_KEYS, step = key % QR_COLUMN_KEYS / T_DEPTH;
        const uint8_t *v = (const uint8_t *)a->v[column] + (size_t)step * a->v_stride;
        const uint8_t *b[ATTN_UNITS];
        end = (column + 1) * QR_COLUMN_KEYS;
        end = end < hi ? end : hi;
        QR_UNROLL_8 (int u = 0; u < units; u++)
            b[u] = v + (unit + u) * T_UNIT_BYTES;
        T_FN(accumulate)
        (acc, p + key / T_DEPTH * T_A_BYTES, T_FN(P_BYTES), b, a->v_stride, next,
         (end - key) / T_DEPTH, rows, units);
        next.at += (size_t)(end - key) / T_DEPTH * (size_t)units * T_UNIT_BYTES;
    }
    QR_UNROLL_8 (int r = 0; r < rows; r++) {
        QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
            vf32_store(o + (size_t)r * a->o_stride + v * VF32_N, acc[r][v]);
    }
}

/* Adds keys of one row that are outside the common run of its register tile, for `units` units from
 * lane 16 * unit on. An invisible key is skipped or, if it shares a lane with a visible one, masked
 * together with its weight. */
QR_INLINE void T_FN(pv_edge)(const struct qr_attn_pv_args *a, size_t row, uint64_t keys, int unit,
                             int units)
{
    const uint8_t *p = (const uint8_t *)a->p + row * T_FN(P_BYTES);
    float *o = a->o + row * a->o_stride + (size_t)unit * 16;
    vf32 acc[ATTN_UNITS * ATTN_VECS];
    QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
        acc[v] = vf32_load(o + v * VF32_N);
    while (keys) {
        const int step = __builtin_ctzll(keys) / T_DEPTH, key = step * T_DEPTH;
        const uint8_t *b = (const uint8_t *)a->v[key / QR_COLUMN_KEYS] + unit * T_UNIT_BYTES +
                           (size_t)(key % QR_COLUMN_KEYS / T_DEPTH) * a->v_stride;
        const uint64_t seen = keys >> key & ((1u << T_DEPTH) - 1);
        const T_A x = T_A_SEEN(T_A_LOAD(p + step * T_A_BYTES), seen);
        QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
            acc[v] = T_FMA(acc[v], x, T_B_SEEN(T_B_LOAD(b + v * T_B_BYTES), seen));
        keys &= ~(seen << key);
    }
    QR_UNROLL_8 (int v = 0; v < units * ATTN_VECS; v++)
        vf32_store(o + v * VF32_N, acc[v]);
}

static inline void T_FN(pv_edges)(const struct qr_attn_pv_args *a, int row, int rows,
                                  uint64_t among, int n_units)
{
    for (int r = row; r < row + rows; r++) {
        const uint64_t keys = a->visible[r] & among;
        int unit = 0;
        for (; keys && unit + ATTN_UNITS <= n_units; unit += ATTN_UNITS)
            T_FN(pv_edge)(a, (size_t)r, keys, unit, ATTN_UNITS);
        for (; keys && unit < n_units; unit++)
            T_FN(pv_edge)(a, (size_t)r, keys, unit, 1);
    }
}

/* Mask of bits 0 .. n-1. */
static inline uint64_t T_FN(below)(int n) { return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0; }

/* Multiplies the run of keys that all rows see in register tiles, and the visible keys before and
 * after it row by row. */
static void T_FN(pv_rows)(const struct qr_attn_pv_args *a, int row, int rows, int n_units)
{
    uint64_t common = ~(uint64_t)0;
    int lo = 0, hi = 0;
    for (int r = row; r < row + rows; r++)
        common &= a->visible[r];
    if (common) {
        const int first = __builtin_ctzll(common);
        const uint64_t unseen = ~(common >> first);
        lo = (first + T_DEPTH - 1) / T_DEPTH * T_DEPTH;
        hi = unseen ? first + __builtin_ctzll(unseen) : QR_TILE_KEYS;
        hi = (hi < QR_TILE_KEYS ? hi : QR_TILE_KEYS) / T_DEPTH * T_DEPTH;
        if (hi <= lo)
            lo = hi = 0;
    }
    T_FN(pv_edges)(a, row, rows, T_FN(below)(lo), n_units);
    for (int unit = 0; lo < hi && unit < n_units;) {
        const int units = n_units - unit < ATTN_UNITS ? n_units - unit : ATTN_UNITS;
        T_DISPATCH(T_FN(pv_tile), rows, units, a, (size_t)row, unit, lo, hi)
        unit += units;
    }
    T_FN(pv_edges)(a, row, rows, ~T_FN(below)(hi), n_units);
}

static __attribute__((noinline)) void T_FN(pv_all)(const struct qr_attn_pv_args *a)
{
    const int n_units = (a->v_head_size + 15) / 16;
    for (int row = 0; row < a->n_rows;) {
        const int rows = T_FN(share)(a->n_rows - row);
        T_FN(pv_rows)(a, row, rows, n_units);
        row += rows;
    }
}

#ifdef ATTN_BF16_NATIVE
#define T_FLUSHED(call) ATTN_FLUSHED(call)
#else
#define T_FLUSHED(call) call
#endif
void T_KERNEL(qk)(const struct qr_attn_qk_args *a) { T_FLUSHED(T_FN(qk_all)(a)); }
void T_KERNEL(pv)(const struct qr_attn_pv_args *a) { T_FLUSHED(T_FN(pv_all)(a)); }

#undef T_FLUSHED
#undef T_NAME
#undef T_DEPTH
#undef T_A_BYTES
#undef T_B_BYTES
#undef T_UNIT_BYTES
#undef T_ROWS
#undef T_A
#undef T_B
#undef T_A_LOAD
#undef T_B_LOAD
#undef T_FMA
#undef T_A_SEEN
#undef T_B_SEEN
#undef T_FN
#undef T_KERNEL
#undef T_CASE
#undef T_CASES
#undef T_DISPATCH
#undef ATTN_F32
#undef ATTN_F16
#undef ATTN_BF16
#undef ATTN_BF16_NATIVE
