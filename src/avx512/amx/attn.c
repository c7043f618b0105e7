/* SPDX-License-Identifier: Apache-2.0 */
/* attn.c - Q K^T scores and P V of bf16 tiles on AMX.
 *
 * The order of sums is that of AMX_DOT_BF16: 32 elements of a head, or 32 keys from a multiple of
 * 32 on, are one product, for any number of rows and any layout. Missing elements and keys are
 * zeros, which add nothing. */
#include "avx512/amx/tiles.h"
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header, the template on both */
#include "simd/vec_math.h"
#define QR_ISA avx512_amx
#include "template/attn_common_tpl.h"

enum {
    STEP = 32,      /* elements or keys of one product */
    CALL_ROWS = 32, /* two tiles of rows share the loads of keys and values */
    COLUMN_STEPS = QR_COLUMN_KEYS / 2,
};

/* Configures all tiles to 16 rows of 64 bytes. */
static void configure_tiles(void)
{
    struct amx_config c = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        c.rows[i] = AMX_ROWS;
        c.row_bytes[i] = AMX_ROW_BYTES;
    }
    amx_configure(&c);
}

/* ---- scores */

/* Up to CALL_ROWS rows against the columns that some row sees. */
struct qk_part {
    const uint16_t *q;
    const uint8_t *k[QR_TILE_COLUMNS];
    float *s[QR_TILE_COLUMNS];
    int n_rows, head_size, n_columns;
    size_t k_stride;
    const uint8_t *next; /* data to prefetch, or NULL */
};

/* More than 16 rows, columns c and c + 1; an odd last column is paired with itself. */
static void qk_two_row_tiles(const struct qk_part *p, int c)
{
    _Alignas(AMX_ROW_BYTES) uint8_t copy[4][AMX_TILE_BYTES];
    const bool alone = c + 1 == p->n_columns;
    const uint8_t *k0 = p->k[c], *k1 = p->k[alone ? c : c + 1];
    const size_t q_stride = (size_t)p->head_size * sizeof *p->q;
    const int second = p->n_rows - AMX_ROWS;
    amx_zero_sums();
    for (int d = 0; d < p->head_size; d += STEP) {
        const int n = p->head_size - d < STEP ? p->head_size - d : STEP;
        const uint16_t *q = p->q + d;
        const size_t bytes = (size_t)n * sizeof *q;
        const struct amx_rows q0 = amx_whole(q, q_stride, AMX_ROWS, bytes, copy[0]);
        const struct amx_rows q1 =
            amx_whole(q + AMX_ROWS * p->head_size, q_stride, second, bytes, copy[1]);
        const struct amx_rows b0 = amx_whole(k0, p->k_stride, n / 2, AMX_ROW_BYTES, copy[2]);
        const struct amx_rows b1 = amx_whole(k1, p->k_stride, n / 2, AMX_ROW_BYTES, copy[3]);
        AMX_LOAD(4, q0.at, q0.stride);
        AMX_LOAD(5, q1.at, q1.stride);
        AMX_LOAD(6, b0.at, b0.stride);
        AMX_LOAD(7, b1.at, b1.stride);
        AMX_DOT_BF16(0, 4, 6);
        AMX_DOT_BF16(1, 4, 7);
        AMX_DOT_BF16(2, 5, 6);
        AMX_DOT_BF16(3, 5, 7);
        if (p->next)
            qr_prefetch_lines_l1(p->next + (size_t)(c * p->head_size / 2 + d) * AMX_ROW_BYTES, n);
        k0 += STEP / 2 * p->k_stride;
        k1 += STEP / 2 * p->k_stride;
    }
    float *low = p->s[c] + AMX_ROWS * QR_TILE_KEYS;
    AMX_STORE(0, p->s[c], QR_TILE_KEYS * sizeof(float));
    AMX_STORE_ROWS(2, low, QR_TILE_KEYS, second, copy[0]);
    if (alone)
        return;
    low = p->s[c + 1] + AMX_ROWS * QR_TILE_KEYS;
    AMX_STORE(1, p->s[c + 1], QR_TILE_KEYS * sizeof(float));
    AMX_STORE_ROWS(3, low, QR_TILE_KEYS, second, copy[0]);
}

/* Adds the keys of column i, loaded into tile t, to the scores in tile i. The prefetches are spread
 * over the products. */
#define QK_DOT(i, t)                                                                               \
    do {                                                                                           \
        AMX_LOAD(t, b[i].at, b[i].stride);                                                         \
        AMX_DOT_BF16(i, 4, t);                                                                     \
        if (next) {                                                                                \
            prefetch_kv_lines(next, n_lines);                                                      \
            next += n_lines * AMX_ROW_BYTES;                                                       \
        }                                                                                          \
    } while (0)

/* Up to 16 rows, all columns; the first column stands in for missing ones. */
static void qk_one_row_tile(const struct qk_part *p)
{
    _Alignas(AMX_ROW_BYTES) uint8_t copy[5][AMX_TILE_BYTES];
    const uint8_t *k[QR_TILE_COLUMNS], *next = p->next;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        k[c] = p->k[c < p->n_columns ? c : 0];
    const size_t q_stride = (size_t)p->head_size * sizeof *p->q;
    amx_zero_sums();
    for (int d = 0; d < p->head_size; d += STEP) {
        const int n = p->head_size - d < STEP ? p->head_size - d : STEP;
        const int n_lines = n / 2 * p->n_columns / QR_TILE_COLUMNS;
        const struct amx_rows q =
            amx_whole(p->q + d, q_stride, p->n_rows, (size_t)n * sizeof *p->q, copy[4]);
        struct amx_rows b[QR_TILE_COLUMNS];
        for (int c = 0; c < QR_TILE_COLUMNS; c++) {
            b[c] = amx_whole(k[c], p->k_stride, n / 2, AMX_ROW_BYTES, copy[c]);
            k[c] += STEP / 2 * p->k_stride;
        }
        AMX_LOAD(4, q.at, q.stride);
        QK_DOT(0, 5);
        QK_DOT(1, 6);
        QK_DOT(2, 7);
        QK_DOT(3, 5);
    }
    AMX_STORE_ROWS(0, p->s[0], QR_TILE_KEYS, p->n_rows, copy[0]);
    if (p->n_columns > 1)
        AMX_STORE_ROWS(1, p->s[1], QR_TILE_KEYS, p->n_rows, copy[1]);
    if (p->n_columns > 2)
        AMX_STORE_ROWS(2, p->s[2], QR_TILE_KEYS, p->n_rows, copy[2]);
    if (p->n_columns > 3)
        AMX_STORE_ROWS(3, p->s[3], QR_TILE_KEYS, p->n_rows, copy[3]);
}

void qr_attn_qk_bf16_native_avx512_amx(const struct qr_attn_qk_args *a)
{
    struct qk_part p = { .head_size = a->head_size, .k_stride = a->k_stride };
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        if (a->k[c])
            p.k[p.n_columns++] = a->k[c];
    for (int row = 0; p.n_columns > 0 && row < a->n_rows; row += CALL_ROWS) {
        int n = 0;
        for (int c = 0; c < QR_TILE_COLUMNS; c++)
            if (a->k[c])
                p.s[n++] = a->s + (size_t)row * QR_TILE_KEYS + c * QR_COLUMN_KEYS;
        p.q = (const uint16_t *)a->q + (size_t)row * (size_t)a->head_size;
        p.n_rows = a->n_rows - row < CALL_ROWS ? a->n_rows - row : CALL_ROWS;
        p.next = row == 0 ? a->next : NULL;
        if (p.n_rows <= AMX_ROWS)
            qk_one_row_tile(&p);
        for (int c = 0; p.n_rows > AMX_ROWS && c < p.n_columns; c += 2)
            qk_two_row_tiles(&p, c);
    }
}

/* ---- P V */

enum { HALVES = QR_TILE_KEYS / STEP };

/* Up to CALL_ROWS rows. */
struct pv_part {
    const struct qr_attn_pv_args *a;
    int row, n_rows;              /* of the call */
    uint64_t all, any;            /* keys that all rows see, and that some row sees */
    struct amx_rows p[2][HALVES]; /* weights of 16 rows and 32 keys */
    _Alignas(AMX_ROW_BYTES) uint8_t p_copy[2][HALVES][AMX_TILE_BYTES];
    _Alignas(AMX_ROW_BYTES) uint8_t v_copy[HALVES][AMX_TILE_BYTES];
};

/* Prepares the weights: in place if all rows see all keys, else a copy with zeros for the rest. */
static void prepare_weights(struct pv_part *t)
{
    const uint16_t *p = (const uint16_t *)t->a->p + (size_t)t->row * QR_TILE_KEYS;
    const uint64_t *visible = t->a->visible + t->row;
    const size_t stride = QR_TILE_KEYS * sizeof *p;
    for (int r = 0; r < t->n_rows; r += AMX_ROWS, p += AMX_ROWS * QR_TILE_KEYS)
        for (int h = 0; h < HALVES; h++) {
            uint8_t *copy = t->p_copy[r / AMX_ROWS][h];
            if (~t->all == 0 && r + AMX_ROWS <= t->n_rows) {
                t->p[r / AMX_ROWS][h] =
                    (struct amx_rows){ (const uint8_t *)(p + h * STEP), stride };
                continue;
            }
            t->p[r / AMX_ROWS][h] = (struct amx_rows){ copy, AMX_ROW_BYTES };
            for (int i = 0; i < AMX_ROWS; i++) {
                const __mmask32 seen =
                    r + i < t->n_rows ? (__mmask32)(visible[r + i] >> (h * STEP)) : 0;
                _mm512_store_si512(copy + i * AMX_ROW_BYTES,
                                   _mm512_maskz_loadu_epi16(seen, p + i * QR_TILE_KEYS + h * STEP));
            }
        }
}

/* Mask of the even, the odd or both halves of every lane. */
QR_INLINE __mmask32 pair_mask(uint64_t two)
{
    return (two & 1) * 0x55555555u | (two >> 1 & 1) * 0xaaaaaaaau;
}

/* Copies the values of a unit of 16 lanes for the 32 keys of half h; keys outside `keys` become
 * zeros. Returns whether a value of a key in `partly_visible` is not finite: times a weight of zero
 * it would be NaN. */
static bool gather_values(const struct qr_attn_pv_args *a, int unit, int h, uint64_t keys,
                          uint64_t partly_visible, uint8_t *copy)
{
    const __m512i exponent = _mm512_set1_epi16(0x7f80);
    __mmask32 bad = 0;
    for (int key = h * STEP; key < (h + 1) * STEP; key += 2, copy += AMX_ROW_BYTES) {
        __m512i x = _mm512_setzero_si512();
        if (keys >> key & 3) {
            const uint8_t *v = a->v[key / QR_COLUMN_KEYS];
            v += (size_t)(key % QR_COLUMN_KEYS / 2) * a->v_stride + (size_t)unit * AMX_ROW_BYTES;
            x = _mm512_maskz_loadu_epi16(pair_mask(keys >> key & 3), v);
            bad |= _mm512_mask_cmpeq_epi16_mask(pair_mask(partly_visible >> key & 3),
                                                _mm512_and_si512(x, exponent), exponent);
        }
        _mm512_store_si512(copy, x);
    }
    return bad != 0;
}

/* Values that are a full tile in memory, or NULL. */
QR_INLINE const uint8_t *tile_in_place(const struct pv_part *t, int unit, int h)
{
    const uint8_t *v = t->a->v[2 * h];
    if ((uint32_t)(t->all >> (h * STEP)) != UINT32_MAX ||
        v + COLUMN_STEPS * t->a->v_stride != t->a->v[2 * h + 1])
        return NULL;
    return v + (size_t)unit * AMX_ROW_BYTES;
}

/* Loads tiles 4 .. 7: weights of the first 16 rows, then of the others, both halves of the keys. */
static void load_weights(const struct pv_part *t)
{
    AMX_LOAD(4, t->p[0][0].at, t->p[0][0].stride);
    AMX_LOAD(5, t->p[0][1].at, t->p[0][1].stride);
    if (t->n_rows > AMX_ROWS) {
        AMX_LOAD(6, t->p[1][0].at, t->p[1][0].stride);
        AMX_LOAD(7, t->p[1][1].at, t->p[1][1].stride);
    }
}

/* One unit that has a value which is not finite and which some row does not see: row by row, with
 * its visible keys only. */
static void pv_row_by_row(struct pv_part *t, int unit)
{
    const struct qr_attn_pv_args *a = t->a;
    _Alignas(AMX_ROW_BYTES) uint8_t o_copy[AMX_TILE_BYTES] = { 0 };
    for (int r = 0; r < t->n_rows; r++) {
        const uint64_t seen = a->visible[t->row + r];
        float *o = a->o + (size_t)(t->row + r) * a->o_stride + unit * AMX_ROWS;
        const uint8_t *p = t->p_copy[r / AMX_ROWS][0] + r % AMX_ROWS * AMX_ROW_BYTES;
        if (!seen)
            continue;
        memcpy(o_copy, o, AMX_ROW_BYTES);
        AMX_LOAD(0, o_copy, AMX_ROW_BYTES);
        for (int h = 0; h < HALVES; h++, p += AMX_TILE_BYTES) {
            if (!(uint32_t)(seen >> (h * STEP)))
                continue;
            (void)gather_values(a, unit, h, seen, 0, t->v_copy[h]);
            AMX_LOAD(2, t->v_copy[h], AMX_ROW_BYTES);
            AMX_LOAD(4, p, 0); /* stride 0: the same row sixteen times */
            AMX_DOT_BF16(0, 4, 2);
        }
        AMX_STORE(0, o_copy, AMX_ROW_BYTES);
        memcpy(o, o_copy, AMX_ROW_BYTES);
    }
    load_weights(t);
}

/* One unit of 16 lanes for all rows of the part. */
static void pv_unit(struct pv_part *t, int unit)
{
    const struct qr_attn_pv_args *a = t->a;
    const uint64_t partly_visible = t->any & ~t->all;
    struct amx_rows v[HALVES];
    for (int h = 0; h < HALVES; h++) {
        v[h] = (struct amx_rows){ tile_in_place(t, unit, h), a->v_stride };
        if (v[h].at)
            continue;
        v[h] = (struct amx_rows){ t->v_copy[h], AMX_ROW_BYTES };
        if (gather_values(a, unit, h, t->any, partly_visible, t->v_copy[h])) {
            pv_row_by_row(t, unit);
            return;
        }
    }
    _Alignas(AMX_ROW_BYTES) uint8_t copy[2][AMX_TILE_BYTES];
    float *o = a->o + (size_t)t->row * a->o_stride + unit * AMX_ROWS;
    const bool two = t->n_rows > AMX_ROWS;
    const size_t o_bytes = a->o_stride * sizeof *o;
    const int first = two ? AMX_ROWS : t->n_rows, second = t->n_rows - first;
    float *low = o + (size_t)first * a->o_stride;
    const struct amx_rows o0 = amx_whole(o, o_bytes, first, AMX_ROW_BYTES, copy[0]);
    AMX_LOAD(0, o0.at, o0.stride);
    if (two) {
        const struct amx_rows o1 = amx_whole(low, o_bytes, second, AMX_ROW_BYTES, copy[1]);
        AMX_LOAD(1, o1.at, o1.stride);
    }
    if ((uint32_t)t->any)
        AMX_LOAD(2, v[0].at, v[0].stride);
    if (t->any >> STEP)
        AMX_LOAD(3, v[1].at, v[1].stride);
    if ((uint32_t)t->any) {
        AMX_DOT_BF16(0, 4, 2);
        if (two)
            AMX_DOT_BF16(1, 6, 2);
    }
    if (t->any >> STEP) {
        AMX_DOT_BF16(0, 5, 3);
        if (two)
            AMX_DOT_BF16(1, 7, 3);
    }
    AMX_STORE_ROWS(0, o, a->o_stride, first, copy[0]);
    if (two)
        AMX_STORE_ROWS(1, low, a->o_stride, second, copy[1]);
}

void qr_attn_pv_bf16_native_avx512_amx(const struct qr_attn_pv_args *a)
{
    const int n_units = (a->v_head_size + AMX_ROWS - 1) / AMX_ROWS;
    for (int row = 0; row < a->n_rows; row += CALL_ROWS) {
        struct pv_part t;
        t.a = a;
        t.row = row;
        t.n_rows = a->n_rows - row < CALL_ROWS ? a->n_rows - row : CALL_ROWS;
        t.all = ~(uint64_t)0;
        t.any = 0;
        for (int r = row; r < row + t.n_rows; r++) {
            t.all &= a->visible[r];
            t.any |= a->visible[r];
        }
        if (!t.any)
            continue;
        prepare_weights(&t);
        load_weights(&t);
        for (int unit = 0; unit < n_units; unit++) {
            pv_unit(&t, unit);
            if (row == 0 && a->next)
                prefetch_kv_lines((const uint8_t *)a->next + (size_t)unit * STEP * AMX_ROW_BYTES,
                                  STEP);
        }
    }
}

void qr_init_attn_avx512_amx(struct qr_kernels *k)
{
    k->attn_begin = configure_tiles;
    k->attn_end = amx_release;
    k->attn_register_rows = AMX_ROWS;
    k->attn_call_rows = CALL_ROWS;
    k->attn_tile_rows =
        6 * CALL_ROWS; /* AMX finishes a tile sooner: more rows share the keys that are read */
    QR_SET_KERNEL(k, attn_qk_bf16_native, avx512_amx);
    QR_SET_KERNEL(k, attn_softmax, avx512_amx);
    QR_SET_KERNEL(k, attn_pv_bf16_native, avx512_amx);
    QR_SET_KERNEL(k, attn_merge, avx512_amx);
    QR_SET_KERNEL(k, attn_qk_fp8_e4m3, avx512_amx);
    QR_SET_KERNEL(k, attn_pv_fp8_e4m3, avx512_amx);
    QR_SET_KERNEL(k, attn_qk_fp8_e5m2, avx512_amx);
    QR_SET_KERNEL(k, attn_pv_fp8_e5m2, avx512_amx);
    QR_SET_KERNEL(k, attn_qk_int8, avx512_amx);
    QR_SET_KERNEL(k, attn_pv_int8, avx512_amx);
}
