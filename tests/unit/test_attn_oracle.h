/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_oracle.h - attention in double precision over the contents of the pool. */
#ifndef QUIRE_TEST_ATTN_ORACLE_H
#define QUIRE_TEST_ATTN_ORACLE_H
#include "test_attn.h"

static inline double round_bf16(double x, bool on)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof f);
    return on ? (double)f : x;
}

/* Keys and values of a problem as stored in the pool, read through the public API;
 * [n_keys][kv heads][size]. Keys in no sparse block list are not read. */
static inline void read_back(const struct problem *s, float *k, float *v)
{
    const struct variant r = variant_whole(s);
    struct testbed st;
    testbed_open(&st, s, &r);
    for (uint32_t i = 0; i < st.n; i++)
        for (uint32_t t = 0; t < s->key_len[st.seq[i]]; t++) {
            if (!problem_lists_key(s, st.seq[i], t))
                continue;
            const size_t row = (size_t)(s->key_first[st.seq[i]] + t) * s->config.n_kv_heads;
            const int64_t slot =
                (int64_t)st.table[i * st.max_blocks + t / r.block_size] * r.block_size +
                t % r.block_size;
            const struct quire_kv_read_args args = { .struct_size = sizeof args,
                                                     .k = k + row * s->config.head_size,
                                                     .v = v + row * problem_v_size(s),
                                                     .slots = &slot,
                                                     .n_tokens = 1 };
            must(quire_kv_read(st.kv, &args, &err));
        }
    testbed_close(&st);
}

/* Position of token `at` of a sequence, as a query or as a key of its own sequence. */
static inline uint32_t position(const struct problem *s, uint32_t seq, uint32_t at)
{
    const uint32_t first = s->len[seq] - s->n_tree[seq];
    if (!s->has_tree || at < first)
        return at;
    uint32_t above = 0;
    for (uint32_t j = 0; j < at - first; j++)
        above += s->tree[seq][at - first] >> j & 1;
    return first + above;
}

static inline bool in_one_span(const struct problem *s, uint32_t seq, uint32_t q, uint32_t k)
{
    for (uint32_t i = 0; i < s->n_spans[seq]; i++) {
        const int64_t begin = s->spans[seq][i].begin, end = s->spans[seq][i].end;
        if (q >= begin && q < end && k >= begin && k < end)
            return true;
    }
    return false;
}

/* Whether the query of token q sees key k. */
static inline bool sees(const struct problem *s, uint32_t seq, uint32_t kv_head, uint32_t q_token,
                        uint32_t k_token)
{
    const struct quire_attention_config *c = &s->config;
    const bool self = c->kind != QUIRE_ATTENTION_CROSS;
    const uint32_t first = s->len[seq] - s->n_tree[seq];
    const bool drafted = self && s->has_tree && k_token >= first;
    const uint32_t q = position(s, seq, q_token), k = self ? position(s, seq, k_token) : k_token;
    if (s->has_lists && !s->listed[seq][kv_head][k_token / PROBLEM_LIST_BLOCK])
        return false;
    if (drafted && !(s->tree[seq][q_token - first] >> (k_token - first) & 1))
        return false;
    if (self && in_one_span(s, seq, q, k))
        return true;
    if (c->causal && !drafted && k > q)
        return false;
    if (c->window_left >= 0 && (int64_t)k < (int64_t)q - c->window_left)
        return false;
    if (c->chunk_size && q / c->chunk_size != k / c->chunk_size)
        return false;
    return c->window_right < 0 || (int64_t)k <= (int64_t)q + c->window_right;
}

/* Computes out [v size] and the LSE of token `row` and one head. */
static inline double oracle_row(const struct problem *s, const float *k, const float *v,
                                uint32_t seq, uint32_t row, uint32_t head, double *out)
{
    const struct quire_attention_config *c = &s->config;
    const uint32_t kv_head = head / (c->n_heads / c->n_kv_heads), dv = problem_v_size(s);
    const bool native = c->compute == QUIRE_COMPUTE_NATIVE && s->k_dtype != QUIRE_KV_F32 &&
                        s->k_dtype != QUIRE_KV_F16;
    const float *q = s->q + ((size_t)(s->first[seq] + row) * c->n_heads + head) * c->head_size;
    const bool self = c->kind != QUIRE_ATTENTION_CROSS;
    double *score = malloc((s->key_len[seq] + 1) * sizeof *score), top = -INFINITY, sum = 0;
    for (uint32_t t = 0; t < s->key_len[seq]; t++) {
        const float *key =
            k + ((size_t)(s->key_first[seq] + t) * c->n_kv_heads + kv_head) * c->head_size;
        double x = 0;
        for (uint32_t d = 0; d < c->head_size; d++)
            x += round_bf16(q[d], native) * (double)key[d];
        x *= c->scale;
        const int64_t distance = (int64_t)(self ? position(s, seq, t) : t) - position(s, seq, row);
        if (c->logits_soft_cap > 0)
            x = c->logits_soft_cap * tanh(x / c->logits_soft_cap);
        if (c->alibi_slopes)
            x += (double)c->alibi_slopes[head] * (double)distance;
        if (c->relative_bias) {
            const int64_t range = c->relative_range, d = distance;
            x += (double)c->relative_bias[head * (2 * range + 1) + range +
                                          (d < -range  ? -range
                                           : d > range ? range
                                                       : d)];
        }
        score[t] = sees(s, seq, kv_head, row, t) ? x : -INFINITY;
        top = score[t] > top ? score[t] : top;
    }
    memset(out, 0, dv * sizeof *out);
    for (uint32_t t = 0; t < s->key_len[seq]; t++) {
        const float *value = v + ((size_t)(s->key_first[seq] + t) * c->n_kv_heads + kv_head) * dv;
        const double p = score[t] == -INFINITY ? 0 : exp(score[t] - top);
        sum += p;
        for (uint32_t d = 0; d < dv && p > 0; d++)
            out[d] += p * (double)value[d];
    }
    free(score);
    const double all = sum + (c->sinks && sum > 0 ? exp((double)c->sinks[head] - top) : 0);
    for (uint32_t d = 0; d < dv; d++)
        out[d] = sum > 0 ? out[d] / all : 0;
    return sum > 0 ? top + log(sum) : -INFINITY;
}

static inline void check_oracle(const struct problem *s, const struct result *r)
{
    const uint32_t h = s->config.n_heads, dv = problem_v_size(s);
    const bool native = s->config.compute == QUIRE_COMPUTE_NATIVE &&
                        ((s->k_dtype != QUIRE_KV_F32 && s->k_dtype != QUIRE_KV_F16) ||
                         (s->v_dtype != QUIRE_KV_F32 && s->v_dtype != QUIRE_KV_F16));
    /* queries and weights of int4 have 8 bits */
    const bool int4 = s->config.compute == QUIRE_COMPUTE_NATIVE &&
                      (s->k_dtype == QUIRE_KV_INT4 || s->v_dtype == QUIRE_KV_INT4);
    const size_t n_keys = (size_t)s->n_keys * s->config.n_kv_heads;
    float *k = calloc(n_keys * s->config.head_size + 1, sizeof *k);
    float *v = calloc(n_keys * dv + 1, sizeof *v);
    double *out = malloc(dv * sizeof *out), max_v = 0;
    read_back(s, k, v);
    for (size_t i = 0; i < n_keys * dv; i++)
        max_v = fmax(max_v, fabs((double)v[i]));
    for (uint32_t i = 0; i < s->n_seqs; i++)
        for (uint32_t pos = s->has_tree ? s->len[i] - s->n_tree[i] : 0; pos < s->len[i];
             pos += 1 + (s->has_tree ? s->n_tree[i] : s->len[i]) / 23)
            for (uint32_t j = 0; j < h; j++) {
                const double lse = oracle_row(s, k, v, i, pos, j, out);
                const size_t row = (size_t)(s->first[i] + pos) * h + j;
                if (lse != (double)r->lse[row] &&
                    !(fabs(lse - (double)r->lse[row]) <= (int4 ? 5e-2 : 1e-4)))
                    fail_msg("sequence %u row %u head %u: lse %g, not %g", i, pos, j,
                             (double)r->lse[row], lse);
                for (uint32_t d = 0; d < dv; d++)
                    if (!(fabs(out[d] - (double)r->out[row * dv + d]) <= (int4     ? 3e-2
                                                                          : native ? 4e-3
                                                                                   : 2e-5) *
                                                                             max_v))
                        fail_msg("sequence %u row %u head %u: out[%u] %g, not %g", i, pos, j, d,
                                 (double)r->out[row * dv + d], out[d]);
            }
    free(k), free(v), free(out);
}

#endif
