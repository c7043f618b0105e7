/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - which layers share a group of the cache or of the plan, and what attention each of them computes. */
#include "base/error.h"
#include "model/model.h"
#include <math.h>

/* Slope of head h: the power-of-two series of max_bias, odd-numbered slopes of the next size for the heads beyond. */
static float alibi_slope(const struct qr_model_config *c, uint32_t n_heads, uint32_t h)
{
    uint32_t n = 1;
    while (2 * n <= n_heads)
        n *= 2;
    const double step = (double)c->alibi_max_bias / n;
    const double exponent = h < n ? step * (h + 1) : step / 2 * (2 * (h - n) + 1);
    return (float)exp2(-exponent) * c->alibi_scale;
}

static quire_status fill_attention(struct quire_model *m, uint32_t i, struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    const struct qr_layer_config *l = &c->layers[i];
    struct quire_attention_config *a = &m->layers[i].attention;
    quire_attention_config_default(a, l->n_heads, l->n_kv_heads, c->head_dim);
    a->v_head_size = c->v_head_dim;
    a->scale = c->attention_scale;
    a->logits_soft_cap = c->attention_softcap;
    a->window_left = l->window ? (int32_t)l->window - 1 : QUIRE_WINDOW_NONE;
    a->compute = m->compute;
    a->sinks = m->layers[i].vec[QR_W_ATTN_SINKS];
    if (c->alibi_max_bias > 0) {
        float *slopes = qr_arena_alloc(&m->vectors, l->n_heads, sizeof *slopes);
        if (!slopes)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for ALiBi slopes");
        for (uint32_t h = 0; h < l->n_heads; h++)
            slopes[h] = alibi_slope(c, l->n_heads, h);
        a->alibi_slopes = slopes;
    }
    return QUIRE_OK;
}

static bool fits_kv_group(const struct quire_kv_group_config *g, const struct qr_layer_config *l)
{
    return g->n_kv_heads == l->n_kv_heads && g->sliding_window == l->window;
}

static void assign_kv_group(struct quire_model *m, uint32_t i)
{
    const struct qr_model_config *c = m->config;
    uint32_t g = 0;
    while (g < m->n_kv_groups && !fits_kv_group(&m->kv_groups[g], &c->layers[i]))
        g++;
    struct quire_kv_group_config *group = &m->kv_groups[g];
    if (g == m->n_kv_groups) {
        m->n_kv_groups++;
        group->n_kv_heads = c->layers[i].n_kv_heads;
        group->head_size = c->head_dim;
        group->v_head_size = c->v_head_dim;
        group->sliding_window = c->layers[i].window;
    }
    m->layers[i].kv_group = g;
    m->layers[i].kv_layer = group->n_layers++;
}

/* Within a KV group only the number of query heads can still differ. */
static void assign_plan_group(struct quire_model *m, uint32_t i)
{
    struct qr_model_layer *layer = &m->layers[i];
    uint32_t g = 0;
    while (g < m->n_plan_groups && !(m->plan_groups[g].kv_group == layer->kv_group &&
                                     m->plan_groups[g].config->num_heads == layer->attention.num_heads))
        g++;
    if (g == m->n_plan_groups)
        m->plan_groups[m->n_plan_groups++] = (struct quire_plan_group){ &layer->attention, layer->kv_group, 0 };
    layer->plan_group = g;
}

quire_status qr_model_group_layers(struct quire_model *m, struct quire_error *err)
{
    const uint32_t n = m->config->n_layers;
    m->kv_groups = qr_calloc(m->allocator, n, sizeof *m->kv_groups);
    m->plan_groups = qr_calloc(m->allocator, n, sizeof *m->plan_groups);
    if (!m->kv_groups || !m->plan_groups)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u layers", n);
    for (uint32_t i = 0; i < n; i++) {
        QR_TRY(fill_attention(m, i, err));
        assign_kv_group(m, i);
        assign_plan_group(m, i);
    }
    return QUIRE_OK;
}
