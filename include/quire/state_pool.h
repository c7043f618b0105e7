/* SPDX-License-Identifier: Apache-2.0 */
/** Pool of recurrent states: memory of the sequences of models with recurrent layers.
 *
 *  Layers such as Mamba-2, the gated delta net or a short convolution keep one state per sequence
 *  instead of keys and values of every token. Its size, quire_model_info.state_bytes, does not
 *  depend on the length of the sequence. A pool holds such states in slots of equal size; a slot is
 *  named by its number. quire_context_params.states is the pool of a context, and
 *  quire_forward_args.state_slots names the slot of each sequence of a step: the step reads the
 *  state after the tokens before it and leaves the state after its own.
 *
 *      struct quire_state_pool_params p;
 *      quire_state_pool_params_init(&p, sizeof p);
 *      p.state_bytes = info.state_bytes;
 *      p.n_slots = 16;
 *      quire_state_pool_create(&p, &pool, &err);
 *      quire_state_pool_alloc(pool, &slot, &err);
 *
 *  A state covers all tokens so far and cannot be shortened: to continue at an earlier token, copy
 *  the slot while it has the state after that token, or compute the tokens again from the start.
 *
 *  Threads: alloc and free are not thread-safe for one pool. Copies, reads, writes and steps may
 *  run at the same time if no slot that one of them writes is used by another. */
#ifndef QUIRE_STATE_POOL_H
#define QUIRE_STATE_POOL_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_state_pool; /**< owns the slots */

struct quire_state_pool_params {
    uint32_t struct_size;
    uint32_t n_slots; /**< 1 .. 2^20 */
    /** size of one state: quire_model_info.state_bytes of the model; a multiple of 4, not 0 */
    uint64_t state_bytes;
    uint32_t flags; /**< 0 */
    /** borrowed, outlives the pool; NULL = C library. Called for two allocations: the tables and
     *  the slots */
    const struct quire_allocator *allocator;
};
QUIRE_API void quire_state_pool_params_init(struct quire_state_pool_params *params,
                                            size_t struct_size);

/** Properties of a pool. */
struct quire_state_pool_info {
    uint32_t struct_size; /**< set by the caller */
    uint32_t n_slots, n_free;
    uint64_t state_bytes; /**< of one state */
    uint64_t total_bytes; /**< memory of the pool, as quire_state_pool_bytes() computes it */
};
QUIRE_API void quire_state_pool_info_init(struct quire_state_pool_info *info, size_t struct_size);

/** Computes *total_bytes = the memory of a pool with these parameters; allocates nothing.
 *  QUIRE_E_INVALID_ARG a member out of range (the message names it), QUIRE_E_LIMIT sizes beyond the
 *  address space. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_state_pool_bytes(
    const struct quire_state_pool_params *params, uint64_t *total_bytes, struct quire_error *err);

/** Reserves all slots, free; their pages are touched at first use. *out belongs to the caller; NULL
 *  on failure. Errors of quire_state_pool_bytes, and QUIRE_E_NOMEM with the size. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_state_pool_create(const struct quire_state_pool_params *params, struct quire_state_pool **out,
                        struct quire_error *err);

/** Frees the pool; NULL is a no-op. The contexts that use it must be destroyed first. */
QUIRE_API void quire_state_pool_destroy(struct quire_state_pool *pool);

QUIRE_API QUIRE_MUST_CHECK quire_status
quire_state_pool_get_info(const struct quire_state_pool *pool, struct quire_state_pool_info *info);

/** Takes the free slot with the lowest number; its content is the zero state, that of a sequence
 *  without tokens. QUIRE_E_AGAIN no slot is free. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_state_pool_alloc(struct quire_state_pool *pool,
                                                               int32_t *slot,
                                                               struct quire_error *err);

/** Returns a slot to the pool. QUIRE_E_RANGE no such slot, QUIRE_E_MISUSE it is free already. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_state_pool_free(struct quire_state_pool *pool,
                                                              int32_t slot,
                                                              struct quire_error *err);

/** Copies the state of slot src to slot dst, bit for bit; a no-op if they are the same.
 *  QUIRE_E_RANGE no such slot, QUIRE_E_MISUSE one of them is free. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_state_pool_copy(struct quire_state_pool *pool,
                                                              int32_t dst, int32_t src,
                                                              struct quire_error *err);

/** Reads the state of a slot, as for a file: state_bytes bytes, values in the byte order of the
 *  host: f32, and bf16 with QUIRE_MODEL_BF16_STATES (quire/model.h). Their order is that of the
 *  model's layers and may differ between versions.
 *  data  [n_bytes] written; n_bytes is state_bytes, else QUIRE_E_INVALID_ARG
 *  QUIRE_E_RANGE no such slot, QUIRE_E_MISUSE it is free. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_state_pool_read(const struct quire_state_pool *pool,
                                                              int32_t slot, void *data,
                                                              uint64_t n_bytes,
                                                              struct quire_error *err);

/** Writes a state that quire_state_pool_read() returned. The values are not checked: a state that
 *  was changed gives wrong results, and nothing worse. Errors of quire_state_pool_read. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_state_pool_write(struct quire_state_pool *pool,
                                                               int32_t slot, const void *data,
                                                               uint64_t n_bytes,
                                                               struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
