/* SPDX-License-Identifier: Apache-2.0 */
/* compress.c - compressed keys (struct qr_shared_kv_config): projections, sums weighted by a
 * softmax over the tokens of a key, norm and RoPE. */
#include "model/forward/compress.h"
#include "base/bump.h"
#include "base/checked.h"
#include "base/threads.h"
#include "linear/batched.h"
#include "model/forward/projection.h"
#include <math.h>
#include <string.h>

static void *take(struct qr_bump *c, size_t n, size_t width, size_t elem)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, elem);
    c->overflow = true;
    return NULL;
}

/* Adds a rate to the ascending list of two. */
static void add_rate(uint32_t rates[2], uint32_t rate)
{
    if (!rate || rates[0] == rate || rates[1] == rate)
        return;
    if (!rates[0])
        rates[0] = rate;
    else
        rates[1] = rate;
}

/* Elements of the largest projection of a token. */
static size_t most_series(const struct qr_model_config *cfg)
{
    return 2 * (size_t)(cfg->head_dim > cfg->index.head_dim ? cfg->head_dim : cfg->index.head_dim);
}

static void reserve_keys(const struct quire_model *model, struct quire_context *ctx,
                         struct qr_bump *c)
{
    const struct qr_model_config *cfg = model->config;
    struct qr_compress_buffers *b = &ctx->compress;
    const size_t rows = ctx->max_rows, heads = cfg->max_heads;
    const size_t threads = ctx->threads ? quire_threads_count(ctx->threads) : 1;
    const size_t series = most_series(cfg);
    b->kv = take(c, rows, series, sizeof *b->kv);
    b->gate = take(c, rows, series, sizeof *b->gate);
    b->keys = take(c, rows, cfg->head_dim, sizeof *b->keys);
    b->att = take(c, rows, heads * cfg->head_dim, sizeof *b->att);
    b->lse = take(c, rows, heads, sizeof *b->lse);
    b->window_lse = take(c, rows, heads, sizeof *b->window_lse);
    b->words = ((size_t)ctx->max_seq_len + 63) / 64;
    b->bits = take(c, rows, b->words, sizeof *b->bits);
    b->scratch = take(c, threads, series, sizeof *b->scratch);
    memset(b->rates, 0, sizeof b->rates);
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        add_rate(b->rates, cfg->layers[i].compress_rate);
    for (int k = 0; k < 2; k++) {
        const struct qr_rope_config *rope = &cfg->rope[1];
        float *memory = take(c, qr_rope_table_floats(rope, rows), 1, sizeof *memory);
        if (memory)
            qr_rope_table_init(&b->starts[k], rope, rows, memory);
    }
}

void qr_compress_reserve(const struct quire_model *model, struct quire_context *ctx,
                         struct qr_bump *c)
{
    const struct qr_model_config *cfg = model->config;
    struct qr_compress_buffers *b = &ctx->compress;
    size_t bytes = 0;
    if (!cfg->shared_kv.o_groups)
        return;
    b->q_a = take(c, ctx->max_rows, cfg->mla.q_lora_rank, sizeof *b->q_a);
    b->low = take(c, ctx->max_rows, (size_t)cfg->shared_kv.o_groups * cfg->shared_kv.o_rank,
                  sizeof *b->low);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        size_t n;
        if (!qr_batched_act_bytes(model->layers[i].experts[QR_W_ATTN_O_A][0], model->compute,
                                  model->kernels, cfg->shared_kv.o_groups, ctx->max_rows, &n))
            n = SIZE_MAX; /* makes the allocation fail */
        bytes = n > bytes ? n : bytes;
    }
    b->act_memory = take(c, bytes, 1, 1);
    if (model->compress_group >= 0)
        reserve_keys(model, ctx, c);
}

static bool ends_key(const struct qr_step *s, size_t r, uint32_t rate)
{
    return s->ctx->positions[r] % rate == rate - 1;
}

void qr_compress_rope_row(const struct qr_step *s, size_t r)
{
    struct qr_compress_buffers *b = &s->ctx->compress;
    for (int k = 0; k < 2; k++)
        if (b->rates[k] && ends_key(s, r, b->rates[k]))
            qr_rope_table_row(&b->starts[k], r, s->ctx->positions[r] + 1 - b->rates[k],
                              s->ctx->lengths[r]);
}

/* ---- One key */

/* Keys of one kind in a layer. */
struct pool {
    const struct qr_step *s;
    enum qr_weight_role to_kv, to_gate, bias, norm;
    uint32_t rate;
    bool overlap;
    size_t dim, series; /* elements of a key, and of a projection */
    const struct qr_model_layer *layer;
    const struct qr_rope_table *starts;
    size_t ring; /* offset in the state */
    float *out;  /* [rows][dim] */
};

/* Tokens whose projections are kept. */
static uint32_t ring_rows(const struct pool *p) { return p->overlap ? 2 * p->rate : p->rate; }

/* The projections (kv, then gate) of a token in the state. */
static float *ring_row(const struct pool *p, const struct qr_state_run *run, uint32_t position)
{
    return run->state + p->ring + (size_t)(position % ring_rows(p)) * 2 * p->series;
}

struct token {
    const float *kv, *gate, *bias;
};

/* The projections of a token of the sequence, from the step or the state, with the part that starts
 * at element `first` of the series. */
static struct token token_at(const struct pool *p, const struct qr_state_run *run,
                             uint32_t position, size_t first)
{
    const struct qr_compress_buffers *b = &p->s->ctx->compress;
    const uint32_t begin = p->s->ctx->positions[run->row];
    struct token t;
    if (position >= begin) {
        const size_t row = run->row + (position - begin);
        t.kv = b->kv + row * p->series + first;
        t.gate = b->gate + row * p->series + first;
    } else {
        t.kv = ring_row(p, run, position) + first;
        t.gate = t.kv + p->series;
    }
    t.bias = p->layer->vec[p->bias] + position % p->rate * p->series + first;
    return t;
}

/* Token number j of the key whose last token is at `last`. With overlap, the first half of them are
 * the tokens of the key before, with the first series of their projections. */
static struct token key_token(const struct pool *p, const struct qr_state_run *run, uint32_t last,
                              uint32_t j)
{
    const uint32_t position = last + 1 - p->rate + j - (p->overlap ? p->rate : 0);
    const size_t first = p->overlap && j >= p->rate ? p->dim : 0;
    return token_at(p, run, position, first);
}

/* keys[c] = sum_j softmax_j(gate_j + bias_j)[c] kv_j[c]; scratch: [2 * dim] */
static void pool_row(const struct pool *p, const struct qr_state_run *run, uint32_t last,
                     float *scratch, float *key)
{
    const uint32_t n = ring_rows(p), begin = p->overlap && last < n - 1 ? p->rate : 0;
    float *most = scratch, *sum = scratch + p->dim;
    for (uint32_t j = begin; j < n; j++) {
        const struct token t = key_token(p, run, last, j);
        for (size_t c = 0; c < p->dim; c++) {
            const float g = t.gate[c] + t.bias[c];
            most[c] = j == begin || g > most[c] ? g : most[c];
        }
    }
    memset(sum, 0, p->dim * sizeof *sum);
    memset(key, 0, p->dim * sizeof *key);
    for (uint32_t j = begin; j < n; j++) {
        const struct token t = key_token(p, run, last, j);
        for (size_t c = 0; c < p->dim; c++) {
            const float w = expf(t.gate[c] + t.bias[c] - most[c]);
            sum[c] += w;
            key[c] += w * t.kv[c];
        }
    }
    for (size_t c = 0; c < p->dim; c++)
        key[c] /= sum[c];
}

/* Row r: the key that ends with its token, or 0. */
static void compute_row(const struct pool *p, const struct qr_state_run *run, size_t r,
                        float *scratch)
{
    const struct quire_context *ctx = p->s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_rope_table *t = p->starts;
    const size_t half = t->rope->dim / 2;
    float *key = p->out + r * p->dim;
    if (!ends_key(p->s, r, p->rate)) {
        memset(key, 0, p->dim * sizeof *key);
        return;
    }
    pool_row(p, run, ctx->positions[r], scratch, key);
    m->kernels->rms_norm(key, key, p->layer->vec[p->norm], 0, m->config->norm_eps, p->dim);
    m->kernels->rope(key + p->dim - t->rope->dim, t->cos + r * half, t->sin + r * half,
                     t->rope->dim, t->rope->kind == QR_ROPE_NEOX);
}

/* ---- All keys of a step */

static void project(const struct pool *p, const float *src, const struct quire_team *team)
{
    const struct qr_compress_buffers *b = &p->s->ctx->compress;
    const struct qr_packed *const w[] = { p->layer->mat[p->to_kv], p->layer->mat[p->to_gate] };
    const struct qr_projection out[] = { { w[0], NULL, b->kv, QR_NO_ADAPTER_SITE },
                                         { w[1], NULL, b->gate, QR_NO_ADAPTER_SITE } };
    struct qr_act act;
    qr_convert_input(p->s, &act, w, 2, src, p->s->n_tokens, team);
    qr_project(p->s, &act, out, 2, team);
    quire_team_barrier(team);
}

/* Keeps the projections of the last tokens of a run, those in rows [begin, end). */
static void keep_rows(const struct pool *p, const struct qr_state_run *run, size_t begin,
                      size_t end)
{
    const struct qr_compress_buffers *b = &p->s->ctx->compress;
    const size_t bytes = p->series * sizeof(float);
    const size_t kept = run->n < ring_rows(p) ? run->n : ring_rows(p);
    const size_t first = (size_t)run->row + run->n - kept;
    for (size_t r = begin > first ? begin : first; r < end; r++) {
        float *row = ring_row(p, run, p->s->ctx->positions[r]);
        memcpy(row, b->kv + r * p->series, bytes);
        memcpy(row + p->series, b->gate + r * p->series, bytes);
    }
}

static void compute(const struct pool *p, const float *src, const struct quire_team *team)
{
    const struct quire_context *ctx = p->s->ctx;
    const struct qr_recurrent_buffers *runs = &ctx->recurrent;
    float *scratch = ctx->compress.scratch + team->rank * most_series(ctx->model->config);
    size_t begin, end;
    project(p, src, team);
    qr_team_range(team, p->s->n_tokens, 1, &begin, &end);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < runs->n_runs; k++) {
            const struct qr_state_run *run = &runs->runs[k];
            const size_t run_end = (size_t)run->row + run->n;
            const size_t from = begin > run->row ? begin : run->row,
                         to = end < run_end ? end : run_end;
            for (size_t r = from; pass == 0 && r < to; r++)
                compute_row(p, run, r, scratch);
            if (pass == 1 && from < to)
                keep_rows(p, run, from, to);
        }
        quire_team_barrier(team); /* the states are read; the rows are complete */
    }
}

static struct pool pool_of(const struct qr_step *s, uint32_t i, size_t dim)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_layer_config *l = &ctx->model->config->layers[i];
    const bool second = ctx->compress.rates[0] != l->compress_rate;
    const bool overlap = l->index == QR_INDEX_OWN;
    return (struct pool){ .s = s,
                          .rate = l->compress_rate,
                          .overlap = overlap,
                          .dim = dim,
                          .series = overlap ? 2 * dim : dim,
                          .layer = &ctx->model->layers[i],
                          .starts = &ctx->compress.starts[second] };
}

void qr_compress_keys(const struct qr_step *s, uint32_t i, const float *src,
                      const struct quire_team *team)
{
    struct pool p = pool_of(s, i, s->ctx->model->config->layers[i].head_dim);
    p.to_kv = QR_W_COMPRESS_KV;
    p.to_gate = QR_W_COMPRESS_GATE;
    p.bias = QR_W_COMPRESS_BIAS;
    p.norm = QR_W_COMPRESS_NORM;
    p.ring = p.layer->compress_ring;
    p.out = s->ctx->compress.keys;
    compute(&p, src, team);
}

void qr_compress_index(const struct qr_step *s, uint32_t i, const float *src,
                       const struct quire_team *team)
{
    struct pool p = pool_of(s, i, s->ctx->model->config->index.head_dim);
    p.to_kv = QR_W_INDEX_COMPRESS_KV;
    p.to_gate = QR_W_INDEX_COMPRESS_GATE;
    p.bias = QR_W_INDEX_COMPRESS_BIAS;
    p.norm = QR_W_INDEX_K_NORM;
    p.ring = p.layer->index_ring;
    p.out = s->ctx->index.k;
    compute(&p, src, team);
}

void qr_compress_select(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct qr_compress_buffers *b = &s->ctx->compress;
    const uint32_t rate = s->ctx->model->config->layers[i].compress_rate;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        uint64_t *bits = b->bits + r * b->words;
        memset(bits, 0, b->words * sizeof *bits);
        for (uint32_t slot = rate - 1; slot <= s->ctx->positions[r]; slot += rate)
            bits[slot / 64] |= (uint64_t)1 << slot % 64;
    }
    quire_team_barrier(team);
}
