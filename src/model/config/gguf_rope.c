/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_rope.c - rotary parameters of GGUF files: metadata keys and factor tensors. */
#include "model/config/gguf_rope.h"
#include "base/alloc.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include <math.h>
#include <string.h>

static bool str_equals(const struct qr_gguf_str *s, const char *text)
{
    return s->size == strlen(text) && memcmp(s->data, text, s->size) == 0;
}

/* longrope: whether the file names that scaling, which is in tensors. */
static quire_status read_scaling(const struct qr_gguf_source *s, struct qr_rope_config *r,
                                 bool *longrope)
{
    struct qr_gguf_str type;
    float linear; /* older key for linear scaling */
    QR_TRY(qr_gguf_source_str_or(s, "rope.scaling.type", "", &type));
    QR_TRY(qr_gguf_source_f32_or(s, "rope.scale_linear", 1, &linear));
    *longrope = str_equals(&type, "longrope");
    if (str_equals(&type, "linear") || (type.size == 0 && linear != 1))
        r->scaling = QR_ROPE_SCALING_LINEAR;
    else if (str_equals(&type, "yarn"))
        r->scaling = QR_ROPE_SCALING_YARN;
    else if (type.size != 0 && !str_equals(&type, "none") && !*longrope)
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED, "%s.rope.scaling.type %.*s is not supported",
                       s->prefix, type.size < 40 ? (int)type.size : 40, type.data);
    float factor = linear;
    QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.factor", factor, &factor));
    /* writers store 0 if there is no scaling */
    r->factor = r->scaling == QR_ROPE_SCALING_NONE || factor == 0 ? 1 : (double)factor;
    return QUIRE_OK;
}

/* Reads a tensor of dim / 2 frequency divisors. A missing tensor leaves *out unchanged. */
static quire_status read_factors(const struct qr_gguf_source *s, const char *name, uint32_t dim,
                                 const float **out)
{
    size_t i;
    if (!qr_gguf_find_tensor(s->g, name, &i))
        return QUIRE_OK;
    const struct qr_gguf_tensor *t = qr_gguf_tensor(s->g, i);
    const uint32_t n = dim / 2;
    if (t->type != 0 || t->n_dims != 1 || t->dims[0] != n)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "tensor %s must contain %u f32 values, half the rotary dimensions", name, n);
    float *f = qr_arena_alloc(&s->cfg->memory, n, sizeof *f);
    if (!f)
        return qr_fail(s->err, QUIRE_E_NOMEM, "no memory for %s", name);
    /* GCOVR_EXCL_BR_LINE: an I/O error, of which faults tries a sample. */
    QR_TRY(qr_gguf_read_tensor(s->g, i, f, t->bytes, s->err));
    *out = f;
    return QUIRE_OK;
}

/* YaRN in MLA models: scales the attention scores instead of cos and sin. The stored multiplier is
 * 0.1 * mscale_all_dim of config.json. */
static quire_status apply_mla_mscale(const struct qr_gguf_source *s, const struct qr_rope_config *r,
                                     float factor)
{
    float multiplier;
    QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.yarn_log_multiplier", 0, &multiplier));
    const double m = (double)factor * (r->factor > 1 ? 1 + (double)multiplier * log(r->factor) : 1);
    s->cfg->attention_scale *= (float)(m * m);
    return QUIRE_OK;
}

/* Queries grow with their position over the context before YaRN. */
static quire_status read_temperature(const struct qr_gguf_source *s, const struct qr_rope_config *r)
{
    struct qr_model_config *cfg = s->cfg;
    uint32_t length;
    QR_TRY(qr_gguf_source_f32_or(s, "attention.temperature_scale", 0, &cfg->temperature_scale));
    QR_TRY(qr_gguf_source_u32_or(s, "attention.temperature_length", r->original_context, &length));
    cfg->temperature_everywhere = cfg->temperature_scale != 0;
    cfg->temperature_floor = cfg->temperature_everywhere ? (float)length : 0;
    return QUIRE_OK;
}

static quire_status read_yarn(const struct qr_gguf_source *s, struct qr_rope_config *r)
{
    float fast, slow, factor;
    QR_TRY(qr_gguf_source_u32_or(s, "rope.scaling.original_context_length", s->cfg->context_length,
                                 &r->original_context));
    QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.yarn_beta_fast", 32, &fast));
    QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.yarn_beta_slow", 1, &slow));
    QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.attn_factor", 1, &factor));
    QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.yarn_attn_factor", factor, &factor));
    r->beta_fast = (double)fast;
    r->beta_slow = (double)slow;
    r->truncate = !s->arch->gguf_yarn_no_truncate;
    if (s->arch->yarn_temperature)
        QR_TRY(read_temperature(s, r));
    if (s->arch->mla)
        return apply_mla_mscale(s, r, factor);
    float all_dim = 0; /* mscale_all_dim of config.json, whose mscale is 1 */
    if (s->arch->yarn_temperature)
        QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.yarn_log_multiplier", 0, &all_dim));
    /* the stored factor multiplies the one of the scaling rule */
    const double log_factor = r->factor > 1 ? 0.1 * log(r->factor) : 0;
    const double rule =
        s->arch->hf_yarn_unscaled ? 1 : (1 + log_factor) / (1 + (double)all_dim * log_factor);
    const bool total = s->arch->gguf_attn_factor_is_total &&
                       (qr_gguf_source_has(s, "rope.scaling.attn_factor") ||
                        qr_gguf_source_has(s, "rope.scaling.yarn_attn_factor"));
    r->cos_sin_scale = (float)((double)factor * (total ? 1 : rule));
    return QUIRE_OK;
}

static quire_status read_longrope(const struct qr_gguf_source *s, struct qr_rope_config *r,
                                  bool declared)
{
    QR_TRY(read_factors(s, "rope_factors_long.weight", r->dim, &r->factors_long));
    QR_TRY(read_factors(s, "rope_factors_short.weight", r->dim, &r->factors_short));
    if (!r->factors_long && !r->factors_short && !declared)
        return QUIRE_OK;
    if (!r->factors_long || !r->factors_short)
        return qr_fail(s->err, QUIRE_E_FORMAT, "tensor rope_factors_%s.weight is missing",
                       r->factors_long ? "short" : "long");
    r->scaling = QR_ROPE_SCALING_LONGROPE;
    QR_TRY(qr_gguf_source_u32_or(s, "rope.scaling.original_context_length", s->cfg->context_length,
                                 &r->original_context));
    if (r->original_context == 0)
        return qr_fail(s->err, QUIRE_E_FORMAT, "%s.rope.scaling.original_context_length is 0",
                       s->prefix);
    const double ratio = (double)s->cfg->context_length / r->original_context;
    const double rule = ratio > 1 ? sqrt(1 + log(ratio) / log((double)r->original_context)) : 1;
    return qr_gguf_source_f32_or(s, "rope.scaling.attn_factor", (float)rule, &r->cos_sin_scale);
}

/* RoPE of layers with a window: a base of its own, in some families without scaling. */
static quire_status read_local_rope(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    const struct qr_rope_config *r = &cfg->rope[0];
    struct qr_rope_config *local = &cfg->rope[1];
    /* chunks have a default size */
    const bool has_window =
        qr_gguf_source_has(s, "attention.sliding_window") || s->arch->chunked_windows;
    float theta = s->arch->gguf_local_theta > 0 ? s->arch->gguf_local_theta : (float)r->theta;
    QR_TRY(qr_gguf_source_f32_or(s, "rope.freq_base_swa", theta, &theta));
    *local = *r;
    local->theta = (double)theta;
    if (s->arch->gguf_local_rope)
        *local = (struct qr_rope_config){
            .kind = r->kind, .dim = r->dim, .theta = (double)theta, .factor = 1, .cos_sin_scale = 1
        };
    QR_TRY(qr_gguf_source_u32_or(s, "rope.dimension_count_swa", r->dim, &local->dim));
    const bool same =
        local->theta == r->theta && local->scaling == r->scaling && local->dim == r->dim;
    if (s->arch->gguf_local_theta > 0 || (has_window && (!same || s->arch->gguf_half_rope)))
        cfg->n_rope = 2;
    return QUIRE_OK;
}

/* Families with compressed keys: the scaled set is that of layers with such keys, with a base of
 * its own; the first set is that of the others. */
static quire_status split_rope(const struct qr_gguf_source *s)
{
    struct qr_rope_config *r = s->cfg->rope;
    float theta;
    QR_TRY(qr_gguf_source_f32(s, "attention.compress_rope_freq_base", &theta));
    r[1] = r[0];
    r[0] = (struct qr_rope_config){
        .kind = r[1].kind, .dim = r[1].dim, .theta = r[1].theta, .factor = 1, .cos_sin_scale = 1
    };
    r[1].theta = (double)theta;
    s->cfg->n_rope = 2;
    return QUIRE_OK;
}

/* Rows of q and k whose converter interleaved the halves of whole heads, of which the first r->dim
 * elements rotate: element i of the model is element 2i of the file, its pairs (i, i + dim / 2) are
 * (2i, 2i + dim). These are every other pair of a NeoX rotation of 2 dim elements. */
static quire_status rotate_even(const struct qr_gguf_source *s, struct qr_rope_config *r)
{
    const float still = 1e30f; /* divisor of the frequencies of the other pairs */
    if (r->scaling != QR_ROPE_SCALING_NONE)
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                       "%s.rope.dimension_count is %u of %u together with RoPE scaling", s->prefix,
                       r->dim, s->cfg->head_dim);
    if (r->dim % 2 != 0 || r->dim > s->cfg->head_dim / 2)
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                       "%s.rope.dimension_count is %u; all %u elements of a head or an even number "
                       "up to half of them are supported",
                       s->prefix, r->dim, s->cfg->head_dim);
    float *divisors = qr_arena_alloc(&s->cfg->memory, r->dim, sizeof *divisors);
    if (!divisors)
        return qr_fail(s->err, QUIRE_E_NOMEM, "no memory for RoPE frequencies");
    for (uint32_t i = 0; i < r->dim; i++)
        divisors[i] = i % 2 == 0 ? 1 : still;
    r->kind = QR_ROPE_NEOX;
    r->dim *= 2;
    r->scaling = QR_ROPE_SCALING_FREQ_FACTORS;
    r->factors_short = divisors;
    return QUIRE_OK;
}

/* HunYuan VL: the base is that of the file, enlarged by a constant. */
static quire_status read_alpha(const struct qr_gguf_source *s, struct qr_rope_config *r)
{
    float alpha = 0;
    if (s->arch->hf_rope_alpha)
        QR_TRY(qr_gguf_source_f32_or(s, "rope.scaling.alpha", 0, &alpha));
    if (alpha == 0)
        return QUIRE_OK;
    if (!(alpha > 0) || r->dim <= 2)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "%s.rope.scaling.alpha is %g with %u rotary dimensions", s->prefix,
                       (double)alpha, r->dim);
    r->theta *= pow((double)alpha, r->dim / (r->dim - 2.0));
    return QUIRE_OK;
}

static quire_status read_dim(const struct qr_gguf_source *s, uint32_t *dim)
{
    const uint32_t head = s->cfg->head_dim;
    QR_TRY(qr_gguf_source_u32_or(s, "rope.dimension_count", head, dim));
    if (!s->arch->gguf_whole_head_rope)
        return QUIRE_OK;
    if (*dim && *dim != head)
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                       "%s.rope.dimension_count is %u; family %s rotates all %u elements of a head",
                       s->prefix, *dim, s->arch->name, head);
    *dim = head;
    return QUIRE_OK;
}

quire_status qr_gguf_read_rope(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    struct qr_rope_config *r = &cfg->rope[0];
    float theta;
    bool in_use = true, longrope;
    if (s->arch->gguf_rope_if_finetuned)
        QR_TRY(qr_gguf_source_bool_or(s, "rope.scaling.finetuned", true, &in_use));
    /* GCOVR_EXCL_BR_LINE: the families with ALiBi in GGUF files have no RoPE. */
    if (s->arch->gguf_rope == QR_ROPE_NONE || cfg->alibi_max_bias > 0 || !in_use)
        return QUIRE_OK;
    *r = (struct qr_rope_config){ .kind = s->arch->gguf_rope, .factor = 1, .cos_sin_scale = 1 };
    QR_TRY(read_dim(s, &r->dim));
    QR_TRY(qr_gguf_source_f32_or(s, "rope.freq_base", 10000, &theta));
    r->theta = (double)theta;
    QR_TRY(read_alpha(s, r));
    QR_TRY(read_scaling(s, r, &longrope));
    if (r->scaling == QR_ROPE_SCALING_YARN)
        QR_TRY(read_yarn(s, r));
    QR_TRY(read_longrope(s, r, longrope));
    size_t i;
    if (r->scaling == QR_ROPE_SCALING_YARN || r->scaling == QR_ROPE_SCALING_LONGROPE) {
        if (qr_gguf_find_tensor(s->g, "rope_freqs.weight", &i))
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "tensor rope_freqs.weight together with another RoPE scaling");
    } else {
        QR_TRY(read_factors(s, "rope_freqs.weight", r->dim, &r->factors_short));
        if (r->factors_short)
            r->scaling = QR_ROPE_SCALING_FREQ_FACTORS;
    }
    cfg->n_rope = 1;
    if (s->arch->gguf_interleaved_heads && r->dim && r->dim < cfg->head_dim)
        QR_TRY(rotate_even(s, r));
    if (s->arch->shared_key_value)
        return split_rope(s);
    QR_TRY(read_local_rope(s));
    r->dim /= s->arch->gguf_half_rope ? 2 : 1; /* the factors of the others are 1 */
    return QUIRE_OK;
}
