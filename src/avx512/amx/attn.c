/* SPDX-License-Identifier: Apache-2.0 */
/* attn.c - scores and weighted values of bf16 tiles on AMX.
 *
 * Sums follow AMX_DOT_BF16: 32 elements of a head, or 32 keys at a multiple of 32, are one product, in whatever number
 * of rows and layout they come. Elements and keys that are missing there are zeros, which add nothing. */
#include "avx512/amx/tiles.h"
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header, the template on both */
#include "simd/vec_math.h"
#define QR_ISA avx512_amx
#include "template/attn_common_tpl.h"

enum {
    STEP = 32,      /* elements or keys of one product */
    CALL_ROWS = 32, /* two tiles of rows share what they load */
    COLUMN_STEPS = QR_COLUMN_KEYS / 2,
};

static void begin(void)
{
    struct amx_config c = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        c.rows[i] = AMX_ROWS;
        c.row_bytes[i] = AMX_LINE;
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
    const uint8_t *next; /* asked for meanwhile, or NULL */
};

/* More than 16 rows, columns c and c + 1; the last one is its own partner. */
static void qk_wide(const struct qk_part *p, int c)
{
    _Alignas(AMX_LINE) uint8_t copy[4][AMX_TILE];
    const bool alone = c + 1 == p->n_columns;
    const uint8_t *k0 = p->k[c], *k1 = p->k[alone ? c : c + 1];
    const size_t q_stride = (size_t)p->head_size * sizeof *p->q;
    const int second = p->n_rows - AMX_ROWS;
    amx_zero_sums();
    for (int d = 0; d < p->head_size; d += STEP) {
        const int n = p->head_size - d < STEP ? p->head_size - d : STEP;
        const uint16_t *q = p->q + d;
        const size_t bytes = (size_t)n * sizeof *q;
        const struct amx_lines q0 = amx_whole(q, q_stride, AMX_ROWS, bytes, copy[0]);
        const struct amx_lines q1 =
            amx_whole(q + AMX_ROWS * p->head_size, q_stride, second, bytes, copy[1]);
        const struct amx_lines b0 = amx_whole(k0, p->k_stride, n / 2, AMX_LINE, copy[2]);
        const struct amx_lines b1 = amx_whole(k1, p->k_stride, n / 2, AMX_LINE, copy[3]);
        AMX_LOAD(4, q0.at, q0.stride);
        AMX_LOAD(6, b0.at, b0.stride);
        AMX_DOT_BF16(0, 4, 6);
        AMX_LOAD(7, b1.at, b1.stride);
        AMX_DOT_BF16(1, 4, 7);
        AMX_LOAD(5, q1.at, q1.stride);
        AMX_DOT_BF16(2, 5, 6);
        AMX_DOT_BF16(3, 5, 7);
        if (p->next)
            amx_ask(p->next + (size_t)(c * p->head_size / 2 + d) * AMX_LINE, n);
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

/* Tile i: scores of column i, with the keys in tile t. Requests for what is read next are spread over the products. */
#define QK_DOT(i, t)                                                                               \
    do {                                                                                           \
        AMX_LOAD(t, b[i].at, b[i].stride);                                                         \
        AMX_DOT_BF16(i, 4, t);                                                                     \
        if (next) {                                                                                \
            amx_ask_run(next, n_ask);                                                              \
            next += n_ask * AMX_LINE;                                                              \
        }                                                                                          \
    } while (0)

/* Up to 16 rows, all columns; of those that are missing the first one takes the place. */
static void qk_narrow(const struct qk_part *p)
{
    _Alignas(AMX_LINE) uint8_t copy[5][AMX_TILE];
    const uint8_t *k[QR_TILE_COLUMNS], *next = p->next;
    for (int c = 0; c < QR_TILE_COLUMNS; c++)
        k[c] = p->k[c < p->n_columns ? c : 0];
    const size_t q_stride = (size_t)p->head_size * sizeof *p->q;
    amx_zero_sums();
    for (int d = 0; d < p->head_size; d += STEP) {
        const int n = p->head_size - d < STEP ? p->head_size - d : STEP;
        const int n_ask = n / 2 * p->n_columns / QR_TILE_COLUMNS;
        const struct amx_lines q =
            amx_whole(p->q + d, q_stride, p->n_rows, (size_t)n * sizeof *p->q, copy[4]);
        struct amx_lines b[QR_TILE_COLUMNS];
        for (int c = 0; c < QR_TILE_COLUMNS; c++) {
            b[c] = amx_whole(k[c], p->k_stride, n / 2, AMX_LINE, copy[c]);
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
            qk_narrow(&p);
        for (int c = 0; p.n_rows > AMX_ROWS && c < p.n_columns; c += 2)
            qk_wide(&p, c);
    }
}

/* ---- weighted values */

enum { HALVES = QR_TILE_KEYS / STEP };

/* Up to CALL_ROWS rows. */
struct pv_part {
    const struct qr_attn_pv_args *a;
    int row, n_rows;               /* of the call */
    uint64_t all, any;             /* keys that all of them see, and that some do */
    struct amx_lines p[2][HALVES]; /* weights of 16 rows and 32 keys */
    _Alignas(AMX_LINE) uint8_t p_copy[2][HALVES][AMX_TILE];
    _Alignas(AMX_LINE) uint8_t v_copy[HALVES][AMX_TILE];
};

/* Weights: in place where every row sees every key, else without those of other keys. */
static void place_weights(struct pv_part *t)
{
    const uint16_t *p = (const uint16_t *)t->a->p + (size_t)t->row * QR_TILE_KEYS;
    const uint64_t *visible = t->a->visible + t->row;
    const size_t stride = QR_TILE_KEYS * sizeof *p;
    for (int r = 0; r < t->n_rows; r += AMX_ROWS, p += AMX_ROWS * QR_TILE_KEYS)
        for (int h = 0; h < HALVES; h++) {
            uint8_t *copy = t->p_copy[r / AMX_ROWS][h];
            if (~t->all == 0 && r + AMX_ROWS <= t->n_rows) {
                t->p[r / AMX_ROWS][h] =
                    (struct amx_lines){ (const uint8_t *)(p + h * STEP), stride };
                continue;
            }
            t->p[r / AMX_ROWS][h] = (struct amx_lines){ copy, AMX_LINE };
            for (int i = 0; i < AMX_ROWS; i++) {
                const __mmask32 seen =
                    r + i < t->n_rows ? (__mmask32)(visible[r + i] >> (h * STEP)) : 0;
                _mm512_store_si512(copy + i * AMX_LINE,
                                   _mm512_maskz_loadu_epi16(seen, p + i * QR_TILE_KEYS + h * STEP));
            }
        }
}

/* Even, odd or both halves of every lane. */
ATTN_INLINE __mmask32 pair_mask(uint64_t two)
{
    return (two & 1) * 0x55555555u | (two >> 1 & 1) * 0xaaaaaaaau;
}

/* Values of a unit of 16 lanes for the 32 keys of half h, of `keys` only; others are zeros. Tells if one of a key in
 * `doubtful` is no finite number, which a weight of zero does not undo. */
static bool gather_values(const struct qr_attn_pv_args *a, int unit, int h, uint64_t keys,
                          uint64_t doubtful, uint8_t *copy)
{
    const __m512i exponent = _mm512_set1_epi16(0x7f80);
    __mmask32 bad = 0;
    for (int key = h * STEP; key < (h + 1) * STEP; key += 2, copy += AMX_LINE) {
        __m512i x = _mm512_setzero_si512();
        if (keys >> key & 3) {
            const uint8_t *v = a->v[key / QR_COLUMN_KEYS];
            v += (size_t)(key % QR_COLUMN_KEYS / 2) * a->v_stride + (size_t)unit * AMX_LINE;
            x = _mm512_maskz_loadu_epi16(pair_mask(keys >> key & 3), v);
            bad |= _mm512_mask_cmpeq_epi16_mask(pair_mask(doubtful >> key & 3),
                                                _mm512_and_si512(x, exponent), exponent);
        }
        _mm512_store_si512(copy, x);
    }
    return bad != 0;
}

/* Values that lie as a tile, or NULL. */
ATTN_INLINE const uint8_t *tile_in_place(const struct pv_part *t, int unit, int h)
{
    const uint8_t *v = t->a->v[2 * h];
    if ((uint32_t)(t->all >> (h * STEP)) != UINT32_MAX ||
        v + COLUMN_STEPS * t->a->v_stride != t->a->v[2 * h + 1])
        return NULL;
    return v + (size_t)unit * AMX_LINE;
}

/* Tiles 4 .. 7: weights of the first 16 rows, then of the others, each of two halves of the keys. */
static void load_weights(const struct pv_part *t)
{
    AMX_LOAD(4, t->p[0][0].at, t->p[0][0].stride);
    AMX_LOAD(5, t->p[0][1].at, t->p[0][1].stride);
    if (t->n_rows > AMX_ROWS) {
        AMX_LOAD(6, t->p[1][0].at, t->p[1][0].stride);
        AMX_LOAD(7, t->p[1][1].at, t->p[1][1].stride);
    }
}

/* A unit in which a value that some row must not see is no finite number: row by row, with what it sees. */
static void pv_row_by_row(struct pv_part *t, int unit)
{
    const struct qr_attn_pv_args *a = t->a;
    _Alignas(AMX_LINE) uint8_t o_copy[AMX_TILE] = { 0 };
    for (int r = 0; r < t->n_rows; r++) {
        const uint64_t seen = a->visible[t->row + r];
        float *o = a->o + (size_t)(t->row + r) * a->o_stride + unit * AMX_ROWS;
        const uint8_t *p = t->p_copy[r / AMX_ROWS][0] + r % AMX_ROWS * AMX_LINE;
        if (!seen)
            continue;
        memcpy(o_copy, o, AMX_LINE);
        AMX_LOAD(0, o_copy, AMX_LINE);
        for (int h = 0; h < HALVES; h++, p += AMX_TILE) {
            if (!(uint32_t)(seen >> (h * STEP)))
                continue;
            (void)gather_values(a, unit, h, seen, 0, t->v_copy[h]);
            AMX_LOAD(2, t->v_copy[h], AMX_LINE);
            AMX_LOAD(4, p, 0); /* one row, sixteen times */
            AMX_DOT_BF16(0, 4, 2);
        }
        AMX_STORE(0, o_copy, AMX_LINE);
        memcpy(o, o_copy, AMX_LINE);
    }
    load_weights(t);
}

/* One unit of 16 lanes. */
static void pv_unit(struct pv_part *t, int unit)
{
    const struct qr_attn_pv_args *a = t->a;
    const uint64_t doubtful = t->any & ~t->all;
    struct amx_lines v[HALVES];
    for (int h = 0; h < HALVES; h++) {
        v[h] = (struct amx_lines){ tile_in_place(t, unit, h), a->v_stride };
        if (v[h].at)
            continue;
        v[h] = (struct amx_lines){ t->v_copy[h], AMX_LINE };
        if (gather_values(a, unit, h, t->any, doubtful, t->v_copy[h])) {
            pv_row_by_row(t, unit);
            return;
        }
    }
    _Alignas(AMX_LINE) uint8_t copy[2][AMX_TILE];
    float *o = a->o + (size_t)t->row * a->o_stride + unit * AMX_ROWS;
    const bool two = t->n_rows > AMX_ROWS;
    const size_t o_bytes = a->o_stride * sizeof *o;
    const int first = two ? AMX_ROWS : t->n_rows, second = t->n_rows - first;
    float *low = o + (size_t)first * a->o_stride;
    const struct amx_lines o0 = amx_whole(o, o_bytes, first, AMX_LINE, copy[0]);
    AMX_LOAD(0, o0.at, o0.stride);
    if (two) {
        const struct amx_lines o1 = amx_whole(low, o_bytes, second, AMX_LINE, copy[1]);
        AMX_LOAD(1, o1.at, o1.stride);
    }
    if ((uint32_t)t->any) {
        AMX_LOAD(2, v[0].at, v[0].stride);
        AMX_DOT_BF16(0, 4, 2);
        if (two)
            AMX_DOT_BF16(1, 6, 2);
    }
    if (t->any >> STEP) {
        AMX_LOAD(3, v[1].at, v[1].stride);
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
        place_weights(&t);
        load_weights(&t);
        for (int unit = 0; unit < n_units; unit++) {
            pv_unit(&t, unit);
            if (row == 0 && a->next)
                amx_ask_run((const uint8_t *)a->next + (size_t)unit * STEP * AMX_LINE, STEP);
        }
    }
}

void qr_init_attn_avx512_amx(struct qr_kernels *k)
{
    k->attn_begin = begin;
    k->attn_end = amx_release;
    k->attn_step = AMX_ROWS;
    k->attn_rows = CALL_ROWS;
    k->attn_tile_rows = 6 * CALL_ROWS; /* they are through sooner: keys are read for more */
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
