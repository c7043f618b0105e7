/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - writes the new rows of one head, for stages that compute and store rows of a head. */
#ifndef QR_KV_WRITE_H
#define QR_KV_WRITE_H
#include "kv/types.h"

/* Quantizes and stores the keys (or the values) of all tokens of one head, on the calling thread.
 * args must have passed quire_kv_write_check, but the pointer that is not used may be NULL.
 * Different heads, and keys and values of one head, may be stored concurrently. */
void qr_kv_write_head_k(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                        uint32_t head);
void qr_kv_write_head_v(struct quire_kv_cache *kv, const struct quire_kv_write_args *args,
                        uint32_t head);

#endif
