/* SPDX-License-Identifier: Apache-2.0 */
/* attn_tile.c - Q K^T scores, P V, dequantization and transposition of tiles in plain C, one
 * element at a time. The only level that reads plain rows. */
#include "base/half.h"
#include "base/msan.h"
#include "generic/fma.h"
#include "kernels/kernels.h"
#include <math.h>
#include <stdbool.h>

enum element { F32, F16, BF16, E4M3, E5M2, INT8 };

static float fp8_value(enum element type, uint8_t code)
{
    const bool e5m2 = type == E5M2;
    const int mantissa_bits = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7;
    const int exponent = (code & 0x7f) >> mantissa_bits;
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    float x;
    if (e5m2 ? exponent == 31 : (code & 0x7f) == 0x7f)
        x = e5m2 && mantissa == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        x = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
    else
        x = ldexpf((float)(mantissa | 1 << mantissa_bits), exponent - bias - mantissa_bits);
    return code & 0x80 ? -x : x;
}

/* Elements of the type, and the values of their codes, if they are fp8. */
struct elements {
    enum element type;
    float fp8[256];
};

static void elements_init(struct elements *e, enum element type)
{
    e->type = type;
    for (int code = 0; (type == E4M3 || type == E5M2) && code < 256; code++)
        e->fp8[code] = fp8_value(type, (uint8_t)code);
}

/* An f32, f16 or bf16. */
QR_MSAN_IGNORED static float load(enum element type, const uint8_t *p)
{
    uint16_t h;
    float f;
    if (type == F32) {
        memcpy(&f, p, sizeof f);
        return f;
    }
    memcpy(&h, p, sizeof h);
    return type == F16 ? qr_f16_to_f32(h) : qr_bf16_to_f32(h);
}

/* Elements [wide, wide + n) of a column in the layout of kv/layout.h: `deep` counts along the steps
 * (d of K, token of V), `wide` across them. Tiles hold unwritten slots, whose scores the mask
 * replaces; tests write NaN to them. */
QR_MSAN_IGNORED static void load_wide(const struct elements *e, bool plain, const uint8_t *base,
                                      size_t stride, int deep, int wide, int n, float *out)
{
    const size_t size = e->type == F32 ? 4 : 2, d = (size_t)deep;
    if (e->type == BF16 && !plain) { /* pairs of two deep */
        for (size_t w = (size_t)wide, i = 0; i < (size_t)n; i++, w++) {
            uint32_t pair;
            memcpy(&pair, base + d / 2 * stride + w * sizeof pair, sizeof pair);
            out[i] = qr_bits_to_f32(d % 2 ? pair & 0xffff0000 : pair << 16);
        }
    } else if (e->type == INT8) {
        for (size_t w = (size_t)wide, i = 0; i < (size_t)n; i++, w++)
            out[i] = (float)(int8_t)base[d / 4 * stride + w * 4 + d % 4];
    } else if (e->type >= E4M3) { /* cells of [4 quads][2 deep pairs][4 wide][2 deep] */
        const uint8_t *row = base + d / 4 * stride + d % 4 / 2 * 8 + d % 2;
        for (size_t w = (size_t)wide, i = 0; i < (size_t)n; i++, w++)
            out[i] = e->fp8[row[w / 16 * 64 + w % 16 / 4 * 16 + w % 4 * 2]];
    } else {
        for (size_t w = (size_t)wide, i = 0; i < (size_t)n; i++, w++)
            out[i] = load(e->type, base + d * stride + w * size);
    }
}

/* Zero for denormals, as vdpbf16ps treats inputs and results. */
static inline float flush(float x)
{
    const uint32_t bits = qr_f32_to_bits(x);
    return qr_bits_to_f32(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* acc[i] += x * y[i] */
static void multiply_add(float *acc, float x, const float *y, int n, bool native)
{
    if (native)
        for (int i = 0; i < n; i++)
            acc[i] = flush(qr_fmaf(flush(x), flush(y[i]), flush(acc[i])));
    else
        for (int i = 0; i < n; i++)
            acc[i] = qr_fmaf(x, y[i], acc[i]);
}

/* Element number i of n in the order of additions: ascending, but the odd one of a pair first for
 * products of two bf16 (N3). */
static int nth(int i, int n, bool native) { return native && (i ^ 1) < n ? i ^ 1 : i; }

/* Element i of a row of queries or weights. */
static float row_at(const void *row, int i, bool native)
{
    return native ? qr_bf16_to_f32(((const uint16_t *)row)[i]) : ((const float *)row)[i];
}

static const void *row_of(const void *rows, int r, int n, bool native)
{
    return (const char *)rows + (size_t)r * (size_t)n * (native ? sizeof(uint16_t) : sizeof(float));
}

/* Dimension d of the keys of a column. A plain row is one token. */
static void load_keys(const struct elements *e, bool plain, const struct qr_attn_qk_args *a, int c,
                      int d, float k[QR_COLUMN_KEYS])
{
    if (plain)
        for (int key = 0; key < QR_COLUMN_KEYS; key++)
            load_wide(e, plain, a->k[c], a->k_stride, key, d, 1, k + key);
    else
        load_wide(e, plain, a->k[c], a->k_stride, d, 0, QR_COLUMN_KEYS, k);
}

static void qk(enum element type, bool native, const struct qr_attn_qk_args *a)
{
    const int n = a->head_size;
    struct elements e;
    elements_init(&e, type);
    for (int c = 0; c < QR_TILE_COLUMNS; c++) {
        float *s = a->s + c * QR_COLUMN_KEYS;
        if (!a->k[c])
            continue;
        for (int r = 0; r < a->n_rows; r++)
            memset(s + r * QR_TILE_KEYS, 0, QR_COLUMN_KEYS * sizeof *s);
        for (int i = 0; i < n; i++) {
            const int d = nth(i, n, native);
            float k[QR_COLUMN_KEYS];
            load_keys(&e, n % 8 != 0, a, c, d, k);
            for (int r = 0; r < a->n_rows; r++)
                multiply_add(s + r * QR_TILE_KEYS, row_at(row_of(a->q, r, n, native), d, native), k,
                             QR_COLUMN_KEYS, native);
        }
    }
}

void qr_attn_qk_f32_generic(const struct qr_attn_qk_args *a) { qk(F32, false, a); }
void qr_attn_qk_f16_generic(const struct qr_attn_qk_args *a) { qk(F16, false, a); }
void qr_attn_qk_bf16_generic(const struct qr_attn_qk_args *a) { qk(BF16, false, a); }
void qr_attn_qk_bf16_native_generic(const struct qr_attn_qk_args *a) { qk(BF16, true, a); }
void qr_attn_qk_fp8_e4m3_generic(const struct qr_attn_qk_args *a) { qk(E4M3, true, a); }
void qr_attn_qk_fp8_e5m2_generic(const struct qr_attn_qk_args *a) { qk(E5M2, true, a); }
void qr_attn_qk_int8_generic(const struct qr_attn_qk_args *a) { qk(INT8, true, a); }

enum { V_PART = 64 }; /* values converted at a time */

static void pv(enum element type, bool native, const struct qr_attn_pv_args *a)
{
    const bool plain = a->v_head_size % 8 != 0;
    struct elements e;
    uint64_t any = 0;
    elements_init(&e, type);
    for (int r = 0; r < a->n_rows; r++)
        any |= a->visible[r];
    for (int first = 0; first < a->v_head_size; first += V_PART) {
        const int width = a->v_head_size - first < V_PART ? a->v_head_size - first : V_PART;
        for (int i = 0; i < QR_TILE_KEYS; i++) {
            const int key = nth(i, QR_TILE_KEYS, native), c = key / QR_COLUMN_KEYS;
            const float none[V_PART] = { 0 };
            float v[V_PART];
            if (any >> key & 1)
                load_wide(&e, plain, a->v[c], a->v_stride, key % QR_COLUMN_KEYS, first, width, v);
            for (int r = 0; r < a->n_rows; r++) {
                const bool seen = a->visible[r] >> key & 1;
                /* the invisible neighbor of a visible key adds 0, which turns -0 into 0 */
                if (seen || (native && a->visible[r] >> (key ^ 1) & 1))
                    multiply_add(a->o + (size_t)r * a->o_stride + first,
                                 seen ? row_at(row_of(a->p, r, QR_TILE_KEYS, native), key, native)
                                      : 0,
                                 seen ? v : none, width, native);
            }
        }
    }
}

void qr_attn_pv_f32_generic(const struct qr_attn_pv_args *a) { pv(F32, false, a); }
void qr_attn_pv_f16_generic(const struct qr_attn_pv_args *a) { pv(F16, false, a); }
void qr_attn_pv_bf16_generic(const struct qr_attn_pv_args *a) { pv(BF16, false, a); }
void qr_attn_pv_bf16_native_generic(const struct qr_attn_pv_args *a) { pv(BF16, true, a); }
void qr_attn_pv_fp8_e4m3_generic(const struct qr_attn_pv_args *a) { pv(E4M3, true, a); }
void qr_attn_pv_fp8_e5m2_generic(const struct qr_attn_pv_args *a) { pv(E5M2, true, a); }
void qr_attn_pv_int8_generic(const struct qr_attn_pv_args *a) { pv(INT8, true, a); }

QR_MSAN_IGNORED static void unpack(enum element type, const struct qr_attn_unpack_args *a)
{
    uint16_t table[256];
    for (int code = 0; code < 256; code++)
        table[code] = qr_f32_to_bf16(fp8_value(type, (uint8_t)code)); /* exact */
    for (int step = 0; step < a->n_steps; step++)
        for (int i = 0; i < a->n_cells; i++) {
            const uint8_t *cell = a->src + (size_t)step * a->src_stride + (size_t)i * 64;
            uint16_t *dst = a->dst + (size_t)step * 2 * a->dst_stride + (size_t)i * 32;
            for (size_t quad = 0; quad < 4; quad++) /* [4 quads][2 deep pairs][4 wide][2 deep] */
                for (size_t j = 0; j < 8; j++) {
                    dst[quad * 8 + j] = table[cell[quad * 16 + j]];
                    dst[a->dst_stride + quad * 8 + j] = table[cell[quad * 16 + 8 + j]];
                }
        }
}

void qr_attn_unpack_fp8_e4m3_generic(const struct qr_attn_unpack_args *a) { unpack(E4M3, a); }
void qr_attn_unpack_fp8_e5m2_generic(const struct qr_attn_unpack_args *a) { unpack(E5M2, a); }

QR_MSAN_IGNORED void qr_attn_unpack_int8_generic(const struct qr_attn_unpack_args *a)
{
    for (int step = 0; step < a->n_steps; step++)
        for (int wide = 0; wide < a->n_cells * 16; wide++)
            for (size_t deep = 0; deep < 4; deep++) {
                const size_t from = (size_t)step * a->src_stride + (size_t)wide * 4 + deep;
                const size_t row = (size_t)step * 2 + deep / 2;
                a->dst[row * a->dst_stride + (size_t)wide * 2 + deep % 2] =
                    qr_f32_to_bf16((float)(int8_t)a->src[from]); /* exact */
            }
}

/* step: adjacent values of a key in K, and adjacent keys of a value in V */
static void transpose(const struct qr_attn_transpose_args *a, size_t step, size_t bytes)
{
    for (size_t key = 0; key < (size_t)a->n_keys; key++)
        for (size_t d = 0; d < (size_t)a->n_values; d++) {
            const size_t from = d / step * a->src_stride + (key * step + d % step) * bytes;
            const size_t to = key / step * a->dst_stride + (d * step + key % step) * bytes;
            memcpy((uint8_t *)a->dst + to, (const uint8_t *)a->src + from, bytes);
        }
}

void qr_attn_transpose_f32_generic(const struct qr_attn_transpose_args *a) { transpose(a, 1, 4); }
void qr_attn_transpose_f16_generic(const struct qr_attn_transpose_args *a) { transpose(a, 1, 2); }
void qr_attn_transpose_bf16_generic(const struct qr_attn_transpose_args *a) { transpose(a, 2, 2); }

void qr_init_attn_generic(struct qr_kernels *k)
{
#define X(ret, name, params) QR_SET_KERNEL(k, name, generic);
    QR_KERNELS_ATTN(X)
#undef X
    k->attn_register_rows = 6;
    k->attn_call_rows = 24;
    k->attn_tile_rows = 96;
}
