/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opens a tokenizer by path; the content decides the file format. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include "format/file.h"
#include "format/gguf.h"
#include "tokenizer/open_gguf.h"
#include "tokenizer/open_huggingface.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static quire_status open_gguf(const char *path, const struct quire_allocator *a,
                              const struct quire_logger *log, struct quire_tokenizer **out,
                              struct quire_error *err)
{
    struct qr_gguf *file;
    QR_TRY(qr_gguf_open(path, a, log, &file, err));
    const quire_status st = qr_tokenizer_from_gguf(file, a, out, err);
    qr_gguf_close(file);
    return st;
}

static quire_status open_file(const char *path, const struct quire_allocator *a,
                              const struct quire_logger *log, struct quire_tokenizer **out,
                              struct quire_error *err)
{
    struct qr_file f;
    char magic[4] = { 0 };
    QR_TRY(qr_file_open(&f, path, err));
    const quire_status st =
        f.size < sizeof magic ? QUIRE_OK : qr_file_read(&f, 0, magic, sizeof magic, err);
    qr_file_close(&f);
    QR_TRY(st);
    if (memcmp(magic, "GGUF", sizeof magic) == 0)
        return open_gguf(path, a, log, out, err);
    return qr_tokenizer_from_hf_file(path, a, out, err);
}

quire_status quire_tokenizer_open(const char *path, const struct quire_tokenizer_params *params,
                                  struct quire_tokenizer **out, struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (!path)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "path is NULL");
    struct quire_tokenizer_params p = { .struct_size = sizeof p };
    if (params)
        QR_READ_STRUCT(&p, params, logger, "params", err);
    struct stat st;
    if (stat(path, &st) != 0)
        return qr_fail_errno(err, QUIRE_E_IO, errno, "%s", qr_path_tail(path));
    if (S_ISDIR(st.st_mode))
        return qr_tokenizer_from_hf_folder(path, p.allocator, out, err);
    return open_file(path, p.allocator, p.logger, out, err);
}

quire_status quire_tokenizer_open_memory(const void *data, size_t size, const void *config,
                                         size_t config_size,
                                         const struct quire_tokenizer_params *params,
                                         struct quire_tokenizer **out, struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (!data || (!config && config_size))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", data ? "config" : "data");
    struct quire_tokenizer_params p = { .struct_size = sizeof p };
    if (params)
        QR_READ_STRUCT(&p, params, logger, "params", err);
    if (size < 4 || memcmp(data, "GGUF", 4) != 0)
        return qr_tokenizer_open_json_memory(data, size, config, config_size, &p, out, err);
    if (config)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "config is given, but data is a GGUF image");
    return qr_tokenizer_open_gguf_memory(data, size, &p, out, err);
}

QR_DEFINE_ZERO_INIT(quire_tokenizer_params)
