/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - creation and destruction of the object for attention over contiguous keys and
 * values. */
#include "attention/dense.h"
#include "attention/config.h"
#include "base/alloc.h"
#include "base/bump.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "kv/config.h"
#include "kv/types.h"

/* Configurations of the object's parts, which point to each other. */
struct design {
    struct quire_dense object; /* without memory */
    struct quire_attention_config config;
    struct quire_kv_group_config kv_group;
    struct quire_kv_params kv;
    struct quire_plan_group plan_group;
    struct quire_plan_params plan; /* without its cache */
};

/* ---- validation: what the pool and the plan would report under other parameter names */

static quire_status check_number(const char *name, uint32_t value, uint32_t max,
                                 struct quire_error *err)
{
    if (value < 1 || value > max)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.%s is %u, not 1 .. %u", name, value, max);
    return QUIRE_OK;
}

static quire_status check_config(const struct quire_attention_config *c, struct quire_error *err)
{
    const uint32_t reasons = qr_attention_reasons(c);
    return reasons ? qr_attention_refuse(reasons, "params.config", err) : QUIRE_OK;
}

static quire_status check_params(const struct quire_dense_params *p, struct quire_error *err)
{
    if (p->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.reserved is not 0");
    QR_TRY(check_config(p->config, err));
    if (p->dtype != QUIRE_KV_F32 && p->dtype != QUIRE_KV_BF16 && p->dtype != QUIRE_KV_F16)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.dtype %d is not f32, bf16 or f16",
                       (int)p->dtype);
    QR_TRY(check_number("max_tokens", p->max_tokens, 1 << 24, err));
    QR_TRY(check_number("max_kv_tokens", p->max_kv_tokens, INT32_MAX, err));
    QR_TRY(check_number("max_seqs", p->max_seqs, 1 << 20, err));
    if (p->flags & ~(uint32_t)QUIRE_PLAN_FAST)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags has unknown bits: 0x%x", p->flags);
    return QUIRE_OK;
}

/* ---- sizes */

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Lays out the object and its arrays at `base`. False on overflow. */
static bool lay_out(struct quire_dense *d, uint32_t n_blocks, unsigned char *base)
{
    const uint32_t keys = smaller(d->max_seq_len, d->max_kv_tokens);
    const size_t per_seq = qr_dense_blocks(keys);
    struct qr_bump c = { .base = base };
    size_t n;
    qr_bump_alloc(&c, 1, sizeof *d);
    d->seqs = qr_bump_alloc(&c, d->max_seqs, sizeof *d->seqs);
    d->staged = qr_bump_alloc(&c, d->max_seqs, sizeof *d->staged);
    d->seq_lens = qr_bump_alloc(&c, d->max_seqs, sizeof *d->seq_lens);
    d->kv_lens = qr_bump_alloc(&c, d->max_seqs, sizeof *d->kv_lens);
    d->slots = qr_bump_alloc(&c, n_blocks, QR_DENSE_BLOCK * sizeof *d->slots);
    if (!qr_mul_size(per_seq, d->max_seqs, &n))
        return false;
    d->table = qr_bump_alloc(&c, n, sizeof *d->table);
    d->bytes = c.used;
    return !c.overflow;
}

static quire_status init_design(const struct quire_dense_params *params, struct design *d,
                                struct quire_error *err)
{
    struct quire_dense_params copy;
    const struct quire_dense_params *p = &copy;
    QR_READ_STRUCT(&copy, params, allocator, "params", err);
    QR_TRY(qr_attention_config_read(&d->config, copy.config, "params.config", err));
    copy.config = &d->config;
    QR_TRY(check_params(p, err));
    const uint32_t n_blocks = p->max_kv_tokens / QR_DENSE_BLOCK + p->max_seqs;
    d->object = (struct quire_dense){ .handle = { QR_KIND_DENSE },
                                      .allocator = p->allocator,
                                      .config = *p->config,
                                      .max_tokens = p->max_tokens,
                                      .max_kv_tokens = p->max_kv_tokens,
                                      .max_seqs = p->max_seqs,
                                      .max_seq_len = p->max_seq_len };
    if (!p->max_seq_len)
        d->object.max_seq_len = larger(p->max_kv_tokens, p->max_tokens);
    if (!lay_out(&d->object, n_blocks, NULL))
        return qr_fail(err, QUIRE_E_LIMIT,
                       "max_kv_tokens %u and max_seqs %u need more memory than can be addressed",
                       p->max_kv_tokens, p->max_seqs);
    d->kv_group = (struct quire_kv_group_config){ .n_layers = 1,
                                                  .n_kv_heads = p->config->n_kv_heads,
                                                  .head_size = p->config->head_size,
                                                  .v_head_size = p->config->v_head_size,
                                                  .k_dtype = p->dtype,
                                                  .v_dtype = p->dtype,
                                                  .n_blocks = n_blocks };
    d->kv = (struct quire_kv_params){ .struct_size = sizeof d->kv,
                                      .block_size = QR_DENSE_BLOCK,
                                      .groups = &d->kv_group,
                                      .n_groups = 1,
                                      .allocator = p->allocator,
                                      .isa = p->isa };
    d->plan_group = (struct quire_plan_group){ .config = p->config };
    d->plan = (struct quire_plan_params){ .struct_size = sizeof d->plan,
                                          .groups = &d->plan_group,
                                          .n_groups = 1,
                                          .max_tokens = p->max_tokens,
                                          .max_seqs = p->max_seqs,
                                          .max_seq_len = d->object.max_seq_len,
                                          .max_blocks = n_blocks,
                                          .n_threads = p->n_threads,
                                          .flags = p->flags | QUIRE_PLAN_NO_CASCADE,
                                          .max_spans = p->max_spans,
                                          .max_tree_tokens = p->max_tree_tokens,
                                          .max_tree_words = p->max_tree_words,
                                          .max_sparse_blocks = p->max_sparse_blocks,
                                          .isa = p->isa,
                                          .allocator = p->allocator };
    return QUIRE_OK;
}

quire_status quire_dense_bytes(const struct quire_dense_params *params, uint64_t *bytes,
                               struct quire_error *err)
{
    QR_FP_SCOPE;
    struct design d;
    struct quire_kv_memory kv_memory = { .struct_size = sizeof kv_memory };
    struct qr_kv_sizes sizes = { 0 };
    uint64_t plan_bytes, total;
    /* the plan reads only the shape of a cache */
    union {
        struct quire_kv_cache cache;
        unsigned char room[sizeof(struct quire_kv_cache) + sizeof(struct qr_kv_group)];
    } kv = { .cache = {
                 .handle = { QR_KIND_KV_CACHE }, .n_groups = 1, .block_size = QR_DENSE_BLOCK } };
    if (!bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "bytes is NULL");
    QR_TRY(init_design(params, &d, err));
    QR_TRY(quire_kv_bytes(&d.kv, &kv_memory, err));
    QR_TRY(qr_kv_group_size(&d.kv, 0, &sizes, &kv.cache.groups[0], err));
    d.plan.kv = &kv.cache;
    QR_TRY(quire_plan_bytes(&d.plan, &plan_bytes, err));
    if (!qr_add_u64(kv_memory.total, plan_bytes, &total) ||
        !qr_add_u64(total, d.object.bytes, &total))
        return qr_fail(err, QUIRE_E_LIMIT, "params: more memory than can be addressed");
    *bytes = total;
    return QUIRE_OK;
}

/* ---- creation and destruction */

quire_status quire_dense_create(const struct quire_dense_params *params, struct quire_dense **out,
                                struct quire_error *err)
{
    QR_FP_SCOPE;
    struct design d;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(init_design(params, &d, err));
    struct quire_dense *dense = qr_alloc_aligned(params->allocator, d.object.bytes, QR_BUMP_ALIGN);
    if (!dense)
        return qr_fail(err, QUIRE_E_NOMEM, "%zu bytes for dense attention", d.object.bytes);
    *dense = d.object;
    (void)lay_out(dense, d.kv_group.n_blocks, (unsigned char *)dense);
    for (size_t i = 0; i < (size_t)d.kv_group.n_blocks * QR_DENSE_BLOCK; i++)
        dense->slots[i] = (int64_t)i;
    quire_status status = quire_kv_create(&d.kv, &dense->kv, err);
    if (status == QUIRE_OK) {
        d.plan.kv = dense->kv;
        status = quire_plan_create(&d.plan, &dense->plan, err);
    }
    if (status != QUIRE_OK) {
        quire_dense_destroy(dense);
        return status;
    }
    *out = dense;
    return QUIRE_OK;
}

void quire_dense_destroy(struct quire_dense *dense)
{
    if (!qr_handle_end(dense, QR_KIND_DENSE))
        return;
    quire_plan_destroy(dense->plan);
    quire_kv_destroy(dense->kv);
    qr_free(dense->allocator, dense, dense->bytes, 1);
}

QR_DEFINE_ZERO_INIT(quire_dense_params)
QR_DEFINE_ZERO_INIT(quire_dense_batch)
