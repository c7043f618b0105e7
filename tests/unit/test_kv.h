/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv.h - helpers of the KV cache tests. */
#ifndef QUIRE_TEST_KV_H
#define QUIRE_TEST_KV_H
#include "quire_cmocka.h"
#include <quire/kv_cache.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const enum quire_kv_dtype KV_DTYPES[] = {
    QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16, QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E5M2, QUIRE_KV_INT8
};

static uint64_t kv_rng = 1;
static inline uint32_t kv_random(void)
{
    uint64_t z = kv_rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 16);
}
static inline uint32_t kv_below(uint32_t n) { return kv_random() % n; }
/* A value that all dtypes but int8 represent exactly: +-{4, 5, 6, 7} * 2^-5 .. 2^4. The limit is
 * e5m2, with 2 bits of mantissa. */
static inline float kv_exact(void)
{
    const uint32_t r = kv_random();
    const float x = (float)(4 + (r & 3)) * (float)(1 << (r >> 2) % 10) * 0.03125f;
    return r & 1024 ? -x : x;
}
/* A row that dtype, f32, bf16 and f16 represent exactly. For int8: multiples of a power of two,
 * which is the row's scale because the largest magnitude is 127 times it. */
static inline void kv_exact_row(enum quire_kv_dtype dtype, float *x, size_t n)
{
    const float unit = 0.03125f * (float)(1 << kv_below(10));
    for (size_t i = 0; i < n; i++)
        x[i] = dtype == QUIRE_KV_INT8 ? unit * (float)((int)kv_below(255) - 127) : kv_exact();
    if (dtype == QUIRE_KV_INT8)
        x[kv_below((uint32_t)n)] = kv_below(2) ? 127 * unit : -127 * unit;
}
/* n_rows consecutive exact rows. */
static inline void kv_exact_rows(enum quire_kv_dtype dtype, float *x, size_t n_rows, size_t n)
{
    for (size_t i = 0; i < n_rows; i++)
        kv_exact_row(dtype, x + i * n, n);
}

/* A group with 2 layers, 2 KV heads and one dtype. */
static inline struct quire_kv_group_config kv_group(enum quire_kv_dtype dtype, uint32_t head_size,
                                                    uint32_t n_blocks)
{
    return (struct quire_kv_group_config){ .n_layers = 2,
                                           .n_kv_heads = 2,
                                           .head_size = head_size,
                                           .k_dtype = dtype,
                                           .v_dtype = dtype,
                                           .n_blocks = n_blocks };
}

static inline struct quire_kv_cache *kv_make(const struct quire_kv_group_config *groups,
                                             uint32_t n_groups, uint32_t block_size,
                                             const struct quire_allocator *allocator)
{
    const struct quire_kv_params c = { .struct_size = sizeof c,
                                       .block_size = block_size,
                                       .groups = groups,
                                       .n_groups = n_groups,
                                       .allocator = allocator };
    struct quire_kv_cache *kv;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (quire_kv_create(&c, &kv, &err) != QUIRE_OK)
        fail_msg("quire_kv_create: %s", err.msg);
    return kv;
}

/* Allocates n blocks; fails the test otherwise. */
static inline void kv_take(struct quire_kv_cache *kv, uint32_t group, size_t n, int32_t *blocks)
{
    assert_status(QUIRE_OK, quire_kv_alloc(kv, group, -1, n, blocks, NULL));
}

/* n different slots of the given blocks; with_pad: some are QUIRE_SLOT_PAD. */
static inline void kv_random_slots(int64_t *slots, size_t n, const int32_t *blocks, size_t n_blocks,
                                   uint32_t bs, bool with_pad)
{
    for (size_t i = 0; i < n; i++) {
        if (with_pad && kv_below(6) == 0) {
            slots[i] = QUIRE_SLOT_PAD;
            continue;
        }
        bool fresh;
        do {
            slots[i] = (int64_t)blocks[kv_below((uint32_t)n_blocks)] * bs + kv_below(bs);
            fresh = true;
            for (size_t j = 0; j < i; j++)
                fresh &= slots[j] != slots[i];
        } while (!fresh);
    }
}

/* Asserts that the call fails with `code` and a message that contains `text`. */
#define assert_fails(code_, text, call)                                                            \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        assert_status(code_, call);                                                                \
        assert_int_equal(err.code, code_);                                                         \
        if (!strstr(err.msg, text))                                                                \
            fail_msg("%s: message \"%s\" does not name \"%s\"", #call, err.msg, text);             \
    } while (0)

#endif
