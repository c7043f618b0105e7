/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - runs attention: copies queries to the call's tensors and results out of them. */
#include "testbed.h"
#include <stdlib.h>
#include <string.h>

/* A tensor [rows][heads][width] of the call, contiguous or with gaps. */
struct tensor {
    unsigned char *memory, *data;
    enum quire_kv_dtype dtype;
    size_t heads, width, token_stride, head_stride, bytes;
};

enum { UNTOUCHED = 0xee };

static struct tensor tensor_new(const struct testbed *st, struct rng *r, size_t heads, size_t width,
                                enum quire_kv_dtype dtype)
{
    const bool gaps = st->variant.strided;
    struct tensor t = { .dtype = dtype, .heads = heads, .width = width };
    t.head_stride = width + (gaps && heads > 1 ? rng_below(r, 5) : 0);
    t.token_stride = heads * t.head_stride + (gaps ? rng_below(r, 9) : 0);
    const size_t shift = gaps ? rng_below(r, 64) : 0;
    t.bytes = (st->rows * t.token_stride + 1) * number_size(dtype) + shift;
    t.memory = malloc(t.bytes);
    memset(t.memory, UNTOUCHED, t.bytes);
    t.data = t.memory + shift;
    return t;
}

static void encode(const struct tensor *t, const float *row, unsigned char *at)
{
    const size_t size = number_size(t->dtype);
    if (t->dtype == QUIRE_KV_F32)
        memcpy(at, row, t->width * size);
    for (size_t d = 0; t->dtype != QUIRE_KV_F32 && d < t->width; d++)
        number_encode(t->dtype, (double)row[d], at + d * size);
}

/* Reads one row and resets its bytes to UNTOUCHED. */
static void decode(const struct tensor *t, unsigned char *at, float *row)
{
    const size_t size = number_size(t->dtype);
    if (t->dtype == QUIRE_KV_F32)
        memcpy(row, at, t->width * size);
    for (size_t d = 0; t->dtype != QUIRE_KV_F32 && d < t->width; d++)
        row[d] = (float)number_decode(t->dtype, at + d * size);
    memset(at, UNTOUCHED, t->width * size);
}

/* Copies rows [heads][width] of the part's queries to the tensor (in) or back. */
static void copy_rows(const struct testbed *st, const struct part *p, const struct tensor *t,
                      float *rows, bool in)
{
    for (uint32_t n = 0; n < st->n; n++) {
        const uint32_t i = st->order[n];
        for (uint32_t q = p->from[i]; q < p->to[i]; q++)
            for (size_t h = 0; h < t->heads; h++) {
                const size_t token = (size_t)st->starts[n] + q - p->from[i];
                float *row = rows + ((st->problem->seqs[i].row + q) * t->heads + h) * t->width;
                unsigned char *at = t->data + (token * t->token_stride + h * t->head_stride) *
                                                  number_size(t->dtype);
                if (in)
                    encode(t, row, at);
                else
                    decode(t, at, row);
            }
    }
}

static bool is_untouched(const struct tensor *t)
{
    for (size_t i = 0; i < t->bytes; i++)
        if (t->memory[i] != UNTOUCHED)
            return false;
    return true;
}

static enum quire_kv_dtype query_type(const struct testbed *st)
{
    return st->variant.f32_q && st->problem->q_dtype != QUIRE_KV_INT8 ? QUIRE_KV_F32
                                                                      : st->problem->q_dtype;
}

bool testbed_run(struct testbed *st, const struct part *part, struct result *result)
{
    const struct problem *s = st->problem;
    const struct quire_attention_config *c = &s->config;
    const size_t heads = c->n_heads;
    struct rng r = rng_fork(st->variant.shuffle, 9);
    if (!testbed_batch(st, part))
        return false;
    const struct tensor q = tensor_new(st, &r, heads, c->head_size, query_type(st)),
                        out = tensor_new(st, &r, heads, s->v_size, st->variant.out_dtype),
                        lse = tensor_new(st, &r, 1, heads, QUIRE_KV_F32);
    float *scales = malloc((st->rows + 1) * heads * sizeof *scales);
    const struct tensor scale = {
        (unsigned char *)scales, (unsigned char *)scales, QUIRE_KV_F32, 1, heads, heads, heads, 0
    };
    copy_rows(st, part, &q, s->q, true);
    if (s->q_scale)
        copy_rows(st, part, &scale, s->q_scale, true);
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .layer = s->layer,
                                               .config = st->variant.layer_config ? c : NULL,
                                               .q = q.data,
                                               .q_token_stride = q.token_stride,
                                               .q_head_stride = q.head_stride,
                                               .out = out.data,
                                               .out_token_stride = out.token_stride,
                                               .out_head_stride = out.head_stride,
                                               .lse = st->variant.no_lse
                                                          ? NULL
                                                          : (float *)(void *)lse.data,
                                               .lse_token_stride = lse.token_stride,
                                               .q_dtype = q.dtype,
                                               .q_scale = s->q_scale ? scales : NULL,
                                               .out_dtype = out.dtype,
                                               .out_scale = st->variant.out_scale };
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status = quire_attention_forward(
        st->plan, &args, st->variant.n_threads > 1 ? team_of(st->variant.n_threads) : NULL, &err);
    bool ok = status == QUIRE_OK || failure("quire_attention_forward: %s", err.msg);
    if (ok) {
        copy_rows(st, part, &out, result->out, false);
        if (!st->variant.no_lse)
            copy_rows(st, part, &lse, result->lse, false);
        ok = (is_untouched(&out) && is_untouched(&lse)) ||
             failure("bytes between the rows were written");
    }
    free(q.memory), free(out.memory), free(lse.memory), free(scales);
    return ok;
}
