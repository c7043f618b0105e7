/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - cutting work items into one contiguous range per team member. */
#ifndef QUIRE_LINEAR_SHARE_H
#define QUIRE_LINEAR_SHARE_H
#include <quire/threads.h>

struct qr_share {
    size_t begin, end;
};

/* This member's part of n items; parts differ by one item at most. */
static inline struct qr_share qr_share(size_t n, const struct quire_team *team)
{
    const size_t each = n / team->size, more = n % team->size, rank = team->rank;
    const size_t begin = rank * each + (rank < more ? rank : more);
    return (struct qr_share){ begin, begin + each + (rank < more) };
}

#endif
