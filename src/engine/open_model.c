/* SPDX-License-Identifier: Apache-2.0 */
/* open_model.c - opens the model and the tokenizer of an engine, or takes those of the caller. */
#include "engine/open_model.h"
#include "base/error.h"
#include "model/load/weights.h"
#include "tokenizer/open_gguf.h"
#include "tokenizer/vocab.h"

static quire_status open_own_tokenizer(struct quire_engine *e, const struct quire_engine_params *p,
                                       struct quire_error *err)
{
    struct quire_tokenizer_params options = { .struct_size = sizeof options };
    options.allocator = p->allocator;
    if (p->model_path) {
        options.logger = p->logger;
        return quire_tokenizer_open(p->model_path, &options, &e->own_tokenizer, err);
    }
    return qr_tokenizer_open_gguf_memory(p->model_data, p->model_bytes, &options, &e->own_tokenizer,
                                         err);
}

quire_status qr_engine_open_tokenizer(struct quire_engine *e, const struct quire_engine_params *p,
                                      struct quire_error *err)
{
    e->tokenizer = p->tokenizer;
    if (p->tokenizer)
        return qr_handle_check(p->tokenizer, QR_KIND_TOKENIZER, "tokenizer", err);
    const quire_status s = open_own_tokenizer(e, p, err);
    e->tokenizer = e->own_tokenizer;
    return s;
}

uint64_t qr_engine_tokenizer_bytes(const struct quire_engine *e)
{
    return qr_vocab_bytes(e->tokenizer);
}

/* Whether an encoder-decoder says with which token its answers begin. */
static quire_status check_start(const struct quire_model *model, struct quire_error *err)
{
    struct quire_model_info mi = { .struct_size = sizeof mi };
    QR_TRY(quire_model_get_info(model, &mi));
    if (mi.kind == QUIRE_MODEL_ENCODER_DECODER && mi.decoder_start_id < 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "architecture '%s': the model names no decoder_start_token_id", mi.arch);
    return QUIRE_OK;
}

quire_status qr_engine_open_model(struct quire_engine *e, const struct quire_engine_params *p,
                                  struct quire_error *err)
{
    if (p->model) {
        QR_TRY(qr_handle_check(p->model, QR_KIND_MODEL, "model", err));
        e->model = p->model;
        return check_start(e->model, err);
    }
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = p->model_path;
    mp.data = p->model_data;
    mp.data_bytes = p->model_bytes;
    mp.isa = p->isa;
    mp.compute = p->compute;
    mp.threads = e->threads;
    mp.allocator = p->allocator;
    mp.logger = p->logger;
    mp.progress = p->progress;
    mp.progress_user = p->progress_user;
    mp.pack_cache = e->dry_run ? NULL : p->pack_cache;
    mp.linear = QUIRE_LINEAR_QUIRE; /* batch-invariant */
    mp.flags = (p->flags & QUIRE_ENGINE_STRICT ? QUIRE_MODEL_STRICT : 0) |
               (p->flags & QUIRE_ENGINE_ALLOW_UNKNOWN ? QUIRE_MODEL_ALLOW_UNKNOWN : 0) |
               (p->flags & QUIRE_ENGINE_BF16_STATES ? QUIRE_MODEL_BF16_STATES : 0);
    QR_TRY(quire_model_open(&mp, &e->own_model, err));
    e->model = e->own_model;
    return check_start(e->model, err);
}

quire_status qr_engine_prefer_model_error(const struct quire_engine_params *p, quire_status status,
                                          struct quire_error *err)
{
    const struct qr_weights_params wp = { .path = p->model_path,
                                          .memory = p->model_path ? NULL : p->model_data,
                                          .memory_size = p->model_path ? 0 : p->model_bytes,
                                          .allocator = p->allocator };
    struct qr_weights *w;
    if (p->model || status == QUIRE_E_NOMEM)
        return status;
    QR_TRY(qr_weights_open(&wp, &w, err));
    qr_weights_close(w);
    return status;
}
