/* SPDX-License-Identifier: Apache-2.0 */
/* hf_recurrent.c - sizes and options of recurrent layers in config.json. */
#include "model/config/hf_recurrent.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/limits.h"
#include <math.h>
#include <string.h>

/* A size that may be the string "auto" or missing; *out is then unchanged. */
static quire_status read_auto(const struct qr_hf_source *h, const char *key, uint32_t *out)
{
    const char *text = qr_json_string(qr_hf_json(h, key));
    bool has;
    if (text && strcmp(text, "auto") == 0)
        return QUIRE_OK;
    return qr_hf_u32_opt(h, key, out, &has);
}

/* Checks that mamba_n_heads * mamba_d_head is the inner size that the file gives, as mamba_d_ssm
 * or, with `scales`, as hidden_size * expand. */
static quire_status check_inner(const struct qr_hf_source *h, bool scales, uint32_t expand)
{
    const struct qr_recurrent_config *r = &h->cfg->recurrent;
    uint32_t inner = 0;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "mamba_d_ssm", &inner, &has));
    const uint64_t want = has      ? inner
                          : scales ? (uint64_t)expand * h->cfg->hidden_size
                                   : (uint64_t)r->n_heads * r->value_dim;
    if ((uint64_t)r->n_heads * r->value_dim != want)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: %s %u times %s %u is not the inner size %llu",
                       qr_hf_name(h, "mamba_n_heads"), r->n_heads, qr_hf_name(h, "mamba_d_head"),
                       r->value_dim, (unsigned long long)want);
    return QUIRE_OK;
}

/* Every time step limit is an interval without effect: softplus is not negative. */
static quire_status check_limits(const struct qr_hf_source *h)
{
    const struct qr_json *list = qr_hf_json(h, "time_step_limit");
    double low = 0;
    if (!qr_json_is_array(list))
        return QUIRE_OK;
    /* Infinity: a literal, which is read as null, or an object of newer writers */
    const struct qr_json *top = qr_json_at(list, 1);
    const char *text = qr_json_string(qr_json_get(top, "__float__"));
    const bool open = qr_json_is_null(top) || (text && strcmp(text, "Infinity") == 0);
    if (qr_json_size(list) == 2 && qr_json_is_f64(qr_json_at(list, 0), &low) && low == 0 && open)
        return QUIRE_OK;
    return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                   "config.json: %s other than 0 to Infinity is not supported",
                   qr_hf_name(h, "time_step_limit"));
}

static quire_status read_mamba2(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    uint32_t expand = 2;
    bool scales;
    QR_TRY(qr_hf_u32(h, "mamba_n_heads", &r->n_heads));
    QR_TRY(qr_hf_u32(h, "mamba_d_state", &r->key_dim));
    QR_TRY(qr_hf_u32(h, "mamba_n_groups", &r->n_key_heads));
    QR_TRY(qr_hf_u32(h, "mamba_d_conv", &r->conv_taps));
    QR_TRY(qr_hf_u32_opt(h, "mamba_expand", &expand, &scales));
    if (r->n_heads)
        r->value_dim = (uint32_t)((uint64_t)expand * h->cfg->hidden_size / r->n_heads);
    QR_TRY(read_auto(h, "mamba_d_head", &r->value_dim));
    QR_TRY(check_limits(h));
    return check_inner(h, scales, expand);
}

static quire_status read_mamba1(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    uint32_t expand = 2;
    bool has;
    QR_TRY(qr_hf_u32(h, "mamba_d_state", &r->key_dim));
    QR_TRY(qr_hf_u32(h, "mamba_d_conv", &r->conv_taps));
    QR_TRY(qr_hf_u32_opt(h, "mamba_expand", &expand, &has));
    const uint64_t inner = (uint64_t)expand * h->cfg->hidden_size;
    r->n_heads = inner > UINT32_MAX ? UINT32_MAX : (uint32_t)inner;
    QR_TRY(qr_hf_u32_opt(h, "mamba_inner", &r->n_heads, &has)); /* by way of aliases */
    if (has && r->n_heads != inner)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: intermediate_size %u is not expand %u times hidden_size %u",
                       r->n_heads, expand, h->cfg->hidden_size);
    r->value_dim = r->n_key_heads = 1;
    r->dt_rank = (h->cfg->hidden_size + 15) / 16;
    return read_auto(h, "mamba_dt_rank", &r->dt_rank);
}

/* PLaMo 2: heads of the same size as those of attention. */
static quire_status read_mamba_mix(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    QR_TRY(qr_hf_u32(h, "mamba_n_heads", &r->n_heads));
    QR_TRY(qr_hf_u32(h, "mamba_d_state", &r->key_dim));
    QR_TRY(qr_hf_u32(h, "mamba_d_conv", &r->conv_taps));
    r->n_key_heads = 1;
    r->value_dim = h->cfg->head_dim;
    r->dt_rank = qr_recurrent_mix_rank(h->cfg->hidden_size);
    return QUIRE_OK;
}

static quire_status read_delta(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    bool negative = false;
    QR_TRY(qr_hf_u32(h, "linear_num_value_heads", &r->n_heads));
    QR_TRY(qr_hf_u32(h, "linear_num_key_heads", &r->n_key_heads));
    QR_TRY(qr_hf_u32(h, "linear_key_head_dim", &r->key_dim));
    QR_TRY(qr_hf_u32(h, "linear_value_head_dim", &r->value_dim));
    QR_TRY(qr_hf_u32(h, "linear_conv_kernel_dim", &r->conv_taps));
    QR_TRY(qr_hf_bool(h, "linear_allow_neg_eigval", false, &negative));
    r->beta_scale = negative ? 2 : 1;
    return QUIRE_OK;
}

/* kda_lower_bound: of log decays. Implementations differ about a bound without kda_safe_gate. */
static quire_status read_decay_bound(const struct qr_hf_source *h)
{
    bool bounded, safe;
    double bound = 0;
    QR_TRY(qr_hf_f64_opt(h, "kda_lower_bound", &bound, &bounded)); /* null: none */
    QR_TRY(qr_hf_bool(h, "kda_safe_gate", bounded, &safe));
    if (safe != bounded)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: kda_safe_gate is %s, %s kda_lower_bound",
                       safe ? "true" : "false", bounded ? "with a" : "without");
    h->cfg->recurrent.decay_bound = (float)bound;
    return QUIRE_OK;
}

/* KDA: queries, keys and values have the same heads, by default those of attention. */
static quire_status read_kda(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    QR_TRY(read_decay_bound(h));
    QR_TRY(qr_hf_u32(h, "linear_num_heads", &r->n_heads));
    QR_TRY(qr_hf_u32(h, "linear_head_dim", &r->key_dim));
    QR_TRY(qr_hf_u32(h, "linear_conv_kernel_dim", &r->conv_taps));
    r->n_key_heads = r->n_heads;
    r->value_dim = r->key_dim;
    return QUIRE_OK;
}

/* RWKV-4: channels, and the sizes of the feed-forward networks. */
static quire_status read_wkv(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    uint32_t ffn = 0;
    bool has;
    r->n_heads = h->cfg->hidden_size;
    QR_TRY(qr_hf_u32_opt(h, "attention_hidden_size", &r->n_heads, &has));
    QR_TRY(qr_hf_u32_opt(h, "intermediate_size", &ffn, &has));
    if (!has && h->cfg->hidden_size <= QR_CONFIG_MAX_HIDDEN)
        ffn = h->arch->hf_ffn_multiplier * h->cfg->hidden_size;
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].ffn_size = ffn;
    r->n_key_heads = r->n_heads;
    r->key_dim = r->value_dim = 1;
    return QUIRE_OK;
}

/* Heads of RWKV-6 and RWKV-7. */
static quire_status read_wkv_heads(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    QR_TRY(qr_hf_u32(h, "head_dim", &r->key_dim));
    if (r->key_dim == 0 || h->cfg->hidden_size % r->key_dim != 0)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: hidden_size %u is not a multiple of %s %u",
                       h->cfg->hidden_size, qr_hf_name(h, "head_dim"), r->key_dim);
    r->value_dim = r->key_dim;
    r->n_heads = r->n_key_heads = h->cfg->hidden_size / r->key_dim;
    return QUIRE_OK;
}

/* RWKV-6: heads, and ranks and feed-forward sizes, which follow from the hidden size. */
static quire_status read_wkv6(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    const uint32_t hidden = h->cfg->hidden_size;
    uint32_t width = hidden, ffn, divisor;
    bool has;
    QR_TRY(read_wkv_heads(h));
    QR_TRY(qr_hf_u32_opt(h, "attention_hidden_size", &width, &has)); /* null: hidden_size */
    if (width != hidden)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: attention_hidden_size %u in a hidden size of %u", width,
                       hidden);
    ffn = hidden <= QR_CONFIG_MAX_HIDDEN ? 7 * hidden / 2 / 32 * 32 : 0;
    QR_TRY(qr_hf_u32_opt(h, "intermediate_size", &ffn, &has));
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].ffn_size = ffn;
    r->mix_rank = hidden == 4096 ? 64 : 32;
    r->dt_rank = hidden == 4096 ? 128 : 64;
    QR_TRY(qr_hf_u32(h, "head_size_divisor", &divisor));
    r->norm_eps = (float)(1e-5 * divisor * divisor);
    return QUIRE_OK;
}

/* The ranks of RWKV-7, which follow from the hidden size where the file has none. */
static quire_status read_wkv7_ranks(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    const struct {
        const char *key;
        double exponent, factor;
        uint32_t *out;
    } ranks[] = { { "decay_low_rank_dim", 0.5, 1.8, &r->dt_rank },
                  { "a_low_rank_dim", 0.5, 1.8, &r->rate_rank },
                  { "v_low_rank_dim", 0.5, 1.3, &r->value_rank },
                  { "gate_low_rank_dim", 0.8, 0.6, &r->gate_rank } };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const double n = rint(pow(h->cfg->hidden_size, ranks[i].exponent) * ranks[i].factor / 32);
        bool has;
        *ranks[i].out = n > 1 ? 32 * (uint32_t)n : 32;
        QR_TRY(qr_hf_u32_opt(h, ranks[i].key, ranks[i].out, &has));
    }
    return QUIRE_OK;
}

/* RWKV-7: heads, ranks, and the sizes of the feed-forward networks. */
static quire_status read_wkv7(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    uint32_t ffn = 0, heads;
    bool has;
    QR_TRY(read_wkv_heads(h));
    heads = r->n_heads;
    QR_TRY(qr_hf_u32_opt(h, "num_heads", &heads, &has));
    if (heads != r->n_heads)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: %u heads of %u in a hidden size of %u", heads, r->key_dim,
                       h->cfg->hidden_size);
    QR_TRY(qr_hf_u32_opt(h, "intermediate_size", &ffn, &has));
    if (!has && h->cfg->hidden_size <= QR_CONFIG_MAX_HIDDEN)
        ffn = h->arch->hf_ffn_multiplier * h->cfg->hidden_size;
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].ffn_size = ffn;
    r->norm_eps = (float)r->key_dim * h->cfg->norm_eps;
    return read_wkv7_ranks(h);
}

/* RG-LRU: the gates are block-diagonal, with a block per attention head. */
static quire_status read_rg_lru(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    uint32_t width = h->cfg->hidden_size;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "lru_width", &width, &has)); /* null: hidden_size */
    QR_TRY(qr_hf_u32(h, "conv1d_width", &r->conv_taps));
    r->n_heads = h->cfg->layers[0].n_heads;
    if (r->n_heads == 0 || width % r->n_heads != 0)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: lru_width %u is not a multiple of num_attention_heads %u",
                       width, r->n_heads);
    r->n_key_heads = r->n_heads;
    r->key_dim = 1;
    r->value_dim = width / r->n_heads;
    return QUIRE_OK;
}

static quire_status read_kind(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    switch (r->kind) {
    case QR_RECURRENT_SHORT_CONV:
        r->n_heads = r->n_key_heads = h->cfg->hidden_size;
        r->key_dim = r->value_dim = 1;
        return qr_hf_u32(h, "conv_L_cache", &r->conv_taps);
    case QR_RECURRENT_MAMBA1:
        return read_mamba1(h);
    case QR_RECURRENT_MAMBA2:
        return read_mamba2(h);
    case QR_RECURRENT_MAMBA_MIX:
        return read_mamba_mix(h);
    case QR_RECURRENT_WKV:
        return read_wkv(h);
    case QR_RECURRENT_WKV6:
        return read_wkv6(h);
    case QR_RECURRENT_WKV7:
        return read_wkv7(h);
    case QR_RECURRENT_DELTA:
        return r->vector_decay ? read_kda(h) : read_delta(h);
    case QR_RECURRENT_RG_LRU:
        return read_rg_lru(h);
    default: /* lightning attention has the heads of the attention layers */
        r->n_heads = r->n_key_heads = h->cfg->layers[0].n_heads;
        r->key_dim = r->value_dim = h->cfg->head_dim;
        return QUIRE_OK;
    }
}

/* Falcon-H1: factors of the inputs and outputs of every part. */
static quire_status read_falcon_h1(const struct qr_hf_source *h)
{
    struct qr_model_config *c = h->cfg;
    struct qr_recurrent_config *r = &c->recurrent;
    double attention_in, attention_out, key, head, embedding, in, out, part;
    QR_TRY(qr_hf_f64(h, "attention_in_multiplier", &attention_in));
    QR_TRY(qr_hf_f64(h, "attention_out_multiplier", &attention_out));
    QR_TRY(qr_hf_f64(h, "key_multiplier", &key));
    QR_TRY(qr_hf_f64(h, "lm_head_multiplier", &head));
    QR_TRY(qr_hf_f64(h, "embedding_multiplier", &embedding));
    QR_TRY(qr_hf_f64(h, "ssm_in_multiplier", &in));
    QR_TRY(qr_hf_f64(h, "ssm_out_multiplier", &out));
    /* scores are products of two scaled inputs; rotation keeps factors */
    c->attention_scale *= (float)(attention_in * attention_in * key);
    c->attention_out_scale = (float)(attention_in * attention_out);
    c->logit_scale = (float)head;
    c->embedding_scale = (float)embedding;
    r->out_scale = (float)out;
    const struct qr_json *parts = qr_hf_json(h, "ssm_multipliers"),
                         *mlp = qr_hf_json(h, "mlp_multipliers");
    for (size_t i = 0; i < 5; i++) {
        if (!qr_json_is_f64(qr_json_at(parts, i), &part))
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: ssm_multipliers must list 5 numbers");
        r->part_scales[i] = (float)(part * in);
    }
    for (size_t i = 0; i < 2; i++) {
        if (!qr_json_is_f64(qr_json_at(mlp, i), &part))
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: mlp_multipliers must list 2 numbers");
        *(i ? &c->ffn_out_scale : &c->ffn_gate_scale) = (float)part;
    }
    return QUIRE_OK;
}

/* MiniMax: factors of the residual stream and of each sublayer. */
static quire_status read_minimax(const struct qr_hf_source *h)
{
    static const char *const alpha[] = { "full_attn_alpha_factor", "linear_attn_alpha_factor",
                                         "mlp_alpha_factor" },
                             *const beta[] = { "full_attn_beta_factor", "linear_attn_beta_factor",
                                               "mlp_beta_factor" };
    for (size_t i = 0; i < 3; i++) {
        double a, b;
        QR_TRY(qr_hf_f64(h, alpha[i], &a));
        QR_TRY(qr_hf_f64(h, beta[i], &b));
        h->cfg->norm_alpha[i] = (float)a;
        h->cfg->norm_beta[i] = (float)b;
    }
    return QUIRE_OK;
}

/* output_gate_type: the activation function of the output gate; null: the model's. */
static quire_status read_output_gate(const struct qr_hf_source *h)
{
    const char *type = h->cfg->activation == QR_ACT_SILU ? "silu" : "of hidden_act";
    QR_TRY(qr_hf_str(h, "output_gate_type", &type));
    h->cfg->recurrent.sigmoid_gate = strcmp(type, "sigmoid") == 0;
    return h->cfg->recurrent.sigmoid_gate || strcmp(type, "silu") == 0
               ? QUIRE_OK
               : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                         "config.json: output_gate_type %.60s is not supported", type);
}

/* Output norms and gates, which follow from the sizes and the family. */
static quire_status read_output(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    bool norm = true, before = false;
    if (h->arch->hf_output_gate)
        return read_output_gate(h);
    if (!h->arch->hf_falcon_h1)
        return QUIRE_OK;
    QR_TRY(qr_hf_bool(h, "mamba_rms_norm", true, &norm));
    QR_TRY(qr_hf_bool(h, "mamba_norm_before_gate", false, &before));
    r->output = !norm    ? QR_RECURRENT_OUT_GATED
                : before ? QR_RECURRENT_OUT_NORM_GATE
                         : QR_RECURRENT_OUT_GATE_NORM;
    return QUIRE_OK;
}

quire_status qr_hf_read_recurrent(const struct qr_hf_source *h)
{
    struct qr_recurrent_config *r = &h->cfg->recurrent;
    double eps = (double)h->cfg->norm_eps;
    bool has;
    if (!h->arch->recurrent)
        return QUIRE_OK;
    r->log_decay = true;
    QR_TRY(read_kind(h));
    QR_TRY(read_output(h));
    if (r->dt_norms) {
        QR_TRY(qr_hf_f64_opt(h, "mixer_rms_eps", &eps, &has));
        r->dt_norm_eps = (float)eps;
    }
    if (r->kind == QR_RECURRENT_MAMBA1 || r->kind == QR_RECURRENT_MAMBA2)
        QR_TRY(qr_hf_bool(h, "mamba_conv_bias", true, &r->conv_bias));
    if (h->arch->hf_falcon_h1)
        QR_TRY(read_falcon_h1(h));
    return h->arch->hf_minimax ? read_minimax(h) : QUIRE_OK;
}
