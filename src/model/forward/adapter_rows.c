/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_rows.c - the rows of a step by adapter. */
#include "model/forward/adapter_rows.h"
#include "base/error.h"
#include "model/load/adapter.h"
#include <math.h>
#include <string.h>

static void *take(struct qr_bump *c, size_t n, size_t width, size_t elem)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, elem);
    c->overflow = true;
    return NULL;
}

static size_t n_slots(const struct quire_model *m)
{
    return m->config->recurrent.kind ? QR_ADAPTER_RECURRENT_SLOTS : QR_ADAPTER_SLOTS;
}

static size_t n_split_places(const struct quire_model *m)
{
    return n_slots(m) * QR_ADAPTER_SPLIT_ROWS;
}

static size_t n_panels(const struct qr_step_adapters *a) { return a->max_rank / QR_LORA_PANEL; }

void qr_adapter_reserve(const struct quire_model *model, struct quire_context *ctx,
                        struct qr_bump *buffers)
{
    struct qr_step_adapters *a = &ctx->adapters;
    const size_t places = (size_t)ctx->max_rows * model->config->moe.top_k;
    size_t u_rows = n_slots(model) * ctx->max_rows;
    if (!a->max_rank)
        return;
    u_rows = u_rows > ctx->max_logits ? u_rows : ctx->max_logits;
    u_rows = u_rows > 2 * places ? u_rows : 2 * places; /* of gate and up */
    a->groups = take(buffers, ctx->max_seqs, 1, sizeof *a->groups);
    a->row_group = take(buffers, ctx->max_rows, 1, sizeof *a->row_group);
    a->rows = take(buffers, ctx->max_rows, 1, sizeof *a->rows);
    a->scales = take(buffers, ctx->max_rows, 1, sizeof *a->scales);
    a->logits_rows = take(buffers, ctx->max_logits, 1, sizeof *a->logits_rows);
    a->logits_scales = take(buffers, ctx->max_logits, 1, sizeof *a->logits_scales);
    a->place_scales = take(buffers, places, 1, sizeof *a->place_scales);
    a->u = take(buffers, u_rows, a->max_rank, sizeof *a->u);
    a->chain_sums =
        take(buffers, n_split_places(model) * QR_LORA_CHAINS, a->max_rank, sizeof *a->chain_sums);
    a->chains_done = take(buffers, n_split_places(model), n_panels(a), sizeof *a->chains_done);
}

/* ---- checks */

static quire_status check_adapters(const struct quire_context *ctx,
                                   const struct quire_forward_args *args, struct quire_error *err)
{
    for (uint32_t i = 0; i < args->n_adapters; i++) {
        const struct quire_adapter *a = args->adapters[i];
        if (!qr_handle_is(a, QR_KIND_ADAPTER))
            return qr_fail(err, QUIRE_E_INVALID_ARG, "args.adapters[%u] is no open adapter", i);
        if (a->model != ctx->model)
            return qr_fail(err, QUIRE_E_MISMATCH, "args.adapters[%u] belongs to another model", i);
        if (a->info.rank > ctx->adapters.limit)
            return qr_fail(err, QUIRE_E_LIMIT,
                           "args.adapters[%u] has rank %u, the context allows %u", i, a->info.rank,
                           ctx->adapters.limit);
    }
    return QUIRE_OK;
}

static quire_status check_seqs(const struct quire_forward_args *args, struct quire_error *err)
{
    for (uint32_t i = 0; i < args->batch->n_seqs; i++) {
        const int32_t index = args->adapter_index[i];
        if (index < -1 || index >= (int64_t)args->n_adapters)
            return qr_fail(err, QUIRE_E_RANGE, "adapter_index[%u] is %d of %u adapters", i, index,
                           args->n_adapters);
        if (index >= 0 && args->adapter_scales && !isfinite(args->adapter_scales[i]))
            return qr_fail(err, QUIRE_E_INVALID_ARG, "adapter_scales[%u] is not finite", i);
    }
    return QUIRE_OK;
}

/* ---- groups */

/* The group of an adapter; new ones are added. */
static uint32_t group_of(struct qr_step_adapters *a, const struct quire_adapter *adapter)
{
    for (uint32_t g = 0; g < a->n_groups; g++)
        if (a->groups[g].adapter == adapter)
            return g;
    a->groups[a->n_groups] = (struct qr_adapter_group){ .adapter = adapter };
    a->stride = adapter->max_rank > a->stride ? adapter->max_rank : a->stride;
    return a->n_groups++;
}

/* Enters the sequences' groups and scales for their rows. A scale of 0 is no adapter. */
static void assign_rows(struct qr_step_adapters *a, const struct quire_forward_args *args)
{
    const struct quire_attention_batch *b = args->batch;
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const float scale = args->adapter_scales ? args->adapter_scales[i] : 1;
        const bool used = args->adapter_index[i] >= 0 && scale != 0 &&
                          b->query_start_loc[i + 1] > b->query_start_loc[i];
        const uint32_t group =
            used ? group_of(a, args->adapters[args->adapter_index[i]]) : QR_NO_ADAPTER;
        for (int32_t r = b->query_start_loc[i]; r < b->query_start_loc[i + 1]; r++) {
            a->row_group[r] = group;
            a->scales[r] = scale;
            if (used)
                a->groups[group].tokens.n++;
        }
    }
}

/* Distributes rows to the lists of their groups, ascending. group_rows: the row of the step for
 * each of n entries, or NULL for the entry itself. */
static void fill_lists(struct qr_step_adapters *a, bool logits, const uint32_t *step_rows,
                       uint32_t n)
{
    uint32_t *next = logits ? a->logits_rows : a->rows;
    for (uint32_t g = 0; g < a->n_groups; g++) {
        struct qr_row_list *list = logits ? &a->groups[g].logits : &a->groups[g].tokens;
        list->rows = next;
        next += list->n;
        list->n = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t group = a->row_group[step_rows ? step_rows[i] : i];
        if (group == QR_NO_ADAPTER)
            continue;
        struct qr_row_list *list = logits ? &a->groups[group].logits : &a->groups[group].tokens;
        list->rows[list->n++] = i;
    }
}

void qr_adapter_place_logits(const struct qr_step *s)
{
    struct qr_step_adapters *a = &s->ctx->adapters;
    for (uint32_t g = 0; g < a->n_groups; g++)
        a->groups[g].logits.n = 0;
    for (uint32_t i = 0; a->n_groups && i < s->n_logits; i++) {
        const uint32_t row = s->logits_rows[i], group = a->row_group[row];
        a->logits_scales[i] = a->scales[row];
        if (group != QR_NO_ADAPTER)
            a->groups[group].logits.n++;
    }
    if (a->n_groups)
        fill_lists(a, true, s->logits_rows, s->n_logits);
}

quire_status qr_adapter_place(const struct qr_step *s, struct quire_error *err)
{
    const struct quire_forward_args *args = s->args;
    struct qr_step_adapters *a = &s->ctx->adapters;
    a->n_groups = a->stride = 0;
    if (!args->n_adapters)
        return QUIRE_OK;
    if (!args->adapters || !args->adapter_index)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s is NULL, args.n_adapters is %u",
                       args->adapters ? "adapter_index" : "adapters", args->n_adapters);
    QR_TRY(check_adapters(s->ctx, args, err));
    QR_TRY(check_seqs(args, err));
    assign_rows(a, args);
    if (a->n_groups) {
        fill_lists(a, false, NULL, s->n_tokens);
        memset(a->chains_done, 0,
               n_split_places(s->ctx->model) * n_panels(a) * sizeof *a->chains_done);
    }
    qr_adapter_place_logits(s);
    return QUIRE_OK;
}

void qr_adapter_begin(const struct quire_forward_args *args)
{
    for (uint32_t i = 0; i < args->n_adapters; i++)
        __atomic_fetch_add(&((struct quire_adapter *)args->adapters[i])->n_users, 1,
                           __ATOMIC_ACQ_REL);
}

void qr_adapter_end(const struct quire_forward_args *args)
{
    for (uint32_t i = 0; i < args->n_adapters; i++)
        __atomic_fetch_sub(&((struct quire_adapter *)args->adapters[i])->n_users, 1,
                           __ATOMIC_ACQ_REL);
}
