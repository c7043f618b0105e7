/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - Q K^T scores and P V of tiles of 8-bit codes on AMX. The sums are those of attn.c.
 *
 * For some hundred cycles after a tile instruction, 512-bit vector instructions have one port
 * instead of two. Vectors and tiles therefore alternate: a part of the codes is dequantized to bf16
 * in L1, then come all products with it. Larger parts would evict their own bf16 from L1 while the
 * next codes are loaded. */
#include "avx512/amx/tiles.h"
#include "simd/vec_avx512.h"
/* vec_math.h and bf16_from_codes_vbmi.h build on the vec header, the template on all */
#include "simd/bf16_from_codes_vbmi.h"
#include "simd/vec_math.h"
#define QR_ISA avx512_amx
#include "template/attn_common_tpl.h"

enum {
    STEP = 32, /* elements or keys of one product */
    HALVES = QR_TILE_KEYS / STEP,
    QUADS = QR_COLUMN_KEYS / 4,
    CELL = 64,                   /* bytes: 16 elements wide, four deep */
    PART = 64,                   /* elements of keys, or lanes of values, dequantized at a time */
    UNITS = PART / 16,           /* units of 16 lanes, whose sums are in tiles 0 .. 3 */
    KEY_PAIR = QR_TILE_KEYS * 4, /* bytes of a pair of elements of all keys */
};

typedef struct bf16_pairs codes_load_fn(const uint8_t *p);

/* Dequantizes one cell: its first pairs to dst, the others `stride` bytes later. */
QR_INLINE void dequantize_cell(const uint8_t *src, uint8_t *dst, size_t stride, codes_load_fn *load)
{
    const struct bf16_pairs pairs = load(src);
    _mm512_store_si512(dst, pairs.first);
    _mm512_store_si512(dst + stride, pairs.last);
}

/* Prefetches n lines behind the line at p into L2, which supports more outstanding misses than L1;
 * returns the next address. The data of the next call is prefetched in order, half of it during
 * dequantization and half between products, so that memory is never idle for long. The offset of
 * one line is empirical: where blocks are consecutive, it saves a fifth of fp8 decode time. */
QR_INLINE const uint8_t *prefetch_codes_l2(const uint8_t *p, int n)
{
    for (int i = 0; i < n; i++)
        qr_prefetch_l2(p + (i + 1) * CELL);
    return p + n * CELL;
}

/* Copies n rows of `bytes` bytes to the first rows of a tile. The rows of a product are
 * independent, so the other rows may hold anything. */
static inline void place_rows(const void *at, size_t stride, int n, size_t bytes, uint8_t *to)
{
    const __mmask64 part = ~(__mmask64)0 >> (AMX_ROW_BYTES - bytes);
    const uint8_t *row = at;
    for (int r = 0; r < n; r++, row += stride)
        _mm512_store_si512(to + r * AMX_ROW_BYTES, _mm512_maskz_loadu_epi8(part, row));
}

/* ---- scores */

/* Up to 16 rows. */
struct qk_part {
    const struct qr_attn_qk_args *a;
    const uint8_t *next; /* data to prefetch */
    int row, n_rows;
    _Alignas(AMX_ROW_BYTES) uint8_t bf16[PART / 2 * KEY_PAIR]; /* [pair of elements][key][2] */
    _Alignas(AMX_ROW_BYTES) uint8_t q[PART / STEP][AMX_TILE_BYTES],
        scores[QR_TILE_COLUMNS][AMX_TILE_BYTES];
};

/* Copies elements d .. d + n - 1 of the query rows. */
static void place_queries(struct qk_part *t, int d, int n)
{
    const size_t head_size = (size_t)t->a->head_size;
    const uint16_t *q = (const uint16_t *)t->a->q + (size_t)t->row * head_size + d;
    for (int i = 0; i < n; i += STEP) {
        const size_t bytes = sizeof *q * (size_t)(n - i < STEP ? n - i : STEP);
        place_rows(q + i, head_size * sizeof *q, t->n_rows, bytes, t->q[i / STEP]);
    }
}

/* Dequantizes elements d .. d + n - 1 of 64 keys, padded with zeros to whole products. */
QR_INLINE void dequantize_keys(struct qk_part *t, int d, int n, codes_load_fn *load)
{
    const struct qr_attn_qk_args *a = t->a;
    const uint8_t *next = t->next, *k[QR_TILE_COLUMNS];
    uint8_t *dst = t->bf16;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        k[c] = (const uint8_t *)a->k[c] + (size_t)(d / 4) * a->k_stride;
    for (int i = 0; i < n; i += 4, dst += 2 * KEY_PAIR) {
        QR_UNROLL_8 (int c = 0; c < QR_TILE_COLUMNS; c++) {
            qr_prefetch_l1(k[c] + KV_CODES_PREFETCH_L1_STEPS_AMX * a->k_stride);
            dequantize_cell(k[c], dst + c * CELL, KEY_PAIR, load);
            k[c] += a->k_stride;
        }
        next = prefetch_codes_l2(next, QR_TILE_COLUMNS / 2);
    }
    if (n % STEP)
        memset(dst, 0, (size_t)(STEP - n % STEP) / 2 * KEY_PAIR);
    t->next = next;
}

/* Adds the keys of column i, loaded into tile b, to the scores in tile i. */
#define QK_DOT(i, b)                                                                               \
    do {                                                                                           \
        AMX_LOAD(b, k + (i)*CELL, KEY_PAIR);                                                       \
        AMX_DOT_BF16(i, 4, b);                                                                     \
        t->next = prefetch_codes_l2(t->next, KV_CODES_PREFETCH_L2_LINES_AMX);                      \
    } while (0)

static void multiply_keys(struct qk_part *t, int n)
{
    const uint8_t *k = t->bf16;
    for (int i = 0; i < n; i += STEP, k += STEP / 2 * KEY_PAIR) {
        AMX_LOAD(4, t->q[i / STEP], AMX_ROW_BYTES);
        QK_DOT(0, 5);
        QK_DOT(1, 6);
        QK_DOT(2, 7);
        QK_DOT(3, 5);
    }
}

QR_INLINE void qk_rows(struct qk_part *t, codes_load_fn *load)
{
    const int head_size = t->a->head_size;
    amx_zero_sums();
    for (int d = 0; d < head_size; d += PART) {
        const int n = head_size - d < PART ? head_size - d : PART;
        place_queries(t, d, n);
        dequantize_keys(t, d, n, load);
        multiply_keys(t, n);
    }
    AMX_STORE(0, t->scores[0], AMX_ROW_BYTES);
    AMX_STORE(1, t->scores[1], AMX_ROW_BYTES);
    AMX_STORE(2, t->scores[2], AMX_ROW_BYTES);
    AMX_STORE(3, t->scores[3], AMX_ROW_BYTES);
    float *s = t->a->s + (size_t)t->row * QR_TILE_KEYS;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        amx_take_rows(t->scores[c], t->n_rows, s + c * QR_COLUMN_KEYS, QR_TILE_KEYS);
}

QR_INLINE void qk_all(const struct qr_attn_qk_args *a, codes_load_fn *load)
{
    struct qk_part t;
    t.a = a;
    t.next = a->next ? a->next : a->k[0];
    for (t.row = 0; t.row < a->n_rows; t.row += AMX_ROWS) {
        t.n_rows = a->n_rows - t.row < AMX_ROWS ? a->n_rows - t.row : AMX_ROWS;
        qk_rows(&t, load);
        t.next = a->k[0]; /* in the cache: further prefetches have no effect */
    }
}

/* ---- P V */

/* Up to 16 rows and UNITS units. */
struct pv_part {
    const struct qr_attn_pv_args *a;
    const uint8_t *next;
    int row, n_rows, unit, n_units;
    _Alignas(AMX_ROW_BYTES) uint8_t bf16[QR_TILE_KEYS / 2 * UNITS * CELL]; /* [pair][lane][2] */
    _Alignas(AMX_ROW_BYTES) uint8_t p[HALVES][AMX_TILE_BYTES], sums[UNITS][AMX_TILE_BYTES];
};

/* Dequantizes the values of the units. */
QR_INLINE void dequantize_values(struct pv_part *t, codes_load_fn *load)
{
    const struct qr_attn_pv_args *a = t->a;
    const size_t pair = (size_t)t->n_units * CELL;
    const uint8_t *next = t->next;
    uint8_t *dst = t->bf16;
    for (int c = 0; c < QR_TILE_COLUMNS; c++) {
        const uint8_t *src = (const uint8_t *)a->v[c] + (size_t)t->unit * CELL;
        for (int i = 0; i < QUADS; i++, src += a->v_stride, dst += 2 * pair) {
            for (int u = 0; u < t->n_units; u++) {
                qr_prefetch_l1(src + u * CELL + KV_CODES_PREFETCH_L1_STEPS_AMX * a->v_stride);
                dequantize_cell(src + u * CELL, dst + u * CELL, pair, load);
            }
            next = prefetch_codes_l2(next, t->n_units / 2);
        }
    }
    t->next = next;
}

/* Tile i holds the sums of unit i, if the part has that many; tile b receives the values. */
#define PV_LOAD(i)                                                                                 \
    if ((i) < t->n_units)                                                                          \
    AMX_LOAD(i, t->sums[i], AMX_ROW_BYTES)
#define PV_DOT(i, b)                                                                               \
    if ((i) < t->n_units) {                                                                        \
        AMX_LOAD(b, v + (i)*CELL, pair);                                                           \
        AMX_DOT_BF16(i, 4, b);                                                                     \
        t->next = prefetch_codes_l2(t->next, KV_CODES_PREFETCH_L2_LINES_AMX);                      \
    }
#define PV_STORE(i)                                                                                \
    if ((i) < t->n_units)                                                                          \
    AMX_STORE(i, t->sums[i], AMX_ROW_BYTES)

static void multiply_values(struct pv_part *t)
{
    const size_t pair = (size_t)t->n_units * CELL;
    const uint8_t *v = t->bf16;
    PV_LOAD(0);
    PV_LOAD(1);
    PV_LOAD(2);
    PV_LOAD(3);
    for (int h = 0; h < HALVES; h++, v += STEP / 2 * pair) {
        AMX_LOAD(4, t->p[h], AMX_ROW_BYTES);
        PV_DOT(0, 5);
        PV_DOT(1, 6);
        PV_DOT(2, 7);
        PV_DOT(3, 5);
    }
    PV_STORE(0);
    PV_STORE(1);
    PV_STORE(2);
    PV_STORE(3);
}

QR_INLINE void pv_rows(struct pv_part *t, codes_load_fn *load)
{
    const size_t stride = t->a->o_stride;
    float *o = t->a->o + (size_t)t->row * stride + (size_t)t->unit * AMX_ROWS;
    const uint16_t *p = (const uint16_t *)t->a->p + (size_t)t->row * QR_TILE_KEYS;
    for (int h = 0; h < HALVES; h++)
        place_rows(p + h * STEP, QR_TILE_KEYS * sizeof *p, t->n_rows, AMX_ROW_BYTES, t->p[h]);
    for (int u = 0; u < t->n_units; u++)
        place_rows(o + u * AMX_ROWS, stride * sizeof *o, t->n_rows, AMX_ROW_BYTES, t->sums[u]);
    dequantize_values(t, load);
    multiply_values(t);
    for (int u = 0; u < t->n_units; u++)
        amx_take_rows(t->sums[u], t->n_rows, o + u * AMX_ROWS, stride);
}

QR_INLINE void pv_all(const struct qr_attn_pv_args *a, codes_load_fn *load)
{
    const int n_units = (a->v_head_size + AMX_ROWS - 1) / AMX_ROWS;
    struct pv_part t;
    t.a = a;
    t.next = a->next ? a->next : a->v[0];
    for (t.row = 0; t.row < a->n_rows; t.row += AMX_ROWS) {
        t.n_rows = a->n_rows - t.row < AMX_ROWS ? a->n_rows - t.row : AMX_ROWS;
        for (t.unit = 0; t.unit < n_units; t.unit += UNITS) {
            t.n_units = n_units - t.unit < UNITS ? n_units - t.unit : UNITS;
            pv_rows(&t, load);
        }
        t.next = a->v[0];
    }
}

#define KERNELS(type)                                                                              \
    void qr_attn_qk_##type##_avx512_amx(const struct qr_attn_qk_args *a)                           \
    {                                                                                              \
        qk_all(a, bf16_from_##type);                                                               \
    }                                                                                              \
    void qr_attn_pv_##type##_avx512_amx(const struct qr_attn_pv_args *a)                           \
    {                                                                                              \
        pv_all(a, bf16_from_##type);                                                               \
    }
KERNELS(fp8_e4m3)
KERNELS(fp8_e5m2)
KERNELS(int8)
