/* SPDX-License-Identifier: Apache-2.0 */
/* hf_pooling.c - pooling mode and further modules of sentence-transformers models. */
#include "model/config/hf_pooling.h"
#include "base/error.h"
#include "format/json.h"
#include <quire/model.h>
#include <stdio.h>
#include <string.h>

/* Older files have a flag for every mode, newer files the name of a mode. */
enum { UNSUPPORTED = -1 };
static const struct {
    const char *key, *name;
    int pooling; /* enum quire_pooling */
} poolings[] = {
    { "pooling_mode_cls_token", "cls", QUIRE_POOLING_CLS },
    { "pooling_mode_mean_tokens", "mean", QUIRE_POOLING_MEAN },
    { "pooling_mode_lasttoken", "lasttoken", QUIRE_POOLING_LAST },
    { "pooling_mode_max_tokens", "max", UNSUPPORTED },
    { "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", UNSUPPORTED },
    { "pooling_mode_weightedmean_tokens", "weightedmean", UNSUPPORTED },
};

static void set_module(struct qr_model_config *cfg, const char *file, const char *name)
{
    if (!cfg->embedding_module[0])
        snprintf(cfg->embedding_module, sizeof cfg->embedding_module, "%s: %.60s", file, name);
}

static quire_status read_modes(struct qr_model_config *cfg, const struct qr_json *obj,
                               const char *what, struct quire_error *err)
{
    enum qr_json_state state;
    const char *name = "";
    size_t found = 0;
    if (qr_json_is_string(qr_json_get(obj, "pooling_mode")))
        /* GCOVR_EXCL_BR_LINE: the type was checked. */
        QR_TRY(qr_json_str(obj, what, "pooling_mode", &name, &state, err));
    for (size_t i = 0; i < sizeof poolings / sizeof *poolings; i++) {
        bool on = false;
        QR_TRY(qr_json_bool(obj, what, poolings[i].key, &on, &state, err));
        if (!on && strcmp(name, poolings[i].name) != 0)
            continue;
        if (poolings[i].pooling == UNSUPPORTED || found++)
            set_module(cfg, what, poolings[i].key);
        else
            cfg->pooling = (uint8_t)poolings[i].pooling;
    }
    if (name[0] && !found)
        set_module(cfg, what, name);
    return QUIRE_OK;
}

quire_status qr_model_config_read_pooling(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err)
{
    static const char what[] = "1_Pooling/config.json";
    struct qr_json *obj = NULL;
    QR_TRY(qr_json_parse_object(json, size, what, 0, cfg->memory.allocator, &obj, err));
    const quire_status s = read_modes(cfg, obj, what, err);
    qr_json_free(obj);
    return s;
}

static bool is_known_module(const char *type)
{
    static const char *const known[] = { "Transformer", "Pooling", "Normalize" };
    const char *dot = strrchr(type, '.');
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(dot ? dot + 1 : type, known[i]) == 0)
            return true;
    return false;
}

quire_status qr_model_config_read_modules(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err)
{
    static const char what[] = "modules.json";
    struct qr_json_error e;
    struct qr_json *list = qr_json_parse(json, size, 0, cfg->memory.allocator, &e);
    if (!list)
        return qr_fail(err, e.code, "%s: line %u: %s", what, e.line, e.text);
    if (!qr_json_is_array(list)) {
        qr_json_free(list);
        return qr_fail(err, QUIRE_E_FORMAT, "%s is not an array", what);
    }
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);) {
        const struct qr_json *type = qr_json_get(i.value, "type");
        if (qr_json_is_string(type) && !is_known_module(qr_json_string(type)))
            set_module(cfg, what, qr_json_string(type));
    }
    qr_json_free(list);
    return QUIRE_OK;
}
