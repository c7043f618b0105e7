/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - how the members of a team share a step: the rows each of them keeps, and the blocks of a product. */
#include "model/forward/stage.h"
#include "base/threads.h"
#include <string.h>

struct qr_member qr_member_of(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const size_t row_floats = (size_t)QR_FEW_ROWS * ctx->model->config->hidden_size;
    unsigned char *own = ctx->own.memory + team->rank * ctx->own.stride;
    struct qr_member m = { .x = ctx->x, .h = ctx->h, .views = ctx->act_memory };
    m.tile_a = (float *)(void *)own;
    m.tile_b = m.tile_a + QR_TILE;
    m.few_h = m.tile_b + QR_TILE;
    m.few_views = own + ctx->own.views_at;
    if (s->few) {
        m.x = m.few_h + row_floats;
        m.h = m.few_h;
        m.views = m.few_views;
        m.end = s->n_tokens;
    } else {
        qr_team_range(team, s->n_tokens, 1, &m.begin, &m.end);
    }
    return m;
}

void qr_member_input(const struct qr_step *s, struct qr_act *act, const struct qr_packed *const *w,
                     int n, const float *src, const struct quire_team *team)
{
    const struct qr_member me = qr_member_of(s, team);
    const struct quire_model *model = s->ctx->model;
    unsigned views = 0;
    for (int i = 0; i < n; i++)
        if (w[i])
            views |= qr_linear_views(w[i], model->compute);
    qr_act_init(act, views, src, w[0]->k, s->n_tokens, w[0]->k, me.views);
    qr_act_fill_rows(act, model->kernels, me.begin, me.end);
    if (!s->few)
        quire_team_barrier(team);
}

void qr_member_publish(const struct qr_step *s, const struct quire_team *team)
{
    if (s->few) {
        const struct qr_member me = qr_member_of(s, team);
        const size_t width = s->ctx->model->config->hidden_size;
        size_t begin, end;
        qr_team_range(team, s->n_tokens, 1, &begin, &end);
        memcpy(s->ctx->x + begin * width, me.x + begin * width,
               (end - begin) * width * sizeof(float));
    }
    quire_team_barrier(team);
}

/* ---- blocks */

enum {
    PIECES = 16, /* for each member: what one is late with at the end, others help with */
    MOST_UNITS = 16,
    LEAST_WORK =
        1 << 15,     /* multiplications of a piece: handing it out should cost nothing beside */
    LEAST_ROWS = 32, /* of a piece: fewer would unpack the same weights too often */
};

/* Units of outputs in a piece. */
static size_t units_each(size_t units, size_t work, size_t members)
{
    const size_t fair = (units + members - 1) / members, least = (LEAST_WORK + work - 1) / work;
    size_t each = units / (PIECES * members);
    each = each > MOST_UNITS && members > 1 ? MOST_UNITS : each;
    each = each < least ? least : each;
    return each < fair ? each : fair;
}

struct qr_blocks qr_blocks_begin(const struct qr_step *s, size_t n, size_t k, size_t unit, size_t m,
                                 const struct quire_team *team)
{
    const size_t units = (n + unit - 1) / unit, each = units_each(units, unit * k * m, team->size);
    size_t cuts = 1;
    /* a member streams its weights once: rows are cut only where there are too few units to go round */
    while (units * cuts < 4 * (size_t)team->size && team->size > 1 && m / (cuts * 2) >= LEAST_ROWS)
        cuts *= 2;
    struct qr_blocks b = { .n = n, .m = m, .width = each * unit, .cuts = cuts };
    b.share = qr_share_begin(s->ctx->own.lines, team, (units + each - 1) / each * cuts);
    return b;
}

bool qr_blocks_next(struct qr_blocks *blocks, struct qr_linear_block *b)
{
    size_t piece;
    if (!qr_share_next(&blocks->share, &piece))
        return false;
    const size_t j = piece / blocks->cuts * blocks->width, cut = piece % blocks->cuts;
    b->j0 = j;
    b->j1 = j + blocks->width < blocks->n ? j + blocks->width : blocks->n;
    b->i0 = blocks->m * cut / blocks->cuts;
    b->i1 = blocks->m * (cut + 1) / blocks->cuts;
    return true;
}

void qr_project_blocks(const struct qr_step *s, const struct qr_act *act, const struct qr_packed *w,
                       const float *bias, float *out, const struct quire_team *team)
{
    const struct quire_model *model = s->ctx->model;
    struct qr_blocks blocks =
        qr_blocks_begin(s, w->n, w->k, qr_linear_unit(w, act->m), act->m, team);
    struct qr_linear_block b;
    while (qr_blocks_next(&blocks, &b)) {
        const struct qr_linear_args args = {
            .w = w,
            .x = act,
            .out = out + b.i0 * w->n + b.j0,
            .out_stride = w->n,
            .bias = bias,
            .compute = model->compute,
        };
        qr_linear_run_block(&args, &b, model->kernels);
    }
}
