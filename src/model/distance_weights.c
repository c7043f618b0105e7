/* SPDX-License-Identifier: Apache-2.0 */
/* distance_weights.c - keys and queries of the distances of disentangled attention: the projections
 * of the embeddings of distances, which depend on no token. */
#include "model/distance_weights.h"
#include "base/alloc.h"
#include "base/bump.h"
#include "base/error.h"
#include "linear/linear.h"
#include <math.h>
#include <string.h>

/* Row of the distance d of a query from a key. The reference implementation computes the logarithms
 * in f32. */
static uint16_t distance_row(const struct qr_disentangled_config *c, int64_t d)
{
    const int64_t mid = c->span / 2, n = d < 0 ? -d : d, span = c->span;
    int64_t bucket = n;
    if (c->buckets && n > mid) {
        const float turn = logf((float)n / (float)mid),
                    most = logf((float)(((double)c->max_distance - 1) / (double)mid));
        bucket = (int64_t)ceilf(turn / most * (float)(mid - 1)) + mid;
    }
    const int64_t row = span + (d < 0 ? -bucket : bucket);
    return (uint16_t)(row < 0 ? 0 : row > 2 * span - 1 ? 2 * span - 1 : row);
}

static quire_status fill_rows(struct quire_model *m, struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    const size_t most = c->context_length - 1;
    uint16_t *rows = qr_arena_alloc(&m->vectors, 2 * most + 1, sizeof *rows);
    if (!rows)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for distances");
    for (size_t i = 0; i <= 2 * most; i++)
        rows[i] = distance_row(&c->disentangled, (int64_t)i - (int64_t)most);
    m->distance_rows = rows;
    return QUIRE_OK;
}

/* Memory of the preparation. */
struct scratch {
    float *table; /* [2 span][hidden] embeddings of distances, normed */
    float *out;   /* [2 span][hidden] through a projection */
    float *heads; /* [n_heads * distance_stride][head_dim] the same by head */
    uint8_t *act; /* activation forms of the table */
};

static void fill_table(const struct quire_model *m, float *table)
{
    const struct qr_model_config *c = m->config;
    const size_t n = 2 * (size_t)c->disentangled.span, hidden = c->hidden_size;
    for (size_t i = 0; i < n; i++, table += hidden) {
        qr_packed_unpack_row(m->global.mat[QR_W_DISTANCE_EMBD], i, table);
        if (c->disentangled.norm)
            m->kernels->layer_norm(table, table, m->global.vec[QR_W_DISTANCE_NORM],
                                   m->global.vec[QR_W_DISTANCE_NORM_BIAS], 0, c->norm_eps, hidden);
    }
}

/* As the projection of tokens in steps. */
static enum quire_compute compute_of(const struct quire_model *m)
{
    return m->compute == QUIRE_COMPUTE_F32 ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
}

/* Creates *to from the table through w. */
static quire_status project(struct quire_model *m, const struct qr_packed *w, const float *bias,
                            const struct scratch *s, struct qr_packed **to, struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    const size_t n = 2 * (size_t)c->disentangled.span, heads = c->max_heads, dim = c->head_dim;
    struct qr_act act;
    qr_act_init(&act, qr_linear_act_forms(w, compute_of(m), m->kernels, 1), s->table, w->k, n, w->k,
                s->act);
    qr_act_convert_rows(&act, m->kernels, 0, n);
    const struct qr_linear_args args = {
        .w = w, .x = &act, .out = s->out, .out_stride = w->n, .bias = bias, .compute = compute_of(m)
    };
    qr_linear_run_block(&args, &(struct qr_linear_block){ 0, w->n, 0, n }, m->kernels);
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < n; i++)
            memcpy(s->heads + (h * m->distance_stride + i) * dim, s->out + i * w->n + h * dim,
                   dim * sizeof *s->heads);
    QR_TRY(qr_packed_create(QR_WEIGHT_F32, heads * m->distance_stride, dim, m->allocator, to, err));
    return qr_packed_pack_rows(*to, 0, (*to)->n, s->heads, err);
}

static quire_status fill_layers(struct quire_model *m, const struct scratch *s,
                                struct quire_error *err)
{
    const struct qr_disentangled_config *d = &m->config->disentangled;
    for (uint32_t i = 0; i < m->config->n_layers; i++) {
        struct qr_model_layer *l = &m->layers[i];
        if (d->query_position)
            QR_TRY(project(m, l->mat[QR_W_ATTN_K], l->vec[QR_W_ATTN_K_BIAS], s, &l->distance_keys,
                           err));
        if (d->key_position)
            QR_TRY(project(m, l->mat[QR_W_ATTN_Q], l->vec[QR_W_ATTN_Q_BIAS], s,
                           &l->distance_queries, err));
    }
    return QUIRE_OK;
}

/* Bytes of the activation forms that any projection reads. */
static bool act_bytes(const struct quire_model *m, size_t *most)
{
    static const enum qr_weight_role roles[] = { QR_W_ATTN_Q, QR_W_ATTN_K };
    *most = 1;
    for (uint32_t i = 0; i < 2 * m->config->n_layers; i++) {
        const struct qr_packed *w = m->layers[i / 2].mat[roles[i % 2]];
        size_t bytes;
        if (!qr_act_bytes(qr_linear_act_forms(w, compute_of(m), m->kernels, 1),
                          2 * (size_t)m->config->disentangled.span, w->k, &bytes))
            return false;
        *most = bytes > *most ? bytes : *most;
    }
    return true;
}

/* Lays out the scratch memory; false on overflow. */
static bool lay_out(const struct quire_model *m, size_t act, struct scratch *s, struct qr_bump *b)
{
    const struct qr_model_config *c = m->config;
    const size_t n = 2 * (size_t)c->disentangled.span, hidden = c->hidden_size;
    s->table = qr_bump_alloc(b, n * hidden, sizeof *s->table);
    s->out = qr_bump_alloc(b, n * c->max_heads, c->head_dim * sizeof *s->out);
    s->heads = qr_bump_alloc(b, m->distance_stride * c->max_heads, c->head_dim * sizeof *s->heads);
    s->act = qr_bump_alloc(b, act, 1);
    return !b->overflow;
}

quire_status qr_model_prepare_distances(struct quire_model *m, struct quire_error *err)
{
    const size_t panel = QR_FLOAT_PANEL_ROWS, n = 2 * (size_t)m->config->disentangled.span;
    struct scratch s;
    struct qr_bump size = { NULL, 0, false };
    size_t act;
    if (!n)
        return QUIRE_OK;
    QR_TRY(fill_rows(m, err));
    m->distance_stride = (n + panel - 1) / panel * panel;
    const bool fits = act_bytes(m, &act) && lay_out(m, act, &s, &size);
    void *memory = fits ? qr_alloc_aligned(m->allocator, size.used, QR_BUMP_ALIGN) : NULL;
    if (!memory)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for embeddings of distances");
    (void)lay_out(m, act, &s, &(struct qr_bump){ memory, 0, false });
    memset(s.heads, 0,
           m->distance_stride * m->config->max_heads * m->config->head_dim * sizeof *s.heads);
    fill_table(m, s.table);
    const quire_status status = fill_layers(m, &s, err);
    qr_free(m->allocator, memory, size.used, 1);
    return status;
}

void qr_model_drop_distances(struct quire_model *m)
{
    for (uint32_t i = 0; m->layers && m->config->disentangled.span && i < m->config->n_layers;
         i++) {
        qr_packed_destroy(m->layers[i].distance_keys);
        qr_packed_destroy(m->layers[i].distance_queries);
    }
}
