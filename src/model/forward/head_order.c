/* SPDX-License-Identifier: Apache-2.0 */
/* head_order.c - the order of query heads where those of a KV head do not lie together. */
#include "model/forward/head_order.h"
#include "base/threads.h"
#include <string.h>

/* Transposes the heads of each row, a matrix [rows][n / rows] of heads, through a row of tmp. */
static void transpose_heads(const struct qr_step *s, uint32_t layer, size_t rows, float *heads,
                            float *tmp, const struct quire_team *team)
{
    const struct qr_layer_config *l = &s->ctx->model->config->layers[layer];
    const size_t n = l->n_heads, d = l->head_dim, columns = n / rows;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *row = heads + r * n * d, *copy = tmp + r * n * d;
        memcpy(copy, row, n * d * sizeof *row);
        for (size_t h = 0; h < n; h++)
            memcpy(row + (h % columns * rows + h / columns) * d, copy + h * d, d * sizeof *row);
    }
    quire_team_barrier(team);
}

void qr_group_query_heads(const struct qr_step *s, uint32_t layer, const struct quire_team *team)
{
    const struct qr_layer_config *l = &s->ctx->model->config->layers[layer];
    transpose_heads(s, layer, l->n_heads / l->n_kv_heads, s->ctx->q, s->ctx->att, team);
}

void qr_tile_output_heads(const struct qr_step *s, uint32_t layer, const struct quire_team *team)
{
    const struct qr_layer_config *l = &s->ctx->model->config->layers[layer];
    transpose_heads(s, layer, l->n_kv_heads, s->ctx->att, s->ctx->q, team);
}
