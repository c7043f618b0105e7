/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - the public attention call: validates arguments and executes the plan's work items. */
#include "attention/forward.h"
#include "attention/config.h"
#include "attention/convert.h"
#include "attention/plan.h"
#include "attention/work_item.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include <math.h>

/* Returns the arguments with default strides and configuration filled in. A layer's own
 * configuration is copied to *own. */
static struct quire_attention_args resolve(const struct quire_plan *plan,
                                           const struct quire_attention_args *args,
                                           struct quire_attention_config *own)
{
    struct quire_attention_args a;
    qr_struct_copy(&a, sizeof a, args);
    const struct quire_attention_config *c = &plan->groups[a.group].config;
    const size_t v_size = qr_attention_v_size(c);
    if (a.config)
        qr_struct_copy(own, sizeof *own, a.config);
    a.config = a.config ? own : c;
    a.q_head_stride = a.q_head_stride ? a.q_head_stride : c->head_size;
    a.q_token_stride = a.q_token_stride ? a.q_token_stride : c->n_heads * a.q_head_stride;
    a.out_head_stride = a.out_head_stride ? a.out_head_stride : v_size;
    a.out_token_stride = a.out_token_stride ? a.out_token_stride : c->n_heads * a.out_head_stride;
    a.out_scale = a.out_scale == 0 ? 1 : a.out_scale;
    a.lse_token_stride = a.lse_token_stride ? a.lse_token_stride : c->n_heads;
    return a;
}

/* Validates a layer's own configuration: it may differ from the group's only in fields that do not
 * affect the partition. */
static quire_status check_config(const struct quire_attention_config *c,
                                 const struct quire_attention_config *group,
                                 struct quire_error *err)
{
    /* the group's own relative_bias was validated with the plan */
    struct quire_attention_config unchecked = *c;
    if (c->relative_bias == group->relative_bias && c->relative_range == group->relative_range)
        unchecked.relative_bias = NULL;
    const uint32_t reasons = qr_attention_reasons(&unchecked);
    if (reasons)
        return qr_attention_refuse(reasons, "args.config", err);
    const char *differs = c->kind != group->kind                                 ? "kind"
                          : c->n_heads != group->n_heads                         ? "n_heads"
                          : c->n_kv_heads != group->n_kv_heads                   ? "n_kv_heads"
                          : c->head_size != group->head_size                     ? "head_size"
                          : qr_attention_v_size(c) != qr_attention_v_size(group) ? "v_head_size"
                          : c->window_left != group->window_left                 ? "window_left"
                          : c->window_right != group->window_right               ? "window_right"
                          : !c->causal != !group->causal                         ? "causal"
                          : c->chunk_size != group->chunk_size                   ? "chunk_size"
                                                                                 : NULL;
    if (differs)
        return qr_fail(err, QUIRE_E_MISMATCH, "args.config: %s differs from the plan's group",
                       differs);
    return QUIRE_OK;
}

static quire_status check_types(const struct quire_attention_args *a, struct quire_error *err)
{
    const bool int8 = a->q_dtype == QUIRE_KV_INT8;
    if (!qr_query_bytes(a->q_dtype))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.q_dtype %d is not a query type",
                       (int)a->q_dtype);
    if (!qr_out_bytes(a->out_dtype))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.out_dtype %d is not an output type",
                       (int)a->out_dtype);
    if (int8 != (a->q_scale != NULL))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.q_scale is %s",
                       int8 ? "NULL, but queries are int8" : "given, but queries are not int8");
    if (!(a->out_scale > 0 && a->out_scale < INFINITY))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.out_scale is %g", (double)a->out_scale);
    return QUIRE_OK;
}

static quire_status check_buffers(const struct quire_attention_args *a, size_t n,
                                  struct qr_attention_extents *out, struct quire_error *err)
{
    const struct quire_attention_config *c = a->config;
    const size_t heads = c->n_heads, f32 = sizeof(float);
    const struct qr_tensor tensors[] = {
        { "args.q", a->q, n, heads, c->head_size, a->q_token_stride, a->q_head_stride,
          qr_query_bytes(a->q_dtype) },
        { "args.q_scale", a->q_scale, n, 1, heads, heads, heads, f32 },
        { "args.out", a->out, n, heads, qr_attention_v_size(c), a->out_token_stride,
          a->out_head_stride, qr_out_bytes(a->out_dtype) },
        { "args.lse", a->lse, n, 1, heads, a->lse_token_stride, a->lse_token_stride, f32 },
    };
    enum { OUT = 2, LSE, N };
    struct qr_extent at[N];
    for (int i = 0; i < N; i++) {
        at[i] = (struct qr_extent){ 0, 0 };
        if (tensors[i].p || i == 0 || i == OUT)
            QR_TRY(qr_tensor_check(&tensors[i], &at[i], err));
    }
    for (int i = OUT; i < N; i++) /* outputs must not overlap any other tensor */
        for (int j = 0; j < i; j++)
            if (qr_extent_overlap(at[i], at[j]))
                return qr_fail(err, QUIRE_E_INVALID_ARG, "%s and %s overlap", tensors[j].name,
                               tensors[i].name);
    *out = (struct qr_attention_extents){ at[OUT], at[LSE] };
    return QUIRE_OK;
}

quire_status qr_attention_check_args(const struct quire_plan *plan, size_t n_tokens,
                                     const struct quire_attention_args *args,
                                     struct qr_attention_extents *extents, struct quire_error *err)
{
    struct quire_attention_args given;
    struct quire_attention_config own;
    QR_READ_STRUCT(&given, args, out_scale, "args", err);
    if (given.group >= plan->n_groups)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.group is %u, the plan has %u", given.group,
                       plan->n_groups);
    const struct qr_plan_group *g = &plan->groups[given.group];
    const uint32_t n_layers = plan->kv->groups[g->kv_group].n_layers;
    if (given.layer >= n_layers)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.layer is %u, KV group %u has %u",
                       given.layer, g->kv_group, n_layers);
    if (given.config) {
        QR_TRY(qr_attention_config_read(&own, given.config, "args.config", err));
        QR_TRY(check_config(&own, &g->config, err));
    }
    const struct quire_attention_args a = resolve(plan, &given, &own);
    QR_TRY(check_types(&a, err));
    return check_buffers(&a, n_tokens, extents, err);
}

quire_status quire_attention_check(const struct quire_plan *plan,
                                   const struct quire_attention_args *args, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct qr_attention_extents extents;
    QR_TRY(qr_handle_check(plan, QR_KIND_PLAN, "plan", err));
    return qr_attention_check_args(plan, plan->n_tokens, args, &extents, err);
}

void qr_attention_part_with(struct quire_plan *plan, const struct quire_attention_args *args,
                            const struct qr_key_selection *selection,
                            const struct qr_score_bias *bias, const struct quire_team *team)
{
    QR_FP_SCOPE;
    struct qr_plan_group *g = &plan->groups[args->group];
    if (team->rank < plan->n_threads) {
        struct quire_attention_config own;
        struct qr_attention_call call = { .plan = plan,
                                          .group = g,
                                          .args = resolve(plan, args, &own),
                                          .selection = selection,
                                          .score_bias = bias };
        size_t bytes;
        call.config = call.args.config;
        call.kernels = &g->kernels[call.config->compute];
        call.scratch = qr_thread_scratch_layout(
            plan, plan->scratch + team->rank * plan->scratch_bytes, &bytes);
        if (g->kernel_table->attn_begin)
            g->kernel_table->attn_begin();
        for (uint32_t i;
             (i = __atomic_fetch_add(&plan->next_item, 1, __ATOMIC_RELAXED)) < g->n_items;)
            qr_work_item_run(&call, &g->items[g->order[i]]);
        if (g->kernel_table->attn_end)
            g->kernel_table->attn_end();
    }
    /* the last member resets the counters for the next call, which starts after a barrier */
    if (__atomic_add_fetch(&plan->n_members_done, 1, __ATOMIC_ACQ_REL) == team->size) {
        __atomic_store_n(&plan->next_item, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&plan->n_members_done, 0, __ATOMIC_RELAXED);
    }
}

void quire_attention_part(struct quire_plan *plan, const struct quire_attention_args *args,
                          const struct quire_team *team)
{
    qr_attention_part_with(plan, args, NULL, NULL, team);
}

struct job {
    struct quire_plan *plan;
    const struct quire_attention_args *args;
};

static void run_job(void *arg, const struct quire_team *team)
{
    const struct job *job = arg;
    quire_attention_part(job->plan, job->args, team);
}

quire_status quire_attention_forward(struct quire_plan *plan,
                                     const struct quire_attention_args *args,
                                     struct quire_threads *threads, struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(quire_attention_check(plan, args, err));
    QR_TRY(qr_plan_acquire(plan, err));
    struct job job = { plan, args };
    const quire_status status = qr_part_run(threads, run_job, &job, err);
    qr_plan_release(plan);
    return status;
}

QR_DEFINE_ZERO_INIT(quire_attention_args)
