/* SPDX-License-Identifier: Apache-2.0 */
/* config_gguf.c - builds the model description from GGUF metadata: sizes, layers, tokens. */
#include "model/config/config_gguf.h"
#include "base/error.h"
#include "model/config/config_internal.h"
#include <math.h>
#include <quire/model.h>
#include <stdio.h>
#include <string.h>

/* ---- Keys below the architecture's prefix */

static void full_key(const struct gguf_source *s, const char *key, char out[QR_GGUF_KEY_MAX])
{
    snprintf(out, QR_GGUF_KEY_MAX, "%s.%s", s->prefix, key);
}

bool qr_gguf_source_has(const struct gguf_source *s, const char *key)
{
    char name[QR_GGUF_KEY_MAX];
    full_key(s, key, name);
    return qr_gguf_has(s->g, name);
}

quire_status qr_gguf_source_u32(const struct gguf_source *s, const char *key, uint32_t *out)
{
    char name[QR_GGUF_KEY_MAX];
    full_key(s, key, name);
    return qr_gguf_get_u32(s->g, name, out, s->err);
}

quire_status qr_gguf_source_u32_or(const struct gguf_source *s, const char *key, uint32_t dflt,
                                   uint32_t *out)
{
    char name[QR_GGUF_KEY_MAX];
    full_key(s, key, name);
    return qr_gguf_get_u32_or(s->g, name, dflt, out, s->err);
}

quire_status qr_gguf_source_f32_or(const struct gguf_source *s, const char *key, float dflt,
                                   float *out)
{
    char name[QR_GGUF_KEY_MAX];
    full_key(s, key, name);
    return qr_gguf_get_f32_or(s->g, name, dflt, out, s->err);
}

quire_status qr_gguf_source_str_or(const struct gguf_source *s, const char *key, const char *dflt,
                                   struct qr_gguf_str *out)
{
    char name[QR_GGUF_KEY_MAX];
    full_key(s, key, name);
    return qr_gguf_get_str_or(s->g, name, dflt, out, s->err);
}

quire_status qr_gguf_source_bool_or(const struct gguf_source *s, const char *key, bool dflt,
                                    bool *out)
{
    char name[QR_GGUF_KEY_MAX];
    full_key(s, key, name);
    return qr_gguf_get_bool_or(s->g, name, dflt, out, s->err);
}

/* The metadata does not tell which projections have a bias; the tensor directory does. */
bool qr_gguf_source_has_role(const struct gguf_source *s, enum qr_weight_role role, uint32_t layer)
{
    char name[QR_NAME_MAX];
    size_t i;
    for (unsigned n = 0;
         qr_arch_name(s->arch->gguf_names, s->arch->gguf_common_names, role, layer, n, name); n++)
        if (qr_gguf_find_tensor(s->g, name, &i))
            return true;
    return false;
}

/* A value that is either one number for all layers or an array with one per layer. dflt 0: the key
 * must be there. */
static quire_status layer_value(const struct gguf_source *s, const char *key, uint32_t layer,
                                uint32_t dflt, uint32_t *out)
{
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type;
    full_key(s, key, name);
    if (!qr_gguf_value_type(s->g, name, &type) || type != QR_GGUF_ARRAY)
        return dflt ? qr_gguf_get_u32_or(s->g, name, dflt, out, s->err)
                    : qr_gguf_get_u32(s->g, name, out, s->err);
    struct qr_gguf_array arr;
    int64_t v;
    QR_TRY(qr_gguf_get_array(s->g, name, &arr, s->err));
    if (arr.count != s->cfg->n_layers || !qr_gguf_array_i64(&arr, layer, &v) || v < 0 ||
        v > UINT32_MAX)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u non-negative integers",
                       name, s->cfg->n_layers);
    *out = (uint32_t)v;
    return QUIRE_OK;
}

/* ---- Sizes */

/* Files without the key have as many tokens as the embedding has rows. */
static quire_status vocab_size(const struct gguf_source *s)
{
    size_t i;
    if (!qr_gguf_source_has(s, "vocab_size") &&
        qr_gguf_find_tensor(s->g, "token_embd.weight", &i)) {
        const uint64_t rows = qr_gguf_tensor(s->g, i)->dims[1];
        s->cfg->vocab_size = rows > UINT32_MAX ? UINT32_MAX : (uint32_t)rows;
        return QUIRE_OK;
    }
    return qr_gguf_source_u32(s, "vocab_size", &s->cfg->vocab_size);
}

/* key_length and value_length are those of a head, or of the cached row; then two more keys have those of a head. */
static quire_status read_latent(const struct gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    uint32_t rope;
    QR_TRY(qr_gguf_source_u32_or(s, "attention.q_lora_rank", 0, &cfg->mla.q_lora_rank));
    QR_TRY(qr_gguf_source_u32(s, "attention.kv_lora_rank", &cfg->mla.kv_lora_rank));
    QR_TRY(qr_gguf_source_u32(s, "rope.dimension_count", &rope));
    QR_TRY(qr_gguf_source_u32_or(s, "attention.key_length_mla", cfg->head_dim, &cfg->head_dim));
    QR_TRY(
        qr_gguf_source_u32_or(s, "attention.value_length_mla", cfg->v_head_dim, &cfg->v_head_dim));
    if (cfg->head_dim <= rope)
        return qr_fail(s->err, QUIRE_E_FORMAT, "%s: heads of %u dimensions, %u of them rotary",
                       s->prefix, cfg->head_dim, rope);
    return qr_model_config_set_latent(cfg, cfg->head_dim - rope, rope, s->err);
}

static quire_status read_sizes(const struct gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    QR_TRY(qr_gguf_source_u32(s, "block_count", &cfg->n_layers));
    if (cfg->kind == QR_MODEL_ENCODER_DECODER) { /* the count is the encoder's */
        cfg->n_encoder_layers = cfg->n_layers;
        QR_TRY(qr_gguf_source_u32_or(s, "decoder_block_count", cfg->n_layers, &cfg->n_layers));
    }
    QR_TRY(qr_gguf_source_u32(s, "embedding_length", &cfg->hidden_size));
    QR_TRY(qr_gguf_source_u32(s, "context_length", &cfg->context_length));
    QR_TRY(vocab_size(s));
    QR_TRY(qr_model_config_add_layers(cfg, 0, 0, 0, s->err));
    for (uint32_t i = 0; i < qr_model_all_layers(cfg); i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        const uint32_t at = i < cfg->n_layers ? i : i - cfg->n_layers;
        QR_TRY(layer_value(s, "attention.head_count", at, 0, &l->n_heads));
        if (l->n_heads == 0)
            return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s.attention.head_count is 0",
                           s->prefix);
        QR_TRY(layer_value(s, "attention.head_count_kv", at, l->n_heads, &l->n_kv_heads));
        QR_TRY(layer_value(s, "feed_forward_length", at, 0, &l->ffn_size));
    }
    QR_TRY(qr_gguf_source_u32_or(s, "attention.key_length",
                                 cfg->hidden_size / cfg->layers[0].n_heads, &cfg->head_dim));
    QR_TRY(qr_gguf_source_u32_or(s, "attention.value_length", cfg->head_dim, &cfg->v_head_dim));
    return s->arch->latent ? read_latent(s) : QUIRE_OK;
}

/* ---- Windows */

/* The pattern is written as the period or as one bool per layer; older files leave it to the family. */
static quire_status is_windowed(const struct gguf_source *s, uint32_t layer, bool *out)
{
    static const char key[] = "attention.sliding_window_pattern";
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type;
    uint32_t period = s->arch->gguf_window == QR_WINDOW_PERIODIC ? s->arch->window_period : 0;
    full_key(s, key, name);
    const bool has = qr_gguf_value_type(s->g, name, &type);
    if (has && type == QR_GGUF_ARRAY) {
        struct qr_gguf_array arr;
        QR_TRY(qr_gguf_get_array(s->g, name, &arr, s->err));
        if (arr.count == s->cfg->n_layers && qr_gguf_array_bool(&arr, layer, out))
            return QUIRE_OK;
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u bools", name,
                       s->cfg->n_layers);
    }
    QR_TRY(qr_gguf_get_u32_or(s->g, name, period, &period, s->err));
    *out = (has || s->arch->gguf_window != QR_WINDOW_NEVER) &&
           (period == 0 || (layer + 1) % period != 0);
    return QUIRE_OK;
}

static quire_status read_windows(const struct gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    uint32_t window;
    bool windowed;
    QR_TRY(qr_gguf_source_u32_or(s, "attention.sliding_window", 0, &window));
    if (window && !cfg->causal && !s->arch->chunked_windows)
        window = window / 2 + 1; /* the key counts both sides */
    for (uint32_t i = 0; window && i < cfg->n_layers; i++) {
        QR_TRY(is_windowed(s, i, &windowed));
        if (windowed) {
            cfg->layers[i].window = window;
            cfg->layers[i].chunked = s->arch->chunked_windows;
        }
    }
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        cfg->layers[i].rope = qr_layer_rope(cfg, s->arch, cfg->layers[i].window != 0);
    return QUIRE_OK;
}

/* ---- Numbers and flags */

static float hf_default(const struct qr_arch *arch, const char *key, bool in_use)
{
    for (const struct qr_hf_default *d = arch->hf_defaults; in_use && d && d->key; d++)
        if (strcmp(d->key, key) == 0)
            return (float)d->value;
    return 0;
}

static quire_status read_scales(const struct gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    const struct qr_arch *arch = s->arch;
    const uint32_t width = arch->gguf_scale_by_width == cfg->n_layers
                               ? cfg->hidden_size / cfg->layers[0].n_heads
                               : cfg->head_dim;
    char name[QR_GGUF_KEY_MAX];
    const bool rms = cfg->norm == QR_NORM_RMS || cfg->norm == QR_NORM_RMS_PLUS1;
    full_key(s, rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", name);
    QR_TRY(qr_gguf_get_f32(s->g, name, &cfg->norm_eps, s->err));
    QR_TRY(qr_gguf_source_f32_or(s, "attention.scale",
                                 arch->unscaled_attention ? 1 : (float)(1 / sqrt(width)),
                                 &cfg->attention_scale));
    if (cfg->attention_scale == 0) /* some writers mean the usual one */
        cfg->attention_scale = (float)(1 / sqrt(width));
    QR_TRY(qr_gguf_source_f32_or(s, "attn_logit_softcapping",
                                 hf_default(arch, "attn_logit_softcapping", arch->attn_softcap),
                                 &cfg->attention_softcap));
    return qr_gguf_source_f32_or(s, "final_logit_softcapping",
                                 hf_default(arch, "final_logit_softcapping", arch->final_softcap),
                                 &cfg->final_softcap);
}

static quire_status read_multipliers(const struct gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    QR_TRY(qr_gguf_source_f32_or(s, "embedding_scale", 1, &cfg->embedding_scale));
    QR_TRY(qr_gguf_source_f32_or(s, "residual_scale", 1, &cfg->residual_scale));
    QR_TRY(qr_gguf_source_f32_or(s, "logit_scale", 1, &cfg->logit_scale));
    if (s->arch->divides_logits && cfg->logit_scale != 0)
        cfg->logit_scale = 1 / cfg->logit_scale;
    QR_TRY(qr_gguf_source_f32_or(s, "attention.clamp_kqv", 0, &cfg->clip_qkv));
    if (s->arch->alibi_max_bias > 0)
        QR_TRY(qr_gguf_source_f32_or(s, "attention.max_alibi_bias", s->arch->alibi_max_bias,
                                     &cfg->alibi_max_bias));
    if (s->arch->hf_alibi_key && !qr_gguf_source_has(s, "attention.max_alibi_bias"))
        cfg->alibi_max_bias = 0; /* the family has forms without */
    cfg->alibi_scale = s->arch->alibi_scaled ? cfg->attention_scale : 1;
    return QUIRE_OK;
}

static bool has_role(const struct gguf_source *s, enum qr_weight_role role)
{
    return qr_gguf_source_has_role(s, role, 0);
}

static quire_status read_pooling(const struct gguf_source *s)
{
    static const uint8_t ways[] = { QUIRE_POOLING_MEAN, QUIRE_POOLING_MEAN, QUIRE_POOLING_CLS,
                                    QUIRE_POOLING_LAST };
    uint32_t type; /* 0: none given */
    QR_TRY(qr_gguf_source_u32_or(s, "pooling_type", 0, &type));
    if (type < sizeof ways)
        s->cfg->pooling = ways[type];
    return QUIRE_OK;
}

/* What only models with an encoder have. */
static quire_status read_encoder(const struct gguf_source *s)
{
    enum { DEFAULT_DISTANCE = 128 }; /* the files have no key for it */
    struct qr_model_config *cfg = s->cfg;
    size_t tensor;
    QR_TRY(read_pooling(s));
    if (cfg->kind == QR_MODEL_ENCODER && qr_gguf_find_tensor(s->g, "token_types.weight", &tensor)) {
        const uint64_t rows = qr_gguf_tensor(s->g, tensor)->dims[1];
        cfg->n_token_types = rows > UINT32_MAX ? UINT32_MAX : (uint32_t)rows;
    }
    if (s->arch->relative_bias) {
        cfg->relative_distance = DEFAULT_DISTANCE;
        QR_TRY(qr_gguf_source_u32(s, "attention.relative_buckets_count", &cfg->relative_buckets));
        if (cfg->relative_buckets == 0)
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "metadata key %s.attention.relative_buckets_count is 0", s->prefix);
    }
    if (s->arch->scaled_tied_head && !has_role(s, QR_W_OUTPUT))
        cfg->logit_scale = 1 / sqrtf((float)cfg->hidden_size);
    if (s->arch->hf_gate_in_name) {
        cfg->ffn_gated = has_role(s, QR_W_FFN_GATE);
        cfg->activation = cfg->ffn_gated ? s->arch->gated_activation : s->arch->activation;
    }
    return QUIRE_OK;
}

/* Parallel blocks: by the key, or by the norms that are there. */
static quire_status read_block(const struct gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    bool parallel;
    size_t tensor;
    if (s->arch->hf_falcon) {
        const bool two = qr_gguf_find_tensor(s->g, "blk.0.attn_norm_2.weight", &tensor);
        cfg->block = two ? QR_BLOCK_PARALLEL2 : QR_BLOCK_PARALLEL1;
    } else if (s->arch->hf_parallel_key) {
        QR_TRY(qr_gguf_source_bool_or(s, "use_parallel_residual",
                                      s->arch->hf_parallel_block == QR_BLOCK_PARALLEL2, &parallel));
        cfg->block = parallel ? s->arch->hf_parallel_block : s->arch->block;
    }
    return QUIRE_OK;
}

static void read_flags(const struct gguf_source *s)
{
    s->cfg->bias = (struct qr_bias_config){
        .q = has_role(s, QR_W_ATTN_Q_BIAS),
        .k = has_role(s, QR_W_ATTN_K_BIAS),
        .v = has_role(s, QR_W_ATTN_V_BIAS),
        .o = has_role(s, QR_W_ATTN_O_BIAS),
        .ffn_in = has_role(s, QR_W_FFN_UP_BIAS),
        .ffn_down = has_role(s, QR_W_FFN_DOWN_BIAS),
        .norm = has_role(s, QR_W_ATTN_NORM_BIAS) || has_role(s, QR_W_OUTPUT_NORM_BIAS) ||
                has_role(s, QR_W_ATTN_POST_NORM_BIAS),
        .output = has_role(s, QR_W_OUTPUT_BIAS),
    };
    if (s->cfg->qk_norm == QR_QK_NORM_FULL || s->cfg->qk_norm == QR_QK_NORM_HEAD)
        s->cfg->qk_norm = has_role(s, QR_W_ATTN_Q_NORM) || !s->arch->hf_qk_norm_key
                              ? s->cfg->qk_norm
                              : QR_QK_NORM_NONE;
    s->cfg->tied_output = !has_role(s, QR_W_OUTPUT);
}

/* ---- Tokens and sampling */

/* Some writers store "none" as -1 or as 2^32 - 1. */
static quire_status read_id(const struct gguf_source *s, const char *key, int32_t *out)
{
    int64_t id = -1;
    if (qr_gguf_has(s->g, key))
        QR_TRY(qr_gguf_get_i64(s->g, key, &id, s->err));
    *out = id < 0 || id > INT32_MAX ? -1 : (int32_t)id;
    return QUIRE_OK;
}

/* One more id that ends an answer. */
static void add_end(struct qr_model_config *cfg, int32_t id)
{
    for (uint32_t i = 0; i < cfg->n_eos; i++)
        if (cfg->eos_ids[i] == id)
            return;
    cfg->eos_ids[cfg->n_eos++] = id;
}

/* End of sequence, of turn and of message all end an answer. The last two are constants of the
 * converter and may lie outside a small vocabulary. */
static quire_status read_tokens(const struct gguf_source *s)
{
    static const char *const ends[] = { "tokenizer.ggml.eos_token_id",
                                        "tokenizer.ggml.eot_token_id",
                                        "tokenizer.ggml.eom_token_id" };
    struct qr_model_config *cfg = s->cfg;
    QR_TRY(read_id(s, "tokenizer.ggml.bos_token_id", &cfg->bos_id));
    QR_TRY(read_id(s, "tokenizer.ggml.padding_token_id", &cfg->pad_id));
    char start[QR_GGUF_KEY_MAX];
    full_key(s, "decoder_start_token_id", start);
    QR_TRY(read_id(s, start, &cfg->decoder_start_id));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int32_t id;
        QR_TRY(read_id(s, ends[i], &id));
        if (id >= 0 && (i == 0 || (uint32_t)id < cfg->vocab_size))
            add_end(cfg, id);
    }
    return QUIRE_OK;
}

static quire_status read_sampling_value(const struct gguf_source *s, const char *key, float *out,
                                        bool *has)
{
    *has = qr_gguf_has(s->g, key);
    return qr_gguf_get_f32_or(s->g, key, 0, out, s->err);
}

static quire_status read_sampling(const struct gguf_source *s)
{
    struct qr_sampling_defaults *d = &s->cfg->sampling;
    QR_TRY(read_sampling_value(s, "general.sampling.temp", &d->temperature, &d->has_temperature));
    QR_TRY(read_sampling_value(s, "general.sampling.top_p", &d->top_p, &d->has_top_p));
    QR_TRY(read_sampling_value(s, "general.sampling.min_p", &d->min_p, &d->has_min_p));
    QR_TRY(read_sampling_value(s, "general.sampling.penalty_repeat", &d->repetition_penalty,
                               &d->has_repetition_penalty));
    d->has_top_k = qr_gguf_has(s->g, "general.sampling.top_k");
    return qr_gguf_get_u32_or(s->g, "general.sampling.top_k", 0, &d->top_k, s->err);
}

/* ---- The file */

static quire_status build(struct gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    struct qr_gguf_str name;
    char causal[QR_GGUF_KEY_MAX];
    qr_model_config_init(cfg, s->arch);
    cfg->norm = s->arch->gguf_norm;
    QR_TRY(qr_gguf_get_str_or(s->g, "general.name", "", &name, s->err));
    qr_model_config_set_name(cfg, name.data, name.size);
    QR_TRY(read_sizes(s));
    full_key(s, "attention.causal", causal);
    QR_TRY(qr_gguf_get_bool_or(s->g, causal, cfg->causal, &cfg->causal, s->err));
    QR_TRY(read_scales(s));
    QR_TRY(read_multipliers(s));
    QR_TRY(read_encoder(s));
    QR_TRY(read_block(s));
    QR_TRY(qr_gguf_source_rope(s));
    QR_TRY(read_windows(s));
    read_flags(s);
    QR_TRY(qr_gguf_source_moe(s));
    QR_TRY(read_tokens(s));
    QR_TRY(read_sampling(s));
    qr_model_config_finish(cfg, s->arch);
    return qr_model_config_validate(cfg, s->err);
}

quire_status qr_model_config_from_gguf(const struct qr_gguf *g, const struct quire_allocator *a,
                                       struct qr_model_config *cfg, struct quire_error *err)
{
    struct qr_gguf_str arch;
    *cfg = (struct qr_model_config){ 0 };
    QR_TRY(qr_gguf_get_str(g, "general.architecture", &arch, err));
    struct gguf_source s = {
        .g = g, .cfg = cfg, .err = err, .arch = qr_arch_by_gguf(arch.data, arch.size)
    };
    if (!s.arch)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "general.architecture %.*s is not supported",
                       arch.size < 64 ? (int)arch.size : 64, arch.data);
    snprintf(s.prefix, sizeof s.prefix, "%.*s", (int)arch.size, arch.data);
    qr_arena_init(&cfg->memory, a, QR_CONFIG_MAX_BYTES);
    const quire_status status = build(&s);
    if (status != QUIRE_OK)
        qr_model_config_free(cfg);
    return status;
}
