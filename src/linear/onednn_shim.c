/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_shim.c - oneDNN matmuls through its C API, versions 2.x and 3.x. */
#include "linear/onednn_shim.h"
#include "base/alloc.h"
#include "base/error.h"
#include <dnnl.h>
#include <string.h>

/* Each oneDNN call must stay on the calling thread, inside and outside OpenMP regions: its own
 * threads would compete with those of quire's team. Its OpenMP builds take the number of threads
 * from the caller's nthreads-var, both when a primitive is created and when it runs. */
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
static const bool stays_on_caller = true;
static int set_one_thread(void)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    return before;
}
static void restore_threads(int before) { omp_set_num_threads(before); }
#else
static const bool stays_on_caller = DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_SEQ;
static int set_one_thread(void) { return 0; }
static void restore_threads(int before) { (void)before; }
#endif

enum {
    PANEL = QR_FLOAT_PANEL_ROWS,
    BUCKETS = 8, /* primitives for 1, 2, 4 .. 128 rows */
};

_Static_assert(1 << (BUCKETS - 1) == QR_ONEDNN_MAX_ROWS,
               "the last bucket has QR_ONEDNN_MAX_ROWS rows");

struct qr_onednn {
    const struct quire_allocator *allocator;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr;
    struct matmul *matmuls;
    struct qr_onednn_runner *runners; /* atomic head; the list only grows */
};

struct bucket {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    bool needs_scratch;
};

struct matmul {
    struct qr_onednn_matmul pub; /* first: pointers to it convert to struct matmul */
    struct matmul *next;
    size_t *k_offset;
    size_t scratch_bytes; /* of the largest bucket */
    struct bucket buckets[BUCKETS];
};

/* Memory objects of one matmul; calls change only their data handles. */
struct memories {
    struct memories *next;
    const struct matmul *matmul;
    dnnl_memory_t weights, x[BUCKETS], out[BUCKETS], scratch[BUCKETS];
};

struct qr_onednn_runner {
    /* dense results: oneDNN has faster code for them */
    _Alignas(64) float out[QR_ONEDNN_MAX_ROWS * PANEL];
    struct qr_onednn *owner;
    struct qr_onednn_runner *next;
    bool acquired;      /* atomic */
    int threads_before; /* while acquired */
    dnnl_stream_t stream;
    struct memories *all, *current; /* current: of the matmul it is acquired for */
    void *scratch;
    size_t scratch_bytes;
};

/* A blocked layout of weights [k][PANEL], as oneDNN describes it. */
struct blocking {
    dnnl_dim_t strides[2];
    int n_inner;
    dnnl_dim_t inner_size[DNNL_MAX_NDIMS], inner_dim[DNNL_MAX_NDIMS];
};

/* ---- version-specific: memory descriptors and creation of a matmul primitive ---- */
#if DNNL_VERSION_MAJOR < 3

typedef const dnnl_memory_desc_t *desc_ref;

/* m rows of width k times weights in layout `weights`, or in the layout oneDNN chooses when it
 * is NULL. */
static dnnl_status_t create_matmul(const struct qr_onednn *o, dnnl_data_type_t type, dnnl_dim_t m,
                                   dnnl_dim_t k, desc_ref weights, dnnl_primitive_desc_t *out)
{
    const dnnl_dims_t x_dims = { m, k }, w_dims = { k, PANEL }, out_dims = { m, PANEL };
    dnnl_memory_desc_t x, w, y;
    dnnl_matmul_desc_t matmul;
    dnnl_status_t s = dnnl_memory_desc_init_by_tag(&x, 2, x_dims, type, dnnl_ab);
    if (s == dnnl_success)
        s = dnnl_memory_desc_init_by_tag(&w, 2, w_dims, type, dnnl_format_tag_any);
    if (s == dnnl_success)
        s = dnnl_memory_desc_init_by_tag(&y, 2, out_dims, dnnl_f32, dnnl_ab);
    if (s == dnnl_success)
        s = dnnl_matmul_desc_init(&matmul, &x, weights ? weights : &w, NULL, &y);
    return s == dnnl_success ? dnnl_primitive_desc_create(out, &matmul, o->attr, o->engine, NULL)
                             : s;
}

static bool get_blocking(desc_ref d, struct blocking *b)
{
    const dnnl_blocking_desc_t *f = &d->format_desc.blocking;
    if (d->format_kind != dnnl_blocked || d->extra.flags != dnnl_memory_extra_flag_none)
        return false;
    memcpy(b->strides, f->strides, sizeof b->strides);
    b->n_inner = f->inner_nblks;
    memcpy(b->inner_size, f->inner_blks, sizeof b->inner_size);
    memcpy(b->inner_dim, f->inner_idxs, sizeof b->inner_dim);
    return true;
}

#else

typedef const_dnnl_memory_desc_t desc_ref;

/* m rows of width k times weights in layout `weights`, or in the layout oneDNN chooses when it
 * is NULL. */
static dnnl_status_t create_matmul(const struct qr_onednn *o, dnnl_data_type_t type, dnnl_dim_t m,
                                   dnnl_dim_t k, desc_ref weights, dnnl_primitive_desc_t *out)
{
    const dnnl_dims_t x_dims = { m, k }, w_dims = { k, PANEL }, out_dims = { m, PANEL };
    dnnl_memory_desc_t x = NULL, w = NULL, y = NULL;
    dnnl_status_t s = dnnl_memory_desc_create_with_tag(&x, 2, x_dims, type, dnnl_ab);
    if (s == dnnl_success)
        s = dnnl_memory_desc_create_with_tag(&w, 2, w_dims, type, dnnl_format_tag_any);
    if (s == dnnl_success)
        s = dnnl_memory_desc_create_with_tag(&y, 2, out_dims, dnnl_f32, dnnl_ab);
    if (s == dnnl_success)
        s = dnnl_matmul_primitive_desc_create(out, o->engine, x, weights ? weights : w, NULL, y,
                                              o->attr);
    dnnl_memory_desc_destroy(x);
    dnnl_memory_desc_destroy(w);
    dnnl_memory_desc_destroy(y);
    return s;
}

static bool get_blocking(desc_ref d, struct blocking *b)
{
    dnnl_format_kind_t kind;
    const dnnl_dims_t *strides, *sizes, *dims;
    if (dnnl_memory_desc_query(d, dnnl_query_format_kind, &kind) != dnnl_success ||
        kind != dnnl_blocked ||
        dnnl_memory_desc_query(d, dnnl_query_strides, &strides) != dnnl_success ||
        dnnl_memory_desc_query(d, dnnl_query_inner_nblks_s32, &b->n_inner) != dnnl_success ||
        dnnl_memory_desc_query(d, dnnl_query_inner_blks, &sizes) != dnnl_success ||
        dnnl_memory_desc_query(d, dnnl_query_inner_idxs, &dims) != dnnl_success)
        return false;
    memcpy(b->strides, *strides, sizeof b->strides);
    memcpy(b->inner_size, *sizes, (size_t)b->n_inner * sizeof b->inner_size[0]);
    memcpy(b->inner_dim, *dims, (size_t)b->n_inner * sizeof b->inner_dim[0]);
    return true;
}

#endif
/* ---- common ---- */

static quire_status failed(dnnl_status_t s, const char *what, struct quire_error *err)
{
    if (s == dnnl_unimplemented)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN lacks support on this CPU: %s", what);
    return qr_fail(err, s == dnnl_out_of_memory ? QUIRE_E_NOMEM : QUIRE_E_INTERNAL,
                   "oneDNN failed with status %d: %s", (int)s, what);
}

quire_status qr_onednn_create(const struct quire_allocator *allocator, struct qr_onednn **out,
                              struct quire_error *err)
{
    *out = NULL;
    if (!stays_on_caller)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "this oneDNN is built with a thread pool of its own");
    struct qr_onednn *o = qr_calloc(allocator, 1, sizeof *o);
    if (!o)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for oneDNN");
    o->allocator = allocator;
    dnnl_status_t s = dnnl_engine_create(&o->engine, dnnl_cpu, 0);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_create(&o->attr);
    /* a primitive that owns its scratchpad could not run on two threads concurrently */
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(o->attr, dnnl_scratchpad_mode_user);
    if (s != dnnl_success) {
        qr_onednn_destroy(o);
        return failed(s, "create an engine", err);
    }
    *out = o;
    return QUIRE_OK;
}

static void destroy_matmul(const struct quire_allocator *allocator, struct matmul *p)
{
    for (int b = 0; b < BUCKETS; b++) {
        dnnl_primitive_destroy(p->buckets[b].primitive);
        dnnl_primitive_desc_destroy(p->buckets[b].desc);
    }
    qr_free(allocator, p->k_offset, p->pub.k, sizeof *p->k_offset);
    qr_free(allocator, p, 1, sizeof *p);
}

static void destroy_memories(const struct quire_allocator *allocator, struct memories *m)
{
    dnnl_memory_destroy(m->weights);
    for (int b = 0; b < BUCKETS; b++) {
        dnnl_memory_destroy(m->x[b]);
        dnnl_memory_destroy(m->out[b]);
        dnnl_memory_destroy(m->scratch[b]);
    }
    qr_free(allocator, m, 1, sizeof *m);
}

static void destroy_runner(struct qr_onednn_runner *r)
{
    const struct quire_allocator *allocator = r->owner->allocator;
    for (struct memories *m = r->all, *next; m; m = next) {
        next = m->next;
        destroy_memories(allocator, m);
    }
    dnnl_stream_destroy(r->stream);
    qr_free(allocator, r->scratch, r->scratch_bytes, 1);
    qr_free(allocator, r, sizeof *r, 1);
}

void qr_onednn_destroy(struct qr_onednn *o)
{
    if (!o)
        return;
    for (struct qr_onednn_runner *r = o->runners, *next; r; r = next) {
        next = r->next;
        destroy_runner(r);
    }
    for (struct matmul *p = o->matmuls, *next; p; p = next) {
        next = p->next;
        destroy_matmul(o->allocator, p);
    }
    dnnl_primitive_attr_destroy(o->attr);
    dnnl_engine_destroy(o->engine);
    qr_free(o->allocator, o, 1, sizeof *o);
}

static desc_ref weights_desc(const struct matmul *p)
{
    return dnnl_primitive_desc_query_md(p->buckets[BUCKETS - 1].desc, dnnl_query_weights_md, 0);
}

/* The largest bucket first: oneDNN chooses the weight layout for it, and the others take it. */
static dnnl_status_t create_buckets(const struct qr_onednn *o, struct matmul *p)
{
    const dnnl_data_type_t type = p->pub.type == QR_WEIGHT_F32 ? dnnl_f32 : dnnl_bf16;
    for (int b = BUCKETS - 1; b >= 0; b--) {
        struct bucket *bucket = &p->buckets[b];
        const char *name = "";
        dnnl_status_t s = create_matmul(o, type, (dnnl_dim_t)1 << b, (dnnl_dim_t)p->pub.width,
                                        b == BUCKETS - 1 ? NULL : weights_desc(p), &bucket->desc);
        if (s == dnnl_success)
            s = dnnl_primitive_desc_query(bucket->desc, dnnl_query_impl_info_str, 0, &name);
        if (s == dnnl_success && strncmp(name, "ref", 3) == 0)
            s = dnnl_unimplemented; /* the reference implementation is too slow to use */
        if (s == dnnl_success)
            s = dnnl_primitive_create(&bucket->primitive, bucket->desc);
        if (s != dnnl_success)
            return s;
        const desc_ref scratch =
            dnnl_primitive_desc_query_md(bucket->desc, dnnl_query_scratchpad_md, 0);
        const size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
        bucket->needs_scratch = bytes > 0;
        p->scratch_bytes = bytes > p->scratch_bytes ? bytes : p->scratch_bytes;
    }
    return dnnl_success;
}

/* Contribution of position `at` along dimension `dim` to an element's index. */
static size_t index_offset(const struct blocking *b, int dim, size_t at)
{
    size_t inner = 1, sum = 0;
    for (int i = b->n_inner - 1; i >= 0; i--) {
        const size_t size = (size_t)b->inner_size[i];
        if (b->inner_dim[i] == dim) {
            sum += at % size * inner;
            at /= size;
        }
        inner *= size;
    }
    return sum + at * (size_t)b->strides[dim];
}

/* False when indices within the panel are not sums of a row offset and a k offset. */
static bool map_panel(struct matmul *p)
{
    struct blocking b;
    const desc_ref d = weights_desc(p);
    if (!d || !get_blocking(d, &b))
        return false;
    struct qr_onednn_matmul *pub = &p->pub;
    const size_t bytes = dnnl_memory_desc_get_size(d), size = pub->type == QR_WEIGHT_F32 ? 4 : 2;
    size_t last_row = 0, last_k = 0;
    for (size_t r = 0; r < PANEL; r++) {
        pub->row_offset[r] = index_offset(&b, 1, r);
        last_row = pub->row_offset[r] > last_row ? pub->row_offset[r] : last_row;
    }
    for (size_t k = 0; k < pub->k; k++) {
        p->k_offset[k] = index_offset(&b, 0, k);
        last_k = p->k_offset[k] > last_k ? p->k_offset[k] : last_k;
    }
    pub->panel_bytes = (bytes + 63) & ~(size_t)63;
    return (last_row + last_k + 1) * size <= bytes;
}

static quire_status create_buckets_and_layout(struct qr_onednn *o, struct matmul *p,
                                              struct quire_error *err)
{
    const int threads = set_one_thread();
    const dnnl_status_t s = create_buckets(o, p);
    restore_threads(threads);
    if (s != dnnl_success)
        return failed(s, qr_weight_type_info(p->pub.type)->name, err);
    if (!map_panel(p))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN chose an unknown weight layout");
    return QUIRE_OK;
}

quire_status qr_onednn_get_matmul(struct qr_onednn *o, enum qr_weight_type type, size_t k,
                                  const struct qr_onednn_matmul **out, struct quire_error *err)
{
    enum { MAX_K = 1 << 24 }; /* no size below overflows */
    *out = NULL;
    if ((type != QR_WEIGHT_F32 && type != QR_WEIGHT_BF16) || k == 0 || k > MAX_K)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN does not support rows of %zu values of %s",
                       k, qr_weight_type_info(type)->name);
    struct matmul *p = o->matmuls;
    while (p && (p->pub.type != type || p->pub.k != k))
        p = p->next;
    if (!p) {
        p = qr_calloc(o->allocator, 1, sizeof *p);
        if (!p || !(p->k_offset = qr_alloc(o->allocator, k, sizeof *p->k_offset))) {
            qr_free(o->allocator, p, 1, sizeof *p);
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for a matmul of %zu values", k);
        }
        p->pub =
            (struct qr_onednn_matmul){ .owner = o, .type = type, .k = k, .k_offset = p->k_offset };
        p->pub.width = type == QR_WEIGHT_BF16 ? (k + 31) / 32 * 32 : k;
        const quire_status s = create_buckets_and_layout(o, p, err);
        if (s != QUIRE_OK) {
            destroy_matmul(o->allocator, p);
            return s;
        }
        p->next = o->matmuls;
        o->matmuls = p;
    }
    *out = &p->pub;
    return QUIRE_OK;
}

/* Adds an acquired runner to the list. */
static struct qr_onednn_runner *add_runner(struct qr_onednn *o)
{
    struct qr_onednn_runner *r =
        qr_alloc_aligned(o->allocator, sizeof *r, _Alignof(struct qr_onednn_runner));
    if (!r)
        return NULL;
    r->owner = o;
    r->acquired = true;
    r->all = r->current = NULL;
    r->scratch = NULL;
    r->scratch_bytes = 0;
    if (dnnl_stream_create(&r->stream, o->engine, dnnl_stream_default_flags) != dnnl_success) {
        qr_free(o->allocator, r, sizeof *r, 1);
        return NULL;
    }
    r->next = __atomic_load_n(&o->runners, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&o->runners, &r->next, r, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return r;
}

static bool create_memory(const struct qr_onednn_runner *r, const struct bucket *b,
                          dnnl_query_t what, void *at, dnnl_memory_t *out)
{
    return dnnl_memory_create(out, dnnl_primitive_desc_query_md(b->desc, what, 0), r->owner->engine,
                              at) == dnnl_success;
}

/* Allocates the scratchpad for all buckets of p and its memory objects. False when memory is short;
 * the runner stays valid then. */
static bool prepare(struct qr_onednn_runner *r, const struct matmul *p)
{
    const struct quire_allocator *allocator = r->owner->allocator;
    for (r->current = r->all; r->current; r->current = r->current->next)
        if (r->current->matmul == p)
            return true;
    if (p->scratch_bytes > r->scratch_bytes) {
        void *scratch = qr_alloc_aligned(allocator, p->scratch_bytes, 64);
        if (!scratch)
            return false;
        qr_free(allocator, r->scratch, r->scratch_bytes, 1);
        r->scratch = scratch;
        r->scratch_bytes = p->scratch_bytes;
    }
    struct memories *m = qr_calloc(allocator, 1, sizeof *m);
    if (!m)
        return false;
    bool ok = create_memory(r, &p->buckets[BUCKETS - 1], dnnl_query_weights_md, DNNL_MEMORY_NONE,
                            &m->weights);
    for (int b = 0; ok && b < BUCKETS; b++) {
        const struct bucket *bucket = &p->buckets[b];
        ok = create_memory(r, bucket, dnnl_query_src_md, DNNL_MEMORY_NONE, &m->x[b]) &&
             create_memory(r, bucket, dnnl_query_dst_md, r->out, &m->out[b]) &&
             (!bucket->needs_scratch ||
              create_memory(r, bucket, dnnl_query_scratchpad_md, DNNL_MEMORY_NONE, &m->scratch[b]));
    }
    if (!ok) {
        destroy_memories(allocator, m);
        return false;
    }
    m->matmul = p;
    m->next = r->all;
    r->all = r->current = m;
    return true;
}

struct qr_onednn_runner *qr_onednn_acquire(const struct qr_onednn_matmul *p)
{
    struct qr_onednn_runner *r = __atomic_load_n(&p->owner->runners, __ATOMIC_ACQUIRE);
    while (r && (__atomic_load_n(&r->acquired, __ATOMIC_RELAXED) ||
                 __atomic_exchange_n(&r->acquired, true, __ATOMIC_ACQUIRE)))
        r = r->next;
    if (!r && !(r = add_runner(p->owner)))
        return NULL;
    r->threads_before = set_one_thread();
    if (!prepare(r, (const struct matmul *)p)) {
        qr_onednn_release(r);
        return NULL;
    }
    return r;
}

void qr_onednn_release(struct qr_onednn_runner *r)
{
    if (!r)
        return;
    restore_threads(r->threads_before);
    __atomic_store_n(&r->acquired, false, __ATOMIC_RELEASE);
}

const float *qr_onednn_execute(const struct qr_onednn_matmul *pub, struct qr_onednn_runner *r,
                               size_t rows, const void *x, const void *panel)
{
    const struct matmul *p = (const struct matmul *)pub;
    const struct memories *m = r->current;
    int b = 0;
    while ((size_t)1 << b < rows)
        b++;
    const dnnl_exec_arg_t args[] = {
        { DNNL_ARG_SRC, m->x[b] },
        { DNNL_ARG_WEIGHTS, m->weights },
        { DNNL_ARG_DST, m->out[b] },
        { DNNL_ARG_SCRATCHPAD, m->scratch[b] },
    };
    const bool ok = dnnl_memory_set_data_handle(m->x[b], (void *)x) == dnnl_success &&
                    dnnl_memory_set_data_handle(m->weights, (void *)panel) == dnnl_success &&
                    (!m->scratch[b] ||
                     dnnl_memory_set_data_handle(m->scratch[b], r->scratch) == dnnl_success) &&
                    dnnl_primitive_execute(p->buckets[b].primitive, r->stream,
                                           m->scratch[b] ? 4 : 3, args) == dnnl_success &&
                    dnnl_stream_wait(r->stream) == dnnl_success;
    return ok ? r->out : NULL;
}
