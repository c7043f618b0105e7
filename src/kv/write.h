/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - storing the new rows of one head, for stages that make rows and store them in one go. */
#ifndef QR_KV_WRITE_H
#define QR_KV_WRITE_H
#include "kv/pool.h"

/* Rounds and stores the keys, or the values, of all tokens of one head, by one thread. args are as
 * quire_kv_write_check passed them; what is not stored may be NULL. Heads, and keys and values of
 * one head, may be stored by several threads at once. */
void qr_kv_write_head_k(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                        uint32_t head);
void qr_kv_write_head_v(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                        uint32_t head);

#endif
