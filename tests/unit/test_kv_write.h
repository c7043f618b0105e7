/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_write.h - random rows for tests of writing and reading. */
#ifndef QUIRE_TEST_KV_WRITE_H
#define QUIRE_TEST_KV_WRITE_H
#include "test_kv.h"

enum { TOKENS = 37, MAX_ROW = 2 * 128 };

struct rows {
    float k[TOKENS * MAX_ROW], v[TOKENS * MAX_ROW];
};

/* Random rows that the dtypes represent exactly. */
static inline void exact_rows(struct rows *r, enum quire_kv_dtype kt, size_t kd,
                              enum quire_kv_dtype vt, size_t vd)
{
    kv_exact_rows(kt, r->k, COUNT(r->k) / kd, kd);
    kv_exact_rows(vt, r->v, COUNT(r->v) / vd, vd);
}

static inline void random_rows(struct rows *r) { exact_rows(r, QUIRE_KV_F32, 1, QUIRE_KV_F32, 1); }

static inline struct quire_kv_write_args write_of(uint32_t layer, const struct rows *r,
                                                  const int64_t *slots, size_t n)
{
    return (struct quire_kv_write_args){ .struct_size = sizeof(struct quire_kv_write_args),
                                         .layer = layer,
                                         .k = r->k,
                                         .v = r->v,
                                         .slot_mapping = slots,
                                         .n_tokens = n };
}

static inline struct quire_kv_read_args read_of(uint32_t layer, struct rows *r,
                                                const int64_t *slots, size_t n)
{
    return (struct quire_kv_read_args){ .struct_size = sizeof(struct quire_kv_read_args),
                                        .layer = layer,
                                        .k = r->k,
                                        .v = r->v,
                                        .slots = slots,
                                        .n_tokens = n };
}

static struct rows in, out;

#endif
