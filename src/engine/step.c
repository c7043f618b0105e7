/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one step of one request: batch, forward pass, sampling. */
#include "engine/step.h"
#include "base/alloc.h"
#include "base/error.h"
#include "engine/clock.h"
#include "engine/request.h"
#include "engine/rope_variant.h"
#include <math.h>

quire_status qr_batch_init(struct qr_batch *b, uint32_t n_groups, uint32_t max_tokens,
                           const struct quire_allocator *allocator, struct quire_error *err)
{
    *b = (struct qr_batch){ .n_groups = n_groups, .max_tokens = max_tokens };
    b->slot_mapping = qr_alloc(allocator, (size_t)n_groups * max_tokens, sizeof *b->slot_mapping);
    b->groups = qr_calloc(allocator, n_groups, sizeof *b->groups);
    if (b->slot_mapping && b->groups)
        return QUIRE_OK;
    qr_batch_free(b, allocator);
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for a step of %u tokens", max_tokens);
}

void qr_batch_free(struct qr_batch *b, const struct quire_allocator *allocator)
{
    qr_free(allocator, b->slot_mapping, (size_t)b->n_groups * b->max_tokens,
            sizeof *b->slot_mapping);
    qr_free(allocator, b->groups, b->n_groups, sizeof *b->groups);
    *b = (struct qr_batch){ 0 };
}

/* Fills in block tables and slot mapping of the next n tokens of the sequence. */
static quire_status build_batch(struct quire_engine *e, uint32_t n, struct quire_error *err)
{
    const struct qr_sequence *s = &e->sequence;
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const struct qr_sequence_group *g = &s->groups[i];
        int64_t *slots = e->batch.slot_mapping + (size_t)i * e->batch.max_tokens;
        const struct quire_kv_slot_args map = {
            .struct_size = sizeof map,
            .block_size = s->block_size,
            .block_table = g->block_table + g->first_block,
            .n_entries = g->end_block - g->first_block,
            .first_block = g->first_block,
            .first_pos = s->n_tokens,
            .n_tokens = n,
        };
        QR_TRY(quire_kv_map_slots(&map, slots, err));
        e->batch.groups[i] = (struct quire_attention_batch_group){
            .block_table = g->block_table + g->first_block,
            .max_blocks = g->end_block - g->first_block,
            .first_block = &g->first_block,
            .slot_mapping = slots,
        };
    }
    return QUIRE_OK;
}

/* Runs the forward pass of the next n tokens of a request; computes the logits of the last one if
 * want_logits. */
static quire_status forward(struct quire_engine *e, const struct qr_request *r, uint32_t n,
                            bool want_logits, struct quire_error *err)
{
    QR_TRY(qr_sequence_reserve(&e->sequence, n, err));
    QR_TRY(build_batch(e, n, err));
    const int32_t query_start[] = { 0, (int32_t)n };
    const int32_t length = (int32_t)(r->n_computed + n);
    /* every chunk of a prompt uses the RoPE frequencies of the whole prompt */
    const uint32_t rope_length = r->n_tokens;
    const struct quire_attention_batch batch = {
        .struct_size = sizeof batch,
        .n_seqs = 1,
        .query_start_loc = query_start,
        .seq_lens = &length,
        .n_groups = e->batch.n_groups,
        .groups = e->batch.groups,
    };
    const uint32_t last_row = n - 1;
    const struct quire_forward_args step = {
        .struct_size = sizeof step,
        .batch = &batch,
        .token_ids = r->tokens + r->n_computed,
        .rope_lens = &rope_length,
        .logits_rows = &last_row,
        .n_logits = want_logits,
        .logits = want_logits ? e->logits : NULL,
    };
    QR_TRY(quire_context_forward(e->context, &step, err));
    qr_sequence_append(&e->sequence, r->tokens + r->n_computed, n,
                       qr_rope_variant(e->model, rope_length));
    return QUIRE_OK;
}

/* Masks rows of the LM head that are padding of the vocabulary, and with IGNORE_EOS the
 * end-of-generation tokens. */
static void mask_logits(struct quire_engine *e, const struct qr_request *r)
{
    for (uint32_t i = e->n_text_tokens; i < e->vocab_size; i++)
        e->logits[i] = -INFINITY;
    for (uint32_t i = 0; i < e->n_eog && r->flags & QUIRE_REQUEST_IGNORE_EOS; i++)
        e->logits[e->eog[i]] = -INFINITY;
}

/* Appends a sampled token to the output and finishes the request if a stop condition holds. */
static quire_status append_token(struct quire_engine *e, struct qr_request *r, int32_t token,
                                 struct quire_error *err)
{
    r->last_token_time = qr_clock_now();
    if (r->n_output++ == 0)
        r->first_token_time = r->last_token_time;
    if (quire_tokenizer_is_eog(e->tokenizer, token)) {
        qr_request_flush_and_finish(r, QUIRE_FINISH_STOP);
        return QUIRE_OK;
    }
    bool stopped;
    QR_TRY(qr_output_text_push(&r->output, token, &stopped, err));
    r->tokens[r->n_tokens++] = token;
    r->text_event_due = true;
    if (stopped) {
        qr_request_finish(r, QUIRE_FINISH_STOP);
    } else if (r->n_output == r->max_output) {
        qr_request_flush_and_finish(r, QUIRE_FINISH_LENGTH);
    } else if (r->n_tokens > e->info.context_length) {
        r->context_full = true;
        qr_request_flush_and_finish(r, QUIRE_FINISH_LENGTH);
    }
    return QUIRE_OK;
}

static quire_status sample_token(struct quire_engine *e, struct qr_request *r,
                                 struct quire_error *err)
{
    mask_logits(e, r);
    const struct quire_sample_args step = {
        .struct_size = sizeof step,
        .logits = e->logits,
        .history = r->tokens,
        .n_history = r->n_tokens,
        .stream = r->stream,
        /* position in the sequence, not in the output: with the latter every turn of a conversation
         * would draw the same random numbers */
        .index = r->n_tokens,
        .state = &r->sampling_state,
    };
    int32_t token;
    QR_TRY(quire_sampler_sample(e->sampler, &r->sampling, &step, &token, err));
    return append_token(e, r, token, err);
}

static void start_request(struct quire_engine *e, struct qr_request *r)
{
    r->state = QR_REQUEST_RUNNING;
    r->start_time = qr_clock_now();
    /* the last prompt token is always computed: its logits are not cached */
    const uint32_t reusable = r->flags & QUIRE_REQUEST_NO_REUSE ? 0 : r->n_prompt - 1;
    r->n_cached = qr_sequence_reuse_prefix(&e->sequence, r->tokens, reusable,
                                           qr_rope_variant(e->model, r->n_prompt));
    r->n_computed = r->n_cached;
}

/* Drops the KV cache when the output grows past the original context of LongRoPE: keys of the short
 * factors would meet queries of the long ones. The sequence is recomputed as a prompt of that
 * length would be. */
static void recompute_if_rope_changes(struct quire_engine *e, struct qr_request *r)
{
    const struct qr_sequence *s = &e->sequence;
    if (r->n_computed && s->n_tokens &&
        qr_rope_variant_changes(e->model, s->rope_variants[s->n_tokens - 1], r->n_tokens)) {
        qr_sequence_clear(&e->sequence);
        r->n_computed = 0;
    }
}

void qr_step_run(struct quire_engine *e, struct qr_request *r)
{
    if (r->state == QR_REQUEST_WAITING)
        start_request(e, r);
    recompute_if_rope_changes(e, r);
    const uint32_t pending = r->n_tokens - r->n_computed;
    const uint32_t n = pending < e->info.max_step_tokens ? pending : e->info.max_step_tokens;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_status s = forward(e, r, n, n == pending, &err);
    if (s == QUIRE_OK) {
        r->prompt_event_due |= r->n_output == 0 && r->n_computed < r->n_prompt;
        r->n_computed += n;
        if (n == pending)
            s = sample_token(e, r, &err);
    }
    if (s != QUIRE_OK) {
        qr_request_fail(r, s, &err);
        /* a failed step leaves blocks with undefined keys and values: no prefix to reuse */
        qr_sequence_clear(&e->sequence);
    }
}
