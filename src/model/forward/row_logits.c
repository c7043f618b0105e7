/* SPDX-License-Identifier: Apache-2.0 */
/* row_logits.c - the LM head of rows whose residual stream the last step left in the context. */
#include "model/forward/row_logits.h"
#include "base/error.h"
#include "base/threads.h"
#include "model/forward/adapter_rows.h"
#include "model/forward/lm_head.h"
#include "model/forward/step.h"
#include "model/forward/thread_state.h"
#include "model/groups.h"

static void head_part(void *step, const struct quire_team *team) { qr_lm_head(step, team); }

quire_status qr_context_row_logits(struct quire_context *ctx, uint32_t first, uint32_t n,
                                   uint32_t n_threads, float *logits, struct quire_error *err)
{
    const struct quire_forward_args args = { .struct_size = sizeof args, .logits = logits };
    struct qr_step s = { .ctx = ctx,
                         .args = &args,
                         .stack = qr_model_decoder_stack(ctx->model),
                         .kv = ctx->kv,
                         .plan = ctx->plan,
                         .logits_rows = ctx->row_ids,
                         .n_tokens = ctx->n_step_tokens,
                         .n_logits = n };
    s.replicated = s.n_tokens <= QR_REPLICATED_ROWS_MAX;
    for (uint32_t i = 0; i < n && i < ctx->max_logits; i++)
        ctx->row_ids[i] = first + i;
    QR_TRY(qr_step_check_logits(&s, err));
    qr_adapter_place_logits(&s);
    qr_thread_reset_counters(ctx, n_threads);
    const quire_status status = qr_part_run_n(ctx->threads, n_threads, head_part, &s, err);
    return status == QUIRE_E_BUSY ? qr_part_run_n(NULL, 1, head_part, &s, err) : status;
}
