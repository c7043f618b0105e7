/* SPDX-License-Identifier: Apache-2.0 */
/* hf_tokens.c - special tokens and sampling defaults of config.json and generation_config.json. */
#include "model/config/hf_tokens.h"
#include "base/error.h"

static const char generation_file[] = "generation_config.json";

static quire_status to_id(const struct qr_json *v, const char *file, const char *key, int32_t *out,
                          struct quire_error *err)
{
    uint32_t id;
    if (!qr_json_is_u32(v, &id) || id > INT32_MAX)
        return qr_fail(err, QUIRE_E_FORMAT, "%s: %s must be a token id", file, key);
    *out = (int32_t)id;
    return QUIRE_OK;
}

/* Reads a single id. A missing key, null and -1, which some files store for "none", leave *out
 * unchanged. */
static quire_status read_id(const struct qr_json *obj, const char *file, const char *key,
                            int32_t *out, struct quire_error *err)
{
    const struct qr_json *v = qr_json_get(obj, key);
    if (qr_json_is_array(v) && qr_json_size(v) == 1)
        v = qr_json_at(v, 0);
    if (!v || qr_json_is_null(v) || (qr_json_is_integer(v) && qr_json_integer(v) == -1))
        return QUIRE_OK;
    return to_id(v, file, key, out, err);
}

/* Reads one id or a list of ids. */
static quire_status read_eos(const struct qr_json *obj, const char *file,
                             struct qr_model_config *cfg, struct quire_error *err)
{
    static const char key[] = "eos_token_id";
    const struct qr_json *v = qr_json_get(obj, key);
    if (!qr_json_is_array(v)) {
        int32_t id = -1;
        QR_TRY(read_id(obj, file, key, &id, err));
        if (id >= 0) {
            cfg->n_eos = 1;
            cfg->eos_ids[0] = id;
        }
        return QUIRE_OK;
    }
    if (qr_json_size(v) > QR_MAX_EOS)
        return qr_fail(err, QUIRE_E_LIMIT, "%s: %s lists more than %d ids", file, key, QR_MAX_EOS);
    cfg->n_eos = (uint32_t)qr_json_size(v);
    for (uint32_t i = 0; i < cfg->n_eos; i++)
        QR_TRY(to_id(qr_json_at(v, i), file, key, &cfg->eos_ids[i], err));
    return QUIRE_OK;
}

static quire_status read_ids(const struct qr_json *obj, const char *file,
                             struct qr_model_config *cfg, struct quire_error *err)
{
    QR_TRY(read_id(obj, file, "bos_token_id", &cfg->bos_id, err));
    QR_TRY(read_id(obj, file, "pad_token_id", &cfg->pad_id, err));
    QR_TRY(read_id(obj, file, "decoder_start_token_id", &cfg->decoder_start_id, err));
    return read_eos(obj, file, cfg, err);
}

static quire_status read_float(const struct qr_json *obj, const char *key, float *out, bool *has,
                               struct quire_error *err)
{
    double v = 0;
    enum qr_json_state state;
    QR_TRY(qr_json_f64(obj, generation_file, key, &v, &state, err));
    *has = state == QR_JSON_PRESENT;
    *out = (float)v;
    return QUIRE_OK;
}

/* Ids outside the vocabulary have no effect. */
static quire_status read_suppressed(const struct qr_json *obj, struct qr_model_config *cfg,
                                    struct quire_error *err)
{
    static const char key[] = "suppress_tokens";
    const struct qr_json *list = qr_json_get(obj, key);
    if (!list || qr_json_is_null(list))
        return QUIRE_OK;
    if (!qr_json_is_array(list))
        return qr_fail(err, QUIRE_E_FORMAT, "%s: %s must be a list of token ids", generation_file,
                       key);
    const size_t n = qr_json_size(list);
    int32_t *ids = qr_arena_alloc(&cfg->memory, n, sizeof *ids);
    if (!ids)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %s", key);
    struct qr_sampling_defaults *s = &cfg->sampling;
    s->suppressed = ids;
    for (size_t i = 0; i < n; i++) {
        int32_t *id = &ids[s->n_suppressed];
        QR_TRY(to_id(qr_json_at(list, i), generation_file, key, id, err));
        s->n_suppressed += (uint32_t)*id < cfg->vocab_size;
    }
    return QUIRE_OK;
}

static quire_status read_sampling(const struct qr_json *obj, struct qr_sampling_defaults *s,
                                  struct quire_error *err)
{
    enum qr_json_state state;
    bool sample = false;
    QR_TRY(qr_json_bool(obj, generation_file, "do_sample", &sample, &state, err));
    s->greedy = state == QR_JSON_PRESENT && !sample;
    QR_TRY(read_float(obj, "temperature", &s->temperature, &s->has_temperature, err));
    QR_TRY(read_float(obj, "top_p", &s->top_p, &s->has_top_p, err));
    QR_TRY(read_float(obj, "min_p", &s->min_p, &s->has_min_p, err));
    QR_TRY(read_float(obj, "repetition_penalty", &s->repetition_penalty, &s->has_repetition_penalty,
                      err));
    QR_TRY(qr_json_u32(obj, generation_file, "top_k", &s->top_k, &state, err));
    s->has_top_k = state == QR_JSON_PRESENT;
    return QUIRE_OK;
}

quire_status qr_hf_read_tokens(const struct qr_hf_source *h, const struct qr_json *generation)
{
    struct qr_model_config *cfg = h->cfg;
    cfg->bos_id = cfg->pad_id = -1;
    QR_TRY(read_ids(h->root, "config.json", cfg, h->err));
    if (h->outer != h->root)
        QR_TRY(read_ids(h->outer, "config.json", cfg, h->err));
    if (generation) {
        QR_TRY(read_ids(generation, generation_file, cfg, h->err));
        QR_TRY(read_sampling(generation, &cfg->sampling, h->err));
        QR_TRY(read_suppressed(generation, cfg, h->err));
    }
    if (cfg->kind == QR_MODEL_ENCODER_DECODER && cfg->decoder_start_id < 0)
        cfg->decoder_start_id = cfg->bos_id;
    return QUIRE_OK;
}
