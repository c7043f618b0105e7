/* SPDX-License-Identifier: Apache-2.0 */
/* attn_tile.c - scores and weighted values of a tile in plain C, one element at a time. Also reads plain rows. */
#include "base/kernel.h"
#include "simd/half.h"
#include <float.h>
#include <math.h>

enum element { F32, F16, BF16 };

static float load(enum element type, const uint8_t *p)
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

/* An element of a column (docs in kv/layout.h): `deep` runs along the steps (d of K, token of V), `wide` across. */
static float element(enum element type, int plain, const uint8_t *base, size_t stride, int deep, int wide)
{
    const size_t size = type == F32 ? 4 : 2, w = (size_t)wide, d = (size_t)deep;
    if (type != BF16 || plain)
        return load(type, base + d * stride + w * size);
    return load(type, base + d / 2 * stride + (w * 2 + d % 2) * size);
}

static float k_element(enum element type, int plain, const struct quire_attn_qk_args *a, int key, int d)
{
    const uint8_t *column = a->k[key / QUIRE_COLUMN_KEYS];
    key %= QUIRE_COLUMN_KEYS;
    if (plain) /* rows lie along the tokens */
        return element(type, plain, column, a->k_stride, key, d);
    return element(type, plain, column, a->k_stride, d, key);
}

/* fma as vdpbf16ps does it: subnormal inputs and results are zero. */
static float flush(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }
static float fma_flushed(float x, float y, float acc) { return flush(fmaf(flush(x), flush(y), flush(acc))); }

static void qk(enum element type, const struct quire_attn_qk_args *a)
{
    const int n = a->head_size, plain = n % 8 != 0;
    for (int r = 0; r < a->n_rows; r++) {
        const float *q = (const float *)a->q + (size_t)r * (size_t)n;
        for (int key = 0; key < QUIRE_TILE_KEYS; key++) {
            if (!a->k[key / QUIRE_COLUMN_KEYS])
                continue;
            float s = 0;
            for (int d = 0; d < n; d++)
                s = fmaf(q[d], k_element(type, plain, a, key, d), s);
            a->s[(size_t)r * QUIRE_TILE_KEYS + (size_t)key] = s;
        }
    }
}

void quire_attn_qk_f32_generic(const struct quire_attn_qk_args *a) { qk(F32, a); }
void quire_attn_qk_f16_generic(const struct quire_attn_qk_args *a) { qk(F16, a); }
void quire_attn_qk_bf16_generic(const struct quire_attn_qk_args *a) { qk(BF16, a); }

void quire_attn_qk_bf16_native_generic(const struct quire_attn_qk_args *a)
{
    const int n = a->head_size, plain = n % 8 != 0;
    for (int r = 0; r < a->n_rows; r++) {
        const uint16_t *q = (const uint16_t *)a->q + (size_t)r * (size_t)n;
        for (int key = 0; key < QUIRE_TILE_KEYS; key++) {
            if (!a->k[key / QUIRE_COLUMN_KEYS])
                continue;
            float s = 0;
            for (int d = 0; d < n; d += 2) { /* the odd one of a pair first */
                if (d + 1 < n)
                    s = fma_flushed(qr_bf16_to_f32(q[d + 1]), k_element(BF16, plain, a, key, d + 1), s);
                s = fma_flushed(qr_bf16_to_f32(q[d]), k_element(BF16, plain, a, key, d), s);
            }
            a->s[(size_t)r * QUIRE_TILE_KEYS + (size_t)key] = s;
        }
    }
}

static float v_element(enum element type, int plain, const struct quire_attn_pv_args *a, int key, int d)
{
    return element(type, plain, a->v[key / QUIRE_COLUMN_KEYS], a->v_stride, key % QUIRE_COLUMN_KEYS, d);
}

static void pv(enum element type, const struct quire_attn_pv_args *a)
{
    const int plain = a->v_head_size % 8 != 0;
    for (int r = 0; r < a->n_rows; r++) {
        const float *p = (const float *)a->p + (size_t)r * QUIRE_TILE_KEYS;
        float *o = a->o + (size_t)r * a->o_stride;
        for (int key = 0; key < QUIRE_TILE_KEYS; key++)
            for (int d = 0; a->visible[r] >> key & 1 && d < a->v_head_size; d++)
                o[d] = fmaf(p[key], v_element(type, plain, a, key, d), o[d]);
    }
}

void quire_attn_pv_f32_generic(const struct quire_attn_pv_args *a) { pv(F32, a); }
void quire_attn_pv_f16_generic(const struct quire_attn_pv_args *a) { pv(F16, a); }
void quire_attn_pv_bf16_generic(const struct quire_attn_pv_args *a) { pv(BF16, a); }

void quire_attn_pv_bf16_native_generic(const struct quire_attn_pv_args *a)
{
    const int plain = a->v_head_size % 8 != 0;
    for (int r = 0; r < a->n_rows; r++) {
        const uint16_t *p = (const uint16_t *)a->p + (size_t)r * QUIRE_TILE_KEYS;
        float *o = a->o + (size_t)r * a->o_stride;
        for (int pair = 0; pair < QUIRE_TILE_KEYS; pair += 2)
            for (int i = 1; i >= 0; i--) { /* the odd one of a pair first */
                const int key = pair + i;
                for (int d = 0; a->visible[r] >> key & 1 && d < a->v_head_size; d++)
                    o[d] = fma_flushed(qr_bf16_to_f32(p[key]), v_element(BF16, plain, a, key, d), o[d]);
            }
    }
}

static float fp8_value(int e5m2, uint8_t code)
{
    const int mantissa_bits = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7;
    const int exponent = (code & 0x7f) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
    float x;
    if (e5m2 ? exponent == 31 : (code & 0x7f) == 0x7f)
        x = e5m2 && mantissa == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        x = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
    else
        x = ldexpf((float)(mantissa | 1 << mantissa_bits), exponent - bias - mantissa_bits);
    return code & 0x80 ? -x : x;
}

static void unpack(int e5m2, const struct quire_attn_unpack_args *a)
{
    uint16_t table[256];
    for (int code = 0; code < 256; code++)
        table[code] = qr_f32_to_bf16(fp8_value(e5m2, (uint8_t)code)); /* exact */
    for (int step = 0; step < a->n_steps; step++)
        for (int i = 0; i < a->n_cells; i++) {
            const uint8_t *cell = a->src + (size_t)step * a->src_stride + (size_t)i * 64;
            uint16_t *dst = a->dst + (size_t)step * 2 * a->dst_stride + (size_t)i * 32;
            for (size_t quad = 0; quad < 4; quad++) /* [4 wide quads][2 deep pairs][4 wide][2 deep] */
                for (size_t j = 0; j < 8; j++) {
                    dst[quad * 8 + j] = table[cell[quad * 16 + j]];
                    dst[a->dst_stride + quad * 8 + j] = table[cell[quad * 16 + 8 + j]];
                }
        }
}

void quire_attn_unpack_fp8_e4m3_generic(const struct quire_attn_unpack_args *a) { unpack(0, a); }
void quire_attn_unpack_fp8_e5m2_generic(const struct quire_attn_unpack_args *a) { unpack(1, a); }

void quire_init_attn_generic(struct quire_kernels *k)
{
    QUIRE_SET(k, attn_qk_f32, generic);
    QUIRE_SET(k, attn_qk_f16, generic);
    QUIRE_SET(k, attn_qk_bf16, generic);
    QUIRE_SET(k, attn_qk_bf16_native, generic);
    QUIRE_SET(k, attn_softmax, generic);
    QUIRE_SET(k, attn_pv_f32, generic);
    QUIRE_SET(k, attn_pv_f16, generic);
    QUIRE_SET(k, attn_pv_bf16, generic);
    QUIRE_SET(k, attn_pv_bf16_native, generic);
    QUIRE_SET(k, attn_merge, generic);
    QUIRE_SET(k, attn_unpack_fp8_e4m3, generic);
    QUIRE_SET(k, attn_unpack_fp8_e5m2, generic);
}
