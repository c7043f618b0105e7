/* SPDX-License-Identifier: Apache-2.0 */
/* hf_pooling.c - pooling mode and further modules of sentence-transformers models. */
#include "model/config/hf_pooling.h"
#include "base/error.h"
#include "format/json.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
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

quire_status qr_hf_read_pooling(const struct qr_hf_source *h)
{
    static const struct {
        const char *name;
        enum quire_pooling pooling;
    } names[] = {
        { "avg", QUIRE_POOLING_MEAN },
        { "cls", QUIRE_POOLING_CLS },
        { "last", QUIRE_POOLING_LAST },
    };
    const char *name = names[0].name;
    if (!h->arch->hf_pooling)
        return QUIRE_OK;
    QR_TRY(qr_hf_str(h, "pooling", &name));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i].name) == 0) {
            h->cfg->pooling = (uint8_t)names[i].pooling;
            return QUIRE_OK;
        }
    return qr_fail(h->err, QUIRE_E_UNSUPPORTED, "config.json: pooling %.60s is not supported",
                   name);
}

void qr_model_config_refuse_module(struct qr_model_config *cfg, const char *file, const char *name)
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
            qr_model_config_refuse_module(cfg, what, poolings[i].key);
        else
            cfg->pooling = (uint8_t)poolings[i].pooling;
    }
    if (name[0] && !found)
        qr_model_config_refuse_module(cfg, what, name);
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

/* The folder of a module, which must lie directly in that of the model. */
static bool is_folder(const char *path)
{
    return path && path[0] && path[0] != '.' && !strchr(path, '/') &&
           strlen(path) < sizeof((struct qr_dense_config *)0)->folder;
}

/* One module; `pooled`: a pooling came before it. */
static void read_module(struct qr_model_config *cfg, const struct qr_json *module, bool *pooled)
{
    static const char *const known[] = { "Transformer", "Pooling", "Normalize" };
    const struct qr_json *type = qr_json_get(module, "type");
    if (!qr_json_is_string(type))
        return;
    const char *full = qr_json_string(type), *dot = strrchr(full, '.');
    const char *name = dot ? dot + 1 : full;
    const char *folder = qr_json_string(qr_json_get(module, "path"));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0) {
            *pooled = *pooled || i == 1;
            return;
        }
    if (strcmp(name, "Dense") == 0 && *pooled && is_folder(folder) && cfg->n_dense < QR_MAX_DENSE)
        snprintf(cfg->dense[cfg->n_dense++].folder, sizeof cfg->dense->folder, "%s", folder);
    else
        qr_model_config_refuse_module(cfg, "modules.json", full);
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
    bool pooled = false;
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        read_module(cfg, i.value, &pooled);
    qr_json_free(list);
    return QUIRE_OK;
}

static quire_status read_dense(struct qr_model_config *cfg, uint32_t i, const char *what,
                               const struct qr_json *obj, struct quire_error *err)
{
    struct qr_dense_config *d = &cfg->dense[i];
    const char *activation = "Tanh"; /* what the reference implementation does without the key */
    enum qr_json_state state;
    d->bias = true;
    QR_TRY(qr_json_u32(obj, what, "in_features", &d->in, &state, err));
    QR_TRY(qr_json_u32(obj, what, "out_features", &d->out, &state, err));
    QR_TRY(qr_json_bool(obj, what, "bias", &d->bias, &state, err));
    QR_TRY(qr_json_str(obj, what, "activation_function", &activation, &state, err));
    const char *dot = strrchr(activation, '.'), *name = dot ? dot + 1 : activation;
    d->tanh = strcmp(name, "Tanh") == 0;
    if (!d->tanh && strcmp(name, "Identity") != 0)
        qr_model_config_refuse_module(cfg, what, activation);
    return qr_model_config_check_dense(cfg, i, err);
}

quire_status qr_model_config_read_dense(struct qr_model_config *cfg, uint32_t i, const char *what,
                                        const char *json, size_t size, struct quire_error *err)
{
    struct qr_json *obj = NULL;
    QR_TRY(qr_json_parse_object(json, size, what, 0, cfg->memory.allocator, &obj, err));
    const quire_status s = read_dense(cfg, i, what, obj, err);
    qr_json_free(obj);
    return s;
}
