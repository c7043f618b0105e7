/* SPDX-License-Identifier: Apache-2.0 */
/* hf.c - builds the model configuration from a Hugging Face config.json of either style. */
#include "model/config/hf.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/hf_classifier.h"
#include "model/config/hf_compress.h"
#include "model/config/hf_conv_attention.h"
#include "model/config/hf_disentangled.h"
#include "model/config/hf_family.h"
#include "model/config/hf_head.h"
#include "model/config/hf_index.h"
#include "model/config/hf_keys.h"
#include "model/config/hf_layer_heads.h"
#include "model/config/hf_layer_lists.h"
#include "model/config/hf_layer_rope.h"
#include "model/config/hf_layer_sizes.h"
#include "model/config/hf_mixers.h"
#include "model/config/hf_moe.h"
#include "model/config/hf_pooling.h"
#include "model/config/hf_quantization.h"
#include "model/config/hf_recurrent.h"
#include "model/config/hf_rope.h"
#include "model/config/hf_shared_block.h"
#include "model/config/hf_stacks.h"
#include "model/config/hf_streams.h"
#include "model/config/hf_text.h"
#include "model/config/hf_tokens.h"
#include "model/config/hf_unknown.h"
#include "model/config/hf_windows.h"
#include "model/config/limits.h"
#include "model/config/loops.h"
#include "model/config/validate.h"
#include <math.h>
#include <string.h>

static const char what[] = "config.json";

/* ---- Parts of the configuration */

static quire_status read_ffn_size(const struct qr_hf_source *h, uint32_t *ffn)
{
    bool has;
    const struct qr_json *list = qr_hf_json(h, "intermediate_size");
    if (h->arch->altup && qr_json_is_u32(qr_json_at(list, 0), ffn))
        return QUIRE_OK; /* a list: qr_hf_read_layer_sizes */
    QR_TRY(qr_hf_u32_opt(h, "intermediate_size", ffn, &has));
    if (!has && h->arch->optional_sublayers)
        return QUIRE_OK; /* by layer: qr_hf_read_layer_sizes */
    if (!has && !h->arch->hf_ffn_multiplier)
        return qr_hf_missing(h, "intermediate_size");
    if (!has && h->cfg->hidden_size > QR_CONFIG_MAX_HIDDEN)
        return qr_fail(h->err, QUIRE_E_FORMAT, "%s: hidden_size is %u", what, h->cfg->hidden_size);
    if (!has)
        *ffn = h->arch->hf_ffn_multiplier * h->cfg->hidden_size;
    return QUIRE_OK;
}

/* LFM2, NeoBERT: the width is 2/3 of the given one, times a factor, rounded up. */
static quire_status adjust_ffn(const struct qr_hf_source *h, uint32_t *ffn)
{
    bool adjust = true, has;
    double factor = 1;
    uint32_t multiple = 256;
    if (!h->arch->hf_auto_ffn)
        return QUIRE_OK;
    QR_TRY(qr_hf_bool(h, "block_auto_adjust_ff_dim", true, &adjust));
    QR_TRY(qr_hf_f64_opt(h, "block_ffn_dim_multiplier", &factor, &has));
    QR_TRY(qr_hf_u32_opt(h, "block_multiple_of", &multiple, &has));
    if (!adjust)
        return QUIRE_OK;
    if (*ffn > QR_CONFIG_MAX_FFN || multiple == 0 || multiple > QR_CONFIG_MAX_FFN ||
        !(factor > 0 && factor <= 16))
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "%s: intermediate_size %u with block_ffn_dim_multiplier %g and "
                       "block_multiple_of %u",
                       what, *ffn, factor, multiple);
    const uint32_t two_thirds = 2 * *ffn / 3;
    *ffn = (uint32_t)(factor * two_thirds);
    *ffn = (*ffn + multiple - 1) / multiple * multiple;
    return QUIRE_OK;
}

static quire_status read_kv_heads(const struct qr_hf_source *h, uint32_t heads, uint32_t *kv_heads)
{
    bool has, mqa = false;
    uint32_t shared;
    if (h->arch->hf_tiled_heads) {
        qr_hf_ignore(h, "num_key_value_heads"); /* the reference implementation, too */
        QR_TRY(qr_hf_u32(h, "n_shared_head", &shared));
        if (shared == 0)
            return qr_fail(h->err, QUIRE_E_FORMAT, "%s: n_shared_head is 0", what);
        *kv_heads = heads / shared + (heads % shared != 0);
        h->cfg->tiled_heads = *kv_heads > 1 && *kv_heads < heads;
        return QUIRE_OK;
    }
    if (h->arch->hf_multi_query)
        QR_TRY(qr_hf_bool(h, "multi_query", true, &mqa));
    QR_TRY(qr_hf_u32_opt(h, "num_key_value_heads", kv_heads, &has));
    if (!has)
        *kv_heads = mqa || h->arch->shared_key_value ? 1 : heads;
    return QUIRE_OK;
}

static quire_status read_sizes(const struct qr_hf_source *h, uint32_t *heads, uint32_t *kv_heads,
                               uint32_t *ffn)
{
    struct qr_model_config *cfg = h->cfg;
    bool has;
    QR_TRY(qr_hf_u32(h, "vocab_size", &cfg->vocab_size));
    QR_TRY(qr_hf_u32(h, "hidden_size", &cfg->hidden_size));
    QR_TRY(qr_hf_read_layer_count(h));
    QR_TRY(qr_hf_u32(h, "max_position_embeddings", &cfg->context_length));
    *heads = *kv_heads = *ffn = 0;
    if (h->arch->recurrent && h->arch->recurrent->all)
        return QUIRE_OK;
    if (h->arch->hf_size_lists) { /* the others: qr_hf_read_layer_sizes */
        QR_TRY(qr_hf_u32(h, "head_dim", &cfg->head_dim));
        cfg->v_head_dim = cfg->head_dim;
        return QUIRE_OK;
    }
    QR_TRY(qr_hf_u32(h, "num_attention_heads", heads));
    QR_TRY(read_ffn_size(h, ffn));
    QR_TRY(adjust_ffn(h, ffn));
    if (h->arch->half_ffn)
        *ffn /= 2;
    QR_TRY(read_kv_heads(h, *heads, kv_heads));
    QR_TRY(qr_hf_u32_opt(h, "head_dim", &cfg->head_dim, &has));
    if (!has) {
        if (*heads == 0)
            return qr_fail(h->err, QUIRE_E_FORMAT, "%s: num_attention_heads is 0", what);
        cfg->head_dim = cfg->hidden_size / *heads;
    }
    cfg->v_head_dim = cfg->head_dim;
    if (h->arch->differential && cfg->head_dim <= QR_CONFIG_MAX_HEAD_DIM)
        cfg->v_head_dim *= 2;
    return h->arch->mla ? QUIRE_OK : qr_hf_u32_opt(h, "v_head_dim", &cfg->v_head_dim, &has);
}

/* Head count and feed-forward size of the encoder; both default to the decoder's. */
static quire_status read_encoder(const struct qr_hf_source *h, uint32_t heads, uint32_t ffn)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t encoder_heads = heads;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "encoder_attention_heads", &encoder_heads, &has));
    QR_TRY(qr_hf_u32_opt(h, "encoder_ffn_dim", &ffn, &has));
    if (encoder_heads != heads)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "%s: %u heads in the encoder, %u in the decoder", what, encoder_heads,
                       heads);
    for (uint32_t i = cfg->n_layers; i < qr_model_total_layers(cfg); i++)
        cfg->layers[i].ffn_size = ffn;
    return QUIRE_OK;
}

static quire_status read_relative_bias(const struct qr_hf_source *h)
{
    if (!h->arch->relative_bias)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32(h, "relative_attention_num_buckets", &h->cfg->relative_buckets));
    if (h->cfg->relative_buckets == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "%s: relative_attention_num_buckets is 0", what);
    return qr_hf_u32(h, "relative_attention_max_distance", &h->cfg->relative_distance);
}

static quire_status read_activation(const struct qr_hf_source *h)
{
    static const struct {
        const char *name;
        enum qr_activation act;
    } names[] = {
        { "silu", QR_ACT_SILU },
        { "swish", QR_ACT_SILU },
        { "gelu_pytorch_tanh", QR_ACT_GELU_TANH },
        { "gelu_new", QR_ACT_GELU_TANH },
        { "gelu_fast", QR_ACT_GELU_TANH },
        { "gelu", QR_ACT_GELU_ERF },
        { "gelu_python", QR_ACT_GELU_ERF },
        { "quick_gelu", QR_ACT_GELU_QUICK },
        { "relu", QR_ACT_RELU },
        { "relu2", QR_ACT_RELU2 },
        { "sqrelu", QR_ACT_RELU2 },
        { "xielu", QR_ACT_XIELU },
    };
    const char *name = NULL;
    QR_TRY(qr_hf_str(h, "hidden_activation", &name));
    if (name) /* takes precedence over the older key */
        qr_hf_ignore(h, "hidden_act");
    else
        QR_TRY(qr_hf_str(h, "hidden_act", &name));
    h->cfg->activation = h->arch->activation;
    if (name && h->arch->hf_gate_in_name) {
        h->cfg->ffn_gated = strncmp(name, "gated-", 6) == 0;
        if (h->cfg->ffn_gated) /* "gated-gelu" is the tanh approximation */
            name = strcmp(name + 6, "gelu") == 0 ? "gelu_new" : name + 6;
    }
    if (name && h->cfg->ffn_gated && strcmp(name, "swiglu") == 0)
        name = "silu";
    if (!name || h->arch->activation == QR_ACT_SWIGLU_OAI) /* has no name in hidden_act */
        return QUIRE_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            if ((names[i].act == QR_ACT_XIELU) != (h->arch->activation == QR_ACT_XIELU))
                break; /* the activation with tensors of its own */
            h->cfg->activation = names[i].act;
            if (names[i].act == QR_ACT_GELU_ERF && h->arch->hf_gelu_is_tanh)
                h->cfg->activation = QR_ACT_GELU_TANH;
            return QUIRE_OK;
        }
    return qr_fail(h->err, QUIRE_E_UNSUPPORTED, "%s: activation %.60s is not supported", what,
                   name);
}

static quire_status read_softcap(const struct qr_hf_source *h, bool in_use, const char *key,
                                 float *out)
{
    double v = 0;
    bool has;
    if (in_use)
        QR_TRY(qr_hf_f64_opt(h, key, &v, &has));
    *out = (float)v;
    return QUIRE_OK;
}

/* The epsilon of the norms; in some families, which of two keys it has decides about the norm. */
static quire_status read_norm(const struct qr_hf_source *h)
{
    double eps = 0;
    bool rms = false;
    if (h->arch->norm_by_eps)
        QR_TRY(qr_hf_f64_opt(h, "rms_norm_eps", &eps, &rms));
    if (rms) {
        h->cfg->norm = QR_NORM_RMS;
        qr_hf_ignore(h, "layer_norm_eps");
    } else {
        QR_TRY(qr_hf_f64(h, h->arch->norm_by_eps ? "layer_norm_eps" : "rms_norm_eps", &eps));
    }
    h->cfg->norm_eps = (float)eps;
    if (h->arch->post_norm_eps > 0) {
        QR_TRY(qr_hf_f64(h, "post_norm_eps", &eps));
        h->cfg->post_norm_eps = (float)eps;
        if (!(h->cfg->post_norm_eps > 0))
            return qr_fail(h->err, QUIRE_E_FORMAT, "%s: post_norm_eps must be above 0", what);
    }
    return QUIRE_OK;
}

static quire_status read_scales(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    double scalar = 0;
    QR_TRY(read_norm(h));
    if (h->arch->hf_query_scalar)
        QR_TRY(qr_hf_f64(h, "query_pre_attn_scalar", &scalar));
    scalar = scalar == 0 ? cfg->head_dim : scalar;
    cfg->attention_scale =
        h->arch->unscaled_attention || scalar == 0 ? 1 : (float)(1 / sqrt(scalar));
    if (h->arch->hf_scaled_latents &&
        cfg->mla.q_lora_rank) /* a factor of queries is one of scores */
        cfg->attention_scale *= sqrtf((float)cfg->hidden_size / (float)cfg->mla.q_lora_rank);
    QR_TRY(
        read_softcap(h, h->arch->attn_softcap, "attn_logit_softcapping", &cfg->attention_softcap));
    QR_TRY(read_softcap(h, h->arch->final_softcap, "final_logit_softcapping", &cfg->final_softcap));
    struct qr_hf_source file = *h;
    if (h->encoder) { /* a key of the file, which its stacks have without effect */
        qr_hf_ignore(h, "tie_word_embeddings");
        file.root = h->outer;
    }
    QR_TRY(qr_hf_bool(&file, "tie_word_embeddings", false, &cfg->tied_embeddings));
    cfg->unit_head = h->arch->hf_unit_head_vocab && cfg->vocab_size == h->arch->hf_unit_head_vocab;
    if (h->arch->scaled_tied_head) { /* without the newer key: scaled if tied */
        bool scaled;
        QR_TRY(qr_hf_bool(h, "scale_decoder_outputs", cfg->tied_embeddings, &scaled));
        cfg->logit_scale = scaled ? 1 / sqrtf((float)cfg->hidden_size) : 1;
    }
    return QUIRE_OK;
}

/* In MLA models num_key_value_heads and head_dim have no effect. */
static quire_status read_mla(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t nope, rope;
    bool has;
    if (!h->arch->mla)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32_opt(h, "q_lora_rank", &cfg->mla.q_lora_rank, &has)); /* null: none */
    QR_TRY(qr_hf_u32(h, "kv_lora_rank", &cfg->mla.kv_lora_rank));
    QR_TRY(qr_hf_u32(h, "qk_nope_head_dim", &nope));
    QR_TRY(qr_hf_u32(h, "qk_rope_head_dim", &rope));
    QR_TRY(qr_hf_u32(h, "v_head_dim", &cfg->v_head_dim));
    QR_TRY(qr_model_config_set_mla(cfg, nope, rope, h->err));
    if (h->arch->hf_scaled_latents)
        cfg->mla.latent_scale = sqrtf((float)cfg->hidden_size / (float)cfg->mla.kv_lora_rank);
    return QUIRE_OK;
}

/* Attention in both directions: true, or in Gemma 4 "all". "vision" concerns images. */
static quire_status read_direction(const struct qr_hf_source *h)
{
    static const char key[] = "use_bidirectional_attention";
    bool both = h->cfg->kind == QR_MODEL_ENCODER;
    const char *which = qr_json_string(qr_hf_json(h, key));
    if (which) {
        both = strcmp(which, "all") == 0;
        if (!both && strcmp(which, "vision") != 0)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED, "%s: %s %.60s is not supported", what, key,
                           which);
    } else {
        QR_TRY(qr_hf_bool(h, key, both, &both));
    }
    h->cfg->causal = !both;
    return QUIRE_OK;
}

/* The configuration but for tokens. n_encoder_layers has been read if the encoder has an object of
 * its own. */
static quire_status read_model(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t heads, kv_heads, ffn;
    bool has_window;
    QR_TRY(read_sizes(h, &heads, &kv_heads, &ffn));
    if (cfg->kind == QR_MODEL_ENCODER_DECODER && !h->encoder) {
        bool has;
        cfg->n_encoder_layers = cfg->n_layers;
        QR_TRY(qr_hf_u32_opt(h, "encoder_layers", &cfg->n_encoder_layers, &has));
    }
    QR_TRY(qr_model_config_add_layers(cfg, heads, kv_heads, ffn, h->err));
    QR_TRY(qr_hf_read_mixers(h));
    QR_TRY(read_mla(h));
    QR_TRY(read_encoder(h, heads, ffn));
    QR_TRY(read_direction(h));
    QR_TRY(read_relative_bias(h));
    QR_TRY(read_activation(h));
    QR_TRY(read_scales(h));
    QR_TRY(qr_hf_read_disentangled(h));
    QR_TRY(qr_hf_read_family(h));
    QR_TRY(qr_hf_read_recurrent(h));
    QR_TRY(qr_hf_read_shared_blocks(h));
    QR_TRY(qr_hf_read_streams(h));
    QR_TRY(qr_hf_read_windows(h, &has_window));
    QR_TRY(qr_hf_read_layer_sizes(h));
    QR_TRY(qr_hf_read_layer_heads(h));
    QR_TRY(qr_hf_read_rope(h));
    qr_model_config_set_ropes(cfg, h->arch, has_window);
    QR_TRY(qr_hf_read_compress(h));
    QR_TRY(qr_hf_read_index(h));
    QR_TRY(qr_hf_read_layer_rope(h));
    QR_TRY(qr_hf_read_moe(h));
    QR_TRY(qr_hf_read_layer_limits(h));
    QR_TRY(qr_hf_read_conv_attention(h));
    QR_TRY(qr_hf_read_loops(h));
    QR_TRY(qr_hf_read_head(h));
    QR_TRY(qr_hf_read_pooling(h));
    return qr_hf_read_classifier(h);
}

/* A model whose stacks have an object each; that of the encoder is read as a decoder's, whose
 * windows count one direction. */
static quire_status read_stacks(const struct qr_hf_source *h)
{
    struct qr_model_config encoder = { .memory.allocator = NULL };
    struct qr_hf_source e = *h;
    e.cfg = &encoder;
    e.root = h->encoder;
    qr_arena_init(&encoder.memory, h->cfg->memory.allocator, QR_CONFIG_MAX_BYTES);
    qr_model_config_init(&encoder, h->arch);
    encoder.kind = QR_MODEL_DECODER;
    quire_status s = read_model(&e);
    h->cfg->n_encoder_layers = encoder.n_layers;
    if (s == QUIRE_OK)
        s = read_model(h);
    if (s == QUIRE_OK)
        s = qr_hf_join_stacks(h, &encoder);
    qr_model_config_free(&encoder);
    return s;
}

/* ---- Entry point */

static bool is_text(const struct qr_json *v, const char *text)
{
    return qr_json_is_string(v) && strcmp(qr_json_string(v), text) == 0;
}

static bool is_variant(const struct qr_json *root, const struct qr_hf_variant *variant)
{
    const struct qr_json *v = variant->key ? qr_json_get(root, variant->key) : NULL;
    if (!qr_json_is_array(v))
        return is_text(v, variant->text);
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);)
        if (is_text(i.value, variant->text))
            return true;
    return false;
}

/* Finds the object that describes the language model, and its family. Most multimodal files have it
 * in text_config. */
static quire_status find_arch(struct qr_hf_source *h)
{
    const char *type = NULL, *text_type = NULL;
    enum qr_json_state state;
    QR_TRY(qr_hf_find_head(h));
    if (h->arch)
        return QUIRE_OK;
    QR_TRY(qr_json_str(h->outer, what, "model_type", &type, &state, h->err));
    if (!type)
        return qr_hf_missing(h, "model_type");
    const struct qr_json *text = qr_json_get(h->outer, "text_config");
    if (qr_json_is_object(text))
        QR_TRY(qr_json_str(text, what, "model_type", &text_type, &state, h->err));
    h->root = text;
    h->arch = qr_arch_by_hf_type(type);
    /* the object of a separate head names the family of its model */
    if (!h->arch || !h->arch->head_of[0] || !qr_json_is_object(text))
        h->arch = text_type ? qr_arch_by_hf_type(text_type) : NULL;
    if (!h->arch) {
        h->root = h->outer;
        h->arch = qr_arch_by_hf_type(type);
    }
    if (!h->arch)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED, "%s: model_type %.80s is not supported", what,
                       type);
    if (is_variant(h->root, &h->arch->hf_variant))
        h->arch = h->arch->hf_variant.arch;
    return QUIRE_OK;
}

static quire_status build(struct qr_hf_source *h, const struct qr_json *generation,
                          const struct qr_unknown_policy *policy)
{
    QR_TRY(find_arch(h));
    QR_INVARIANT(h->arch);
    QR_TRY(qr_hf_find_stacks(h));
    qr_model_config_init(h->cfg, h->arch);
    h->cfg->norm = h->arch->hf_norm;
    const char *name = qr_json_string(qr_json_get(h->outer, "_name_or_path"));
    if (name)
        qr_model_config_set_name(h->cfg, name, strlen(name));
    QR_TRY(h->encoder ? read_stacks(h) : read_model(h));
    QR_TRY(qr_hf_read_tokens(h, generation));
    QR_TRY(qr_hf_read_quantization(h, policy));
    qr_model_config_finish(h->cfg, h->arch);
    QR_TRY(qr_model_config_validate(h->cfg, h->err));
    return qr_hf_check_unknown(h, policy);
}

static quire_status parse_config(const char *text, size_t size, const struct quire_allocator *a,
                                 struct qr_json **config, struct quire_error *err)
{
    char *copy = qr_strndup(a, text, size);
    if (!copy)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %s of %zu bytes", what, size);
    (void)qr_hf_replace_infinities(copy, size);
    const quire_status s = qr_json_parse_object(copy, size, what, 0, a, config, err);
    qr_free(a, copy, size + 1, 1);
    return s;
}

quire_status qr_model_config_from_hf(const char *config_json, size_t config_size,
                                     const char *generation_json, size_t generation_size,
                                     const struct qr_unknown_policy *policy,
                                     const struct quire_allocator *a, struct qr_model_config *cfg,
                                     struct quire_error *err)
{
    struct qr_json *config = NULL, *generation = NULL;
    *cfg = (struct qr_model_config){ 0 };
    qr_arena_init(&cfg->memory, a, QR_CONFIG_MAX_BYTES);
    quire_status s = parse_config(config_json, config_size, a, &config, err);
    if (s == QUIRE_OK && generation_json)
        s = qr_json_parse_object(generation_json, generation_size, "generation_config.json", 0, a,
                                 &generation, err);
    if (s == QUIRE_OK) {
        struct qr_hf_reads reads = { 0 };
        struct qr_hf_source h = { .outer = config, .cfg = cfg, .err = err, .reads = &reads };
        s = build(&h, generation, policy);
    }
    qr_json_free(config);
    qr_json_free(generation);
    if (s != QUIRE_OK)
        qr_model_config_free(cfg);
    return s;
}
