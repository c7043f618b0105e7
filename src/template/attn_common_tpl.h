/* SPDX-License-Identifier: Apache-2.0 */
/* attn_common_tpl.h - shared by the attention templates. Needs a vec_*.h, vec_math.h, QR_ISA. */
#ifndef QR_TEMPLATE_ATTN_COMMON_TPL_H
#define QR_TEMPLATE_ATTN_COMMON_TPL_H
#include "simd/flush.h"
#include "simd/prefetch.h"
#include "template/common_tpl.h"
#include <string.h>

#ifndef VEC_BROADCAST_AT
#define VEC_BROADCAST_AT(p) ((void)(p))
#endif

enum {
    ATTN_VECS = 16 / VF32_N, /* vectors of a unit of 16 lanes */
    /* largest number of rows and units of a register tile */
    ATTN_ROWS = QR_INSTRUMENTED ? 2 : 6,
    ATTN_UNITS = VF32_N * VF32_REGS < 256         ? 1
                 : VF32_N < 16 || QR_INSTRUMENTED ? 2
                                                  : 4,
};

QR_INLINE float attn_f32_at(const uint8_t *p)
{
    float x;
    VEC_BROADCAST_AT(p);
    memcpy(&x, p, sizeof x);
    return x;
}

/* Broadcasts the bf16 pair at p. */
QR_INLINE vi32 attn_bits_at(const uint8_t *p)
{
    int32_t x;
    VEC_BROADCAST_AT(p);
    memcpy(&x, p, sizeof x);
    return vi32_set1(x);
}

/* Mask of the halves of a lane: both (3), the even (1) or the odd (2) one. */
QR_INLINE vi32 attn_seen_mask(uint64_t seen)
{
    return vi32_set1(seen == 3 ? -1 : seen == 1 ? 0xffff : (int32_t)0xffff0000);
}

/* Prefetch of keys and values, which a tile reads in the order of memory. Each line is prefetched
 * KV_PREFETCH_L1_BYTES before its use: first the remaining lines of the tile itself (`own_bytes`
 * from `own` + KV_PREFETCH_L1_BYTES on), then those from `next` on. Without `next`, the bytes
 * behind the tile are prefetched instead. */
struct attn_prefetch {
    const uint8_t *own, *next;
    size_t own_bytes;
    bool l2;
};
QR_INLINE struct attn_prefetch attn_prefetch_plan(const void *own, const void *next, bool next_l2,
                                                  size_t bytes)
{
    const bool l2 = next_l2 && VF32_N >= 16; /* shorter vectors: not faster than L1 delivers */
    const size_t own_bytes = !next                          ? bytes
                             : bytes > KV_PREFETCH_L1_BYTES ? bytes - KV_PREFETCH_L1_BYTES
                                                            : 0;
    return (struct attn_prefetch){ own, next, own_bytes, l2 };
}
/* What to prefetch while byte `at` of the tile is read. */
QR_INLINE struct kv_ahead attn_prefetch_at(const struct attn_prefetch *a, size_t at)
{
    const bool own = at < a->own_bytes || !a->next;
    return (struct kv_ahead){ own ? a->own + KV_PREFETCH_L1_BYTES + at
                                  : a->next + (at - a->own_bytes),
                              a->l2 };
}

/* Calls a function in which denormals count as zero (N3). vdpbf16ps needs no mode for that. */
#ifdef VF32_HAS_BF16
#define ATTN_FLUSHED(call) call
#else
#define ATTN_FLUSHED(call)                                                                         \
    const uint64_t state = qr_flush_begin();                                                       \
    call;                                                                                          \
    qr_flush_end(state)
#endif

#endif
