/* SPDX-License-Identifier: Apache-2.0 */
/* vec_scalar.h - 4 emulated lanes: tests run every template on any host and under sanitizers.
 *
 * vf32 holds VF32_N floats, vi32 as many 32-bit integers (or 4 * VF32_N bytes), vm32 one truth
 * value per lane. The _n forms access the memory of the first n lanes only, 0 <= n <= VF32_N; the
 * other lanes read as 0. */
#ifndef QR_SIMD_VEC_H
#define QR_SIMD_VEC_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VF32_N = 4, VF32_REGS = 32 };
typedef struct {
    float v[VF32_N];
} vf32;
typedef struct {
    uint32_t v[VF32_N];
} vi32;
typedef vi32 vm32; /* all ones or all zeros per lane */

#define VEC_LANES_ for (int i_ = 0; i_ < VF32_N; i_++)
/* One lane-wise operation on R from arguments a, b (and c). */
#define VEC_OP2_(name, t, r, expr)                                                                 \
    static inline r name(t a, t b)                                                                 \
    {                                                                                              \
        r r_;                                                                                      \
        VEC_LANES_ r_.v[i_] = (expr);                                                              \
        return r_;                                                                                 \
    }
#define VEC_ALL_(cond) ((cond) ? 0xffffffffu : 0u)

/* ---- floats */
static inline vf32 vf32_set1(float x)
{
    vf32 r;
    VEC_LANES_ r.v[i_] = x;
    return r;
}
static inline vf32 vf32_zero(void) { return vf32_set1(0); }
static inline vf32 vf32_load_n(const float *p, size_t n)
{
    vf32 r = vf32_zero();
    memcpy(r.v, p, n * sizeof *p);
    return r;
}
static inline vf32 vf32_load(const float *p) { return vf32_load_n(p, VF32_N); }
static inline void vf32_store_n(float *p, vf32 v, size_t n) { memcpy(p, v.v, n * sizeof *p); }
static inline void vf32_store(float *p, vf32 v) { vf32_store_n(p, v, VF32_N); }
VEC_OP2_(vf32_add, vf32, vf32, a.v[i_] + b.v[i_])
VEC_OP2_(vf32_sub, vf32, vf32, a.v[i_] - b.v[i_])
VEC_OP2_(vf32_mul, vf32, vf32, a.v[i_] * b.v[i_])
VEC_OP2_(vf32_div, vf32, vf32, a.v[i_] / b.v[i_])
VEC_OP2_(vf32_max, vf32, vf32, a.v[i_] > b.v[i_] ? a.v[i_] : b.v[i_])
VEC_OP2_(vf32_min, vf32, vf32, a.v[i_] < b.v[i_] ? a.v[i_] : b.v[i_])
static inline float vf32_top(vf32 a) /* the largest lane; none is NaN */
{
    float top = a.v[0];
    for (int i = 1; i < VF32_N; i++)
        top = a.v[i] > top ? a.v[i] : top;
    return top;
}
/* a * b + c and c - a * b, rounded once */
static inline vf32 vf32_fma(vf32 a, vf32 b, vf32 c)
{
    VEC_LANES_ c.v[i_] = fmaf(a.v[i_], b.v[i_], c.v[i_]);
    return c;
}
static inline vf32 vf32_fnma(vf32 a, vf32 b, vf32 c)
{
    VEC_LANES_ c.v[i_] = fmaf(-a.v[i_], b.v[i_], c.v[i_]);
    return c;
}
static inline vf32 vf32_bits(vi32 a)
{
    vf32 r;
    memcpy(&r, &a, sizeof r);
    return r;
}
static inline vi32 vi32_bits(vf32 a)
{
    vi32 r;
    memcpy(&r, &a, sizeof r);
    return r;
}
static inline vf32 vf32_load_bf16(const uint16_t *p)
{
    vi32 r;
    VEC_LANES_ r.v[i_] = (uint32_t)p[i_] << 16;
    return vf32_bits(r);
}
static inline vf32 vf32_load_f16(const uint16_t *p)
{
    vf32 r;
    VEC_LANES_
    {
        const int e = p[i_] >> 10 & 31, m = p[i_] & 1023;
        const float a =
            e == 31 ? (m ? NAN : INFINITY) : ldexpf((float)(e ? m + 1024 : m), (e ? e : 1) - 25);
        r.v[i_] = p[i_] & 0x8000 ? -a : a;
    }
    return r;
}

/* ---- comparison and selection */
VEC_OP2_(vf32_lt, vf32, vm32, VEC_ALL_(a.v[i_] < b.v[i_]))
VEC_OP2_(vi32_gt, vi32, vm32, VEC_ALL_((int32_t)a.v[i_] > (int32_t)b.v[i_]))
VEC_OP2_(vi32_eq, vi32, vm32, VEC_ALL_(a.v[i_] == b.v[i_]))
/* m ? a : b */
static inline vi32 vi32_select(vm32 m, vi32 a, vi32 b)
{
    VEC_LANES_ a.v[i_] = m.v[i_] ? a.v[i_] : b.v[i_];
    return a;
}
static inline vf32 vf32_select(vm32 m, vf32 a, vf32 b)
{
    VEC_LANES_ a.v[i_] = m.v[i_] ? a.v[i_] : b.v[i_];
    return a;
}

/* ---- integers; shr fills with zeros, sar with the sign; shl_each: each lane by its own count;
 * total, top: sum and maximum of all lanes, signed */
static inline vi32 vi32_set1(int32_t x)
{
    vi32 r;
    VEC_LANES_ r.v[i_] = (uint32_t)x;
    return r;
}
static inline vi32 vi32_zero(void) { return vi32_set1(0); }
static inline vi32 vi32_load(const void *p)
{
    vi32 r;
    memcpy(&r, p, sizeof r);
    return r;
}
static inline void vi32_store(void *p, vi32 v) { memcpy(p, &v, sizeof v); }
VEC_OP2_(vi32_add, vi32, vi32, a.v[i_] + b.v[i_])
VEC_OP2_(vi32_sub, vi32, vi32, a.v[i_] - b.v[i_])
VEC_OP2_(vi32_and, vi32, vi32, a.v[i_] & b.v[i_])
VEC_OP2_(vi32_or, vi32, vi32, a.v[i_] | b.v[i_])
VEC_OP2_(vi32_xor, vi32, vi32, a.v[i_] ^ b.v[i_])
VEC_OP2_(vi32_shl_each, vi32, vi32, a.v[i_] << b.v[i_])
static inline int32_t vi32_total(vi32 a)
{
    uint32_t sum = 0;
    VEC_LANES_ sum += a.v[i_];
    return (int32_t)sum;
}
static inline int32_t vi32_top(vi32 a)
{
    int32_t top = (int32_t)a.v[0];
    VEC_LANES_ top = (int32_t)a.v[i_] > top ? (int32_t)a.v[i_] : top;
    return top;
}
VEC_OP2_(vi32_max, vi32, vi32, (int32_t)a.v[i_] > (int32_t)b.v[i_] ? a.v[i_] : b.v[i_])
static inline vi32 vi32_top_16(vi32 a) { return a; } /* of lane i: lanes i % 4, i % 4 + 4, ... */
static inline vi32 vi32_shl(vi32 a, int n)
{
    VEC_LANES_ a.v[i_] <<= n;
    return a;
}
static inline vi32 vi32_shr(vi32 a, int n)
{
    VEC_LANES_ a.v[i_] >>= n;
    return a;
}
static inline vi32 vi32_sar(vi32 a, int n)
{
    VEC_LANES_ a.v[i_] = (uint32_t)((int32_t)a.v[i_] >> n);
    return a;
}
static inline vi32 vi32_load_u8(const uint8_t *p)
{
    vi32 r;
    VEC_LANES_ r.v[i_] = p[i_];
    return r;
}
static inline vi32 vi32_load_s8(const int8_t *p)
{
    vi32 r;
    VEC_LANES_ r.v[i_] = (uint32_t)p[i_];
    return r;
}
static inline void vi32_store_s8(int8_t *p, vi32 v) /* lanes within int8 range */
{
    VEC_LANES_ p[i_] = (int8_t)v.v[i_];
}
/* stores the vectors v[0] .. v[3] one after the other; lanes within uint8 range */
static inline void vi32_store4_u8(uint8_t *p, const vi32 v[4])
{
    for (int j = 0; j < 4; j++)
        VEC_LANES_ p[j * VF32_N + i_] = (uint8_t)v[j].v[i_];
}
/* byte i of the result is table[byte i of idx]; bytes of idx are 0 .. 15 */
static inline vi32 vi32_lut16(const uint8_t *table, vi32 idx)
{
    uint8_t t[sizeof idx];
    memcpy(t, &idx, sizeof t);
    for (size_t i = 0; i < sizeof t; i++)
        t[i] = table[t[i] & 15];
    memcpy(&idx, t, sizeof t);
    return idx;
}

/* ---- conversions */
/* table[lane of idx]; lanes of idx are 0 .. 15 */
static inline vf32 vf32_lut16(const float *table, vi32 idx)
{
    vf32 r;
    VEC_LANES_ r.v[i_] = table[idx.v[i_] & 15];
    return r;
}
static inline vf32 vf32_from_i32(vi32 a)
{
    vf32 r;
    VEC_LANES_ r.v[i_] = (float)(int32_t)a.v[i_];
    return r;
}
static inline vi32 vi32_round(vf32 a) /* nearest even; NaN: 0 */
{
    vi32 r;
    VEC_LANES_ r.v[i_] = isnan(a.v[i_]) ? 0 : (uint32_t)(int32_t)nearbyintf(a.v[i_]);
    return r;
}

/* ---- for attention: lane masks from bits, high halves, pairs of bf16 */
/* lane i is true when bit i is set */
static inline vm32 vm32_bits(uint32_t bits)
{
    vm32 m;
    VEC_LANES_ m.v[i_] = VEC_ALL_(bits >> i_ & 1);
    return m;
}
static inline int vm32_any(vm32 m)
{
    uint32_t any = 0;
    VEC_LANES_ any |= m.v[i_];
    return any != 0;
}
/* zero-extends the first (lo) or last (hi) 8 bytes of every 16-byte lane to 16 bits */
static inline vi32 vi32_unpack_(vi32 a, size_t from)
{
    uint8_t in[16], out[16] = { 0 };
    vi32 r;
    memcpy(in, a.v, sizeof in);
    for (size_t i = 0; i < 8; i++)
        out[2 * i] = in[from + i]; /* little-endian, like every supported host */
    memcpy(r.v, out, sizeof out);
    return r;
}
static inline vi32 vi32_unpack_lo(vi32 a) { return vi32_unpack_(a, 0); }
static inline vi32 vi32_unpack_hi(vi32 a) { return vi32_unpack_(a, 8); }
/* interleaves the first (lo) or last (hi) 16-, 32- or 64-bit elements of a and b per 16 bytes */
static inline vi32 vi32_zip_(vi32 a, vi32 b, size_t size, size_t from)
{
    uint8_t x[16], y[16], out[16];
    vi32 r;
    memcpy(x, a.v, sizeof x);
    memcpy(y, b.v, sizeof y);
    for (size_t i = 0; i < 8; i += size) {
        memcpy(out + 2 * i, x + from + i, size);
        memcpy(out + 2 * i + size, y + from + i, size);
    }
    memcpy(r.v, out, sizeof out);
    return r;
}
static inline vi32 vi32_zip16_lo(vi32 a, vi32 b) { return vi32_zip_(a, b, 2, 0); }
static inline vi32 vi32_zip16_hi(vi32 a, vi32 b) { return vi32_zip_(a, b, 2, 8); }
static inline vi32 vi32_zip32_lo(vi32 a, vi32 b) { return vi32_zip_(a, b, 4, 0); }
static inline vi32 vi32_zip32_hi(vi32 a, vi32 b) { return vi32_zip_(a, b, 4, 8); }
static inline vi32 vi32_zip64_lo(vi32 a, vi32 b) { return vi32_zip_(a, b, 8, 0); }
static inline vi32 vi32_zip64_hi(vi32 a, vi32 b) { return vi32_zip_(a, b, 8, 8); }
/* stores the 16-byte lanes of v, `stride` bytes apart */
static inline void vi32_store_lanes(uint8_t *p, size_t stride, vi32 v)
{
    (void)stride; /* there is one lane */
    memcpy(p, v.v, sizeof v.v);
}
/* the values of pairs of bf16: the lower half of a lane is the even one */
static inline vf32 vf32_even_bf16(vi32 pair) { return vf32_bits(vi32_shl(pair, 16)); }
static inline vf32 vf32_odd_bf16(vi32 pair)
{
    return vf32_bits(vi32_and(pair, vi32_set1((int32_t)0xffff0000)));
}
/* stores the upper 16 bits of each lane */
static inline void vf32_store_high(uint16_t *p, vf32 v)
{
    uint32_t bits[VF32_N];
    memcpy(bits, v.v, sizeof bits);
    VEC_LANES_ p[i_] = (uint16_t)(bits[i_] >> 16);
}

/* ---- dot products of four bytes per lane: acc + sum of w * a, exact; a holds signed bytes -127 ..
 * 127. u7: w is 0 .. 127. w8: w is any byte, the weight plus VI32_W8_OFFSET: unsigned with offset
 * 128, or signed with offset 0, depending on the instructions. */
enum { VI32_W8_OFFSET = 128 };
static inline vi32 vi32_dot_w8(vi32 acc, vi32 w, vi32 a)
{
    VEC_LANES_ for (int i = 0; i < 32; i += 8)
    {
        const int32_t p = (int32_t)(w.v[i_] >> i & 255) * (int8_t)(a.v[i_] >> i & 255);
        acc.v[i_] += (uint32_t)p;
    }
    return acc;
}
static inline vi32 vi32_dot_u7(vi32 acc, vi32 w, vi32 a) { return vi32_dot_w8(acc, w, a); }

#endif
