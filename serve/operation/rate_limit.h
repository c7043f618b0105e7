/* SPDX-License-Identifier: Apache-2.0 */
/* rate_limit.h - a token bucket that fills within a minute. */
#ifndef QUIRE_SERVE_RATE_LIMIT_H
#define QUIRE_SERVE_RATE_LIMIT_H

struct rate_limit {
    double per_minute; /* units that flow in; 0 = no limit */
    double level; /* units that may be taken now; below 0 after more was taken than was there */
    double time;  /* of the level, in seconds */
};

/* A full bucket. Its capacity is the inflow of a minute, at least one unit. */
void rate_limit_init(struct rate_limit *r, double per_minute, double now);

/* Seconds from `now` until one unit is there; 0 = it is. */
double rate_limit_wait(struct rate_limit *r, double now);

/* Takes any number of units, also more than are there: the tokens of an answer are known only at
 * its end. */
void rate_limit_take(struct rate_limit *r, double now, double units);

#endif
