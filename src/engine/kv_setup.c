/* SPDX-License-Identifier: Apache-2.0 */
/* kv_setup.c - creates the KV cache of an engine, with the scales of fp8. */
#include "engine/kv_setup.h"
#include "base/alloc.h"
#include "base/error.h"

quire_status qr_engine_check_kv(const struct quire_engine_params *p, struct quire_error *err)
{
    if (p->kv_scales && !qr_kv_is_fp8(p->k_dtype) && !qr_kv_is_fp8(p->v_dtype))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "kv_scales is given, but the dtypes of the cache are %s and %s, not fp8",
                       quire_kv_dtype_name(p->k_dtype), quire_kv_dtype_name(p->v_dtype));
    if (p->flags & QUIRE_ENGINE_PLAIN_KEYS && p->k_dtype != QUIRE_KV_INT4)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "flags: QUIRE_ENGINE_PLAIN_KEYS, but keys are %s, not int4",
                       quire_kv_dtype_name(p->k_dtype));
    if (p->flags & QUIRE_ENGINE_ROTATE_VALUES && p->v_dtype != QUIRE_KV_INT4)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "flags: QUIRE_ENGINE_ROTATE_VALUES, but values are %s, not int4",
                       quire_kv_dtype_name(p->v_dtype));
    return QUIRE_OK;
}

/* Points the groups of an fp8 cache to their scales in `scales`, which has room for all. */
static quire_status set_kv_scales(const struct qr_kv_setup *setup, float *scales,
                                  struct quire_error *err)
{
    for (uint32_t i = 0; i < setup->n_groups; i++) {
        struct quire_kv_group_config *g = &setup->groups[i];
        const uint32_t n = g->n_layers * g->n_kv_heads;
        QR_TRY(quire_model_kv_scales(setup->model, setup->scales_path, i, g->k_dtype, g->v_dtype,
                                     scales, scales + n, err));
        g->k_scale = scales;
        g->n_k_scales = n;
        if (!(g->flags & QUIRE_KV_LATENT)) {
            g->v_scale = scales + n;
            g->n_v_scales = n;
        }
        scales += 2 * (size_t)n;
    }
    return QUIRE_OK;
}

/* Without QUIRE_KV_TOUCH this reserves address space only. */
static quire_status create_kv_pool(const struct quire_engine *e, const struct qr_kv_setup *setup,
                                   const struct quire_engine_params *p, struct quire_kv_cache **kv,
                                   struct quire_error *err)
{
    const bool lock = p->flags & QUIRE_ENGINE_LOCK_CACHE && !e->dry_run;
    const struct quire_kv_params config = {
        .struct_size = sizeof config,
        .block_size = setup->block_size,
        .groups = setup->groups,
        .n_groups = setup->n_groups,
        .flags = lock ? QUIRE_KV_TOUCH | QUIRE_KV_LOCK : 0,
        .allocator = p->allocator,
        .logger = p->logger,
        .isa = p->isa,
    };
    return quire_kv_create(&config, kv, err);
}

quire_status qr_engine_create_kv(const struct quire_engine *e, const struct qr_kv_setup *setup,
                                 const struct quire_engine_params *p, struct quire_kv_cache **kv,
                                 struct quire_error *err)
{
    size_t n = 0;
    if (!qr_kv_is_fp8(p->k_dtype) && !qr_kv_is_fp8(p->v_dtype))
        return create_kv_pool(e, setup, p, kv, err);
    for (uint32_t i = 0; i < setup->n_groups; i++)
        n += 2 * (size_t)setup->groups[i].n_layers * setup->groups[i].n_kv_heads;
    float *scales = qr_alloc(e->allocator, n, sizeof *scales);
    if (!scales)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu KV scales", n);
    quire_status status = set_kv_scales(setup, scales, err);
    if (status == QUIRE_OK)
        status = create_kv_pool(e, setup, p, kv, err);
    qr_free(e->allocator, scales, n, sizeof *scales);
    return status;
}
