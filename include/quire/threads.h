/* SPDX-License-Identifier: Apache-2.0 */
/** Thread teams.
 *
 *  Every parallel operation of the library is a "part" function that all members of a team call
 *  with the same arguments. A public call opens a parallel region in which each member runs the
 *  part. A host with threads of its own creates a quire_host_team, checks the arguments with the
 *  matching _check function, and calls the part function from each of its threads with the member
 *  of that thread. */
#ifndef QUIRE_THREADS_H
#define QUIRE_THREADS_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One member of a team: rank, team size and the team's barrier. Borrowed for the duration of the
 *  call it is passed to. */
struct quire_team;

QUIRE_API uint32_t quire_team_rank(const struct quire_team *team); /**< 0 .. size - 1 */
QUIRE_API uint32_t quire_team_size(const struct quire_team *team); /**< members, >= 1 */

/** Team barrier: waits until every member of the team has called it. Spins for a bounded time, then
 *  sleeps in the kernel. No-op for a team of one. */
QUIRE_API void quire_team_barrier(const struct quire_team *team);

/* ---- Teams of the host's own threads */

struct quire_host_team; /**< A barrier and one member per thread. */

/** Creates a team of `size` members, 1 .. 1024; each member is used by one host thread at a time.
 *  allocator is borrowed and outlives the team; NULL = C library. *out is NULL on failure.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_host_team_create(uint32_t size, const struct quire_allocator *allocator,
                       struct quire_host_team **out, struct quire_error *err);
/** Frees a team that no thread is using; NULL is a no-op. */
QUIRE_API void quire_host_team_destroy(struct quire_host_team *team);

/** Member `rank`, the team argument of the part functions; lives as long as the team. NULL when out
 *  of range. */
QUIRE_API const struct quire_team *quire_host_team_member(const struct quire_host_team *team,
                                                          uint32_t rank);

/* ---- Teams of the library's threads */

enum quire_thread_backend {
    /** persistent pthreads; faster than OpenMP on an oversubscribed machine */
    QUIRE_THREADS_DEFAULT,
    /** one OpenMP parallel region per run. libgomp terminates the process when it cannot create a
     *  thread, and deadlocks in a child of fork() whose parent used it; the other backends do
     *  neither. Its threads spin for milliseconds after a run, also while other threads wait for a
     *  CPU */
    QUIRE_THREADS_OPENMP,
    /** persistent threads, created once; a failed thread creation makes the team smaller */
    QUIRE_THREADS_PTHREAD,
};

struct quire_threads_params {
    uint32_t struct_size;
    enum quire_thread_backend backend;
    uint32_t n_threads;                      /**< 0 = quire_threads_default_count() */
    const struct quire_allocator *allocator; /**< borrowed, outlives the object; NULL = C library */
};

struct quire_threads; /**< Owns the threads of one or more contexts. */

/** Sets the defaults: QUIRE_THREADS_DEFAULT, automatic thread count. */
QUIRE_API void quire_threads_params_init(struct quire_threads_params *params, size_t struct_size);

/** Number of threads that this process can run concurrently: affinity mask, cgroup CPU quota (v1
 *  and v2, rounded up) and, on hybrid CPUs, the performance cores. At least 1. */
QUIRE_API uint32_t quire_threads_default_count(void);

/** Creates a thread pool. params NULL = defaults. *out is NULL on failure.
 *  QUIRE_E_INVALID_ARG (n_threads > 1024, unknown backend), QUIRE_E_NOMEM, QUIRE_E_UNSUPPORTED
 *  (backend not compiled in), QUIRE_E_MISUSE (OpenMP in a child of fork() whose parent ran it). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_threads_create(
    const struct quire_threads_params *params, struct quire_threads **out, struct quire_error *err);
QUIRE_API void quire_threads_destroy(struct quire_threads *threads); /**< NULL is a no-op */

/** Number of members of a run; may be less than requested. */
QUIRE_API uint32_t quire_threads_count(const struct quire_threads *threads);

/** Runs part(arg, team) once on every member and returns when all have returned. The caller is
 *  member 0. Each member has the library's floating-point environment during the part
 *  (docs/api.md). One run at a time per object: QUIRE_E_BUSY otherwise. part must not call this
 *  function on the same object. QUIRE_E_MISUSE in a child of fork() when the object has more than
 *  one member: its threads are in the parent, and the child can only destroy it. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_threads_run(struct quire_threads *threads,
                  void (*part)(void *arg, const struct quire_team *team), void *arg);

/** quire_threads_run on the members 0 .. n_threads - 1: the team size of the run is n_threads, 1 ..
 *  quire_threads_count(). The size may change from run to run. Threads that a run excludes sleep in
 *  the kernel until a run includes them, and cost the runs in between nothing; the first run that
 *  includes them again pays for waking them. With n_threads 1 the calling thread alone runs the
 *  part. With QUIRE_THREADS_OPENMP the OpenMP runtime manages the excluded threads: libgomp ends
 *  them and creates new ones for a larger run, other runtimes keep them.
 *  Errors as for quire_threads_run; QUIRE_E_INVALID_ARG when n_threads is 0 or above the count. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_threads_run_n(struct quire_threads *threads, uint32_t n_threads,
                    void (*part)(void *arg, const struct quire_team *team), void *arg);

#ifdef __cplusplus
}
#endif
#endif
