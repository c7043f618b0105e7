/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_windows.c - layers with a sliding window or chunk, and layers without RoPE, in GGUF
 * metadata. */
#include "model/config/gguf_windows.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"

/* The pattern is a period or an array of one bool per layer. Older files have none: the family
 * defines it. */
static quire_status is_windowed(const struct qr_gguf_source *s, uint32_t layer, bool *out)
{
    static const char key[] = "attention.sliding_window_pattern";
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type;
    const bool first = s->arch->gguf_window == QR_WINDOW_PERIODIC_FIRST;
    uint32_t period =
        first || s->arch->gguf_window == QR_WINDOW_PERIODIC ? s->arch->window_period : 0;
    qr_gguf_source_key(s, key, name);
    const bool has = qr_gguf_value_type(s->g, name, &type);
    if (has && type == QR_GGUF_ARRAY) {
        struct qr_gguf_array arr;
        int64_t flag;
        /* GCOVR_EXCL_BR_LINE: the type was checked. */
        QR_TRY(qr_gguf_get_array(s->g, name, &arr, s->err));
        const bool per_layer = qr_gguf_source_per_layer(s, arr.count);
        if (per_layer && qr_gguf_array_bool(&arr, layer, out))
            return QUIRE_OK;
        if (per_layer && qr_gguf_array_i64(&arr, layer, &flag) && (flag == 0 || flag == 1)) {
            *out = flag == 1;
            return QUIRE_OK;
        }
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u bools or 0 and 1",
                       name, s->cfg->n_layers);
    }
    QR_TRY(qr_gguf_get_u32_or(s->g, name, period, &period, s->err));
    *out = (has || s->arch->gguf_window != QR_WINDOW_NONE) &&
           (period == 0 || (layer + !first) % period != 0);
    return QUIRE_OK;
}

/* Layers without RoPE, by their numbers. Where windows decide, too, these must be the same layers;
 * without windows all layers have RoPE then. */
static quire_status read_no_rope(const struct qr_gguf_source *s, bool has_window)
{
    const uint32_t n = s->arch->gguf_no_rope_interval;
    const bool by_windows = s->arch->rope_in_windows_only;
    for (uint32_t i = 0; s->arch->gguf_rope_in_windows && has_window && i < s->cfg->n_layers; i++)
        if (!s->cfg->layers[i].window)
            s->cfg->layers[i].rope = QR_LAYER_NO_ROPE;
    for (uint32_t i = 0; n && (has_window || !by_windows) && i < s->cfg->n_layers; i++) {
        struct qr_layer_config *l = &s->cfg->layers[i];
        const bool none = (i + 1) % n == 0;
        if (by_windows && none != (l->rope == QR_LAYER_NO_ROPE))
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "metadata key %s.attention.sliding_window_pattern: RoPE in other layers "
                           "than those with a window is not supported",
                           s->prefix);
        l->rope = none ? QR_LAYER_NO_ROPE : l->rope;
    }
    return QUIRE_OK;
}

/* A list of the layers with RoPE, in families that do not say themselves which these are. */
static quire_status read_rope_pattern(const struct qr_gguf_source *s)
{
    static const char key[] = "attention.rope_pattern";
    char name[QR_GGUF_KEY_MAX];
    struct qr_gguf_array list;
    if (!qr_gguf_source_has(s, key))
        return QUIRE_OK;
    qr_gguf_source_key(s, key, name);
    QR_TRY(qr_gguf_get_array(s->g, name, &list, s->err));
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        bool rotates;
        if (!qr_gguf_source_per_layer(s, list.count) || !qr_gguf_array_bool(&list, i, &rotates))
            return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u bools", name,
                           s->cfg->n_layers);
        if (!rotates)
            s->cfg->layers[i].rope = QR_LAYER_NO_ROPE;
    }
    return QUIRE_OK;
}

/* Attention temperature tuning of the layers without RoPE. Converters write neither key. */
static quire_status read_temperature(const struct qr_gguf_source *s)
{
    uint32_t length;
    QR_TRY(qr_gguf_source_u32_or(s, "attention.temperature_length",
                                 (uint32_t)qr_gguf_source_default(s, "floor_scale"), &length));
    s->cfg->temperature_floor = (float)length;
    return qr_gguf_source_f32_or(s, "attention.temperature_scale",
                                 qr_gguf_source_default(s, "attn_scale"),
                                 &s->cfg->temperature_scale);
}

quire_status qr_gguf_read_windows(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    uint32_t window;
    bool windowed;
    const uint32_t chunk =
        s->arch->chunked_windows ? (uint32_t)qr_gguf_source_default(s, "sliding_window") : 0;
    QR_TRY(qr_gguf_source_u32_or(s, "attention.sliding_window", chunk, &window));
    /* GCOVR_EXCL_BR_LINE: no encoder has chunked windows. */
    if (window && !cfg->causal && !s->arch->chunked_windows)
        window = window / 2 + 1; /* the key counts both directions */
    for (uint32_t i = 0; window && i < cfg->n_layers; i++) {
        QR_TRY(is_windowed(s, i, &windowed));
        if (windowed) {
            cfg->layers[i].window = window;
            cfg->layers[i].chunked = s->arch->chunked_windows;
        }
    }
    if (window && window < cfg->context_length && s->arch->gguf_window == QR_WINDOW_NONE &&
        !qr_gguf_source_has(s, "attention.sliding_window_pattern"))
        return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                       "%s.attention.sliding_window is %u, but family %s has no windows", s->prefix,
                       window, s->arch->name);
    qr_model_config_set_ropes(cfg, s->arch, window != 0);
    QR_TRY(read_no_rope(s, window != 0));
    QR_TRY(read_rope_pattern(s));
    return s->arch->hf_temperature && window ? read_temperature(s) : QUIRE_OK;
}
