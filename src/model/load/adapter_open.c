/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_open.c - reads the files of an adapter. */
#include "model/load/adapter_open.h"
#include "base/error.h"
#include "format/file.h"
#include "format/gguf.h"
#include "format/gguf_meta.h"
#include "format/safetensors.h"
#include "model/arch/arch.h"
#include "model/load/adapter_gguf.h"
#include "model/load/adapter_peft.h"
#include <string.h>

enum { MAX_CONFIG_BYTES = 1 << 20 };

static quire_status set_base_model(struct quire_adapter *a, const char *name, size_t size,
                                   struct quire_error *err)
{
    const char *end = memchr(name, 0, size);
    a->base_model = qr_strndup(a->allocator, name, end ? (size_t)(end - name) : size);
    return a->base_model ? QUIRE_OK : qr_fail(err, QUIRE_E_NOMEM, "no memory for an adapter");
}

static quire_status read_folder(struct qr_adapter_build *b, const char *text, size_t size,
                                const char *tensors, uint32_t flags, struct quire_error *err)
{
    const struct quire_model *m = b->adapter->model;
    const struct qr_arch *arch = m->weights->arch;
    const struct qr_unknown_policy policy = { flags & QUIRE_ADAPTER_ALLOW_UNKNOWN, b->logger };
    struct qr_peft_config config;
    b->permute = !m->weights->dir && arch->hf_rope && arch->hf_rope != arch->gguf_rope;
    b->retile = !m->weights->dir && m->config->recurrent.tiled_heads;
    if (!m->weights->dir && qr_adapter_scales_differ(arch))
        return qr_adapter_refuse_scaled(arch->name, err);
    quire_status s = qr_peft_config_parse(text, size, &policy, b->adapter->allocator, &config, err);
    if (s == QUIRE_OK)
        s = set_base_model(b->adapter, config.base_model, strlen(config.base_model), err);
    if (s == QUIRE_OK)
        s = qr_safetensors_open(tensors, b->adapter->allocator, &b->file.safetensors, err);
    if (s == QUIRE_OK)
        s = qr_adapter_read_peft(b, &config, err);
    qr_safetensors_close(b->file.safetensors);
    qr_peft_config_free(&config);
    return s;
}

static quire_status open_folder(struct qr_adapter_build *b, const char *path, uint32_t flags,
                                struct quire_error *err)
{
    const struct quire_allocator *a = b->adapter->allocator;
    char *config = qr_path_join(a, path, "adapter_config.json"),
         *tensors = qr_path_join(a, path, "adapter_model.safetensors"), *text = NULL;
    size_t size = 0;
    quire_status s;
    if (!config || !tensors)
        s = qr_fail(err, QUIRE_E_NOMEM, "no memory to open %s", qr_path_tail(path));
    else
        s = qr_file_load(config, MAX_CONFIG_BYTES, a, &text, &size, err);
    if (s == QUIRE_OK)
        s = read_folder(b, text, size, tensors, flags, err);
    if (text)
        qr_free(a, text, size + 1, 1);
    qr_strfree(a, config);
    qr_strfree(a, tensors);
    return s;
}

static quire_status open_gguf(struct qr_adapter_build *b, const struct quire_adapter_params *p,
                              struct quire_error *err)
{
    const struct quire_allocator *a = b->adapter->allocator;
    struct qr_gguf_str name;
    b->adapter->info.format = QUIRE_ADAPTER_GGUF;
    QR_TRY(p->path ? qr_gguf_open(p->path, a, b->logger, &b->file.gguf, err)
                   : qr_gguf_open_memory(p->data, p->data_bytes, a, b->logger, &b->file.gguf, err));
    quire_status s = qr_gguf_get_str_or(b->file.gguf, "general.name", "", &name, err);
    if (s == QUIRE_OK)
        s = set_base_model(b->adapter, name.data, name.size, err);
    if (s == QUIRE_OK)
        s = qr_adapter_read_gguf(b, err);
    qr_gguf_close(b->file.gguf);
    return s;
}

quire_status qr_adapter_load(struct quire_adapter *a, const struct quire_adapter_params *p,
                             struct quire_error *err)
{
    struct qr_adapter_build b = { .adapter = a,
                                  .logger = p->logger,
                                  .file.allocator = p->allocator,
                                  .hash = 0x9E3779B97F4A7C15u };
    a->table_size = a->model->weights->tensor_map_size;
    a->table = qr_calloc(a->allocator, a->table_size, sizeof(struct qr_lora *));
    if (!a->table)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for an adapter");
    QR_TRY(p->path && qr_path_is_dir(p->path) ? open_folder(&b, p->path, p->flags, err)
                                              : open_gguf(&b, p, err));
    if (!a->info.n_modules)
        return qr_fail(err, QUIRE_E_FORMAT, "the adapter holds no tensors");
    a->info.fingerprint = b.hash;
    a->info.base_model = a->base_model;
    return QUIRE_OK;
}
