/* SPDX-License-Identifier: Apache-2.0 */
/* sinks.h - attention sinks of a layer, in any of their dtypes. */
#ifndef QR_ATTENTION_SINKS_H
#define QR_ATTENTION_SINKS_H
#include "base/half.h"
#include <math.h>
#include <quire/kv_cache.h>
#include <stdbool.h>

/* [n_heads] values; NULL = no sinks. */
struct qr_sinks {
    const void *values;
    enum quire_kv_dtype dtype;
};

/* The sinks of a configuration or of a merge, which has them in one of two members. */
static inline struct qr_sinks qr_sinks_of(const float *sinks, const void *typed_sinks,
                                          enum quire_kv_dtype dtype)
{
    return sinks ? (struct qr_sinks){ sinks, QUIRE_KV_F32 }
                 : (struct qr_sinks){ typed_sinks, dtype };
}

static inline bool qr_sinks_dtype_ok(enum quire_kv_dtype dtype)
{
    return dtype == QUIRE_KV_F32 || dtype == QUIRE_KV_BF16 || dtype == QUIRE_KV_F16;
}

/* The sink of a head, exact in f32. */
static inline float qr_sinks_at(struct qr_sinks s, size_t head)
{
    if (s.dtype == QUIRE_KV_F32)
        return ((const float *)s.values)[head];
    const uint16_t half = ((const uint16_t *)s.values)[head];
    return s.dtype == QUIRE_KV_BF16 ? qr_bf16_to_f32(half) : qr_f16_to_f32(half);
}

/* The first head whose sink is NaN or +inf; n if there is none. */
static inline uint32_t qr_sinks_find_bad(struct qr_sinks s, uint32_t n)
{
    uint32_t head = 0;
    while (head < n && (!s.values || qr_sinks_at(s, head) < INFINITY))
        head++;
    return head;
}

#endif
