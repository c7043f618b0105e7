/* SPDX-License-Identifier: Apache-2.0 */
/* attn_codes.c - scores and weighted values of tiles of 8-bit codes on AMX: what one product takes is unpacked to bf16
 * on the way, in the first cache. The sums are those of attn.c. */
#include "avx512/amx/tiles.h"
#include "base/kernel.h"
#include <string.h>

enum {
    STEP = 32, /* elements or keys of one product */
    QUADS = STEP / 4,
    UNITS = 4, /* of 16 lanes, worked on together */
    COLUMN_QUADS = QUIRE_COLUMN_KEYS / 4,
    PAIR_BYTES = 2 * UNITS * AMX_ROWS * (int)sizeof(uint16_t), /* of one pair of all units */
};

typedef void unpack_fn(const struct quire_attn_unpack_args *a);

/* The codes of 32 elements, or of what is left of them, for 64 keys. */
static void unpack_keys(const struct quire_attn_qk_args *a, unpack_fn *unpack, int d, int n,
                        uint8_t *bf16)
{
    const uint8_t *const *k = (const uint8_t *const *)a->k;
    const bool together =
        k[1] == k[0] + AMX_LINE && k[2] == k[1] + AMX_LINE && k[3] == k[2] + AMX_LINE;
    struct quire_attn_unpack_args u = { .src_stride = a->k_stride,
                                        .dst_stride = PAIR_BYTES / sizeof(uint16_t),
                                        .n_steps = n / 4,
                                        .n_cells = together ? QUIRE_TILE_COLUMNS : 1 };
    for (int c = 0; c < QUIRE_TILE_COLUMNS; c += u.n_cells) {
        u.src = k[c] + (size_t)(d / 4) * a->k_stride;
        u.dst = (uint16_t *)(void *)(bf16 + c * AMX_LINE);
        unpack(&u);
    }
    memset(bf16 + n / 2 * PAIR_BYTES, 0, (size_t)(STEP - n) / 2 * PAIR_BYTES);
}

/* Up to 16 rows. */
static void qk_rows(const struct quire_attn_qk_args *a, unpack_fn *unpack, int row, int n_rows)
{
    _Alignas(AMX_LINE) uint8_t copy[AMX_TILE], bf16[STEP / 2 * PAIR_BYTES];
    const size_t q_stride = (size_t)a->head_size * sizeof(uint16_t);
    float *s = a->s + (size_t)row * QUIRE_TILE_KEYS;
    amx_zero_sums();
    for (int d = 0; d < a->head_size; d += STEP) {
        const int n = a->head_size - d < STEP ? a->head_size - d : STEP;
        const uint16_t *at = (const uint16_t *)a->q + (size_t)row * (size_t)a->head_size + d;
        const struct amx_lines q = amx_whole(at, q_stride, n_rows, (size_t)n * sizeof *at, copy);
        unpack_keys(a, unpack, d, n, bf16);
        AMX_LOAD(4, q.at, q.stride);
        AMX_LOAD(5, bf16, PAIR_BYTES);
        AMX_DOT_BF16(0, 4, 5);
        AMX_LOAD(6, bf16 + AMX_LINE, PAIR_BYTES);
        AMX_DOT_BF16(1, 4, 6);
        AMX_LOAD(7, bf16 + 2 * AMX_LINE, PAIR_BYTES);
        AMX_DOT_BF16(2, 4, 7);
        AMX_LOAD(5, bf16 + 3 * AMX_LINE, PAIR_BYTES);
        AMX_DOT_BF16(3, 4, 5);
        if (row == 0 && a->next)
            amx_ask((const uint8_t *)a->next + (size_t)d * AMX_LINE, n);
    }
    AMX_STORE_ROWS(0, s, QUIRE_TILE_KEYS, n_rows, copy);
    AMX_STORE_ROWS(1, s + AMX_ROWS, QUIRE_TILE_KEYS, n_rows, copy);
    AMX_STORE_ROWS(2, s + 2 * AMX_ROWS, QUIRE_TILE_KEYS, n_rows, copy);
    AMX_STORE_ROWS(3, s + 3 * AMX_ROWS, QUIRE_TILE_KEYS, n_rows, copy);
}

static void qk_all(const struct quire_attn_qk_args *a, unpack_fn *unpack)
{
    for (int row = 0; row < a->n_rows; row += AMX_ROWS)
        qk_rows(a, unpack, row, a->n_rows - row < AMX_ROWS ? a->n_rows - row : AMX_ROWS);
}

/* The codes of 32 keys, from the first of half h on, for n units. */
static void unpack_values(const struct quire_attn_pv_args *a, unpack_fn *unpack, int h, int unit,
                          int n, uint8_t *bf16)
{
    const uint8_t *v0 = a->v[2 * h], *v1 = a->v[2 * h + 1];
    const bool together = v1 == v0 + COLUMN_QUADS * a->v_stride;
    struct quire_attn_unpack_args u = { .src = v0 + (size_t)unit * AMX_LINE,
                                        .dst = (uint16_t *)(void *)bf16,
                                        .src_stride = a->v_stride,
                                        .dst_stride = PAIR_BYTES / sizeof(uint16_t),
                                        .n_steps = together ? QUADS : COLUMN_QUADS,
                                        .n_cells = n };
    unpack(&u);
    if (together)
        return;
    u.src = v1 + (size_t)unit * AMX_LINE;
    u.dst = (uint16_t *)(void *)(bf16 + AMX_ROWS / 2 * PAIR_BYTES);
    unpack(&u);
}

/* Tile t from the sums of n_rows rows, or into them. */
#define LOAD_SUMS(t, unit)                                                                         \
    do {                                                                                           \
        const struct amx_lines sums =                                                              \
            amx_whole(o + (unit)*AMX_ROWS, stride * sizeof *o, n_rows, AMX_LINE, copy);            \
        AMX_LOAD(t, sums.at, sums.stride);                                                         \
    } while (0)
#define STORE_SUMS(t, unit) AMX_STORE_ROWS(t, o + (unit)*AMX_ROWS, stride, n_rows, copy)

/* Up to 16 rows, n units from `unit` on. Fewer than four leave tiles idle. */
static void pv_units(const struct quire_attn_pv_args *a, unpack_fn *unpack, int row, int n_rows,
                     int unit, int n)
{
    _Alignas(AMX_LINE) uint8_t copy[AMX_TILE], bf16[STEP / 2 * PAIR_BYTES];
    const size_t stride = a->o_stride;
    float *o = a->o + (size_t)row * stride + (size_t)unit * AMX_ROWS;
    LOAD_SUMS(0, 0);
    if (n > 1)
        LOAD_SUMS(1, 1);
    if (n > 2)
        LOAD_SUMS(2, 2);
    if (n > 3)
        LOAD_SUMS(3, 3);
    for (int h = 0; h < QUIRE_TILE_KEYS / STEP; h++) {
        const uint16_t *at = (const uint16_t *)a->p + (size_t)row * QUIRE_TILE_KEYS + h * STEP;
        const struct amx_lines p =
            amx_whole(at, QUIRE_TILE_KEYS * sizeof *at, n_rows, AMX_LINE, copy);
        unpack_values(a, unpack, h, unit, n, bf16);
        AMX_LOAD(4, p.at, p.stride);
        AMX_LOAD(5, bf16, PAIR_BYTES);
        AMX_DOT_BF16(0, 4, 5);
        if (n > 1) {
            AMX_LOAD(6, bf16 + AMX_LINE, PAIR_BYTES);
            AMX_DOT_BF16(1, 4, 6);
        }
        if (n > 2) {
            AMX_LOAD(7, bf16 + 2 * AMX_LINE, PAIR_BYTES);
            AMX_DOT_BF16(2, 4, 7);
        }
        if (n > 3) {
            AMX_LOAD(5, bf16 + 3 * AMX_LINE, PAIR_BYTES);
            AMX_DOT_BF16(3, 4, 5);
        }
    }
    STORE_SUMS(0, 0);
    if (n > 1)
        STORE_SUMS(1, 1);
    if (n > 2)
        STORE_SUMS(2, 2);
    if (n > 3)
        STORE_SUMS(3, 3);
}

static void pv_all(const struct quire_attn_pv_args *a, unpack_fn *unpack)
{
    const int n_units = (a->v_head_size + AMX_ROWS - 1) / AMX_ROWS;
    for (int row = 0; row < a->n_rows; row += AMX_ROWS)
        for (int unit = 0; unit < n_units; unit += UNITS) {
            const int n = n_units - unit < UNITS ? n_units - unit : UNITS;
            pv_units(a, unpack, row, a->n_rows - row < AMX_ROWS ? a->n_rows - row : AMX_ROWS, unit,
                     n);
            if (row == 0 && a->next)
                amx_ask((const uint8_t *)a->next + (size_t)unit * AMX_ROWS * AMX_LINE,
                        n * AMX_ROWS);
        }
}

#define KERNELS(type)                                                                              \
    void quire_attn_qk_##type##_avx512_amx(const struct quire_attn_qk_args *a)                     \
    {                                                                                              \
        qk_all(a, quire_attn_unpack_##type##_avx512_bf16);                                         \
    }                                                                                              \
    void quire_attn_pv_##type##_avx512_amx(const struct quire_attn_pv_args *a)                     \
    {                                                                                              \
        pv_all(a, quire_attn_unpack_##type##_avx512_bf16);                                         \
    }
KERNELS(fp8_e4m3)
KERNELS(fp8_e5m2)
KERNELS(int8)
