/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - the parts of a model configuration that do not depend on the file format. */
#include "model/config/config.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include <math.h>
#include <quire/model.h>
#include <stdio.h>
#include <string.h>

void qr_model_config_init(struct qr_model_config *cfg, const struct qr_arch *arch)
{
    snprintf(cfg->arch, sizeof cfg->arch, "%s", arch->name);
    cfg->kind = arch->kind;
    cfg->causal = arch->kind != QR_MODEL_ENCODER;
    cfg->block = arch->block;
    cfg->activation = arch->activation;
    cfg->ffn_gated = arch->gated;
    cfg->qk_norm = arch->qk_norm;
    cfg->qk_norm_after_rope = arch->qk_norm_after_rope;
    cfg->v_norm = arch->v_norm;
    cfg->sub_norms = arch->sub_norms;
    cfg->layer_scale = arch->layer_scale;
    cfg->gains = arch->gains;
    cfg->embedding_scale = cfg->logit_scale = cfg->residual_scale = cfg->alibi_scale = 1;
    cfg->learned_positions = arch->learned_positions;
    cfg->position_offset = arch->position_offset;
    cfg->embedding_norm = arch->embedding_norm;
    cfg->embedding_norm_plain = arch->embedding_norm_plain;
    cfg->post_norm_eps = arch->post_norm_eps;
    cfg->head_dense = arch->head_dense;
    cfg->encoder_embedding = arch->encoder_embedding;
    cfg->attention_gate = arch->attention_gate;
    cfg->gate_softplus = arch->gate_softplus;
    cfg->differential = arch->differential;
    cfg->key_bias = arch->key_bias;
    cfg->residual_weights = arch->residual_weights || arch->residual_affine;
    cfg->residual_affine = arch->residual_affine;
    cfg->embedding_affine = arch->embedding_affine;
    cfg->attention_out_scale = cfg->ffn_gate_scale = cfg->ffn_out_scale = 1;
    if (arch->recurrent)
        cfg->recurrent = arch->recurrent->config;
    cfg->recurrent.out_scale = cfg->recurrent.beta_scale = 1;
    for (size_t i = 0; i < 5; i++)
        cfg->recurrent.part_scales[i] = 1;
    cfg->act_alpha = arch->act_alpha;
    cfg->act_limit = arch->act_limit;
    cfg->moe = arch->moe;
    cfg->mla.latent_scale = 1;
    cfg->index = arch->index;
    cfg->index.block_size = 1;
    cfg->moe.n_groups = cfg->moe.topk_groups = 1;
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
        cfg->name[i] = (uint8_t)name[i] < 0x20 || name[i] == 0x7f ? ' ' : name[i];
    cfg->name[n] = 0;
}

quire_status qr_model_config_set_mla(struct qr_model_config *cfg, uint32_t nope, uint32_t rope,
                                     struct quire_error *err)
{
    if (nope > QR_CONFIG_MAX_HEAD_DIM || rope > QR_CONFIG_MAX_HEAD_DIM)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: heads of %u plain and %u rotary dimensions", nope, rope);
    if (cfg->mla.kv_lora_rank == 0)
        return qr_fail(err, QUIRE_E_FORMAT, "model config: kv_lora_rank is 0");
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
    const uint32_t min = cfg->kind == QR_MODEL_ENCODER_DECODER;
    if (cfg->n_encoder_layers < min || cfg->n_encoder_layers > QR_CONFIG_MAX_LAYERS)
        return qr_fail(err, QUIRE_E_FORMAT, "number of encoder layers is %u, %u to %d allowed",
                       cfg->n_encoder_layers, min, QR_CONFIG_MAX_LAYERS);
    const uint32_t n = qr_model_total_layers(cfg);
    cfg->layers = qr_arena_alloc(&cfg->memory, n, sizeof *cfg->layers);
    if (!cfg->layers)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u layers", n);
    for (uint32_t i = 0; i < n; i++)
        cfg->layers[i] = (struct qr_layer_config){ .n_heads = heads,
                                                   .n_kv_heads = kv_heads,
                                                   .ffn_size = ffn,
                                                   .kv_source = i,
                                                   .rope = QR_LAYER_NO_ROPE,
                                                   .encoder = i >= cfg->n_layers };
    return QUIRE_OK;
}

quire_status qr_model_config_check_dense(const struct qr_model_config *cfg, uint32_t i,
                                         struct quire_error *err)
{
    const struct qr_dense_config *d = &cfg->dense[i];
    const uint32_t width = i ? cfg->dense[i - 1].out : cfg->hidden_size;
    if (d->in != width || d->out == 0 || d->out > QR_CONFIG_MAX_HIDDEN)
        return qr_fail(
            err, QUIRE_E_FORMAT,
            "dense layer %u behind the pooling has %u inputs and %u outputs, %u and 1 to "
            "%d are allowed",
            i, d->in, d->out, width, QR_CONFIG_MAX_HIDDEN);
    return QUIRE_OK;
}

quire_status qr_model_config_share_kv(struct qr_model_config *cfg, uint32_t n,
                                      struct quire_error *err)
{
    if (n >= cfg->n_layers)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u of %u layers have no keys and values of their own", n,
                       cfg->n_layers);
    const uint32_t first = cfg->n_layers - n;
    for (uint32_t i = first; i < cfg->n_layers; i++) {
        uint32_t source = first;
        while (source > 0 && cfg->layers[source - 1].window != cfg->layers[i].window)
            source--;
        if (source == 0)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "model config: no layer before %u has the keys and values of layer %u",
                           first, i);
        cfg->layers[i].kv_source = source - 1;
        cfg->layers[i].v_is_k = false;
    }
    return QUIRE_OK;
}

void qr_model_config_use_kv_of_base(struct qr_model_config *cfg)
{
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        cfg->layers[i].kv_source = QR_KV_OF_BASE;
        cfg->layers[i].v_is_k = false;
    }
}

void qr_model_config_set_ropes(struct qr_model_config *cfg, const struct qr_arch *arch,
                               bool has_window)
{
    const bool only = arch->rope_in_windows_only && (has_window || !arch->rope_without_windows);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        l->rope = cfg->n_rope == 2 && l->window ? 1 : 0;
        if (cfg->n_rope == 0 || (only && !l->window))
            l->rope = QR_LAYER_NO_ROPE;
    }
}

void qr_model_config_rope_dense_lead(struct qr_model_config *cfg)
{
    for (uint32_t i = 0; i < cfg->n_layers && !cfg->layers[i].moe; i++)
        if (cfg->layers[i].rope == QR_LAYER_NO_ROPE)
            cfg->layers[i].rope = 0;
}

bool qr_model_has_shortcuts(const struct qr_model_config *cfg)
{
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        if (cfg->layers[i].shortcut)
            return true;
    return false;
}

void qr_model_config_set_beside(struct qr_model_config *cfg, const struct qr_arch *arch)
{
    for (uint32_t i = 0; arch->beside_hidden && cfg->moe.beside_dense && i < cfg->n_layers; i++)
        if (cfg->layers[i].moe)
            cfg->layers[i].ffn_size = cfg->hidden_size;
}

bool qr_model_has_experts(const struct qr_model_config *cfg)
{
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        if (cfg->layers[i].moe)
            return true;
    return false;
}

bool qr_model_has_sparse_gates(const struct qr_model_config *cfg)
{
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        if (cfg->layers[i].sparse_gate)
            return true;
    return false;
}

uint64_t qr_recurrent_key_width(const struct qr_recurrent_config *r)
{
    if (r->kind == QR_RECURRENT_SHORT_CONV) /* q and k gate the channels */
        return r->n_heads;
    if (qr_recurrent_reads_channels(r) || r->kind == QR_RECURRENT_RG_LRU)
        return 0;
    return (uint64_t)r->n_key_heads * r->key_dim;
}

uint64_t qr_recurrent_value_width(const struct qr_recurrent_config *r)
{
    return (uint64_t)r->n_heads * r->value_dim;
}

uint64_t qr_recurrent_conv_width(const struct qr_recurrent_config *r)
{
    if (!r->conv_taps)
        return 0;
    return qr_recurrent_value_width(r) +
           (r->kind == QR_RECURRENT_SHORT_CONV ? 0 : 2 * qr_recurrent_key_width(r));
}

uint64_t qr_recurrent_dt_width(const struct qr_recurrent_config *r)
{
    switch (r->kind) {
    case QR_RECURRENT_MAMBA1:
    case QR_RECURRENT_MAMBA2:
    case QR_RECURRENT_MAMBA_MIX:
        return r->n_heads;
    case QR_RECURRENT_RG_LRU:
        return qr_recurrent_value_width(r);
    case QR_RECURRENT_DELTA:
    case QR_RECURRENT_WKV6:
    case QR_RECURRENT_WKV7:
        return r->vector_decay ? (uint64_t)r->n_heads * r->key_dim : r->n_heads;
    default:
        return 0;
    }
}

static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Sizes of the output norm and of the low-rank projections. */
static void finish_recurrent(struct qr_model_config *cfg, const struct qr_recurrent_arch *arch)
{
    struct qr_recurrent_config *r = &cfg->recurrent;
    const uint64_t values = qr_recurrent_value_width(r);
    if (arch->low_rank_gate)
        r->dt_rank = r->gate_rank = r->value_dim;
    r->norm_per_head = arch->head_norm;
    const bool head_norms = r->kind == QR_RECURRENT_WKV6 || r->kind == QR_RECURRENT_WKV7;
    r->norm_dim = arch->head_norm || head_norms          ? r->value_dim
                  : arch->grouped_norm && r->n_key_heads ? (uint32_t)(values / r->n_key_heads)
                                                         : (uint32_t)values;
    if (r->norm_eps == 0)
        r->norm_eps = cfg->norm_eps;
}

/* Head sizes: those of the model in layers that have none of their own. */
static void finish_heads(struct qr_model_config *cfg)
{
    for (uint32_t i = 0; i < qr_model_total_layers(cfg); i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        l->head_dim = l->head_dim ? l->head_dim : cfg->head_dim;
        l->v_head_dim = l->v_head_dim ? l->v_head_dim : cfg->v_head_dim;
    }
    for (uint32_t i = 0; i < qr_model_total_layers(cfg); i++) {
        const struct qr_layer_config *l = &cfg->layers[i];
        if (!qr_layer_attends(l))
            continue;
        cfg->head_dim = max_u32(cfg->head_dim, l->head_dim);
        cfg->v_head_dim = max_u32(cfg->v_head_dim, l->v_head_dim);
        cfg->max_heads = max_u32(cfg->max_heads, l->n_heads);
        cfg->max_kv_heads = max_u32(cfg->max_kv_heads, l->n_kv_heads);
    }
}

/* The nearest bf16 value of a positive finite number, ties to even. */
static float round_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void qr_model_config_finish(struct qr_model_config *cfg, const struct qr_arch *arch)
{
    if (arch->scaled_embedding)
        cfg->embedding_scale = sqrtf((float)cfg->hidden_size);
    if (arch->bf16_embedding_scale)
        cfg->embedding_scale = round_bf16(cfg->embedding_scale);
    /* a model of a decoder family that was trained with bidirectional attention */
    if (cfg->kind == QR_MODEL_DECODER && !cfg->causal)
        cfg->kind = QR_MODEL_ENCODER;
    cfg->layers[0].skip_attn_norm = arch->skip_first_attn_norm;
    if (arch->recurrent)
        finish_recurrent(cfg, arch->recurrent);
    finish_heads(cfg);
    for (uint32_t i = 0; i < qr_model_total_layers(cfg); i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        l->sinks = qr_layer_attends(l) && (l->sinks || arch->sinks);
        if (l->moe) /* never without a feed-forward sublayer */
            cfg->max_ffn_size = max_u32(cfg->max_ffn_size, cfg->moe.shared_ffn_size);
        if (qr_layer_has_dense(cfg, l))
            cfg->max_ffn_size = max_u32(cfg->max_ffn_size, l->ffn_size);
    }
}

void qr_model_config_free(struct qr_model_config *cfg)
{
    qr_arena_free(&cfg->memory);
    *cfg = (struct qr_model_config){ 0 };
}
