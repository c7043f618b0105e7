/* SPDX-License-Identifier: Apache-2.0 */
/* hf_pooling.c - pooling mode of sentence-transformers models. */
#include "model/config/hf_pooling.h"
#include "base/error.h"
#include "format/json.h"
#include <quire/model.h>
#include <string.h>

/* Older files have a flag for every mode, newer files the name of a mode. */
static const struct {
    const char *key, *name;
    enum quire_pooling pooling;
} poolings[] = {
    { "pooling_mode_cls_token", "cls", QUIRE_POOLING_CLS },
    { "pooling_mode_mean_tokens", "mean", QUIRE_POOLING_MEAN },
    { "pooling_mode_lasttoken", "lasttoken", QUIRE_POOLING_LAST },
};

quire_status qr_model_config_read_pooling(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err)
{
    static const char what[] = "1_Pooling/config.json";
    struct qr_json *obj = NULL;
    enum qr_json_state state;
    const char *name = "";
    QR_TRY(qr_json_parse_object(json, size, what, 0, cfg->memory.allocator, &obj, err));
    quire_status s = QUIRE_OK;
    if (qr_json_is_string(qr_json_get(obj, "pooling_mode")))
        s = qr_json_str(obj, what, "pooling_mode", &name, &state, err);
    for (size_t i = 0; s == QUIRE_OK && i < sizeof poolings / sizeof *poolings; i++) {
        bool on = false;
        s = qr_json_bool(obj, what, poolings[i].key, &on, &state, err);
        if (s == QUIRE_OK && (on || strcmp(name, poolings[i].name) == 0))
            cfg->pooling = (uint8_t)poolings[i].pooling;
    }
    qr_json_free(obj);
    return s;
}
