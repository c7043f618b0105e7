/* SPDX-License-Identifier: Apache-2.0 */
/** Teams of threads: who runs a step, and how its members meet.
 *
 *  Every driver of the library is a "part" function called by all members of a team with the same arguments. A
 *  public call opens a region, in which each member runs the part. A host that has threads of its own makes the
 *  team itself: it fills one struct quire_team per thread around one barrier and calls the part functions.
 */
#ifndef QUIRE_THREADS_H
#define QUIRE_THREADS_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define QUIRE_ALIGNAS(n) alignas(n)
#else
#define QUIRE_ALIGNAS(n) _Alignas(n)
#endif

/** Reusable barrier for one team; bounded spin, then the thread sleeps in the kernel. Its storage belongs to
 *  the caller; zero it before the first use. All members must use the same barrier and team size. */
struct quire_barrier {
    QUIRE_ALIGNAS(64) uint32_t arrived; /**< private */
    QUIRE_ALIGNAS(64) uint32_t phase;   /**< private */
    uint32_t sleepers;                  /**< private */
    uint32_t haste;                     /**< private */
    /** private; a line for each cluster of a large team */
    QUIRE_ALIGNAS(64) uint32_t clusters[16][16];
};

/** One member's view of its team. */
struct quire_team {
    uint32_t rank; /**< 0 .. size-1 */
    uint32_t size; /**< members, >= 1 */
    /** shared by the members, borrowed; may be NULL when size is 1 */
    struct quire_barrier *barrier;
};

/** Waits until every member of the team has called it. No-op for a team of one. */
QUIRE_API void quire_team_barrier(const struct quire_team *team);

enum quire_thread_backend {
    QUIRE_THREADS_DEFAULT, /**< own threads: where other programs want the processors too, they are faster */
    /** an OpenMP parallel region per run. libgomp ends the process when it cannot make a thread,
     *  and a child of fork() that uses it hangs; the others do neither. Its threads spin for
     *  milliseconds after a run, also while others wait for the processor */
    QUIRE_THREADS_OPENMP,
    QUIRE_THREADS_PTHREAD, /**< own threads, made once; a thread that cannot be made makes the team smaller */
};

struct quire_threads_params {
    uint32_t struct_size;
    enum quire_thread_backend backend;
    uint32_t n_threads;                      /**< 0 = quire_threads_default_count() */
    const struct quire_allocator *allocator; /**< borrowed, outlives the object; NULL = C library */
};

struct quire_threads; /**< owns the threads of one or more contexts */

/** Fills defaults: QUIRE_THREADS_DEFAULT, automatic count. */
QUIRE_API void quire_threads_params_default(struct quire_threads_params *params);

/** Threads this process can really use at once: affinity mask, cgroup CPU quota (v1 and v2, rounded up) and, on
 *  hybrid CPUs, the performance cores. At least 1. */
QUIRE_API uint32_t quire_threads_default_count(void);

/** Creates a team runner. params NULL = defaults. QUIRE_E_INVALID_ARG (n_threads > 1024, unknown backend),
 *  QUIRE_E_NOMEM, QUIRE_E_UNSUPPORTED (backend not compiled in). *out is NULL on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_threads_create(
    const struct quire_threads_params *params, struct quire_threads **out, struct quire_error *err);
QUIRE_API void quire_threads_destroy(struct quire_threads *threads); /**< NULL is a no-op */

/** Number of members a run will have; may be less than asked for. */
QUIRE_API uint32_t quire_threads_count(const struct quire_threads *threads);

/** Runs part(arg, team) once on every member and returns when all have returned. The caller is member 0. The
 *  floating-point environment of each member is set to round-to-nearest with denormals kept, and restored.
 *  One run at a time per object: QUIRE_E_BUSY otherwise. part must not call this function on the same object. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_threads_run(struct quire_threads *threads,
                  void (*part)(void *arg, const struct quire_team *team), void *arg);

#ifdef __cplusplus
}
#endif
#endif
