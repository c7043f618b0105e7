/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_shim.c - the only file that knows oneDNN's C API, in its 2.x and 3.x forms. */
#include "linear/onednn_shim.h"
#include "base/alloc.h"
#include "base/error.h"
#include "kernels/dispatch.h"
#include <dnnl.h>
#include <quire/model.h>
#include <quire/onednn.h>
#include <string.h>

/* oneDNN's own threads would meet those of our team: each call must stay on the thread that makes
 * it, inside an OpenMP region or outside. Its OpenMP builds take the number of threads from the
 * caller's nthreads variable, both when a primitive is made and when it runs. */
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
static const bool stays_on_caller = true;
static int threads_to_one(void)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    return before;
}
static void threads_back(int before) { omp_set_num_threads(before); }
#else
static const bool stays_on_caller = DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_SEQ;
static int threads_to_one(void) { return 0; }
static void threads_back(int before) { (void)before; }
#endif

enum {
    PANEL = QR_FLOAT_PANEL_ROWS,
    BUCKETS = 8, /* primitives for 1, 2, 4 .. 128 rows */
};

_Static_assert(1 << (BUCKETS - 1) == QR_ONEDNN_MAX_ROWS, "the last bucket is the most rows");

struct qr_onednn {
    const struct quire_allocator *allocator;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr;
    struct product *products;
    struct qr_onednn_runner *runners; /* atomic head; the list only grows */
};

struct bucket {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    bool needs_scratch;
};

struct product {
    struct qr_onednn_product shown; /* first, so that a pointer to it is one to the whole */
    struct product *next;
    size_t *k_at;
    size_t scratch_bytes; /* enough for any bucket */
    struct bucket buckets[BUCKETS];
};

/* Memory objects for one product; from call to call only their addresses change. */
struct memories {
    struct memories *next;
    const struct product *product;
    dnnl_memory_t weights, x[BUCKETS], out[BUCKETS], scratch[BUCKETS];
};

struct qr_onednn_runner {
    _Alignas(
        64) float out[QR_ONEDNN_MAX_ROWS * PANEL]; /* packed results suit oneDNN's faster code */
    struct qr_onednn *owner;
    struct qr_onednn_runner *next;
    bool busy;          /* atomic */
    int threads_before; /* while busy */
    dnnl_stream_t stream;
    struct memories *all, *now; /* now: of the product it was taken for */
    void *scratch;
    size_t scratch_bytes;
};

/* A blocked layout of weights [k][PANEL] as oneDNN describes it. */
struct blocking {
    dnnl_dim_t strides[2];
    int n_inner;
    dnnl_dim_t inner_size[DNNL_MAX_NDIMS], inner_dim[DNNL_MAX_NDIMS];
};

/* ---- what differs between the versions: memory descriptors and making a matmul ---- */
#if DNNL_VERSION_MAJOR < 3

typedef const dnnl_memory_desc_t *desc_ref;

/* m rows of width k times weights that lie as `weights` says, or as oneDNN likes when it is NULL. */
static dnnl_status_t make_matmul(const struct qr_onednn *o, dnnl_data_type_t type, dnnl_dim_t m,
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

/* m rows of width k times weights that lie as `weights` says, or as oneDNN likes when it is NULL. */
static dnnl_status_t make_matmul(const struct qr_onednn *o, dnnl_data_type_t type, dnnl_dim_t m,
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
/* ---- the same for both ---- */

static quire_status failed(dnnl_status_t s, const char *what, struct quire_error *err)
{
    if (s == dnnl_unimplemented)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN cannot do this on this CPU: %s", what);
    return qr_fail(err, s == dnnl_out_of_memory ? QUIRE_E_NOMEM : QUIRE_E_INTERNAL,
                   "oneDNN failed with status %d: %s", (int)s, what);
}

quire_status qr_onednn_create(const struct quire_allocator *allocator, struct qr_onednn **out,
                              struct quire_error *err)
{
    *out = NULL;
    if (!stays_on_caller)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN is built for other threads than OpenMP's");
    struct qr_onednn *o = qr_calloc(allocator, 1, sizeof *o);
    if (!o)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for oneDNN");
    o->allocator = allocator;
    dnnl_status_t s = dnnl_engine_create(&o->engine, dnnl_cpu, 0);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_create(&o->attr);
    /* a primitive with scratch memory of its own could not run on two threads at once */
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(o->attr, dnnl_scratchpad_mode_user);
    if (s != dnnl_success) {
        qr_onednn_destroy(o);
        return failed(s, "make an engine", err);
    }
    *out = o;
    return QUIRE_OK;
}

static void destroy_product(const struct quire_allocator *allocator, struct product *p)
{
    for (int b = 0; b < BUCKETS; b++) {
        dnnl_primitive_destroy(p->buckets[b].primitive);
        dnnl_primitive_desc_destroy(p->buckets[b].desc);
    }
    qr_free(allocator, p->k_at, p->shown.k, sizeof *p->k_at);
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
    for (struct product *p = o->products, *next; p; p = next) {
        next = p->next;
        destroy_product(o->allocator, p);
    }
    dnnl_primitive_attr_destroy(o->attr);
    dnnl_engine_destroy(o->engine);
    qr_free(o->allocator, o, 1, sizeof *o);
}

static desc_ref weights_desc(const struct product *p)
{
    return dnnl_primitive_desc_query_md(p->buckets[BUCKETS - 1].desc, dnnl_query_weights_md, 0);
}

/* The largest bucket first: its choice of a layout is what the others must take. */
static dnnl_status_t make_buckets(const struct qr_onednn *o, struct product *p)
{
    const dnnl_data_type_t type = p->shown.type == QR_WEIGHT_F32 ? dnnl_f32 : dnnl_bf16;
    for (int b = BUCKETS - 1; b >= 0; b--) {
        struct bucket *bucket = &p->buckets[b];
        const char *name = "";
        dnnl_status_t s = make_matmul(o, type, (dnnl_dim_t)1 << b, (dnnl_dim_t)p->shown.width,
                                      b == BUCKETS - 1 ? NULL : weights_desc(p), &bucket->desc);
        if (s == dnnl_success)
            s = dnnl_primitive_desc_query(bucket->desc, dnnl_query_impl_info_str, 0, &name);
        if (s == dnnl_success && strncmp(name, "ref", 3) == 0)
            s = dnnl_unimplemented; /* reference code: for checking results, far too slow to use */
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

/* What position `at` along dimension `dim` adds to an element's index. */
static size_t index_part(const struct blocking *b, int dim, size_t at)
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

/* False when the layout is none that can be written down as row_at + k_at within the panel. */
static bool map_panel(struct product *p)
{
    struct blocking b;
    const desc_ref d = weights_desc(p);
    if (!d || !get_blocking(d, &b))
        return false;
    struct qr_onednn_product *shown = &p->shown;
    const size_t bytes = dnnl_memory_desc_get_size(d), size = shown->type == QR_WEIGHT_F32 ? 4 : 2;
    size_t last_row = 0, last_k = 0;
    for (size_t r = 0; r < PANEL; r++) {
        shown->row_at[r] = index_part(&b, 1, r);
        last_row = shown->row_at[r] > last_row ? shown->row_at[r] : last_row;
    }
    for (size_t k = 0; k < shown->k; k++) {
        p->k_at[k] = index_part(&b, 0, k);
        last_k = p->k_at[k] > last_k ? p->k_at[k] : last_k;
    }
    shown->panel_bytes = (bytes + 63) & ~(size_t)63;
    return (last_row + last_k + 1) * size <= bytes;
}

static quire_status make_product(struct qr_onednn *o, struct product *p, struct quire_error *err)
{
    const int threads = threads_to_one();
    const dnnl_status_t s = make_buckets(o, p);
    threads_back(threads);
    if (s != dnnl_success)
        return failed(s, qr_weight_type_info(p->shown.type)->name, err);
    if (!map_panel(p))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN packs weights in an unknown layout");
    return QUIRE_OK;
}

quire_status qr_onednn_get_product(struct qr_onednn *o, enum qr_weight_type type, size_t k,
                                   const struct qr_onednn_product **out, struct quire_error *err)
{
    enum { MAX_K = 1 << 24 }; /* keeps every size below in range */
    *out = NULL;
    if ((type != QR_WEIGHT_F32 && type != QR_WEIGHT_BF16) || k == 0 || k > MAX_K)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN does not take rows of %zu values of %s", k,
                       qr_weight_type_info(type)->name);
    struct product *p = o->products;
    while (p && (p->shown.type != type || p->shown.k != k))
        p = p->next;
    if (!p) {
        p = qr_calloc(o->allocator, 1, sizeof *p);
        if (!p || !(p->k_at = qr_alloc(o->allocator, k, sizeof *p->k_at))) {
            qr_free(o->allocator, p, 1, sizeof *p);
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for a product of %zu values", k);
        }
        p->shown = (struct qr_onednn_product){ .owner = o, .type = type, .k = k, .k_at = p->k_at };
        p->shown.width = type == QR_WEIGHT_BF16 ? (k + 31) / 32 * 32 : k;
        const quire_status s = make_product(o, p, err);
        if (s != QUIRE_OK) {
            destroy_product(o->allocator, p);
            return s;
        }
        p->next = o->products;
        o->products = p;
    }
    *out = &p->shown;
    return QUIRE_OK;
}

static struct qr_onednn_runner *add_runner(struct qr_onednn *o)
{
    struct qr_onednn_runner *r =
        qr_alloc_aligned(o->allocator, sizeof *r, _Alignof(struct qr_onednn_runner));
    if (!r)
        return NULL;
    r->owner = o;
    r->busy = true;
    r->all = r->now = NULL;
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

static bool make_memory(const struct qr_onednn_runner *r, const struct bucket *b, dnnl_query_t what,
                        void *at, dnnl_memory_t *out)
{
    return dnnl_memory_create(out, dnnl_primitive_desc_query_md(b->desc, what, 0), r->owner->engine,
                              at) == dnnl_success;
}

/* Room for any bucket of p, and the memory objects for it. False: as before but for more room. */
static bool prepare(struct qr_onednn_runner *r, const struct product *p)
{
    const struct quire_allocator *allocator = r->owner->allocator;
    for (r->now = r->all; r->now; r->now = r->now->next)
        if (r->now->product == p)
            return true;
    if (p->scratch_bytes > r->scratch_bytes) {
        void *more = qr_alloc_aligned(allocator, p->scratch_bytes, 64);
        if (!more)
            return false;
        qr_free(allocator, r->scratch, r->scratch_bytes, 1);
        r->scratch = more;
        r->scratch_bytes = p->scratch_bytes;
    }
    struct memories *m = qr_calloc(allocator, 1, sizeof *m);
    if (!m)
        return false;
    bool ok = make_memory(r, &p->buckets[BUCKETS - 1], dnnl_query_weights_md, DNNL_MEMORY_NONE,
                          &m->weights);
    for (int b = 0; ok && b < BUCKETS; b++) {
        const struct bucket *bucket = &p->buckets[b];
        ok = make_memory(r, bucket, dnnl_query_src_md, DNNL_MEMORY_NONE, &m->x[b]) &&
             make_memory(r, bucket, dnnl_query_dst_md, r->out, &m->out[b]) &&
             (!bucket->needs_scratch ||
              make_memory(r, bucket, dnnl_query_scratchpad_md, DNNL_MEMORY_NONE, &m->scratch[b]));
    }
    if (!ok) {
        destroy_memories(allocator, m);
        return false;
    }
    m->product = p;
    m->next = r->all;
    r->all = r->now = m;
    return true;
}

struct qr_onednn_runner *qr_onednn_take(const struct qr_onednn_product *p)
{
    struct qr_onednn_runner *r = __atomic_load_n(&p->owner->runners, __ATOMIC_ACQUIRE);
    while (r && (__atomic_load_n(&r->busy, __ATOMIC_RELAXED) ||
                 __atomic_exchange_n(&r->busy, true, __ATOMIC_ACQUIRE)))
        r = r->next;
    if (!r && !(r = add_runner(p->owner)))
        return NULL;
    r->threads_before = threads_to_one();
    if (!prepare(r, (const struct product *)p)) {
        qr_onednn_give_back(r);
        return NULL;
    }
    return r;
}

void qr_onednn_give_back(struct qr_onednn_runner *r)
{
    if (!r)
        return;
    threads_back(r->threads_before);
    __atomic_store_n(&r->busy, false, __ATOMIC_RELEASE);
}

const float *qr_onednn_execute(const struct qr_onednn_product *shown, struct qr_onednn_runner *r,
                               size_t rows, const void *x, const void *panel)
{
    const struct product *p = (const struct product *)shown;
    const struct memories *m = r->now;
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

quire_status quire_onednn_set_isa(const char *isa, struct quire_error *err)
{
    static const struct {
        const char *level;
        dnnl_cpu_isa_t cap;
    } caps[] = {
        { "generic", dnnl_cpu_isa_sse41 },
        { "avx2", dnnl_cpu_isa_avx2 },
        { "avx2_vnni", dnnl_cpu_isa_avx2_vnni },
        { "avx512", dnnl_cpu_isa_avx512_core },
        { "avx512_vnni", dnnl_cpu_isa_avx512_core_vnni },
        { "avx512_bf16", dnnl_cpu_isa_avx512_core_bf16 },
        { "avx512_amx", dnnl_cpu_isa_avx512_core_amx },
    };
    const struct qr_kernels *kernels;
    QR_TRY(qr_kernels_get(isa, &kernels, err));
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        if (strcmp(caps[i].level, kernels->level) != 0)
            continue;
        const dnnl_status_t s = dnnl_set_max_cpu_isa(caps[i].cap);
        if (s == dnnl_invalid_arguments) /* it fixes its choice at the first use */
            return qr_fail(err, QUIRE_E_BUSY, "oneDNN is in use already: too late to cap it at %s",
                           kernels->level);
        return s == dnnl_success ? QUIRE_OK : failed(s, "cap its instruction sets", err);
    }
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "oneDNN has no cap for level %s", kernels->level);
}
