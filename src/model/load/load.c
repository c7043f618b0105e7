/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - loads the weights: vectors as f32, matrices packed while the file is read, or mapped
 * from a pack cache. */
#include "model/load/load.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/threads.h"
#include "format/file.h"
#include "format/replace_file.h"
#include "model/load/integer_table.h"
#include "model/load/low_rank.h"
#include "model/load/pack_cache_write.h"
#include "model/load/provider.h"
#include "model/load/weight_roles.h"
#include "model/load/weights.h"
#include "model/load/weights_read.h"

/* A matrix to pack. */
struct pack_job {
    struct qr_weight source;
    struct qr_packed *target;
    uint64_t first_chunk; /* chunks are numbered over all jobs */
    uint32_t chunk_rows;
    uint32_t index; /* in a stack */
};

/* The threads take chunks from a shared counter until none is left or one of them failed. */
struct load {
    struct quire_model *model;
    struct pack_job *jobs;
    size_t n_jobs;
    uint64_t n_chunks;
    uint64_t next;       /* atomic; the next chunk */
    int failed;          /* atomic */
    quire_status status; /* of the first failure */
    struct quire_error error;
};

/* Rows per chunk, a multiple of every panel height. Small chunks keep the source rows in cache
 * while they are packed. A chunk of a matrix that is stored by columns takes one read per column,
 * so larger ones are better; those of quantized matrices take a byte per value, too. */
enum { CHUNK_ROWS = 64, TRANSPOSED_CHUNK_ROWS = 1024, MANY_ROWS_CHUNK_ROWS = 256 };

static void add_job(struct load *l, const struct qr_weight *w, uint32_t index,
                    struct qr_packed *target)
{
    const uint32_t rows = w->column_bytes ? TRANSPOSED_CHUNK_ROWS
                          : w->many_rows  ? MANY_ROWS_CHUNK_ROWS
                                          : CHUNK_ROWS;
    if (w->role != QR_W_LATENT_UK_ROWS) /* the same parameters as QR_W_LATENT_UK */
        l->model->n_parameters += w->n_rows * w->n_cols;
    l->model->weight_bytes += target->bytes;
    l->jobs[l->n_jobs++] = (struct pack_job){ *w, target, l->n_chunks, rows, index };
    l->n_chunks += (w->n_rows + rows - 1) / rows;
}

static void fail_load(struct load *l, quire_status status, const struct quire_error *error)
{
    /* GCOVR_EXCL_BR_LINE: two threads fail at the same time only by chance */
    if (__atomic_exchange_n(&l->failed, 1, __ATOMIC_ACQ_REL) == 0) {
        l->status = status;
        l->error = *error;
    }
}

static const struct pack_job *job_of(const struct load *l, uint64_t chunk)
{
    size_t lo = 0, hi = l->n_jobs - 1;
    while (lo < hi) {
        const size_t mid = (lo + hi + 1) / 2;
        if (l->jobs[mid].first_chunk <= chunk)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &l->jobs[lo];
}

/* Reads rows of a matrix; those of a head with clusters of tokens in the order of the clusters. */
static quire_status read_rows(const struct load *l, const struct pack_job *job, uint64_t row0,
                              uint64_t n, uint8_t *out, struct quire_error *err)
{
    const struct quire_model *m = l->model;
    const uint32_t *order = m->token_order;
    if (!m->config->mtp.n_clusters || job->target != qr_model_head(m))
        return qr_weights_read_rows(m->weights, &job->source, row0, n, out, err);
    for (uint64_t i = 0; i < n; i++)
        QR_TRY(qr_weights_read_rows(m->weights, &job->source, order[row0 + i], 1,
                                    out + i * job->source.row_bytes, err));
    return QUIRE_OK;
}

static quire_status load_chunk(struct load *l, uint64_t chunk, void **buffer, size_t *cap,
                               struct quire_error *err)
{
    const struct pack_job *job = job_of(l, chunk);
    const uint64_t row0 = (chunk - job->first_chunk) * job->chunk_rows,
                   left = job->source.n_rows - row0;
    const uint64_t n = left < job->chunk_rows ? left : job->chunk_rows;
    if (!qr_grow(l->model->allocator, buffer, cap, (size_t)n * job->source.row_bytes, 1))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to read %zu rows of %s", (size_t)n,
                       qr_weight_role_name(job->source.role));
    QR_TRY(read_rows(l, job, row0, n, *buffer, err));
    return qr_packed_pack_rows(job->target, (size_t)row0, (size_t)n, *buffer, err);
}

static void load_part(void *arg, const struct quire_team *team)
{
    struct load *l = arg;
    (void)team;
    void *buffer = NULL;
    size_t cap = 0;
    while (!__atomic_load_n(&l->failed, __ATOMIC_ACQUIRE)) {
        const uint64_t chunk = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
        if (chunk >= l->n_chunks)
            break;
        struct quire_error error = QUIRE_ERROR_INIT;
        const quire_status s = load_chunk(l, chunk, &buffer, &cap, &error);
        if (s != QUIRE_OK)
            fail_load(l, s, &error);
    }
    qr_free(l->model->allocator, buffer, cap, 1);
}

static quire_status add_vector(struct quire_model *m, const struct qr_weight *w, float **out,
                               struct quire_error *err)
{
    const uint64_t n = w->n_rows * w->n_cols;
    float *v = n <= SIZE_MAX ? qr_arena_alloc(&m->vectors, (size_t)n, sizeof *v) : NULL;
    if (!v)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %s", qr_weight_role_name(w->role));
    QR_TRY(qr_weights_read_f32(m->weights, w, v, n, err));
    m->n_parameters += n;
    m->weight_bytes += n * sizeof *v;
    *out = v;
    return QUIRE_OK;
}

static bool is_vector_stack(enum qr_weight_role role)
{
    return role == QR_W_EXPERT_GATE_BIAS || role == QR_W_EXPERT_UP_BIAS ||
           role == QR_W_EXPERT_DOWN_BIAS || role == QR_W_ATTN_Q_NORMS ||
           role == QR_W_ATTN_K_NORMS || role == QR_W_MTP_FEATURE_NORMS;
}

/* Adds a job per expert or head, or reads all vectors of a stack into one array. */
static quire_status add_stack(struct load *l, const struct qr_weight *stack,
                              struct qr_model_layer *into, struct quire_error *err)
{
    struct quire_model *m = l->model;
    if (is_vector_stack(stack->role)) {
        float *all =
            qr_arena_alloc(&m->vectors, stack->n_experts, (size_t)stack->n_cols * sizeof *all);
        if (!all)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for %s",
                           qr_weight_role_name(stack->role));
        for (uint32_t e = 0; e < stack->n_experts; e++) {
            const struct qr_weight w = qr_weights_expert(stack, e);
            QR_TRY(qr_weights_read_f32(m->weights, &w, all + e * stack->n_cols, w.n_cols, err));
        }
        into->vec[stack->role] = all;
        m->n_parameters += stack->n_experts * stack->n_cols;
        m->weight_bytes += stack->n_experts * stack->n_cols * sizeof *all;
        return QUIRE_OK;
    }
    struct qr_packed **experts = qr_arena_alloc(&m->vectors, stack->n_experts, sizeof *experts);
    if (!experts)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %s", qr_weight_role_name(stack->role));
    into->experts[stack->role] = experts;
    for (uint32_t e = 0; e < stack->n_experts; e++) {
        const struct qr_weight w = qr_weights_expert(stack, e);
        QR_TRY(
            qr_packed_describe(NULL, w.type, w.n_rows, w.n_cols, m->allocator, &experts[e], err));
        qr_packed_set_order(experts[e], qr_weights_order(m->weights, &w));
        qr_packed_set_scale(experts[e], qr_weights_scale(m->weights, &w));
        add_job(l, &w, e, experts[e]);
    }
    return QUIRE_OK;
}

/* Reads a vector now; adds a job for a matrix. Absent weights are skipped, and low-rank updates,
 * which are read together. */
static quire_status add_weight(struct load *l, enum qr_weight_role role, uint32_t layer,
                               struct qr_model_layer *into, struct quire_error *err)
{
    struct quire_model *m = l->model;
    struct qr_weight w;
    if (!qr_weights_find(m->weights, role, layer, &w) || qr_role_is_low_rank(role))
        return QUIRE_OK;
    const uint32_t owner = qr_role_owner(m->config, role, layer);
    if (owner != layer) {
        into->mat[role] = m->layers[owner].mat[role];
        into->vec[role] = m->layers[owner].vec[role];
        return QUIRE_OK;
    }
    if (role == QR_W_ROUTER_TABLE)
        return qr_router_table_load(m, &w, &into->router_table, err);
    if (role == QR_W_MTP_ORDER)
        return qr_token_order_load(m, &w, &m->token_order, err);
    if (qr_role_is_stack(role))
        return add_stack(l, &w, into, err);
    if (!qr_role_is_matrix(role))
        return add_vector(m, &w, &into->vec[role], err);
    struct qr_onednn *onednn = qr_provider_supports(role, w.type) ? m->onednn : NULL;
    QR_TRY(qr_packed_describe(onednn, w.type, w.n_rows, w.n_cols, m->allocator, &into->mat[role],
                              err));
    qr_packed_set_order(into->mat[role], qr_weights_order(m->weights, &w));
    qr_packed_set_scale(into->mat[role], qr_weights_scale(m->weights, &w));
    add_job(l, &w, 0, into->mat[role]);
    return QUIRE_OK;
}

static quire_status add_all(struct load *l, struct quire_error *err)
{
    struct quire_model *m = l->model;
    for (int r = 0; r < QR_W_FIRST_LAYER_ROLE; r++)
        QR_TRY(add_weight(l, (enum qr_weight_role)r, 0, &m->global, err));
    for (uint32_t i = 0; i < qr_model_total_layers(m->config); i++) {
        for (int r = QR_W_FIRST_LAYER_ROLE; r < QR_W_N_ROLES; r++)
            QR_TRY(add_weight(l, (enum qr_weight_role)r, i, &m->layers[i], err));
        QR_TRY(qr_low_rank_load(m, i, err));
    }
    return QUIRE_OK;
}

static quire_status pack_all(struct load *l, struct quire_threads *threads, struct quire_error *err)
{
    for (size_t i = 0; i < l->n_jobs; i++)
        QR_TRY(qr_packed_reserve(l->jobs[i].target, err));
    QR_TRY(qr_part_run(threads, load_part, l, err));
    return l->failed ? qr_fail_at(err, l->status, l->error.offset, "%s", l->error.msg) : QUIRE_OK;
}

/* Maps the matrices from the pack cache, or packs them and writes it. Problems with the cache are
 * logged and cost time only. */
static quire_status map_or_pack(struct load *l, const struct qr_pack_cache *cache,
                                const struct qr_pack_item *items, struct quire_threads *threads,
                                struct quire_error *err)
{
    struct quire_model *m = l->model;
    struct quire_error why = QUIRE_ERROR_INIT;
    const char *name = qr_path_tail(cache->path);
    qr_replace_remove_leftovers(cache->path, cache->allocator);
    const quire_status mapped =
        qr_pack_cache_map(cache, items, l->n_jobs, threads, &m->pack_cache, &why);
    if (mapped == QUIRE_OK) {
        for (size_t i = 0; i < l->n_jobs; i++)
            QR_TRY(qr_weights_skip(m->weights,
                                   l->jobs[i].source.n_rows * l->jobs[i].source.row_bytes, err));
        qr_log(m->logger, QUIRE_LOG_INFO, "packed weights are mapped from %s", name);
        return QUIRE_OK;
    }
    const bool is_new = !qr_file_exists(cache->path);
    qr_log(m->logger, is_new ? QUIRE_LOG_INFO : QUIRE_LOG_WARN, "the pack cache %s is not used: %s",
           name, is_new ? "it will be created" : why.msg);
    QR_TRY(pack_all(l, threads, err));
    /* never overwrites a file that is not a pack cache or cannot be read */
    if (!is_new && mapped != QUIRE_E_MISMATCH)
        return QUIRE_OK;
    if (qr_pack_cache_write(cache, items, l->n_jobs, &why) != QUIRE_OK)
        qr_log(m->logger, QUIRE_LOG_WARN, "no pack cache: %s", why.msg);
    return QUIRE_OK;
}

static quire_status load_with_cache(struct load *l, const char *path, struct quire_threads *threads,
                                    struct quire_error *err)
{
    const struct quire_allocator *a = l->model->allocator;
    struct qr_pack_cache cache;
    struct qr_pack_item *items = qr_calloc(a, l->n_jobs, sizeof *items);
    if (!items)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a list of %zu weights", l->n_jobs);
    for (size_t i = 0; i < l->n_jobs; i++)
        items[i] = (struct qr_pack_item){ &l->jobs[i].source, l->jobs[i].target, l->jobs[i].index };
    quire_status s = qr_pack_cache_plan(&cache, path, l->model->weights, items, l->n_jobs, a, err);
    if (s == QUIRE_OK) {
        s = map_or_pack(l, &cache, items, threads, err);
        qr_pack_cache_free(&cache);
    }
    qr_free(a, items, l->n_jobs, sizeof *items);
    return s;
}

static quire_status run_load(struct load *l, const char *pack_cache, struct quire_threads *threads,
                             struct quire_error *err)
{
    QR_TRY(add_all(l, err));
    return pack_cache ? load_with_cache(l, pack_cache, threads, err) : pack_all(l, threads, err);
}

/* Upper bound: all roles of all layers, three matrices per expert and adjugate expert of MoE
 * layers, three per head of latent attention and of RG-LRU, one per head of convolutional
 * attention, two per residual stream, the groups of output projections, and the parts of n-gram
 * tables. */
static size_t max_jobs(const struct qr_model_config *c)
{
    size_t n = ((size_t)qr_model_total_layers(c) + 1) * QR_W_N_ROLES;
    n += 2 * (size_t)c->altup.n_streams + (size_t)c->n_layers * c->shared_kv.o_groups;
    if (c->recurrent.kind == QR_RECURRENT_RG_LRU)
        n += 2 * (size_t)c->n_layers * c->recurrent.n_heads;
    for (uint32_t i = 0; i < c->n_layers; i++) {
        n += c->layers[i].moe ? 3 * ((size_t)c->moe.n_experts + qr_adjugate_count(&c->moe)) : 0;
        n += c->layers[i].ngram ? c->ngram.n_parts : 0;
        n += c->mla.kv_lora_rank ? 3 * (size_t)c->layers[i].n_heads : 0;
        n += c->conv_attention.channel_taps ? (size_t)c->layers[i].n_heads + c->layers[i].n_kv_heads
                                            : 0;
    }
    return n;
}

quire_status qr_model_load(struct quire_model *m, const char *pack_cache,
                           struct quire_threads *threads, struct quire_error *err)
{
    const size_t n_jobs = max_jobs(m->config);
    qr_arena_init(&m->vectors, m->allocator, 0);
    m->layers = qr_calloc(m->allocator, qr_model_total_layers(m->config), sizeof *m->layers);
    struct load l = { .model = m,
                      .jobs = qr_calloc(m->allocator, n_jobs, sizeof(struct pack_job)) };
    quire_status s = QUIRE_E_NOMEM;
    if (m->layers && l.jobs)
        s = run_load(&l, pack_cache, threads, err);
    else
        qr_fail(err, s, "no memory for %u layers", qr_model_total_layers(m->config));
    qr_free(m->allocator, l.jobs, n_jobs, sizeof(struct pack_job));
    return s;
}

static void unload_layer(const struct quire_model *m, struct qr_model_layer *layer, uint32_t index)
{
    for (int r = 0; r < QR_W_N_ROLES; r++) {
        if (layer->mat[r] && qr_role_owner(m->config, (enum qr_weight_role)r, index) == index)
            qr_packed_destroy(layer->mat[r]);
        const uint32_t n =
            layer->experts[r] ? qr_role_stack_size(m->config, (enum qr_weight_role)r, index) : 0;
        for (uint32_t e = 0; e < n; e++)
            qr_packed_destroy(layer->experts[r][e]);
    }
}

void qr_model_unload(struct quire_model *m)
{
    unload_layer(m, &m->global, 0);
    for (uint32_t i = 0; m->layers && i < qr_model_total_layers(m->config); i++)
        unload_layer(m, &m->layers[i], i);
    if (m->layers)
        qr_free(m->allocator, m->layers, qr_model_total_layers(m->config), sizeof *m->layers);
    qr_pack_cache_unmap(&m->pack_cache);
    qr_arena_free(&m->vectors);
}
