/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_keys.c - metadata keys below the prefix "<architecture>.", and tensors by role. */
#include "model/config/gguf_keys.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/arch/names.h"
#include <stdio.h>
#include <string.h>

void qr_gguf_source_key(const struct qr_gguf_source *s, const char *key, char out[QR_GGUF_KEY_MAX])
{
    size_t i;
    snprintf(out, QR_GGUF_KEY_MAX, "%s.%s", s->prefix, key);
    if (qr_gguf_find_key(s->g, out, &i))
        s->read[i] = 1;
}

bool qr_gguf_source_has(const struct qr_gguf_source *s, const char *key)
{
    char name[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, key, name);
    return qr_gguf_has(s->g, name);
}

quire_status qr_gguf_source_u32(const struct qr_gguf_source *s, const char *key, uint32_t *out)
{
    char name[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, key, name);
    return qr_gguf_get_u32(s->g, name, out, s->err);
}

quire_status qr_gguf_source_f32(const struct qr_gguf_source *s, const char *key, float *out)
{
    char name[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, key, name);
    return qr_gguf_get_f32(s->g, name, out, s->err);
}

quire_status qr_gguf_source_u32_or(const struct qr_gguf_source *s, const char *key, uint32_t dflt,
                                   uint32_t *out)
{
    char name[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, key, name);
    return qr_gguf_get_u32_or(s->g, name, dflt, out, s->err);
}

quire_status qr_gguf_source_f32_or(const struct qr_gguf_source *s, const char *key, float dflt,
                                   float *out)
{
    char name[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, key, name);
    return qr_gguf_get_f32_or(s->g, name, dflt, out, s->err);
}

quire_status qr_gguf_source_str_or(const struct qr_gguf_source *s, const char *key,
                                   const char *dflt, struct qr_gguf_str *out)
{
    char name[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, key, name);
    return qr_gguf_get_str_or(s->g, name, dflt, out, s->err);
}

quire_status qr_gguf_source_bool_or(const struct qr_gguf_source *s, const char *key, bool dflt,
                                    bool *out)
{
    char name[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, key, name);
    return qr_gguf_get_bool_or(s->g, name, dflt, out, s->err);
}

float qr_gguf_source_default(const struct qr_gguf_source *s, const char *key)
{
    for (const struct qr_hf_default *d = s->arch->hf_defaults; d && d->key; d++)
        if (strcmp(d->key, key) == 0)
            return (float)d->value;
    return 0;
}

uint32_t qr_gguf_source_dim(const struct qr_gguf_source *s, size_t tensor, int d)
{
    const uint64_t n = qr_gguf_tensor(s->g, tensor)->dims[d];
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

bool qr_gguf_source_has_role(const struct qr_gguf_source *s, enum qr_weight_role role,
                             uint32_t layer)
{
    char name[QR_NAME_MAX];
    size_t i;
    for (unsigned n = 0;
         qr_arch_name(s->arch->gguf_names, s->arch->gguf_common_names, role, layer, n, name); n++)
        if (qr_gguf_find_tensor(s->g, name, &i))
            return true;
    return false;
}

bool qr_gguf_source_per_layer(const struct qr_gguf_source *s, uint64_t n)
{
    return n == s->cfg->n_layers || n == (uint64_t)s->cfg->n_layers + s->cfg->n_mtp_layers;
}

quire_status qr_gguf_source_layer_u32(const struct qr_gguf_source *s, const char *key,
                                      uint32_t layer, uint32_t dflt, uint32_t *out)
{
    char name[QR_GGUF_KEY_MAX];
    enum qr_gguf_type type;
    qr_gguf_source_key(s, key, name);
    if (!qr_gguf_value_type(s->g, name, &type) || type != QR_GGUF_ARRAY)
        return dflt ? qr_gguf_get_u32_or(s->g, name, dflt, out, s->err)
                    : qr_gguf_get_u32(s->g, name, out, s->err);
    struct qr_gguf_array arr;
    int64_t v;
    /* GCOVR_EXCL_BR_LINE: the type was checked. */
    QR_TRY(qr_gguf_get_array(s->g, name, &arr, s->err));
    if (!qr_gguf_source_per_layer(s, arr.count) || !qr_gguf_array_i64(&arr, layer, &v) || v < 0 ||
        v > UINT32_MAX)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u non-negative integers",
                       name, s->cfg->n_layers);
    *out = (uint32_t)v;
    return QUIRE_OK;
}
