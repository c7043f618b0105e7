/* SPDX-License-Identifier: Apache-2.0 */
/* hf_index.c - the indexer of sparse attention in config.json: sizes, and layers that have one. */
#include "model/config/hf_index.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include <string.h>

/* Layers without an indexer use the choice of the last one with: indexer_types or a pattern of
 * letters lists them; else, from layer index_skip_topk_offset - 1 on, every n-th layer has one. */
static quire_status shared_by_period(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t period = 1, offset = 2;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "index_topk_freq", &period, &has));
    QR_TRY(qr_hf_u32_opt(h, "index_skip_topk_offset", &offset, &has));
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        const bool own = i + 1 <= offset || period <= 1 || (i + 1 - offset) % period == 0;
        cfg->layers[i].index = own ? QR_INDEX_OWN : QR_INDEX_SHARED;
    }
    return QUIRE_OK;
}

static quire_status shared_by_pattern(const struct qr_hf_source *h, const char *pattern)
{
    if (strlen(pattern) != h->cfg->n_layers || strspn(pattern, "FS") != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: index_topk_pattern must be %u letters F or S",
                       h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].index = pattern[i] == 'F' ? QR_INDEX_OWN : QR_INDEX_SHARED;
    return QUIRE_OK;
}

static quire_status shared_by_types(const struct qr_hf_source *h, const struct qr_json *types)
{
    if (!qr_json_is_array(types) || qr_json_size(types) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: indexer_types must list %u layers",
                       h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        const char *type = qr_json_string(qr_json_at(types, i));
        if (!type || (strcmp(type, "full") != 0 && strcmp(type, "shared") != 0))
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: indexer_types[%u] is %.60s, which is not supported", i,
                           type ? type : "not a string");
        h->cfg->layers[i].index = type[0] == 'f' ? QR_INDEX_OWN : QR_INDEX_SHARED;
    }
    return QUIRE_OK;
}

static quire_status read_sharing(const struct qr_hf_source *h)
{
    const struct qr_json *types = qr_hf_json(h, "indexer_types");
    const char *pattern = NULL;
    QR_TRY(qr_hf_str(h, "index_topk_pattern", &pattern));
    QR_TRY(shared_by_period(h)); /* the others take precedence */
    if (types && !qr_json_is_null(types))
        return shared_by_types(h, types);
    return pattern ? shared_by_pattern(h, pattern) : QUIRE_OK;
}

/* Layers with sparse attention in families where others have full attention: layer_types, or a
 * list with 1 for each. */
static quire_status read_sparse_layers(const struct qr_hf_source *h)
{
    static const char sparse[] = "minimax_m3_sparse", full[] = "full_attention";
    const struct qr_json *types = qr_hf_json(h, "layer_types");
    if (!qr_json_is_array(types) || qr_json_size(types) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers",
                       qr_hf_name(h, "layer_types"), h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        const struct qr_json *v = qr_json_at(types, i);
        const char *type = qr_json_string(v);
        uint32_t flag;
        if (!type && qr_json_is_u32(v, &flag) && flag <= 1)
            type = flag ? sparse : full;
        if (!type || (strcmp(type, sparse) != 0 && strcmp(type, full) != 0))
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: layer_types[%u] is %.60s, which is not supported", i,
                           type ? type : "not a string");
        h->cfg->layers[i].index = strcmp(type, sparse) == 0 ? QR_INDEX_OWN : QR_INDEX_NONE;
    }
    return QUIRE_OK;
}

/* In families of which every layer is sparse. */
static quire_status check_layer_types(const struct qr_hf_source *h)
{
    const struct qr_json *types = qr_hf_json(h, "layer_types");
    for (size_t i = 0; i < qr_json_size(types); i++) {
        const char *type = qr_json_string(qr_json_at(types, i));
        if (!type || strcmp(type, "deepseek_sparse_attention") != 0)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: layer_types[%zu] is %.60s, which is not supported", i,
                           type ? type : "not a string");
    }
    return QUIRE_OK;
}

/* Blocks with one key each; all layers with attention have an indexer. The file gives the number of
 * tokens that are selected. */
static quire_status read_compressed(const struct qr_hf_source *h)
{
    struct qr_index_config *x = &h->cfg->index;
    uint32_t tokens, kv_heads;
    QR_TRY(qr_hf_u32(h, "index_block_size", &x->block_size));
    QR_TRY(qr_hf_u32(h, "indexer_budget", &tokens));
    QR_TRY(qr_hf_u32(h, "indexer_kv_heads", &kv_heads));
    if (kv_heads != 1)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: indexer_kv_heads is %u; only 1 is supported", kv_heads);
    if (x->block_size == 0 || tokens % x->block_size != 0)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: indexer_budget is %u, not a multiple of %s %u", tokens,
                       qr_hf_name(h, "index_block_size"), x->block_size);
    x->top_k = tokens / x->block_size;
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].index =
            h->cfg->layers[i].mixer == QR_MIXER_ATTENTION ? QR_INDEX_OWN : QR_INDEX_NONE;
    return QUIRE_OK;
}

quire_status qr_hf_read_index(const struct qr_hf_source *h)
{
    struct qr_index_config *x = &h->cfg->index;
    if (!h->arch->has_index || h->arch->shared_key_value)
        return QUIRE_OK; /* qr_hf_read_compress has read it */
    QR_TRY(qr_hf_u32(h, "index_n_heads", &x->n_heads));
    QR_TRY(qr_hf_u32(h, "index_head_dim", &x->head_dim));
    if (x->n_heads == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s is 0",
                       qr_hf_name(h, "index_n_heads"));
    QR_TRY(qr_hf_bool(h, "indexer_rope_interleave", x->interleaved, &x->interleaved));
    if (x->compressed)
        return read_compressed(h);
    if (x->weighted) {
        QR_TRY(qr_hf_u32(h, "index_topk", &x->top_k));
        QR_TRY(check_layer_types(h));
        return read_sharing(h);
    }
    QR_TRY(qr_hf_u32(h, "index_topk_blocks", &x->top_k));
    QR_TRY(qr_hf_u32(h, "index_block_size", &x->block_size));
    QR_TRY(qr_hf_u32(h, "index_local_blocks", &x->local_blocks));
    return read_sparse_layers(h);
}
