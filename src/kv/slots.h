/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h - validation of slot mappings that are written to. */
#ifndef QR_KV_SLOTS_H
#define QR_KV_SLOTS_H
#include "kv/types.h"

/* quire_kv_check_slots within qr_kv_begin_update. */
quire_status qr_kv_group_check_slots(struct qr_kv_group *g, const int64_t *slots, size_t n,
                                     struct quire_error *err);

#endif
