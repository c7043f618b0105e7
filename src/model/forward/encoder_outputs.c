/* SPDX-License-Identifier: Apache-2.0 */
/* encoder_outputs.c - the outputs of an encoder pass after its last layer. */
#include "model/forward/encoder_outputs.h"
#include "base/threads.h"
#include "model/forward/classify.h"
#include "model/forward/layer_cross.h"
#include "model/forward/norm.h"
#include "model/forward/pooling.h"
#include <string.h>

void qr_encoder_outputs(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_encode_args *e = s->encode;
    struct quire_context *ctx = s->ctx;
    const size_t width = ctx->model->config->hidden_size;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    qr_final_norm_rows(s, ctx->h, ctx->x, begin, end); /* h is unused after the last layer */
    if (e->hidden)
        memcpy(e->hidden + begin * width, ctx->h + begin * width,
               (end - begin) * width * sizeof(float));
    quire_team_barrier(team); /* the outputs below read rows of other threads */
    if (e->cross_slot_mapping)
        qr_cross_write(s, team);
    if (e->pooled)
        qr_pool(s, team);
    if (e->scores)
        qr_classify(s, team);
}
