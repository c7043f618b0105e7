/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_apply.c - the products of adapters, and of low-rank updates that are part of the model,
 * beside those of the weights. */
#include "model/forward/adapter_apply.h"
#include "base/error.h"
#include "base/prefetch.h"
#include "base/threads.h"
#include "model/load/adapter.h"
#include "model/load/low_rank.h"
#include <string.h>

enum {
    /* Rows of a work unit of u: a multiple of those that a kernel multiplies at a time, and at most
     * so many that the panel of A comes from L1 for most of them. */
    UNIT_ROWS_STEP = 4,
    UNIT_ROWS_MAX = 32,
    PREFETCH_ROWS = 16, /* steps of up to so many are bound by memory */
};

static const struct qr_lora *find(const struct quire_adapter *a, const struct qr_adapter_site *site)
{
    return site->role == QR_W_TOKEN_EMBD ? NULL : qr_adapter_find(a, site->role, site->layer);
}

static const struct qr_row_list *rows_of(const struct qr_adapter_group *g,
                                         const struct qr_adapter_site *site)
{
    return site->role == QR_W_OUTPUT ? &g->logits : &g->tokens;
}

/* The panel of A of ranks from `rank` on, a multiple of 16. */
static const void *panel_of_a(const struct qr_lora *l, size_t rank)
{
    return qr_lora_at(l->a, l->a_bf16, rank / QR_LORA_PANEL * qr_lora_panel_size(l->in));
}

/* u of a slot, [rows or places][stride]. */
static float *slot_of(const struct qr_step *s, uint32_t slot, size_t rows)
{
    return s->ctx->adapters.u + slot * rows * s->ctx->adapters.stride;
}

static size_t n_rows(const struct qr_step *s, const struct qr_adapter_site *site)
{
    return site->role == QR_W_OUTPUT ? s->n_logits : s->n_tokens;
}

/* Rows of a unit of n rows: few enough for a unit per thread. */
static size_t unit_rows(size_t n, const struct quire_team *team)
{
    const size_t share = n > team->size ? (n + team->size - 1) / team->size : 1,
                 rows = (share + UNIT_ROWS_STEP - 1) / UNIT_ROWS_STEP * UNIT_ROWS_STEP;
    return rows < UNIT_ROWS_MAX ? rows : UNIT_ROWS_MAX;
}

static size_t row_chunks(size_t n, const struct quire_team *team)
{
    return (n + unit_rows(n, team) - 1) / unit_rows(n, team);
}

/* ---- updates that are part of the model: of all rows */

static const struct qr_lora *find_own(const struct qr_step *s, const struct qr_adapter_site *site)
{
    return site->role == QR_W_TOKEN_EMBD ? NULL
                                         : qr_low_rank_find(s->ctx->model, site->role, site->layer);
}

/* u of a slot, [rows][own_rank]. */
static float *own_slot(const struct qr_step *s, uint32_t slot)
{
    return s->ctx->own_u + (size_t)slot * s->ctx->max_rows * s->ctx->own_rank;
}

/* Units of a site: 16 ranks of a chunk of rows. */
static size_t count_own_units(const struct qr_step *s, const struct qr_adapter_site *site,
                              const struct quire_team *team)
{
    const struct qr_lora *l = find_own(s, site);
    return l ? l->rank / QR_LORA_PANEL * row_chunks(s->n_tokens, team) : 0;
}

static void run_own_unit(const struct qr_step *s, const struct qr_adapter_site *site, size_t unit,
                         const float *x, size_t x_stride, const struct quire_team *team)
{
    const struct qr_lora *l = find_own(s, site);
    QR_INVARIANT(l); /* otherwise count_own_units() counts no unit */
    const size_t rows = unit_rows(s->n_tokens, team), chunks = row_chunks(s->n_tokens, team),
                 first = unit % chunks * rows, rank = unit / chunks * QR_LORA_PANEL,
                 stride = s->ctx->own_rank;
    const struct qr_lora_kernel_args args = {
        .w = panel_of_a(l, rank),
        .bf16 = l->a_bf16,
        .x = x,
        .x_stride = x_stride,
        .out = own_slot(s, site->slot) + first * stride + rank,
        .out_stride = stride,
        .n_rows = s->n_tokens - first < rows ? s->n_tokens - first : rows,
        .first_row = first,
        .n = QR_LORA_PANEL,
        .k = l->in,
    };
    for (size_t i = 0; i < args.n_rows; i++) /* the kernel adds to it */
        memset(args.out + i * stride, 0, QR_LORA_PANEL * sizeof *args.out);
    s->ctx->model->kernels->lora(&args);
}

static void add_own(const struct qr_step *s, const struct qr_adapter_site *site,
                    const struct qr_linear_block *b, float *out, size_t out_stride)
{
    const struct qr_lora *l = find_own(s, site);
    if (!l)
        return;
    const struct qr_lora_kernel_args args = {
        .w = qr_lora_at(l->b, l->b_bf16, b->j0 * l->rank),
        .bf16 = l->b_bf16,
        .x = own_slot(s, site->slot),
        .x_stride = s->ctx->own_rank,
        .out = out,
        .out_stride = out_stride,
        .n_rows = b->i1 - b->i0,
        .first_row = b->i0,
        .n = b->j1 - b->j0,
        .k = l->rank,
    };
    s->ctx->model->kernels->lora(&args);
}

/* ---- both */

bool qr_adapter_updates(const struct qr_step *s, const struct qr_adapter_site *site)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    if (find_own(s, site))
        return true;
    for (uint32_t g = 0; g < a->n_groups; g++)
        if (find(a->groups[g].adapter, site))
            return true;
    return false;
}

/* The units of one group at one site: 16 ranks of a chunk of rows. */
static size_t count_units(const struct qr_adapter_group *g, const struct qr_adapter_site *site,
                          const struct quire_team *team)
{
    const struct qr_lora *l = find(g->adapter, site);
    return l ? l->rank / QR_LORA_PANEL * row_chunks(rows_of(g, site)->n, team) : 0;
}

/* Sums of one chain of a site, [QR_ADAPTER_SPLIT_ROWS][stride]. */
static float *chain_sums(const struct qr_step_adapters *a, const struct qr_adapter_site *site,
                         size_t chain)
{
    return a->chain_sums +
           (site->slot * QR_LORA_CHAINS + chain) * QR_ADAPTER_SPLIT_ROWS * a->stride;
}

/* Adds the chains of 16 ranks as the kernel does, and stores u. */
static void add_chains(const struct qr_step *s, const struct qr_adapter_site *site,
                       const struct qr_lora_kernel_args *args, size_t rank)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    for (size_t i = 0; i < args->n_rows; i++) {
        const size_t r = args->rows[i], at = r * a->stride + rank;
        const float *c0 = chain_sums(a, site, 0) + at, *c1 = chain_sums(a, site, 1) + at,
                    *c2 = chain_sums(a, site, 2) + at, *c3 = chain_sums(a, site, 3) + at;
        const float scale = args->scale * args->scales[r];
        for (size_t j = 0; j < QR_LORA_PANEL; j++)
            args->out[r * a->stride + j] = ((c0[j] + c1[j]) + (c2[j] + c3[j])) * scale;
    }
}

/* Runs one chain of a unit; the thread that ends the last of the four adds them. */
static void run_chain(const struct qr_step *s, const struct qr_adapter_site *site,
                      struct qr_lora_kernel_args args, size_t rank, unsigned chain)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    const struct qr_lora_kernel_args whole = args;
    const size_t unit =
        site->slot * QR_ADAPTER_SPLIT_ROWS + args.rows[0]; /* a row is in one unit */
    uint32_t *done = &a->chains_done[(unit * a->max_rank + rank) / QR_LORA_PANEL];
    args.out = chain_sums(a, site, chain) + rank;
    args.chain = chain + 1;
    s->ctx->model->kernels->lora(&args);
    if (__atomic_add_fetch(done, 1, __ATOMIC_ACQ_REL) < QR_LORA_CHAINS)
        return;
    __atomic_store_n(done, 0, __ATOMIC_RELAXED);
    add_chains(s, site, &whole, rank);
}

/* Part `part` of `parts` of a unit: 1, or the number of chains. */
static void run_unit(const struct qr_step *s, const struct qr_adapter_group *g,
                     const struct qr_adapter_site *site, size_t unit, size_t part, size_t parts,
                     const float *x, size_t x_stride, const struct quire_team *team)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    const struct qr_lora *l = find(g->adapter, site);
    const struct qr_row_list *list = rows_of(g, site);
    const size_t rows = unit_rows(list->n, team), chunks = row_chunks(list->n, team),
                 first = unit % chunks * rows, rank = unit / chunks * QR_LORA_PANEL;
    const struct qr_lora_kernel_args args = {
        .w = panel_of_a(l, rank),
        .bf16 = l->a_bf16,
        .x = x,
        .x_stride = x_stride,
        .out = slot_of(s, site->slot, n_rows(s, site)) + rank,
        .out_stride = a->stride,
        .rows = list->rows + first,
        .n_rows = list->n - first < rows ? list->n - first : rows,
        .scales = site->role == QR_W_OUTPUT ? a->logits_scales : a->scales,
        .scale = l->scale,
        .n = QR_LORA_PANEL,
        .k = l->in,
    };
    if (parts > 1)
        run_chain(s, site, args, rank, (unsigned)part);
    else
        s->ctx->model->kernels->lora(&args);
}

/* Part number `at` of all units, each of `parts` parts: the units of the model first, then those of
 * each group. */
static void run_part(const struct qr_step *s, const struct qr_adapter_site *sites, size_t n,
                     size_t at, size_t parts, const float *x, size_t x_stride,
                     const struct quire_team *team)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    size_t unit = at / parts;
    for (size_t i = 0; i < n; i++) {
        const size_t count = count_own_units(s, &sites[i], team);
        if (unit < count) {
            run_own_unit(s, &sites[i], unit, x, x_stride, team);
            return;
        }
        unit -= count;
    }
    for (size_t i = 0; i < a->n_groups * n; i++) {
        const struct qr_adapter_group *g = &a->groups[i / n];
        const size_t count = count_units(g, &sites[i % n], team);
        if (unit < count) {
            run_unit(s, g, &sites[i % n], unit, at % parts, parts, x, x_stride, team);
            return;
        }
        unit -= count;
    }
}

/* Parts of a unit. In a step of few rows there are fewer units than threads, and a unit is as long
 * as the stream of a large part of A. */
static size_t parts_of_units(const struct qr_step *s, const struct qr_adapter_site *sites, size_t n,
                             size_t n_units, const struct quire_team *team)
{
    if (n_units >= team->size || n_rows(s, &sites[0]) > QR_ADAPTER_SPLIT_ROWS)
        return 1;
    for (size_t i = 0; i < n; i++)
        if (find_own(s, &sites[i])) /* all units have as many parts */
            return 1;
    return QR_LORA_CHAINS;
}

struct qr_adapter_down qr_adapter_down(const struct qr_step *s, const struct qr_adapter_site *sites,
                                       size_t n, const float *x, size_t x_stride,
                                       const struct quire_team *team)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += count_own_units(s, &sites[i], team);
        for (uint32_t g = 0; g < a->n_groups; g++)
            total += count_units(&a->groups[g], &sites[i], team);
    }
    if (!total)
        return (struct qr_adapter_down){ .is_empty = true };
    const size_t parts = parts_of_units(s, sites, n, total, team);
    struct qr_work_steal stage =
        qr_work_steal_begin(s->ctx->per_thread.down_counters, team, total * parts);
    size_t finished = 0;
    for (size_t at; qr_work_steal_next(&stage, &at); finished++)
        run_part(s, sites, n, at, parts, x, x_stride, team);
    qr_work_steal_finish(&stage, finished);
    return (struct qr_adapter_down){ .stage = stage };
}

/* Index of the first row that is at least `row`. */
static size_t lower_bound(const struct qr_row_list *list, size_t row)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (list->rows[mid] < row)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void qr_adapter_prefetch(const struct qr_step *s, const struct qr_adapter_site *site,
                         const struct qr_linear_block *b)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    if (s->n_tokens > PREFETCH_ROWS)
        return;
    for (uint32_t g = 0; g < a->n_groups; g++) {
        const struct qr_lora *l = find(a->groups[g].adapter, site);
        if (!l)
            continue;
        const unsigned char *at = qr_lora_at(l->b, l->b_bf16, b->j0 * l->rank);
        const size_t bytes = (b->j1 - b->j0) * l->rank * (l->b_bf16 ? 2 : 4);
        for (size_t i = 0; i < bytes; i += QR_CACHE_LINE_BYTES)
            qr_prefetch_l2(at + i);
    }
}

void qr_adapter_up(const struct qr_step *s, const struct qr_adapter_down *down,
                   const struct qr_adapter_site *site, const struct qr_linear_block *b, float *out,
                   size_t out_stride)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    if (down->is_empty)
        return;
    qr_work_steal_wait(&down->stage);
    add_own(s, site, b, out, out_stride);
    for (uint32_t g = 0; g < a->n_groups; g++) {
        const struct qr_lora *l = find(a->groups[g].adapter, site);
        const struct qr_row_list *list = rows_of(&a->groups[g], site);
        const size_t begin = l ? lower_bound(list, b->i0) : 0,
                     end = l ? lower_bound(list, b->i1) : 0;
        if (begin == end)
            continue;
        const struct qr_lora_kernel_args args = {
            .w = qr_lora_at(l->b, l->b_bf16, b->j0 * l->rank),
            .bf16 = l->b_bf16,
            .x = slot_of(s, site->slot, n_rows(s, site)),
            .x_stride = a->stride,
            .out = out,
            .out_stride = out_stride,
            .rows = list->rows + begin,
            .n_rows = end - begin,
            .first_row = b->i0,
            .n = b->j1 - b->j0,
            .k = l->rank,
        };
        s->ctx->model->kernels->lora(&args);
    }
}

void qr_adapter_embed(const struct qr_step *s, size_t r, size_t token, float *x)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    const struct qr_kernels *k = s->ctx->model->kernels;
    if (!a->n_groups || a->row_group[r] == QR_NO_ADAPTER)
        return;
    const struct qr_lora *l =
        qr_adapter_find(a->groups[a->row_group[r]].adapter, QR_W_TOKEN_EMBD, 0);
    if (!l)
        return;
    float *u = a->u + r * a->stride;
    const float scale = l->scale * a->scales[r];
    for (uint32_t i = 0; i < l->rank; i++)
        u[i] = ((const float *)l->a)[token * l->rank + i] * scale;
    const struct qr_lora_kernel_args args = {
        .w = l->b, .bf16 = l->b_bf16, .x = u, .out = x, .n_rows = 1, .n = l->out, .k = l->rank
    };
    k->lora(&args);
}

/* ---- experts */

bool qr_adapter_updates_experts(const struct qr_step *s, const struct qr_adapter_site *site)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    for (uint32_t g = 0; g < a->n_groups; g++)
        if (qr_adapter_has_stack(a->groups[g].adapter, site->role, site->layer))
            return true;
    return false;
}

static uint32_t group_of_place(const struct qr_step *s, size_t place)
{
    const uint32_t top_k = s->ctx->model->config->moe.top_k;
    return s->ctx->adapters.row_group[s->ctx->moe.assignments[place] / top_k];
}

void qr_adapter_place_scales(const struct qr_step *s, size_t begin, size_t end)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    const uint32_t top_k = s->ctx->model->config->moe.top_k;
    for (size_t p = begin; a->n_groups && p < end; p++)
        a->place_scales[p] = a->scales[s->ctx->moe.assignments[p] / top_k];
}

/* The next run of places in [*place, end) of one adapter; *place becomes its begin. Returns its
 * end; `end` itself if there is none. */
static size_t next_run(const struct qr_step *s, size_t *place, size_t end)
{
    while (*place < end && group_of_place(s, *place) == QR_NO_ADAPTER)
        ++*place;
    size_t next = *place;
    while (next < end && group_of_place(s, next) == group_of_place(s, *place))
        next++;
    return next;
}

/* Places [begin, end) of one expert. */
static void expert_down(const struct qr_step *s, const struct qr_adapter_site *site,
                        uint32_t expert, size_t begin, size_t end, const float *x, size_t x_stride)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    const size_t places = (size_t)s->n_tokens * s->ctx->model->config->moe.top_k;
    for (size_t next; begin < end; begin = next) {
        next = next_run(s, &begin, end);
        if (begin == end)
            return;
        const struct quire_adapter *adapter = a->groups[group_of_place(s, begin)].adapter;
        const struct qr_lora *l = qr_adapter_find_expert(adapter, site->role, site->layer, expert);
        if (!l)
            continue;
        const struct qr_lora_kernel_args args = {
            .w = l->a,
            .bf16 = l->a_bf16,
            .x = x,
            .x_stride = x_stride,
            .out = slot_of(s, site->slot, places) + begin * a->stride,
            .out_stride = a->stride,
            .n_rows = next - begin,
            .first_row = begin,
            .scales = a->place_scales,
            .scale = l->scale,
            .n = l->rank,
            .k = l->in,
        };
        s->ctx->model->kernels->lora(&args);
    }
}

void qr_adapter_experts_down(const struct qr_step *s, const struct qr_adapter_site *sites, size_t n,
                             const float *x, size_t x_stride, const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const uint32_t n_experts = s->ctx->model->config->moe.n_experts;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= qr_adapter_updates_experts(s, &sites[i]);
    if (!any)
        return;
    struct qr_work_steal loop =
        qr_work_steal_begin(s->ctx->per_thread.counters, team, n * n_experts);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        const uint32_t e = (uint32_t)(unit / n);
        expert_down(s, &sites[unit % n], e, b->starts[e], b->starts[e + 1], x, x_stride);
    }
    quire_team_barrier(team);
}

void qr_adapter_expert_up(const struct qr_step *s, const struct qr_adapter_site *site,
                          uint32_t expert, const struct qr_linear_block *b, float *out,
                          size_t out_stride)
{
    const struct qr_step_adapters *a = &s->ctx->adapters;
    const size_t places = (size_t)s->n_tokens * s->ctx->model->config->moe.top_k;
    size_t begin = b->i0;
    for (size_t next; a->n_groups && begin < b->i1; begin = next) {
        next = next_run(s, &begin, b->i1);
        if (begin == b->i1)
            return;
        const struct quire_adapter *adapter = a->groups[group_of_place(s, begin)].adapter;
        const struct qr_lora *l = qr_adapter_find_expert(adapter, site->role, site->layer, expert);
        if (!l)
            continue;
        const struct qr_lora_kernel_args args = {
            .w = qr_lora_at(l->b, l->b_bf16, b->j0 * l->rank),
            .bf16 = l->b_bf16,
            .x = slot_of(s, site->slot, places),
            .x_stride = a->stride,
            .out = out + (begin - b->i0) * out_stride,
            .out_stride = out_stride,
            .n_rows = next - begin,
            .first_row = begin,
            .n = b->j1 - b->j0,
            .k = l->rank,
        };
        s->ctx->model->kernels->lora(&args);
    }
}
