/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - semantic validation of a model configuration. */
#include "model/config/validate.h"
#include "base/error.h"
#include "model/config/config.h"
#include "model/config/limits.h"
#include "model/config/mtp.h"

static quire_status in_range(const char *name, uint64_t v, uint64_t min, uint64_t max,
                             struct quire_error *err)
{
    if (v >= min && v <= max)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "model config: %s is %llu, %llu to %llu allowed", name,
                   (unsigned long long)v, (unsigned long long)min, (unsigned long long)max);
}

static quire_status f64_in_range(const char *name, double v, double min, double max,
                                 struct quire_error *err)
{
    if (v >= min && v <= max) /* false for NaN */
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "model config: %s is %g, %g to %g allowed", name, v, min,
                   max);
}

static bool any_attends(const struct qr_model_config *c)
{
    for (uint32_t i = 0; i < qr_model_total_layers(c); i++)
        if (qr_layer_attends(&c->layers[i]))
            return true;
    return false;
}

static quire_status check_sizes(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(in_range("number of layers", c->n_layers, 1, QR_CONFIG_MAX_LAYERS, err));
    QR_TRY(in_range("hidden size", c->hidden_size, 1, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("vocabulary size", c->vocab_size, 1, QR_CONFIG_MAX_VOCAB, err));
    QR_TRY(in_range("context length", c->context_length, 1, QR_CONFIG_MAX_CONTEXT, err));
    if (c->class_head != QR_CLASS_NONE)
        QR_TRY(in_range("number of labels", c->n_labels, 1, QR_CONFIG_MAX_LABELS, err));
    if (!any_attends(c))
        return QUIRE_OK;
    QR_TRY(in_range("head_dim", c->head_dim, 1,
                    QR_CONFIG_MAX_HEAD_DIM - (c->key_bias ? QR_KEY_BIAS_WIDTH : 0), err));
    return in_range("v_head_dim", c->v_head_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err);
}

/* A layer that reads keys and values of an earlier one must have its shape and window. Encoders
 * cache one layer at a time. */
static quire_status check_kv_source(const struct qr_model_config *c, uint32_t i,
                                    struct quire_error *err)
{
    const struct qr_layer_config *l = &c->layers[i];
    if (l->kv_source == i || (l->kv_source == QR_KV_OF_BASE && c->mtp.kind == QR_MTP_SHARED_KV))
        return QUIRE_OK;
    if (c->kind != QR_MODEL_DECODER)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "layers that share keys and values are supported in decoders only");
    if (c->mla.kv_lora_rank)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "layers that share keys and values with latent attention");
    const struct qr_layer_config *from = &c->layers[l->kv_source < i ? l->kv_source : 0];
    if (l->kv_source >= i || from->kv_source != l->kv_source || !qr_layer_attends(from) ||
        from->window != l->window || from->chunked != l->chunked ||
        from->n_kv_heads != l->n_kv_heads || from->head_dim != l->head_dim ||
        from->v_head_dim != l->v_head_dim)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: layer %u cannot use the keys and values of layer %u", i,
                       l->kv_source);
    return QUIRE_OK;
}

static quire_status check_layer(const struct qr_model_config *c, uint32_t i,
                                struct quire_error *err)
{
    const struct qr_layer_config *l = &c->layers[i];
    if (qr_layer_has_dense(c, l))
        QR_TRY(in_range("feed-forward size", l->ffn_size, 1, QR_CONFIG_MAX_FFN, err));
    QR_TRY(f64_in_range("activation limit of a layer", (double)l->ffn_limit, 0, 1e6, err));
    QR_TRY(f64_in_range("activation limit of experts", (double)l->expert_limit, 0, 1e6, err));
    if (!qr_layer_attends(l))
        return QUIRE_OK;
    QR_TRY(in_range("number of attention heads", l->n_heads, 1, QR_CONFIG_MAX_HEADS, err));
    QR_TRY(in_range("number of key-value heads", l->n_kv_heads, 1, QR_CONFIG_MAX_HEADS, err));
    QR_TRY(in_range("sliding window", l->window, 0, QR_CONFIG_MAX_CONTEXT, err));
    QR_TRY(in_range("head_dim of a layer", l->head_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    QR_TRY(in_range("v_head_dim of a layer", l->v_head_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    if (l->v_is_k && l->v_head_dim != l->head_dim)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: values of %u elements are keys of %u elements in layer %u",
                       l->v_head_dim, l->head_dim, i);
    if (c->tiled_heads && l->v_head_dim != l->head_dim)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "model config: values of %u elements, keys of %u, and tiled heads in layer "
                       "%u",
                       l->v_head_dim, l->head_dim, i);
    if (l->n_heads % l->n_kv_heads != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: layer %u has %u heads, not a multiple of its %u kv heads", i,
                       l->n_heads, l->n_kv_heads);
    if (c->differential && l->n_kv_heads % 2 != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: layer %u has %u kv heads, an even number expected", i,
                       l->n_kv_heads);
    if (l->rope != QR_LAYER_NO_ROPE && l->rope >= c->n_rope)
        return qr_fail(err, QUIRE_E_INTERNAL, "layer %u names RoPE set %u of %u", i, l->rope,
                       c->n_rope);
    if (l->rope != QR_LAYER_NO_ROPE && c->rope[l->rope].kind != QR_ROPE_NONE &&
        c->rope[l->rope].dim > l->head_dim)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u rotary dimensions in heads of %u in layer %u",
                       c->rope[l->rope].dim, l->head_dim, i);
    return check_kv_source(c, i, err);
}

/* Convolutional attention. */
static quire_status check_conv_attention(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_conv_attention_config *a = &c->conv_attention;
    if (!a->channel_taps)
        return QUIRE_OK;
    QR_TRY(
        in_range("taps of the channels' convolution", a->channel_taps, 1, QR_CONFIG_MAX_TAPS, err));
    QR_TRY(in_range("taps of the heads' convolution", a->head_taps, 1, QR_CONFIG_MAX_TAPS, err));
    if (c->kind != QR_MODEL_DECODER || c->mla.kv_lora_rank || c->differential || c->key_bias)
        return qr_fail(err, QUIRE_E_INTERNAL, "a model of this kind with convolutional attention");
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (c->layers[i].n_kv_heads % 2 != 0 && c->layers[i].v_head_dim % 2 != 0)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "model config: %u kv heads of %u elements have no half in layer %u",
                           c->layers[i].n_kv_heads, c->layers[i].v_head_dim, i);
    return QUIRE_OK;
}

/* Per-layer embeddings. */
static quire_status check_ple(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(in_range("size of per-layer embeddings", c->ple.dim, 0, QR_CONFIG_MAX_HIDDEN, err));
    if (!c->ple.dim)
        return QUIRE_OK;
    if (c->kind != QR_MODEL_DECODER)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "per-layer embeddings are supported in decoders only");
    return in_range("vocabulary of per-layer embeddings", c->ple.vocab_size, 1, QR_CONFIG_MAX_VOCAB,
                    err);
}

/* Several residual streams, and LAuReL. */
static quire_status check_altup(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_altup_config *a = &c->altup;
    QR_TRY(in_range("LAuReL rank", c->laurel_rank, 0, QR_CONFIG_MAX_HIDDEN, err));
    if (a->n_streams == 0)
        return QUIRE_OK;
    QR_TRY(in_range("number of residual streams", a->n_streams, 2, QR_CONFIG_MAX_STREAMS, err));
    QR_TRY(in_range("active residual stream", a->active, 0, a->n_streams - 1, err));
    QR_TRY(f64_in_range("bound of AltUp coefficients", (double)a->coef_clip, 0, 1e9, err));
    if (c->kind != QR_MODEL_DECODER || c->block != QR_BLOCK_SANDWICH_NORM)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "several residual streams are supported in decoders only");
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (c->layers[i].sparse_gate)
            QR_TRY(f64_in_range("cutoff of sparse gates", (double)c->layers[i].gate_cutoff, -100,
                                100, err));
    return QUIRE_OK;
}

/* Hyper-connections. The limits keep the width of all streams below 2^24. */
static quire_status check_hyper(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_hyper_config *h = &c->hyper;
    if (h->kind == QR_HYPER_NONE)
        return QUIRE_OK;
    QR_TRY(in_range("number of residual streams", h->n_streams, 2, QR_CONFIG_MAX_STREAMS, err));
    const bool gated = h->kind == QR_HYPER_GATED;
    QR_TRY(in_range("rank of hyper-connections", h->rank, gated, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("hc_sinkhorn_iters", h->iterations, !gated, QR_CONFIG_MAX_SINKHORN, err));
    QR_TRY(f64_in_range("hc_eps", (double)h->eps, 0, 1, err));
    if (c->kind != QR_MODEL_DECODER ||
        (c->block != QR_BLOCK_PLAIN && c->block != QR_BLOCK_PRE_NORM))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "hyper-connections are supported in decoders only");
    return QUIRE_OK;
}

/* Recurrent layers. The limits keep every product below 2^48. */
static quire_status check_recurrent(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_recurrent_config *r = &c->recurrent;
    if (r->kind == QR_RECURRENT_NONE)
        return QUIRE_OK;
    const bool wkv = r->kind == QR_RECURRENT_WKV;
    const bool channels =
        wkv || r->kind == QR_RECURRENT_MAMBA1 || r->kind == QR_RECURRENT_SHORT_CONV;
    const uint32_t max_heads = channels ? QR_CONFIG_MAX_HIDDEN : QR_CONFIG_MAX_HEADS;
    QR_TRY(in_range("number of recurrent heads", r->n_heads, 1, max_heads, err));
    QR_TRY(in_range("number of recurrent key heads or groups", r->n_key_heads, 1, max_heads, err));
    QR_TRY(in_range("recurrent key or state size", r->key_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    QR_TRY(in_range("recurrent value size", r->value_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    QR_TRY(in_range("recurrent values", qr_recurrent_value_width(r), 1, QR_CONFIG_MAX_HIDDEN, err));
    const bool wkv6 = r->kind == QR_RECURRENT_WKV6, wkv7 = r->kind == QR_RECURRENT_WKV7;
    QR_TRY(in_range("recurrent dt rank", r->dt_rank, qr_recurrent_reads_channels(r) || wkv6 || wkv7,
                    QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("rank of mixes", r->mix_rank, wkv6, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("recurrent gate rank", r->gate_rank, wkv7 && !r->plain_ffn,
                    QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("recurrent rate rank", r->rate_rank, wkv7, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("recurrent value rank", r->value_rank, wkv7, QR_CONFIG_MAX_HIDDEN, err));
    const bool conv = r->kind != QR_RECURRENT_LIGHTNING && !qr_recurrent_shifts(r);
    QR_TRY(in_range("taps of the convolution", r->conv_taps, conv, conv ? QR_CONFIG_MAX_TAPS : 0,
                    err));
    if (r->n_heads % r->n_key_heads != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u recurrent heads, not a multiple of the %u key heads or "
                       "groups",
                       r->n_heads, r->n_key_heads);
    if (r->norm_dim == 0 || qr_recurrent_value_width(r) % r->norm_dim != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %llu recurrent values, not a multiple of norms of %u",
                       (unsigned long long)qr_recurrent_value_width(r), r->norm_dim);
    for (size_t i = 0; i < 5; i++)
        QR_TRY(f64_in_range("SSM multiplier", (double)r->part_scales[i], -1e6, 1e6, err));
    QR_TRY(f64_in_range("SSM output multiplier", (double)r->out_scale, -1e6, 1e6, err));
    QR_TRY(f64_in_range("bound of recurrent log decays", (double)r->decay_bound, -1e3, 0, err));
    return f64_in_range("recurrent norm epsilon", (double)r->norm_eps, 0, 1, err);
}

/* Layers with a shared block take the blocks in turns, from one that has it as well. */
static quire_status check_shared_block(const struct qr_model_config *c, uint32_t i,
                                       struct quire_error *err)
{
    const struct qr_layer_config *l = &c->layers[i], *owner = &c->layers[l->block_owner];
    if (l->mixer != QR_MIXER_SHARED_BLOCK)
        return QUIRE_OK;
    QR_TRY(in_range("rank of the shared block's updates", c->shared_block.rank, 1,
                    QR_CONFIG_MAX_HIDDEN, err));
    if (c->block != QR_BLOCK_PRE_NORM || l->moe || owner->mixer != QR_MIXER_SHARED_BLOCK ||
        owner->n_heads != l->n_heads || owner->n_kv_heads != l->n_kv_heads ||
        owner->ffn_size != l->ffn_size)
        return qr_fail(err, QUIRE_E_INTERNAL, "layer %u cannot share the block of layer %u", i,
                       l->block_owner);
    return QUIRE_OK;
}

static quire_status check_mla(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_mla_config *m = &c->mla;
    if (!m->kv_lora_rank)
        return QUIRE_OK;
    QR_TRY(in_range("q_lora_rank", m->q_lora_rank, 0, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("qk_nope_head_dim", m->qk_nope_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    QR_TRY(in_range("qk_rope_head_dim", m->qk_rope_dim, 2, QR_CONFIG_MAX_HEAD_DIM - 1, err));
    QR_TRY(
        in_range("kv_lora_rank", m->kv_lora_rank, 1, QR_CONFIG_MAX_HEAD_DIM - m->qk_rope_dim, err));
    if (c->n_rope > 1 || (c->n_rope && c->rope[0].dim != m->qk_rope_dim))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u rotary dimensions, but qk_rope_head_dim is %u",
                       c->rope[0].dim, m->qk_rope_dim);
    return QUIRE_OK;
}

static quire_status check_index(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_index_config *x = &c->index;
    if (!x->n_heads)
        return QUIRE_OK;
    QR_TRY(in_range("number of index heads", x->n_heads, 1, QR_CONFIG_MAX_HEADS, err));
    QR_TRY(in_range("index head_dim", x->head_dim, 1, QR_CONFIG_MAX_HEAD_DIM, err));
    QR_TRY(in_range("number of selected keys or blocks", x->top_k, 1, QR_CONFIG_MAX_CONTEXT, err));
    QR_TRY(in_range("index block size", x->block_size, 1, QR_CONFIG_MAX_CONTEXT, err));
    QR_TRY(in_range("number of local blocks", x->local_blocks, 0, x->top_k, err));
    if (x->low_rank_q && !c->mla.q_lora_rank)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "model config: an indexer without q_lora_rank");
    for (uint32_t i = 0; i < (c->n_rope ? c->n_rope : 1); i++)
        if (!c->n_rope || c->rope[i].dim > x->head_dim)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "model config: index heads of %u dimensions, %u of them rotary",
                           x->head_dim, c->n_rope ? c->rope[i].dim : 0);
    bool own = false;
    for (uint32_t i = 0; i < c->n_layers; i++) {
        const struct qr_layer_config *l = &c->layers[i];
        own = own || l->index == QR_INDEX_OWN;
        if (l->index == QR_INDEX_SHARED && !own)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "model config: no layer up to layer %u has an indexer", i);
        if (l->index != QR_INDEX_NONE && !x->weighted && l->n_kv_heads % x->n_heads != 0)
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "model config: %u index heads for the %u kv heads of layer %u",
                           x->n_heads, l->n_kv_heads, i);
    }
    return own ? QUIRE_OK : qr_fail(err, QUIRE_E_FORMAT, "model config: no layer has an indexer");
}

/* Attention with shared keys and values. The limits keep every product below 2^48. */
static quire_status check_shared_kv(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_shared_kv_config *s = &c->shared_kv;
    if (!s->o_groups)
        return QUIRE_OK;
    QR_TRY(in_range("q_lora_rank", c->mla.q_lora_rank, 1, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("o_lora_rank", s->o_rank, 1, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("outputs of o_lora_rank", (uint64_t)s->o_groups * s->o_rank, 1,
                    QR_CONFIG_MAX_HIDDEN, err));
    if (c->v_head_dim != c->head_dim || c->n_rope != 2 || c->rope[0].dim != c->rope[1].dim)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: keys of %u elements, %u and %u of them rotary, are not the "
                       "values of %u",
                       c->head_dim, c->rope[0].dim, c->rope[1].dim, c->v_head_dim);
    return QUIRE_OK;
}

static quire_status check_factors(const char *name, const float *f, uint32_t n,
                                  struct quire_error *err)
{
    for (uint32_t i = 0; f && i < n; i++)
        QR_TRY(f64_in_range(name, f[i], 1e-6, 2e30, err)); /* 1e30: no rotation */
    return QUIRE_OK;
}

static quire_status check_scaling(const struct qr_rope_config *r, struct quire_error *err)
{
    QR_TRY(f64_in_range("RoPE factor", r->factor, 1e-3, 1e6, err));
    QR_TRY(f64_in_range("RoPE attention factor", (double)r->cos_sin_scale, 1e-3, 1e3, err));
    QR_TRY(check_factors("RoPE short factor", r->factors_short, r->dim / 2, err));
    QR_TRY(check_factors("RoPE long factor", r->factors_long, r->dim / 2, err));
    const bool uses_original =
        r->scaling == QR_ROPE_SCALING_LLAMA3 || r->scaling == QR_ROPE_SCALING_YARN ||
        r->scaling == QR_ROPE_SCALING_LONGROPE || r->scaling == QR_ROPE_SCALING_DYNAMIC;
    if (uses_original)
        QR_TRY(in_range("original context length", r->original_context, 1, QR_CONFIG_MAX_CONTEXT,
                        err));
    if (r->scaling == QR_ROPE_SCALING_LLAMA3) {
        QR_TRY(f64_in_range("low_freq_factor", r->low_freq_factor, 1e-3, 1e6, err));
        QR_TRY(f64_in_range("high_freq_factor", r->high_freq_factor, 1e-3, 1e6, err));
        if (r->low_freq_factor == r->high_freq_factor)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "model config: low_freq_factor equals high_freq_factor");
    }
    if (r->scaling == QR_ROPE_SCALING_YARN) {
        QR_TRY(f64_in_range("beta_fast", r->beta_fast, 1e-3, 1e6, err));
        QR_TRY(f64_in_range("beta_slow", r->beta_slow, 1e-3, 1e6, err));
        if (r->theta <= 1)
            return qr_fail(err, QUIRE_E_FORMAT, "model config: YaRN with a RoPE base of %g",
                           r->theta);
    }
    if (r->scaling == QR_ROPE_SCALING_DYNAMIC && r->dim <= 2)
        return qr_fail(err, QUIRE_E_FORMAT, "model config: dynamic RoPE scaling with %u dimensions",
                       r->dim);
    return QUIRE_OK;
}

static quire_status check_rope(const struct qr_model_config *c, const struct qr_rope_config *r,
                               struct quire_error *err)
{
    if (r->kind == QR_ROPE_NONE)
        return QUIRE_OK;
    QR_TRY(f64_in_range("RoPE base", r->theta, 1e-3, 1e12, err));
    QR_TRY(in_range("rotary dimensions", r->dim, 2, c->head_dim, err));
    if (r->dim % 2 != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u rotary dimensions, an even number expected", r->dim);
    return check_scaling(r, err);
}

static quire_status check_numbers(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(f64_in_range("norm epsilon", (double)c->norm_eps, 0, 1, err));
    QR_TRY(f64_in_range("post norm epsilon", (double)c->post_norm_eps, 0, 1, err));
    QR_TRY(f64_in_range("attention scale", (double)c->attention_scale, 1e-6, 1e6, err));
    QR_TRY(f64_in_range("attention soft cap", (double)c->attention_softcap, 0, 1e6, err));
    QR_TRY(f64_in_range("logit soft cap", (double)c->final_softcap, 0, 1e6, err));
    QR_TRY(f64_in_range("logit scale", (double)c->logit_scale, -1e6, 1e6, err));
    QR_TRY(f64_in_range("embedding scale", (double)c->embedding_scale, -1e6, 1e6, err));
    QR_TRY(f64_in_range("residual scale", (double)c->residual_scale, -1e6, 1e6, err));
    QR_TRY(f64_in_range("attention output scale", (double)c->attention_out_scale, -1e6, 1e6, err));
    QR_TRY(f64_in_range("gate scale", (double)c->ffn_gate_scale, -1e6, 1e6, err));
    QR_TRY(f64_in_range("feed-forward output scale", (double)c->ffn_out_scale, -1e6, 1e6, err));
    for (size_t i = 0; i < 3; i++) {
        QR_TRY(f64_in_range("alpha factor", (double)c->norm_alpha[i], -1e6, 1e6, err));
        QR_TRY(f64_in_range("beta factor", (double)c->norm_beta[i], -1e6, 1e6, err));
    }
    QR_TRY(f64_in_range("clip_qkv", (double)c->clip_qkv, 0, 1e6, err));
    QR_TRY(f64_in_range("attention temperature floor", (double)c->temperature_floor, 0, 1e9, err));
    QR_TRY(f64_in_range("attention temperature scale", (double)c->temperature_scale, 0, 1e6, err));
    if (c->activation == QR_ACT_SWIGLU_OAI) {
        QR_TRY(f64_in_range("activation alpha", (double)c->act_alpha, 1e-3, 1e3, err));
        QR_TRY(f64_in_range("activation limit", (double)c->act_limit, 1e-3, 1e6, err));
    }
    QR_TRY(f64_in_range("activation limit", (double)c->act_limit, 0, 1e6, err));
    return f64_in_range("maximum ALiBi bias", (double)c->alibi_max_bias, 0, 1e6, err);
}

/* Experts that share adjugate experts. */
static quire_status check_adjugate(const struct qr_moe_config *m, struct quire_error *err)
{
    if (!m->adjugate_group)
        return QUIRE_OK;
    QR_TRY(in_range("number of experts per adjugate expert", m->adjugate_group, 2,
                    QR_CONFIG_MAX_EXPERTS, err));
    QR_TRY(in_range("adjugate feed-forward size", m->adjugate_ffn_size, 1, QR_CONFIG_MAX_FFN, err));
    if (m->n_experts % m->adjugate_group != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u experts, of which each %u share an adjugate expert",
                       m->n_experts, m->adjugate_group);
    return f64_in_range("scale of adjugate experts", (double)m->adjugate_scale, -1e6, 1e6, err);
}

static quire_status check_moe(const struct qr_model_config *c, struct quire_error *err)
{
    const struct qr_moe_config *m = &c->moe;
    if (!qr_model_has_experts(c))
        return QUIRE_OK;
    QR_TRY(in_range("number of experts", m->n_experts, 1, QR_CONFIG_MAX_EXPERTS, err));
    QR_TRY(in_range("number of identity experts", m->n_identity, 0, QR_CONFIG_MAX_EXPERTS, err));
    QR_TRY(
        in_range("number of experts that return zero", m->n_zero, 0, QR_CONFIG_MAX_EXPERTS, err));
    QR_TRY(in_range("hidden size of the router", m->router_hidden, 0, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("latent size of the experts", m->latent_size, 0, QR_CONFIG_MAX_HIDDEN, err));
    QR_TRY(in_range("number of experts used", m->top_k, 1, m->n_experts + m->n_identity + m->n_zero,
                    err));
    QR_TRY(in_range("expert feed-forward size", m->ffn_size, 1, QR_CONFIG_MAX_FFN, err));
    QR_TRY(in_range("shared feed-forward size", m->shared_ffn_size, 0, QR_CONFIG_MAX_FFN, err));
    QR_TRY(in_range("number of expert groups", m->n_groups, 1, m->n_experts, err));
    QR_TRY(in_range("number of expert groups used", m->topk_groups, 1, m->n_groups, err));
    if (m->n_experts % m->n_groups != 0)
        return qr_fail(err, QUIRE_E_FORMAT, "model config: %u experts in %u groups", m->n_experts,
                       m->n_groups);
    if (m->n_groups > 1 && (m->n_identity || m->n_zero))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "model config: groups of experts together with identity experts");
    if (m->router_hidden && m->shared_ffn_size)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "model config: shared experts together with a router of several layers");
    if (m->n_groups > 1 && m->n_experts / m->n_groups * (uint64_t)m->topk_groups < m->top_k)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "model config: %u experts used, but %u of %u groups hold fewer", m->top_k,
                       m->topk_groups, m->n_groups);
    QR_TRY(check_adjugate(m, err));
    QR_TRY(f64_in_range("router soft cap", (double)m->logit_softcap, 0, 1e6, err));
    QR_TRY(f64_in_range("router jitter", (double)m->sparsemixer_margin / 2, 0, 1, err));
    return f64_in_range("expert weights scale", (double)m->weights_scale, 1e-6, 1e6, err);
}

static quire_status check_encoder(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(in_range("number of token types", c->n_token_types, 0, QR_CONFIG_MAX_TOKEN_TYPES, err));
    if (c->relative_buckets) { /* each bucket of the first half covers one distance */
        QR_TRY(in_range("relative attention buckets", c->relative_buckets, 4, QR_CONFIG_MAX_BUCKETS,
                        err));
        QR_TRY(in_range("relative attention distance", c->relative_distance,
                        c->relative_buckets / 2 + 1, QR_CONFIG_MAX_DISTANCE, err));
    }
    if (c->kind == QR_MODEL_ENCODER && c->alibi_max_bias > 0) /* its biases are a table */
        QR_TRY(in_range("context length with ALiBi", c->context_length, 1, QR_CONFIG_MAX_DISTANCE,
                        err));
    if (c->kind == QR_MODEL_ENCODER_DECODER && c->block != QR_BLOCK_PRE_NORM &&
        c->block != QR_BLOCK_SANDWICH_NORM && c->block != QR_BLOCK_POST_NORM)
        return qr_fail(err, QUIRE_E_INTERNAL, "block kind %d does not support cross attention",
                       (int)c->block);
    return QUIRE_OK;
}

static quire_status check_id(const struct qr_model_config *c, const char *name, int32_t id,
                             struct quire_error *err)
{
    if (id < -1 || id >= (int64_t)c->vocab_size)
        return qr_fail(err, QUIRE_E_FORMAT, "model config: %s %d is outside the vocabulary of %u",
                       name, id, c->vocab_size);
    return QUIRE_OK;
}

quire_status qr_model_config_validate(const struct qr_model_config *c, struct quire_error *err)
{
    QR_TRY(check_sizes(c, err));
    QR_TRY(check_mla(c, err));
    QR_TRY(check_recurrent(c, err));
    QR_TRY(check_conv_attention(c, err));
    QR_TRY(check_ple(c, err));
    QR_TRY(check_altup(c, err));
    QR_TRY(check_hyper(c, err));
    for (uint32_t i = 0; i < qr_model_total_layers(c); i++) {
        QR_TRY(check_layer(c, i, err));
        QR_TRY(check_shared_block(c, i, err));
    }
    for (uint32_t i = 0; i < c->n_rope; i++)
        QR_TRY(check_rope(c, &c->rope[i], err));
    QR_TRY(check_shared_kv(c, err));
    QR_TRY(qr_mtp_config_check(c, err));
    QR_TRY(check_index(c, err));
    QR_TRY(check_numbers(c, err));
    QR_TRY(check_moe(c, err));
    QR_TRY(check_encoder(c, err));
    QR_TRY(check_id(c, "bos token id", c->bos_id, err));
    QR_TRY(check_id(c, "decoder start token id", c->decoder_start_id, err));
    for (uint32_t i = 0; i < c->n_eos; i++)
        QR_TRY(check_id(c, "eos token id", c->eos_ids[i], err));
    return QUIRE_OK;
}
