/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.c - fp8 scales from observed rows of K and V. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/half.h"
#include "base/struct_size.h"
#include "kv/dtype.h"
#include "kv/rows.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Observed rows of K or of V. */
struct rows {
    const char *name; /* argument name, for messages */
    const void *data;
    size_t token_stride, head_stride, width;
    struct qr_kv_strides strides;
    float *amax;
};

struct run {
    const struct quire_kv_calibrate_args *args;
    struct rows k, v;
};

static quire_status check_size(const char *field, uint32_t value, struct quire_error *err)
{
    if (value >= 1 && value <= QR_KV_MAX_HEAD_SIZE)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s %u is not in 1 .. %d", field, value,
                   QR_KV_MAX_HEAD_SIZE);
}

/* Replaces strides of 0 by dense ones. amax may be NULL if data is. */
static quire_status check_rows(const struct quire_kv_calibrate_args *a, struct rows *r,
                               struct quire_error *err)
{
    if (!r->data)
        return QUIRE_OK;
    if (!r->amax)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s_amax is NULL", r->name);
    return qr_kv_check_strides(r->name, r->token_stride, r->head_stride, a->n_tokens, a->n_kv_heads,
                               r->width, qr_kv_dtype(a->dtype)->bytes, &r->strides, err);
}

static quire_status check_args(struct run *run, struct quire_error *err)
{
    const struct quire_kv_calibrate_args *a = run->args;
    if (a->dtype != QUIRE_KV_F32 && a->dtype != QUIRE_KV_BF16 && a->dtype != QUIRE_KV_F16)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.dtype %d is not f32, bf16 or f16",
                       (int)a->dtype);
    if (!a->n_kv_heads)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.n_kv_heads is 0");
    QR_TRY(check_size("head_size", a->head_size, err));
    if (a->v_head_size)
        QR_TRY(check_size("v_head_size", a->v_head_size, err));
    if (!a->n_tokens)
        return QUIRE_OK;
    run->k = (struct rows){ .name = "k",
                            .data = a->k,
                            .token_stride = a->k_token_stride,
                            .head_stride = a->k_head_stride,
                            .width = a->head_size,
                            .amax = run->k.amax };
    run->v = (struct rows){ .name = "v",
                            .data = a->v,
                            .token_stride = a->v_token_stride,
                            .head_stride = a->v_head_stride,
                            .width = a->v_head_size ? a->v_head_size : a->head_size,
                            .amax = run->v.amax };
    QR_TRY(check_rows(a, &run->k, err));
    return check_rows(a, &run->v, err);
}

static float load_element(enum quire_kv_dtype dtype, const unsigned char *p)
{
    uint16_t half;
    float x;
    if (dtype == QUIRE_KV_F32) {
        memcpy(&x, p, sizeof x);
        return x;
    }
    memcpy(&half, p, sizeof half); /* rows may be misaligned */
    return dtype == QUIRE_KV_F16 ? qr_f16_to_f32(half) : qr_bf16_to_f32(half);
}

/* Raises amax[head] to the largest finite magnitude of the rows. */
static void update_amax(const struct quire_kv_calibrate_args *a, const struct rows *r)
{
    const size_t elem = qr_kv_dtype(a->dtype)->bytes;
    for (size_t head = 0; head < a->n_kv_heads; head++)
        for (size_t t = 0; t < a->n_tokens; t++) {
            const unsigned char *row = (const unsigned char *)r->data +
                                       (t * r->strides.token + head * r->strides.head) * elem;
            for (size_t d = 0; d < r->width; d++) {
                const float x = fabsf(load_element(a->dtype, row + d * elem));
                if (x > r->amax[head] && x <= FLT_MAX)
                    r->amax[head] = x;
            }
        }
}

quire_status quire_kv_calibrate(const struct quire_kv_calibrate_args *args, float *k_amax,
                                float *v_amax, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_kv_calibrate_args a;
    QR_READ_STRUCT(&a, args, n_tokens, "args", err);
    struct run run = { .args = &a, .k.amax = k_amax, .v.amax = v_amax };
    QR_TRY(check_args(&run, err));
    if (run.k.data)
        update_amax(&a, &run.k);
    if (run.v.data)
        update_amax(&a, &run.v);
    return QUIRE_OK;
}

/* Scale that maps amax to the type's largest finite value; 1 for types without pool scales. */
static float scale_for(const struct qr_kv_dtype *type, float amax)
{
    if (type->scaling != QR_KV_POOL_SCALE || amax == 0)
        return 1;
    return fmaxf(amax / type->max_finite, FLT_MIN);
}

quire_status quire_kv_calibrate_scales(enum quire_kv_dtype dtype, const float *amax, size_t n_amax,
                                       float *scales, size_t n_scales, struct quire_error *err)
{
    QR_FP_SCOPE;
    const struct qr_kv_dtype *type = qr_kv_dtype(dtype);
    if (!type)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "dtype %d is unknown", (int)dtype);
    if (!amax || !scales)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", amax ? "scales" : "amax");
    if (!n_scales || !n_amax || n_amax % n_scales)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_scales %zu does not divide n_amax %zu",
                       n_scales, n_amax);
    for (size_t i = 0; i < n_amax; i++)
        if (!(amax[i] >= 0 && amax[i] <= FLT_MAX))
            return qr_fail(err, QUIRE_E_INVALID_ARG, "amax[%zu] %g is negative or not finite", i,
                           (double)amax[i]);
    const size_t each = n_amax / n_scales;
    for (size_t i = 0; i < n_scales; i++) {
        float largest = 0;
        for (size_t j = i * each; j < (i + 1) * each; j++)
            largest = fmaxf(largest, amax[j]);
        scales[i] = scale_for(type, largest);
    }
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_kv_calibrate_args)
