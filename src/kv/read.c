/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - reads rows of the cache as f32. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "kv/check.h"
#include "kv/rows.h"
#include <string.h>

struct read_run {
    const struct quire_kv_cache *kv;
    const struct quire_kv_read_args *args;
    struct qr_kv_strides k, v;
};

static quire_status check_args(struct read_run *r, struct quire_error *err)
{
    const struct quire_kv_read_args *a = r->args;
    QR_TRY(qr_kv_check_layer(r->kv, a->group, a->layer, err));
    if (a->n_tokens == 0)
        return QUIRE_OK;
    if (!a->slots)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.slots is NULL");
    const struct qr_kv_group *g = &r->kv->groups[a->group];
    QR_TRY(qr_kv_check_strides("k", a->k_token_stride, a->k_head_stride, a->n_tokens, g->n_kv_heads,
                               (size_t)g->layout.k_size, sizeof(float), &r->k, err));
    QR_TRY(qr_kv_check_strides("v", a->v_token_stride, a->v_head_stride, a->n_tokens, g->n_kv_heads,
                               (size_t)g->layout.v_size, sizeof(float), &r->v, err));
    const uint64_t bs = r->kv->block_size, n_slots = g->n_blocks * bs;
    for (size_t i = 0; i < a->n_tokens; i++) {
        if (a->slots[i] == QUIRE_SLOT_PAD)
            continue;
        if ((uint64_t)a->slots[i] >= n_slots)
            return qr_fail(err, QUIRE_E_RANGE, "slots[%zu] %lld is outside the pool of %llu slots",
                           i, (long long)a->slots[i], (unsigned long long)n_slots);
        QR_TRY(qr_kv_check_block(g, "slots", i, (int32_t)((uint64_t)a->slots[i] / bs), 1,
                                 UINT32_MAX, err));
    }
    return QUIRE_OK;
}

/* Dequantizes n values to `out`, which may be misaligned. rotation: of the group. */
static void store_row(const struct qr_kernels *kernels, const struct qr_kv_dtype *type,
                      const void *codes, float scale, uint32_t rotation, float *out, size_t n)
{
    float buffer[QR_KV_MAX_HEAD_SIZE];
    type->dequantize(kernels, buffer, codes, scale, n);
    if (rotation)
        kernels->hadamard(buffer, rotation, n);
    memcpy(out, buffer, n * sizeof *out);
}

static void read_part(void *arg, const struct quire_team *team)
{
    (void)team;
    const struct read_run *r = arg;
    const struct quire_kv_read_args *a = r->args;
    const struct qr_kv_group *g = &r->kv->groups[a->group];
    const struct qr_kv_layout *l = &g->layout;
    const uint64_t bs = r->kv->block_size;
    struct qr_kv_row codes;
    for (uint32_t head = 0; head < g->n_kv_heads; head++) {
        float k_scale = qr_kv_k_scale(r->kv, a->group, a->layer, head);
        float v_scale = qr_kv_v_scale(r->kv, a->group, a->layer, head);
        for (size_t t = 0; t < a->n_tokens; t++) {
            if (a->slots[t] == QUIRE_SLOT_PAD)
                continue;
            const uint64_t slot = (uint64_t)a->slots[t];
            const unsigned char *block =
                qr_kv_block(r->kv, a->group, a->layer, head, (int32_t)(slot / bs));
            if (a->k) {
                qr_kv_get_k(l, block, (int)(slot % bs), codes.bytes, &k_scale);
                store_row(r->kv->kernels, l->k_type, codes.bytes, k_scale, g->k_rotation,
                          a->k + t * r->k.token + head * r->k.head, (size_t)l->k_size);
            }
            if (a->v) {
                qr_kv_get_v(l, block, (int)(slot % bs), codes.bytes, &v_scale);
                store_row(r->kv->kernels, l->v_type, codes.bytes, v_scale, g->v_rotation,
                          a->v + t * r->v.token + head * r->v.head, (size_t)l->v_size);
            }
        }
    }
}

quire_status quire_kv_read(const struct quire_kv_cache *kv, const struct quire_kv_read_args *args,
                           struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_kv_read_args a;
    QR_READ_STRUCT(&a, args, n_tokens, "args", err);
    struct read_run run = { .kv = kv, .args = &a };
    QR_TRY(check_args(&run, err));
    if (a.n_tokens)
        qr_part_call(read_part, &run, &(struct quire_team){ .rank = 0, .size = 1 });
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_kv_read_args)
