/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - the event loop: descriptors, timers, and a worker thread for long computations. All
 * functions are for the thread that runs the loop, unless stated otherwise. */
#ifndef QUIRE_SERVE_LOOP_H
#define QUIRE_SERVE_LOOP_H
#include <stdbool.h>
#include <stdint.h>

struct loop;

struct loop *loop_create(void); /* NULL: errno */
void loop_destroy(struct loop *l);

/* Runs until loop_stop(). */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Monotonic time in seconds. */
double loop_now(const struct loop *l);

/* Calls fn(user, events) while one of the epoll events is pending. One watch per descriptor, which
 * is removed before the descriptor is closed. False: errno. */
typedef void (*loop_fd_fn)(void *user, uint32_t events);
bool loop_watch(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *user);
void loop_unwatch(struct loop *l, int fd);

/* Calls fn(user) in every turn after descriptors and timers. One function. */
void loop_after_events(struct loop *l, void (*fn)(void *user), void *user);

/* A timer belongs to its owner and starts as all zeros. It fires once. */
struct loop_timer {
    double due;
    void (*fn)(void *user);
    void *user;
    struct loop_timer *previous, *next; /* NULL: not set */
    bool is_set;
};
void loop_timer_set(struct loop *l, struct loop_timer *t, double seconds, void (*fn)(void *user),
                    void *user);
void loop_timer_clear(struct loop *l, struct loop_timer *t);

/* Work that would stall the loop (tokenizing a long prompt, opening a model): `work` runs on a
 * thread, then `done` on the loop. Jobs of one lane run one at a time in order. The job belongs to
 * its owner until `done` is called. */
enum loop_lane { LANE_REQUESTS, LANE_MODELS, N_LANES };
struct loop_job {
    void (*work)(void *user);
    void (*done)(void *user);
    void *user;
    struct loop_job *next;
};
void loop_offload(struct loop *l, enum loop_lane lane, struct loop_job *job);

/* After loop_run(): waits for all jobs, whose `done` is called. None is offloaded afterwards. */
void loop_finish_jobs(struct loop *l);

#endif
