/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - epilogue: normalizes softmax states and stores out and LSE. */
#include "attention/store.h"
#include "attention/convert.h"
#include "attention/sinks.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Factor of a row's accumulators: v_scale over the softmax sum, the attention sink included. m is a
 * base-2 exponent. */
static float normalizer(const struct qr_tile_ctx *ctx, uint32_t head, float m, float l)
{
    const struct quire_attention_config *c = ctx->config;
    const struct qr_sinks sinks = qr_sinks_of(c->sinks, c->typed_sinks, c->sinks_dtype);
    if (!sinks.values)
        return ctx->v_scale / l;
    /* the product exceeds the range of f32 from 2.4e38 on, and inf - inf would be NaN below */
    const float sink = fminf(qr_sinks_at(sinks, head) * 1.44269504f, FLT_MAX),
                top = sink > m ? sink : m;
    const float own = exp2f(m - top);
    return ctx->v_scale * own / (l * own + exp2f(sink - top));
}

void qr_store_rows(const struct qr_tile_ctx *ctx, const struct qr_softmax_state *st)
{
    const struct quire_attention_args *a = &ctx->call->args;
    const struct qr_thread_scratch *s = ctx->scratch;
    const uint32_t ratio = ctx->gqa_ratio;
    const size_t bytes = qr_out_bytes(a->out_dtype);
    const bool convert = a->out_dtype != QUIRE_KV_F32;
    const struct qr_kernels *k = ctx->kernel_table;
    const uint32_t rotation = ctx->call->group->kv->v_rotation;
    for (uint32_t r = 0; r < ctx->n_rows; r++) {
        const uint32_t at = ctx->item->row + r, token = ctx->seq->first_token + at / ratio;
        const uint32_t head = ctx->item->kv_head * ratio + at % ratio;
        float *o = st->o + (size_t)r * ctx->v_width;
        const bool seen = st->l[r] != 0;
        if (seen)
            k->scale(o, normalizer(ctx, head, st->m[r], st->l[r]), ctx->v_size);
        else
            memset(o, 0, ctx->v_size * sizeof *o);
        if (rotation && seen)
            k->hadamard(o, rotation, ctx->v_size);
        if (convert)
            qr_out_from_f32(k, a->out_dtype, s->raw, o, a->out_scale, ctx->v_size);
        memcpy((unsigned char *)a->out +
                   (token * a->out_token_stride + head * a->out_head_stride) * bytes,
               convert ? s->raw : (void *)o, ctx->v_size * bytes); /* rows may be misaligned */
        if (a->lse) {
            const double ln2 = 0.69314718055994530942;
            const float lse =
                seen ? (float)((st->m[r] + log2((double)st->l_exact[r])) * ln2) : -INFINITY;
            memcpy(a->lse + token * a->lse_token_stride + head, &lse, sizeof lse);
        }
    }
}
