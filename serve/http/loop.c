/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EVENTS = 128 };
#define MIN_SECONDS 1e-6 /* of a timer */

struct watch {
    loop_fd_fn fn; /* NULL: not watched */
    void *user;
};

/* A thread and its queue of jobs. */
struct lane {
    struct loop *loop;
    pthread_t thread;
    bool started;
    struct loop_job *first, *last;
};

struct loop {
    int epoll, wakeup; /* wakeup: eventfd, readable while jobs are done */
    double now;        /* of the last wakeup */
    bool stopping;
    void (*after_events)(void *user);
    void *after_events_user;
    struct watch *watches; /* [n_watches] by descriptor */
    int n_watches;
    struct loop_timer *first, *last; /* in the order of `due` */
    pthread_mutex_t lock;            /* of what follows */
    pthread_cond_t work;
    bool closing;
    struct lane lanes[N_LANES];
    struct loop_job *done_first, *done_last;
};

static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void push(struct loop_job **first, struct loop_job **last, struct loop_job *job)
{
    job->next = NULL;
    if (*first == NULL)
        *first = job;
    else
        (*last)->next = job;
    *last = job;
}

static void call_done(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct loop_job *job = l->done_first;
    l->done_first = NULL;
    pthread_mutex_unlock(&l->lock);
    while (job != NULL) {
        struct loop_job *next = job->next; /* done() may free the job */
        job->done(job->user);
        job = next;
    }
}

static void jobs_done(void *user, uint32_t events)
{
    struct loop *l = user;
    uint64_t count;
    (void)events;
    if (read(l->wakeup, &count, sizeof count) >= 0)
        call_done(l);
}

struct loop *loop_create(void)
{
    struct loop *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->now = clock_seconds();
    if (l->epoll < 0 || l->wakeup < 0 || !loop_watch(l, l->wakeup, EPOLLIN, jobs_done, l)) {
        loop_destroy(l);
        return NULL;
    }
    return l;
}

void loop_finish_jobs(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < N_LANES; i++) {
        if (l->lanes[i].started)
            pthread_join(l->lanes[i].thread, NULL);
        l->lanes[i].started = false;
    }
    call_done(l);
}

void loop_destroy(struct loop *l)
{
    if (l == NULL)
        return;
    loop_finish_jobs(l);
    if (l->epoll >= 0)
        close(l->epoll);
    if (l->wakeup >= 0)
        close(l->wakeup);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    free(l->watches);
    free(l);
}

double loop_now(const struct loop *l)
{
    (void)l;
    return clock_seconds();
}

void loop_stop(struct loop *l) { l->stopping = true; }

/* Milliseconds until the first timer is due, rounded up; -1 = none. */
static int timeout_ms(const struct loop *l)
{
    if (l->first == NULL)
        return -1;
    const double ms = ceil((l->first->due - clock_seconds()) * 1e3);
    return ms <= 0 ? 0 : ms > 1e6 ? 1000000 : (int)ms;
}

/* Fires the timers that were due when the loop woke up. Those that they set are due later. */
static void fire_timers(struct loop *l)
{
    while (l->first != NULL && l->first->due <= l->now) {
        struct loop_timer *t = l->first;
        loop_timer_clear(l, t);
        t->fn(t->user);
    }
}

void loop_run(struct loop *l)
{
    struct epoll_event events[MAX_EVENTS];
    l->stopping = false;
    while (!l->stopping) {
        const int n = epoll_wait(l->epoll, events, MAX_EVENTS, timeout_ms(l));
        l->now = clock_seconds();
        for (int i = 0; i < n; i++) {
            const struct watch *w = &l->watches[events[i].data.fd];
            if (w->fn != NULL)
                w->fn(w->user, events[i].events);
        }
        fire_timers(l);
        if (l->after_events != NULL)
            l->after_events(l->after_events_user);
    }
}

void loop_after_events(struct loop *l, void (*fn)(void *user), void *user)
{
    l->after_events = fn;
    l->after_events_user = user;
}

bool loop_watch(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *user)
{
    if (fd >= l->n_watches) {
        const int n = fd + 64;
        struct watch *watches = realloc(l->watches, (size_t)n * sizeof *watches);
        if (watches == NULL)
            return false;
        for (int i = l->n_watches; i < n; i++)
            watches[i] = (struct watch){ 0 };
        l->watches = watches;
        l->n_watches = n;
    }
    struct epoll_event event = { .events = events, .data.fd = fd };
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return false;
    l->watches[fd] = (struct watch){ fn, user };
    return true;
}

void loop_unwatch(struct loop *l, int fd)
{
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
    l->watches[fd] = (struct watch){ 0 };
}

void loop_timer_set(struct loop *l, struct loop_timer *t, double seconds, void (*fn)(void *user),
                    void *user)
{
    loop_timer_clear(l, t);
    t->due = clock_seconds() + fmax(seconds, MIN_SECONDS);
    t->fn = fn;
    t->user = user;
    t->is_set = true;
    struct loop_timer *before = l->last; /* most timers are set in the order in which they fire */
    while (before != NULL && before->due > t->due)
        before = before->previous;
    t->previous = before;
    t->next = before ? before->next : l->first;
    *(t->previous ? &t->previous->next : &l->first) = t;
    *(t->next ? &t->next->previous : &l->last) = t;
}

void loop_timer_clear(struct loop *l, struct loop_timer *t)
{
    if (!t->is_set)
        return;
    *(t->previous ? &t->previous->next : &l->first) = t->next;
    *(t->next ? &t->next->previous : &l->last) = t->previous;
    t->is_set = false;
}

static void *run_lane(void *user)
{
    struct lane *lane = user;
    struct loop *l = lane->loop;
    pthread_mutex_lock(&l->lock);
    while (true) {
        while (lane->first == NULL && !l->closing)
            pthread_cond_wait(&l->work, &l->lock);
        struct loop_job *job = lane->first;
        if (job == NULL)
            break;
        lane->first = job->next;
        pthread_mutex_unlock(&l->lock);
        job->work(job->user);
        pthread_mutex_lock(&l->lock);
        push(&l->done_first, &l->done_last, job);
        const uint64_t one = 1;
        if (write(l->wakeup, &one, sizeof one) < 0) {
            /* the counter is not 0: the loop will wake up */
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Starts the thread of a lane with all signals blocked: they are for the loop. */
static bool start_lane(struct loop *l, struct lane *lane)
{
    if (lane->started)
        return true;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    lane->loop = l;
    lane->started = pthread_create(&lane->thread, NULL, run_lane, lane) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return lane->started;
}

void loop_offload(struct loop *l, enum loop_lane lane, struct loop_job *job)
{
    if (!start_lane(l, &l->lanes[lane])) {
        job->work(job->user); /* no thread: the loop waits */
        pthread_mutex_lock(&l->lock);
        push(&l->done_first, &l->done_last, job);
        pthread_mutex_unlock(&l->lock);
        const uint64_t one = 1;
        if (write(l->wakeup, &one, sizeof one) < 0) {
            /* the counter is not 0 */
        }
        return;
    }
    pthread_mutex_lock(&l->lock);
    push(&l->lanes[lane].first, &l->lanes[lane].last, job);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}
