/* SPDX-License-Identifier: Apache-2.0 */
/* team_size.c - search for the fastest team size of each class of steps. */
#include "engine/team_size.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCOUT_SAMPLES = 2,  /* steps of each candidate; one alone may be disturbed */
    MORE_SAMPLES = 5,   /* of those that may be the best */
    FINAL_SAMPLES = 10, /* of those that still may be after MORE_SAMPLES */
    ARITHMETIC_FROM_CLASS = QR_TEAM_SIZE_DECODE_CLASSES + 4, /* prefill of 17 and more rows */
    PER_ROW_FROM_CLASS = QR_TEAM_SIZE_DECODE_CLASSES + 5,    /* prefill of 33 and more rows */
    MAX_PATIENCE = 16,
};
static const double
    EXPLORE = 1.3,    /* beyond a candidate this much slower than the best, look no further */
    CONTENDER = 1.15, /* candidates within this factor after MORE_SAMPLES may be the best */
    EQUAL = 1.03,     /* within this factor, fewer threads win */
    LONG_STEP = 0.01, /* seconds; the barriers of a step take at most about 1 ms */
    CHANGED = 1.2,    /* factor of a time that is a change */
    MEDIAN = 1.5;     /* the same for a median and a minimum, which is lower in any case */

/* ---- candidates */

static void add_size(struct qr_team_size *t, uint32_t n, uint32_t n_threads)
{
    if (!n || n > n_threads || t->n_sizes == QR_TEAM_SIZE_CANDIDATES)
        return;
    uint32_t i = t->n_sizes;
    while (i > 0 && t->sizes[i - 1] > n)
        i--;
    if (i > 0 && t->sizes[i - 1] == n)
        return;
    memmove(&t->sizes[i + 1], &t->sizes[i], (t->n_sizes - i) * sizeof t->sizes[0]);
    t->sizes[i] = n;
    t->n_sizes++;
}

/* Whether a candidate is within a quarter of n: a power of two adds nothing there. */
static bool has_near(const struct qr_team_size *t, uint32_t n)
{
    for (uint32_t i = 0; i < t->n_sizes; i++)
        if (4 * t->sizes[i] >= 3 * n && 4 * t->sizes[i] <= 5 * n)
            return true;
    return false;
}

static void begin_search(struct qr_team_size_search *s, uint32_t at)
{
    const uint32_t patience = s->patience;
    *s = (struct qr_team_size_search){ .low = at, .high = at, .current = at, .patience = patience };
    for (uint32_t i = 0; i < QR_TEAM_SIZE_CANDIDATES; i++)
        s->score[i] = INFINITY;
}

static void search_again(struct qr_team_size_search *s)
{
    begin_search(s, s->current);
    s->repeated = true;
}

void qr_team_size_init(struct qr_team_size *t, const struct qr_topology *topology,
                       uint32_t n_threads)
{
    const struct qr_topology *m = topology;
    const uint32_t counts[] = { n_threads ? n_threads : 1,
                                m->n_cores,
                                m->n_cpus,
                                m->n_fast_cores,
                                m->n_fast_cpus,
                                m->node_cores,
                                m->node_cpus,
                                m->llc_cores };
    *t = (struct qr_team_size){ 0 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        add_size(t, counts[i], counts[0]);
    for (uint32_t n = 1; n < counts[0]; n *= 2)
        if (!has_near(t, n))
            add_size(t, n, counts[0]);
    while (t->cores + 1 < t->n_sizes && t->sizes[t->cores] < m->n_fast_cores)
        t->cores++;
    for (uint32_t c = 0; c < QR_TEAM_SIZE_CLASSES; c++) {
        t->searches[c].patience = 1;
        begin_search(&t->searches[c], t->n_sizes - 1);
    }
}

void qr_team_size_set_machine(struct qr_team_size *t, uint64_t signature)
{
    const bool changed = t->has_machine && t->machine != signature;
    t->machine = signature;
    t->has_machine = true;
    for (uint32_t c = 0; changed && c < QR_TEAM_SIZE_CLASSES; c++) {
        t->searches[c].patience = 1;
        search_again(&t->searches[c]);
    }
}

/* ---- classes */

/* Bits of n - 1: 0 for 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, ... */
static uint32_t log2_up(uint32_t n)
{
    uint32_t bits = 0;
    for (n = n ? n - 1 : 0; n; n /= 2)
        bits++;
    return bits;
}

static uint32_t class_of(uint32_t n_seqs, uint32_t n_rows)
{
    const uint32_t bits = log2_up(n_rows);
    if (n_rows <= n_seqs)
        return bits < QR_TEAM_SIZE_DECODE_CLASSES ? bits : QR_TEAM_SIZE_DECODE_CLASSES - 1;
    const uint32_t last = QR_TEAM_SIZE_CLASSES - 1,
                   prefill = QR_TEAM_SIZE_DECODE_CLASSES + (bits ? bits - 1 : 0);
    return prefill < last ? prefill : last;
}

uint32_t qr_team_size_choose(const struct qr_team_size *t, uint32_t n_seqs, uint32_t n_rows)
{
    return t->sizes[t->searches[class_of(n_seqs, n_rows)].current];
}

/* ---- search */

static double best_score(const struct qr_team_size_search *s)
{
    double best = INFINITY;
    for (uint32_t i = s->low; i <= s->high; i++)
        best = s->score[i] < best ? s->score[i] : best;
    return best;
}

/* Whether a candidate needs further samples because it may be the best. */
static bool is_open(const struct qr_team_size_search *s, uint32_t i, double best)
{
    const double limit = s->n_samples[i] < MORE_SAMPLES ? EXPLORE : CONTENDER;
    return s->n_samples[i] < FINAL_SAMPLES && s->score[i] <= limit * best;
}

/* The open candidate with the fewest samples, so that candidates take turns and a disturbance hits
 * all. UINT32_MAX when one candidate is left. */
static uint32_t next_contender(const struct qr_team_size_search *s, double best)
{
    uint32_t n_contenders = 0, next = UINT32_MAX;
    for (uint32_t i = s->low; i <= s->high; i++) {
        const bool open = is_open(s, i, best);
        n_contenders += open || s->score[i] <= CONTENDER * best;
        if (open && (next == UINT32_MAX || s->n_samples[i] < s->n_samples[next]))
            next = i;
    }
    return n_contenders > 1 ? next : UINT32_MAX;
}

static void settle(struct qr_team_size_search *s, double best)
{
    for (s->current = s->low; s->score[s->current] > EQUAL * best;)
        s->current++;
    s->settled = true;
}

/* Records a time of the current candidate and picks the next one, of [lowest, n_sizes). */
static void search_step(struct qr_team_size_search *s, uint32_t lowest, uint32_t n_sizes,
                        double time)
{
    const uint32_t i = s->current;
    s->score[i] = time < s->score[i] ? time : s->score[i];
    s->n_samples[i]++;
    const double best = best_score(s);
    if (s->n_samples[i] < SCOUT_SAMPLES)
        return;
    const uint32_t contender = next_contender(s, best);
    if (s->low > lowest && s->score[s->low] <= EXPLORE * best)
        s->current = --s->low;
    else if (s->high + 1 < n_sizes && s->score[s->high] <= EXPLORE * best)
        s->current = ++s->high;
    else if (contender != UINT32_MAX)
        s->current = contender;
    else
        settle(s, best);
}

/* ---- after the search */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether the full window differs from the first one. The first one is compared with the score: the
 * machine may have changed during the search, or in the middle of the window. */
static bool window_changed(struct qr_team_size_search *s)
{
    qsort(s->window, QR_TEAM_SIZE_WINDOW, sizeof *s->window, compare_doubles);
    const double median = s->window[QR_TEAM_SIZE_WINDOW / 2];
    if (s->typical > 0)
        return median > CHANGED * s->typical || median < s->typical / CHANGED;
    if (s->window[0] > CHANGED * s->score[s->current] || median > MEDIAN * s->score[s->current])
        return true;
    s->typical = median;
    return false;
}

static void watch_step(struct qr_team_size_search *s, double time)
{
    if (++s->n_steps == QR_TEAM_SIZE_RECHECK_STEPS) {
        s->patience = 1;
        search_again(s);
        return;
    }
    s->window[s->n_window++] = time;
    if (s->n_window < QR_TEAM_SIZE_WINDOW)
        return;
    s->n_window = 0;
    s->n_changes = window_changed(s) ? s->n_changes + 1 : 0;
    if (s->n_changes < s->patience)
        return;
    s->patience = s->patience < MAX_PATIENCE ? 2 * s->patience : MAX_PATIENCE;
    search_again(s);
}

void qr_team_size_record(struct qr_team_size *t, uint32_t n_seqs, uint32_t n_rows,
                         uint32_t n_threads, double seconds)
{
    const uint32_t class = class_of(n_seqs, n_rows);
    struct qr_team_size_search *s = &t->searches[class];
    t->n_last = n_threads;
    if (n_threads != t->sizes[s->current] || !(seconds > 0) || isinf(seconds))
        return;
    const double time = class >= PER_ROW_FROM_CLASS ? seconds / n_rows : seconds;
    const bool needs_cores = class >= ARITHMETIC_FROM_CLASS && !s->repeated && seconds >= LONG_STEP;
    if (s->settled)
        watch_step(s, time);
    else
        search_step(s, needs_cores ? t->cores : 0, t->n_sizes, time);
}
