/* SPDX-License-Identifier: Apache-2.0 */
/* attn_common_tpl.h - what the templates of attention tiles share. Needs: a vec_*.h, vec_math.h. */
#ifndef QR_TEMPLATE_ATTN_COMMON_TPL_H
#define QR_TEMPLATE_ATTN_COMMON_TPL_H
#include "kernels/kernels.h"
#include "simd/flush.h"
#include "simd/instrumented.h"
#include <string.h>

#define ATTN_PASTE_(a, b) a##_##b
#define ATTN_PASTE(a, b)  ATTN_PASTE_(a, b)
#define ATTN_INLINE       static inline __attribute__((always_inline))
#if QR_INSTRUMENTED
#define ATTN_UNROLL
#elif defined(__clang__)
#define ATTN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATTN_UNROLL _Pragma("GCC unroll 8")
#endif

enum {
    ATTN_VECS = 16 / VF32_N, /* vectors of a unit */
    /* rows and units of a register tile at most */
    ATTN_ROWS = QR_INSTRUMENTED ? 2 : 6,
    ATTN_UNITS = VF32_N < 16 ? 1 : (QR_INSTRUMENTED ? 2 : 4),
};

ATTN_INLINE float attn_f32_at(const uint8_t *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* A pair of bf16 in every lane. */
ATTN_INLINE vi32 attn_bits_at(const uint8_t *p)
{
    int32_t x;
    memcpy(&x, p, sizeof x);
    return vi32_set1(x);
}

/* Both halves of a lane, or only the even (1) or odd (2) one. */
ATTN_INLINE vi32 attn_seen_mask(uint64_t seen)
{
    return vi32_set1(seen == 3 ? -1 : seen == 1 ? 0xffff : (int32_t)0xffff0000);
}

/* Keys and values come from memory in the order they lie there. Nothing but arithmetic stands between
 * two loads, yet the processor alone keeps too few of them on their way, so each line is asked for
 * ATTN_AHEAD bytes before its turn: first those of the tile itself, `bytes` long from `own` on, then
 * those from `next` on. Without `next`, what lies behind the tile will do. */
enum { ATTN_AHEAD = 8192 };
struct attn_ahead {
    const uint8_t *own, *next;
    size_t own_bytes; /* asked for here */
};
ATTN_INLINE struct attn_ahead attn_ahead_of(const void *own, const void *next, size_t bytes)
{
    const size_t own_bytes = !next ? bytes : bytes > ATTN_AHEAD ? bytes - ATTN_AHEAD : 0;
    return (struct attn_ahead){ own, next, own_bytes };
}
/* What to ask for at byte `at` of the tile. */
ATTN_INLINE const uint8_t *attn_ahead_at(const struct attn_ahead *a, size_t at)
{
    return at < a->own_bytes || !a->next ? a->own + ATTN_AHEAD + at : a->next + (at - a->own_bytes);
}

/* N3: products of two bf16 take subnormals as zero, which vdpbf16ps does by itself. */
#ifdef VF32_HAS_BF16
#define ATTN_FLUSHED(call) call
#else
#define ATTN_FLUSHED(call)                                                                         \
    const uint64_t state = qr_flush_begin();                                                       \
    call;                                                                                          \
    qr_flush_end(state)
#endif

/* 4 * VF32_N 8-bit codes as bf16: the first two and the last two elements of each lane, which is
 * four deep. */
struct codes_pairs {
    vi32 first, last;
};

#endif
