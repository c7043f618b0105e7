/* SPDX-License-Identifier: Apache-2.0 */
#include "model_open.h"
#include "bundled.h"
#include "registry.h"
#include "server.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    DEFAULT_PARALLEL = 16,
    MAX_TEMPLATE_BYTES = 1 << 20,
    DRAFTS_PER_STEP = 256,
    MAX_PATH_BYTES = 4096,
};

void model_opening_init(struct model_opening *o, struct server *server, const struct model *m,
                        bool is_first)
{
    *o = (struct model_opening){ .server = server, .model = m, .is_first = is_first };
    o->log = (struct log_source){ server->log, m->name };
    o->logger = (struct quire_logger){ &o->log, log_library };
}

/* Text of the chat template of --chat-template-file; NULL: *error, or none is given. */
static char *read_template(const char *path, struct api_error *error)
{
    FILE *f = fopen(path, "rbe");
    char *text = f ? calloc(1, MAX_TEMPLATE_BYTES + 2) : NULL;
    const size_t n = text ? fread(text, 1, MAX_TEMPLATE_BYTES + 1, f) : 0;
    if (text == NULL || ferror(f) || n > MAX_TEMPLATE_BYTES) {
        api_fail(error, 500, NULL, NULL, "--chat-template-file %s: %s", path,
                 n > MAX_TEMPLATE_BYTES ? "larger than 1 MiB" : strerror(errno));
        free(text);
        text = NULL;
    }
    if (f != NULL)
        fclose(f);
    return text;
}

/* Writes DIR/NAME + suffix with '_' for every '/' of the name of the model. false: it is too long,
 * or dir is NULL. */
static bool path_in(const char *dir, const struct model_opening *o, const char *suffix,
                    char out[MAX_PATH_BYTES])
{
    if (dir == NULL)
        return false;
    const int n = snprintf(out, MAX_PATH_BYTES, "%s/%s%s", dir, o->model->name, suffix);
    if (n < 0 || n >= MAX_PATH_BYTES)
        return false;
    for (char *p = out + strlen(dir) + 1; *p != '\0'; p++)
        if (*p == '/')
            *p = '_';
    return true;
}

/* Parameters of the first model only. */
static void set_first_params(const struct model_opening *o, struct quire_engine_params *p)
{
    const struct options *opt = &o->server->options;
    p->kv_scales = opt->kv_scales;
    p->max_adapter_rank = opt->max_lora_rank;
    if (o->adapters.n > 0 && opt->max_lora_rank == 0)
        p->max_adapter_rank = QUIRE_ADAPTER_MAX_RANK;
    if ((opt->draft_model != NULL || opt->mtp || opt->draft_lookup) && opt->draft_max > 0) {
        p->draft_model_path = opt->draft_model;
        p->flags |= opt->mtp ? QUIRE_ENGINE_MTP : 0;
        p->max_draft_tokens = DRAFTS_PER_STEP;
    }
}

static void set_params(const struct model_opening *o, struct quire_engine_params *p, uint32_t flags)
{
    const struct options *opt = &o->server->options;
    quire_engine_params_init(p, sizeof *p);
    p->model_path = o->model->path;
    if (p->model_path == NULL)
        p->model_data = bundled_model(&p->model_bytes);
    p->isa = opt->isa;
    p->compute = opt->compute;
    p->n_threads = opt->threads;
    p->thread_backend = QUIRE_THREADS_PTHREAD;
    p->context_length = opt->context;
    p->kv_bytes = opt->kv_bytes;
    p->k_dtype = opt->k_type;
    p->v_dtype = opt->v_type;
    p->max_requests = opt->max_queue;
    p->max_seqs = opt->parallel ? opt->parallel : DEFAULT_PARALLEL;
    if (p->max_seqs > p->max_requests)
        p->max_seqs = p->max_requests;
    p->max_step_tokens = opt->step_tokens;
    p->target_itl = opt->target_itl;
    p->flags = flags | (opt->strict ? QUIRE_ENGINE_STRICT : 0) |
               (opt->allow_unknown ? QUIRE_ENGINE_ALLOW_UNKNOWN : 0) |
               (opt->rotate_values ? QUIRE_ENGINE_ROTATE_VALUES : 0) |
               (opt->bf16_states ? QUIRE_ENGINE_BF16_STATES : 0);
    p->logger = &o->logger;
    if (o->is_first)
        set_first_params(o, p);
}

static bool is_encoder(const struct quire_engine *engine)
{
    struct quire_model_info info;
    quire_model_info_init(&info, sizeof info);
    return quire_model_get_info(quire_engine_model(engine), &info) == QUIRE_OK &&
           info.kind == QUIRE_MODEL_ENCODER;
}

/* source: of --chat-template-file, or NULL */
static void set_chat_format(struct model_opening *o, const char *source)
{
    if (source == NULL)
        source = quire_tokenizer_chat_template(quire_engine_tokenizer(o->engine), NULL);
    o->chat_format = source ? quire_chat_output_detect(source, strlen(source)) : NULL;
    o->has_thinking =
        source && quire_chat_output_has_thinking(o->chat_format, source, strlen(source));
}

static quire_status open_engine(struct model_opening *o, uint32_t flags, struct quire_error *err)
{
    struct quire_engine_params p;
    char pack_cache[MAX_PATH_BYTES];
    const char *path = o->is_first ? o->server->options.template_file : NULL;
    char *source = path ? read_template(path, &o->error) : NULL;
    if (o->error.status != 0)
        return QUIRE_E_IO;
    set_params(o, &p, flags);
    p.chat_template = source;
    if (p.model_path != NULL && !(flags & QUIRE_ENGINE_DRY_RUN) &&
        path_in(o->server->options.pack_cache_dir, o, ".packed", pack_cache))
        p.pack_cache = pack_cache;
    quire_status s = quire_engine_open(&p, &o->engine, err);
    if (s == QUIRE_OK ? is_encoder(o->engine) : s == QUIRE_E_INVALID_ARG && p.target_itl != 0) {
        quire_engine_close(o->engine);
        p.max_step_tokens = 0; /* an encoder computes whole sequences and has no target */
        p.target_itl = 0;
        s = quire_engine_open(&p, &o->engine, err);
    }
    if (s == QUIRE_OK)
        set_chat_format(o, source);
    free(source);
    return s;
}

static void read_sizes(struct model_opening *o)
{
    const struct quire_engine_info *i = &o->info;
    quire_engine_info_init(&o->info, sizeof o->info);
    if (quire_engine_get_info(o->engine, &o->info) != QUIRE_OK)
        return;
    o->bytes = i->weight_bytes + i->kv_bytes + i->context_bytes + i->tokenizer_bytes +
               i->draft_weight_bytes + i->draft_kv_bytes + i->draft_context_bytes;
}

/* False: o->error. The status is 503, for another request may find the file repaired. */
static bool failed(struct model_opening *o, quire_status s, const struct quire_error *err)
{
    if (s == QUIRE_OK)
        return false;
    api_fail(&o->error, 503, NULL, "model", "The model %s cannot be opened: %s", o->model->name,
             err->msg[0] ? err->msg : quire_status_text(s));
    return true;
}

void model_measure(struct model_opening *o)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (failed(o, open_engine(o, QUIRE_ENGINE_DRY_RUN, &err), &err))
        return;
    read_sizes(o);
    quire_engine_close(o->engine);
    o->engine = NULL;
}

static bool cache_path(const struct model_opening *o, char out[MAX_PATH_BYTES])
{
    return path_in(o->server->options.cache_dir, o, ".cache", out);
}

static void log_cache(const struct model_opening *o, const char *what, quire_status s,
                      const struct quire_error *err, const struct quire_cache_file_result *r)
{
    const struct log_field fields[] = {
        { "model", o->model->name, 0 },
        { "tokens", NULL, (double)r->n_tokens },
        { "error", err->msg[0] ? err->msg : quire_status_text(s), 0 },
    };
    log_line(o->server->log, s == QUIRE_OK ? QUIRE_LOG_INFO : QUIRE_LOG_WARN, what, fields,
             s == QUIRE_OK ? 2 : 3);
}

static void restore_cache(const struct model_opening *o)
{
    char path[MAX_PATH_BYTES];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_cache_file_params p;
    struct quire_cache_file_result r;
    if (!cache_path(o, path) || access(path, F_OK) != 0)
        return;
    quire_cache_file_params_init(&p, sizeof p);
    quire_cache_file_result_init(&r, sizeof r);
    p.path = path;
    const quire_status s = quire_engine_restore_cache(o->engine, &p, &r, &err);
    log_cache(o, s == QUIRE_OK ? "prefix cache restored" : "prefix cache not restored", s, &err,
              &r);
}

static void save_cache(const struct model_opening *o)
{
    char path[MAX_PATH_BYTES];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_cache_file_params p;
    struct quire_cache_file_result r;
    if (!cache_path(o, path))
        return;
    quire_cache_file_params_init(&p, sizeof p);
    quire_cache_file_result_init(&r, sizeof r);
    p.path = path;
    const quire_status s = quire_engine_save_cache(o->engine, &p, &r, &err);
    if (s != QUIRE_E_RANGE) /* nothing is cached */
        log_cache(o, s == QUIRE_OK ? "prefix cache saved" : "prefix cache not saved", s, &err, &r);
}

/* Locks weights and KV caches of all open models, and everything else. */
static quire_status lock_memory(struct quire_error *err)
{
    if (mlockall(MCL_CURRENT) == 0)
        return QUIRE_OK;
    snprintf(err->msg, sizeof err->msg, "its memory cannot be locked: %s (see ulimit -l)",
             strerror(errno));
    return QUIRE_E_NOMEM;
}

void model_open(struct model_opening *o)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (failed(o, open_engine(o, 0, &err), &err))
        return;
    read_sizes(o);
    quire_model_info_init(&o->model_info, sizeof o->model_info);
    quire_status s = quire_model_get_info(quire_engine_model(o->engine), &o->model_info);
    if (!adapter_list_load(o)) {
        quire_engine_close(o->engine);
        o->engine = NULL;
        return;
    }
    restore_cache(o);
    if (s == QUIRE_OK && o->server->options.mlock)
        s = lock_memory(&err);
    if (s == QUIRE_OK)
        s = quire_engine_start(o->engine, &err);
    if (failed(o, s, &err)) {
        quire_engine_close(o->engine);
        o->engine = NULL;
    }
}

void model_close(struct model_opening *o)
{
    save_cache(o);
    quire_engine_close(o->engine);
    o->engine = NULL;
}
