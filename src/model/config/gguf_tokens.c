/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_tokens.c - special tokens and sampling defaults of GGUF metadata. */
#include "model/config/gguf_tokens.h"
#include "base/error.h"

/* Reads a token id. Some writers store "none" as -1 or as 2^32 - 1. */
static quire_status read_id(const struct qr_gguf_source *s, const char *key, int32_t *out)
{
    int64_t id = -1;
    if (qr_gguf_has(s->g, key))
        QR_TRY(qr_gguf_get_i64(s->g, key, &id, s->err));
    *out = id < 0 || id > INT32_MAX ? -1 : (int32_t)id;
    return QUIRE_OK;
}

static void add_eos(struct qr_model_config *cfg, int32_t id)
{
    for (uint32_t i = 0; i < cfg->n_eos; i++)
        if (cfg->eos_ids[i] == id)
            return;
    cfg->eos_ids[cfg->n_eos++] = id;
}

/* End of sequence, of turn and of message all end generation. The converter writes constants for
 * the last two, which may lie outside a small vocabulary. */
static quire_status read_ids(const struct qr_gguf_source *s)
{
    static const char *const eos_keys[] = { "tokenizer.ggml.eos_token_id",
                                            "tokenizer.ggml.eot_token_id",
                                            "tokenizer.ggml.eom_token_id" };
    struct qr_model_config *cfg = s->cfg;
    QR_TRY(read_id(s, "tokenizer.ggml.bos_token_id", &cfg->bos_id));
    QR_TRY(read_id(s, "tokenizer.ggml.padding_token_id", &cfg->pad_id));
    char start[QR_GGUF_KEY_MAX];
    qr_gguf_source_key(s, "decoder_start_token_id", start);
    QR_TRY(read_id(s, start, &cfg->decoder_start_id));
    for (size_t i = 0; i < sizeof eos_keys / sizeof *eos_keys; i++) {
        int32_t id;
        QR_TRY(read_id(s, eos_keys[i], &id));
        if (id >= 0 && (i == 0 || (uint32_t)id < cfg->vocab_size))
            add_eos(cfg, id);
    }
    return QUIRE_OK;
}

static quire_status read_sampling_value(const struct qr_gguf_source *s, const char *key, float *out,
                                        bool *has)
{
    *has = qr_gguf_has(s->g, key);
    return qr_gguf_get_f32_or(s->g, key, 0, out, s->err);
}

static quire_status read_sampling(const struct qr_gguf_source *s)
{
    struct qr_sampling_defaults *d = &s->cfg->sampling;
    QR_TRY(read_sampling_value(s, "general.sampling.temp", &d->temperature, &d->has_temperature));
    QR_TRY(read_sampling_value(s, "general.sampling.top_p", &d->top_p, &d->has_top_p));
    QR_TRY(read_sampling_value(s, "general.sampling.min_p", &d->min_p, &d->has_min_p));
    QR_TRY(read_sampling_value(s, "general.sampling.penalty_repeat", &d->repetition_penalty,
                               &d->has_repetition_penalty));
    d->has_top_k = qr_gguf_has(s->g, "general.sampling.top_k");
    return qr_gguf_get_u32_or(s->g, "general.sampling.top_k", 0, &d->top_k, s->err);
}

/* Ids outside the vocabulary have no effect. */
static quire_status read_suppressed(const struct qr_gguf_source *s)
{
    static const char key[] = "tokenizer.ggml.suppress_tokens";
    struct qr_gguf_array list;
    if (!qr_gguf_has(s->g, key))
        return QUIRE_OK;
    QR_TRY(qr_gguf_get_array(s->g, key, &list, s->err));
    int32_t *ids = qr_arena_alloc(&s->cfg->memory, list.count, sizeof *ids);
    if (!ids)
        return qr_fail(s->err, QUIRE_E_NOMEM, "no memory for %s", key);
    struct qr_sampling_defaults *d = &s->cfg->sampling;
    d->suppressed = ids;
    for (size_t i = 0; i < list.count; i++) {
        int64_t id;
        if (!qr_gguf_array_i64(&list, i, &id) || id < 0 || id > INT32_MAX)
            return qr_fail(s->err, QUIRE_E_FORMAT, "%s[%zu] must be a token id", key, i);
        if (id < s->cfg->vocab_size)
            ids[d->n_suppressed++] = (int32_t)id;
    }
    return QUIRE_OK;
}

quire_status qr_gguf_read_tokens(const struct qr_gguf_source *s)
{
    QR_TRY(read_ids(s));
    QR_TRY(read_sampling(s));
    return read_suppressed(s);
}
