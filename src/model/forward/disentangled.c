/* SPDX-License-Identifier: Apache-2.0 */
/* disentangled.c - scores of disentangled attention that depend on distances. Blocks of queries or
 * keys are multiplied by the rows of all distances in their sequence, of which each pair of tokens
 * takes one. */
#include "model/forward/disentangled.h"
#include "attention/types.h"
#include "base/threads.h"
#include "linear/linear.h"

enum { TOKENS = QR_DISTANCE_TOKENS };

void qr_disentangled_reserve(const struct quire_model *m, struct quire_context *ctx,
                             struct qr_bump *buffers)
{
    if (!m->config->disentangled.span)
        return;
    const size_t tiles = ((size_t)ctx->max_encoder_len + QR_TILE_KEYS - 1) / QR_TILE_KEYS,
                 threads = ctx->threads ? quire_threads_count(ctx->threads) : 1;
    ctx->score_stride = tiles * QR_TILE_KEYS;
    ctx->score_bias = qr_bump_alloc(buffers, (size_t)ctx->max_encoder_tokens * m->config->max_heads,
                                    ctx->score_stride * sizeof *ctx->score_bias);
    ctx->distance_products =
        qr_bump_alloc(buffers, threads * TOKENS, m->distance_stride * sizeof(float));
}

/* A sequence of the pass and a head. */
struct pair {
    struct quire_context *ctx;
    const uint16_t *rows; /* of distances, from -(length - 1) on */
    size_t first, length; /* tokens of the sequence */
    size_t head, n_heads, dim;
    float *products; /* of the thread */
};

static struct pair make_pair(const struct qr_step *s, uint32_t layer, size_t seq, size_t head,
                             const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const int32_t *loc = s->encode->query_start_loc;
    const size_t length = (size_t)(loc[seq + 1] - loc[seq]);
    return (struct pair){
        .ctx = ctx,
        .rows = m->distance_rows + (m->config->context_length - length),
        .first = (size_t)loc[seq],
        .length = length,
        .head = head,
        .n_heads = m->config->layers[layer].n_heads,
        .dim = m->config->layers[layer].head_dim,
        .products = ctx->distance_products + (size_t)team->rank * TOKENS * m->distance_stride,
    };
}

/* Products of the head's rows of x (ctx->q or ctx->k) for tokens [begin, end), up to TOKENS, with
 * the rows of the sequence's distances, in f32: [end - begin][distance_stride]. */
static const float *multiply(const struct pair *p, const struct qr_packed *table, const float *x,
                             size_t begin, size_t end)
{
    const struct quire_model *m = p->ctx->model;
    const size_t stride = m->distance_stride, panel = table->panel_rows, at = p->head * stride,
                 lo = p->rows[0] / panel * panel,
                 hi = p->rows[2 * p->length - 2] / panel * panel + panel,
                 width = p->n_heads * p->dim;
    struct qr_act act;
    qr_act_init(&act, QR_ACT_F32, x + (p->first + begin) * width + p->head * p->dim, width,
                end - begin, p->dim, NULL);
    const struct qr_linear_args args = {
        .w = table,
        .x = &act,
        .out = p->products + lo,
        .out_stride = stride,
        .compute = QUIRE_COMPUTE_F32,
    };
    qr_linear_run_block(&args, &(struct qr_linear_block){ at + lo, at + hi, 0, end - begin },
                        m->kernels);
    return p->products;
}

static float *score_row(const struct pair *p, size_t token)
{
    const struct quire_context *ctx = p->ctx;
    return ctx->score_bias + ((p->first + token) * p->n_heads + p->head) * ctx->score_stride;
}

/* Stores k q' of the keys [begin, end) and all queries of the sequence. */
static void store_key_scores(const struct pair *p, const struct qr_packed *table, size_t begin,
                             size_t end)
{
    const size_t stride = p->ctx->model->distance_stride;
    const float *products = multiply(p, table, p->ctx->k, begin, end);
    for (size_t i = 0; i < p->length; i++) {
        const uint16_t *rows = p->rows + (p->length - 1 + i);
        float *out = score_row(p, i);
        for (size_t j = begin; j < end; j++)
            out[j] = products[(j - begin) * stride + *(rows - j)];
    }
}

/* Completes the scores of the queries [begin, end): adds q k', if there is a table, to those of
 * keys, if there are any, multiplies by the attention scale, and clears the rest of the last
 * tile. */
static void add_query_scores(const struct pair *p, const struct qr_packed *table, bool keys,
                             size_t begin, size_t end)
{
    const struct quire_model *m = p->ctx->model;
    const float scale = m->config->attention_scale,
                *products = table ? multiply(p, table, p->ctx->q, begin, end) : NULL;
    for (size_t i = begin; i < end; i++) {
        const uint16_t *rows = p->rows + (p->length - 1 + i);
        const float *x = products ? products + (i - begin) * m->distance_stride : NULL;
        float *out = score_row(p, i);
        for (size_t j = 0; j < p->length; j++) {
            const float query = x ? x[*(rows - j)] : 0;
            out[j] = (keys ? query + out[j] : query) * scale;
        }
        for (size_t j = p->length; j % QR_TILE_KEYS; j++)
            out[j] = 0;
    }
}

/* One pass over the blocks of tokens of all sequences and heads, which the team shares evenly:
 * scores of keys, or those of queries, which complete the sums. Ends with a barrier. */
static void run_blocks(const struct qr_step *s, uint32_t layer, bool completes,
                       const struct quire_team *team)
{
    const struct qr_model_layer *l = &s->ctx->model->layers[layer];
    const size_t heads = s->ctx->model->config->layers[layer].n_heads;
    size_t block = 0;
    for (size_t n = 0; n < s->encode->n_seqs * heads; n++) {
        const struct pair p = make_pair(s, layer, n / heads, n % heads, team);
        for (size_t i = 0; i < p.length; i += TOKENS) {
            const size_t end = i + TOKENS < p.length ? i + TOKENS : p.length;
            if (block++ % team->size != team->rank)
                continue;
            if (completes)
                add_query_scores(&p, l->distance_keys, l->distance_queries != NULL, i, end);
            else
                store_key_scores(&p, l->distance_queries, i, end);
        }
    }
    quire_team_barrier(team);
}

void qr_disentangled_scores(const struct qr_step *s, uint32_t layer, const struct quire_team *team)
{
    if (s->ctx->model->layers[layer].distance_queries)
        run_blocks(s, layer, false, team);
    run_blocks(s, layer, true, team);
}
