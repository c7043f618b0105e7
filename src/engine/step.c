/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one step of one request: the batch, the forward pass, the next token. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/request.h"
#include "engine/rope_key.h"
#include <math.h>

quire_status qr_batch_init(struct qr_batch *b, uint32_t n_groups, uint32_t max_tokens,
                           const struct quire_allocator *allocator, struct quire_error *err)
{
    *b = (struct qr_batch){ .n_groups = n_groups, .max_tokens = max_tokens };
    b->slots = qr_alloc(allocator, (size_t)n_groups * max_tokens, sizeof *b->slots);
    b->groups = qr_calloc(allocator, n_groups, sizeof *b->groups);
    if (b->slots && b->groups)
        return QUIRE_OK;
    qr_batch_free(b, allocator);
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for a step of %u tokens", max_tokens);
}

void qr_batch_free(struct qr_batch *b, const struct quire_allocator *allocator)
{
    qr_free(allocator, b->slots, (size_t)b->n_groups * b->max_tokens, sizeof *b->slots);
    qr_free(allocator, b->groups, b->n_groups, sizeof *b->groups);
    *b = (struct qr_batch){ 0 };
}

/* Tables and slots of n new tokens that end the sequence. */
static quire_status map_batch(struct quire_engine *e, uint32_t n, struct quire_error *err)
{
    const struct qr_sequence *s = &e->sequence;
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const struct qr_seq_group *g = &s->groups[i];
        int64_t *slots = e->batch.slots + (size_t)i * e->batch.max_tokens;
        const struct quire_kv_slot_args map = {
            .struct_size = sizeof map,
            .block_size = s->block_size,
            .block_table = g->table + g->first,
            .n_entries = g->end - g->first,
            .first_block = g->first,
            .first_pos = s->n_tokens,
            .n_tokens = n,
        };
        QR_TRY(quire_kv_map_slots(&map, slots, err));
        e->batch.groups[i] = (struct quire_attention_batch_group){
            .block_table = g->table + g->first,
            .max_blocks = g->end - g->first,
            .first_block = &g->first,
            .slot_mapping = slots,
        };
    }
    return QUIRE_OK;
}

/* Computes the next n tokens of a request; the logits of the last one if they are wanted. */
static quire_status forward(struct quire_engine *e, const struct qr_request *r, uint32_t n,
                            bool want_logits, struct quire_error *err)
{
    QR_TRY(qr_sequence_reserve(&e->sequence, n, err));
    QR_TRY(map_batch(e, n, err));
    const int32_t query_start[] = { 0, (int32_t)n };
    const int32_t length = (int32_t)(r->n_computed + n);
    const uint32_t rope_length =
        r->n_tokens; /* all chunks of a prompt belong to its whole length */
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
                       qr_rope_key(e->model, rope_length));
    return QUIRE_OK;
}

/* Tokens that must not be chosen: rows of the head that are no token, and the end where it is
 * to be ignored. */
static void forbid_tokens(struct quire_engine *e, const struct qr_request *r)
{
    for (uint32_t i = e->n_text_tokens; i < e->vocab_size; i++)
        e->logits[i] = -INFINITY;
    for (uint32_t i = 0; i < e->n_eog && r->flags & QUIRE_REQUEST_IGNORE_EOS; i++)
        e->logits[e->eog[i]] = -INFINITY;
}

/* Adds a chosen token to the answer, which may end with it. */
static quire_status take_token(struct quire_engine *e, struct qr_request *r, int32_t token,
                               struct quire_error *err)
{
    r->last_token = qr_engine_now();
    if (r->n_chosen++ == 0)
        r->first_token = r->last_token;
    if (quire_tokenizer_is_eog(e->tokenizer, token)) {
        qr_request_finish(r, QUIRE_FINISH_STOP);
        return QUIRE_OK;
    }
    bool stopped;
    QR_TRY(qr_answer_push(&r->answer, token, &stopped, err));
    r->tokens[r->n_tokens++] = token;
    r->text_moved = true;
    if (stopped) {
        qr_request_end(r, QUIRE_FINISH_STOP);
    } else if (r->n_chosen == r->max_chosen) {
        qr_request_finish(r, QUIRE_FINISH_LENGTH);
    } else if (r->n_tokens > e->info.context_length) {
        r->context_full = true;
        qr_request_finish(r, QUIRE_FINISH_LENGTH);
    }
    return QUIRE_OK;
}

static quire_status choose_token(struct quire_engine *e, struct qr_request *r,
                                 struct quire_error *err)
{
    forbid_tokens(e, r);
    const struct quire_sample_args step = {
        .struct_size = sizeof step,
        .logits = e->logits,
        .history = r->tokens,
        .n_history = r->n_tokens,
        .stream = r->stream,
        .index = r->n_tokens, /* not of the answer: turns would all begin with the same luck */
    };
    int32_t token;
    QR_TRY(quire_sampler_sample(e->sampler, &r->sampling, &step, &token, err));
    return take_token(e, r, token, err);
}

static void start(struct quire_engine *e, struct qr_request *r)
{
    r->state = QR_REQUEST_RUNNING;
    r->started = qr_engine_now();
    /* the last token is always computed: its logits are not in the cache */
    const uint32_t reusable = r->flags & QUIRE_REQUEST_NO_REUSE ? 0 : r->n_prompt - 1;
    r->n_cached = qr_sequence_keep_prefix(&e->sequence, r->tokens, reusable,
                                          qr_rope_key(e->model, r->n_prompt));
    r->n_computed = r->n_cached;
}

/* Where an answer grows past the original context of longrope, keys made with the short factors would stand beside
 * queries made with the long ones: the sequence is computed anew, as a prompt of that length would have been. */
static void follow_rope(struct quire_engine *e, struct qr_request *r)
{
    const struct qr_sequence *s = &e->sequence;
    if (r->n_computed && s->n_tokens &&
        qr_rope_switches(e->model, s->rope_keys[s->n_tokens - 1], r->n_tokens)) {
        qr_sequence_clear(&e->sequence);
        r->n_computed = 0;
    }
}

void qr_step_run(struct quire_engine *e, struct qr_request *r)
{
    if (r->state == QR_REQUEST_WAITING)
        start(e, r);
    follow_rope(e, r);
    const uint32_t left = r->n_tokens - r->n_computed;
    const uint32_t n = left < e->info.max_step_tokens ? left : e->info.max_step_tokens;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_status s = forward(e, r, n, n == left, &err);
    if (s == QUIRE_OK) {
        r->prompt_moved |= r->n_chosen == 0 && r->n_computed < r->n_prompt;
        r->n_computed += n;
        if (n == left)
            s = choose_token(e, r, &err);
    }
    if (s != QUIRE_OK) {
        qr_request_fail(r, s, &err);
        /* what a failed step left behind is not to be built upon */
        qr_sequence_clear(&e->sequence);
    }
}
