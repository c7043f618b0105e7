/* SPDX-License-Identifier: Apache-2.0 */
/* host_team.c - teams of threads that belong to the host. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/team.h"

enum { MAX_MEMBERS = 1024 };

struct quire_host_team {
    struct qr_handle handle;
    struct qr_barrier barrier;
    const struct quire_allocator *allocator;
    uint32_t size;
    struct quire_team members[];
};

uint32_t quire_team_rank(const struct quire_team *team) { return team ? team->rank : 0; }

uint32_t quire_team_size(const struct quire_team *team) { return team ? team->size : 0; }

static size_t team_bytes(uint32_t size)
{
    return sizeof(struct quire_host_team) + size * sizeof(struct quire_team);
}

quire_status quire_host_team_create(uint32_t size, const struct quire_allocator *allocator,
                                    struct quire_host_team **out, struct quire_error *err)
{
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (size < 1 || size > MAX_MEMBERS)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "size %u is not 1 .. %d", size, MAX_MEMBERS);
    struct quire_host_team *t =
        qr_alloc_aligned(allocator, team_bytes(size), _Alignof(struct quire_host_team));
    if (!t)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a team of %u", size);
    *t = (struct quire_host_team){ .handle = { QR_KIND_HOST_TEAM },
                                   .allocator = allocator,
                                   .size = size };
    for (uint32_t rank = 0; rank < size; rank++)
        t->members[rank] = (struct quire_team){ rank, size, &t->barrier };
    *out = t;
    return QUIRE_OK;
}

void quire_host_team_destroy(struct quire_host_team *team)
{
    if (qr_handle_end(team, QR_KIND_HOST_TEAM))
        qr_free(team->allocator, team, team_bytes(team->size), 1);
}

const struct quire_team *quire_host_team_member(const struct quire_host_team *team, uint32_t rank)
{
    return qr_handle_is(team, QR_KIND_HOST_TEAM) && rank < team->size ? &team->members[rank] : NULL;
}
