/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - opens a model of either format and finds its weights by role. */
#include "model/load/weights.h"
#include "base/alloc.h"
#include "base/error.h"
#include "format/file.h"
#include "format/gguf.h"
#include "format/safetensors.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/gguf.h"
#include "model/config/hf.h"
#include "model/config/hf_pooling.h"
#include "model/config/hf_quantization.h"
#include "model/config/mtp.h"
#include "model/config/unknown.h"
#include "model/load/ngram_check.h"
#include "model/load/quantized.h"
#include "model/load/tensor_map.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CONFIG_BYTES = 4 << 20 };

/* ---- Opening */

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static struct qr_unknown_policy unknown_policy(const struct qr_weights_params *p)
{
    return (struct qr_unknown_policy){ p->allow_unknown, p->logger };
}

static quire_status open_gguf(struct qr_weights *w, const struct qr_weights_params *p,
                              struct quire_error *err)
{
    if (p->path && qr_file_exists(p->path) &&
        (ends_with(p->path, ".safetensors") || ends_with(p->path, ".json")))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "%s is not a GGUF file; a Hugging Face model is opened by its folder",
                       qr_path_tail(p->path));
    QR_TRY(p->path ? qr_gguf_open(p->path, w->allocator, w->logger, &w->gguf, err)
                   : qr_gguf_open_memory(p->memory, p->memory_size, w->allocator, w->logger,
                                         &w->gguf, err));
    if (p->strict && qr_gguf_trailing_bytes(w->gguf))
        return qr_fail(err, QUIRE_E_FORMAT, "%llu bytes after the last tensor",
                       (unsigned long long)qr_gguf_trailing_bytes(w->gguf));
    const struct qr_unknown_policy policy = unknown_policy(p);
    return qr_model_config_from_gguf(w->gguf, &policy, w->allocator, &w->config, err);
}

struct text {
    char *s;
    size_t n;
};

static quire_status load_text(const struct qr_weights *w, const char *name, struct text *t,
                              struct quire_error *err)
{
    char *path = qr_path_join(w->allocator, w->dir, name);
    if (!path)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to read %s", name);
    quire_status s = QUIRE_OK;
    if (qr_file_exists(path))
        s = qr_file_load(path, MAX_CONFIG_BYTES, w->allocator, &t->s, &t->n, err);
    qr_strfree(w->allocator, path);
    return s;
}

static void free_text(const struct qr_weights *w, struct text *t)
{
    if (t->s)
        qr_free(w->allocator, t->s, t->n + 1, 1);
}

/* The folder's name, since most checkpoints do not contain one. */
static void name_after_dir(struct qr_weights *w)
{
    size_t n = strlen(w->dir);
    while (n > 1 && w->dir[n - 1] == '/')
        n--;
    size_t begin = n;
    while (begin > 0 && w->dir[begin - 1] != '/')
        begin--;
    if (!w->config.name[0])
        qr_model_config_set_name(&w->config, w->dir + begin, n - begin);
}

/* One dense layer behind the pooling: its configuration. Without a safetensors file the model
 * opens, and its embeddings are refused by the name of the module. */
static quire_status read_dense(struct qr_weights *w, uint32_t i, struct quire_error *err)
{
    struct qr_dense_config *d = &w->config.dense[i];
    struct text config = { 0 };
    char name[sizeof d->folder + 32];
    snprintf(name, sizeof name, "%s/model.safetensors", d->folder);
    char *path = qr_path_join(w->allocator, w->dir, name);
    if (!path)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to read %s", name);
    const bool exists = qr_file_exists(path);
    qr_strfree(w->allocator, path);
    if (!exists) {
        qr_model_config_refuse_module(&w->config, "modules.json", d->folder);
        return QUIRE_OK;
    }
    snprintf(name, sizeof name, "%s/config.json", d->folder);
    quire_status s = load_text(w, name, &config, err);
    if (s == QUIRE_OK && !config.s)
        s = qr_fail(err, QUIRE_E_FORMAT, "%s is missing", name);
    if (s == QUIRE_OK)
        s = qr_model_config_read_dense(&w->config, i, name, config.s, config.n, err);
    free_text(w, &config);
    return s;
}

/* Files of sentence-transformers: pooling, and what follows it. */
static quire_status read_modules(struct qr_weights *w, struct quire_error *err)
{
    struct text pooling = { 0 }, modules = { 0 };
    quire_status s = load_text(w, "1_Pooling/config.json", &pooling, err);
    if (s == QUIRE_OK && pooling.s)
        s = qr_model_config_read_pooling(&w->config, pooling.s, pooling.n, err);
    if (s == QUIRE_OK)
        s = load_text(w, "modules.json", &modules, err);
    if (s == QUIRE_OK && modules.s)
        s = qr_model_config_read_modules(&w->config, modules.s, modules.n, err);
    free_text(w, &pooling);
    free_text(w, &modules);
    /* a layer behind one that was refused has no known input */
    for (uint32_t i = 0; s == QUIRE_OK && i < w->config.n_dense && !w->config.embedding_module[0];
         i++)
        s = read_dense(w, i, err);
    if (w->config.embedding_module[0])
        w->config.n_dense = 0;
    return s;
}

/* Quantization that config.json does not describe. */
static quire_status read_modelopt(struct qr_weights *w, const struct qr_unknown_policy *policy,
                                  struct quire_error *err)
{
    struct text t = { 0 };
    quire_status s = load_text(w, "hf_quant_config.json", &t, err);
    if (s == QUIRE_OK && t.s)
        s = qr_model_config_read_modelopt(&w->config, t.s, t.n, policy, err);
    free_text(w, &t);
    return s;
}

static quire_status open_dense(struct qr_weights *w, struct quire_error *err)
{
    for (uint32_t i = 0; i < w->config.n_dense; i++) {
        char *path = qr_path_join(w->allocator, w->dir, w->config.dense[i].folder);
        if (!path)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory to open %s", w->config.dense[i].folder);
        const quire_status s = qr_safetensors_open_dir(path, w->allocator, &w->dense[i], err);
        qr_strfree(w->allocator, path);
        QR_TRY(s);
    }
    return QUIRE_OK;
}

static quire_status open_folder(struct qr_weights *w, const struct qr_weights_params *p,
                                struct quire_error *err)
{
    const struct qr_unknown_policy policy = unknown_policy(p);
    struct text config = { 0 }, generation = { 0 };
    w->dir = qr_strdup(w->allocator, p->path);
    if (!w->dir)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to open %s", qr_path_tail(p->path));
    quire_status s = load_text(w, "config.json", &config, err);
    if (s == QUIRE_OK && !config.s)
        s = qr_fail_errno(err, QUIRE_E_IO, ENOENT, "%s is not a model folder: config.json",
                          qr_path_tail(p->path));
    if (s == QUIRE_OK)
        s = load_text(w, "generation_config.json", &generation, err);
    if (s == QUIRE_OK)
        s = qr_model_config_from_hf(config.s, config.n, generation.s, generation.n, &policy,
                                    w->allocator, &w->config, err);
    free_text(w, &config);
    free_text(w, &generation);
    QR_TRY(s);
    QR_TRY(read_modelopt(w, &policy, err));
    QR_TRY(read_modules(w, err));
    name_after_dir(w);
    QR_TRY(qr_safetensors_open_dir(p->path, w->allocator, &w->safetensors, err));
    QR_TRY(qr_quantized_open(w, err));
    return open_dense(w, err);
}

static quire_status open_source(struct qr_weights *w, const struct qr_weights_params *p,
                                struct quire_error *err)
{
    QR_TRY(p->path && qr_path_is_dir(p->path) ? open_folder(w, p, err) : open_gguf(w, p, err));
    w->arch = qr_arch_by_name(w->config.arch);
    if (p->mtp && !w->config.mtp.kind) /* else all of the file is a head */
        QR_TRY(qr_model_config_select_mtp(&w->config, w->arch, w->gguf != NULL, err));
    w->config.mla.expand = p->expand_latent && w->config.mla.kv_lora_rank;
    const struct qr_unknown_policy policy = unknown_policy(p);
    QR_TRY(qr_tensor_map_build(w, &policy, err));
    return qr_ngram_check(w, err);
}

quire_status qr_weights_open(const struct qr_weights_params *p, struct qr_weights **out,
                             struct quire_error *err)
{
    *out = NULL;
    if (!p->path && !p->memory)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "neither a path nor a memory image of a model is given");
    struct qr_weights *w = qr_calloc(p->allocator, 1, sizeof *w);
    if (!w)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to open a model");
    w->allocator = p->allocator;
    qr_arena_init(&w->lists, p->allocator, 0);
    w->logger = p->logger;
    w->progress = p->progress;
    w->progress_user = p->progress_user;
    pthread_mutex_init(&w->progress_lock, NULL); /* cannot fail without attributes */
    const quire_status s = open_source(w, p, err);
    if (s == QUIRE_OK)
        *out = w;
    else
        qr_weights_close(w);
    return s;
}

void qr_weights_release_source(struct qr_weights *w)
{
    qr_quantized_close(w);
    qr_gguf_close(w->gguf);
    qr_safetensors_close(w->safetensors);
    for (size_t i = 0; i < QR_MAX_DENSE; i++) {
        qr_safetensors_close(w->dense[i]);
        w->dense[i] = NULL;
    }
    w->gguf = NULL;
    w->safetensors = NULL;
}

void qr_weights_close(struct qr_weights *w)
{
    if (!w)
        return;
    qr_weights_release_source(w);
    pthread_mutex_destroy(&w->progress_lock);
    qr_model_config_free(&w->config);
    qr_strfree(w->allocator, w->dir);
    qr_free(w->allocator, w->tensor_map, w->tensor_map_size, sizeof *w->tensor_map);
    qr_arena_free(&w->lists);
    qr_free(w->allocator, w, 1, sizeof *w);
}

/* ---- Access */

const struct qr_model_config *qr_weights_config(const struct qr_weights *w) { return &w->config; }
const struct qr_gguf *qr_weights_gguf(const struct qr_weights *w) { return w->gguf; }
const char *qr_weights_dir(const struct qr_weights *w) { return w->dir; }
uint64_t qr_weights_total_bytes(const struct qr_weights *w) { return w->total_bytes; }

bool qr_weights_find(const struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                     struct qr_weight *out)
{
    if ((unsigned)role >= QR_W_N_ROLES ||
        (role >= QR_W_FIRST_LAYER_ROLE && layer >= qr_model_total_layers(&w->config)))
        return false;
    const struct qr_weight *found = &w->tensor_map[qr_tensor_map_index(role, layer)];
    if (found->n_cols == 0)
        return false;
    *out = *found;
    return true;
}
