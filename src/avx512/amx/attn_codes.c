/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - scores and weighted values of tiles of 8-bit codes on AMX. The sums are those of attn.c.
 *
 * For some hundred cycles after an instruction on tiles, vectors of 512 bits have one port instead of two. So vectors
 * and tiles take turns: a part of the codes is unpacked to bf16 in the first cache, then come all products with it.
 * Larger parts would push their own bf16 out of that cache while the next codes come in. */
#include "avx512/amx/tiles.h"
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header, the templates on both */
#include "simd/vec_math.h"
#define QR_ISA avx512_amx
#include "template/attn_common_tpl.h"
/* which says what codes are as pairs */
#include "avx512/bf16/attn_unpack.h"

enum {
    STEP = 32, /* elements or keys of one product */
    HALVES = QR_TILE_KEYS / STEP,
    QUADS = QR_COLUMN_KEYS / 4,
    CELL = 64,                   /* bytes: 16 elements wide, four deep */
    PART = 64,                   /* elements of keys, or lanes of values, between products */
    UNITS = PART / 16,           /* of lanes, whose sums the tiles 0 .. 3 hold */
    KEY_PAIR = QR_TILE_KEYS * 4, /* bytes of a pair of elements of all keys */
};

typedef struct codes_pairs codes_load_fn(const uint8_t *p);

/* One cell: its first pairs to dst, the others `stride` bytes behind. */
ATTN_INLINE void unpack_cell(const uint8_t *src, uint8_t *dst, size_t stride, codes_load_fn *load)
{
    const struct codes_pairs pairs = load(src);
    _mm512_store_si512(dst, pairs.first);
    _mm512_store_si512(dst + stride, pairs.last);
}

/* Asks for n lines from p on: into the second cache, which keeps more of them under way than the first. What is read
 * next is asked for in order, half of it while codes are unpacked and half between products: memory never waits long.
 * All is a line late: why is not known, but where blocks lie in order decode of fp8 takes a fifth less time so. */
ATTN_INLINE const uint8_t *ask_codes(const uint8_t *p, int n)
{
    for (int i = 0; i < n; i++)
        __builtin_prefetch(p + (i + 1) * CELL, 0, 2);
    return p + n * CELL;
}
enum {
    ASK_PER_PRODUCT = 4,
    SOON = 4 /* steps of unpacking ahead, codes are asked from the second cache into the first */
};

/* n rows of `bytes` bytes as the first lines of a tile. Rows of tiles never meet: the others may hold anything. */
static inline void place_rows(const void *at, size_t stride, int n, size_t bytes, uint8_t *to)
{
    const __mmask64 part = ~(__mmask64)0 >> (AMX_LINE - bytes);
    const uint8_t *row = at;
    for (int r = 0; r < n; r++, row += stride)
        _mm512_store_si512(to + r * AMX_LINE, _mm512_maskz_loadu_epi8(part, row));
}

/* ---- scores */

/* Up to 16 rows. */
struct qk_part {
    const struct qr_attn_qk_args *a;
    const uint8_t *next; /* asked for meanwhile */
    int row, n_rows;
    _Alignas(AMX_LINE) uint8_t bf16[PART / 2 * KEY_PAIR]; /* [pair of elements][key][2] */
    _Alignas(AMX_LINE) uint8_t q[PART / STEP][AMX_TILE], scores[QR_TILE_COLUMNS][AMX_TILE];
};

/* Elements d .. d + n of the rows. */
static void place_queries(struct qk_part *t, int d, int n)
{
    const size_t head_size = (size_t)t->a->head_size;
    const uint16_t *q = (const uint16_t *)t->a->q + (size_t)t->row * head_size + d;
    for (int i = 0; i < n; i += STEP) {
        const size_t bytes = sizeof *q * (size_t)(n - i < STEP ? n - i : STEP);
        place_rows(q + i, head_size * sizeof *q, t->n_rows, bytes, t->q[i / STEP]);
    }
}

/* Elements d .. d + n of 64 keys, completed by zeros to whole products. */
ATTN_INLINE void unpack_keys(struct qk_part *t, int d, int n, codes_load_fn *load)
{
    const struct qr_attn_qk_args *a = t->a;
    const uint8_t *next = t->next, *k[QR_TILE_COLUMNS];
    uint8_t *dst = t->bf16;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        k[c] = (const uint8_t *)a->k[c] + (size_t)(d / 4) * a->k_stride;
    for (int i = 0; i < n; i += 4, dst += 2 * KEY_PAIR) {
        ATTN_UNROLL for (int c = 0; c < QR_TILE_COLUMNS; c++)
        {
            __builtin_prefetch(k[c] + SOON * a->k_stride);
            unpack_cell(k[c], dst + c * CELL, KEY_PAIR, load);
            k[c] += a->k_stride;
        }
        next = ask_codes(next, QR_TILE_COLUMNS / 2);
    }
    if (n % STEP)
        memset(dst, 0, (size_t)(STEP - n % STEP) / 2 * KEY_PAIR);
    t->next = next;
}

/* Tile i: scores of column i, with the keys in tile b. */
#define QK_DOT(i, b)                                                                               \
    do {                                                                                           \
        AMX_LOAD(b, k + (i)*CELL, KEY_PAIR);                                                       \
        AMX_DOT_BF16(i, 4, b);                                                                     \
        t->next = ask_codes(t->next, ASK_PER_PRODUCT);                                             \
    } while (0)

static void multiply_keys(struct qk_part *t, int n)
{
    const uint8_t *k = t->bf16;
    for (int i = 0; i < n; i += STEP, k += STEP / 2 * KEY_PAIR) {
        AMX_LOAD(4, t->q[i / STEP], AMX_LINE);
        QK_DOT(0, 5);
        QK_DOT(1, 6);
        QK_DOT(2, 7);
        QK_DOT(3, 5);
    }
}

ATTN_INLINE void qk_rows(struct qk_part *t, codes_load_fn *load)
{
    const int head_size = t->a->head_size;
    amx_zero_sums();
    for (int d = 0; d < head_size; d += PART) {
        const int n = head_size - d < PART ? head_size - d : PART;
        place_queries(t, d, n);
        unpack_keys(t, d, n, load);
        multiply_keys(t, n);
    }
    AMX_STORE(0, t->scores[0], AMX_LINE);
    AMX_STORE(1, t->scores[1], AMX_LINE);
    AMX_STORE(2, t->scores[2], AMX_LINE);
    AMX_STORE(3, t->scores[3], AMX_LINE);
    float *s = t->a->s + (size_t)t->row * QR_TILE_KEYS;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        amx_take_rows(t->scores[c], t->n_rows, s + c * QR_COLUMN_KEYS, QR_TILE_KEYS);
}

ATTN_INLINE void qk_all(const struct qr_attn_qk_args *a, codes_load_fn *load)
{
    struct qk_part t;
    t.a = a;
    t.next = a->next ? a->next : a->k[0];
    for (t.row = 0; t.row < a->n_rows; t.row += AMX_ROWS) {
        t.n_rows = a->n_rows - t.row < AMX_ROWS ? a->n_rows - t.row : AMX_ROWS;
        qk_rows(&t, load);
        t.next = a->k[0]; /* which is near: nothing more is asked for */
    }
}

/* ---- weighted values */

/* Up to 16 rows and UNITS units. */
struct pv_part {
    const struct qr_attn_pv_args *a;
    const uint8_t *next;
    int row, n_rows, unit, n_units;
    _Alignas(AMX_LINE) uint8_t bf16[QR_TILE_KEYS / 2 * UNITS * CELL]; /* [pair][lane][2] */
    _Alignas(AMX_LINE) uint8_t p[HALVES][AMX_TILE], sums[UNITS][AMX_TILE];
};

ATTN_INLINE void unpack_values(struct pv_part *t, codes_load_fn *load)
{
    const struct qr_attn_pv_args *a = t->a;
    const size_t pair = (size_t)t->n_units * CELL;
    const uint8_t *next = t->next;
    uint8_t *dst = t->bf16;
    for (int c = 0; c < QR_TILE_COLUMNS; c++) {
        const uint8_t *src = (const uint8_t *)a->v[c] + (size_t)t->unit * CELL;
        for (int i = 0; i < QUADS; i++, src += a->v_stride, dst += 2 * pair) {
            for (int u = 0; u < t->n_units; u++) {
                __builtin_prefetch(src + u * CELL + SOON * a->v_stride);
                unpack_cell(src + u * CELL, dst + u * CELL, pair, load);
            }
            next = ask_codes(next, t->n_units / 2);
        }
    }
    t->next = next;
}

/* Tile i: sums of unit i, if there are so many, with the values in tile b. */
#define PV_LOAD(i)                                                                                 \
    if ((i) < t->n_units)                                                                          \
    AMX_LOAD(i, t->sums[i], AMX_LINE)
#define PV_DOT(i, b)                                                                               \
    if ((i) < t->n_units) {                                                                        \
        AMX_LOAD(b, v + (i)*CELL, pair);                                                           \
        AMX_DOT_BF16(i, 4, b);                                                                     \
        t->next = ask_codes(t->next, ASK_PER_PRODUCT);                                             \
    }
#define PV_STORE(i)                                                                                \
    if ((i) < t->n_units)                                                                          \
    AMX_STORE(i, t->sums[i], AMX_LINE)

static void multiply_values(struct pv_part *t)
{
    const size_t pair = (size_t)t->n_units * CELL;
    const uint8_t *v = t->bf16;
    PV_LOAD(0);
    PV_LOAD(1);
    PV_LOAD(2);
    PV_LOAD(3);
    for (int h = 0; h < HALVES; h++, v += STEP / 2 * pair) {
        AMX_LOAD(4, t->p[h], AMX_LINE);
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

ATTN_INLINE void pv_rows(struct pv_part *t, codes_load_fn *load)
{
    const size_t stride = t->a->o_stride;
    float *o = t->a->o + (size_t)t->row * stride + (size_t)t->unit * AMX_ROWS;
    const uint16_t *p = (const uint16_t *)t->a->p + (size_t)t->row * QR_TILE_KEYS;
    for (int h = 0; h < HALVES; h++)
        place_rows(p + h * STEP, QR_TILE_KEYS * sizeof *p, t->n_rows, AMX_LINE, t->p[h]);
    for (int u = 0; u < t->n_units; u++)
        place_rows(o + u * AMX_ROWS, stride * sizeof *o, t->n_rows, AMX_LINE, t->sums[u]);
    unpack_values(t, load);
    multiply_values(t);
    for (int u = 0; u < t->n_units; u++)
        amx_take_rows(t->sums[u], t->n_rows, o + u * AMX_ROWS, stride);
}

ATTN_INLINE void pv_all(const struct qr_attn_pv_args *a, codes_load_fn *load)
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
        qk_all(a, codes_##type);                                                                   \
    }                                                                                              \
    void qr_attn_pv_##type##_avx512_amx(const struct qr_attn_pv_args *a)                           \
    {                                                                                              \
        pv_all(a, codes_##type);                                                                   \
    }
KERNELS(fp8_e4m3)
KERNELS(fp8_e5m2)
KERNELS(int8)
