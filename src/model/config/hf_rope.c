/* SPDX-License-Identifier: Apache-2.0 */
/* hf_rope.c - rotary parameters of config.json: rope_parameters, or rope_theta and rope_scaling. */
#include "model/config/hf_rope.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/hf_layer_lists.h"
#include "model/config/limits.h"
#include <math.h>
#include <string.h>

/* JSON object of one RoPE set. */
struct rope_source {
    const struct qr_hf_source *h;
    const struct qr_json *dict; /* NULL: defaults only */
    double theta;               /* default */
    double partial;             /* rotating part of a head, by default */
    bool proportional;          /* by default, with frequencies of the whole head */
    uint32_t head_dim;          /* of the layers with the set */
    bool nested;                /* dict applies to one layer type */
};

static quire_status get_f64(const struct rope_source *s, const char *key, double dflt, double *out,
                            bool *has)
{
    enum qr_json_state state = QR_JSON_ABSENT;
    *out = dflt;
    qr_hf_mark(s->h, s->dict, key);
    QR_TRY(qr_json_f64(s->dict, "config.json: RoPE parameters", key, out, &state, s->h->err));
    if (has)
        *has = state == QR_JSON_PRESENT;
    return QUIRE_OK;
}

static quire_status require_f64(const struct rope_source *s, const char *key, double *out)
{
    bool has;
    QR_TRY(get_f64(s, key, 0, out, &has));
    return has ? QUIRE_OK
               : qr_fail(s->h->err, QUIRE_E_FORMAT, "config.json: RoPE parameters: %s is missing",
                         key);
}

static quire_status read_scaling_type(const struct rope_source *s, enum qr_rope_scaling *out)
{
    static const struct {
        const char *name;
        enum qr_rope_scaling scaling;
    } types[] = {
        { "default", QR_ROPE_SCALING_NONE },
        { "linear", QR_ROPE_SCALING_LINEAR },
        { "llama3", QR_ROPE_SCALING_LLAMA3 },
        { "yarn", QR_ROPE_SCALING_YARN },
        { "longrope", QR_ROPE_SCALING_LONGROPE },
        { "su", QR_ROPE_SCALING_LONGROPE },
        { "dynamic", QR_ROPE_SCALING_DYNAMIC },
        { "proportional", QR_ROPE_SCALING_FREQ_FACTORS },
        { "mrope", QR_ROPE_SCALING_NONE }, /* positions of images; those of text are plain */
        { "ntk", QR_ROPE_SCALING_NTK },
        { "xdrope", QR_ROPE_SCALING_DYNAMIC }, /* as mrope, with alpha */
    };
    const char *name = "default";
    enum qr_json_state state;
    qr_hf_mark(s->h, s->dict, "rope_type");
    QR_TRY(qr_json_str(s->dict, "config.json: RoPE parameters", "rope_type", &name, &state,
                       s->h->err));
    if (state != QR_JSON_PRESENT)
        QR_TRY(
            qr_json_str(s->dict, "config.json: RoPE parameters", "type", &name, &state, s->h->err));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0) {
            if ((types[i].scaling == QR_ROPE_SCALING_NTK && !s->h->arch->hf_ntk_rope) ||
                (strcmp(name, "xdrope") == 0 && !s->h->arch->hf_rope_alpha))
                break;
            *out = types[i].scaling;
            if (*out == QR_ROPE_SCALING_YARN && s->h->arch->hf_yarn_is_longrope)
                *out = QR_ROPE_SCALING_LONGROPE;
            return QUIRE_OK;
        }
    return qr_fail(s->h->err, QUIRE_E_UNSUPPORTED, "config.json: RoPE type %.60s is not supported",
                   name);
}

/* Context length before the extension by scaling. A top-level key takes precedence over dict. */
static quire_status read_original_context(const struct rope_source *s, uint32_t *out)
{
    static const char key[] = "original_max_position_embeddings";
    bool has = false;
    enum qr_json_state state;
    if (!s->nested)
        QR_TRY(qr_hf_u32_opt(s->h, key, out, &has));
    if (has)
        return QUIRE_OK;
    *out = s->h->cfg->context_length;
    qr_hf_mark(s->h, s->dict, key);
    return qr_json_u32(s->dict, "config.json: RoPE parameters", key, out, &state, s->h->err);
}

/* factor; defaults to the ratio of the two context lengths. */
static quire_status read_factor(const struct rope_source *s, struct qr_rope_config *r)
{
    if (r->original_context == 0)
        return qr_fail(s->h->err, QUIRE_E_FORMAT,
                       "config.json: original_max_position_embeddings is 0");
    return get_f64(s, "factor", (double)s->h->cfg->context_length / r->original_context, &r->factor,
                   NULL);
}

static double yarn_mscale(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static quire_status read_yarn(const struct rope_source *s, struct qr_rope_config *r)
{
    double mscale, all_dim, attention;
    bool has;
    enum qr_json_state state;
    QR_TRY(read_original_context(s, &r->original_context));
    QR_TRY(read_factor(s, r));
    QR_TRY(get_f64(s, "mscale", 0, &mscale, NULL));
    QR_TRY(get_f64(s, "mscale_all_dim", 0, &all_dim, NULL));
    QR_TRY(get_f64(s, "attention_factor", 0, &attention, &has));
    if (!has && s->h->arch->hf_yarn_unscaled)
        attention = 1;
    else if (!has)
        attention = mscale != 0 && all_dim != 0
                        ? yarn_mscale(r->factor, mscale) / yarn_mscale(r->factor, all_dim)
                        : yarn_mscale(r->factor, 1);
    r->cos_sin_scale = (float)attention;
    if (s->h->arch->yarn_temperature) {
        double beta;
        QR_TRY(get_f64(s, "llama_4_scaling_beta", 0, &beta, NULL));
        qr_hf_mark(s->h, s->dict, "max_position_embeddings"); /* as at the top level */
        s->h->cfg->temperature_floor = beta != 0 ? (float)r->original_context : 0;
        s->h->cfg->temperature_scale = (float)beta;
        s->h->cfg->temperature_everywhere = beta != 0;
    }
    if (s->h->arch->mla &&
        all_dim != 0) { /* MLA families scale the scores, including their part without RoPE */
        const double m = yarn_mscale(r->factor, all_dim);
        s->h->cfg->attention_scale *= (float)(m * m);
    }
    QR_TRY(get_f64(s, "beta_fast", 32, &r->beta_fast, NULL));
    QR_TRY(get_f64(s, "beta_slow", 1, &r->beta_slow, NULL));
    r->beta_fast = r->beta_fast != 0 ? r->beta_fast : 32;
    r->beta_slow = r->beta_slow != 0 ? r->beta_slow : 1;
    r->truncate = true;
    qr_hf_mark(s->h, s->dict, "truncate");
    return qr_json_bool(s->dict, "config.json: RoPE parameters", "truncate", &r->truncate, &state,
                        s->h->err);
}

static quire_status read_factors(const struct rope_source *s, const char *key, uint32_t dim,
                                 const float **out)
{
    const struct qr_json *list = qr_json_get(s->dict, key);
    const size_t n = dim / 2;
    qr_hf_mark(s->h, s->dict, key);
    if (!qr_json_is_array(list) || qr_json_size(list) != n)
        return qr_fail(s->h->err, QUIRE_E_FORMAT,
                       "config.json: %s must be a list of %zu numbers (half the rotary dimensions)",
                       key, n);
    float *f = qr_arena_alloc(&s->h->cfg->memory, n, sizeof *f);
    if (!f)
        return qr_fail(s->h->err, QUIRE_E_NOMEM, "no memory for %s", key);
    for (size_t i = 0; i < n; i++) {
        double v;
        if (!qr_json_is_f64(qr_json_at(list, i), &v) || !(v > 0))
            return qr_fail(s->h->err, QUIRE_E_FORMAT,
                           "config.json: %s[%zu] must be a positive number", key, i);
        f[i] = (float)v;
    }
    *out = f;
    return QUIRE_OK;
}

/* short_mscale and long_mscale (Phi-3.5-MoE): factors of cos and sin up to the original context and
 * beyond. */
static quire_status read_longrope_mscale(const struct rope_source *s, struct qr_rope_config *r)
{
    double small, large;
    QR_TRY(require_f64(s, "short_mscale", &small));
    QR_TRY(require_f64(s, "long_mscale", &large));
    if (small != large)
        return qr_fail(s->h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: short_mscale %g and long_mscale %g; only equal values are "
                       "supported",
                       small, large);
    r->cos_sin_scale = (float)small;
    return QUIRE_OK;
}

static quire_status read_longrope(const struct rope_source *s, struct qr_rope_config *r)
{
    double attention;
    bool has;
    QR_TRY(read_original_context(s, &r->original_context));
    QR_TRY(read_factor(s, r));
    QR_TRY(get_f64(s, "attention_factor", 0, &attention, &has));
    if (!has)
        attention =
            r->factor <= 1 ? 1 : sqrt(1 + log(r->factor) / log((double)r->original_context));
    r->cos_sin_scale = (float)attention;
    if (s->h->arch->hf_longrope_mscale)
        QR_TRY(read_longrope_mscale(s, r));
    QR_TRY(read_factors(s, "short_factor", r->dim, &r->factors_short));
    return read_factors(s, "long_factor", r->dim, &r->factors_long);
}

/* NTK-aware scaling by a constant alpha, which the reference implementation applies instead of the
 * dynamic rule. It enlarges the base. */
static quire_status read_alpha(const struct rope_source *s, struct qr_rope_config *r, bool *has)
{
    double alpha;
    QR_TRY(get_f64(s, "alpha", 0, &alpha, has));
    *has = *has && alpha != 0;
    if (!*has)
        return QUIRE_OK;
    if (!(alpha > 0) || r->dim <= 2)
        return qr_fail(s->h->err, QUIRE_E_FORMAT, "config.json: alpha %g with %u rotary dimensions",
                       alpha, r->dim);
    r->scaling = QR_ROPE_SCALING_NONE;
    r->theta *= pow(alpha, r->dim / (r->dim - 2.0));
    return QUIRE_OK;
}

static quire_status read_dynamic(const struct rope_source *s, struct qr_rope_config *r)
{
    bool has = false;
    if (s->h->arch->hf_rope_alpha)
        QR_TRY(read_alpha(s, r, &has));
    if (has)
        return QUIRE_OK;
    r->original_context = s->h->cfg->context_length;
    return require_f64(s, "factor", &r->factor);
}

/* Frequencies of the whole head, of which only the first r->dim / 2 turn. */
static quire_status read_proportional(const struct rope_source *s, struct qr_rope_config *r)
{
    static const float never = 1e30f; /* GGUF files have this divisor, too */
    const uint32_t turning = r->dim / 2, n = s->head_dim / 2;
    if (s->head_dim > QR_CONFIG_MAX_HEAD_DIM)
        return qr_fail(s->h->err, QUIRE_E_FORMAT, "config.json: heads of %u dimensions",
                       s->head_dim);
    float *f = qr_arena_alloc(&s->h->cfg->memory, n, sizeof *f);
    if (!f)
        return qr_fail(s->h->err, QUIRE_E_NOMEM, "no memory for %u RoPE factors", n);
    for (uint32_t i = 0; i < n; i++)
        f[i] = i < turning ? 1 : never;
    r->factors_short = f;
    r->dim = s->head_dim;
    return get_f64(s, "factor", 1, &r->factor, NULL);
}

static quire_status read_scaling(const struct rope_source *s, struct qr_rope_config *r)
{
    switch (r->scaling) {
    case QR_ROPE_SCALING_LINEAR:
    case QR_ROPE_SCALING_NTK:
        return require_f64(s, "factor", &r->factor);
    case QR_ROPE_SCALING_DYNAMIC:
        return read_dynamic(s, r);
    case QR_ROPE_SCALING_LLAMA3:
        QR_TRY(require_f64(s, "factor", &r->factor));
        QR_TRY(require_f64(s, "low_freq_factor", &r->low_freq_factor));
        QR_TRY(require_f64(s, "high_freq_factor", &r->high_freq_factor));
        return read_original_context(s, &r->original_context);
    case QR_ROPE_SCALING_YARN:
        return read_yarn(s, r);
    case QR_ROPE_SCALING_LONGROPE:
        return read_longrope(s, r);
    case QR_ROPE_SCALING_FREQ_FACTORS:
        return read_proportional(s, r);
    default:
        return QUIRE_OK;
    }
}

static quire_status read_set(const struct rope_source *s, struct qr_rope_config *r)
{
    double partial;
    bool has;
    *r = (struct qr_rope_config){ .kind = s->h->arch->hf_rope, .factor = 1, .cos_sin_scale = 1 };
    r->clockwise = s->h->arch->hf_clockwise_rope;
    if (s->h->arch->hf_interleave_key) {
        bool interleaved;
        QR_TRY(qr_hf_bool(s->h, s->h->arch->hf_interleave_key, true, &interleaved));
        r->kind = interleaved ? QR_ROPE_INTERLEAVED : QR_ROPE_NEOX;
    }
    QR_TRY(read_scaling_type(s, &r->scaling));
    if (s->proportional)
        r->scaling = QR_ROPE_SCALING_FREQ_FACTORS;
    QR_TRY(get_f64(s, "rope_theta", s->theta, &r->theta, NULL));
    QR_TRY(get_f64(s, "partial_rotary_factor", s->partial, &partial, &has));
    if (has) /* a copy at the top level has no effect */
        qr_hf_ignore(s->h, "partial_rotary_factor");
    else
        QR_TRY(qr_hf_f64_opt(s->h, "partial_rotary_factor", &partial, &has));
    if (!(partial > 0 && partial <= 1))
        return qr_fail(s->h->err, QUIRE_E_FORMAT,
                       "config.json: partial_rotary_factor must be in (0, 1]");
    r->dim = (uint32_t)(s->head_dim * partial);
    QR_TRY(qr_hf_u32_opt(s->h, "rope_dim", &r->dim, &has)); /* a key only by way of aliases */
    return read_scaling(s, r);
}

/* Head size of the layers with a window or without. */
static uint32_t head_dim(const struct qr_model_config *cfg, bool windowed)
{
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        if ((cfg->layers[i].window != 0) == windowed && cfg->layers[i].head_dim)
            return cfg->layers[i].head_dim;
    return cfg->head_dim;
}

/* In variants with ALiBi, RoPE parameters have no effect. */
static void mark_unused(const struct qr_hf_source *h)
{
    static const char *const keys[] = { "rope_theta", "rope_parameters", "rope_scaling",
                                        "partial_rotary_factor" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        qr_hf_mark(h, h->root, keys[i]);
}

/* RoPE parameters of windowed layers may be missing in a model without them. */
static quire_status check_no_windows(const struct qr_hf_source *h)
{
    uint32_t window = 0;
    bool has;
    /* GCOVR_EXCL_BR_LINE: qr_hf_read_windows has read the key. */
    QR_TRY(qr_hf_u32_opt(h, "sliding_window", &window, &has));
    if (window)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: rope_parameters has no object %s",
                       h->arch->hf_window_type ? h->arch->hf_window_type : "sliding_attention");
    h->cfg->n_rope = 1;
    return QUIRE_OK;
}

/* rope_scaling_factor: YaRN over initial_context_length, without rounding of the range, in the
 * first set; 1: none. */
static quire_status read_rope_factor(const struct qr_hf_source *h)
{
    struct qr_rope_config *r = &h->cfg->rope[0];
    double factor = 1;
    bool has;
    QR_TRY(qr_hf_f64_opt(h, "rope_scaling_factor", &factor, &has));
    if (factor == 1)
        return QUIRE_OK;
    if (r->scaling != QR_ROPE_SCALING_NONE)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: rope_scaling_factor together with other RoPE scaling");
    QR_TRY(qr_hf_u32(h, "initial_context_length", &r->original_context));
    r->scaling = QR_ROPE_SCALING_YARN;
    r->factor = factor;
    r->cos_sin_scale = (float)yarn_mscale(factor, 1);
    r->beta_fast = 32;
    r->beta_slow = 1;
    return QUIRE_OK;
}

/* Families with compressed keys: the first set is that of layers without, which has no scaling, the
 * second that of the others, with a base of its own. Newer files have an object for each. */
static quire_status read_compressed_sets(const struct qr_hf_source *h,
                                         const struct rope_source *all)
{
    struct qr_model_config *cfg = h->cfg;
    struct rope_source plain = *all, compressed = *all;
    const struct qr_json *main = qr_json_get(all->dict, "main"),
                         *second = qr_json_get(all->dict, "compress");
    plain.dict = NULL;
    QR_TRY(qr_hf_f64(h, "compress_rope_theta", &compressed.theta));
    const bool nested = qr_json_is_object(main) && qr_json_is_object(second);
    if (nested) {
        qr_hf_mark(h, all->dict, "main");
        qr_hf_mark(h, all->dict, "compress");
        plain.dict = main;
        compressed.dict = second;
        plain.nested = compressed.nested = true;
    }
    cfg->n_rope = 2;
    QR_TRY(read_set(&plain, &cfg->rope[0]));
    QR_TRY(read_set(&compressed, &cfg->rope[1]));
    if (!nested)
        cfg->rope[1].theta = compressed.theta; /* whatever the object says */
    return QUIRE_OK;
}

/* Bases and rotating parts by layer, which must be the same in all layers with a window and in all
 * others. Scaling must be for the latter alone. */
static quire_status read_lists(struct rope_source *full, struct rope_source *local)
{
    const struct qr_hf_source *h = full->h;
    const struct qr_json *types = qr_hf_json(h, "yarn_only_types");
    const char *type = qr_json_string(qr_json_at(types, 0));
    struct rope_source *sets[] = { full, local };
    for (size_t i = 0; i < 2; i++) {
        sets[i]->theta = 10000; /* default */
        QR_TRY(qr_hf_window_f64(h, "rope_theta", i == 1, &sets[i]->theta));
        QR_TRY(qr_hf_window_f64(h, "partial_rotary_factors", i == 1, &sets[i]->partial));
    }
    if (types && !qr_json_is_null(types) &&
        (qr_json_size(types) != 1 || !type || strcmp(type, "full_attention") != 0))
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: yarn_only_types must be [\"full_attention\"]");
    return QUIRE_OK;
}

/* The base of layers with a window. */
static quire_status read_local_theta(const struct rope_source *full, struct rope_source *local)
{
    const struct qr_hf_source *h = full->h;
    uint32_t version;
    QR_TRY(qr_hf_f64(h, "rope_local_base_freq", &local->theta));
    QR_TRY(qr_hf_writer_version(h, &version));
    if (version && version < h->arch->hf_local_rope_since)
        local->theta = full->theta;
    return QUIRE_OK;
}

/* One set for all layers, or one for those without a window and one for those with. */
static quire_status read_sets(struct rope_source *full, struct rope_source *local)
{
    const struct qr_hf_source *h = full->h;
    struct qr_model_config *cfg = h->cfg;
    cfg->n_rope = h->arch->hf_local_rope ? 2 : 1;
    const char *full_type = h->arch->hf_full_type ? h->arch->hf_full_type : "full_attention",
               *local_type =
                   h->arch->hf_window_type ? h->arch->hf_window_type : "sliding_attention";
    const struct qr_json *nested = qr_json_get(full->dict, full_type);
    if (qr_json_is_object(nested)) {
        qr_hf_mark(h, full->dict, full_type);
        if (cfg->n_rope == 2) {
            qr_hf_mark(h, full->dict, local_type);
            qr_hf_ignore(h, "rope_local_base_freq"); /* the nested value counts */
        }
        local->dict = qr_json_get(full->dict, local_type);
        full->dict = nested;
        full->nested = local->nested = true;
        if (cfg->n_rope == 2 && !qr_json_is_object(local->dict))
            QR_TRY(check_no_windows(h));
    } else if (cfg->n_rope == 2 && !h->arch->hf_rope_lists) {
        QR_TRY(read_local_theta(full, local));
    }
    QR_TRY(read_set(full, &cfg->rope[0]));
    return cfg->n_rope == 2 ? read_set(local, &cfg->rope[1]) : QUIRE_OK;
}

quire_status qr_hf_read_rope(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    const char *name = "rope_parameters";
    const struct qr_json *dict = qr_json_get(h->root, name);
    if (!dict || qr_json_is_null(dict))
        dict = qr_json_get(h->root, name = "rope_scaling");
    if (dict && !qr_json_is_object(dict) && !qr_json_is_null(dict))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be an object", name);
    struct rope_source full = { .h = h,
                                .dict = qr_json_is_object(dict) ? dict : NULL,
                                .partial = 1,
                                .head_dim = head_dim(cfg, false) },
                       local = { .h = h, .partial = 1, .head_dim = head_dim(cfg, true) };
    if (!full.dict && h->arch->hf_global_partial > 0) {
        full.partial = (double)h->arch->hf_global_partial;
        full.proportional = full.partial < 1;
    }
    bool none = cfg->alibi_max_bias > 0;
    if (h->arch->hf_position_type) {
        const char *type = "nope";
        QR_TRY(qr_hf_str(h, "position_embedding_type", &type));
        none = strcmp(type, "rope") != 0;
    }
    if (h->arch->hf_rope_key) {
        bool in_use;
        QR_TRY(qr_hf_bool(h, h->arch->hf_rope_key, false, &in_use));
        none = !in_use;
    }
    if (none)
        mark_unused(h);
    if (h->arch->hf_rope == QR_ROPE_NONE || none)
        return QUIRE_OK;
    qr_hf_mark(h, h->root, name);
    qr_hf_mark(h, h->root, "original_max_position_embeddings"); /* used by some scaling rules */
    if (h->arch->hf_rope_lists) {
        QR_TRY(read_lists(&full, &local));
    } else {
        QR_TRY(qr_hf_f64(h, "rope_theta", &full.theta));
        local.theta = full.theta;
    }
    if (h->arch->shared_key_value)
        return read_compressed_sets(h, &full);
    QR_TRY(read_sets(&full, &local));
    return h->arch->hf_rope_factor ? read_rope_factor(h) : QUIRE_OK;
}
