/* SPDX-License-Identifier: Apache-2.0 */
/* hf_family.c - options of config.json by which the models of a family differ. */
#include "model/config/hf_family.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include <math.h>
#include <string.h>

/* Rejects options that must have a fixed value in the family. */
static quire_status check_fixed(const struct qr_hf_source *h)
{
    for (const struct qr_hf_fixed_bool *o = h->arch->hf_fixed_bools; o && o->key; o++) {
        bool v;
        QR_TRY(qr_hf_bool(h, o->key, o->value, &v));
        if (v != o->value)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s = %s is not supported in family %s", o->key,
                           v ? "true" : "false", h->arch->name);
    }
    for (const struct qr_hf_fixed_string *o = h->arch->hf_fixed_strings; o && o->key; o++) {
        const char *text = o->text;
        QR_TRY(qr_hf_str(h, o->key, &text));
        if (strcmp(text, o->text) != 0)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s %.60s is not supported in family %s", o->key, text,
                           h->arch->name);
    }
    return QUIRE_OK;
}

static quire_status read_biases(const struct qr_hf_source *h)
{
    const struct qr_arch *arch = h->arch;
    struct qr_bias_config *b = &h->cfg->bias;
    bool all = false, attention = false, qkv = false, mlp = false;
    *b = arch->hf_bias;
    if (arch->hf_bias_key)
        QR_TRY(qr_hf_bool(h, arch->hf_bias_key, false, &all));
    if (arch->hf_qkv_bias_key)
        QR_TRY(qr_hf_bool(h, arch->hf_qkv_bias_key, false, &qkv));
    if (arch->hf_attention_bias)
        QR_TRY(qr_hf_bool(h, "attention_bias", false, &attention));
    if (arch->hf_mlp_bias)
        QR_TRY(qr_hf_bool(h, "mlp_bias", false, &mlp));
    if (arch->hf_norm_bias_key)
        QR_TRY(qr_hf_bool(h, arch->hf_norm_bias_key, false, &b->norm));
    if (arch->hf_output_bias_key)
        QR_TRY(qr_hf_bool(h, arch->hf_output_bias_key, false, &b->output));
    b->q = b->k = b->v = b->q || all || attention || qkv;
    b->o = b->o || all || attention;
    b->ffn_in = b->ffn_in || all || mlp;
    b->ffn_down = b->ffn_down || all || mlp;
    return QUIRE_OK;
}

/* In the older variants of Falcon multi_query decides the number of KV heads. */
static quire_status check_kv_heads(const struct qr_hf_source *h, uint32_t kv_heads)
{
    const struct qr_layer_config *l = &h->cfg->layers[0];
    return l->n_kv_heads == 1 || kv_heads == l->n_heads
               ? QUIRE_OK
               : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                         "config.json: num_kv_heads is %u and num_attention_heads %u, which needs "
                         "new_decoder_architecture",
                         kv_heads, l->n_heads);
}

/* Falcon has three variants: RW (sequential sublayers), 7B (parallel block, one norm, multi-query),
 * and the newer decoder architecture (parallel block with one or two norms, grouped-query). */
static quire_status read_falcon(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t kv_heads, norms = 2;
    bool new_decoder, has;
    QR_TRY(qr_hf_bool(h, "new_decoder_architecture", false, &new_decoder));
    QR_TRY(qr_hf_u32_opt(h, "num_kv_heads", &kv_heads, &has));
    if (!has)
        kv_heads = cfg->layers[0].n_heads;
    if (!new_decoder) {
        qr_hf_ignore(h, "num_ln_in_parallel_attn");
        return check_kv_heads(h, kv_heads);
    }
    qr_hf_ignore(h, "multi_query");
    qr_hf_ignore(h, "parallel_attn");
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        cfg->layers[i].n_kv_heads = kv_heads;
    QR_TRY(qr_hf_u32_opt(h, "num_ln_in_parallel_attn", &norms, &has));
    cfg->block = norms == 2 ? QR_BLOCK_PARALLEL_2NORM : QR_BLOCK_PARALLEL;
    return QUIRE_OK;
}

static quire_status read_block(const struct qr_hf_source *h)
{
    bool parallel = false;
    if (h->arch->hf_parallel_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_parallel_key, false, &parallel));
    if (parallel)
        h->cfg->block = h->arch->hf_parallel_block;
    return h->arch->hf_falcon ? read_falcon(h) : QUIRE_OK;
}

static quire_status read_alibi(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    bool in_use = true, has;
    double bias = h->arch->alibi_max_bias;
    if (bias == 0 || (h->arch->alibi_layers && cfg->n_layers != h->arch->alibi_layers))
        return QUIRE_OK;
    if (h->arch->hf_alibi_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_alibi_key, false, &in_use));
    if (!in_use)
        return QUIRE_OK;
    QR_TRY(qr_hf_f64_opt(h, "alibi_bias_max", &bias, &has));
    cfg->alibi_max_bias = (float)bias;
    cfg->alibi_scale = h->arch->alibi_scaled ? cfg->attention_scale : 1;
    if (h->arch->hf_alibi_twice_since) {
        uint32_t version;
        QR_TRY(qr_hf_writer_version(h, &version));
        cfg->alibi_scale *= version >= h->arch->hf_alibi_twice_since ? 2 : 1;
    }
    return QUIRE_OK;
}

static quire_status read_factor(const struct qr_hf_source *h, bool in_use, const char *key,
                                float *out)
{
    double v = (double)*out;
    bool has;
    if (in_use)
        QR_TRY(qr_hf_f64_opt(h, key, &v, &has));
    *out = (float)v;
    return QUIRE_OK;
}

static quire_status read_multipliers(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    const bool all = h->arch->hf_multipliers;
    float divisor = 1, query = 1;
    QR_TRY(read_factor(h, all, "embedding_multiplier", &cfg->embedding_scale));
    QR_TRY(read_factor(h, all, "attention_multiplier", &cfg->attention_scale));
    QR_TRY(read_factor(h, all, "residual_multiplier", &cfg->residual_scale));
    QR_TRY(read_factor(h, all, "logits_scaling", &divisor));
    QR_TRY(read_factor(h, h->arch->hf_logit_scale, "logit_scale", &cfg->logit_scale));
    cfg->logit_scale /= divisor;
    QR_TRY(read_factor(h, cfg->qk_norm == QR_QK_NORM_PLAIN, "qk_scale_factor", &query));
    cfg->attention_scale *= query; /* a factor of queries is one of scores */
    cfg->output_gain = cfg->gains;
    QR_TRY(read_factor(h, h->arch->hf_clip_qkv, "clip_qkv", &cfg->clip_qkv));
    /* attention is linear in the values: the factor of its output is that of the values */
    QR_TRY(read_factor(h, h->arch->hf_value_scale, "attention_value_scale",
                       &cfg->attention_out_scale));
    QR_TRY(read_factor(h, cfg->activation == QR_ACT_SWIGLU_OAI, "swiglu_alpha", &cfg->act_alpha));
    return read_factor(h, cfg->activation == QR_ACT_SWIGLU_OAI, "swiglu_limit", &cfg->act_limit);
}

/* MiniCPM: factors of embeddings and residuals, and the width at which logits have the factor 1. */
static quire_status read_minicpm(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    double depth, width;
    if (!h->arch->hf_minicpm)
        return QUIRE_OK;
    QR_TRY(read_factor(h, true, "scale_emb", &cfg->embedding_scale));
    QR_TRY(qr_hf_f64(h, "scale_depth", &depth));
    QR_TRY(qr_hf_f64(h, "dim_model_base", &width));
    cfg->residual_scale = (float)(depth / sqrt(cfg->n_layers));
    cfg->logit_scale = (float)(width / cfg->hidden_size);
    return QUIRE_OK;
}

/* Jais: scores are divided by the head dimension or by its root; a second factor of the logits. */
static quire_status read_jais(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    bool by_dim;
    float width = 1;
    if (!h->arch->scaled_by_dim)
        return QUIRE_OK;
    QR_TRY(qr_hf_bool(h, "scale_qk_dot_by_d", false, &by_dim));
    if (by_dim && cfg->head_dim)
        cfg->attention_scale = 1 / (float)cfg->head_dim;
    QR_TRY(read_factor(h, true, "mup_width_scale", &width));
    cfg->logit_scale *= width;
    return QUIRE_OK;
}

/* Attention temperature tuning: scales the queries of layers without RoPE by position. */
static quire_status read_temperature(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    bool in_use = false;
    if (h->arch->hf_temperature)
        QR_TRY(qr_hf_bool(h, "attn_temperature_tuning", true, &in_use));
    QR_TRY(read_factor(h, in_use, "floor_scale", &cfg->temperature_floor));
    return read_factor(h, in_use, "attn_scale", &cfg->temperature_scale);
}

/* Learned positions that start after the row of the padding token. The rows up to it count towards
 * max_position_embeddings. */
static quire_status read_positions(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t pad;
    if (!h->arch->hf_positions_after_pad)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32(h, "pad_token_id", &pad));
    if (cfg->context_length < 2 || pad > cfg->context_length - 2)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: pad_token_id %u leaves no position of %u", pad,
                       cfg->context_length);
    cfg->position_offset = pad + 1;
    cfg->context_length -= pad + 1;
    return QUIRE_OK;
}

/* word_embed_proj_dim (OPT): embeddings of another width than the model need a projection. */
static quire_status check_embedding_width(const struct qr_hf_source *h)
{
    static const char key[] = "word_embed_proj_dim";
    uint32_t width = h->cfg->hidden_size;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, key, &width, &has));
    return width == h->cfg->hidden_size
               ? QUIRE_OK
               : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                         "config.json: %s is %u and hidden_size %u; only equal sizes are supported",
                         key, width, h->cfg->hidden_size);
}

/* keep_window_size (Doge): queries that see more keys drop those with the lowest bias. */
static quire_status check_keep_window(const struct qr_hf_source *h)
{
    uint32_t keys = 2048;
    bool has;
    if (!h->arch->hf_keep_window)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32_opt(h, "keep_window_size", &keys, &has));
    return keys >= h->cfg->context_length
               ? QUIRE_OK
               : qr_fail(
                     h->err, QUIRE_E_UNSUPPORTED,
                     "config.json: keep_window_size is %u, max_position_embeddings %u; a choice "
                     "of keys is not supported",
                     keys, h->cfg->context_length);
}

static quire_status read_embedding_size(const struct qr_hf_source *h)
{
    const uint32_t hidden = h->cfg->hidden_size;
    uint32_t size = hidden;
    bool has;
    if (!h->arch->embedding_projection)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32_opt(h, "embedding_size", &size, &has));
    if (size == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: embedding_size is 0");
    if (size > hidden)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: embedding_size %u above hidden_size %u is not supported", size,
                       hidden);
    h->cfg->embedding_size = size < hidden ? size : 0;
    return QUIRE_OK;
}

/* Reads sizes of embeddings, token types, learned positions and the embedding scale. */
static quire_status read_embedding(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    bool scaled = false, has;
    if (h->arch->kind == QR_MODEL_ENCODER)
        QR_TRY(qr_hf_u32_opt(h, "type_vocab_size", &cfg->n_token_types, &has));
    if (h->arch->hf_embedding_scale_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_embedding_scale_key, false, &scaled));
    if (scaled)
        cfg->embedding_scale = sqrtf((float)cfg->hidden_size);
    QR_TRY(read_embedding_size(h));
    return read_positions(h);
}

static quire_status read_qk_norm(const struct qr_hf_source *h)
{
    bool in_use = true;
    if (h->arch->hf_qk_norm_key)
        QR_TRY(qr_hf_bool(h, h->arch->hf_qk_norm_key, true, &in_use));
    h->cfg->qk_norm = in_use ? h->arch->qk_norm : QR_QK_NORM_NONE;
    return QUIRE_OK;
}

quire_status qr_hf_read_family(const struct qr_hf_source *h)
{
    QR_TRY(check_fixed(h));
    QR_TRY(check_embedding_width(h));
    QR_TRY(check_keep_window(h));
    QR_TRY(read_biases(h));
    QR_TRY(read_block(h));
    QR_TRY(read_multipliers(h));
    QR_TRY(read_minicpm(h));
    QR_TRY(read_jais(h));
    QR_TRY(read_embedding(h));
    QR_TRY(read_alibi(h));
    QR_TRY(read_qk_norm(h));
    return read_temperature(h);
}
