/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_layer_sizes.c - metadata of GGUF files that gives layers heads, keys and values or limits of
 * their own, and per-layer embeddings. */
#include "model/config/gguf_layer_sizes.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/gguf_head.h"
#include "model/config/limits.h"
#include <math.h>

/* Heads of layers with a window have sizes of their own. Layers without a value projection, none of
 * which has a window, use their keys. */
static quire_status read_global_heads(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    uint32_t size, value;
    QR_TRY(qr_gguf_source_u32_or(s, "attention.key_length_swa", cfg->head_dim, &size));
    QR_TRY(qr_gguf_source_u32_or(s, "attention.value_length_swa", cfg->v_head_dim, &value));
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        l->head_dim = l->window ? size : cfg->head_dim;
        l->v_head_dim = l->window ? value : cfg->v_head_dim;
        l->v_is_k = !l->window && !qr_gguf_source_has_role(s, QR_W_ATTN_V, i);
    }
    return QUIRE_OK;
}

/* Elements of dimension d of a tensor. */
static quire_status tensor_size(const struct qr_gguf_source *s, const char *name, int d,
                                uint32_t *out)
{
    size_t tensor;
    if (!qr_gguf_find_tensor(s->g, name, &tensor))
        return qr_fail(s->err, QUIRE_E_FORMAT, "tensor %s is missing", name);
    *out = qr_gguf_source_dim(s, tensor, d);
    return QUIRE_OK;
}

static quire_status read_ple(const struct qr_gguf_source *s)
{
    struct qr_ple_config *p = &s->cfg->ple;
    QR_TRY(qr_gguf_source_u32_or(s, "embedding_length_per_layer_input", 0, &p->dim));
    return p->dim ? tensor_size(s, "per_layer_token_embd.weight", 1, &p->vocab_size) : QUIRE_OK;
}

/* attention.shared_kv_layers, which some writers store as a float. */
static quire_status read_shared_kv(const struct qr_gguf_source *s)
{
    static const char key[] = "attention.shared_kv_layers";
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type = QR_GGUF_U32;
    uint32_t n = 0;
    float x = 0;
    qr_gguf_source_key(s, key, name);
    if (qr_gguf_value_type(s->g, name, &type) && type == QR_GGUF_F32) {
        /* GCOVR_EXCL_BR_LINE: the type was checked. */
        QR_TRY(qr_gguf_source_f32(s, key, &x));
        if (!(x >= 0 && x <= QR_CONFIG_MAX_LAYERS) || x != floorf(x))
            return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s is %g", name, (double)x);
        n = (uint32_t)x;
    } else {
        QR_TRY(qr_gguf_source_u32_or(s, key, 0, &n));
    }
    return qr_model_config_share_kv(s->cfg, n, s->err);
}

/* activation_sparsity_scale: the cutoff of each layer's gates; minus infinity: all are in use. */
static quire_status read_sparsity(const struct qr_gguf_source *s)
{
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type;
    struct qr_gguf_array list;
    struct qr_model_config *cfg = s->cfg;
    qr_gguf_source_key(s, "activation_sparsity_scale", name);
    if (!qr_gguf_value_type(s->g, name, &type))
        return QUIRE_OK;
    QR_TRY(qr_gguf_get_array(s->g, name, &list, s->err));
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        float cutoff;
        if (list.count != cfg->n_layers || !qr_gguf_array_f32(&list, i, &cutoff))
            return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u floats", name,
                           cfg->n_layers);
        cfg->layers[i].sparse_gate = cutoff > -INFINITY;
        cfg->layers[i].gate_cutoff = cfg->layers[i].sparse_gate ? cutoff : 0;
    }
    return QUIRE_OK;
}

/* Limits of the activations by layer, 0: none. */
static quire_status read_limits(const struct qr_gguf_source *s, const char *key, bool experts)
{
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type;
    struct qr_gguf_array list;
    qr_gguf_source_key(s, key, name);
    if (!qr_gguf_value_type(s->g, name, &type))
        return QUIRE_OK;
    QR_TRY(qr_gguf_get_array(s->g, name, &list, s->err));
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        struct qr_layer_config *l = &s->cfg->layers[i];
        float *limit = experts ? &l->expert_limit : &l->ffn_limit;
        if (!qr_gguf_source_per_layer(s, list.count) || !qr_gguf_array_f32(&list, i, limit) ||
            !(*limit >= 0))
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "metadata key %s must list %u floats, none of them negative", name,
                           s->cfg->n_layers);
    }
    return QUIRE_OK;
}

static quire_status read_altup(const struct qr_gguf_source *s)
{
    struct qr_altup_config *a = &s->cfg->altup;
    QR_TRY(qr_gguf_source_u32(s, "altup.num_inputs", &a->n_streams));
    QR_TRY(qr_gguf_source_u32_or(s, "altup.active_idx", 0, &a->active));
    QR_TRY(qr_gguf_source_bool_or(s, "altup.correct_scale", true, &a->correct_scale));
    a->coef_clip = s->arch->gguf_altup_coef_clip;
    QR_TRY(tensor_size(s, "blk.0.laurel_l.weight", 1, &s->cfg->laurel_rank));
    return read_sparsity(s);
}

/* Layers without heads have no attention, those with a feed-forward size of 0 no network. */
static quire_status read_sublayers(const struct qr_gguf_source *s)
{
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        struct qr_layer_config *l = &s->cfg->layers[i];
        if (l->n_heads && !l->n_kv_heads)
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "%s: layer %u has %u heads and no kv heads, a linear layer in the place "
                           "of attention, which is not supported",
                           s->prefix, i, l->n_heads);
        l->mixer = (uint8_t)(l->n_heads ? QR_MIXER_ATTENTION : QR_MIXER_NONE);
        l->no_ffn = l->ffn_size == 0;
    }
    return QUIRE_OK;
}

quire_status qr_gguf_read_layer_sizes(const struct qr_gguf_source *s)
{
    if (s->arch->altup)
        QR_TRY(read_altup(s));
    if (s->arch->global_heads)
        QR_TRY(read_global_heads(s));
    if (s->arch->shared_kv)
        QR_TRY(read_shared_kv(s));
    if (s->arch->head_of[0])
        QR_TRY(qr_gguf_read_head(s));
    if (s->arch->optional_sublayers)
        QR_TRY(read_sublayers(s));
    if (s->arch->layer_limits) {
        QR_TRY(read_limits(s, "swiglu_clamp_exp", true));
        QR_TRY(read_limits(s, "swiglu_clamp_shexp", false));
    }
    return s->arch->per_layer_embeddings ? read_ple(s) : QUIRE_OK;
}
