/* SPDX-License-Identifier: Apache-2.0 */
/* mla.c - derives KV groups and attention configurations from latent attention (MLA) dimensions. */
#include "attention/mla.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include <math.h>
#include <stdbool.h>

enum { MAX_HEADS = 65536, MAX_HEAD_SIZE = 1024 };

static quire_status check_size(const char *name, uint32_t value, uint32_t min, uint32_t max,
                               struct quire_error *err)
{
    if (value < min || value > max)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dims.%s is %u, not %u .. %u", name, value, min,
                       max);
    return QUIRE_OK;
}

quire_status qr_mla_read_dims(struct quire_mla_dims *d, const struct quire_mla_dims *dims,
                              struct quire_error *err)
{
    QR_READ_STRUCT(d, dims, v_head_dim, "dims", err);
    QR_TRY(check_size("n_heads", d->n_heads, 1, MAX_HEADS, err));
    QR_TRY(check_size("qk_rope_head_dim", d->qk_rope_head_dim, 0, MAX_HEAD_SIZE - 1, err));
    const uint32_t max = MAX_HEAD_SIZE - d->qk_rope_head_dim;
    QR_TRY(check_size("kv_lora_rank", d->kv_lora_rank, 1, max, err));
    QR_TRY(check_size("qk_nope_head_dim", d->qk_nope_head_dim, 1, max, err));
    return check_size("v_head_dim", d->v_head_dim, 1, MAX_HEAD_SIZE, err);
}

float quire_mla_yarn_mscale(float factor, float mscale)
{
    QR_FP_SCOPE;
    const volatile float f = factor, m = mscale;
    volatile float result = 1;
    if (!(f <= 1)) /* NaN gives NaN */
        result = (float)(0.1 * (double)m * log((double)f) + 1);
    return result;
}

quire_status quire_mla_kv_group(const struct quire_mla_dims *dims, enum quire_kv_dtype dtype,
                                uint32_t n_layers, uint32_t n_blocks,
                                struct quire_kv_group_config *out, struct quire_error *err)
{
    struct quire_mla_dims d;
    QR_TRY(qr_mla_read_dims(&d, dims, err));
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = (struct quire_kv_group_config){ .n_layers = n_layers,
                                           .n_kv_heads = 1,
                                           .head_size = d.kv_lora_rank + d.qk_rope_head_dim,
                                           .v_head_size = d.kv_lora_rank,
                                           .k_dtype = dtype,
                                           .v_dtype = dtype,
                                           .n_blocks = n_blocks,
                                           .flags = QUIRE_KV_LATENT };
    return QUIRE_OK;
}

QR_NOINLINE static quire_status fill_config(const struct quire_mla_dims *dims, float mscale,
                                            bool absorbed, struct quire_attention_config *out,
                                            struct quire_error *err)
{
    struct quire_mla_dims copy;
    const struct quire_mla_dims *d = &copy;
    QR_TRY(qr_mla_read_dims(&copy, dims, err));
    if (!isfinite(mscale) || mscale <= 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "mscale %g is not finite and above 0",
                       (double)mscale);
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    const uint32_t own = absorbed ? d->kv_lora_rank : d->qk_nope_head_dim;
    const double width = (double)d->qk_nope_head_dim + d->qk_rope_head_dim;
    QR_TRY(qr_struct_check_out(out, QR_SIZE_TO(struct quire_attention_config, relative_range),
                               "out", err));
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, d->n_heads, absorbed ? 1 : d->n_heads,
                                own + d->qk_rope_head_dim);
    c.v_head_size = absorbed ? d->kv_lora_rank : d->v_head_dim;
    c.scale = (float)((double)mscale * (double)mscale / sqrt(width));
    qr_struct_write(out, &c, sizeof c);
    return QUIRE_OK;
}

quire_status quire_mla_absorbed_config(const struct quire_mla_dims *dims, float mscale,
                                       struct quire_attention_config *out, struct quire_error *err)
{
    QR_FP_SCOPE;
    return fill_config(dims, mscale, true, out, err);
}

quire_status quire_mla_expanded_config(const struct quire_mla_dims *dims, float mscale,
                                       struct quire_attention_config *out, struct quire_error *err)
{
    QR_FP_SCOPE;
    return fill_config(dims, mscale, false, out, err);
}

QR_DEFINE_ZERO_INIT(quire_mla_dims)
QR_DEFINE_ZERO_INIT(quire_mla_args)
