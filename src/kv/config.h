/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - validated cache configurations and the memory they need. */
#ifndef QR_KV_CONFIG_H
#define QR_KV_CONFIG_H
#include "kv/types.h"

struct qr_kv_sizes {
    size_t pool, tables; /* bytes */
};

/* Validates a configuration. *out is a copy with defaults filled in. */
quire_status qr_kv_config_check(const struct quire_kv_params *params, struct quire_kv_params *out,
                                struct quire_error *err);

/* Computes group i of a validated configuration, except its pointers, and adds its memory to
 * *sizes. Groups are computed in order, from *sizes zeroed. QUIRE_E_LIMIT: the address space is too
 * small. */
quire_status qr_kv_group_size(const struct quire_kv_params *config, uint32_t i,
                              struct qr_kv_sizes *sizes, struct qr_kv_group *out,
                              struct quire_error *err);

#endif
