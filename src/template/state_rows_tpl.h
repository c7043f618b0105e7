/* SPDX-License-Identifier: Apache-2.0 */
/* state_rows_tpl.h - column blocks of the states of recurrent layers over vec_*.h: loads and stores
 * in f32 and bf16, and prefetches. */
#ifndef QR_TEMPLATE_STATE_ROWS_TPL_H
#define QR_TEMPLATE_STATE_ROWS_TPL_H
#include "base/prefetch.h"
#include "template/common_tpl.h"
#include <string.h>

/* Vectors of a column block: their sums are independent chains, which hide the latency of fma. Two
 * of a bf16 state where there are 16 registers, of which the rounding takes some. */
enum { STATE_VECTORS = 4, STATE_BF16_VECTORS = (int)VF32_REGS < 32 ? 2 : STATE_VECTORS };

/* Distance of the prefetch of queries, keys and values, in rows; 2 is the least at which the next
 * row of the delta rule, whose keys are read with the current one, has arrived. */
enum { STATE_ROWS_AHEAD = 2 };

/* Distance of the prefetch of a state that is read once, in a step of one row. Xeon, one core,
 * avx512, 48 heads of 64 x 128, states of 24 layers in turn: 70 us per layer; without it 80. */
enum { STATE_PREFETCH_BYTES = 4096 };

/* A column block is several whole vectors, or one that may be partial. All rows
 * pass over one block before the next, so that its state stays in L1. */

/* Where a block advances its state, and how. */
enum state_form {
    STATE_F32,
    STATE_SCRATCH, /* f32 values of a bf16 state, rounded after every row */
    STATE_BF16,    /* in the bf16 state itself: for one row */
};

/* A column block: columns [column, column + vectors * VF32_N), or m of them if there is one. */
struct block {
    float *state;   /* unless the form is BF16 */
    uint16_t *bf16; /* NULL with F32 */
    size_t column, m;
    int vectors;
    enum state_form form;
};

QR_INLINE struct block block_at(const struct qr_scan *s, size_t column, int vectors, size_t m,
                                enum state_form form)
{
    return (struct block){
        s->state + column, form == STATE_F32 ? NULL : s->bf16 + column, column, m, vectors, form
    };
}

/* The columns of a block in one row of its state: where the form has them. */
union state_row {
    float *f32;
    uint16_t *bf16;
};

QR_INLINE union state_row first_row(const struct block *b)
{
    return b->form == STATE_BF16 ? (union state_row){ .bf16 = b->bf16 }
                                 : (union state_row){ .f32 = b->state };
}

QR_INLINE union state_row row_after(union state_row p, const struct block *b, size_t stride)
{
    if (b->form == STATE_BF16)
        p.bf16 += stride;
    else
        p.f32 += stride;
    return p;
}

/* m values of a row, or VF32_N of them */
QR_INLINE vf32 row_load(const float *p, size_t m, int whole)
{
    return whole ? vf32_load(p) : vf32_load_n(p, m);
}

QR_INLINE void row_store(float *p, vf32 v, size_t m, int whole)
{
    if (whole)
        vf32_store(p, v);
    else
        vf32_store_n(p, v, m);
}

QR_INLINE vf32 bf16_load(const uint16_t *p, size_t m)
{
    uint16_t part[VF32_N] = { 0 };
    if (m == VF32_N)
        return vf32_load_bf16(p);
    memcpy(part, p, m * sizeof *p);
    return vf32_load_bf16(part);
}

/* Stores v, whose lanes are bf16 values. */
QR_INLINE void bf16_store(uint16_t *p, vf32 v, size_t m)
{
    uint16_t part[VF32_N];
    if (m == VF32_N) {
        vf32_store_high(p, v);
        return;
    }
    vf32_store_high(part, v);
    memcpy(p, part, m * sizeof *p);
}

/* Vector j of a row. */
QR_INLINE vf32 state_load(const struct block *b, union state_row p, int j)
{
    if (b->form == STATE_BF16)
        return bf16_load(p.bf16 + j * VF32_N, b->vectors > 1 ? VF32_N : b->m);
    return row_load(p.f32 + j * VF32_N, b->m, b->vectors > 1);
}

/* x, or the nearest bf16 (R12): adding `large`, 1.5 * 2^16 times the power of two of x, leaves no
 * room for the lower 16 bits. In floats, where NaN needs no selection. */
QR_INLINE vf32 state_round(const struct block *b, vf32 x)
{
    if (b->form == STATE_F32)
        return x;
    const vi32 exponent = vi32_and(vi32_bits(x), vi32_set1(0x7f800000));
    const vf32 power = vf32_max(vf32_bits(exponent), vf32_set1(0x1p-126f));
    const vf32 large = vf32_mul(power, vf32_set1(0x1.8p16f));
    return vf32_sub(vf32_add(x, large), large);
}

/* Stores x, which is from state_round or, in a form other than BF16, decay * s. */
QR_INLINE void state_store(const struct block *b, union state_row p, int j, vf32 x)
{
    if (b->form == STATE_BF16)
        bf16_store(p.bf16 + j * VF32_N, x, b->vectors > 1 ? VF32_N : b->m);
    else
        row_store(p.f32 + j * VF32_N, x, b->m, b->vectors > 1);
}

/* Copies a block of a bf16 state to the scratch, and back. */
QR_INLINE void scratch_load(const struct qr_scan *s, const struct block *b)
{
    const size_t n = b->vectors > 1 ? (size_t)b->vectors * VF32_N : b->m;
    for (size_t i = 0; i < s->n_keys; i++)
        for (size_t j = 0; j < n; j += VF32_N) {
            const size_t at = i * s->state_stride + j, m = n - j < VF32_N ? n - j : VF32_N;
            row_store(b->state + at, bf16_load(b->bf16 + at, m), m, b->vectors > 1);
        }
}

QR_INLINE void scratch_store(const struct qr_scan *s, const struct block *b)
{
    const size_t n = b->vectors > 1 ? (size_t)b->vectors * VF32_N : b->m;
    for (size_t i = 0; i < s->n_keys; i++)
        for (size_t j = 0; j < n; j += VF32_N) {
            const size_t at = i * s->state_stride + j, m = n - j < VF32_N ? n - j : VF32_N;
            bf16_store(b->bf16 + at, row_load(b->state + at, m, b->vectors > 1), m);
        }
}

QR_INLINE void prefetch_floats(const float *p, size_t n)
{
    for (size_t i = 0; i < n; i += QR_CACHE_LINE_BYTES / sizeof *p)
        qr_prefetch_l1(p + i);
}

/* Prefetches the operands of the row STATE_ROWS_AHEAD behind r. Rows are pages apart, where no
 * hardware prefetcher follows. */
QR_INLINE void prefetch_row(const struct qr_scan *s, const struct block *b, size_t r)
{
    const size_t columns = (size_t)b->vectors * VF32_N;
    r += STATE_ROWS_AHEAD;
    if (r >= s->n_rows)
        return;
    prefetch_floats(s->k + r * s->key_stride, s->n_keys);
    prefetch_floats(s->q + r * s->key_stride, s->n_keys);
    prefetch_floats(s->v + r * s->value_stride + b->column, columns);
    for (size_t i = 0; i < columns; i += QR_CACHE_LINE_BYTES / sizeof(float))
        qr_prefetch_write(s->out + r * s->out_stride + b->column + i);
    if (s->decay)
        prefetch_floats(s->decay + r * s->decay_stride, s->decay_step ? s->n_keys : 1);
    if (s->dt)
        qr_prefetch_l1(s->dt + r * s->dt_stride);
}

/* Prefetches what lies `bytes` behind a row of the state, in this tile or the next one, into L1 or
 * L2. */
QR_INLINE void prefetch_state(const struct block *b, union state_row p, size_t bytes, int l2)
{
    const uintptr_t row = b->form == STATE_BF16 ? (uintptr_t)p.bf16 : (uintptr_t)p.f32;
    const int size = b->vectors * VF32_N * (b->form == STATE_BF16 ? 2 : 4);
    for (int i = 0; i < size; i += QR_CACHE_LINE_BYTES) {
        const void *at = (const void *)(row + bytes + (uintptr_t)i);
        if (l2)
            qr_prefetch_l2(at);
        else
            qr_prefetch_write(at);
    }
}

#endif
