/* SPDX-License-Identifier: Apache-2.0 */
/* dense_call.c - attention over contiguous keys and values: validates, copies them to the private
 * pool, runs paged attention. */
#include "attention/config.h"
#include "attention/dense.h"
#include "attention/forward.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "kv/dtype.h"

/* ---- lengths */

static quire_status check_batch(const struct quire_dense *d, const struct quire_dense_batch *b,
                                struct quire_error *err)
{
    if (b->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.reserved is not 0");
    if (b->n_seqs > d->max_seqs)
        return qr_fail(err, QUIRE_E_LIMIT, "batch.n_seqs is %u, above max_seqs %u", b->n_seqs,
                       d->max_seqs);
    if (b->n_seqs && (!b->query_start_loc || !b->kv_start_loc))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.%s is NULL",
                       b->query_start_loc ? "kv_start_loc" : "query_start_loc");
    if (b->n_seqs && b->query_start_loc[0] != 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.query_start_loc[0] is %d, not 0",
                       b->query_start_loc[0]);
    if (b->seq_lens && d->config.kind != QUIRE_ATTENTION_CROSS)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.seq_lens is given, but the attention is not cross attention");
    return QUIRE_OK;
}

/* Sets the rows of sequence i. */
static quire_status find_rows(const struct quire_dense *d, const struct quire_dense_batch *b,
                              uint32_t i, struct qr_dense_seq *s, struct quire_error *err)
{
    const int32_t row = b->kv_start_loc[i];
    const int64_t len = b->kv_lens ? b->kv_lens[i] : (int64_t)b->kv_start_loc[i + 1] - row;
    if (row < 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.kv_start_loc[%u] is %d, below 0", i, row);
    if (len < 0 && b->kv_lens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.kv_lens[%u] is %d, below 0", i,
                       b->kv_lens[i]);
    if (len < 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.kv_start_loc[%u] is %d, below the previous entry", i + 1,
                       b->kv_start_loc[i + 1]);
    if (len > d->max_seq_len)
        return qr_fail(err, QUIRE_E_LIMIT, "batch: sequence %u has %d keys, above max_seq_len %u",
                       i, (int)len, d->max_seq_len);
    s->row = (uint32_t)row;
    s->len = (uint32_t)len;
    return QUIRE_OK;
}

static quire_status check_queries(const struct quire_dense *d, const struct quire_dense_batch *b,
                                  uint32_t i, uint32_t n_keys, struct quire_error *err)
{
    const int32_t begin = b->query_start_loc[i], end = b->query_start_loc[i + 1];
    if (end < begin)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch.query_start_loc[%u] is %d, below the previous entry", i + 1, end);
    if ((uint32_t)end > d->max_tokens)
        return qr_fail(err, QUIRE_E_LIMIT, "batch.query_start_loc[%u] is %d, above max_tokens %u",
                       i + 1, end, d->max_tokens);
    if (d->config.kind != QUIRE_ATTENTION_CROSS && (uint32_t)(end - begin) > n_keys)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "batch: sequence %u has %u keys, fewer than its %d queries", i, n_keys,
                       end - begin);
    return QUIRE_OK;
}

/* Validates lengths and writes them to d->staged, d->seq_lens and d->kv_lens. */
static quire_status stage(struct quire_dense *d, const struct quire_dense_batch *b,
                          struct quire_error *err)
{
    uint32_t block = 0;
    uint64_t keys = 0;
    QR_TRY(check_batch(d, b, err));
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        struct qr_dense_seq *s = &d->staged[i];
        QR_TRY(find_rows(d, b, i, s, err));
        QR_TRY(check_queries(d, b, i, s->len, err));
        if ((keys += s->len) > d->max_kv_tokens)
            return qr_fail(err, QUIRE_E_LIMIT, "batch: more keys than max_kv_tokens %u",
                           d->max_kv_tokens);
        s->block = block;
        block += qr_dense_blocks(s->len);
        d->kv_lens[i] = (int32_t)s->len;
        d->seq_lens[i] = d->config.kind != QUIRE_ATTENTION_CROSS ? d->kv_lens[i]
                         : b->seq_lens                           ? b->seq_lens[i]
                                       : b->query_start_loc[i + 1] - b->query_start_loc[i];
    }
    return QUIRE_OK;
}

/* Builds the plan of the staged lengths and makes them the current batch. */
static quire_status commit(struct quire_dense *d, const struct quire_dense_batch *b,
                           struct quire_error *err)
{
    uint32_t max_blocks = 1;
    for (uint32_t i = 0; i < b->n_seqs; i++) {
        const uint32_t n = qr_dense_blocks(d->staged[i].len);
        max_blocks = n > max_blocks ? n : max_blocks;
    }
    for (uint32_t i = 0; i < b->n_seqs; i++)
        for (uint32_t j = 0; j < qr_dense_blocks(d->staged[i].len); j++)
            d->table[(size_t)i * max_blocks + j] = (int32_t)(d->staged[i].block + j);
    const struct quire_attention_batch_group group = { .block_table = d->table,
                                                       .max_blocks = max_blocks };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = b->n_seqs,
                                                 .query_start_loc = b->query_start_loc,
                                                 .seq_lens = d->seq_lens,
                                                 .causal = b->causal,
                                                 .n_groups = 1,
                                                 .groups = &group,
                                                 .encoder_seq_lens = d->kv_lens,
                                                 .span_loc = b->span_loc,
                                                 .spans = b->spans,
                                                 .tree_mask = b->tree_mask,
                                                 .tree_words = b->tree_words,
                                                 .sparse = b->sparse ? &b->sparse : NULL };
    QR_TRY(quire_plan_build(d->plan, &batch, err));
    struct qr_dense_seq *old = d->seqs;
    d->seqs = d->staged;
    d->staged = old;
    d->n_seqs = b->n_seqs;
    d->n_tokens = b->n_seqs ? (uint32_t)b->query_start_loc[b->n_seqs] : 0;
    return QUIRE_OK;
}

/* ---- rows */

/* Arguments of the KV write, common to all sequences; slot_mapping, k and v point to row 0. */
static struct quire_kv_write_args write_args(const struct quire_dense *d,
                                             const struct quire_dense_batch *b)
{
    const struct quire_attention_config *c = &d->config;
    struct quire_kv_write_args w = { .struct_size = sizeof w,
                                     .dtype = b->dtype,
                                     .k = b->k,
                                     .v = b->v,
                                     .k_token_stride = b->k_token_stride,
                                     .k_head_stride = b->k_head_stride,
                                     .v_token_stride = b->v_token_stride,
                                     .v_head_stride = b->v_head_stride,
                                     .slot_mapping = d->slots };
    w.k_head_stride = w.k_head_stride ? w.k_head_stride : c->head_size;
    w.v_head_stride = w.v_head_stride ? w.v_head_stride : qr_attention_v_size(c);
    w.k_token_stride = w.k_token_stride ? w.k_token_stride : c->n_kv_heads * w.k_head_stride;
    w.v_token_stride = w.v_token_stride ? w.v_token_stride : c->n_kv_heads * w.v_head_stride;
    return w;
}

/* Validates k or v of a batch whose longest sequence has t->tokens rows and whose last row is
 * end_row - 1. */
static quire_status check_rows(const struct qr_tensor *t, size_t end_row, struct qr_extent *out,
                               struct quire_error *err)
{
    size_t skip;
    QR_TRY(qr_tensor_check(t, out, err));
    /* sequences may interleave, so only the end of the address range moves */
    if (!qr_mul3_size(end_row - t->tokens, t->token_stride, t->elem_bytes, &skip) ||
        skip > PTRDIFF_MAX || out->end > UINTPTR_MAX - skip)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s: %zu rows of stride %zu overflow", t->name,
                       end_row, t->token_stride);
    out->end += skip;
    return QUIRE_OK;
}

static quire_status check_kv(const struct quire_dense *d, const struct qr_dense_seq *seqs,
                             uint32_t n_seqs, const struct quire_dense_batch *b,
                             struct qr_extent *k, struct qr_extent *v, struct quire_error *err)
{
    const struct quire_attention_config *c = &d->config;
    const struct quire_kv_write_args w = write_args(d, b);
    size_t end_row = 0, longest = 0;
    *k = *v = (struct qr_extent){ 0, 0 };
    for (uint32_t i = 0; i < n_seqs; i++) {
        const size_t end = (size_t)seqs[i].row + seqs[i].len;
        longest = seqs[i].len > longest ? seqs[i].len : longest;
        end_row = seqs[i].len && end > end_row ? end : end_row;
    }
    if (b->dtype != QUIRE_KV_F32 && b->dtype != QUIRE_KV_BF16 && b->dtype != QUIRE_KV_F16)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "batch.dtype %d is not f32, bf16 or f16",
                       (int)b->dtype);
    if (!longest)
        return QUIRE_OK;
    const size_t bytes = qr_kv_dtype(b->dtype)->bytes;
    const struct qr_tensor k_rows = { "batch.k",       b->k,         longest,
                                      c->n_kv_heads,   c->head_size, w.k_token_stride,
                                      w.k_head_stride, bytes };
    const struct qr_tensor v_rows = {
        "batch.v",       b->v, longest, c->n_kv_heads, qr_attention_v_size(c), w.v_token_stride,
        w.v_head_stride, bytes
    };
    QR_TRY(check_rows(&k_rows, end_row, k, err));
    return check_rows(&v_rows, end_row, v, err);
}

/* Validates rows and arguments. Lengths must have been validated. */
static quire_status check_call(const struct quire_dense *d, const struct qr_dense_seq *seqs,
                               uint32_t n_seqs, uint32_t n_tokens,
                               const struct quire_dense_batch *b,
                               const struct quire_attention_args *args, struct quire_error *err)
{
    struct qr_attention_extents e;
    struct qr_extent k, v;
    QR_TRY(check_kv(d, seqs, n_seqs, b, &k, &v, err));
    QR_TRY(qr_attention_check_args(d->plan, n_tokens, args, &e, err));
    const bool out = qr_extent_overlap(e.out, k) || qr_extent_overlap(e.out, v);
    if (!out && !qr_extent_overlap(e.lse, k) && !qr_extent_overlap(e.lse, v))
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s and batch.%s overlap", out ? "out" : "lse",
                   qr_extent_overlap(out ? e.out : e.lse, k) ? "k" : "v");
}

/* Writes this member's share of all rows to the pool. */
static void pack_part(struct quire_dense *d, const struct quire_dense_batch *b,
                      const struct quire_team *team)
{
    const struct quire_kv_write_args rows = write_args(d, b);
    const size_t bytes = qr_kv_dtype(b->dtype)->bytes;
    struct quire_team rotated = *team;
    for (uint32_t i = 0; i < d->n_seqs; i++) {
        const struct qr_dense_seq *s = &d->seqs[i];
        struct quire_kv_write_args w = rows;
        w.k = (const char *)rows.k + s->row * rows.k_token_stride * bytes;
        w.v = (const char *)rows.v + s->row * rows.v_token_stride * bytes;
        w.slot_mapping = rows.slot_mapping + (size_t)s->block * QR_DENSE_BLOCK;
        w.n_tokens = s->len;
        rotated.rank =
            (team->rank + i) % team->size; /* short sequences occupy few members: rotate ranks */
        quire_kv_write_part(d->kv, &w, &rotated);
    }
}

void quire_dense_part(struct quire_dense *dense, const struct quire_dense_batch *batch,
                      const struct quire_attention_args *args, const struct quire_team *team)
{
    QR_FP_SCOPE;
    struct quire_dense_batch b;
    qr_struct_copy(&b, sizeof b, batch);
    pack_part(dense, &b, team);
    quire_team_barrier(team);
    quire_attention_part(dense->plan, args, team);
}

/* ---- public calls */

static quire_status enter(struct quire_dense *d, struct quire_error *err)
{
    QR_TRY(qr_handle_check(d, QR_KIND_DENSE, "dense", err));
    if (__atomic_exchange_n(&d->busy, true, __ATOMIC_ACQUIRE))
        return qr_fail(err, QUIRE_E_BUSY, "the object is in use by another call");
    return QUIRE_OK;
}

static void leave(struct quire_dense *d) { __atomic_store_n(&d->busy, false, __ATOMIC_RELEASE); }

quire_status quire_dense_prepare(struct quire_dense *dense, const struct quire_dense_batch *batch,
                                 struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_dense_batch b;
    QR_READ_STRUCT(&b, batch, v_head_stride, "batch", err);
    QR_TRY(enter(dense, err));
    quire_status status = stage(dense, &b, err);
    if (status == QUIRE_OK)
        status = commit(dense, &b, err);
    leave(dense);
    return status;
}

quire_status quire_dense_check(const struct quire_dense *dense,
                               const struct quire_dense_batch *batch,
                               const struct quire_attention_args *args, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_dense_batch b;
    QR_TRY(qr_handle_check(dense, QR_KIND_DENSE, "dense", err));
    QR_READ_STRUCT(&b, batch, v_head_stride, "batch", err);
    return check_call(dense, dense->seqs, dense->n_seqs, dense->n_tokens, &b, args, err);
}

struct job {
    struct quire_dense *dense;
    const struct quire_dense_batch *batch;
    const struct quire_attention_args *args;
};

static void run_job(void *arg, const struct quire_team *team)
{
    const struct job *job = arg;
    quire_dense_part(job->dense, job->batch, job->args, team);
}

quire_status quire_attention_dense(struct quire_dense *dense, const struct quire_dense_batch *batch,
                                   const struct quire_attention_args *args,
                                   struct quire_threads *threads, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_dense_batch b;
    QR_READ_STRUCT(&b, batch, v_head_stride, "batch", err);
    struct job job = { dense, &b, args };
    QR_TRY(enter(dense, err));
    quire_status status = stage(dense, &b, err);
    if (status == QUIRE_OK)
        status = check_call(dense, dense->staged, b.n_seqs,
                            b.n_seqs ? (uint32_t)b.query_start_loc[b.n_seqs] : 0, &b, args, err);
    if (status == QUIRE_OK)
        status = commit(dense, &b, err);
    if (status == QUIRE_OK)
        status = qr_part_run(threads, run_job, &job, err);
    leave(dense);
    return status;
}
