/* SPDX-License-Identifier: Apache-2.0 */
/* rate_limit.c - a token bucket that fills within a minute. */
#include "rate_limit.h"

static double capacity(const struct rate_limit *r) { return r->per_minute < 1 ? 1 : r->per_minute; }

static void refill(struct rate_limit *r, double now)
{
    if (now > r->time) {
        const double level = r->level + (now - r->time) * r->per_minute / 60;
        r->level = level < capacity(r) ? level : capacity(r);
        r->time = now;
    }
}

void rate_limit_init(struct rate_limit *r, double per_minute, double now)
{
    *r = (struct rate_limit){ .per_minute = per_minute, .time = now };
    r->level = capacity(r);
}

double rate_limit_wait(struct rate_limit *r, double now)
{
    if (r->per_minute == 0)
        return 0;
    refill(r, now);
    return r->level >= 1 ? 0 : (1 - r->level) * 60 / r->per_minute;
}

void rate_limit_take(struct rate_limit *r, double now, double units)
{
    if (r->per_minute != 0) {
        refill(r, now);
        r->level -= units;
    }
}
