/* SPDX-License-Identifier: Apache-2.0 */
/* kv_setup.h - creates the KV cache of an engine, with the scales of fp8. */
#ifndef QR_ENGINE_KV_SETUP_H
#define QR_ENGINE_KV_SETUP_H
#include "engine/capacity.h"
#include "engine/types.h"

static inline bool qr_kv_is_fp8(enum quire_kv_dtype dtype)
{
    return dtype == QUIRE_KV_FP8_E4M3 || dtype == QUIRE_KV_FP8_E5M2;
}

/* Checks that kv_scales and the flags about rotation suit the dtypes of the cache. */
quire_status qr_engine_check_kv(const struct quire_engine_params *p, struct quire_error *err);

/* KV cache of one model. */
struct qr_kv_setup {
    const struct quire_model *model;
    struct quire_kv_group_config
        *groups; /* [n_groups] with block counts and dtypes; this sets their
                                           * scales, valid during the call */
    uint32_t n_groups, block_size;
    const char *scales_path; /* as kv_scales of the engine's parameters */
};

/* Creates a KV cache. In a dry run and without QUIRE_KV_TOUCH this reserves address space only. */
quire_status qr_engine_create_kv(const struct quire_engine *e, const struct qr_kv_setup *setup,
                                 const struct quire_engine_params *p, struct quire_kv_cache **kv,
                                 struct quire_error *err);

#endif
