/* SPDX-License-Identifier: Apache-2.0 */
/* key_shard.h - context parallelism: which keys of a sequence one rank holds, and where.
 *
 * Positions are dealt to the ranks in turn, `interleave` at a time: rank r holds the positions p
 * with p / interleave % world == r. It stores them without gaps: key i of a rank is the one with
 * the i-th lowest position. */
#ifndef QR_KV_KEY_SHARD_H
#define QR_KV_KEY_SHARD_H
#include "base/error.h"
#include <stdbool.h>

enum { QR_MAX_RANKS = 1024, QR_MAX_INTERLEAVE = 65536 };

/* world 1: all keys. */
struct qr_key_shard {
    uint32_t world, rank, interleave;
};

/* Replaces 0, the default of the public members, by 1. */
static inline struct qr_key_shard qr_key_shard_of(uint32_t world, uint32_t rank,
                                                  uint32_t interleave)
{
    return (struct qr_key_shard){ world ? world : 1, rank, interleave ? interleave : 1 };
}

/* `name` is that of the struct with the members cp_world_size, cp_rank and cp_interleave. */
static inline quire_status qr_key_shard_check(struct qr_key_shard s, const char *name,
                                              struct quire_error *err)
{
    if (s.world > QR_MAX_RANKS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s.cp_world_size is %u, above %d", name, s.world,
                       QR_MAX_RANKS);
    if (s.rank >= s.world)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s.cp_rank is %u, not below cp_world_size %u",
                       name, s.rank, s.world);
    if (s.interleave > QR_MAX_INTERLEAVE)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s.cp_interleave is %u, above %d", name,
                       s.interleave, QR_MAX_INTERLEAVE);
    return QUIRE_OK;
}

/* Number of the rank's keys at positions below `pos`. */
static inline uint32_t qr_key_shard_below(const struct qr_key_shard *s, uint32_t pos)
{
    if (s->world == 1)
        return pos;
    const uint32_t round = s->world * s->interleave, begin = s->rank * s->interleave,
                   rest = pos % round, more = rest > begin ? rest - begin : 0;
    return pos / round * s->interleave + (more < s->interleave ? more : s->interleave);
}

static inline bool qr_key_shard_has(const struct qr_key_shard *s, uint32_t pos)
{
    return pos / s->interleave % s->world == s->rank;
}

/* Position of the rank's key i. */
static inline uint32_t qr_key_shard_pos(const struct qr_key_shard *s, uint32_t i)
{
    return (i / s->interleave * s->world + s->rank) * s->interleave + i % s->interleave;
}

#endif
