/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - from the final softmax states of an item's rows to out and LSE. */
#include "attention/convert.h"
#include "attention/run.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Factor of a row's accumulators: v_scale over the softmax sum, in which the sink takes part. m and
 * l are in powers of two. */
static float normaliser(const struct qr_run *run, uint32_t head, float m, float l)
{
    const float *sinks = run->call->config->sinks;
    if (!sinks)
        return run->v_scale / l;
    const float sink = fminf(sinks[head] * 1.44269504f, FLT_MAX), top = sink > m ? sink : m;
    const float own = exp2f(m - top);
    return run->v_scale * own / (l * own + exp2f(sink - top));
}

/* Uses up the accumulators. */
void qr_rows_store(const struct qr_run *run, const struct qr_state *st)
{
    const struct quire_attention_args *a = &run->call->args;
    const struct qr_plan_scratch *s = &run->call->scratch;
    const uint32_t ratio = run->call->group->ratio;
    const size_t bytes = qr_out_bytes(a->out_dtype);
    const bool narrow = a->out_dtype != QUIRE_KV_F32;
    const struct qr_kernels *k = run->call->group->table;
    for (uint32_t r = 0; r < run->n_rows; r++) {
        const uint32_t at = run->item->row + r, token = run->seq->first_token + at / ratio;
        const uint32_t head = run->item->kv_head * ratio + at % ratio;
        float *o = st->o + (size_t)r * run->v_width;
        const bool seen = st->l[r] != 0;
        if (seen)
            k->scale(o, normaliser(run, head, st->m[r], st->l[r]), run->v_size);
        else
            memset(o, 0, run->v_size * sizeof *o);
        if (narrow)
            qr_out_narrow(k, a->out_dtype, s->raw, o, a->out_scale, run->v_size);
        memcpy((unsigned char *)a->out +
                   (token * a->out_token_stride + head * a->out_head_stride) * bytes,
               narrow ? s->raw : (void *)o, run->v_size * bytes); /* rows may be misaligned */
        if (a->lse) {
            const double ln2 = 0.69314718055994530942;
            const float lse =
                seen ? (float)((st->m[r] + log2((double)st->l_exact[r])) * ln2) : -INFINITY;
            memcpy(a->lse + token * a->lse_token_stride + head, &lse, sizeof lse);
        }
    }
}
