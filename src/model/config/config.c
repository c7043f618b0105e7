/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - parts of a model description that do not depend on the file format, and the semantic validator. */
#include "base/error.h"
#include "model/config/config_internal.h"
#include <math.h>
#include <quire/model.h>
#include <stdio.h>

void qr_model_config_init(struct qr_model_config *cfg, const struct qr_arch *arch)
{
    snprintf(cfg->arch, sizeof cfg->arch, "%s", arch->name);
    cfg->kind = arch->kind;
    cfg->causal = arch->kind != QR_MODEL_ENCODER;
    cfg->block = arch->block;
    cfg->activation = arch->activation;
    cfg->ffn_gated = arch->gated;
    cfg->qk_norm = arch->qk_norm;
    cfg->embedding_scale = cfg->logit_scale = cfg->residual_scale = cfg->alibi_scale = 1;
    cfg->learned_positions = arch->learned_positions;
    cfg->position_offset = arch->position_offset;
    cfg->embedding_norm = arch->embedding_norm;
    cfg->sinks = arch->sinks;
    cfg->act_alpha = arch->act_alpha;
    cfg->act_limit = arch->act_limit;
    cfg->moe = arch->moe;
    cfg->moe.n_groups = cfg->moe.n_groups_used = 1;
    cfg->moe.weights_scale = 1;
    cfg->pooling = QUIRE_POOLING_MEAN;
    cfg->bos_id = cfg->pad_id = cfg->decoder_start_id = -1;
}

void qr_model_config_set_name(struct qr_model_config *cfg, const char *name, size_t len)
{
    size_t n = len < sizeof cfg->name ? len : sizeof cfg->name - 1;
    while (n > 0 && n < len && ((uint8_t)name[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)name[i] < 0x20 || name[i] == 0x7f)
            cfg->name[i] = ' ';
        else
            cfg->name[i] = name[i];
    cfg->name[n] = 0;
}

quire_status qr_model_config_set_latent(struct qr_model_config *cfg, uint32_t nope, uint32_t rope,
                                        struct quire_error *err)
{
    if (nope > QR_CONFIG_MAX_HEAD_DIM || rope > QR_CONFIG_MAX_HEAD_DIM)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model description: heads of %u plain and %u rotary dimensions", nope, rope);
    if (cfg->mla.kv_lora_rank == 0)
        return qr_fail(err, QUIRE_E_FORMAT, "model description: kv_lora_rank is 0");
    cfg->mla.qk_nope_dim = nope;
    cfg->mla.qk_rope_dim = rope;
    cfg->head_dim = nope + rope;
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        cfg->layers[i].n_kv_heads = 1;
    return QUIRE_OK;
}

quire_status qr_model_config_add_layers(struct qr_model_config *cfg, uint32_t heads,
                                        uint32_t kv_heads, uint32_t ffn, struct quire_error *err)
{
    if (cfg->n_layers < 1 || cfg->n_layers > QR_CONFIG_MAX_LAYERS)
        return qr_fail(err, QUIRE_E_FORMAT, "number of layers is %u, 1 to %d allowed",
                       cfg->n_layers, QR_CONFIG_MAX_LAYERS);
    const uint32_t least = cfg->kind == QR_MODEL_ENCODER_DECODER;
    if (cfg->n_encoder_layers < least || cfg->n_encoder_layers > QR_CONFIG_MAX_LAYERS)
        return qr_fail(err, QUIRE_E_FORMAT, "number of encoder layers is %u, %u to %d allowed",
                       cfg->n_encoder_layers, least, QR_CONFIG_MAX_LAYERS);
    const uint32_t n = qr_model_all_layers(cfg);
    cfg->layers = qr_arena_alloc(&cfg->memory, n, sizeof *cfg->layers);
    if (!cfg->layers)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u layers", n);
    for (uint32_t i = 0; i < n; i++)
        cfg->layers[i] = (struct qr_layer_config){ .n_heads = heads,
                                                   .n_kv_heads = kv_heads,
                                                   .ffn_size = ffn,
                                                   .rope = QR_LAYER_NO_ROPE,
                                                   .encoder = i >= cfg->n_layers };
    return QUIRE_OK;
}

uint8_t qr_layer_rope(const struct qr_model_config *cfg, const struct qr_arch *arch, bool windowed)
{
    if (cfg->n_rope == 0 || (arch->rope_in_windows_only && !windowed))
        return QR_LAYER_NO_ROPE;
    return cfg->n_rope == 2 && windowed ? 1 : 0;
}

bool qr_model_has_experts(const struct qr_model_config *cfg)
{
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        if (cfg->layers[i].moe)
            return true;
    return false;
}

static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

void qr_model_config_finish(struct qr_model_config *cfg, const struct qr_arch *arch)
{
    if (arch->scaled_embedding)
        cfg->embedding_scale = sqrtf((float)cfg->hidden_size);
    if (cfg->kind == QR_MODEL_DECODER &&
        !cfg->causal) /* a family of decoders, trained to see both ways */
        cfg->kind = QR_MODEL_ENCODER;
    cfg->layers[0].bare_input = arch->bare_first_layer;
    for (uint32_t i = 0; i < qr_model_all_layers(cfg); i++) {
        const struct qr_layer_config *l = &cfg->layers[i];
        cfg->max_heads = max_u32(cfg->max_heads, l->n_heads);
        cfg->max_kv_heads = max_u32(cfg->max_kv_heads, l->n_kv_heads);
        cfg->max_ffn_size =
            max_u32(cfg->max_ffn_size, l->moe ? cfg->moe.shared_ffn_size : l->ffn_size);
    }
}

void qr_model_config_free(struct qr_model_config *cfg)
{
    qr_arena_free(&cfg->memory);
    *cfg = (struct qr_model_config){ 0 };
}

/* ---- The validator. Names are those of the description; they are close to both file formats'. */

static quire_status in_range(const char *name, uint64_t v, uint64_t min, uint64_t max,
                             struct quire_error *err)
{
    if (v >= min && v <= max)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "model description: %s is %llu, %llu to %llu allowed", name,
                   (unsigned long long)v, (unsigned long long)min, (unsigned long long)max);
}

static quire_status real_range(const char *name, double v, double min, double max,
                               struct quire_error *err)
{
    if (v >= min && v <= max) /* false for NaN */
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "model description: %s is %g, %g to %g allowed", name, v,
                   min, max);
}

static quire_status check_sizes(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(in_range("number of layers", c->n_layers, 1, QR_CONFIG_MAX_LAYERS, err));
    QR_TRY(in_range("hidden size", c->hidden_size, 1, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("vocabulary size", c->vocab_size, 1, QR_CONFIG_MAX_VOCAB, err));
    QR_TRY(in_range("context length", c->context_length, 1, QR_CONFIG_MAX_CONTEXT, err));
    QR_TRY(in_range("head_dim", c->head_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    return in_range("v_head_dim", c->v_head_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err);
}

static quire_status check_layer(const struct qr_model_config *c, uint32_t i,
                                struct quire_error *err)
{
    const struct qr_layer_config *l = &c->layers[i];
    QR_TRY(in_range("number of attention heads", l->n_heads, 1, QR_CONFIG_MAX_HEADS, err));
    QR_TRY(in_range("number of key-value heads", l->n_kv_heads, 1, QR_CONFIG_MAX_HEADS, err));
    QR_TRY(in_range("feed-forward size", l->ffn_size, 1, QR_CONFIG_MAX_FFN, err));
    QR_TRY(in_range("sliding window", l->window, 0, QR_CONFIG_MAX_CONTEXT, err));
    if (l->n_heads % l->n_kv_heads != 0)
        return qr_fail(
            err, QUIRE_E_FORMAT,
            "model description: layer %u has %u heads, not a multiple of its %u kv heads", i,
            l->n_heads, l->n_kv_heads);
    if (l->rope != QR_LAYER_NO_ROPE && l->rope >= c->n_rope)
        return qr_fail(err, QUIRE_E_INTERNAL, "layer %u names rope set %u of %u", i, l->rope,
                       c->n_rope);
    return QUIRE_OK;
}

static quire_status check_latent(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_mla_config *m = &c->mla;
    if (!m->kv_lora_rank)
        return QUIRE_OK;
    QR_TRY(in_range("q_lora_rank", m->q_lora_rank, 0, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("qk_nope_head_dim", m->qk_nope_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    QR_TRY(in_range("qk_rope_head_dim", m->qk_rope_dim, 2, QR_CONFIG_MAX_HEAD_DIM - 1, err));
    QR_TRY(
        in_range("kv_lora_rank", m->kv_lora_rank, 1, QR_CONFIG_MAX_HEAD_DIM - m->qk_rope_dim, err));
    if (c->n_rope != 1 || c->rope[0].dim != m->qk_rope_dim)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model description: %u rotary dimensions, but qk_rope_head_dim is %u",
                       c->n_rope ? c->rope[0].dim : 0, m->qk_rope_dim);
    return QUIRE_OK;
}

static quire_status check_factors(const char *name, const float *f, uint32_t n,
                                  struct quire_error *err)
{
    for (uint32_t i = 0; f && i < n; i++)
        QR_TRY(real_range(name, f[i], 1e-6, 1e9, err));
    return QUIRE_OK;
}

static quire_status check_scaling(const struct qr_rope_config *r, struct quire_error *err)
{
    QR_TRY(real_range("rope factor", r->factor, 1e-3, 1e6, err));
    QR_TRY(real_range("rope attention factor", (double)r->cos_sin_scale, 1e-3, 1e3, err));
    QR_TRY(check_factors("rope short factor", r->factors_short, r->dim / 2, err));
    QR_TRY(check_factors("rope long factor", r->factors_long, r->dim / 2, err));
    const bool original =
        r->scaling == QR_ROPE_SCALING_LLAMA3 || r->scaling == QR_ROPE_SCALING_YARN ||
        r->scaling == QR_ROPE_SCALING_LONGROPE || r->scaling == QR_ROPE_SCALING_DYNAMIC;
    if (original)
        QR_TRY(in_range("original context length", r->original_context, 1, QR_CONFIG_MAX_CONTEXT,
                        err));
    if (r->scaling == QR_ROPE_SCALING_LLAMA3) {
        QR_TRY(real_range("low_freq_factor", r->low_freq_factor, 1e-3, 1e6, err));
        QR_TRY(real_range("high_freq_factor", r->high_freq_factor, 1e-3, 1e6, err));
        if (r->low_freq_factor == r->high_freq_factor)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "model description: low_freq_factor equals high_freq_factor");
    }
    if (r->scaling == QR_ROPE_SCALING_YARN) {
        QR_TRY(real_range("beta_fast", r->beta_fast, 1e-3, 1e6, err));
        QR_TRY(real_range("beta_slow", r->beta_slow, 1e-3, 1e6, err));
        if (r->theta <= 1)
            return qr_fail(err, QUIRE_E_FORMAT, "model description: yarn with a rope base of %g",
                           r->theta);
    }
    if (r->scaling == QR_ROPE_SCALING_DYNAMIC && r->dim <= 2)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model description: dynamic rope scaling with %u dimensions", r->dim);
    return QUIRE_OK;
}

static quire_status check_rope(const struct qr_model_config *c, const struct qr_rope_config *r,
                               struct quire_error *err)
{
    if (r->kind == QR_ROPE_NONE)
        return QUIRE_OK;
    QR_TRY(real_range("rope base", r->theta, 1e-3, 1e12, err));
    QR_TRY(in_range("rotary dimensions", r->dim, 2, c->head_dim, err));
    if (r->dim % 2 != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model description: %u rotary dimensions, an even number expected", r->dim);
    return check_scaling(r, err);
}

static quire_status check_numbers(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(real_range("norm epsilon", (double)c->norm_eps, 0, 1, err));
    QR_TRY(real_range("attention scale", (double)c->attention_scale, 1e-6, 1e6, err));
    QR_TRY(real_range("attention soft cap", (double)c->attention_softcap, 0, 1e6, err));
    QR_TRY(real_range("logit soft cap", (double)c->final_softcap, 0, 1e6, err));
    QR_TRY(real_range("logit scale", (double)c->logit_scale, -1e6, 1e6, err));
    QR_TRY(real_range("embedding scale", (double)c->embedding_scale, -1e6, 1e6, err));
    QR_TRY(real_range("residual scale", (double)c->residual_scale, -1e6, 1e6, err));
    QR_TRY(real_range("clip_qkv", (double)c->clip_qkv, 0, 1e6, err));
    QR_TRY(real_range("attention temperature floor", (double)c->temperature_floor, 0, 1e9, err));
    QR_TRY(real_range("attention temperature scale", (double)c->temperature_scale, 0, 1e6, err));
    if (c->activation == QR_ACT_SWIGLU_OAI) {
        QR_TRY(real_range("activation alpha", (double)c->act_alpha, 1e-3, 1e3, err));
        QR_TRY(real_range("activation limit", (double)c->act_limit, 1e-3, 1e6, err));
    }
    return real_range("maximal ALiBi bias", (double)c->alibi_max_bias, 0, 1e6, err);
}

static quire_status check_moe(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_moe_config *m = &c->moe;
    if (!qr_model_has_experts(c))
        return QUIRE_OK;
    QR_TRY(in_range("number of experts", m->n_experts, 1, QR_CONFIG_MAX_EXPERTS, err));
    QR_TRY(in_range("number of experts used", m->n_used, 1, m->n_experts, err));
    QR_TRY(in_range("expert feed-forward size", m->ffn_size, 1, QR_CONFIG_MAX_FFN, err));
    QR_TRY(in_range("shared feed-forward size", m->shared_ffn_size, 0, QR_CONFIG_MAX_FFN, err));
    QR_TRY(in_range("number of expert groups", m->n_groups, 1, m->n_experts, err));
    QR_TRY(in_range("number of expert groups used", m->n_groups_used, 1, m->n_groups, err));
    if (m->n_experts % m->n_groups != 0)
        return qr_fail(err, QUIRE_E_FORMAT, "model description: %u experts in %u groups",
                       m->n_experts, m->n_groups);
    if (m->n_experts / m->n_groups * (uint64_t)m->n_groups_used < m->n_used)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model description: %u experts used, but %u of %u groups hold fewer",
                       m->n_used, m->n_groups_used, m->n_groups);
    return real_range("expert weights scale", (double)m->weights_scale, 1e-6, 1e6, err);
}

static quire_status check_encoder(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(in_range("number of token types", c->n_token_types, 0, QR_CONFIG_MAX_TYPES, err));
    if (c->relative_buckets) { /* the first half are for one distance each */
        QR_TRY(in_range("relative attention buckets", c->relative_buckets, 4, QR_CONFIG_MAX_BUCKETS,
                        err));
        QR_TRY(in_range("relative attention distance", c->relative_distance,
                        c->relative_buckets / 2 + 1, QR_CONFIG_MAX_DISTANCE, err));
    }
    if (c->kind == QR_MODEL_ENCODER_DECODER && c->block != QR_BLOCK_PRE &&
        c->block != QR_BLOCK_POST)
        return qr_fail(err, QUIRE_E_INTERNAL, "blocks of kind %d have no cross attention",
                       (int)c->block);
    return QUIRE_OK;
}

static quire_status check_id(const struct qr_model_config *c, const char *name, int32_t id,
                             struct quire_error *err)
{
    if (id < -1 || id >= (int64_t)c->vocab_size)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model description: %s %d is outside the vocabulary of %u", name, id,
                       c->vocab_size);
    return QUIRE_OK;
}

quire_status qr_model_config_validate(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(check_sizes(c, err));
    QR_TRY(check_latent(c, err));
    for (uint32_t i = 0; i < qr_model_all_layers(c); i++)
        QR_TRY(check_layer(c, i, err));
    for (uint32_t i = 0; i < c->n_rope; i++)
        QR_TRY(check_rope(c, &c->rope[i], err));
    QR_TRY(check_numbers(c, err));
    QR_TRY(check_moe(c, err));
    QR_TRY(check_encoder(c, err));
    QR_TRY(check_id(c, "bos token id", c->bos_id, err));
    QR_TRY(check_id(c, "decoder start token id", c->decoder_start_id, err));
    for (uint32_t i = 0; i < c->n_eos; i++)
        QR_TRY(check_id(c, "eos token id", c->eos_ids[i], err));
    return QUIRE_OK;
}
