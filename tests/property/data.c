/* SPDX-License-Identifier: Apache-2.0 */
/* data.c - queries, keys and values of a problem, and their expected values in the cache. */
#include "problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *zeros(size_t n, size_t size) { return calloc(n ? n : 1, size); }

float *data_values(struct rng *r, size_t n, float amplitude)
{
    float *x = zeros(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = rng_float(r, -amplitude, amplitude);
    return x;
}

static float *draw_scale_values(struct rng *r, uint32_t n)
{
    float *x = zeros(n, sizeof *x);
    for (uint32_t i = 0; i < n; i++)
        x[i] = rng_float(r, 0.004f, 0.3f);
    return x;
}

/* Quantizes and dequantizes an int8 row: integers times amax / 127. */
static void round_int8(double *cached, const float *row, uint32_t size)
{
    float amax = 0;
    for (uint32_t i = 0; i < size; i++)
        amax = fmaxf(amax, fabsf(row[i]));
    const float scale = amax / 127, inverse = amax > 0 ? 127 / amax : 0;
    for (uint32_t i = 0; i < size; i++)
        cached[i] = nearbyint((double)(row[i] * inverse)) * (double)scale;
}

/* Rows [n][kv heads][size] after quantization by the cache. Also copies the shared prefix to the
 * rows of all sequences. */
static double *cached_rows(struct problem *s, float *rows, uint32_t size, enum quire_kv_dtype dtype,
                           const float *scales, uint32_t n_scales, bool rotated)
{
    const size_t heads = s->config.n_kv_heads, width = heads * size;
    const bool scaled = dtype == QUIRE_KV_FP8_E4M3 || dtype == QUIRE_KV_FP8_E5M2;
    double *cached = zeros(s->n_keys * width, sizeof *cached);
    for (uint32_t i = 1; i < s->n_seqs; i++)
        memcpy(rows + s->seqs[i].key * width, rows, s->seqs[i].shared * width * sizeof *rows);
    for (size_t at = 0; at < s->n_keys * width; at++) {
        const size_t head = at / size % heads;
        const size_t index = n_scales <= 1             ? 0
                             : n_scales == s->n_layers ? s->layer
                                                       : s->layer * heads + head;
        const float scale = scaled && n_scales ? scales[index] : 1;
        rows[at] = (float)number_round(s->write_dtype, (double)rows[at]);
        if (dtype != QUIRE_KV_INT4)
            cached[at] = number_round(dtype, (double)(rows[at] / scale)) * (double)scale;
    }
    for (size_t at = 0; dtype == QUIRE_KV_INT8 && at < s->n_keys * width; at += size)
        round_int8(cached + at, rows + at, size);
    for (size_t at = 0; dtype == QUIRE_KV_INT4 && at < s->n_keys * width; at += size)
        int4_round(cached + at, rows + at, size, rotated);
    return cached;
}

/* int8 queries get scales that give them the magnitude of the other types. */
static void draw_queries(struct problem *s, struct rng *r)
{
    const struct quire_attention_config *c = &s->config;
    const size_t rows = (size_t)s->n_rows * c->n_heads, n = rows * c->head_size;
    const bool int8 = s->q_dtype == QUIRE_KV_INT8;
    s->q = data_values(r, n, int8 ? 127.4f : rng_percent(r, 80) ? 1.5f : 4);
    for (size_t i = 0; i < n; i++)
        s->q[i] = (float)number_round(s->q_dtype, (double)s->q[i]);
    s->q_scale = int8 ? zeros(rows, sizeof *s->q_scale) : NULL;
    for (size_t i = 0; int8 && i < rows; i++)
        s->q_scale[i] = rng_float(r, 0.004f, 0.02f);
}

void data_draw(struct problem *s, struct rng *r)
{
    const struct quire_attention_config *c = &s->config;
    draw_queries(s, r);
    s->k = data_values(r, (size_t)s->n_keys * c->n_kv_heads * c->head_size, 2);
    s->v = data_values(r, (size_t)s->n_keys * c->n_kv_heads * s->v_size, 2);
    s->k_scale = draw_scale_values(r, s->n_k_scales);
    s->v_scale = draw_scale_values(r, s->n_v_scales);
    s->k_cached = cached_rows(s, s->k, c->head_size, s->k_dtype, s->k_scale, s->n_k_scales,
                              s->rotation & QUIRE_KV_ROTATE_K);
    s->v_cached = cached_rows(s, s->v, s->v_size, s->v_dtype, s->v_scale, s->n_v_scales,
                              s->rotation & QUIRE_KV_ROTATE_V);
    for (size_t i = 0; s->latent && i < (size_t)s->n_keys * c->n_kv_heads; i++)
        memcpy(s->v_cached + i * s->v_size, s->k_cached + i * c->head_size,
               s->v_size * sizeof *s->v_cached);
    for (size_t i = 0; i < (size_t)s->n_keys * c->n_kv_heads * s->v_size; i++)
        s->max_v = fmax(s->max_v, fabs(s->v_cached[i]));
}
