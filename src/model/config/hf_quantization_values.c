/* SPDX-License-Identifier: Apache-2.0 */
/* hf_quantization_values.c - values of options of a quantization_config, and their messages. */
#include "model/config/hf_quantization_values.h"
#include "base/error.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

quire_status qr_hf_quantization_refuse(struct qr_quantization_source *q, const char *key,
                                       const char *value)
{
    return qr_fail(q->err, QUIRE_E_UNSUPPORTED,
                   "%s: %s is \"%.60s\", which is not supported; " QR_QUANTIZATION_WAY_OUT, q->what,
                   key, value);
}

quire_status qr_hf_quantization_bad(struct qr_quantization_source *q, const char *key)
{
    return qr_fail(q->err, QUIRE_E_FORMAT, "%s: %s has the wrong type", q->what, key);
}

quire_status qr_hf_quantization_unsupported(struct qr_quantization_source *q, const char *key,
                                            const struct qr_json *value)
{
    char text[24] = "?";
    if (qr_json_is_string(value))
        return qr_hf_quantization_refuse(q, key, qr_json_string(value));
    if (qr_json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)qr_json_integer(value));
    else if (qr_json_is_bool(value))
        snprintf(text, sizeof text, "%s", qr_json_is_true(value) ? "true" : "false");
    return qr_hf_quantization_refuse(q, key, text);
}

quire_status qr_hf_quantization_word(struct qr_quantization_source *q, const char *key,
                                     const char *const *words, int *index)
{
    const struct qr_json *v = qr_json_get(q->root, key);
    *index = 0;
    if (!v || qr_json_is_null(v))
        return QUIRE_OK;
    if (!qr_json_is_string(v))
        return qr_hf_quantization_bad(q, key);
    for (; words[*index]; ++*index)
        if (!strcasecmp(words[*index], qr_json_string(v)))
            return QUIRE_OK;
    return qr_hf_quantization_refuse(q, key, qr_json_string(v));
}

quire_status qr_hf_quantization_bool(struct qr_quantization_source *q, const char *key, bool dflt,
                                     bool *out)
{
    enum qr_json_state state;
    *out = dflt;
    return qr_json_bool(q->root, q->what, key, out, &state, q->err);
}

bool qr_hf_quantization_listed(const char *const *list, const char *key)
{
    for (; *list; list++)
        if (!strcmp(*list, key))
            return true;
    return false;
}

bool qr_hf_quantization_off(const struct qr_json *v)
{
    return qr_json_is_null(v) || (qr_json_is_bool(v) && !qr_json_is_true(v)) ||
           ((qr_json_is_array(v) || qr_json_is_object(v)) && qr_json_size(v) == 0);
}
