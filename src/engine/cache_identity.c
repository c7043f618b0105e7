/* SPDX-License-Identifier: Apache-2.0 */
/* cache_identity.c - what the bits of cached keys and values depend on, besides the tokens. */
#include "engine/cache_identity.h"
#include "base/alloc.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "model/config/rope.h"
#include "model/load/model.h"
#include "model/load/weights.h"
#include "model/state_layout.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Hashes of the model */

#define HASH(h, value) ((h) = qr_fnv1a((h), &(value), sizeof(value)))

/* Continues *h over some rows of a matrix, which differ between fine-tuned and quantized versions
 * of a model whose embeddings are equal. row: [w->k] scratch. */
static void hash_rows(uint64_t *h, const struct qr_packed *w, float *row)
{
    enum { ROWS = 4 };
    for (size_t i = 0; w && i < ROWS; i++) {
        qr_packed_unpack_row(w, i * (w->n - 1) / (ROWS - 1), row);
        const uint64_t sum = qr_checksum(row, w->k * sizeof *row);
        HASH(*h, sum);
    }
}

/* Visits the weights of a layer, of each stack the first matrix or vector. Without a row, only the
 * longest row of the matrices is determined. */
static void visit_layer(const struct quire_model *m, const struct qr_model_layer *l, uint32_t layer,
                        uint64_t *h, float *row, size_t *longest)
{
    struct qr_weight vector;
    for (size_t role = 0; role < QR_W_N_ROLES; role++) {
        const struct qr_packed *w = l->experts[role] ? l->experts[role][0] : l->mat[role];
        if (w && w->k > *longest)
            *longest = w->k;
        if (row)
            hash_rows(h, w, row);
        if (row && l->vec[role] &&
            qr_weights_find(m->weights, (enum qr_weight_role)role, layer, &vector))
            *h = qr_fnv1a(*h, l->vec[role], (size_t)vector.n_cols * sizeof(float));
    }
}

static void visit_weights(const struct quire_model *m, uint64_t *h, float *row, size_t *longest)
{
    visit_layer(m, &m->global, 0, h, row, longest);
    for (uint32_t i = 0; i < m->config->n_layers; i++)
        visit_layer(m, &m->layers[i], i, h, row, longest);
}

static void hash_scalars(uint64_t *h, const struct qr_model_config *c)
{
    HASH(*h, c->embedding_scale);
    HASH(*h, c->norm_eps);
    HASH(*h, c->residual_scale);
    HASH(*h, c->attention_scale);
    HASH(*h, c->attention_softcap);
    HASH(*h, c->clip_qkv);
    HASH(*h, c->alibi_max_bias);
    HASH(*h, c->alibi_scale);
    HASH(*h, c->temperature_floor);
    HASH(*h, c->temperature_scale);
    HASH(*h, c->temperature_everywhere);
    HASH(*h, c->qk_norm_after_rope);
    HASH(*h, c->moe.sparsemixer_margin);
    if (c->conv_attention.channel_taps)
        HASH(*h, c->conv_attention);
    for (uint32_t i = 0; i < c->n_layers; i++) {
        HASH(*h, c->layers[i].window);
        HASH(*h, c->layers[i].rope);
        HASH(*h, c->layers[i].chunked);
        HASH(*h, c->layers[i].xielu);
    }
}

static void hash_recurrent(uint64_t *h, const struct qr_recurrent_config *r)
{
    HASH(*h, r->kind);
    HASH(*h, r->n_heads);
    HASH(*h, r->n_key_heads);
    HASH(*h, r->key_dim);
    HASH(*h, r->value_dim);
    HASH(*h, r->conv_taps);
    HASH(*h, r->norm_dim);
    HASH(*h, r->output);
    HASH(*h, r->norm_per_head);
    HASH(*h, r->sigmoid_gate);
    HASH(*h, r->vector_decay);
    HASH(*h, r->decay_bound);
    HASH(*h, r->tiled_heads);
    HASH(*h, r->dt_norms);
    HASH(*h, r->dt_norm_eps);
    HASH(*h, r->norm_eps);
    HASH(*h, r->beta_scale);
    HASH(*h, r->part_scales);
    HASH(*h, r->out_scale);
}

/* Hashes the rotary frequencies below and above the original context. row: [dim / 2] scratch. */
static void hash_rope(uint64_t *h, const struct qr_model_config *c, float *row)
{
    for (uint32_t i = 0; i < c->n_rope; i++) {
        const struct qr_rope_config *r = &c->rope[i];
        HASH(*h, r->kind);
        HASH(*h, r->original_context);
        HASH(*h, r->cos_sin_scale);
        HASH(*h, r->clockwise);
        for (uint64_t above = 0; above < 2; above++) {
            qr_rope_inv_freq(r, r->original_context + above, row);
            *h = qr_fnv1a(*h, row, r->dim / 2 * sizeof *row);
        }
    }
}

static quire_status hash_model(const struct quire_model *m, uint64_t *h, struct quire_error *err)
{
    size_t longest = m->config->hidden_size;
    *h = QR_FNV1A_INIT;
    visit_weights(m, h, NULL, &longest);
    for (uint32_t i = 0; i < m->config->n_rope; i++)
        if (m->config->rope[i].dim > longest)
            longest = m->config->rope[i].dim;
    float *row = qr_alloc(m->allocator, longest, sizeof *row);
    if (!row)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a row of weights");
    visit_weights(m, h, row, &longest);
    hash_scalars(h, m->config);
    hash_rope(h, m->config, row);
    if (m->config->recurrent.kind != QR_RECURRENT_NONE)
        hash_recurrent(h, &m->config->recurrent);
    qr_free(m->allocator, row, longest, sizeof *row);
    return QUIRE_OK;
}

static uint64_t hash_scales(const struct quire_kv_group_config *g)
{
    const size_t n = (size_t)g->n_layers * g->n_kv_heads * sizeof(float);
    const uint64_t h = qr_fnv1a(QR_FNV1A_INIT, g->k_scale, n);
    return g->v_scale ? qr_fnv1a(h, g->v_scale, n) : h;
}

/* ---- The text */

struct text {
    char *data;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->data + t->size, QR_CACHE_IDENTITY_MAX - t->size, format, args);
    va_end(args);
    t->size += n > 0 ? (size_t)n : 0;
    if (t->size > QR_CACHE_IDENTITY_MAX - 1)
        t->size = QR_CACHE_IDENTITY_MAX - 1;
}

static void add_group(struct text *t, uint32_t index, const struct quire_kv_group_config *g)
{
    add(t, "group %u: %u layers, %u heads, keys %u %s, values %u %s%s, window %u\n", index,
        g->n_layers, g->n_kv_heads, g->head_size, quire_kv_dtype_name(g->k_dtype), g->v_head_size,
        quire_kv_dtype_name(g->v_dtype), g->flags & QUIRE_KV_LATENT ? " in the keys" : "",
        g->sliding_window);
    if (g->flags & (QUIRE_KV_ROTATE_K | QUIRE_KV_ROTATE_V))
        add(t, "rotation of group %u:%s%s\n", index, g->flags & QUIRE_KV_ROTATE_K ? " keys" : "",
            g->flags & QUIRE_KV_ROTATE_V ? " values" : "");
    add(t, "KV scales of group %u: %016llx\n", index, (unsigned long long)hash_scales(g));
}

static quire_status write_text(const struct quire_engine *e, struct text *t,
                               struct quire_error *err)
{
    static const char *const computes[] = {
        [QUIRE_COMPUTE_NATIVE] = "native",
        [QUIRE_COMPUTE_F32] = "f32",
        [QUIRE_COMPUTE_THROUGHPUT] = "throughput",
    };
    struct quire_model_info m = { .struct_size = sizeof m };
    uint64_t weights;
    QR_TRY(quire_model_get_info(e->model, &m));
    QR_TRY(hash_model(e->model, &weights, err));
    add(t, "library: quire %s\n", quire_version());
    add(t, "model: %s %016llx\n", m.arch, (unsigned long long)m.fingerprint);
    add(t, "weights: %s %016llx\n", m.weight_type, (unsigned long long)weights);
    add(t, "vocabulary: %u tokens\n", e->vocab_size);
    add(t, "ISA level: %s\n", m.isa);
    add(t, "compute mode: %s\n", computes[m.compute]);
    add(t, "linear layers: %s\n", m.linear == QUIRE_LINEAR_ONEDNN ? "onednn" : "quire");
    for (uint32_t i = 0; i < quire_kv_group_count(e->kv); i++) {
        struct quire_kv_group_config g;
        QR_TRY(quire_kv_get_group(e->kv, i, &g, err));
        add_group(t, i, &g);
    }
    if (m.state_bytes)
        add(t, "recurrent state: %llu bytes%s, layout %d\n", (unsigned long long)m.state_bytes,
            e->model->bf16_states ? " with bf16" : "", QR_STATE_LAYOUT);
    if (t->size == QR_CACHE_IDENTITY_MAX - 1)
        return qr_fail(err, QUIRE_E_LIMIT, "the description of %u KV groups is too long",
                       quire_kv_group_count(e->kv));
    return QUIRE_OK;
}

quire_status qr_cache_identity(const struct quire_engine *e, char **text, struct quire_error *err)
{
    struct text t = { .data = qr_alloc(e->allocator, QR_CACHE_IDENTITY_MAX, 1) };
    *text = NULL;
    quire_status s = t.data ? write_text(e, &t, err) : QUIRE_E_NOMEM;
    if (s == QUIRE_OK) {
        *text = qr_strndup(e->allocator, t.data, t.size);
        s = *text ? QUIRE_OK : QUIRE_E_NOMEM;
    }
    if (s == QUIRE_E_NOMEM)
        (void)qr_fail(err, s, "no memory for the description of a cache file");
    qr_free(e->allocator, t.data, QR_CACHE_IDENTITY_MAX, 1);
    return s;
}

/* ---- Comparison */

static size_t line_length(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    return end ? (size_t)(end - text) : size;
}

static bool is_printable(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return true;
}

quire_status qr_cache_identity_check(const char *mine, const char *file, size_t size,
                                     struct quire_error *err)
{
    enum { SHOWN = 120 };
    size_t mine_left = strlen(mine);
    while (mine_left || size) {
        const size_t m = line_length(mine, mine_left), f = line_length(file, size);
        if (m != f || memcmp(mine, file, m) != 0)
            return qr_fail(
                err, QUIRE_E_MISMATCH,
                "the cache file was saved by another engine: it has \"%.*s\", this engine \"%.*s\"",
                is_printable(file, f) ? (int)(f < SHOWN ? f : SHOWN) : 1,
                is_printable(file, f) ? file : "?", (int)(m < SHOWN ? m : SHOWN), mine);
        mine += m < mine_left ? m + 1 : m;
        mine_left -= m < mine_left ? m + 1 : m;
        file += f < size ? f + 1 : f;
        size -= f < size ? f + 1 : f;
    }
    return QUIRE_OK;
}
