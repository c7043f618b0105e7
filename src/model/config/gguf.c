/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c - builds the model configuration from GGUF metadata and the tensor directory. */
#include "model/config/gguf.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/gguf_compress.h"
#include "model/config/gguf_index.h"
#include "model/config/gguf_keys.h"
#include "model/config/gguf_layer_sizes.h"
#include "model/config/gguf_moe.h"
#include "model/config/gguf_recurrent.h"
#include "model/config/gguf_rope.h"
#include "model/config/gguf_streams.h"
#include "model/config/gguf_tokens.h"
#include "model/config/gguf_unknown.h"
#include "model/config/gguf_windows.h"
#include "model/config/gguf_xielu.h"
#include "model/config/limits.h"
#include "model/config/loops.h"
#include "model/config/validate.h"
#include <math.h>
#include <quire/model.h>
#include <stdio.h>
#include <string.h>

/* ---- Sizes */

/* Without the key, the vocabulary is as large as the embedding, or the LM head in its place. */
static quire_status read_vocab_size(const struct qr_gguf_source *s)
{
    size_t i;
    if (!qr_gguf_source_has(s, "vocab_size") &&
        (qr_gguf_find_tensor(s->g, "token_embd.weight", &i) ||
         qr_gguf_find_tensor(s->g, "output.weight", &i))) {
        s->cfg->vocab_size = qr_gguf_source_dim(s, i, 1);
        return QUIRE_OK;
    }
    return qr_gguf_source_u32(s, "vocab_size", &s->cfg->vocab_size);
}

/* key_length and value_length are the sizes of a head or, in newer files, of the cached row; newer
 * files have the sizes of a head in the two *_mla keys. */
static quire_status read_mla(const struct qr_gguf_source *s)
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
    return qr_model_config_set_mla(cfg, cfg->head_dim - rope, rope, s->err);
}

/* Layers behind the last one, which predict further tokens. */
static quire_status read_mtp(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    QR_TRY(qr_gguf_source_u32_or(s, "nextn_predict_layers", 0, &cfg->n_mtp_layers));
    if (cfg->n_mtp_layers >= cfg->n_layers)
        return qr_fail(s->err, QUIRE_E_FORMAT, "%s: %u layers, %u of them predict further tokens",
                       s->prefix, cfg->n_layers, cfg->n_mtp_layers);
    cfg->n_layers -= cfg->n_mtp_layers;
    return QUIRE_OK;
}

static quire_status read_sizes(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    QR_TRY(qr_gguf_source_u32(s, "block_count", &cfg->n_layers));
    if (s->arch->gguf_mtp)
        QR_TRY(read_mtp(s));
    if (cfg->kind == QR_MODEL_ENCODER_DECODER) { /* block_count counts encoder layers */
        cfg->n_encoder_layers = cfg->n_layers;
        QR_TRY(qr_gguf_source_u32_or(s, "decoder_block_count", cfg->n_layers, &cfg->n_layers));
    }
    QR_TRY(qr_gguf_source_u32(s, "embedding_length", &cfg->hidden_size));
    QR_TRY(qr_gguf_source_u32(s, "context_length", &cfg->context_length));
    QR_TRY(read_vocab_size(s));
    QR_TRY(qr_model_config_add_layers(cfg, 0, 0, 0, s->err));
    for (uint32_t i = 0; i < qr_model_total_layers(cfg); i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        const uint32_t at = i < cfg->n_layers ? i : i - cfg->n_layers;
        QR_TRY(qr_gguf_source_layer_u32(s, "attention.head_count", at, 0, &l->n_heads));
        if (l->n_heads == 0 && !s->arch->recurrent && !s->arch->optional_sublayers)
            return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s.attention.head_count is 0",
                           s->prefix);
        if (l->n_heads || qr_gguf_source_has(s, "attention.head_count_kv"))
            QR_TRY(qr_gguf_source_layer_u32(s, "attention.head_count_kv", at, l->n_heads,
                                            &l->n_kv_heads));
        /* files of families without a dense layer lack the key */
        QR_TRY(qr_gguf_source_layer_u32(s, "feed_forward_length", at, s->arch->shared_key_value,
                                        &l->ffn_size));
        l->ffn_size /= s->arch->half_ffn ? 2 : 1;
    }
    const uint32_t heads = cfg->layers[0].n_heads;
    QR_TRY(qr_gguf_read_mixers(s));
    QR_TRY(qr_gguf_source_u32_or(s, "attention.key_length", heads ? cfg->hidden_size / heads : 0,
                                 &cfg->head_dim));
    /* files of MLA models may lack the key if values have the usual size */
    const uint32_t value = s->arch->mla && heads ? cfg->hidden_size / heads : cfg->head_dim;
    QR_TRY(qr_gguf_source_u32_or(s, "attention.value_length", value, &cfg->v_head_dim));
    return s->arch->mla ? read_mla(s) : QUIRE_OK;
}

/* ---- Scales and flags */

static float default_cap(const struct qr_gguf_source *s, const char *key, bool in_use)
{
    return in_use ? qr_gguf_source_default(s, key) : 0;
}

static quire_status read_scales(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    const struct qr_arch *arch = s->arch;
    /* GCOVR_EXCL_BR_LINE: layers of families without recurrent ones have heads. */
    const uint32_t width = arch->gguf_hidden_scale_layers == cfg->n_layers && cfg->layers[0].n_heads
                               ? cfg->hidden_size / cfg->layers[0].n_heads
                               : cfg->head_dim;
    const bool rms = cfg->norm == QR_NORM_RMS || cfg->norm == QR_NORM_RMS_PLUS1 ||
                     cfg->norm == QR_NORM_RMS_PLAIN;
    const char *keys[] = { "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon" };
    /* some models have the other key */
    const bool other = !qr_gguf_source_has(s, keys[rms]) && qr_gguf_source_has(s, keys[!rms]);
    QR_TRY(qr_gguf_source_f32(s, keys[rms != other], &cfg->norm_eps));
    if (arch->norm_by_eps && other)
        cfg->norm = QR_NORM_RMS;
    const float scale = !width                ? 1
                        : arch->scaled_by_dim ? 1 / (float)width
                                              : (float)(1 / sqrt(width));
    QR_TRY(qr_gguf_source_f32_or(s, "attention.scale", arch->unscaled_attention ? 1 : scale,
                                 &cfg->attention_scale));
    if (cfg->attention_scale == 0 && width) /* some writers store 0 for the default */
        cfg->attention_scale = scale;
    QR_TRY(qr_gguf_source_f32_or(s, "attn_logit_softcapping",
                                 default_cap(s, "attn_logit_softcapping", arch->attn_softcap),
                                 &cfg->attention_softcap));
    return qr_gguf_source_f32_or(s, "final_logit_softcapping",
                                 default_cap(s, "final_logit_softcapping", arch->final_softcap),
                                 &cfg->final_softcap);
}

static quire_status read_multipliers(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    const float width = (float)cfg->hidden_size;
    float embedding = s->arch->gguf_scaled_embedding ? sqrtf(width) : 1, residual = 1, logit = 1;
    if (s->arch->gguf_minicpm) { /* of the models whose files lack the keys; logit is a divisor */
        embedding = 12;
        residual = 1.4f / sqrtf((float)cfg->n_layers);
        logit = width / 256;
    }
    QR_TRY(qr_gguf_source_f32_or(s, "embedding_scale", embedding, &cfg->embedding_scale));
    QR_TRY(qr_gguf_source_f32_or(s, "residual_scale", residual, &cfg->residual_scale));
    if (cfg->gains) /* required: where folders have a tensor, these files have only the key */
        QR_TRY(qr_gguf_source_f32(s, "logit_scale", &cfg->logit_scale));
    QR_TRY(qr_gguf_source_f32_or(s, "logit_scale", logit, &cfg->logit_scale));
    if (cfg->logit_scale == 0) /* some writers store 0 for the default */
        cfg->logit_scale = 1;
    if (s->arch->divides_logits)
        cfg->logit_scale = 1 / cfg->logit_scale;
    QR_TRY(qr_gguf_source_f32_or(s, "attention.clamp_kqv", 0, &cfg->clip_qkv));
    if (s->arch->hf_value_scale)
        QR_TRY(qr_gguf_source_f32_or(s, "attention.value_scale", 1, &cfg->attention_out_scale));
    if (s->arch->alibi_max_bias > 0)
        QR_TRY(qr_gguf_source_f32_or(s, "attention.max_alibi_bias", s->arch->alibi_max_bias,
                                     &cfg->alibi_max_bias));
    if ((s->arch->hf_alibi_key && !qr_gguf_source_has(s, "attention.max_alibi_bias")) ||
        (s->arch->alibi_layers && cfg->n_layers != s->arch->alibi_layers))
        cfg->alibi_max_bias = 0; /* a variant of the family without ALiBi */
    cfg->alibi_scale = s->arch->alibi_scaled ? cfg->attention_scale : 1;
    return QUIRE_OK;
}

static bool has_role(const struct qr_gguf_source *s, enum qr_weight_role role)
{
    return qr_gguf_source_has_role(s, role, 0);
}

static quire_status read_pooling(const struct qr_gguf_source *s)
{
    static const uint8_t modes[] = { QUIRE_POOLING_MEAN, QUIRE_POOLING_MEAN, QUIRE_POOLING_CLS,
                                     QUIRE_POOLING_LAST };
    uint32_t type; /* 0: unspecified */
    QR_TRY(qr_gguf_source_u32_or(s, "pooling_type", 0, &type));
    if (type < sizeof modes)
        s->cfg->pooling = modes[type];
    return QUIRE_OK;
}

/* Dense layers behind the pooling. Files have two of them or none. */
static quire_status read_dense(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    for (uint32_t i = 0; i < 2; i++) {
        static const char *const tensors[] = { "dense_2.weight", "dense_3.weight" };
        struct qr_dense_config *d = &cfg->dense[i];
        char in[32], out[32];
        size_t tensor;
        snprintf(in, sizeof in, "dense_%u_feat_in", i + 2);
        snprintf(out, sizeof out, "dense_%u_feat_out", i + 2);
        QR_TRY(qr_gguf_source_u32_or(s, in, cfg->hidden_size, &d->in));
        QR_TRY(qr_gguf_source_u32_or(s, out, cfg->hidden_size, &d->out));
        if (!qr_gguf_find_tensor(s->g, tensors[i], &tensor))
            break;
        QR_TRY(qr_model_config_check_dense(cfg, i, s->err));
        cfg->n_dense = i + 1;
    }
    return QUIRE_OK;
}

/* Whether the labels of a classification head are "yes" and "no": those of Qwen3-Reranker, whose
 * head has these rows of the LM head. */
static bool has_yes_no(const struct qr_gguf_source *s)
{
    static const char *const want[] = { "yes", "no" };
    char key[QR_GGUF_KEY_MAX];
    struct qr_gguf_array labels;
    qr_gguf_source_key(s, "classifier.output_labels", key);
    if (!qr_gguf_has(s->g, key) || qr_gguf_get_array(s->g, key, &labels, NULL) != QUIRE_OK ||
        labels.count != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct qr_gguf_str text;
        if (!qr_gguf_array_str(&labels, i, &text) || text.size != strlen(want[i]) ||
            memcmp(text.data, want[i], text.size) != 0)
            return false;
    }
    return true;
}

/* The classification head of rerankers. A matrix of one row is stored as a vector. */
static void read_classifier(const struct qr_gguf_source *s)
{
    const bool decoder = s->cfg->kind == QR_MODEL_DECODER;
    size_t tensor;
    if (!qr_gguf_find_tensor(s->g, "cls.output.weight", &tensor) ||
        (!decoder && !qr_gguf_source_has_role(s, QR_W_CLASS_OUT, 0)))
        return;
    const uint32_t rows = qr_gguf_source_dim(s, tensor, 1);
    s->cfg->class_yes_no = decoder && rows == 2 && has_yes_no(s);
    s->cfg->n_labels = s->cfg->class_yes_no ? 1 : rows;
    s->cfg->class_head =
        qr_gguf_source_has_role(s, QR_W_CLASS_DENSE, 0) ? QR_CLASS_DENSE : QR_CLASS_PLAIN;
    if (s->arch->hf_class_head == QR_CLASS_MASKED) {
        s->cfg->class_head = QR_CLASS_MASKED;
        s->cfg->class_mean = true; /* the files have no key for the pooling */
    }
    s->cfg->sigmoid_scores = s->cfg->n_labels == 1;
}

static quire_status read_activation(const struct qr_gguf_source *s)
{
    static const struct {
        const char *name;
        enum qr_activation act;
    } names[] = { { "gelu", QR_ACT_GELU_ERF }, { "silu", QR_ACT_SILU }, { "relu2", QR_ACT_RELU2 } };
    struct qr_gguf_str text;
    QR_TRY(qr_gguf_source_str_or(s, "hidden_activation", s->arch->gguf_silu ? "silu" : "", &text));
    if (text.size == 0)
        return QUIRE_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text.size == strlen(names[i].name) &&
            memcmp(text.data, names[i].name, text.size) == 0) {
            s->cfg->activation = names[i].act;
            return QUIRE_OK;
        }
    return qr_fail(s->err, QUIRE_E_UNSUPPORTED, "%s.hidden_activation %.*s is not supported",
                   s->prefix, text.size < 60 ? (int)text.size : 60, text.data);
}

/* Pooling, token types and the relative position bias. */
static quire_status read_encoder(const struct qr_gguf_source *s)
{
    enum { DEFAULT_DISTANCE = 128 }; /* the files have no key for it */
    struct qr_model_config *cfg = s->cfg;
    size_t tensor;
    QR_TRY(read_pooling(s));
    QR_TRY(read_dense(s));
    read_classifier(s);
    if (cfg->kind == QR_MODEL_ENCODER && qr_gguf_find_tensor(s->g, "token_types.weight", &tensor))
        cfg->n_token_types = qr_gguf_source_dim(s, tensor, 1);
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

/* Detects parallel blocks by the key or by the norms that are present. */
static quire_status read_block(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    bool parallel;
    size_t tensor;
    if (s->arch->hf_falcon) {
        const bool two_norms = qr_gguf_find_tensor(s->g, "blk.0.attn_norm_2.weight", &tensor);
        cfg->block = two_norms ? QR_BLOCK_PARALLEL_2NORM : QR_BLOCK_PARALLEL;
    } else if (s->arch->gguf_parallel_by_norms) {
        /* the key is true in files of sequential models, too */
        QR_TRY(qr_gguf_source_bool_or(s, "use_parallel_residual", false, &parallel));
        cfg->block = has_role(s, QR_W_FFN_NORM) ? s->arch->block : s->arch->hf_parallel_block;
    } else if (s->arch->hf_parallel_key) {
        QR_TRY(qr_gguf_source_bool_or(s, "use_parallel_residual",
                                      s->arch->hf_parallel_block == QR_BLOCK_PARALLEL_2NORM,
                                      &parallel));
        cfg->block = parallel ? s->arch->hf_parallel_block : s->arch->block;
    }
    return QUIRE_OK;
}

/* Attention gates of heads or of elements: the tensor of the first layer with one tells. */
static void read_gate(const struct qr_gguf_source *s)
{
    char name[QR_GGUF_KEY_MAX];
    size_t gate;
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        snprintf(name, sizeof name, "blk.%u.attn_gate.weight", i);
        if (!qr_gguf_find_tensor(s->g, name, &gate))
            continue;
        s->cfg->gate_per_head = qr_gguf_tensor(s->g, gate)->dims[1] == s->cfg->layers[i].n_heads;
        return;
    }
}

/* Derives flags from the tensor directory: the metadata does not list bias vectors. */
static void read_flags(const struct qr_gguf_source *s)
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
    /* the tensor of QR_W_ATTN_Q_NORMS has the same name */
    /* GCOVR_EXCL_BR_LINE: no family with norms without weights has the key and GGUF files. */
    if (s->arch->hf_qk_norm_key && s->cfg->qk_norm != QR_QK_NORM_L2 &&
        !has_role(s, QR_W_ATTN_Q_NORM))
        s->cfg->qk_norm = QR_QK_NORM_NONE;
    s->cfg->tied_embeddings = !has_role(s, QR_W_OUTPUT);
    for (uint32_t i = 0; s->arch->sinks_in_windows && i < s->cfg->n_layers; i++)
        s->cfg->layers[i].sinks = qr_gguf_source_has_role(s, QR_W_ATTN_SINKS, i);
    if (s->arch->hf_layer_heads)
        read_gate(s);
}

/* ---- Entry point */

static quire_status build(struct qr_gguf_source *s, const struct qr_unknown_policy *policy)
{
    struct qr_model_config *cfg = s->cfg;
    struct qr_gguf_str name;
    qr_model_config_init(cfg, s->arch);
    cfg->norm = s->arch->gguf_norm;
    if (s->arch->gguf_qk_norm)
        cfg->qk_norm = s->arch->gguf_qk_norm;
    QR_TRY(qr_gguf_get_str_or(s->g, "general.name", "", &name, s->err));
    qr_model_config_set_name(cfg, name.data, name.size);
    QR_TRY(read_sizes(s));
    QR_TRY(qr_gguf_source_bool_or(s, "attention.causal", cfg->causal, &cfg->causal));
    QR_TRY(read_scales(s));
    QR_TRY(read_multipliers(s));
    QR_TRY(qr_gguf_read_recurrent(s));
    QR_TRY(read_encoder(s));
    QR_TRY(read_block(s));
    if (s->arch->kind == QR_MODEL_ENCODER || s->arch->gguf_silu)
        QR_TRY(read_activation(s));
    QR_TRY(qr_gguf_read_xielu(s));
    QR_TRY(qr_gguf_read_rope(s));
    QR_TRY(qr_gguf_read_windows(s));
    QR_TRY(qr_gguf_read_layer_sizes(s));
    read_flags(s);
    QR_TRY(qr_gguf_read_compress(s));
    QR_TRY(qr_gguf_read_streams(s));
    QR_TRY(qr_gguf_read_index(s));
    QR_TRY(qr_gguf_read_moe(s));
    QR_TRY(qr_gguf_read_tokens(s));
    QR_TRY(qr_gguf_read_loops(s));
    qr_model_config_finish(cfg, s->arch);
    QR_TRY(qr_model_config_validate(cfg, s->err));
    return qr_gguf_check_unknown(s, policy);
}

quire_status qr_model_config_from_gguf(const struct qr_gguf *g,
                                       const struct qr_unknown_policy *policy,
                                       const struct quire_allocator *a, struct qr_model_config *cfg,
                                       struct quire_error *err)
{
    struct qr_gguf_str arch;
    *cfg = (struct qr_model_config){ 0 };
    QR_TRY(qr_gguf_get_str(g, "general.architecture", &arch, err));
    struct qr_gguf_source s = {
        .g = g, .cfg = cfg, .err = err, .arch = qr_arch_by_gguf(arch.data, arch.size)
    };
    if (!s.arch)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "general.architecture %.*s is not supported",
                       arch.size < 64 ? (int)arch.size : 64, arch.data);
    snprintf(s.prefix, sizeof s.prefix, "%.*s", (int)arch.size, arch.data);
    s.read = qr_calloc(a, qr_gguf_key_count(g), 1);
    if (!s.read)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu metadata keys", qr_gguf_key_count(g));
    qr_arena_init(&cfg->memory, a, QR_CONFIG_MAX_BYTES);
    const quire_status status = build(&s, policy);
    qr_free(a, s.read, qr_gguf_key_count(g), 1);
    if (status != QUIRE_OK)
        qr_model_config_free(cfg);
    return status;
}
