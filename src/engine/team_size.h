/* SPDX-License-Identifier: Apache-2.0 */
/* team_size.h - how many threads run a step, by measurement.
 *
 * Decode is bound by memory and often fastest on one thread per core or fewer, prefill by
 * arithmetic; and other processes may occupy some of the CPUs. So each class of steps searches its
 * own team size among a few candidates with the time of its own steps.
 *
 * The calls of the engine:
 *
 *     qr_team_size_init(&t, &topology, quire_threads_count(threads));       at open
 *
 *     qr_team_size_set_machine(&t, qr_cpu_signature());                     every second or so
 *     args.n_threads = qr_team_size_choose(&t, n_seqs, n_rows);             before a step
 *     ... quire_context_forward(context, &args, &err) takes `seconds`
 *     qr_team_size_record(&t, n_seqs, n_rows, args.n_threads, seconds);     after a step
 *
 * A search starts at the current size, at first all threads, and measures smaller and larger
 * candidates as long as they are not much slower than the best. The score of a candidate is the
 * minimum of several steps, because disturbances only add time. The search ends with the smallest
 * candidate whose score is within 3 % of the best, so never with one that was measured to be slower
 * than a smaller one by more than that. It starts again when the machine changes, when the median
 * time of a window of steps differs by more than 20 % from that of the first window, and after
 * QR_TEAM_SIZE_RECHECK_STEPS.
 *
 * The first search of a class of 17 and more rows of prompts takes for granted that every core is
 * worth its thread, unless steps are so short that barriers matter: a trial with half of the cores
 * would double the time to the first token of some requests. Searches after a change try all sizes.
 *
 * The choice depends on the arguments of the calls alone. No call allocates or fails. */
#ifndef QR_ENGINE_TEAM_SIZE_H
#define QR_ENGINE_TEAM_SIZE_H
#include "base/topology.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    QR_TEAM_SIZE_CANDIDATES = 24,
    QR_TEAM_SIZE_WINDOW = 32,          /* steps over which the time is watched after a search */
    QR_TEAM_SIZE_RECHECK_STEPS = 4096, /* makes the cost of these searches negligible */
    /* decode of 1, 2, 3-4, 5-8, ... 65 and more sequences; prefill of 2, 3-4, ... 513 and more
     * rows */
    QR_TEAM_SIZE_DECODE_CLASSES = 8,
    QR_TEAM_SIZE_PREFILL_CLASSES = 10,
    QR_TEAM_SIZE_CLASSES = QR_TEAM_SIZE_DECODE_CLASSES + QR_TEAM_SIZE_PREFILL_CLASSES,
};

/* Search of one class of steps. Times are seconds, per row in classes of more than 32 rows. */
struct qr_team_size_search {
    double score[QR_TEAM_SIZE_CANDIDATES]; /* minimum time; INFINITY: not measured */
    uint32_t n_samples[QR_TEAM_SIZE_CANDIDATES];
    uint32_t low, high; /* candidates that the search has tried */
    uint32_t current;   /* candidate of the next step */
    bool repeated;      /* a search has been started again */
    bool settled;       /* the search has ended; the following members watch the time since */
    double window[QR_TEAM_SIZE_WINDOW];
    double typical; /* median of the first window; 0 before */
    uint32_t n_window, n_steps;
    uint32_t n_changes; /* consecutive windows that differ from the first */
    uint32_t patience;  /* n_changes that starts a search; doubled by each such search */
};

struct qr_team_size {
    uint64_t machine; /* signature */
    bool has_machine;
    uint32_t n_sizes, sizes[QR_TEAM_SIZE_CANDIDATES]; /* candidates, ascending */
    uint32_t
        cores; /* candidate with one thread on each core, of the fast ones if there are two kinds */
    uint32_t n_last; /* threads of the last recorded step */
    struct qr_team_size_search searches[QR_TEAM_SIZE_CLASSES];
};

/* Candidates: n_threads, the counts of cores and CPUs of the machine, a node and a cache, and
 * powers of two that are not close to one of these. */
void qr_team_size_init(struct qr_team_size *t, const struct qr_topology *topology,
                       uint32_t n_threads);

/* Searches again, from the current sizes, if the signature differs from that of the last call. Any
 * number that changes with the machine will do, such as qr_cpu_signature with a coarse measure of
 * the load of other processes mixed in. */
void qr_team_size_set_machine(struct qr_team_size *t, uint64_t signature);

/* Team size for a step of n_rows tokens of n_seqs sequences; decode if each has one. */
uint32_t qr_team_size_choose(const struct qr_team_size *t, uint32_t n_seqs, uint32_t n_rows);

/* Records the time of a step on n_threads threads. Times that are not positive, and steps of
 * another size than chosen, count for nothing. */
void qr_team_size_record(struct qr_team_size *t, uint32_t n_seqs, uint32_t n_rows,
                         uint32_t n_threads, double seconds);

#endif
