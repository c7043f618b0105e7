/* SPDX-License-Identifier: Apache-2.0 */
/* hf_moe.c - mixture of experts in config.json: sizes, routing, MoE layers. */
#include "model/config/hf_moe.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/limits.h"
#include <stdlib.h>
#include <string.h>

/* The first present one of several keys with a number for all layers; keys ends with NULL. */
static quire_status first_count(const struct qr_hf_source *h, const char *const *keys,
                                uint32_t *out, bool *has)
{
    for (*has = false; *keys && !*has; keys++)
        QR_TRY(qr_hf_layers_u32_opt(h, *keys, out, has));
    return QUIRE_OK;
}

/* A key without which the model has no experts, whatever their number. */
static quire_status read_switch(const struct qr_hf_source *h)
{
    bool on = true;
    if (h->arch->hf_moe_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_moe_key, false, &on));
    if (on)
        return QUIRE_OK;
    h->cfg->moe.n_experts = 0;
    qr_hf_ignore(h, "moe_intermediate_size");
    return QUIRE_OK;
}

static quire_status read_sizes(const struct qr_hf_source *h, uint32_t dense_size)
{
    static const char *const counts[] = { "num_experts", "num_local_experts", "n_routed_experts",
                                          NULL };
    static const char *const used[] = { "num_experts_per_tok", "num_experts_per_token", NULL };
    struct qr_moe_config *m = &h->cfg->moe;
    bool has;
    QR_TRY(first_count(h, counts, &m->n_experts, &has));
    QR_TRY(read_switch(h));
    if (m->n_experts == 0) {
        qr_hf_ignore(h, "num_experts_per_tok");
        qr_hf_ignore(h, "moe_every_n_layers");
        return QUIRE_OK;
    }
    QR_TRY(first_count(h, used, &m->top_k, &has));
    if (!has)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: num_experts_per_tok is missing");
    QR_TRY(qr_hf_u32_opt(h, "zero_expert_num", &m->n_identity, &has));
    m->ffn_size = dense_size;
    if (h->arch->latent_experts)
        QR_TRY(qr_hf_u32_opt(h, "moe_latent_size", &m->latent_size, &has));
    return qr_hf_layers_u32_opt(h, "moe_intermediate_size", &m->ffn_size, &has);
}

/* Files give the number of shared experts or the size of all of them together. */
static quire_status read_shared(const struct qr_hf_source *h)
{
    static const char *const sizes[] = { "shared_expert_intermediate_size",
                                         "shared_intermediate_size", NULL };
    struct qr_moe_config *m = &h->cfg->moe;
    bool has;
    QR_TRY(qr_hf_layers_u32_opt(h, "n_shared_experts", &m->n_shared, &has));
    if (m->n_shared > QR_CONFIG_MAX_EXPERTS || m->ffn_size > QR_CONFIG_MAX_FFN)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %u shared experts of size %u",
                       m->n_shared, m->ffn_size);
    const uint64_t all = (uint64_t)m->n_shared * m->ffn_size;
    m->shared_ffn_size = all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
    QR_TRY(qr_hf_first_u32(h, sizes, &m->shared_ffn_size, &has));
    if (has)
        m->n_shared = m->shared_ffn_size != 0;
    m->shared_gate = m->shared_gate && m->n_shared;
    return QUIRE_OK;
}

/* The average of the experts and the shared one, or their sum. */
static quire_status read_combination(const struct qr_hf_source *h)
{
    static const char key[] = "shared_expert_combination_strategy";
    struct qr_moe_config *m = &h->cfg->moe;
    const char *how = NULL;
    if (!m->average_shared)
        return QUIRE_OK;
    QR_TRY(qr_hf_str(h, key, &how));
    if (how && strcmp(how, "average") != 0 && strcmp(how, "sum") != 0)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED, "config.json: %s %.60s is not supported", key,
                       how);
    m->average_shared = m->n_shared && !(how && how[0] == 's');
    return QUIRE_OK;
}

/* RoPE in the dense layers before the first one with experts, if these have a period of windows of
 * their own and it is 1: no windows. */
static quire_status read_dense_lead(const struct qr_hf_source *h)
{
    uint32_t period = 1;
    bool has;
    if (!h->arch->rope_in_dense_lead)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32_opt(h, "prefix_dense_sliding_window_pattern", &period, &has));
    if (period == 1)
        qr_model_config_rope_dense_lead(h->cfg);
    return QUIRE_OK;
}

/* The order of the norm that the selected weights are divided by. */
static quire_status read_weights_norm(const struct qr_hf_source *h)
{
    const char *key = h->arch->hf_p_norm_key;
    double order = 1;
    bool has = false;
    if (!key)
        return QUIRE_OK;
    QR_TRY(qr_hf_f64_opt(h, key, &order, &has));
    h->cfg->moe.renormalize = has;
    return order == 1 ? QUIRE_OK
                      : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                                "config.json: %s %g is not supported, only 1 and null",
                                qr_hf_name(h, key), order);
}

static quire_status read_routing(const struct qr_hf_source *h)
{
    struct qr_moe_config *m = &h->cfg->moe;
    const char *method = NULL, *scoring = NULL;
    double scale = m->weights_scale, cap = 0;
    bool has;
    QR_TRY(qr_hf_bool(h, "norm_topk_prob", m->renormalize, &m->renormalize));
    QR_TRY(read_weights_norm(h));
    QR_TRY(qr_hf_f64_opt(h, "routed_scaling_factor", &scale, &has));
    m->weights_scale = (float)scale;
    if (h->arch->hf_router_softcap)
        QR_TRY(qr_hf_f64_opt(h, "moe_router_logit_softcapping", &cap, &has));
    m->logit_softcap = (float)cap;
    QR_TRY(qr_hf_str(h, "topk_method", &method));
    QR_TRY(qr_hf_str(h, "scoring_func", &scoring));
    /* dots.llm1 gives the name of the top-k method that sigmoid scores belong to */
    if (scoring && (strcmp(scoring, "sigmoid") == 0 || strcmp(scoring, "noaux_tc") == 0))
        m->gating = QR_GATING_SIGMOID;
    else if (scoring && m->gating == QR_GATING_SQRT_SOFTPLUS &&
             strcmp(scoring, "sqrtsoftplus") == 0)
        ; /* the family's scores */
    else if (scoring && (strcmp(scoring, "softmax") != 0 || m->gating == QR_GATING_SIGMOID ||
                         m->gating == QR_GATING_SQRT_SOFTPLUS))
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: scoring_func %.60s is not supported", scoring);
    bool softmax = false;
    if (h->arch->hf_softmax_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_softmax_key, false, &softmax));
    m->gating = softmax ? QR_GATING_SOFTMAX_TOPK : m->gating;
    if (h->arch->hf_correction_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_correction_key, false, &m->correction));
    if (h->arch->hf_correction_key && m->correction != (m->gating == QR_GATING_SIGMOID))
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: %s = %s is not supported with these scores of experts",
                       h->arch->hf_correction_key, m->correction ? "true" : "false");
    if (method && strcmp(method, "greedy") == 0) {
        qr_hf_ignore(h, "n_group"); /* greedy selection has no groups */
        qr_hf_ignore(h, "topk_group");
        return QUIRE_OK;
    }
    if (method && strcmp(method, "group_limited_greedy") != 0 && strcmp(method, "noaux_tc") != 0)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: topk_method %.60s is not supported", method);
    QR_TRY(qr_hf_u32_opt(h, "n_group", &m->n_groups, &has));
    return qr_hf_u32_opt(h, "topk_group", &m->topk_groups, &has);
}

/* SparseMixer masks experts whose logits differ from the best by more than twice the jitter. */
static quire_status read_sparsemixer(const struct qr_hf_source *h)
{
    double jitter;
    if (h->cfg->moe.gating != QR_GATING_SPARSEMIXER)
        return QUIRE_OK;
    QR_TRY(qr_hf_f64(h, "router_jitter_noise", &jitter));
    h->cfg->moe.sparsemixer_margin = (float)(2 * jitter);
    return QUIRE_OK;
}

static bool contains(const struct qr_json *list, uint32_t layer)
{
    uint32_t v;
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        /* GCOVR_EXCL_BR_LINE: check_layer_list has checked the type. */
        if (qr_json_is_u32(i.value, &v) && v == layer)
            return true;
    return false;
}

/* A list of layer numbers, which may be missing or null. */
static quire_status check_layer_list(const struct qr_hf_source *h, const char *key,
                                     const struct qr_json *list)
{
    uint32_t v;
    if (!list || qr_json_is_null(list))
        return QUIRE_OK;
    if (!qr_json_is_array(list))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be a list of layers", key);
    if (qr_json_size(list) > h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s lists more than %u layers", key,
                       h->cfg->n_layers);
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        if (!qr_json_is_u32(i.value, &v))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%zu] must be a layer number",
                           key, i.index);
    return QUIRE_OK;
}

/* The numbers of the MoE layers as a text, between commas. */
static quire_status mark_by_text(const struct qr_hf_source *h, const char *text)
{
    char *end = NULL;
    for (const char *p = text; !end || *end; p = end + 1) {
        const unsigned long layer = strtoul(p, &end, 10);
        if (end == p || (*end && *end != ',') || layer >= h->cfg->n_layers)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: %s \"%.60s\" must list numbers of %u layers",
                           qr_hf_name(h, "moe_layers"), text, h->cfg->n_layers);
        h->cfg->layers[layer].moe = true;
    }
    return QUIRE_OK;
}

/* mlp_layer_types: "dense" or "sparse" for each layer. */
static quire_status mark_by_type(const struct qr_hf_source *h, const struct qr_json *types)
{
    if (qr_json_size(types) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: mlp_layer_types must list %u layers",
                       h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        const char *type = qr_json_string(qr_json_at(types, i));
        if (!type || (strcmp(type, "dense") != 0 && strcmp(type, "sparse") != 0))
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: mlp_layer_types[%u] is %.60s, which is not supported", i,
                           type ? type : "not a string");
        h->cfg->layers[i].moe = type[0] == 's';
    }
    return QUIRE_OK;
}

/* moe_layer_freq as a list: 1 for each MoE layer, 0 for each dense one. */
static quire_status mark_by_flag(const struct qr_hf_source *h, const struct qr_json *flags)
{
    uint32_t v = 0;
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        if (qr_json_size(flags) != h->cfg->n_layers || !qr_json_is_u32(qr_json_at(flags, i), &v) ||
            v > 1)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: moe_layer_freq must be a number or list %u times 0 or 1",
                           h->cfg->n_layers);
        h->cfg->layers[i].moe = v == 1;
    }
    return QUIRE_OK;
}

/* expert_layer_period and expert_layer_offset (Jamba). */
static quire_status mark_by_period(const struct qr_hf_source *h, uint32_t period)
{
    uint32_t offset = 0;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "expert_layer_offset", &offset, &has));
    if (period == 0 || offset >= period)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: expert_layer_period is %u, expert_layer_offset %u", period,
                       offset);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].moe = i % period == offset;
    return QUIRE_OK;
}

/* moe_every_n_layers (Nomic Embed): layers 1, n + 1, 2 n + 1, ... */
static quire_status mark_every(const struct qr_hf_source *h, uint32_t n)
{
    if (n < 2 || h->cfg->n_layers < 2)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: moe_every_n_layers is %u, so that no layer has the %u experts",
                       n, h->cfg->moe.n_experts);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].moe = i % n == 1;
    return QUIRE_OK;
}

/* moe_layer_end_index (ERNIE): the last layer that may have experts; -1: the last of the model. */
static quire_status read_moe_end(const struct qr_hf_source *h, uint32_t *end)
{
    static const char key[] = "moe_layer_end_index";
    const struct qr_json *v = qr_hf_json(h, key);
    uint32_t last;
    if (!v || qr_json_is_null(v) || (qr_json_is_integer(v) && qr_json_integer(v) == -1))
        return QUIRE_OK;
    if (!qr_json_is_u32(v, &last))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be a layer number or -1", key);
    *end = last < *end ? last + 1 : *end;
    return QUIRE_OK;
}

/* Families of which every layer has experts: layers that mlp_layer_types calls "hash_moe", or the
 * first num_hash_layers, take them from a table of tokens. A list may be longer than the model. */
static quire_status mark_token_experts(const struct qr_hf_source *h, const struct qr_json *types)
{
    struct qr_model_config *cfg = h->cfg;
    const bool listed = types && !qr_json_is_null(types);
    uint32_t first = 0;
    QR_TRY(qr_hf_u32(h, "num_hash_layers", &first));
    if (listed && (!qr_json_is_array(types) || qr_json_size(types) < cfg->n_layers))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: mlp_layer_types must list %u layers",
                       cfg->n_layers);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        const char *type = listed      ? qr_json_string(qr_json_at(types, i))
                           : i < first ? "hash_moe"
                                       : "moe";
        if (!type || (strcmp(type, "moe") != 0 && strcmp(type, "hash_moe") != 0))
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: mlp_layer_types[%u] is %.60s, which is not supported", i,
                           type ? type : "not a string");
        cfg->layers[i].moe = true;
        cfg->layers[i].token_experts = type[0] == 'h';
    }
    if (cfg->moe.n_shared != 1)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: n_shared_experts is %u; only 1 is supported",
                       cfg->moe.n_shared);
    double limit;
    QR_TRY(qr_hf_f64(h, "swiglu_limit", &limit));
    cfg->act_limit = (float)limit;
    if (!(limit > 0))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: swiglu_limit is %g, not positive",
                       limit);
    return QUIRE_OK;
}

/* Marks the MoE layers: exactly those in moe_layers, or every step-th layer from `first` on except
 * those in mlp_only_layers. A step of n means layers n - 1, 2n - 1, ...; with DeepSeek's key
 * moe_layer_freq it means layers 0, n, ... */
static quire_status mark_moe_layers(const struct qr_hf_source *h)
{
    static const char *const steps[] = { "decoder_sparse_step", "interleave_moe_layer_step", NULL };
    const struct qr_json *dense = qr_hf_json(h, "mlp_only_layers"),
                         *moe = qr_hf_json(h, "moe_layers"),
                         *types = qr_hf_json(h, "mlp_layer_types"),
                         *flags = qr_hf_json(h, "moe_layer_freq");
    uint32_t first = 0, step = 1, phase = 1;
    uint32_t end = h->cfg->n_layers;
    bool has;
    if (h->arch->recurrent && h->arch->recurrent->no_ffn)
        return QUIRE_OK; /* the list of mixers has them */
    for (uint32_t i = 0; h->arch->hf_layer_pairs && i < h->cfg->n_layers; i += 2)
        h->cfg->layers[i].moe = h->cfg->layers[i].shortcut = true;
    if (h->arch->hf_layer_pairs)
        return QUIRE_OK;
    if (h->arch->shared_key_value)
        return mark_token_experts(h, types);
    if (qr_json_is_array(types)) {
        qr_hf_ignore(h, "first_k_dense_replace"); /* the list takes precedence */
        qr_hf_ignore(h, "decoder_sparse_step");
        return mark_by_type(h, types);
    }
    if (qr_json_is_array(flags))
        return mark_by_flag(h, flags);
    if (qr_json_is_string(moe))
        return mark_by_text(h, qr_json_string(moe));
    QR_TRY(qr_hf_u32_opt(h, "expert_layer_period", &step, &has));
    if (has)
        return mark_by_period(h, step);
    QR_TRY(qr_hf_u32_opt(h, "moe_every_n_layers", &step, &has));
    if (has)
        return mark_every(h, step);
    QR_TRY(qr_hf_u32_opt(h, "first_k_dense_replace", &first, &has));
    QR_TRY(qr_hf_first_u32(h, steps, &step, &has));
    if (!has) {
        QR_TRY(qr_hf_u32_opt(h, "moe_layer_freq", &step, &has));
        phase = 0;
    }
    if (step == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: the step between MoE layers is 0");
    QR_TRY(read_moe_end(h, &end));
    QR_TRY(check_layer_list(h, "mlp_only_layers", dense));
    QR_TRY(check_layer_list(h, "moe_layers", moe));
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].moe =
            qr_json_is_array(moe)
                ? contains(moe, i)
                : i >= first && i < end && (i + phase) % step == 0 && !contains(dense, i);
    return QUIRE_OK;
}

/* A model without experts, whose feed-forward network is what is the shared expert in others. */
static quire_status read_dense(const struct qr_hf_source *h)
{
    uint32_t size = h->cfg->layers[0].ffn_size;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "shared_intermediate_size", &size, &has));
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].ffn_size = size;
    return QUIRE_OK;
}

/* Size of the dense layers where intermediate_size is that of the experts. */
static quire_status read_dense_layers(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t dense = cfg->layers[0].ffn_size;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "intermediate_size_mlp", &dense, &has));
    for (uint32_t i = 0; has && i < cfg->n_layers; i++)
        cfg->layers[i].ffn_size = dense;
    return QUIRE_OK;
}

quire_status qr_hf_read_moe(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    bool has;
    if (h->arch->hf_mtp_names)
        QR_TRY(qr_hf_u32_opt(h, "num_nextn_predict_layers", &cfg->n_mtp_layers, &has));
    if (!h->arch->has_moe)
        return QUIRE_OK;
    QR_TRY(read_sizes(h, cfg->layers[0].ffn_size));
    if (cfg->moe.n_experts == 0)
        return h->arch->hf_shared_is_dense ? read_dense(h) : read_dense_layers(h);
    QR_TRY(qr_hf_u32_opt(h, "num_nextn_predict_layers", &cfg->n_mtp_layers, &has));
    QR_TRY(read_shared(h));
    QR_TRY(read_combination(h));
    QR_TRY(read_routing(h));
    QR_TRY(mark_moe_layers(h));
    QR_TRY(read_dense_lead(h));
    if (h->arch->hf_beside_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_beside_key, false, &cfg->moe.beside_dense));
    qr_model_config_set_beside(cfg, h->arch);
    QR_TRY(read_sparsemixer(h));
    return read_dense_layers(h);
}
