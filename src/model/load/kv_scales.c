/* SPDX-License-Identifier: Apache-2.0 */
/* kv_scales.c - fp8 scales of keys and values: of a checkpoint, and of calibration files.
 *
 * Both are factors for fp8_e4m3: stored value = x / scale. Checkpoints have one per layer or
 * one per KV head, under the names that writers of fp8 checkpoints use. */
#include "model/load/kv_scales.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "base/fp_env.h"
#include "base/half.h"
#include "base/handle.h"
#include "base/weight_type.h"
#include "format/safetensors.h"
#include "model/load/weights_source.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1, VALUES = 2 };

/* Largest finite values: scales of checkpoints and files map to that of fp8_e4m3. */
static const float E4M3_MAX = 448, E5M2_MAX = 57344;

/* ---- scales of a checkpoint */

/* Parses "...layers.N.TAIL"; returns KEYS, VALUES, both, or 0 for another tensor. */
static unsigned parse_name(const char *name, uint32_t *layer)
{
    static const struct {
        const char *tail;
        unsigned what;
    } tails[] = {
        { "self_attn.k_scale", KEYS },           { "self_attn.v_scale", VALUES },
        { "self_attn.attn.k_scale", KEYS },      { "self_attn.attn.v_scale", VALUES },
        { "self_attn.k_proj.k_scale", KEYS },    { "self_attn.v_proj.v_scale", VALUES },
        { "self_attn.kv_scale", KEYS | VALUES }, { "self_attn.attn.kv_scale", KEYS | VALUES },
    };
    const char *at = strstr(name, "layers.");
    if (!at || at[7] < '0' || at[7] > '9')
        return 0;
    char *end;
    const unsigned long n = strtoul(at + 7, &end, 10);
    for (size_t i = 0; *end == '.' && n < UINT32_MAX && i < sizeof tails / sizeof *tails; i++)
        if (!strcmp(end + 1, tails[i].tail)) {
            *layer = (uint32_t)n;
            return tails[i].what;
        }
    return 0;
}

bool qr_is_kv_scale(const char *name)
{
    uint32_t layer;
    return parse_name(name, &layer) != 0;
}

static quire_status check_scale(const char *name, float scale, struct quire_error *err)
{
    return isfinite(scale) && scale > 0
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_FORMAT,
                         "tensor %.80s: %g is no scale, which is finite and > 0", name,
                         (double)scale);
}

/* Reads a tensor of 1 or n_heads floats into scales[n_heads]. */
static quire_status read_scales(const struct qr_weights *w, size_t tensor, float *scales,
                                uint32_t n_heads, struct quire_error *err)
{
    struct qr_source_tensor t;
    qr_weights_source_tensor(w, tensor, &t);
    const uint32_t elem = t.type == QR_WEIGHT_F32                               ? 4
                          : t.type == QR_WEIGHT_F16 || t.type == QR_WEIGHT_BF16 ? 2
                                                                                : 0;
    if (!elem || (t.bytes != elem && t.bytes != (uint64_t)elem * n_heads))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "tensor %.80s: %llu bytes of %s, not 1 or %u floats of 16 or 32 bits",
                       t.name, (unsigned long long)t.bytes, t.type_name, n_heads);
    for (uint32_t h = 0; h < n_heads; h++) {
        uint16_t half = 0;
        const uint64_t at = t.bytes == elem ? 0 : (uint64_t)h * elem;
        QR_TRY(qr_weights_read_source(w, tensor, at, elem, elem == 4 ? (void *)&scales[h] : &half,
                                      err));
        if (elem == 2)
            scales[h] = t.type == QR_WEIGHT_F16 ? qr_f16_to_f32(half) : qr_bf16_to_f32(half);
        QR_TRY(check_scale(t.name, scales[h], err));
    }
    return QUIRE_OK;
}

/* Hash of the shape and of some embedding rows. */
static quire_status compute_fingerprint(struct quire_model *m, struct quire_error *err)
{
    enum { ROWS = 16 };
    const struct qr_model_config *c = m->config;
    const struct qr_packed *embedding = m->global.mat[QR_W_TOKEN_EMBD];
    const uint32_t shape[] = { c->n_layers,     c->hidden_size, c->max_heads,
                               c->max_kv_heads, c->head_dim,    c->vocab_size };
    m->fingerprint = qr_fnv1a(QR_FNV1A_INIT, shape, sizeof shape);
    /* GCOVR_EXCL_BR_LINE: models have embeddings of at least one token */
    if (!embedding || !c->vocab_size)
        return QUIRE_OK;
    float *row = qr_alloc(m->allocator, embedding->k, sizeof *row);
    if (!row)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for an embedding row");
    for (uint64_t i = 0; i < ROWS; i++) {
        qr_packed_unpack_row(embedding, (size_t)(i * (c->vocab_size - 1) / (ROWS - 1)), row);
        m->fingerprint = qr_fnv1a(m->fingerprint, row, embedding->k * sizeof *row);
    }
    qr_free(m->allocator, row, embedding->k, sizeof *row);
    return QUIRE_OK;
}

quire_status qr_kv_scales_load(struct quire_model *m, struct quire_error *err)
{
    const struct qr_weights *w = m->weights;
    for (size_t i = 0; i < qr_weights_source_count(w); i++) {
        struct qr_source_tensor t;
        uint32_t at;
        qr_weights_source_tensor(w, i, &t);
        const unsigned what = parse_name(t.name, &at);
        if (!what)
            continue;
        if (!qr_model_decodes(m) || at >= m->config->n_layers)
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %.80s: the model has no such layer",
                           t.name);
        struct qr_model_layer *layer = &m->layers[at];
        const uint32_t n_heads = m->config->layers[at].n_kv_heads;
        float *scales = qr_arena_alloc(&m->vectors, n_heads, sizeof *scales);
        if (!scales)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for KV scales");
        QR_TRY(read_scales(w, i, scales, n_heads, err));
        if (what & KEYS)
            layer->k_scale = scales;
        if (what & VALUES)
            layer->v_scale = scales;
    }
    return compute_fingerprint(m, err);
}

/* The scale of a dtype from that of fp8_e4m3. */
static float fit_to(enum quire_kv_dtype dtype, float scale)
{
    return dtype == QUIRE_KV_FP8_E5M2 ? fmaxf(scale * (E4M3_MAX / E5M2_MAX), 0x1p-126f) : scale;
}

/* Layers without scales keep what k and v hold. */
static void take_checkpoint_scales(const struct quire_model *m, uint32_t group,
                                   enum quire_kv_dtype k_dtype, enum quire_kv_dtype v_dtype,
                                   float *k, float *v)
{
    const uint32_t heads = m->groups.kv[group].n_kv_heads;
    for (uint32_t i = 0; i < m->config->n_layers; i++) {
        const struct qr_model_layer *layer = &m->layers[i];
        const bool own = m->config->layers[i].kv_source == i;
        for (uint32_t h = 0; own && layer->kv_group == group && h < heads; h++) {
            if (layer->k_scale)
                k[layer->kv_layer * heads + h] = fit_to(k_dtype, layer->k_scale[h]);
            if (layer->v_scale)
                v[layer->kv_layer * heads + h] = fit_to(v_dtype, layer->v_scale[h]);
        }
    }
}

/* ---- calibration files */

/* Reads a whole tensor, whose dtype and number of bytes must be those given. */
static quire_status read_tensor(const struct qr_safetensors *s, const char *name,
                                enum qr_dtype dtype, size_t bytes, void *out,
                                struct quire_error *err)
{
    size_t i;
    if (!qr_safetensors_find(s, name, &i))
        return qr_fail(err, QUIRE_E_FORMAT, "kv_scales: tensor %s is missing", name);
    const struct qr_safetensor *t = qr_safetensors_tensor(s, i);
    if (t->dtype != dtype || t->bytes != bytes)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "kv_scales: tensor %s is %llu bytes of %s, the model needs %zu of %s", name,
                       (unsigned long long)t->bytes, qr_dtype_name(t->dtype), bytes,
                       qr_dtype_name(dtype));
    return qr_safetensors_read_range(s, i, 0, bytes, out, err);
}

static quire_status read_group(const struct qr_safetensors *s, const struct quire_model *m,
                               uint32_t group, float *k, float *v, struct quire_error *err)
{
    const struct quire_kv_group_config *g = &m->groups.kv[group];
    const size_t n = (size_t)g->n_layers * g->n_kv_heads;
    const char kinds[] = { 'k', 'v' };
    float *out[] = { k, v };
    uint64_t fingerprint;
    QR_TRY(read_tensor(s, "fingerprint", QR_DTYPE_U64, sizeof fingerprint, &fingerprint, err));
    if (fingerprint != m->fingerprint)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "kv_scales: the file is of another model (fingerprint %016llx, this one has "
                       "%016llx)",
                       (unsigned long long)fingerprint, (unsigned long long)m->fingerprint);
    for (int j = 0; j < 2; j++) {
        char name[64];
        snprintf(name, sizeof name, "kv_group.%u.%c_scale", group, kinds[j]);
        QR_TRY(read_tensor(s, name, QR_DTYPE_F32, n * sizeof(float), out[j], err));
        for (size_t i = 0; i < n; i++)
            QR_TRY(check_scale(name, out[j][i], err));
    }
    return QUIRE_OK;
}

/* ---- both */

quire_status quire_model_kv_scales(const struct quire_model *model, const char *path,
                                   uint32_t group, enum quire_kv_dtype k_dtype,
                                   enum quire_kv_dtype v_dtype, float *k_scales, float *v_scales,
                                   struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(model, QR_KIND_MODEL, "model", err));
    if (!k_scales || !v_scales)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", k_scales ? "v_scales" : "k_scales");
    if (group >= model->groups.n_kv)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "group is %u, the model has %u", group,
                       model->groups.n_kv);
    const struct quire_kv_group_config *g = &model->groups.kv[group];
    const size_t n = (size_t)g->n_layers * g->n_kv_heads;
    for (size_t i = 0; i < n; i++)
        k_scales[i] = v_scales[i] = 1;
    if (!path) {
        if ((int32_t)group != model->cross_group)
            take_checkpoint_scales(model, group, k_dtype, v_dtype, k_scales, v_scales);
    } else {
        struct qr_safetensors *s;
        QR_TRY(qr_safetensors_open(path, model->allocator, &s, err));
        const quire_status status = read_group(s, model, group, k_scales, v_scales, err);
        qr_safetensors_close(s);
        QR_TRY(status);
        for (size_t i = 0; i < n; i++) {
            k_scales[i] = fit_to(k_dtype, k_scales[i]);
            v_scales[i] = fit_to(v_dtype, v_scales[i]);
        }
    }
    return QUIRE_OK;
}
