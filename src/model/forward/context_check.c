/* SPDX-License-Identifier: Apache-2.0 */
/* context_check.c - the parameters of a context: limits, and the pools that its model needs. */
#include "model/forward/context_check.h"
#include "base/error.h"
#include "base/handle.h"
#include "model/forward/latent_expand.h"
#include "recurrent/state_pool.h"
#include <quire/adapter.h>

enum { MAX_TOKENS = 1 << 20, MAX_SEQS = 1 << 16 };

static quire_status check_cache(const struct quire_model *m, const struct quire_kv_cache *kv,
                                struct quire_error *err)
{
    if (quire_kv_group_count(kv) != m->groups.n_kv)
        return qr_fail(err, QUIRE_E_MISMATCH, "params.kv has %u groups, the model needs %u",
                       quire_kv_group_count(kv), m->groups.n_kv);
    for (uint32_t i = 0; i < m->groups.n_kv; i++) {
        struct quire_kv_group_config g;
        const struct quire_kv_group_config *want = &m->groups.kv[i];
        QR_TRY(quire_kv_get_group(kv, i, &g, err));
        if (g.n_layers != want->n_layers || g.n_kv_heads != want->n_kv_heads ||
            g.head_size != want->head_size || g.v_head_size != want->v_head_size ||
            (g.flags ^ want->flags) & QUIRE_KV_LATENT)
            return qr_fail(
                err, QUIRE_E_MISMATCH,
                "params.kv group %u is %u layers x %u heads x %u%s, the model needs %u x %u x %u%s",
                i, g.n_layers, g.n_kv_heads, g.head_size,
                g.flags & QUIRE_KV_LATENT ? ", latent" : "", want->n_layers, want->n_kv_heads,
                want->head_size, want->flags & QUIRE_KV_LATENT ? ", latent" : "");
    }
    return QUIRE_OK;
}

/* Checks that there is a cache exactly if the model needs one. */
static quire_status check_kv(const struct quire_model *m, const struct quire_kv_cache *kv,
                             struct quire_error *err)
{
    if (m->config->kind == QR_MODEL_ENCODER)
        return kv ? qr_fail(err, QUIRE_E_INVALID_ARG,
                            "params.kv must be NULL: an encoder has no KV cache")
                  : QUIRE_OK;
    if (!m->groups.n_kv)
        return kv ? qr_fail(err, QUIRE_E_INVALID_ARG,
                            "params.kv must be NULL: '%s' has no attention layers", m->config->arch)
                  : QUIRE_OK;
    if (!kv && !qr_model_encodes(m))
        return qr_fail(
            err, QUIRE_E_INVALID_ARG,
            "params.kv is NULL: '%s' is a decoder, which needs a KV cache; only encoders "
            "compute without one",
            m->config->arch);
    if (!kv)
        return QUIRE_OK;
    return check_cache(m, kv, err);
}

/* Checks that there is a pool of states exactly if the model needs one. */
static quire_status check_states(const struct quire_model *m, const struct quire_state_pool *states,
                                 struct quire_error *err)
{
    if (!states && m->state_bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "params.states is NULL: '%s' has recurrent layers, whose states need a pool",
                       m->config->arch);
    if (!states)
        return QUIRE_OK;
    QR_TRY(qr_handle_check(states, QR_KIND_STATE_POOL, "params.states", err));
    if (!m->state_bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "params.states must be NULL: '%s' has no recurrent layers", m->config->arch);
    if (qr_state_pool_state_bytes(states) != m->state_bytes)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "params.states has states of %llu bytes, the model needs %llu",
                       (unsigned long long)qr_state_pool_state_bytes(states),
                       (unsigned long long)m->state_bytes);
    return QUIRE_OK;
}

quire_status qr_context_check(const struct quire_model *m, const struct quire_context_params *p,
                              struct quire_error *err)
{
    QR_TRY(qr_handle_check(m, QR_KIND_MODEL, "model", err));
    if (p->threads)
        QR_TRY(qr_handle_check(p->threads, QR_KIND_THREADS, "params.threads", err));
    if (!p->max_tokens || p->max_tokens > MAX_TOKENS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.max_tokens %u is not in 1..%d",
                       p->max_tokens, MAX_TOKENS);
    if (!p->max_seqs || p->max_seqs > MAX_SEQS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.max_seqs %u is not in 1..%d", p->max_seqs,
                       MAX_SEQS);
    if (p->max_encoder_tokens > MAX_TOKENS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.max_encoder_tokens %u is above %d",
                       p->max_encoder_tokens, MAX_TOKENS);
    if (p->max_encoder_len > INT32_MAX)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.max_encoder_len %u is above %d",
                       p->max_encoder_len, INT32_MAX);
    if (p->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.reserved is not 0");
    if (p->max_adapter_rank > QUIRE_ADAPTER_MAX_RANK)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.max_adapter_rank %u is above %d",
                       p->max_adapter_rank, QUIRE_ADAPTER_MAX_RANK);
    if (p->max_adapter_rank && m->config->kind != QR_MODEL_DECODER)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "params.max_adapter_rank: adapters are for decoders; '%s' has an encoder",
                       m->config->arch);
    QR_TRY(qr_expand_check(m, p->expand_latent_from, err));
    QR_TRY(check_states(m, p->states, err));
    return check_kv(m, p->kv, err);
}
