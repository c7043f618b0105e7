/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_recurrent.c - recurrent layers in GGUF metadata and the tensor directory. */
#include "model/config/gguf_recurrent.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/config/config.h"

/* Compares the layers with the lists that newer files have. */
static quire_status check_lists(const struct qr_gguf_source *s)
{
    static const char key[] = "attention.recurrent_layers";
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type;
    uint32_t interval;
    QR_TRY(qr_gguf_source_u32_or(s, "full_attention_interval", 0, &interval)); /* says the same */
    qr_gguf_source_key(s, key, name);
    if (!qr_gguf_value_type(s->g, name, &type))
        return QUIRE_OK;
    struct qr_gguf_array list;
    if (type != QR_GGUF_ARRAY)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u bools", name,
                       s->cfg->n_layers);
    /* GCOVR_EXCL_BR_LINE: the type was checked. */
    QR_TRY(qr_gguf_get_array(s->g, name, &list, s->err));
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        bool recurs = false;
        if (list.count != s->cfg->n_layers || !qr_gguf_array_bool(&list, i, &recurs))
            return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u bools", name,
                           s->cfg->n_layers);
        if (recurs != qr_layer_recurs(&s->cfg->layers[i]))
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "metadata key %s says that layer %u %s recurrent, its tensors do not",
                           name, i, recurs ? "is" : "is not");
    }
    return QUIRE_OK;
}

quire_status qr_gguf_read_mixers(const struct qr_gguf_source *s)
{
    const struct qr_recurrent_arch *r = s->arch->recurrent;
    for (uint32_t i = 0; r && i < s->cfg->n_layers; i++) {
        struct qr_layer_config *l = &s->cfg->layers[i];
        const bool recurs =
            qr_recurrent_shifts(&r->config) || qr_gguf_source_has_role(s, QR_W_REC_CONV_V, i);
        const bool ffn = qr_gguf_source_has_role(s, QR_W_FFN_UP, i) ||
                         qr_gguf_source_has_role(s, QR_W_ROUTER, i);
        l->mixer = (uint8_t)(recurs          ? r->mixer
                             : l->n_kv_heads ? QR_MIXER_ATTENTION
                                             : QR_MIXER_NONE);
        l->no_ffn = !ffn;
        /* GCOVR_EXCL_BR_LINE: no family with such norms has GGUF files. */
        l->output_norm = l->mixer == QR_MIXER_ATTENTION && r->attention_output_norm;
        if (l->mixer == QR_MIXER_NONE && !ffn)
            return qr_fail(s->err, QUIRE_E_FORMAT,
                           "%s: layer %u has neither attention, a recurrent layer nor a "
                           "feed-forward network",
                           s->prefix, i);
        if (qr_layer_attends(l) && (!l->n_heads || !l->n_kv_heads))
            return qr_fail(s->err, QUIRE_E_FORMAT, "%s: layer %u has %u heads and %u kv heads",
                           s->prefix, i, l->n_heads, l->n_kv_heads);
    }
    return r ? check_lists(s) : QUIRE_OK;
}

/* inner_size is the width of x; time_step_rank the number of heads, in Mamba-1 the rank of dt. */
static quire_status read_ssm(const struct qr_gguf_source *s)
{
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    uint32_t inner, heads;
    QR_TRY(qr_gguf_source_u32(s, "ssm.inner_size", &inner));
    QR_TRY(qr_gguf_source_u32(s, "ssm.state_size", &r->key_dim));
    QR_TRY(qr_gguf_source_u32(s, "ssm.conv_kernel", &r->conv_taps));
    QR_TRY(qr_gguf_source_u32(s, "ssm.time_step_rank", &heads));
    if (r->kind == QR_RECURRENT_MAMBA1) {
        r->n_heads = inner;
        r->n_key_heads = r->value_dim = 1;
        r->dt_rank = heads;
        return qr_gguf_source_bool_or(s, "ssm.dt_b_c_rms", r->dt_norms, &r->dt_norms);
    }
    QR_TRY(qr_gguf_source_u32(s, "ssm.group_count", &r->n_key_heads));
    if (r->kind == QR_RECURRENT_MAMBA_MIX) {
        if (r->n_key_heads != 0)
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED, "%s.ssm.group_count is %u, not 0",
                           s->prefix, r->n_key_heads);
        r->n_key_heads = 1;
        r->dt_rank = qr_recurrent_mix_rank(s->cfg->hidden_size);
    }
    if (heads == 0 || inner % heads != 0)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "%s.ssm.inner_size %u is not a multiple of ssm.time_step_rank %u", s->prefix,
                       inner, heads);
    r->n_heads = heads;
    r->value_dim = inner / heads;
    return QUIRE_OK;
}

/* Heads of RWKV-6 and RWKV-7, and the number of sublayers with token shift. */
static quire_status read_wkv_heads(const struct qr_gguf_source *s)
{
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    const uint32_t want = r->plain_ffn ? 1 : 2;
    uint32_t shifts;
    QR_TRY(qr_gguf_source_u32_or(s, "token_shift_count", want, &shifts));
    if (shifts != want)
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED, "%s.token_shift_count is %u, not %u", s->prefix,
                       shifts, want);
    QR_TRY(qr_gguf_source_u32(s, "wkv.head_size", &r->key_dim));
    if (r->key_dim == 0 || s->cfg->hidden_size % r->key_dim != 0)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "%s.embedding_length %u is not a multiple of wkv.head_size %u", s->prefix,
                       s->cfg->hidden_size, r->key_dim);
    r->value_dim = r->key_dim;
    r->n_heads = r->n_key_heads = s->cfg->hidden_size / r->key_dim;
    return QUIRE_OK;
}

/* Heads of keys and values that those of queries share, the same number in all layers. */
static quire_status read_kv_heads(const struct qr_gguf_source *s)
{
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    r->n_kv_heads = s->cfg->layers[0].n_kv_heads;
    for (uint32_t i = 1; i < s->cfg->n_layers; i++)
        if (s->cfg->layers[i].n_kv_heads != r->n_kv_heads)
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "%s.attention.head_count_kv is %u in layer %u and %u in layer 0",
                           s->prefix, s->cfg->layers[i].n_kv_heads, i, r->n_kv_heads);
    if (r->n_kv_heads && r->n_heads % r->n_kv_heads != 0)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "%s: %u heads of wkv.head_size, not a multiple of attention.head_count_kv "
                       "%u",
                       s->prefix, r->n_heads, r->n_kv_heads);
    return QUIRE_OK;
}

/* Converters divide the output matrices of layer i by 2^(i / rescale_every_n_layers); those of
 * gated linear attention do not. */
static quire_status read_wkv6(const struct qr_gguf_source *s)
{
    enum { MAX_HALVINGS = 31 };
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    QR_TRY(read_wkv_heads(s));
    QR_TRY(qr_gguf_source_u32(s, "time_mix_extra_dim", &r->mix_rank));
    QR_TRY(qr_gguf_source_u32(s, "time_decay_extra_dim", &r->dt_rank));
    r->qkv_bias = qr_gguf_source_has_role(s, QR_W_REC_V_BIAS, 0);
    if (r->gated_linear)
        return read_kv_heads(s);
    QR_TRY(qr_gguf_source_u32_or(s, "rescale_every_n_layers", 0, &r->rescale_every));
    if (r->rescale_every && (s->cfg->n_layers - 1) / r->rescale_every > MAX_HALVINGS)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "%s.rescale_every_n_layers is %u: more than %d halvings in %u layers",
                       s->prefix, r->rescale_every, MAX_HALVINGS, s->cfg->n_layers);
    r->norm_eps = 64e-5f; /* the files have no key for it */
    return QUIRE_OK;
}

static quire_status read_wkv7(const struct qr_gguf_source *s)
{
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    QR_TRY(read_wkv_heads(s));
    QR_TRY(qr_gguf_source_u32(s, "attention.decay_lora_rank", &r->dt_rank));
    QR_TRY(qr_gguf_source_u32(s, "attention.iclr_lora_rank", &r->rate_rank));
    QR_TRY(qr_gguf_source_u32(s, "attention.value_residual_mix_lora_rank", &r->value_rank));
    if (!r->plain_ffn) {
        r->norm_eps = (float)r->key_dim * s->cfg->norm_eps;
        return qr_gguf_source_u32(s, "attention.gate_lora_rank", &r->gate_rank);
    }
    r->norm_eps = 64e-5f; /* the files have no key for it */
    r->no_norm = !qr_gguf_source_has_role(s, QR_W_REC_NORM, 0);
    QR_TRY(qr_gguf_source_u32_or(s, "attention.gate_lora_rank", 0, &r->gate_rank));
    r->output = r->gate_rank ? QR_RECURRENT_OUT_GATED : QR_RECURRENT_OUT_PLAIN;
    return QUIRE_OK;
}

/* KDA: queries, keys and values have the heads of attention. */
static quire_status read_kda(const struct qr_gguf_source *s)
{
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    bool bounded;
    QR_TRY(qr_gguf_source_u32(s, "kda.head_dim", &r->key_dim));
    QR_TRY(qr_gguf_source_u32(s, "ssm.conv_kernel", &r->conv_taps));
    QR_TRY(qr_gguf_source_f32_or(s, "kda.gate_lower_bound", 0, &r->decay_bound));
    QR_TRY(qr_gguf_source_bool_or(s, "kda.safe_gate", r->decay_bound != 0, &bounded));
    if (bounded != (r->decay_bound != 0))
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                       "%s.kda.safe_gate is %s, with a kda.gate_lower_bound of %g", s->prefix,
                       bounded ? "true" : "false", (double)r->decay_bound);
    r->value_dim = r->key_dim;
    r->n_heads = r->n_key_heads = s->cfg->layers[0].n_heads;
    return QUIRE_OK;
}

static quire_status read_sizes(const struct qr_gguf_source *s)
{
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    /* GCOVR_EXCL_BR_LINE: no family with another kind has GGUF files. */
    switch (r->kind) {
    case QR_RECURRENT_SHORT_CONV:
        r->n_heads = r->n_key_heads = s->cfg->hidden_size;
        r->key_dim = r->value_dim = 1;
        return qr_gguf_source_u32(s, "shortconv.l_cache", &r->conv_taps);
    case QR_RECURRENT_MAMBA1:
    case QR_RECURRENT_MAMBA2:
    case QR_RECURRENT_MAMBA_MIX:
        return read_ssm(s);
    case QR_RECURRENT_WKV6:
        return read_wkv6(s);
    case QR_RECURRENT_WKV7:
        return read_wkv7(s);
    case QR_RECURRENT_DELTA:
        return r->vector_decay ? read_kda(s) : read_ssm(s);
    default:
        return qr_fail(s->err, QUIRE_E_INTERNAL, "recurrent layers of kind %d in a GGUF file",
                       (int)r->kind);
    }
}

quire_status qr_gguf_read_recurrent(const struct qr_gguf_source *s)
{
    struct qr_recurrent_config *r = &s->cfg->recurrent;
    uint32_t first = 0;
    if (!s->arch->recurrent)
        return QUIRE_OK;
    while (first < s->cfg->n_layers && !qr_layer_recurs(&s->cfg->layers[first]))
        first++;
    QR_TRY(read_sizes(s));
    r->log_decay = false;
    r->tiled_heads = s->arch->recurrent->gguf_tiled_heads;
    r->conv_bias = qr_gguf_source_has_role(s, QR_W_REC_CONV_V_BIAS, first);
    /* the norms of Mamba-1 without weights have a fixed epsilon */
    r->dt_norm_eps = r->norm_weights ? s->cfg->norm_eps : 1e-6f;
    if (s->arch->hf_falcon_h1)
        r->output = qr_gguf_source_has_role(s, QR_W_REC_NORM, first) ? QR_RECURRENT_OUT_GATE_NORM
                                                                     : QR_RECURRENT_OUT_GATED;
    return QUIRE_OK;
}
