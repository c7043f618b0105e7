/* SPDX-License-Identifier: Apache-2.0 */
/* input_sums.c - sums of squares of the inputs of matrices. */
#include "model/forward/input_sums.h"
#include "base/error.h"
#include "model/config/config.h"
#include "model/load/weight_roles.h"
#include <string.h>

struct entry {
    const struct qr_packed *w; /* NULL: free */
    bool is_expert;
    uint64_t n_rows;
    float *sums; /* [w->k] */
};

struct qr_input_sums {
    const struct quire_allocator *allocator;
    struct entry *entries; /* hash table by address */
    size_t size, n;        /* a power of two, at least 2 n */
    float *sums;
    size_t n_sums;
    double *row; /* [widest matrix] sums of one call */
    size_t widest;
};

static struct entry *find(const struct qr_input_sums *m, const struct qr_packed *w)
{
    uint64_t h = (uint64_t)(uintptr_t)w * 0x9e3779b97f4a7c15u;
    size_t i = (h ^ h >> 32) & (m->size - 1);
    while (m->entries[i].w && m->entries[i].w != w)
        i = (i + 1) & (m->size - 1);
    return &m->entries[i];
}

/* ---- All matrices of a model ---- */

typedef void visitor(struct qr_input_sums *m, const struct qr_packed *w, bool is_expert);

static void count(struct qr_input_sums *m, const struct qr_packed *w, bool is_expert)
{
    (void)is_expert;
    m->n++;
    m->n_sums += w->k;
    m->widest = w->k > m->widest ? w->k : m->widest;
}

static void insert(struct qr_input_sums *m, const struct qr_packed *w, bool is_expert)
{
    struct entry *e = find(m, w);
    if (e->w)
        return;
    *e = (struct entry){ .w = w, .is_expert = is_expert, .sums = m->sums + m->n_sums };
    m->n_sums += w->k;
}

static void visit_layer(struct qr_input_sums *m, const struct quire_model *model,
                        const struct qr_model_layer *l, uint32_t index, visitor *visit)
{
    for (int r = 0; r < QR_W_N_ROLES; r++) {
        const enum qr_weight_role role = (enum qr_weight_role)r;
        const uint32_t n = l->experts[r] ? qr_role_stack_size(model->config, role, index) : 0;
        if (l->mat[r])
            visit(m, l->mat[r], false);
        for (uint32_t i = 0; i < n; i++)
            visit(m, l->experts[r][i], true);
    }
}

static void visit_model(struct qr_input_sums *m, const struct quire_model *model, visitor *visit)
{
    visit_layer(m, model, &model->global, 0, visit);
    for (uint32_t i = 0; i < qr_model_total_layers(model->config); i++)
        visit_layer(m, model, &model->layers[i], i, visit);
}

quire_status qr_input_sums_create(const struct quire_model *model, struct qr_input_sums **out,
                                  struct quire_error *err)
{
    const struct quire_allocator *a = model->allocator;
    struct qr_input_sums *m = *out = qr_calloc(a, 1, sizeof *m);
    if (!m)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the sums of inputs");
    m->allocator = a;
    visit_model(m, model, count);
    for (m->size = 16; m->size < 2 * m->n; m->size *= 2)
        ;
    m->entries = qr_calloc(a, m->size, sizeof *m->entries);
    m->sums = qr_calloc(a, m->n_sums + 1, sizeof *m->sums);
    m->row = qr_calloc(a, m->widest + 1, sizeof *m->row);
    if (!m->entries || !m->sums || !m->row) {
        qr_input_sums_free(m);
        *out = NULL;
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the sums of inputs");
    }
    const size_t n_sums = m->n_sums;
    m->n_sums = 0;
    visit_model(m, model, insert);
    m->n_sums = n_sums;
    return QUIRE_OK;
}

void qr_input_sums_free(struct qr_input_sums *sums)
{
    if (!sums)
        return;
    const struct quire_allocator *a = sums->allocator;
    qr_free(a, sums->entries, sums->size, sizeof *sums->entries);
    qr_free(a, sums->sums, sums->n_sums + 1, sizeof *sums->sums);
    qr_free(a, sums->row, sums->widest + 1, sizeof *sums->row);
    qr_free(a, sums, 1, sizeof *sums);
}

void qr_input_sums_attach(struct quire_context *context, struct qr_input_sums *sums)
{
    context->input_sums = sums;
}

const float *qr_input_sums_get(const struct qr_input_sums *sums, const struct qr_packed *w,
                               uint64_t *n_rows)
{
    const struct entry *e = find(sums, w);
    *n_rows = e->w ? e->n_rows : 0;
    return e->w ? e->sums : NULL;
}

/* ---- The forward pass ---- */

static void add_rows(struct qr_input_sums *m, struct entry *e, const float *rows, size_t n)
{
    const size_t k = e->w->k;
    memset(m->row, 0, k * sizeof *m->row);
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < k; i++)
            m->row[i] += (double)rows[r * k + i] * rows[r * k + i];
    for (size_t i = 0; i < k; i++)
        e->sums[i] += (float)m->row[i];
    e->n_rows += n;
}

void qr_input_sums_add(const struct qr_step *s, const struct qr_packed *const *w, int n_w,
                       const float *rows, size_t n, const struct quire_team *team)
{
    struct qr_input_sums *m = s->ctx->input_sums;
    if (!m || team->rank != 0)
        return;
    for (int i = 0; i < n_w; i++) {
        struct entry *e = w[i] ? find(m, w[i]) : NULL;
        if (e && e->w && !e->is_expert)
            add_rows(m, e, rows, n);
    }
}

void qr_input_sums_add_places(const struct qr_step *s, const struct qr_model_layer *layer,
                              enum qr_weight_role role, const float *rows,
                              const struct quire_team *team)
{
    struct qr_input_sums *m = s->ctx->input_sums;
    if (!m || team->rank != 0 || !layer->experts[role])
        return;
    const uint32_t *starts = s->ctx->moe.starts;
    const struct quire_model *model = s->ctx->model;
    const uint32_t n = qr_role_stack_size(model->config, role, (uint32_t)(layer - model->layers));
    for (uint32_t i = 0; i < n; i++) {
        struct entry *e = find(m, layer->experts[role][i]);
        if (e->w)
            add_rows(m, e, rows + (size_t)starts[i] * e->w->k, starts[i + 1] - starts[i]);
    }
}
