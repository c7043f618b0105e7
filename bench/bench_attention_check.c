/* SPDX-License-Identifier: Apache-2.0 */
/* bench_attention_check.c - double-precision attention of sampled rows over the stored keys and
 * values. */
#include "bench_attention_check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 };

/* One query head of one token. */
struct row {
    uint32_t seq, token, head; /* token: index among the query tokens of the sequence */
};

uint32_t attention_visible(const struct attention_case *c, uint32_t position)
{
    const uint32_t window = c->shape->window;
    return window && position + 1 > window ? window : position + 1;
}

/* Reads K, or V if `values`, of positions [from, from + n), all heads, to buffer
 * [n][kv_heads][head_size]. */
static bool read_rows(const struct attention_case *c, uint32_t seq, uint32_t from, uint32_t n,
                      bool values, float *buffer)
{
    int64_t slots[CHUNK];
    if (c->dense) {
        const size_t row = (size_t)c->shape->kv_heads * c->shape->head_size;
        memcpy(buffer, (values ? c->v : c->k) + from * row, n * row * sizeof *buffer);
        return true;
    }
    for (uint32_t i = 0; i < n; i++)
        slots[i] = bench_slot(&c->tables, seq, from + i);
    const struct quire_kv_read_args args = { .struct_size = sizeof args,
                                             .layer = (c->layer + c->n_layers - 1) % c->n_layers,
                                             .k = values ? NULL : buffer,
                                             .v = values ? buffer : NULL,
                                             .slots = slots,
                                             .n_tokens = n };
    return quire_kv_read(c->kv, &args, NULL) == QUIRE_OK;
}

static double score(const struct attention_case *c, const struct row *r, const float *q,
                    const float *k, double distance)
{
    double s = 0;
    for (uint32_t d = 0; d < c->shape->head_size; d++)
        s += (double)q[d] * (double)k[d];
    s *= (double)c->config.scale;
    if (c->shape->soft_cap > 0)
        s = (double)c->shape->soft_cap * tanh(s / (double)c->shape->soft_cap);
    return c->slopes ? s + (double)c->slopes[r->head] * distance : s;
}

/* Computes one output row in double precision. Scratch: weights [sequence length], buffer as
 * read_rows(). */
static bool exact_row(const struct attention_case *c, const struct row *r, double *weights,
                      float *buffer, double *out)
{
    const uint32_t d = c->shape->head_size, kv_heads = c->shape->kv_heads;
    const uint32_t position = (uint32_t)c->lens[r->seq] - c->n_query + r->token, n = position + 1;
    const uint32_t first = n - attention_visible(c, position),
                   kv_head = r->head / (c->shape->heads / kv_heads);
    const float *q =
        c->q + ((size_t)(r->seq * c->n_query + r->token) * c->shape->heads + r->head) * d;
    double max = c->sinks ? (double)c->sinks[r->head] : -INFINITY, sum = 0;
    for (uint32_t at = first; at < n; at += CHUNK) {
        const uint32_t some = n - at < CHUNK ? n - at : CHUNK;
        if (!read_rows(c, r->seq, at, some, false, buffer))
            return false;
        for (uint32_t i = 0; i < some; i++) {
            weights[at + i] = score(c, r, q, buffer + ((size_t)i * kv_heads + kv_head) * d,
                                    (double)at + i - position);
            max = fmax(max, weights[at + i]);
        }
    }
    memset(out, 0, d * sizeof *out);
    for (uint32_t at = first; at < n; at += CHUNK) {
        const uint32_t some = n - at < CHUNK ? n - at : CHUNK;
        if (!read_rows(c, r->seq, at, some, true, buffer))
            return false;
        for (uint32_t i = 0; i < some; i++) {
            const double w = exp(weights[at + i] - max);
            sum += w;
            for (uint32_t k = 0; k < d; k++)
                out[k] += w * (double)buffer[((size_t)i * kv_heads + kv_head) * d + k];
        }
    }
    if (c->sinks)
        sum += exp((double)c->sinks[r->head] - max);
    for (uint32_t k = 0; k < d; k++)
        out[k] /= sum;
    return true;
}

double attention_error(const struct attention_case *c)
{
    enum { SAMPLES = 6 };
    const uint32_t d = c->shape->head_size, tokens = c->n_seqs * c->n_query;
    uint32_t longest = 0;
    for (uint32_t i = 0; i < c->n_seqs; i++)
        longest = (uint32_t)c->lens[i] > longest ? (uint32_t)c->lens[i] : longest;
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): no sequence is empty */
    double *weights = malloc(longest * sizeof *weights), *out = malloc(d * sizeof *out);
    float *buffer = malloc((size_t)CHUNK * c->shape->kv_heads * d * sizeof *buffer);
    double worst = 0, square = 0;
    bool ok = weights && out && buffer;
    for (uint32_t i = 0; ok && i < SAMPLES; i++) {
        const uint32_t token = (uint32_t)((uint64_t)i * (tokens - 1) / (SAMPLES - 1));
        const struct row r = { token / c->n_query, token % c->n_query,
                               i * (c->shape->heads - 1) / (SAMPLES - 1) };
        ok = exact_row(c, &r, weights, buffer, out);
        const float *got = c->out + ((size_t)token * c->shape->heads + r.head) * d;
        for (uint32_t k = 0; ok && k < d; k++) {
            worst = fmax(worst, fabs((double)got[k] - out[k]));
            if (isnan(got[k]))
                ok = false;
            square += out[k] * out[k];
        }
    }
    free(weights), free(out), free(buffer);
    return ok ? worst / sqrt(square / (SAMPLES * d)) : NAN;
}
