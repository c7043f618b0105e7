/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_tpl.h - kernels of recurrent layers over vec_*.h.
 *
 * Needs a vec_*.h and QR_ISA. The order of all operations is that of generic/recurrent.c; only the
 * elementary functions differ, which come from simd/vec_math.h and have the same bits at every
 * vector level. */
#include "simd/vec_math.h"
#include "template/common_tpl.h"
#include "template/state_rows_tpl.h"

/* e^x of x <= 88; NaN stays NaN, since min returns its right operand then */
QR_INLINE vf32 recurrent_exp(vf32 x) { return vf32_exp(vf32_min(vf32_set1(88), x)); }

void QR_KERNEL(conv_taps)(float *out, const float *const *rows, const float *w, size_t stride,
                          const float *bias, size_t n_taps, size_t n)
{
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32 sum = bias ? vf32_load_n(bias + i, m) : vf32_zero();
        for (size_t j = 0; j < n_taps; j++)
            sum = vf32_fma(vf32_load_n(w + j * stride + i, m), vf32_load_n(rows[j] + i, m), sum);
        vf32_store_n(out + i, sum, m);
    }
}

/* log(1 + u) for 0 <= u <= 1, within 3e-9 before rounding: 2 atanh(u / (u + 2)) */
QR_INLINE vf32 recurrent_log1p(vf32 u)
{
    const vf32 s = vf32_div(u, vf32_add(u, vf32_set1(2))), s2 = vf32_mul(s, s);
    vf32 p = vf32_set1(1.0f / 15);
    p = vf32_fma(p, s2, vf32_set1(1.0f / 13));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 11));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 9));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 7));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 5));
    p = vf32_fma(p, s2, vf32_set1(1.0f / 3));
    p = vf32_fma(p, s2, vf32_set1(1));
    return vf32_mul(vf32_add(s, s), p);
}

void QR_KERNEL(softplus)(float *x, const float *bias, size_t n)
{
    const vi32 magnitude = vi32_set1(INT32_MAX);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        vf32 y = vf32_load_n(x + i, m);
        if (bias)
            y = vf32_add(y, vf32_load_n(bias + i, m));
        const vf32 size = vf32_bits(vi32_and(vi32_bits(y), magnitude));
        const vf32 u = vf32_exp(vf32_sub(vf32_zero(), size));
        vf32_store_n(x + i, vf32_add(vf32_max(vf32_zero(), y), recurrent_log1p(u)), m);
    }
}

void QR_KERNEL(exp_mul)(float *x, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 y = vf32_mul(vf32_load_n(a + i, m), vf32_load_n(x + i, m));
        vf32_store_n(x + i, recurrent_exp(y), m);
    }
}

void QR_KERNEL(sigmoid_mul)(float *gate, const float *x, float a, size_t n)
{
    const vf32 one = vf32_set1(1), va = vf32_set1(a);
    for (size_t i = 0; i < n; i += VF32_N) {
        const size_t m = n - i < VF32_N ? n - i : VF32_N;
        const vf32 e = recurrent_exp(vf32_sub(vf32_zero(), vf32_load_n(gate + i, m)));
        const vf32 y = vf32_div(va, vf32_add(one, e));
        vf32_store_n(gate + i, vf32_mul(y, x ? vf32_load_n(x + i, m) : one), m);
    }
}

/* ---- Outer products */

/* `stream`: the state comes from memory. */
QR_INLINE void outer_row(const struct qr_scan *s, const struct block *b, size_t r, int stream)
{
    const int whole = b->vectors > 1;
    const float *q = s->q + r * s->key_stride, *k = s->k + r * s->key_stride;
    const float *v = s->v + r * s->value_stride + b->column;
    float *out = s->out + r * s->out_stride + b->column;
    const vf32 a = vf32_set1(s->decay[r * s->decay_stride]);
    vf32 value[STATE_VECTORS], sum[STATE_VECTORS];
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
        value[j] = row_load(v + j * VF32_N, b->m, whole);
        if (s->dt)
            value[j] = vf32_mul(value[j], vf32_set1(s->dt[r * s->dt_stride]));
        sum[j] = vf32_zero();
    }
    union state_row p = first_row(b);
    for (size_t i = 0; i < s->n_keys; i++, p = row_after(p, b, s->state_stride)) {
        const vf32 key = vf32_set1(k[i]), query = vf32_set1(q[i]);
        if (stream)
            prefetch_state(b, p, STATE_PREFETCH_BYTES, 0);
        QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
            const vf32 old = vf32_mul(a, state_load(b, p, j));
            const vf32 x = vf32_fma(key, value[j], old);
            state_store(b, p, j, state_round(b, x));
            sum[j] = vf32_fma(query, x, sum[j]);
        }
    }
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
        if (s->d != 0)
            sum[j] = vf32_fma(vf32_set1(s->d), row_load(v + j * VF32_N, b->m, whole), sum[j]);
        row_store(out + j * VF32_N, sum[j], b->m, whole);
    }
}

QR_INLINE void outer_block(const struct qr_scan *s, const struct block b)
{
    if (s->n_rows == 1) {
        outer_row(s, &b, 0, 1);
        return;
    }
    for (size_t r = 0; r < s->n_rows; r++) {
        prefetch_row(s, &b, r);
        outer_row(s, &b, r, 0);
    }
}

/* ---- RWKV-6: the output reads the state before the row changes it. */

/* `stream`: the state comes from memory. */
QR_INLINE void wkv6_row(const struct qr_scan *s, const struct block *b, size_t r, int stream)
{
    const int whole = b->vectors > 1;
    const float *q = s->q + r * s->key_stride, *k = s->k + r * s->key_stride;
    const float *v = s->v + r * s->value_stride + b->column,
                *decay = s->decay + r * s->decay_stride;
    float *out = s->out + r * s->out_stride + b->column;
    vf32 value[STATE_VECTORS], sum[STATE_VECTORS];
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
        value[j] = row_load(v + j * VF32_N, b->m, whole);
        sum[j] = vf32_zero();
    }
    union state_row p = first_row(b);
    for (size_t i = 0; i < s->n_keys; i++, p = row_after(p, b, s->state_stride)) {
        const vf32 a = vf32_set1(decay[i]), key = vf32_set1(k[i]), query = vf32_set1(q[i]);
        if (stream)
            prefetch_state(b, p, STATE_PREFETCH_BYTES, 0);
        QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
            const vf32 old = state_load(b, p, j);
            const vf32 x = vf32_fma(key, value[j], vf32_mul(a, old));
            sum[j] = vf32_fma(query, old, sum[j]);
            state_store(b, p, j, state_round(b, x));
        }
    }
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++)
        row_store(out + j * VF32_N, sum[j], b->m, whole);
}

QR_INLINE void wkv6_block(const struct qr_scan *s, const struct block b)
{
    if (s->n_rows == 1) {
        wkv6_row(s, &b, 0, 1);
        return;
    }
    for (size_t r = 0; r < s->n_rows; r++) {
        prefetch_row(s, &b, r);
        wkv6_row(s, &b, r, 0);
    }
}

/* ---- Delta rule. While one row updates an element of the state, the decay of the next row is
 * applied and its read begins: memory holds decay * s between rows, and every element is loaded and
 * stored once per row. */

/* The sums of a column block that a row leaves to the next: of k t. */
struct delta_reads {
    vf32 sum[STATE_VECTORS];
};

/* Whether a row applies decays: a row in the middle and the last row find theirs applied; the only
 * row of a step applies its own, since a store less counts when the state comes from memory. */
enum delta_decays { DELTA_NEXT, DELTA_NONE, DELTA_OWN };

/* The reads of the first row; unless it is the only one, t = decay * s as well. */
QR_INLINE struct delta_reads delta_begin(const struct qr_scan *s, const struct block *b, int only)
{
    struct delta_reads read;
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++)
        read.sum[j] = vf32_zero();
    union state_row p = first_row(b);
    for (size_t i = 0; i < s->n_keys; i++, p = row_after(p, b, s->state_stride)) {
        const vf32 key = vf32_set1(s->k[i]), a = vf32_set1(s->decay[i * s->decay_step]);
        QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
            const vf32 t = vf32_mul(a, state_load(b, p, j));
            if (!only)
                state_store(b, p, j, t);
            read.sum[j] = vf32_fma(key, t, read.sum[j]);
        }
    }
    return read;
}

/* Row r, whose reads are done; DELTA_NEXT: those of the next row as well, into *read. */
QR_INLINE void delta_row(const struct qr_scan *s, const struct block *b, size_t r,
                         struct delta_reads *read, enum delta_decays decays)
{
    const int whole = b->vectors > 1;
    const size_t after = decays == DELTA_NEXT ? 1 : 0; /* row of the decay and of the read */
    const float *q = s->q + r * s->key_stride, *k = s->k + r * s->key_stride;
    const float *v = s->v + r * s->value_stride + b->column;
    const float *decay = s->decay + (r + after) * s->decay_stride,
                *k_read = k + s->key_stride * after;
    float *out = s->out + r * s->out_stride + b->column;
    const vf32 beta = vf32_set1(s->dt[r * s->dt_stride]);
    /* The second pass over a tile reads L1, which leaves the memory to the next one. Xeon, one
     * core, avx2, 32 heads of 128 x 128, states of 24 layers in turn: 200 us per layer; without the
     * prefetch 260. */
    const size_t tile = s->n_keys * s->state_stride * (b->form == STATE_BF16 ? 2 : 4);
    vf32 u[STATE_VECTORS], sum[STATE_VECTORS], next[STATE_VECTORS];
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
        u[j] = vf32_mul(beta, vf32_sub(row_load(v + j * VF32_N, b->m, whole), read->sum[j]));
        sum[j] = next[j] = vf32_zero();
    }
    union state_row p = first_row(b);
    for (size_t i = 0; i < s->n_keys; i++, p = row_after(p, b, s->state_stride)) {
        const vf32 key = vf32_set1(k[i]), query = vf32_set1(q[i]), key_read = vf32_set1(k_read[i]);
        const vf32 a = vf32_set1(decay[i * s->decay_step]);
        if (decays == DELTA_OWN)
            prefetch_state(b, p, tile, 1);
        QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
            vf32 x = state_load(b, p, j);
            if (decays == DELTA_OWN)
                x = vf32_mul(a, x);
            x = vf32_fma(key, u[j], x);
            sum[j] = vf32_fma(query, x, sum[j]);
            x = state_round(b, x);
            if (decays == DELTA_NEXT) {
                x = vf32_mul(a, x);
                next[j] = vf32_fma(key_read, x, next[j]);
            }
            state_store(b, p, j, x);
        }
    }
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
        row_store(out + j * VF32_N, sum[j], b->m, whole);
        read->sum[j] = next[j];
    }
}

QR_INLINE void delta_block(const struct qr_scan *s, const struct block b)
{
    if (s->n_rows == 1) {
        struct delta_reads read = delta_begin(s, &b, 1);
        delta_row(s, &b, 0, &read, DELTA_OWN);
        return;
    }
    struct delta_reads read = delta_begin(s, &b, 0);
    for (size_t r = 0; r + 1 < s->n_rows; r++) {
        prefetch_row(s, &b, r);
        delta_row(s, &b, r, &read, DELTA_NEXT);
    }
    delta_row(s, &b, s->n_rows - 1, &read, DELTA_NONE);
}

/* ---- RWKV-7: the delta rule that reads along one vector, before the decay, and removes along
 * another. While one row updates an element of the state, the read of the next row begins. */

QR_INLINE struct delta_reads wkv7_begin(const struct qr_scan *s, const struct block *b)
{
    struct delta_reads read;
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++)
        read.sum[j] = vf32_zero();
    union state_row p = first_row(b);
    for (size_t i = 0; i < s->n_keys; i++, p = row_after(p, b, s->state_stride)) {
        const vf32 key = vf32_set1(s->read[i]);
        QR_UNROLL_8 (int j = 0; j < b->vectors; j++)
            read.sum[j] = vf32_fma(key, state_load(b, p, j), read.sum[j]);
    }
    return read;
}

/* Row r, whose reads are done; unless it is the last one, those of the next row as well. */
QR_INLINE void wkv7_row(const struct qr_scan *s, const struct block *b, size_t r,
                        struct delta_reads *read, int last)
{
    const int whole = b->vectors > 1;
    const size_t at = r * s->key_stride, after = at + (last ? 0 : s->key_stride);
    const float *q = s->q + at, *k = s->k + at, *remove = s->remove + at, *next = s->read + after;
    const float *v = s->v + r * s->value_stride + b->column,
                *decay = s->decay + r * s->decay_stride;
    float *out = s->out + r * s->out_stride + b->column;
    vf32 value[STATE_VECTORS], sum[STATE_VECTORS], begun[STATE_VECTORS];
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
        value[j] = row_load(v + j * VF32_N, b->m, whole);
        sum[j] = begun[j] = vf32_zero();
    }
    union state_row p = first_row(b);
    for (size_t i = 0; i < s->n_keys; i++, p = row_after(p, b, s->state_stride)) {
        const vf32 a = vf32_set1(decay[i]), key = vf32_set1(k[i]), query = vf32_set1(q[i]);
        const vf32 out_of = vf32_set1(remove[i]), key_next = vf32_set1(next[i]);
        QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
            vf32 x = vf32_mul(a, state_load(b, p, j));
            x = vf32_fma(out_of, read->sum[j], x);
            x = vf32_fma(key, value[j], x);
            sum[j] = vf32_fma(query, x, sum[j]);
            x = state_round(b, x);
            if (!last)
                begun[j] = vf32_fma(key_next, x, begun[j]);
            state_store(b, p, j, x);
        }
    }
    QR_UNROLL_8 (int j = 0; j < b->vectors; j++) {
        row_store(out + j * VF32_N, sum[j], b->m, whole);
        read->sum[j] = begun[j];
    }
}

QR_INLINE void wkv7_block(const struct qr_scan *s, const struct block b)
{
    struct delta_reads read = wkv7_begin(s, &b);
    for (size_t r = 0; r + 1 < s->n_rows; r++) {
        prefetch_row(s, &b, r);
        wkv7_row(s, &b, r, &read, 0);
    }
    wkv7_row(s, &b, s->n_rows - 1, &read, 1);
}

/* ---- Mamba-1, one vector at a time */

QR_INLINE void channels_row(const struct qr_scan *s, const struct block *b, const float *rates,
                            const float *d, size_t r)
{
    const float *c = s->q + r * s->key_stride, *k = s->k + r * s->key_stride;
    const vf32 step = vf32_load_n(s->dt + r * s->dt_stride + b->column, b->m);
    const vf32 x = vf32_load_n(s->v + r * s->value_stride + b->column, b->m);
    const vf32 in = vf32_mul(step, x);
    vf32 sum = vf32_zero();
    union state_row p = first_row(b);
    for (size_t i = 0; i < s->n_keys; i++, p = row_after(p, b, s->state_stride)) {
        const vf32 rate = vf32_load_n(rates + i * s->state_stride, b->m);
        const vf32 old = vf32_mul(recurrent_exp(vf32_mul(step, rate)), state_load(b, p, 0));
        const vf32 y = vf32_fma(vf32_set1(k[i]), in, old);
        state_store(b, p, 0, state_round(b, y));
        sum = vf32_fma(vf32_set1(c[i]), y, sum);
    }
    sum = vf32_add(sum, vf32_mul(vf32_load_n(d, b->m), x));
    vf32_store_n(s->out + r * s->out_stride + b->column, sum, b->m);
}

QR_INLINE void channels_block(const struct qr_scan *s, const struct block b, const float *rates,
                              const float *d)
{
    for (size_t r = 0; r < s->n_rows; r++) {
        prefetch_row(s, &b, r);
        channels_row(s, &b, rates + b.column, d + b.column, r);
    }
}

/* ---- All columns */

enum recurrence { OUTER, DELTA, WKV6, WKV7, CHANNELS };

/* rates, d: of CHANNELS */
QR_INLINE void run_block(enum recurrence kind, const struct qr_scan *s, const struct block b,
                         const float *rates, const float *d)
{
    if (b.form == STATE_SCRATCH)
        scratch_load(s, &b);
    if (kind == OUTER)
        outer_block(s, b);
    else if (kind == DELTA)
        delta_block(s, b);
    else if (kind == WKV6)
        wkv6_block(s, b);
    else if (kind == WKV7)
        wkv7_block(s, b);
    else
        channels_block(s, b, rates, d);
    if (b.form == STATE_SCRATCH)
        scratch_store(s, &b);
}

QR_INLINE void run_blocks(enum recurrence kind, const struct qr_scan *s, const float *rates,
                          const float *d, enum state_form form)
{
    const int vectors = form == STATE_F32 ? STATE_VECTORS : STATE_BF16_VECTORS;
    const size_t n = s->n_values, columns = (size_t)vectors * VF32_N;
    size_t j = 0;
    for (; kind != CHANNELS && j + columns <= n; j += columns)
        run_block(kind, s, block_at(s, j, vectors, VF32_N, form), rates, d);
    for (; j < n; j += VF32_N)
        run_block(kind, s, block_at(s, j, 1, n - j < VF32_N ? n - j : VF32_N, form), rates, d);
}

QR_INLINE void run_state(enum recurrence kind, const struct qr_scan *s, const float *rates,
                         const float *d)
{
    if (!s->bf16)
        run_blocks(kind, s, rates, d, STATE_F32);
    else if (s->n_rows > 1)
        run_blocks(kind, s, rates, d, STATE_SCRATCH);
    else
        run_blocks(kind, s, rates, d, STATE_BF16);
}

void QR_KERNEL(state_outer)(const struct qr_scan *s) { run_state(OUTER, s, NULL, NULL); }
void QR_KERNEL(state_delta)(const struct qr_scan *s) { run_state(DELTA, s, NULL, NULL); }
void QR_KERNEL(state_wkv6)(const struct qr_scan *s) { run_state(WKV6, s, NULL, NULL); }
void QR_KERNEL(state_wkv7)(const struct qr_scan *s) { run_state(WKV7, s, NULL, NULL); }
void QR_KERNEL(state_channels)(const struct qr_scan *s, const float *rates, const float *d)
{
    run_state(CHANNELS, s, rates, d);
}

void QR_KERNEL(init_recurrent)(struct qr_kernels *k)
{
    QR_SET(k, conv_taps);
    QR_SET(k, softplus);
    QR_SET(k, exp_mul);
    QR_SET(k, sigmoid_mul);
    QR_SET(k, state_outer);
    QR_SET(k, state_delta);
    QR_SET(k, state_wkv6);
    QR_SET(k, state_wkv7);
    QR_SET(k, state_channels);
}
