/* SPDX-License-Identifier: Apache-2.0 */
/* hf_compress.c - attention with shared keys and values, and compressed keys, in config.json. */
#include "model/config/hf_compress.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include <string.h>

/* Kinds of layers, in the order of `names`. */
enum kind { WINDOW, SPARSE, HEAVY, N_KINDS };
static const char *const names[N_KINDS] = { "sliding_attention", "compressed_sparse_attention",
                                            "heavily_compressed_attention" };
/* What older files call them in compress_ratios, whatever the rates are. */
static const uint32_t ratios[N_KINDS] = { 0, 4, 128 };

/* Tokens per compressed key of each kind: compress_rates, or a key for each. */
static quire_status read_rates(const struct qr_hf_source *h, uint32_t rates[N_KINDS])
{
    static const char key[] = "compress_rates";
    static const char *const old[N_KINDS] = { "", "compress_rate_csa", "compress_rate_hca" };
    const struct qr_json *dict = qr_hf_json(h, key);
    bool has;
    if (dict && !qr_json_is_null(dict) && !qr_json_is_object(dict))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be an object", key);
    for (int k = SPARSE; k < N_KINDS; k++) {
        rates[k] = ratios[k];
        const struct qr_json *v = qr_json_get(dict, names[k]);
        qr_hf_mark(h, dict, names[k]);
        if (v && !qr_json_is_u32(v, &rates[k]))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s.%s must be a number", key,
                           names[k]);
        QR_TRY(qr_hf_u32_opt(h, old[k], &rates[k], &has));
        if (rates[k] == 0 || rates[k] > QR_CONFIG_MAX_COMPRESS_RATE)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: %s.%s is %u, 1 to %d tokens per key are allowed", key,
                           names[k], rates[k], QR_CONFIG_MAX_COMPRESS_RATE);
    }
    return QUIRE_OK;
}

/* The kind of layer i in a list, which may have more entries for heads of multi-token prediction;
 * N_KINDS: not a known one. */
static enum kind listed_kind(const struct qr_json *list, uint32_t i, bool by_ratio)
{
    const struct qr_json *v = qr_json_at(list, i);
    const char *type = qr_json_string(v);
    uint32_t ratio;
    for (int k = 0; k < N_KINDS; k++)
        if (by_ratio ? qr_json_is_u32(v, &ratio) && ratio == ratios[k]
                     : type && strcmp(type, names[k]) == 0)
            return (enum kind)k;
    return N_KINDS;
}

static quire_status read_layers(const struct qr_hf_source *h, const uint32_t rates[N_KINDS])
{
    static const char *const keys[] = { "layer_types", "compress_ratios" };
    struct qr_model_config *cfg = h->cfg;
    const struct qr_json *list = NULL;
    int which = 0;
    for (int i = 1; i >= 0; i--) { /* the newer form takes precedence */
        const struct qr_json *v = qr_hf_json(h, keys[i]);
        if (v && !qr_json_is_null(v)) {
            list = v;
            which = i;
        }
    }
    if (list && (!qr_json_is_array(list) || qr_json_size(list) < cfg->n_layers))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", keys[which],
                       cfg->n_layers);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        const enum kind kind = list                  ? listed_kind(list, i, which == 1)
                               : i < 2 || i % 2 == 0 ? HEAVY
                                                     : SPARSE;
        if (kind == N_KINDS)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s[%u] is %.60s, which is not supported", keys[which], i,
                           qr_json_string(qr_json_at(list, i)) ? qr_json_string(qr_json_at(list, i))
                                                               : "not a known kind");
        cfg->layers[i].compress_rate = kind == WINDOW ? 0 : rates[kind];
        cfg->layers[i].index = kind == SPARSE ? QR_INDEX_OWN : QR_INDEX_NONE;
        cfg->layers[i].rope = kind != WINDOW;
    }
    return QUIRE_OK;
}

static quire_status read_indexer(const struct qr_hf_source *h, uint32_t rate)
{
    struct qr_index_config *x = &h->cfg->index;
    bool sparse = false;
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        sparse = sparse || h->cfg->layers[i].index == QR_INDEX_OWN;
    QR_TRY(qr_hf_u32(h, "index_n_heads", &x->n_heads));
    QR_TRY(qr_hf_u32(h, "index_head_dim", &x->head_dim));
    QR_TRY(qr_hf_u32(h, "index_topk", &x->top_k));
    x->block_size = rate;
    if (!sparse)
        x->n_heads = 0;
    else if (x->n_heads == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: index_n_heads is 0");
    return QUIRE_OK;
}

/* The output projections, and limits of what the file may say about heads. */
static quire_status read_heads(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    struct qr_shared_kv_config *s = &cfg->shared_kv;
    const uint32_t heads = cfg->layers[0].n_heads, kv_heads = cfg->layers[0].n_kv_heads;
    QR_TRY(qr_hf_u32(h, "q_lora_rank", &cfg->mla.q_lora_rank));
    QR_TRY(qr_hf_u32(h, "o_groups", &s->o_groups));
    QR_TRY(qr_hf_u32(h, "o_lora_rank", &s->o_rank));
    if (kv_heads != 1)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: num_key_value_heads is %u; only 1 is supported", kv_heads);
    if (s->o_groups == 0 || heads % s->o_groups != 0)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: o_groups is %u, which does not divide %u heads", s->o_groups,
                       heads);
    if (cfg->layers[0].window == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: sliding_window is missing or 0");
    return QUIRE_OK;
}

quire_status qr_hf_read_compress(const struct qr_hf_source *h)
{
    uint32_t rates[N_KINDS] = { 0 };
    if (!h->arch->shared_key_value)
        return QUIRE_OK;
    QR_TRY(read_heads(h));
    QR_TRY(read_rates(h, rates));
    QR_TRY(read_layers(h, rates));
    return read_indexer(h, rates[SPARSE]);
}
