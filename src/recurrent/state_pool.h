/* SPDX-License-Identifier: Apache-2.0 */
/* state_pool.h - slots of recurrent states (quire/state_pool.h), for the forward pass. */
#ifndef QR_RECURRENT_STATE_POOL_H
#define QR_RECURRENT_STATE_POOL_H
#include <quire/state_pool.h>

/* Size of one state as the pool was created for it. */
uint64_t qr_state_pool_state_bytes(const struct quire_state_pool *pool);

uint32_t qr_state_pool_n_slots(const struct quire_state_pool *pool);

/* Checks that the slot exists and is allocated; what: name of the argument, for messages.
 * QUIRE_E_RANGE, QUIRE_E_MISUSE. */
quire_status qr_state_pool_check(const struct quire_state_pool *pool, int32_t slot,
                                 const char *what, struct quire_error *err);

/* The state of a slot that passed the check, aligned to 64 bytes. */
float *qr_state_pool_slot(const struct quire_state_pool *pool, int32_t slot);

#endif
