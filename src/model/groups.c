/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - layer stacks, KV groups, plan groups, and the attention configuration of each
 * layer. */
#include "model/groups.h"
#include "base/alloc.h"
#include "base/error.h"
#include <math.h>
#include <quire/bias.h>
#include <string.h>

/* ALiBi slope of head h: the geometric series for the largest power of two n <= n_heads; heads
 * beyond it take every other slope of the series for 2 n. */
static float alibi_slope(const struct qr_model_config *c, uint32_t n_heads, uint32_t h)
{
    uint32_t n = 1;
    while (2 * n <= n_heads)
        n *= 2;
    const double step = (double)c->alibi_max_bias / n;
    const double exponent = h < n ? step * (h + 1) : step / 2 * (2 * (h - n) + 1);
    return (float)exp2(-exponent) * c->alibi_scale;
}

static quire_status fill_alibi(struct quire_model *m, uint32_t n_heads,
                               struct quire_attention_config *a, struct quire_error *err)
{
    float *slopes = qr_arena_alloc(&m->vectors, n_heads, sizeof *slopes);
    if (!slopes)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for ALiBi slopes");
    for (uint32_t h = 0; h < n_heads; h++)
        slopes[h] = alibi_slope(m->config, n_heads, h);
    a->alibi_slopes = slopes;
    return QUIRE_OK;
}

/* The first layer of a stack holds the buckets; the other layers share its bias by distance. */
static quire_status fill_relative(struct quire_model *m, uint32_t i,
                                  struct quire_attention_config *a, struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    const uint32_t first = c->layers[i].encoder ? c->n_layers : 0, range = c->relative_distance;
    if (i == first) {
        float *bias =
            qr_arena_alloc(&m->vectors, a->n_heads, (2 * (size_t)range + 1) * sizeof *bias);
        if (!bias)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for a relative position bias");
        QR_TRY(quire_relative_bias(m->layers[i].vec[QR_W_ATTN_REL_BIAS], c->relative_buckets,
                                   a->n_heads, !a->causal, range, range, bias, err));
        a->relative_bias = bias;
    } else {
        a->relative_bias = m->layers[first].attention.relative_bias;
    }
    a->relative_range = range;
    return QUIRE_OK;
}

/* ALiBi of an encoder, -slope * |kpos - qpos|, as a bias by distance, which all layers share. */
static quire_status fill_symmetric_alibi(struct quire_model *m, uint32_t i,
                                         struct quire_attention_config *a, struct quire_error *err)
{
    const uint32_t range = m->config->context_length;
    a->relative_range = range;
    a->relative_bias = m->layers[0].attention.relative_bias;
    if (i > 0)
        return QUIRE_OK;
    const size_t row = 2 * (size_t)range + 1;
    float *bias = qr_arena_alloc(&m->vectors, a->n_heads, row * sizeof *bias);
    if (!bias)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for ALiBi biases");
    for (uint32_t h = 0; h < a->n_heads; h++) {
        const float slope = alibi_slope(m->config, a->n_heads, h);
        for (uint32_t d = 0; d <= range; d++)
            bias[h * row + range - d] = bias[h * row + range + d] = -slope * (float)d;
    }
    a->relative_bias = bias;
    return QUIRE_OK;
}

/* Elements of a key and of a value in the cache. */
struct row_sizes {
    uint32_t k, v;
};

static struct row_sizes row_sizes(const struct qr_model_config *c, const struct qr_layer_config *l)
{
    if (c->mla.kv_lora_rank)
        return (struct row_sizes){ c->mla.kv_lora_rank + c->mla.qk_rope_dim, c->mla.kv_lora_rank };
    if (c->shared_kv.o_groups)
        return (struct row_sizes){ l->head_dim, l->head_dim };
    return (struct row_sizes){ l->head_dim + (c->key_bias ? QR_KEY_BIAS_WIDTH : 0), l->v_head_dim };
}

static quire_status fill_attention(struct quire_model *m, uint32_t i, struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    const struct qr_layer_config *l = &c->layers[i];
    struct quire_attention_config *a = &m->layers[i].attention;
    const struct row_sizes size = row_sizes(c, l);
    quire_attention_config_init(a, sizeof *a, l->n_heads, l->n_kv_heads, size.k);
    a->v_head_size = size.v;
    a->scale = c->attention_scale;
    a->logits_soft_cap = c->attention_softcap;
    if (l->chunked)
        a->chunk_size = l->window;
    else if (l->window) /* a head's own position has no key */
        a->window_left = (int32_t)l->window - (l->kv_source == QR_KV_OF_BASE ? 2 : 1);
    a->compute = m->compute;
    if (!l->compress_rate) /* else they are added when both parts are merged */
        a->sinks = m->layers[i].vec[QR_W_ATTN_SINKS];
    if (l->encoder || c->kind == QR_MODEL_ENCODER) {
        a->kind = l->encoder ? QUIRE_ATTENTION_ENCODER : QUIRE_ATTENTION_ENCODER_ONLY;
        a->causal = 0;
        a->window_right = a->window_left;
    }
    if (c->mtp.kind == QR_MTP_BLOCK)
        a->causal = l->window ? c->mtp.window_causal : c->mtp.full_causal;
    if (c->relative_buckets)
        QR_TRY(fill_relative(m, i, a, err));
    if (c->alibi_max_bias > 0)
        return c->kind == QR_MODEL_ENCODER ? fill_symmetric_alibi(m, i, a, err)
                                           : fill_alibi(m, l->n_heads, a, err);
    return QUIRE_OK;
}

static bool fits_group(const struct quire_kv_group_config *g, const struct qr_layer_config *l,
                       struct row_sizes size, uint32_t window)
{
    return g->n_kv_heads == l->n_kv_heads && g->head_size == size.k && g->v_head_size == size.v &&
           g->sliding_window == window;
}

/* The groups of a head that reads the keys and values of its model are the model's. */
static quire_status copy_base_groups(struct quire_model *m, struct quire_error *err)
{
    const struct qr_groups *base = &m->base->groups;
    if (base->n_kv > m->groups.capacity)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "the model of the head has %u KV groups",
                       base->n_kv);
    memcpy(m->groups.kv, base->kv, base->n_kv * sizeof *base->kv);
    m->groups.n_kv = base->n_kv;
    return QUIRE_OK;
}

/* Finds the keys and values that layer i of such a head reads: those of the last layer of the model
 * that has some, with a window if layer i has one. */
static quire_status find_base_kv(struct quire_model *m, uint32_t i, struct quire_error *err)
{
    const struct qr_layer_config *l = &m->config->layers[i], *from = NULL;
    const struct quire_model *base = m->base;
    for (uint32_t b = 0; b < base->config->n_layers; b++) {
        const struct qr_layer_config *at = &base->config->layers[b];
        if (!qr_layer_attends(at) || at->kv_source != b || !at->window != !l->window)
            continue;
        from = at;
        m->layers[i].kv_group = base->layers[b].kv_group;
        m->layers[i].kv_layer = base->layers[b].kv_layer;
    }
    if (!from)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "params.mtp_of has no layer with%s a sliding window, which layer %u of the "
                       "head reads",
                       l->window ? "" : "out", i);
    if (from->n_kv_heads != l->n_kv_heads || from->head_dim != l->head_dim ||
        from->v_head_dim != l->v_head_dim || from->window != l->window)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "params.mtp_of has %u x %u keys per token and a window of %u, layer %u of "
                       "the head reads %u x %u and %u",
                       from->n_kv_heads, from->head_dim, from->window, i, l->n_kv_heads,
                       l->head_dim, l->window);
    return QUIRE_OK;
}

/* Adds layer i to the KV group of its shape and window, a new one if there is none. A layer that
 * reads keys and values of another one has that layer's place in the cache. */
static void assign_kv_group(struct quire_model *m, struct qr_groups *groups, uint32_t i)
{
    const struct qr_model_config *c = m->config;
    const struct qr_layer_config *l = &c->layers[i];
    const struct row_sizes size = row_sizes(c, l);
    if (l->kv_source != i) {
        m->layers[i].kv_group = m->layers[l->kv_source].kv_group;
        m->layers[i].kv_layer = m->layers[l->kv_source].kv_layer;
        return;
    }
    /* the encoder's cache holds all keys of one layer at a time: no window, layer index 0 */
    const bool encodes = groups == &m->encoder;
    const uint32_t window = encodes ? 0 : l->window;
    uint32_t g = 0;
    while (g < groups->n_kv && !fits_group(&groups->kv[g], l, size, window))
        g++;
    struct quire_kv_group_config *group = &groups->kv[g];
    if (g == groups->n_kv) {
        groups->n_kv++;
        group->n_kv_heads = l->n_kv_heads;
        group->head_size = size.k;
        group->v_head_size = size.v;
        group->sliding_window = window;
        group->flags = c->mla.kv_lora_rank || c->shared_kv.o_groups ? QUIRE_KV_LATENT : 0;
    }
    m->layers[i].kv_group = g;
    m->layers[i].kv_layer = encodes ? 0 : group->n_layers;
    group->n_layers = m->layers[i].kv_layer + 1;
}

/* Whether layers with these configurations can share a plan. */
static bool same_plan(const struct quire_attention_config *a,
                      const struct quire_attention_config *b)
{
    return a->n_heads == b->n_heads && a->window_left == b->window_left &&
           a->window_right == b->window_right && a->chunk_size == b->chunk_size;
}

static void assign_plan_group(struct qr_groups *groups, struct qr_model_layer *layer)
{
    uint32_t g = 0;
    while (g < groups->n_plan && !(groups->plan[g].kv_group == layer->kv_group &&
                                   same_plan(groups->plan[g].config, &layer->attention)))
        g++;
    if (g == groups->n_plan)
        groups->plan[groups->n_plan++] =
            (struct quire_plan_group){ &layer->attention, layer->kv_group, 0 };
    layer->plan_group = g;
}

/* Adds one KV group for the keys and values of cross attention, with as many layers as the
 * decoder. */
static void add_cross_group(struct quire_model *m)
{
    const struct qr_model_config *c = m->config;
    struct qr_groups *groups = &m->groups;
    for (uint32_t i = 0; i < c->n_layers; i++) {
        struct quire_attention_config *a = &m->layers[i].cross;
        *a = m->layers[i].attention;
        a->kind = QUIRE_ATTENTION_CROSS;
        a->causal = 0;
        a->window_left = a->window_right = QUIRE_WINDOW_NONE;
        a->relative_bias = NULL;
        a->relative_range = 0;
    }
    m->cross_group = (int32_t)groups->n_kv;
    m->cross_plan_group = groups->n_plan;
    groups->kv[groups->n_kv++] =
        (struct quire_kv_group_config){ .n_layers = c->n_layers,
                                        .n_kv_heads = c->layers[0].n_kv_heads,
                                        .head_size = c->layers[0].head_dim,
                                        .v_head_size = c->layers[0].v_head_dim };
    groups->plan[groups->n_plan++] =
        (struct quire_plan_group){ &m->layers[0].cross, (uint32_t)m->cross_group, 0 };
}

/* Adds one KV group for the index keys of all layers that have some. A value is part of the key, as
 * small as the kernels of the best level allow. */
static void add_index_group(struct quire_model *m)
{
    enum { VALUE_SIZE = 8 };
    const struct qr_model_config *c = m->config;
    struct qr_groups *groups = &m->groups;
    struct quire_attention_config *a = &m->index_attention;
    const uint32_t size = c->index.head_dim;
    uint32_t n_layers = 0;
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (c->layers[i].index == QR_INDEX_OWN)
            m->layers[i].index_layer = n_layers++;
    quire_attention_config_init(a, sizeof *a, c->index.n_heads, 1, size);
    a->v_head_size = size < VALUE_SIZE ? size : VALUE_SIZE;
    a->scale = 1;
    a->compute = QUIRE_COMPUTE_F32;
    m->index_group = (int32_t)groups->n_kv;
    m->index_plan_group = groups->n_plan;
    groups->kv[groups->n_kv++] = (struct quire_kv_group_config){ .n_layers = n_layers,
                                                                 .n_kv_heads = 1,
                                                                 .head_size = size,
                                                                 .v_head_size = a->v_head_size,
                                                                 .flags = QUIRE_KV_LATENT };
    groups->plan[groups->n_plan++] = (struct quire_plan_group){ a, (uint32_t)m->index_group, 0 };
}

/* Adds one KV group for the compressed keys, which are values as well, of all layers with some. */
static void add_compress_group(struct quire_model *m)
{
    const struct qr_model_config *c = m->config;
    struct qr_groups *groups = &m->groups;
    struct quire_attention_config *a = &m->compress_attention;
    const struct qr_layer_config *l = NULL;
    uint32_t n_layers = 0;
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (c->layers[i].compress_rate) {
            l = &c->layers[i];
            m->layers[i].compress_layer = n_layers++;
        }
    if (!l)
        return;
    quire_attention_config_init(a, sizeof *a, l->n_heads, 1, l->head_dim);
    a->v_head_size = l->head_dim;
    a->scale = c->attention_scale;
    a->compute = m->compute;
    m->compress_group = (int32_t)groups->n_kv;
    m->compress_plan_group = groups->n_plan;
    groups->kv[groups->n_kv++] = (struct quire_kv_group_config){ .n_layers = n_layers,
                                                                 .n_kv_heads = 1,
                                                                 .head_size = l->head_dim,
                                                                 .v_head_size = l->head_dim,
                                                                 .flags = QUIRE_KV_LATENT };
    groups->plan[groups->n_plan++] = (struct quire_plan_group){ a, (uint32_t)m->compress_group, 0 };
}

static quire_status reserve(const struct quire_model *m, struct qr_groups *groups,
                            struct quire_error *err)
{
    const uint32_t n = qr_model_total_layers(m->config) + 3; /* cross, index and compressed keys */
    groups->kv = qr_calloc(m->allocator, n, sizeof *groups->kv);
    groups->plan = qr_calloc(m->allocator, n, sizeof *groups->plan);
    groups->capacity = n;
    return groups->kv && groups->plan
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_NOMEM, "no memory for %u layers", n - 3);
}

quire_status qr_model_group_layers(struct quire_model *m, struct quire_error *err)
{
    const struct qr_stack encoder = qr_model_encoder_stack(m);
    m->cross_group = m->index_group = m->compress_group = -1;
    QR_TRY(reserve(m, &m->groups, err));
    QR_TRY(reserve(m, &m->encoder, err));
    if (m->config->mtp.kind == QR_MTP_SHARED_KV)
        QR_TRY(copy_base_groups(m, err));
    for (uint32_t i = 0; i < qr_model_total_layers(m->config); i++) {
        struct qr_groups *groups = i >= encoder.first && i < encoder.end ? &m->encoder : &m->groups;
        if (!qr_layer_attends(&m->config->layers[i]))
            continue;
        QR_TRY(fill_attention(m, i, err));
        if (m->config->mtp.kind == QR_MTP_SHARED_KV)
            QR_TRY(find_base_kv(m, i, err));
        else
            assign_kv_group(m, groups, i);
        assign_plan_group(groups, &m->layers[i]);
    }
    if (m->config->kind == QR_MODEL_ENCODER_DECODER)
        add_cross_group(m);
    if (m->config->index.n_heads)
        add_index_group(m);
    add_compress_group(m);
    return QUIRE_OK;
}

static void free_groups(const struct quire_model *m, struct qr_groups *groups)
{
    if (groups->kv)
        qr_free(m->allocator, groups->kv, groups->capacity, sizeof *groups->kv);
    if (groups->plan)
        qr_free(m->allocator, groups->plan, groups->capacity, sizeof *groups->plan);
}

void qr_model_free_groups(struct quire_model *m)
{
    free_groups(m, &m->groups);
    free_groups(m, &m->encoder);
}

struct qr_stack qr_model_decoder_stack(const struct quire_model *m)
{
    return (struct qr_stack){ .end = qr_model_decodes(m) ? m->config->n_layers : 0,
                              .embedding = QR_W_TOKEN_EMBD,
                              .positions = QR_W_POS_EMBD,
                              .embd_norm = QR_W_EMBD_NORM,
                              .embd_norm_bias = QR_W_EMBD_NORM_BIAS,
                              .output_norm = QR_W_OUTPUT_NORM,
                              .output_norm_bias = QR_W_OUTPUT_NORM_BIAS };
}

struct qr_stack qr_model_encoder_stack(const struct quire_model *m)
{
    struct qr_stack s = qr_model_decoder_stack(m);
    s.end = 0;
    if (m->config->kind == QR_MODEL_ENCODER)
        s.end = m->config->n_layers;
    if (m->config->kind == QR_MODEL_ENCODER_DECODER)
        s = (struct qr_stack){ .first = m->config->n_layers,
                               .end = qr_model_total_layers(m->config),
                               .embedding = m->config->encoder_embedding ? QR_W_ENC_TOKEN_EMBD
                                                                         : QR_W_TOKEN_EMBD,
                               .positions = QR_W_ENC_POS_EMBD,
                               .embd_norm = QR_W_ENC_EMBD_NORM,
                               .embd_norm_bias = QR_W_ENC_EMBD_NORM_BIAS,
                               .output_norm = QR_W_ENC_OUTPUT_NORM,
                               .output_norm_bias = QR_W_ENC_OUTPUT_NORM_BIAS };
    return s;
}
