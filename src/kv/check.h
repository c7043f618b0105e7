/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - checks of groups, layers and blocks that arguments name, and of concurrent updates. */
#ifndef QR_KV_CHECK_H
#define QR_KV_CHECK_H
#include "kv/types.h"

/* Begins a call that changes the cache. QUIRE_E_BUSY when another such call is running. */
quire_status qr_kv_begin_update(struct quire_kv_cache *kv, struct quire_error *err);
void qr_kv_end_update(struct quire_kv_cache *kv);

/* QUIRE_E_INVALID_ARG when kv is NULL or has no such group, or the group no such layer. */
quire_status qr_kv_check_group(const struct quire_kv_cache *kv, uint32_t group,
                               struct quire_error *err);
quire_status qr_kv_check_layer(const struct quire_kv_cache *kv, uint32_t group, uint32_t layer,
                               struct quire_error *err);
/* Checks that `id`, entry i of the argument `what`, is a block whose reference count is in
 * [min_refs, max_refs]. QUIRE_E_RANGE, QUIRE_E_MISUSE. */
quire_status qr_kv_check_block(const struct qr_kv_group *g, const char *what, size_t i, int32_t id,
                               uint32_t min_refs, uint32_t max_refs, struct quire_error *err);

/* Begins a check for duplicates and returns its epoch, which differs from all visited[] entries. */
uint32_t qr_kv_next_visit_epoch(struct qr_kv_group *g);

#endif
