/* SPDX-License-Identifier: Apache-2.0 */
/* open_model.c - opens a model, or a head of multi-token prediction of one, and frees it. */
#include "model/open_model.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "kernels/dispatch.h"
#include "linear/onednn_shim.h"
#include "model/arch/arch.h"
#include "model/distance_weights.h"
#include "model/ffn_act.h"
#include "model/groups.h"
#include "model/load/kv_scales.h"
#include "model/load/load.h"
#include "model/load/provider.h"
#include "model/load/weights.h"
#include "model/recurrent_weights.h"
#include "model/state_layout.h"
#include <string.h>

static quire_status check_params(const struct quire_model_params *p, struct quire_error *err)
{
    if (!p->path && !p->data)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.path and params.data are both NULL");
    if (p->pack_cache && (!p->path || !p->pack_cache[0]))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.pack_cache is %s",
                       p->path ? "empty" : "for models from files only: params.path is NULL");
    if (p->compute < QUIRE_COMPUTE_NATIVE || p->compute > QUIRE_COMPUTE_THROUGHPUT)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.compute %d is unknown", (int)p->compute);
    if (p->linear != QUIRE_LINEAR_AUTO && p->linear != QUIRE_LINEAR_QUIRE &&
        p->linear != QUIRE_LINEAR_ONEDNN)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.linear %d is unknown", (int)p->linear);
    if (p->mtp_of)
        QR_TRY(qr_handle_check(p->mtp_of, QR_KIND_MODEL, "params.mtp_of", err));
    if (p->mtp_of && p->pack_cache)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.pack_cache is not for mtp_of");
    if (p->mtp_of && p->mtp_of->config->mtp.kind)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "params.mtp_of is a head of multi-token prediction itself");
    const uint32_t known = QUIRE_MODEL_EXPAND_LATENT | QUIRE_MODEL_ALLOW_UNKNOWN |
                           QUIRE_MODEL_STRICT | QUIRE_MODEL_BF16_STATES;
    if (p->flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags 0x%x has unknown bits", p->flags);
    return QUIRE_OK;
}

/* Matrices that a head may have from its model. */
static const enum qr_weight_role borrowed[] = { QR_W_TOKEN_EMBD, QR_W_OUTPUT };
enum { N_BORROWED = sizeof borrowed / sizeof *borrowed };

void qr_destroy_model(struct quire_model *m)
{
    for (size_t i = 0; m->base && i < N_BORROWED; i++)
        for (size_t b = 0; b < N_BORROWED; b++)
            if (m->global.mat[borrowed[i]] == m->base->global.mat[borrowed[b]])
                m->global.mat[borrowed[i]] = NULL; /* the model frees it */
    if (m->base)
        __atomic_fetch_sub(&m->base->n_heads, 1, __ATOMIC_ACQ_REL);
    qr_model_drop_distances(m);
    qr_model_unload(m);
    qr_onednn_destroy(m->onednn);
    qr_model_free_groups(m);
    qr_weights_close(m->weights);
    qr_free(m->allocator, m, 1, sizeof *m);
}

/* Whether a head of family `head` is one for models of family `base`. */
static bool is_head_of(const char *head, const char *base)
{
    const struct qr_arch *arch = qr_arch_by_name(head);
    if (!arch->head_of[0])
        return strcmp(head, base) == 0;
    for (size_t i = 0; i < 2; i++)
        if (arch->head_of[i] &&
            (strcmp(arch->head_of[i], base) == 0 || strcmp(arch->head_of[i], "*") == 0))
            return true;
    return false;
}

/* Gives a head with features the embedding and the output matrix of its model, where its files have
 * none. */
static quire_status borrow_matrices(struct quire_model *m, struct quire_error *err)
{
    const struct qr_model_config *c = m->config, *of = m->base->config;
    struct qr_packed **own = m->global.mat, **base = m->base->global.mat;
    if (own[QR_W_TOKEN_EMBD] && own[QR_W_OUTPUT])
        return QUIRE_OK;
    if (c->hidden_size != of->hidden_size || of->embedding_size)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "the head has no %s, and that of params.mtp_of is %u wide, not %u",
                       own[QR_W_TOKEN_EMBD] ? "output matrix" : "embedding", qr_embedding_size(of),
                       c->hidden_size);
    if (!own[QR_W_OUTPUT])
        own[QR_W_OUTPUT] = base[base[QR_W_OUTPUT] ? QR_W_OUTPUT : QR_W_TOKEN_EMBD];
    if (!own[QR_W_TOKEN_EMBD])
        own[QR_W_TOKEN_EMBD] = base[QR_W_TOKEN_EMBD];
    return QUIRE_OK;
}

/* Finds the layers of the model whose inputs the head reads, and its embedding. */
static quire_status bind_features(struct quire_model *m, struct quire_error *err)
{
    const struct qr_model_config *c = m->config, *of = m->base->config;
    const uint32_t n = of->n_layers, defaults[] = { 2, n / 2, n > 3 ? n - 3 : 0 };
    if (of->kind != QR_MODEL_DECODER || of->altup.n_streams || of->hyper.n_streams)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "params.mtp_of: a head with features needs a decoder with one residual "
                       "stream, not '%s'",
                       of->arch);
    for (size_t i = 0; i < c->mtp.n_features; i++) {
        const uint32_t layer = c->mtp.feature_layers[i];
        m->feature_layers[i] =
            layer == QR_MTP_DEFAULT_LAYER ? defaults[i % QR_MTP_N_FEATURES] : layer;
        if (m->feature_layers[i] >= n)
            return qr_fail(err, QUIRE_E_MISMATCH,
                           "params.mtp_of has %u layers, the head reads the input of layer %u", n,
                           m->feature_layers[i]);
    }
    return borrow_matrices(m, err);
}

/* Binds a head of multi-token prediction to the model that it belongs to, after a check that they
 * fit, and takes its embedding and output matrix. One in files of its own has its own matrices. */
static quire_status bind_base(struct quire_model *m, struct quire_model *base,
                              struct quire_error *err)
{
    const struct qr_model_config *c = m->config, *of = base->config;
    if (!is_head_of(c->arch, of->arch) || qr_mtp_base_size(c) != of->hidden_size ||
        c->vocab_size != of->vocab_size)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "params.mtp_of is '%s' with %u x %u embeddings, the file '%s' with %u x %u",
                       of->arch, of->vocab_size, of->hidden_size, c->arch, c->vocab_size,
                       qr_mtp_base_size(c));
    m->base = base;
    __atomic_fetch_add(&base->n_heads, 1, __ATOMIC_ACQ_REL);
    if (c->mtp.n_features)
        return bind_features(m, err);
    if (c->mtp.kind != QR_MTP_LAYER)
        return QUIRE_OK;
    if (c->mtp.heads)
        m->feature_layers[0] = of->n_layers; /* the residual stream behind the last one */
    for (size_t i = 0; i < N_BORROWED; i++)
        m->global.mat[borrowed[i]] = base->global.mat[borrowed[i]];
    m->global.vec[QR_W_OUTPUT_BIAS] = base->global.vec[QR_W_OUTPUT_BIAS];
    return QUIRE_OK;
}

/* The model that the opened files are a head of; NULL: they are a model. */
static quire_status find_base(const struct quire_model *m, const struct quire_model_params *p,
                              struct quire_model *draft_of, struct quire_model **base,
                              struct quire_error *err)
{
    *base = p->mtp_of;
    if (!qr_mtp_is_separate(m->config))
        return QUIRE_OK;
    *base = p->mtp_of ? p->mtp_of : draft_of;
    if (!*base)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "'%s' is a head of multi-token prediction for another model: it is opened "
                       "with mtp_of, or as the draft model of that one",
                       m->config->arch);
    return p->pack_cache ? qr_fail(err, QUIRE_E_INVALID_ARG, "params.pack_cache is not for heads")
                         : QUIRE_OK;
}

static quire_status open_model(struct quire_model *m, const struct quire_model_params *p,
                               struct quire_model *draft_of, struct quire_error *err)
{
    struct quire_model *base;
    const struct qr_weights_params wp = {
        .path = p->path,
        .memory = p->path ? NULL : p->data,
        .memory_size = p->path ? 0 : p->data_bytes,
        .allocator = p->allocator,
        .logger = p->logger,
        .progress = p->progress,
        .progress_user = p->progress_user,
        .expand_latent = p->flags & QUIRE_MODEL_EXPAND_LATENT,
        .allow_unknown = p->flags & QUIRE_MODEL_ALLOW_UNKNOWN,
        .strict = p->flags & QUIRE_MODEL_STRICT,
        .mtp = p->mtp_of != NULL,
    };
    if (!p->mtp_of)
        QR_TRY(qr_kernels_get(p->isa, &m->kernels, err));
    QR_TRY(qr_weights_open(&wp, &m->weights, err));
    m->config = qr_weights_config(m->weights);
    QR_TRY(find_base(m, p, draft_of, &base, err));
    if (base) {
        m->kernels = base->kernels;
        m->compute = base->compute;
    } else {
        QR_TRY(qr_provider_choose(m, p->linear, err));
    }
    QR_TRY(qr_model_load(m, p->pack_cache, p->threads, err));
    if (base)
        QR_TRY(bind_base(m, base, err));
    QR_TRY(qr_model_group_layers(m, err));
    QR_TRY(qr_model_prepare_recurrent(m, err));
    QR_TRY(qr_model_prepare_ffn_act(m, err));
    QR_TRY(qr_model_prepare_distances(m, err));
    QR_TRY(qr_model_place_states(m, p->flags & QUIRE_MODEL_BF16_STATES, err));
    if (!base) /* a checkpoint has none for its heads */
        QR_TRY(qr_kv_scales_load(m, err));
    qr_weights_release_source(m->weights);
    return QUIRE_OK;
}

quire_status qr_open_model(const struct quire_model_params *params, struct quire_model *draft_of,
                           struct quire_model **out, struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    struct quire_model_params p;
    QR_READ_STRUCT(&p, params, pack_cache, "params", err);
    QR_TRY(check_params(&p, err));
    struct quire_model *m = qr_calloc(p.allocator, 1, sizeof *m);
    if (!m)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a model");
    m->handle.kind = QR_KIND_MODEL;
    m->allocator = p.allocator;
    m->logger = p.logger;
    m->compute = p.compute;
    const quire_status s = open_model(m, &p, draft_of, err);
    if (s != QUIRE_OK)
        qr_destroy_model(m);
    else
        *out = m;
    return s;
}
