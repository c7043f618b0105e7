/* SPDX-License-Identifier: Apache-2.0 */
/* hf_mixers.c - config.json: which layers have attention, a recurrent layer, or a feed-forward
 * network alone. */
#include "model/config/hf_mixers.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include <string.h>

static const char *const list_keys[] = { "layer_types", "layers_block_type" };

/* What a layer consists of, besides a mixer and a feed-forward network. */
enum sublayers { MIXER, DENSE_FFN, MOE_FFN };

static quire_status set_layer(const struct qr_hf_source *h, uint32_t i, enum qr_mixer mixer,
                              enum sublayers only)
{
    struct qr_layer_config *l = &h->cfg->layers[i];
    const struct qr_recurrent_arch *r = h->arch->recurrent;
    const bool ffn_alone = only != MIXER;
    l->mixer = (uint8_t)(ffn_alone ? QR_MIXER_NONE : mixer);
    l->no_ffn = !ffn_alone && r->no_ffn && mixer != QR_MIXER_SHARED_BLOCK;
    l->moe = only == MOE_FFN;
    l->output_norm = mixer == QR_MIXER_ATTENTION && r->attention_output_norm;
    if (ffn_alone && !r->no_ffn)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: layer %u has no mixer, which family %s does not have", i,
                       h->arch->name);
    return QUIRE_OK;
}

/* A list of names, one per layer; with `repeats` it repeats if it is shorter. */
static quire_status mixers_from_names(const struct qr_hf_source *h, const char *key,
                                      const struct qr_json *list, bool repeats)
{
    static const struct {
        const char *name;
        enum qr_mixer mixer;
        enum sublayers only;
    } names[] = {
        { "linear_attention", QR_MIXER_RECURRENT, MIXER },
        { "mamba", QR_MIXER_RECURRENT, MIXER },
        { "recurrent", QR_MIXER_RECURRENT, MIXER },
        { "conv", QR_MIXER_RECURRENT, MIXER },
        { "hybrid", QR_MIXER_SHARED_BLOCK, MIXER },
        { "full_attention", QR_MIXER_ATTENTION, MIXER },
        { "attention", QR_MIXER_ATTENTION, MIXER },
        /* with an indexer, and with n-gram embeddings in the same layer (Qwen4-Exp) */
        { "qwen_sparse_attention", QR_MIXER_ATTENTION, MIXER },
        { "deepseek_sparse_attention", QR_MIXER_ATTENTION, MIXER },
        { "hybrid_indexed", QR_MIXER_ATTENTION, MIXER },
        { "mlp", QR_MIXER_NONE, DENSE_FFN },
        { "moe", QR_MIXER_NONE, MOE_FFN },
    };
    const size_t size = qr_json_size(list);
    if (!qr_json_is_array(list) || (repeats ? size == 0 : size != h->cfg->n_layers))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", key,
                       h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        const char *type = qr_json_string(qr_json_at(list, i % size));
        size_t n = 0;
        while (type && n < sizeof names / sizeof *names && strcmp(names[n].name, type) != 0)
            n++;
        const bool known = type && n < sizeof names / sizeof *names;
        const bool block = known && strcmp(type, "hybrid") == 0 && !h->arch->hf_shared_blocks;
        const bool indexed = known && (strstr(type, "sparse") || strstr(type, "indexed"));
        if (!known || block || (indexed && !h->arch->has_index))
            return qr_fail(h->err, type ? QUIRE_E_UNSUPPORTED : QUIRE_E_FORMAT,
                           "config.json: %s[%u] is %.60s, which is not supported", key, i,
                           type ? type : "not a string");
        QR_TRY(set_layer(h, i, names[n].mixer, names[n].only));
    }
    return QUIRE_OK;
}

/* hybrid_override_pattern (Nemotron-H): a letter per layer. */
static quire_status mixers_from_pattern(const struct qr_hf_source *h, const char *pattern)
{
    if (strlen(pattern) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: hybrid_override_pattern has %zu letters for %u layers",
                       strlen(pattern), h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        switch (pattern[i]) {
        case 'M':
            /* GCOVR_EXCL_BR_LINE: set_layer accepts every mixer. */
            QR_TRY(set_layer(h, i, QR_MIXER_RECURRENT, MIXER));
            break;
        case '*':
            /* GCOVR_EXCL_BR_LINE: set_layer accepts every mixer. */
            QR_TRY(set_layer(h, i, QR_MIXER_ATTENTION, MIXER));
            break;
        case '-':
            QR_TRY(set_layer(h, i, QR_MIXER_NONE, DENSE_FFN));
            break;
        case 'E':
            QR_TRY(set_layer(h, i, QR_MIXER_NONE, MOE_FFN));
            break;
        default:
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: hybrid_override_pattern[%u] is '%c'", i, pattern[i]);
        }
    return QUIRE_OK;
}

/* A list of the layers with attention, counted from `first`. */
static quire_status mixers_from_indices(const struct qr_hf_source *h, const char *key,
                                        const struct qr_json *list, uint32_t first)
{
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        /* GCOVR_EXCL_BR_LINE: set_layer accepts every mixer. */
        QR_TRY(set_layer(h, i, QR_MIXER_RECURRENT, MIXER));
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);) {
        uint32_t layer;
        if (!qr_json_is_u32(i.value, &layer) || layer < first || layer - first >= h->cfg->n_layers)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: %s[%zu] is not one of the %u layers", key, i.index,
                           h->cfg->n_layers);
        /* GCOVR_EXCL_BR_LINE: set_layer accepts every mixer. */
        QR_TRY(set_layer(h, layer - first, QR_MIXER_ATTENTION, MIXER));
    }
    return QUIRE_OK;
}

/* Attention in the layers i with i % period == offset. */
static quire_status mixers_from_period(const struct qr_hf_source *h, const char *key,
                                       uint32_t period, uint32_t offset)
{
    if (period == 0 || offset >= period)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s is %u, with offset %u", key, period,
                       offset);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        /* GCOVR_EXCL_BR_LINE: set_layer accepts every mixer. */
        QR_TRY(
            set_layer(h, i, i % period == offset ? QR_MIXER_ATTENTION : QR_MIXER_RECURRENT, MIXER));
    return QUIRE_OK;
}

/* layer_group_size (Ling 3): attention in the last layer of each group and behind the last one. */
static quire_status mixers_from_groups(const struct qr_hf_source *h, uint32_t size)
{
    const uint32_t n = h->cfg->n_layers;
    QR_TRY(mixers_from_period(h, "layer_group_size", size, size - 1));
    for (uint32_t i = n - n % size; i < n; i++)
        /* GCOVR_EXCL_BR_LINE: set_layer accepts every mixer. */
        QR_TRY(set_layer(h, i, QR_MIXER_ATTENTION, MIXER));
    return QUIRE_OK;
}

/* mamba_step (PLaMo 2): attention in the middle of every so many layers; in a model of no more than
 * half as many in the last one. */
static quire_status mixers_from_step(const struct qr_hf_source *h, uint32_t step)
{
    const uint32_t n = h->cfg->n_layers;
    return n <= step / 2 ? mixers_from_period(h, "mamba_step", step, n - 1)
                         : mixers_from_period(h, "mamba_step", step, step / 2);
}

/* The file's list of attention layers, or NULL; that of Kimi Linear counts from 1. */
static const struct qr_json *attention_list(const struct qr_hf_source *h, const char **key,
                                            uint32_t *first)
{
    static const char *const keys[] = { "full_attn_idxs", "attn_layer_indices",
                                        "full_attn_layers" };
    const struct qr_json *list = NULL;
    for (*first = 0; *first < 3 && !qr_json_is_array(list); ++*first)
        list = qr_hf_json(h, *key = keys[*first]);
    *first = *key == keys[2];
    return qr_json_is_array(list) ? list : NULL;
}

quire_status qr_hf_read_layer_count(const struct qr_hf_source *h)
{
    const struct qr_json *list = NULL;
    const char *pattern = NULL;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "num_hidden_layers", &h->cfg->n_layers, &has));
    if (h->arch->hf_layer_pairs && h->cfg->n_layers <= QR_CONFIG_MAX_LAYERS)
        h->cfg->n_layers *= 2;
    if (has || !h->arch->recurrent)
        return has ? QUIRE_OK : qr_hf_missing(h, "num_hidden_layers");
    for (size_t i = 0; i < 2 && !qr_json_is_array(list); i++)
        list = qr_hf_json(h, list_keys[i]);
    QR_TRY(qr_hf_str(h, "hybrid_override_pattern", &pattern));
    const size_t n = qr_json_is_array(list) ? qr_json_size(list) : pattern ? strlen(pattern) : 0;
    if (n == 0)
        return qr_hf_missing(h, "num_hidden_layers");
    h->cfg->n_layers = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
    return QUIRE_OK;
}

quire_status qr_hf_read_mixers(const struct qr_hf_source *h)
{
    const struct qr_recurrent_arch *r = h->arch->recurrent;
    const char *pattern = NULL, *key = NULL;
    uint32_t period, offset = 0, first = 0;
    bool has;
    if (!r)
        return QUIRE_OK;
    if (r->all || r->mixer == QR_MIXER_BOTH) {
        for (uint32_t i = 0; i < h->cfg->n_layers; i++)
            /* GCOVR_EXCL_BR_LINE: set_layer accepts every mixer. */
            QR_TRY(set_layer(h, i, r->mixer, MIXER));
        return QUIRE_OK;
    }
    const struct qr_json *list = attention_list(h, &key, &first);
    QR_TRY(qr_hf_str(h, "hybrid_override_pattern", &pattern));
    QR_TRY(qr_hf_u32_opt(h, "attn_layer_offset", &offset, &has));
    for (size_t i = 0; i < 2; i++) { /* the newest form takes precedence */
        const struct qr_json *names = qr_hf_json(h, list_keys[i]);
        if (names && !qr_json_is_null(names)) {
            qr_hf_ignore(h, "full_attention_interval");
            qr_hf_ignore(h, "layer_group_size");
            return mixers_from_names(h, list_keys[i], names, false);
        }
    }
    const struct qr_json *cycle = qr_hf_json(h, "block_types");
    if (cycle)
        return mixers_from_names(h, "block_types", cycle, true);
    if (pattern)
        return mixers_from_pattern(h, pattern);
    if (list)
        return mixers_from_indices(h, key, list, first);
    QR_TRY(qr_hf_u32_opt(h, "mamba_step", &period, &has));
    if (has)
        return mixers_from_step(h, period);
    QR_TRY(qr_hf_u32_opt(h, "full_attention_interval", &period, &has));
    if (has)
        return mixers_from_period(h, "full_attention_interval", period, period - 1);
    QR_TRY(qr_hf_u32_opt(h, "layer_group_size", &period, &has));
    if (has)
        return mixers_from_groups(h, period);
    QR_TRY(qr_hf_u32_opt(h, "attn_layer_period", &period, &has));
    if (has)
        return mixers_from_period(h, "attn_layer_period", period, offset);
    return qr_hf_missing(h, "layer_types");
}
