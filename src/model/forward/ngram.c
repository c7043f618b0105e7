/* SPDX-License-Identifier: Apache-2.0 */
/* ngram.c - embeddings of n-grams (struct qr_ngram_config): hashes of the last tokens, rows of the
 * tables, a gate for each residual stream, and a convolution over the gated values. */
#include "model/forward/ngram.h"
#include "base/threads.h"
#include "linear/packed.h"
#include "model/config/limits.h"
#include "model/forward/hyper.h"
#include "model/forward/projection.h"
#include "recurrent/conv.h"
#include <math.h>
#include <string.h>

enum { CHANNELS = 256 }; /* of a work unit of the convolution */

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Tokens before the rows of a run, oldest first; exact as floats: a vocabulary has at most 2^24. */
static float *context_of(const struct qr_step *s, uint32_t i, const struct qr_state_run *run)
{
    return run->state + s->ctx->model->layers[i].ngram_context;
}

/* The token d before that of row r. */
static int32_t token_before(const struct qr_step *s, uint32_t i, const struct qr_state_run *run,
                            size_t r, size_t d)
{
    const struct qr_ngram_config *n = &s->ctx->model->config->ngram;
    const size_t known = r - run->row;
    if (d <= known)
        return s->args->token_ids[r - d];
    return run->fresh ? n->boundary : (int32_t)context_of(s, i, run)[n->size - 1 - (d - known)];
}

/* ---- Rows of the tables */

static void lookup(const struct quire_model *m, uint32_t i, uint64_t row, float *out)
{
    const uint64_t rows = m->config->layers[i].ngram_rows;
    qr_packed_unpack_row(m->layers[i].experts[QR_W_NGRAM_EMBD][row / rows], (size_t)(row % rows),
                         out);
}

/* The embeddings of the n-grams that end with row r, one head behind the other. */
static void embed_row(const struct qr_step *s, uint32_t i, const struct qr_state_run *run, size_t r)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_ngram_config *n = &m->config->ngram;
    const size_t heads = (n->size - 1) * n->heads, dim = n->dim / heads;
    const size_t k = m->config->layers[i].ngram - 1;
    const uint32_t *sizes = n->sizes + k * heads;
    const uint64_t *multipliers = n->multipliers + k * n->size;
    float *out = s->ctx->hyper.ngrams + r * n->dim;
    uint64_t hash = (uint64_t)s->args->token_ids[r] * multipliers[0], offset = 0;
    bool ended = false;
    for (size_t d = 1; d < n->size; d++) {
        const int32_t token = ended ? n->boundary : token_before(s, i, run, r, d);
        ended = token == n->boundary;
        hash ^= (uint64_t)token * multipliers[d];
        for (size_t h = 0; h < n->heads; h++, out += dim, sizes++) {
            lookup(m, i, offset + hash % *sizes, out);
            offset += *sizes;
        }
    }
}

/* Embeddings of rows [begin, end). */
static void embed_rows(const struct qr_step *s, uint32_t i, size_t begin, size_t end)
{
    const struct qr_recurrent_buffers *b = &s->ctx->recurrent;
    for (uint32_t k = 0; k < b->n_runs; k++) {
        const struct qr_state_run *run = &b->runs[k];
        const size_t run_end = (size_t)run->row + run->n;
        for (size_t r = max_size(begin, run->row); r < min_size(end, run_end); r++)
            embed_row(s, i, run, r);
    }
}

/* Keeps the last tokens of the sequences whose last row is in [begin, end). */
static void keep_tokens(const struct qr_step *s, uint32_t i, size_t begin, size_t end)
{
    const struct qr_recurrent_buffers *b = &s->ctx->recurrent;
    const size_t kept = s->ctx->model->config->ngram.size - 1;
    float tokens[QR_CONFIG_MAX_NGRAM];
    for (uint32_t k = 0; k < b->n_runs; k++) {
        const struct qr_state_run *run = &b->runs[k];
        const size_t last = (size_t)run->row + run->n - 1;
        if (last < begin || last >= end)
            continue;
        for (size_t d = 0; d < kept; d++)
            tokens[kept - 1 - d] = (float)token_before(s, i, run, last, d);
        memcpy(context_of(s, i, run), tokens, kept * sizeof *tokens);
    }
}

/* ---- Gates */

/* sigmoid of the signed square root of the normed product of key and query. */
static float gate(const float *key, const float *query, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += (double)key[j] * (double)query[j];
    const double v = sum / sqrt((double)n), size = sqrt(fmax(fabs(v), 1e-6));
    return (float)(1 / (1 + exp(v > 0 ? -size : v < 0 ? size : 0)));
}

/* Replaces the keys of row r by the gated values of each stream, and writes their norms. */
static void gate_row(const struct qr_step *s, uint32_t i, size_t r)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_hyper_buffers *b = &s->ctx->hyper;
    float *const *vec = m->layers[i].vec;
    const size_t width = m->config->hidden_size, n = m->config->hyper.n_streams;
    float *keys = b->wide + r * n * width, *normed = b->normed + r * n * width;
    memcpy(normed, b->streams + r * n * width, n * width * sizeof *normed);
    qr_hyper_norm_row(s, vec[QR_W_NGRAM_QUERY_NORM], normed);
    qr_hyper_norm_row(s, vec[QR_W_NGRAM_KEY_NORM], keys);
    for (size_t k = 0; k < n; k++) {
        const float weight = gate(keys + k * width, normed + k * width, width);
        memcpy(keys + k * width, s->ctx->sub + r * width, width * sizeof *keys);
        m->kernels->scale(keys + k * width, weight, width);
    }
    memcpy(normed, keys, n * width * sizeof *normed);
    qr_hyper_norm_row(s, vec[QR_W_NGRAM_CONV_NORM], normed);
}

/* ---- Convolution */

static void convolve(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_recurrent_buffers *runs = &s->ctx->recurrent;
    const struct qr_hyper_buffers *b = &s->ctx->hyper;
    const size_t width = (size_t)m->config->hyper.n_streams * m->config->hidden_size;
    const size_t blocks = (width + CHANNELS - 1) / CHANNELS;
    struct qr_work_steal loop =
        qr_work_steal_begin(s->ctx->per_thread.counters, team, runs->n_runs * blocks);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const struct qr_state_run *run = &runs->runs[unit / blocks];
        const size_t c0 = unit % blocks * CHANNELS, c1 = min_size(width, c0 + CHANNELS);
        const struct qr_conv conv = {
            .x = b->normed + run->row * width,
            .out = b->conv + run->row * width,
            .x_stride = width,
            .out_stride = width,
            .n_rows = run->n,
            .w = m->layers[i].ngram_conv,
            .width = width,
            .taps = m->config->ngram.taps,
            .dilation = m->config->ngram.size,
            .tail = run->state + m->layers[i].ngram_tail,
            .fresh = run->fresh,
        };
        qr_conv_run(&conv, c0, c1, m->kernels);
        for (size_t t = run->row; t < (size_t)run->row + run->n; t++)
            m->kernels->silu_mul(b->conv + t * width + c0, NULL, c1 - c0);
    }
    quire_team_barrier(team);
}

void qr_ngram_add(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_hyper_buffers *b = &ctx->hyper;
    const struct qr_packed *const w[] = { m->layers[i].mat[QR_W_NGRAM_KEY],
                                          m->layers[i].mat[QR_W_NGRAM_VALUE] };
    const struct qr_projection p[] = { { w[0], NULL, b->wide, { QR_W_NGRAM_KEY, i, 0 } },
                                       { w[1], NULL, ctx->sub, { QR_W_NGRAM_VALUE, i, 1 } } };
    const size_t width = (size_t)m->config->hyper.n_streams * m->config->hidden_size;
    struct qr_act act;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    embed_rows(s, i, begin, end);
    if (s->replicated)
        quire_team_barrier(team); /* each thread converts all rows */
    qr_convert_input(s, &act, w, 2, b->ngrams, s->n_tokens, team);
    qr_project(s, &act, p, 2, team);
    quire_team_barrier(team); /* the tokens before the step are read */
    keep_tokens(s, i, begin, end);
    for (size_t r = begin; r < end; r++)
        gate_row(s, i, r);
    quire_team_barrier(team);
    convolve(s, i, team);
    m->kernels->add(b->conv + begin * width, b->wide + begin * width, (end - begin) * width);
    m->kernels->add(b->streams + begin * width, b->conv + begin * width, (end - begin) * width);
}
