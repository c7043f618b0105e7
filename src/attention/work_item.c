/* SPDX-License-Identifier: Apache-2.0 */
/* work_item.c - executes one work item: its query rows over its spans. */
#include "attention/work_item.h"
#include "attention/cascade_run.h"
#include "attention/query_rows.h"
#include "attention/span.h"
#include "attention/splitkv.h"
#include "attention/store.h"
#include "attention/tile_ctx.h"
#include <string.h>

/* Every span of the item goes to a partial of its own. */
static void run_to_partials(const struct qr_tile_ctx *ctx)
{
    const struct qr_work_item *item = ctx->item;
    for (uint32_t span = item->span; span < item->end_span; span++) {
        const struct qr_softmax_state st = qr_splitkv_partial(
            ctx->call, item->reduction, item->n_rows, item->partial + span - item->span);
        qr_span_attend(ctx, span, &st);
    }
}

/* Accumulates all spans of the item in acc. */
static void run_to_accumulator(const struct qr_tile_ctx *ctx, const struct qr_softmax_state *acc)
{
    const struct qr_work_item *item = ctx->item;
    const struct qr_thread_scratch *s = ctx->scratch;
    const struct qr_softmax_state part = { s->part_m, s->part_l, s->part_l_exact, s->part };
    if (item->span == item->end_span)
        memset(acc->l, 0, item->n_rows * sizeof *acc->l);
    for (uint32_t span = item->span; span < item->end_span; span++) {
        qr_span_attend(ctx, span, span == item->span ? acc : &part);
        if (span != item->span)
            qr_splitkv_merge(ctx->call, item->n_rows, acc, &part);
    }
}

void qr_work_item_run(const struct qr_attention_call *call, const struct qr_work_item *item)
{
    if (item->cascade != QR_CASCADE_NONE) {
        qr_cascade_run(call, item);
        return;
    }
    const struct qr_thread_scratch *s = &call->scratch;
    struct qr_softmax_state acc = { s->acc_m, s->acc_l, s->acc_l_exact, s->acc };
    struct qr_tile_ctx ctx = qr_tile_ctx_init(call, item);
    qr_query_rows_load(&ctx);
    if (item->reduction < 0) {
        run_to_accumulator(&ctx, &acc);
        qr_store_rows(&ctx, &acc);
        return;
    }
    if (item->partial > 0) {
        run_to_partials(&ctx);
    } else {
        acc = qr_splitkv_partial(call, item->reduction, item->n_rows, 0);
        run_to_accumulator(&ctx, &acc);
    }
    qr_splitkv_reduce(&ctx);
}
