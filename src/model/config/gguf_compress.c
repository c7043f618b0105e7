/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_compress.c - attention with shared keys and values, compressed keys and hyper-connections in
 * GGUF metadata. */
#include "model/config/gguf_compress.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"

/* Tokens per compressed key of each layer, 0: none. Layers with an indexer have its tensors. */
static quire_status read_layers(const struct qr_gguf_source *s)
{
    static const char key[] = "attention.compress_ratios";
    struct qr_model_config *cfg = s->cfg;
    cfg->index.n_heads = 0;
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        const bool sparse = qr_gguf_source_has_role(s, QR_W_INDEX_COMPRESS_KV, i);
        QR_TRY(qr_gguf_source_layer_u32(s, key, i, 0, &l->compress_rate));
        if (l->compress_rate > QR_CONFIG_MAX_COMPRESS_RATE || (sparse && !l->compress_rate))
            return qr_fail(s->err, QUIRE_E_FORMAT, "%s.%s has %u tokens per key in layer %u",
                           s->prefix, key, l->compress_rate, i);
        l->index = sparse ? QR_INDEX_OWN : QR_INDEX_NONE;
        l->rope = l->compress_rate != 0;
        if (sparse && cfg->index.n_heads && cfg->index.block_size != l->compress_rate)
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "%s.%s has indexers over keys of %u and of %u tokens", s->prefix, key,
                           cfg->index.block_size, l->compress_rate);
        if (!sparse)
            continue;
        cfg->index.block_size = l->compress_rate;
        cfg->index.n_heads = 1;
    }
    return QUIRE_OK;
}

static quire_status read_index(const struct qr_gguf_source *s)
{
    struct qr_index_config *x = &s->cfg->index;
    uint32_t heads;
    QR_TRY(qr_gguf_source_u32(s, "attention.indexer.head_count", &heads));
    QR_TRY(qr_gguf_source_u32(s, "attention.indexer.key_length", &x->head_dim));
    QR_TRY(qr_gguf_source_u32(s, "attention.indexer.top_k", &x->top_k));
    if (x->n_heads && heads == 0)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s.attention.indexer.head_count is 0",
                       s->prefix);
    x->n_heads = x->n_heads ? heads : 0;
    return QUIRE_OK;
}

static quire_status read_hyper(const struct qr_gguf_source *s)
{
    struct qr_hyper_config *h = &s->cfg->hyper;
    uint32_t width;
    h->kind = s->arch->hyper;
    QR_TRY(qr_gguf_source_u32(s, "hyper_connection.count", &h->n_streams));
    QR_TRY(qr_gguf_source_u32(s, "hyper_connection.sinkhorn_iterations", &h->iterations));
    QR_TRY(qr_gguf_source_f32(s, "hyper_connection.epsilon", &h->eps));
    const uint64_t all = (uint64_t)h->n_streams * s->cfg->hidden_size;
    QR_TRY(qr_gguf_source_u32_or(s, "embedding_length_out",
                                 all > UINT32_MAX ? UINT32_MAX : (uint32_t)all, &width));
    return width == all
               ? QUIRE_OK
               : qr_fail(s->err, QUIRE_E_FORMAT, "%s.embedding_length_out is %u, not %u times %u",
                         s->prefix, width, h->n_streams, s->cfg->hidden_size);
}

/* One limit for the activations of all experts, in a list with one entry per layer. */
static quire_status read_limit(const struct qr_gguf_source *s, const char *name)
{
    char key[QR_GGUF_KEY_MAX];
    struct qr_gguf_array list;
    float *limit = &s->cfg->act_limit;
    qr_gguf_source_key(s, name, key);
    QR_TRY(qr_gguf_get_array(s->g, key, &list, s->err));
    if (list.count < s->cfg->n_layers)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u layers", key,
                       s->cfg->n_layers);
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        float v = 0;
        if (!qr_gguf_array_f32(&list, i, &v) || !(v > 0))
            return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s[%u] must be positive", key, i);
        if (*limit != 0 && v != *limit)
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "metadata key %s[%u] is %g, another limit %g; only equal ones are "
                           "supported",
                           key, i, (double)v, (double)*limit);
        *limit = v;
    }
    return QUIRE_OK;
}

/* Layers with a table of experts: the first hash_layer_count. */
static quire_status read_tables(const struct qr_gguf_source *s)
{
    uint32_t n, first = 0;
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        s->cfg->layers[i].token_experts = qr_gguf_source_has_role(s, QR_W_ROUTER_TABLE, i);
        first += s->cfg->layers[i].token_experts && first == i;
    }
    QR_TRY(qr_gguf_source_u32_or(s, "hash_layer_count", first, &n));
    for (uint32_t i = 0; i < s->cfg->n_layers; i++)
        if (s->cfg->layers[i].token_experts != (i < n))
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "%s.hash_layer_count is %u, but layer %u has %s table of experts",
                           s->prefix, n, i, i < n ? "no" : "a");
    return QUIRE_OK;
}

quire_status qr_gguf_read_compress(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    struct qr_shared_kv_config *kv = &cfg->shared_kv;
    if (!s->arch->shared_key_value)
        return QUIRE_OK;
    QR_TRY(qr_gguf_source_u32(s, "attention.q_lora_rank", &cfg->mla.q_lora_rank));
    QR_TRY(qr_gguf_source_u32(s, "attention.output_group_count", &kv->o_groups));
    QR_TRY(qr_gguf_source_u32(s, "attention.output_lora_rank", &kv->o_rank));
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        const struct qr_layer_config *l = &cfg->layers[i];
        if (l->n_kv_heads != 1 || kv->o_groups == 0 || l->n_heads % kv->o_groups != 0)
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "%s: layer %u has %u heads, %u kv heads and "
                           "attention.output_group_count %u",
                           s->prefix, i, l->n_heads, l->n_kv_heads, kv->o_groups);
        if (l->window == 0)
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "metadata key %s.attention.sliding_window is missing or 0", s->prefix);
    }
    QR_TRY(read_layers(s));
    QR_TRY(read_index(s));
    QR_TRY(read_hyper(s));
    cfg->act_limit = 0;
    QR_TRY(read_limit(s, "swiglu_clamp_exp"));
    QR_TRY(read_limit(s, "swiglu_clamp_shexp"));
    return read_tables(s);
}
