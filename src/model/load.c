/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - brings the weights into memory: vectors as f32, matrices packed panel by panel while the file streams. */
#include "base/checked.h"
#include "base/error.h"
#include "base/threads.h"
#include "model/model.h"

bool qr_role_is_matrix(enum qr_weight_role role)
{
    switch (role) {
    case QR_W_TOKEN_EMBD:
    case QR_W_OUTPUT:
    case QR_W_POS_EMBD:
    case QR_W_TYPE_EMBD:
    case QR_W_ATTN_Q:
    case QR_W_ATTN_K:
    case QR_W_ATTN_V:
    case QR_W_ATTN_O:
    case QR_W_FFN_GATE:
    case QR_W_FFN_UP:
    case QR_W_FFN_DOWN:
        return true;
    default:
        return false;
    }
}

/* One matrix still to be filled. */
struct job {
    struct qr_weight source;
    struct qr_packed *target;
    uint64_t first_chunk; /* of the load as a whole */
};

/* All members of the team take chunks from one counter until none is left or one of them failed. */
struct load {
    struct quire_model *model;
    struct job *jobs;
    size_t n_jobs;
    uint64_t n_chunks;
    uint64_t next; /* atomic */
    int failed;    /* atomic */
    quire_status status;
    struct quire_error error;
};

/* Rows per chunk: a multiple of every panel height, small enough that the source rows stay in cache. */
enum { CHUNK_ROWS = 64 };

static uint64_t n_chunks(uint64_t rows) { return (rows + CHUNK_ROWS - 1) / CHUNK_ROWS; }

static void fail_load(struct load *l, quire_status status, const struct quire_error *error)
{
    if (__atomic_exchange_n(&l->failed, 1, __ATOMIC_ACQ_REL) == 0) {
        l->status = status;
        l->error = *error;
    }
}

static const struct job *job_of(const struct load *l, uint64_t chunk)
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

static quire_status load_chunk(struct load *l, uint64_t chunk, void **buffer, size_t *cap, struct quire_error *err)
{
    const struct job *job = job_of(l, chunk);
    const uint64_t row0 = (chunk - job->first_chunk) * CHUNK_ROWS, left = job->source.n_rows - row0;
    const uint64_t n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
    if (!qr_grow(l->model->allocator, buffer, cap, (size_t)n * job->source.row_bytes, 1))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to read %zu rows of %s", (size_t)n,
                       qr_weight_role_name(job->source.role));
    QR_TRY(qr_weights_read_rows(l->model->weights, &job->source, row0, n, *buffer, err));
    return qr_packed_rows(job->target, (size_t)row0, (size_t)n, *buffer, err);
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

static quire_status add_vector(struct quire_model *m, const struct qr_weight *w, float **out, struct quire_error *err)
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

/* Reserves the memory of one weight; vectors are read at once, matrices become a job. */
static quire_status add_weight(struct load *l, enum qr_weight_role role, uint32_t layer, struct qr_model_layer *into,
                               struct quire_error *err)
{
    struct quire_model *m = l->model;
    struct qr_weight w;
    if (!qr_weights_find(m->weights, role, layer, &w))
        return QUIRE_OK;
    if (!qr_role_is_matrix(role))
        return add_vector(m, &w, &into->vec[role], err);
    QR_TRY(qr_packed_create(w.type, w.n_rows, w.n_cols, m->allocator, &into->mat[role], err));
    m->n_parameters += w.n_rows * w.n_cols;
    m->weight_bytes += into->mat[role]->bytes;
    l->jobs[l->n_jobs++] = (struct job){ w, into->mat[role], l->n_chunks };
    l->n_chunks += n_chunks(w.n_rows);
    return QUIRE_OK;
}

static quire_status add_all(struct load *l, struct quire_error *err)
{
    struct quire_model *m = l->model;
    for (int r = 0; r < QR_W_FIRST_LAYER_ROLE; r++)
        QR_TRY(add_weight(l, (enum qr_weight_role)r, 0, &m->global, err));
    for (uint32_t i = 0; i < m->config->n_layers; i++)
        for (int r = QR_W_FIRST_LAYER_ROLE; r < QR_W_N_ROLES; r++)
            QR_TRY(add_weight(l, (enum qr_weight_role)r, i, &m->layers[i], err));
    return QUIRE_OK;
}

static quire_status run_load(struct load *l, struct quire_threads *threads, struct quire_error *err)
{
    QR_TRY(add_all(l, err));
    if (threads) {
        QR_TRY(quire_threads_run(threads, load_part, l));
    } else {
        const struct quire_team alone = { 0, 1, NULL };
        load_part(l, &alone);
    }
    return l->failed ? qr_fail_at(err, l->status, l->error.offset, "%s", l->error.msg) : QUIRE_OK;
}

quire_status qr_model_load(struct quire_model *m, struct quire_threads *threads, struct quire_error *err)
{
    const size_t max_jobs = ((size_t)m->config->n_layers + 1) * QR_W_N_ROLES;
    qr_arena_init(&m->vectors, m->allocator, 0);
    m->layers = qr_calloc(m->allocator, m->config->n_layers, sizeof *m->layers);
    struct load l = { .model = m, .jobs = qr_calloc(m->allocator, max_jobs, sizeof(struct job)) };
    quire_status s = QUIRE_E_NOMEM;
    if (m->layers && l.jobs)
        s = run_load(&l, threads, err);
    else
        qr_fail(err, s, "no memory for %u layers", m->config->n_layers);
    qr_free(m->allocator, l.jobs, max_jobs, sizeof(struct job));
    return s;
}

static void unload_layer(struct qr_model_layer *layer)
{
    for (int r = 0; r < QR_W_N_ROLES; r++)
        qr_packed_destroy(layer->mat[r]);
}

void qr_model_unload(struct quire_model *m)
{
    unload_layer(&m->global);
    for (uint32_t i = 0; m->layers && i < m->config->n_layers; i++)
        unload_layer(&m->layers[i]);
    if (m->layers)
        qr_free(m->allocator, m->layers, m->config->n_layers, sizeof *m->layers);
    qr_arena_free(&m->vectors);
}
