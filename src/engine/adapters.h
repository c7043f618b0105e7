/* SPDX-License-Identifier: Apache-2.0 */
/* adapters.h - the adapters of an engine, and those that requests use. */
#ifndef QR_ENGINE_ADAPTERS_H
#define QR_ENGINE_ADAPTERS_H
#include <pthread.h>
#include <quire/engine_adapter.h>
#include <stdbool.h>

struct quire_request_params;
struct qr_request;

/* An adapter with a name. It is in the list until it is removed, and lives until its last request
 * releases it. */
struct qr_named_adapter {
    struct qr_named_adapter *next;
    struct quire_adapter *adapter;
    bool owned, removed;
    uint32_t n_requests;
    char name[QUIRE_ADAPTER_NAME_BYTES];
};

struct qr_engine_adapters {
    pthread_mutex_t lock; /* of everything below; no other lock is taken under it */
    bool ready;
    struct qr_named_adapter *first;
};

quire_status qr_adapters_init(struct qr_engine_adapters *a, struct quire_error *err);
/* Closes all adapters. No request uses one. Safe on zeroes. */
void qr_adapters_free(struct quire_engine *e);

/* Checks the fields of a request that choose an adapter; a name must exist. */
quire_status qr_adapters_check(struct quire_engine *e, const struct quire_request_params *p,
                               struct quire_error *err);

/* Enters the adapter of a request in its task and holds it until qr_adapters_release. QUIRE_E_RANGE
 * the name was removed meanwhile. */
quire_status qr_adapters_hold(struct quire_engine *e, struct qr_request *r,
                              const struct quire_request_params *p, struct quire_error *err);
void qr_adapters_release(struct quire_engine *e, struct qr_request *r);

#endif
