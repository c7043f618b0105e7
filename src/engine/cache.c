/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - saving and restoring the prefix cache: arguments and results. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/cache_restore.h"
#include "engine/cache_save.h"
#include "engine/callback.h"
#include "engine/drive.h"

QR_DEFINE_ZERO_INIT(quire_cache_file_params)
QR_DEFINE_ZERO_INIT(quire_cache_file_result)

static quire_status read_params(struct quire_cache_file_params *p, const struct quire_engine *e,
                                const struct quire_cache_file_params *params,
                                const struct quire_cache_file_result *result,
                                struct quire_error *err)
{
    QR_TRY(qr_handle_check(e, QR_KIND_ENGINE, "engine", err));
    QR_READ_STRUCT(p, params, max_bytes, "params", err);
    if (result)
        QR_TRY(qr_struct_check_out(result, QR_SIZE_TO(struct quire_cache_file_result, bytes),
                                   "result", err));
    if (!p->path || !p->path[0])
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.path is %s", p->path ? "empty" : "NULL");
    if (!p->tokens != !p->n_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.%s is given without params.%s",
                       p->tokens ? "tokens" : "n_tokens", p->tokens ? "n_tokens" : "tokens");
    if (e->dry_run)
        return qr_fail(err, QUIRE_E_MISUSE, "the engine was opened for a dry run");
    QR_TRY(qr_engine_check_callback(e, err));
    if (e->encodes || e->max_source_tokens)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "the model is an encoder%s: it has no prefix cache",
                       e->encodes ? "" : "-decoder");
    return qr_engine_check_process(e, err);
}

quire_status quire_engine_save_cache(struct quire_engine *engine,
                                     const struct quire_cache_file_params *params,
                                     struct quire_cache_file_result *result,
                                     struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_cache_file_params p;
    struct quire_cache_file_result r = { 0 };
    QR_TRY(read_params(&p, engine, params, result, err));
    QR_TRY(qr_cache_save(engine, &p, &r, err));
    if (result)
        qr_struct_write(result, &r, sizeof r);
    return QUIRE_OK;
}

quire_status quire_engine_restore_cache(struct quire_engine *engine,
                                        const struct quire_cache_file_params *params,
                                        struct quire_cache_file_result *result,
                                        struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_cache_file_params p;
    struct quire_cache_file_result r = { 0 };
    QR_TRY(read_params(&p, engine, params, result, err));
    if (p.tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.tokens is for saving only");
    QR_TRY(qr_cache_restore(engine, &p, &r, err));
    if (result)
        qr_struct_write(result, &r, sizeof r);
    return QUIRE_OK;
}
