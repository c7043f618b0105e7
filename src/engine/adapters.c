/* SPDX-License-Identifier: Apache-2.0 */
/* adapters.c - the adapters of an engine, and those that requests use. */
#include "engine/adapters.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/keyed_hash.h"
#include "base/struct_size.h"
#include "engine/drive.h"
#include "engine/types.h"
#include "model/load/adapter.h"
#include <math.h>
#include <string.h>

QR_DEFINE_ZERO_INIT(quire_engine_adapter_params)
QR_DEFINE_ZERO_INIT(quire_engine_adapter_info)

quire_status qr_adapters_init(struct qr_engine_adapters *a, struct quire_error *err)
{
    const int error = pthread_mutex_init(&a->lock, NULL);
    a->ready = error == 0;
    return error ? qr_fail_errno(err, QUIRE_E_NOMEM, error, "no lock for adapters") : QUIRE_OK;
}

static void hold(struct quire_adapter *a) { __atomic_fetch_add(&a->n_users, 1, __ATOMIC_ACQ_REL); }

static void release(struct quire_adapter *a)
{
    __atomic_fetch_sub(&a->n_users, 1, __ATOMIC_ACQ_REL);
}

static void destroy(const struct quire_engine *e, struct qr_named_adapter *n)
{
    release(n->adapter);
    if (n->owned)
        (void)quire_adapter_close(n->adapter); /* nobody else has it */
    qr_free(e->allocator, n, 1, sizeof *n);
}

void qr_adapters_free(struct quire_engine *e)
{
    struct qr_engine_adapters *a = &e->adapters;
    for (struct qr_named_adapter *n = a->first, *next; n; n = next) {
        next = n->next;
        destroy(e, n);
    }
    a->first = NULL;
    if (a->ready && !qr_engine_is_forked(e))
        pthread_mutex_destroy(&a->lock);
    a->ready = false;
}

/* The place of a name in the list, or of its end. The lock is held. */
static struct qr_named_adapter **find(struct qr_engine_adapters *a, const char *name)
{
    struct qr_named_adapter **at = &a->first;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

/* ---- Names */

static quire_status check_name(const char *name, struct quire_error *err)
{
    const size_t n = name ? strnlen(name, QUIRE_ADAPTER_NAME_BYTES) : 0;
    if (n == 0 || n == QUIRE_ADAPTER_NAME_BYTES)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "name: %s",
                       !name ? "it is NULL"
                       : n   ? "it is longer than QUIRE_ADAPTER_NAME_BYTES - 1"
                             : "it is empty");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < 0x20)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "name: it has a control character");
    return QUIRE_OK;
}

/* Whether requests of the engine can use the adapter. */
static quire_status check_adapter(const struct quire_engine *e, const struct quire_adapter *a,
                                  const char *what, struct quire_error *err)
{
    QR_TRY(qr_handle_check(a, QR_KIND_ADAPTER, what, err));
    if (a->model != e->model)
        return qr_fail(err, QUIRE_E_MISMATCH, "%s: the adapter belongs to another model", what);
    if (a->info.rank > e->info.max_adapter_rank)
        return qr_fail(err, QUIRE_E_LIMIT,
                       "%s: the adapter has rank %u, max_adapter_rank of the engine is %u", what,
                       a->info.rank, e->info.max_adapter_rank);
    return QUIRE_OK;
}

static quire_status check_add(const struct quire_engine_adapter_params *p, struct quire_error *err)
{
    QR_TRY(check_name(p->name, err));
    if (!p->path == !p->adapter)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "give exactly one of path and adapter");
    if (p->adapter && p->flags)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags are given for an adapter that is open");
    return QUIRE_OK;
}

/* Opens the adapter, or takes the caller's. */
static quire_status open_adapter(struct quire_engine *e,
                                 const struct quire_engine_adapter_params *p,
                                 struct quire_adapter **out, struct quire_error *err)
{
    *out = p->adapter;
    if (!p->path)
        return check_adapter(e, p->adapter, "adapter", err);
    struct quire_adapter_params ap;
    quire_adapter_params_init(&ap, sizeof ap);
    ap.path = p->path;
    ap.flags = p->flags;
    ap.allocator = e->allocator;
    QR_TRY(quire_adapter_open(e->model, &ap, out, err));
    const quire_status s = check_adapter(e, *out, "path", err);
    if (s != QUIRE_OK)
        (void)quire_adapter_close(*out);
    return s;
}

/* Adds the entry at the end of the list. False: the name is in use. */
static bool insert(struct quire_engine *e, struct qr_named_adapter *n)
{
    pthread_mutex_lock(&e->adapters.lock);
    struct qr_named_adapter **at = find(&e->adapters, n->name);
    const bool vacant = !*at;
    if (vacant)
        *at = n;
    pthread_mutex_unlock(&e->adapters.lock);
    return vacant;
}

quire_status quire_engine_add_adapter(struct quire_engine *engine,
                                      const struct quire_engine_adapter_params *params,
                                      struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_engine_adapter_params p;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    QR_READ_STRUCT(&p, params, flags, "params", err);
    QR_TRY(qr_engine_check_process(engine, err));
    QR_TRY(check_add(&p, err));
    struct quire_adapter *adapter;
    QR_TRY(open_adapter(engine, &p, &adapter, err));
    struct qr_named_adapter *n = qr_calloc(engine->allocator, 1, sizeof *n);
    if (!n) {
        if (p.path)
            (void)quire_adapter_close(adapter);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for an adapter");
    }
    n->adapter = adapter;
    n->owned = p.path != NULL;
    memcpy(n->name, p.name, strlen(p.name));
    hold(adapter);
    if (insert(engine, n))
        return QUIRE_OK;
    const quire_status s =
        qr_fail(err, QUIRE_E_RANGE, "name: an adapter with the name %.100s exists", n->name);
    destroy(engine, n);
    return s;
}

quire_status quire_engine_remove_adapter(struct quire_engine *engine, const char *name,
                                         struct quire_error *err)
{
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    QR_TRY(qr_engine_check_process(engine, err));
    QR_TRY(check_name(name, err));
    pthread_mutex_lock(&engine->adapters.lock);
    struct qr_named_adapter **at = find(&engine->adapters, name), *n = *at;
    bool last = false;
    if (n) {
        *at = n->next;
        n->removed = true;
        last = n->n_requests == 0;
    }
    pthread_mutex_unlock(&engine->adapters.lock);
    if (!n)
        return qr_fail(err, QUIRE_E_RANGE, "name: there is no adapter %.100s", name);
    if (last)
        destroy(engine, n);
    return QUIRE_OK;
}

quire_status quire_engine_get_adapter(struct quire_engine *engine, uint32_t index,
                                      struct quire_engine_adapter_info *info)
{
    if (!qr_handle_is(engine, QR_KIND_ENGINE) || !info)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(info, QR_SIZE_TO(struct quire_engine_adapter_info, fingerprint),
                               "info", NULL));
    QR_TRY(qr_engine_check_process(engine, NULL));
    struct quire_engine_adapter_info facts = { 0 };
    pthread_mutex_lock(&engine->adapters.lock);
    const struct qr_named_adapter *n = engine->adapters.first;
    for (; n && index; index--)
        n = n->next;
    if (n) {
        const struct quire_adapter_info *i = &n->adapter->info;
        facts.rank = i->rank;
        facts.n_modules = i->n_modules;
        facts.n_requests = n->n_requests;
        facts.bytes = i->bytes;
        facts.fingerprint = i->fingerprint;
        memcpy(facts.name, n->name, sizeof facts.name);
    }
    pthread_mutex_unlock(&engine->adapters.lock);
    if (!n)
        return QUIRE_E_RANGE;
    qr_struct_write(info, &facts, sizeof facts);
    return QUIRE_OK;
}

/* ---- Requests */

static quire_status no_adapter(const char *name, struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_RANGE, "adapter_name: there is no adapter %.100s", name);
}

quire_status qr_adapters_check(struct quire_engine *e, const struct quire_request_params *p,
                               struct quire_error *err)
{
    if (!p->adapter && !p->adapter_name)
        return QUIRE_OK;
    if (p->adapter && p->adapter_name)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "adapter and adapter_name are both given");
    if (!isfinite(p->adapter_scale))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "adapter_scale is not finite");
    if (p->adapter)
        return check_adapter(e, p->adapter, "adapter", err);
    pthread_mutex_lock(&e->adapters.lock);
    const bool found = *find(&e->adapters, p->adapter_name) != NULL;
    pthread_mutex_unlock(&e->adapters.lock);
    return found ? QUIRE_OK : no_adapter(p->adapter_name, err);
}

quire_status qr_adapters_hold(struct quire_engine *e, struct qr_request *r,
                              const struct quire_request_params *p, struct quire_error *err)
{
    struct quire_adapter *a = p->adapter;
    if (p->adapter_name) {
        pthread_mutex_lock(&e->adapters.lock);
        r->named_adapter = *find(&e->adapters, p->adapter_name);
        if (r->named_adapter)
            r->named_adapter->n_requests++;
        pthread_mutex_unlock(&e->adapters.lock);
        if (!r->named_adapter)
            return no_adapter(p->adapter_name, err);
        a = r->named_adapter->adapter;
    }
    if (!a)
        return QUIRE_OK;
    r->adapter = a;
    hold(a);
    if (p->adapter_scale == 0) /* computes and shares prefixes like a request without adapter */
        return QUIRE_OK;
    r->task.adapter = a;
    r->task.adapter_scale = p->adapter_scale;
    r->task.adapter_key =
        qr_hash_bytes(a->info.fingerprint, &p->adapter_scale, sizeof p->adapter_scale);
    r->task.adapter_key += r->task.adapter_key == 0; /* 0 is none */
    return QUIRE_OK;
}

void qr_adapters_release(struct quire_engine *e, struct qr_request *r)
{
    struct qr_named_adapter *n = r->named_adapter;
    bool last = false;
    if (r->adapter)
        release(r->adapter);
    r->adapter = NULL;
    r->named_adapter = NULL;
    if (!n)
        return;
    pthread_mutex_lock(&e->adapters.lock);
    last = --n->n_requests == 0 && n->removed;
    pthread_mutex_unlock(&e->adapters.lock);
    if (last)
        destroy(e, n);
}
