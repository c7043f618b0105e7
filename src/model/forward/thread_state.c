/* SPDX-License-Identifier: Apache-2.0 */
/* thread_state.c - the rows of the residual stream that a thread computes, and its scratch
 * memory. */
#include "model/forward/thread_state.h"
#include "base/threads.h"
#include <string.h>

struct qr_thread_state qr_thread_state(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_thread_buffers *b = &ctx->per_thread;
    const size_t row_floats = (size_t)QR_REPLICATED_ROWS_MAX * ctx->model->config->hidden_size;
    unsigned char *own = b->memory + team->rank * b->stride_bytes;
    struct qr_thread_state t = { .x = ctx->x, .h = ctx->h };
    t.tile_a = (float *)(void *)own;
    t.tile_b = t.tile_a + QR_TILE_FLOATS;
    t.own_rows = t.tile_b + QR_TILE_FLOATS;
    t.own_act_memory = own + b->act_offset_bytes;
    t.unpacked = qr_thread_unpacked(s, team);
    if (s->replicated) {
        t.x = t.own_rows + row_floats;
        t.h = t.own_rows;
        t.end = s->n_tokens;
    } else {
        qr_team_range(team, s->n_tokens, 1, &t.begin, &t.end);
    }
    return t;
}

struct qr_unpacked *qr_thread_unpacked(const struct qr_step *s, const struct quire_team *team)
{
    struct qr_unpacked *all = s->ctx->per_thread.unpacked;
    return all ? &all[team->rank] : NULL;
}

void qr_thread_reset_counters(struct quire_context *ctx, uint32_t n_threads)
{
    struct qr_thread_buffers *b = &ctx->per_thread;
    memset(b->counters, 0, n_threads * sizeof *b->counters);
    memset(b->down_counters, 0, n_threads * sizeof *b->down_counters);
}

void qr_thread_publish_rows(const struct qr_step *s, const struct quire_team *team)
{
    if (s->replicated) {
        const struct qr_thread_state t = qr_thread_state(s, team);
        const size_t width = s->ctx->model->config->hidden_size;
        size_t begin, end;
        qr_team_range(team, s->n_tokens, 1, &begin, &end);
        memcpy(s->ctx->x + begin * width, t.x + begin * width,
               (end - begin) * width * sizeof(float));
    }
    quire_team_barrier(team);
}
