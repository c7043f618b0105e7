/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/emptiness.h"
#include "base/error.h"
#include "grammar/regex/derivative.h"
#include "grammar/regex/node_store.h"
#include "grammar/regex/regex_set.h"

/* Operands that a search may look at per state that it may visit: a bound of its time. */
enum { WORK_PER_STATE = 64 };

/* Expressions that are reached in depth, along the path that the last search suggests, before near
 * ones are looked at; and how many of these are derived. */
enum { MAX_LUCKY = 16, MAX_NEAR = 200 };

/* Values of the field `empty` of a node. */
enum { UNKNOWN, NOT_EMPTY, EMPTY, TOO_LONG };

/* Expressions that were reached, in the order of their discovery; a hash set over them. */
struct reached {
    qr_regex *list;
    size_t n, capacity;
    uint32_t *slots; /* index + 1 */
    size_t size;
};

/* Adds an expression; *added tells whether it was new. */
static bool reach(struct qr_regex_set *set, struct reached *v, qr_regex r, bool *added)
{
    if (2 * (v->n + 1) > v->size) {
        const size_t size = v->size ? 2 * v->size : 64;
        uint32_t *slots = qr_calloc(set->a, size, sizeof *slots);
        if (slots == NULL)
            return false;
        qr_free(set->a, v->slots, v->size, sizeof *slots);
        v->slots = slots;
        v->size = size;
        for (size_t k = 0; k < v->n; k++) {
            size_t i = v->list[k] * 0x9e3779b1u & (size - 1);
            while (slots[i] != 0)
                i = (i + 1) & (size - 1);
            slots[i] = (uint32_t)k + 1;
        }
    }
    size_t i = r * 0x9e3779b1u & (v->size - 1);
    while (v->slots[i] != 0 && v->list[v->slots[i] - 1] != r)
        i = (i + 1) & (v->size - 1);
    *added = v->slots[i] == 0;
    if (!*added)
        return true;
    if (!qr_grow(set->a, (void **)&v->list, &v->capacity, v->n + 1, sizeof *v->list))
        return false;
    v->list[v->n++] = r;
    v->slots[i] = (uint32_t)v->n;
    return true;
}

static void free_reached(struct qr_regex_set *set, struct reached *v)
{
    qr_free(set->a, v->list, v->capacity, sizeof *v->list);
    qr_free(set->a, v->slots, v->size, sizeof *v->slots);
}

/* An expression on the path from the start, and the number of classes by which it was derived. */
struct step {
    uint32_t at, n_done;
};

struct path {
    struct step *list;
    size_t n, capacity;
    bool may_skip, has_skipped; /* expressions for which a search as long as this one gave up */
};

static bool push(struct qr_regex_set *set, struct path *p, uint32_t at)
{
    if (!qr_grow(set->a, (void **)&p->list, &p->capacity, p->n + 1, sizeof *p->list))
        return false;
    p->list[p->n++] = (struct step){ .at = at };
    return true;
}

/* Derives the last expression of the path by its next class. *found: the derivative matches
 * something. Classes are tried from the one by which the last search succeeded: states of one
 * lexeme resemble each other. */
static bool advance(struct qr_regex_set *set, struct reached *v, struct path *p,
                    const uint8_t *representatives, uint32_t n_classes, bool *found)
{
    struct step *top = &p->list[p->n - 1];
    const uint32_t at = top->at;
    if (top->n_done == n_classes) {
        p->n--;
        return true;
    }
    QR_INVARIANT(v->list); /* it has all expressions of the path */
    const uint32_t c = (set->lucky_class + top->n_done++) % n_classes;
    const qr_regex d = qr_regex_derivative(set, v->list[at], representatives[c]);
    set->work++;
    if (set->status != QUIRE_OK)
        return false;
    *found = set->nodes[d].empty == NOT_EMPTY;
    if (*found)
        set->lucky_class = c;
    if (*found || set->nodes[d].empty == EMPTY)
        return true;
    if (set->nodes[d].empty == TOO_LONG && p->may_skip) {
        p->has_skipped = true;
        return true;
    }
    bool added = false;
    return reach(set, v, d, &added) && (!added || push(set, p, (uint32_t)v->n - 1));
}

/* ---- Breadth first ---- */

/* Where an expression of a search came from: the number of another one, and a class. */
struct origin {
    uint32_t parent, by;
};

struct near {
    struct reached v;
    struct origin *origins; /* [v.n] */
    size_t origins_capacity;
    uint32_t last; /* class by which the search succeeded */
    bool found, has_skipped;
};

/* Derives expression number `at` by all classes. */
static bool expand(struct qr_regex_set *set, struct near *s, uint32_t at,
                   const uint8_t *representatives, uint32_t n_classes)
{
    for (uint32_t c = 0; c < n_classes && !s->found; c++) {
        bool added = false;
        const qr_regex d = qr_regex_derivative(set, s->v.list[at], representatives[c]);
        set->work++;
        if (set->status != QUIRE_OK)
            return false;
        const uint8_t empty = set->nodes[d].empty;
        s->found = empty == NOT_EMPTY;
        s->last = c;
        s->has_skipped = s->has_skipped || empty == TOO_LONG;
        if (empty == UNKNOWN && !reach(set, &s->v, d, &added))
            return false;
        if (added) {
            if (!qr_grow(set->a, (void **)&s->origins, &s->origins_capacity, s->v.n,
                         sizeof *s->origins))
                return false;
            s->origins[s->v.n - 1] = (struct origin){ at, c };
        }
    }
    return true;
}

/* The expressions from the start to number `at` match something. Later searches try the first class
 * of this path first. */
static void remember_path(struct qr_regex_set *set, const struct near *s, uint32_t at)
{
    set->lucky_class = s->last;
    for (; at > 0; at = s->origins[at].parent) {
        set->nodes[s->v.list[at]].empty = NOT_EMPTY;
        set->lucky_class = s->origins[at].by;
    }
    set->nodes[s->v.list[0]].empty = NOT_EMPTY;
}

/* Whether a short string leads to an expression that is known to match something: then the
 * expressions on the way are known to match something too; if there is none at all, all are empty.
 * The shortest string is found, while a search in depth follows a counted repetition to its end.
 * false: no memory, or the set has failed. */
static bool search_near(struct qr_regex_set *set, qr_regex r, const uint8_t *representatives,
                        uint32_t n_classes)
{
    struct near s = { 0 };
    bool added,
        ok = reach(set, &s.v, r, &added) &&
             qr_grow(set->a, (void **)&s.origins, &s.origins_capacity, 1, sizeof *s.origins);
    uint32_t at = 0;
    for (; at < s.v.n && at < MAX_NEAR && ok && !s.found; at++)
        ok = expand(set, &s, at, representatives, n_classes);
    if (s.found)
        remember_path(set, &s, at - 1);
    for (size_t i = 0; i < s.v.n && ok && !s.found && at == s.v.n && !s.has_skipped; i++)
        set->nodes[s.v.list[i]].empty = EMPTY;
    free_reached(set, &s.v);
    qr_free(set->a, s.origins, s.origins_capacity, sizeof *s.origins);
    return ok;
}

/* ---- Both ---- */

/* Follows derivatives depth first until one is known to match something. What is learned is
 * remembered: the expressions on the way to it match something too; if there is none, all are
 * empty. */
static quire_status explore(struct qr_regex_set *set, qr_regex r, const uint8_t *representatives,
                            uint32_t n_classes, uint32_t max_states)
{
    struct reached v = { 0 };
    struct path p = { .may_skip = max_states <= set->longest_search };
    bool found = false, added;
    const uint64_t last_work = set->work + (uint64_t)max_states * WORK_PER_STATE;
    bool ok = reach(set, &v, r, &added) && push(set, &p, 0);
    while (p.n > 0 && ok && !found && v.n <= MAX_LUCKY)
        ok = advance(set, &v, &p, representatives, n_classes, &found);
    if (p.n > 0 && ok && !found)
        ok = search_near(set, r, representatives, n_classes);
    const bool was_near = set->nodes[r].empty == NOT_EMPTY || set->nodes[r].empty == EMPTY;
    while (p.n > 0 && ok && !found && !was_near && v.n <= max_states && set->work <= last_work)
        ok = advance(set, &v, &p, representatives, n_classes, &found);
    const bool complete = ok && !found && !was_near && p.n == 0 && !p.has_skipped;
    for (size_t i = 0; i < v.n && complete; i++)
        set->nodes[v.list[i]].empty = EMPTY;
    for (size_t i = 0; i < p.n && found; i++)
        set->nodes[v.list[p.list[i].at]].empty = NOT_EMPTY;
    if (ok && !found && !complete && !was_near) {
        for (size_t i = 0; i < v.n; i++) /* so that their searches do not repeat this one */
            set->nodes[v.list[i]].empty = TOO_LONG;
        set->longest_search = max_states > set->longest_search ? max_states : set->longest_search;
    }
    free_reached(set, &v);
    qr_free(set->a, p.list, p.capacity, sizeof *p.list);
    if (!ok && set->status == QUIRE_OK)
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
    if (set->status != QUIRE_OK)
        return set->status;
    return found || complete || was_near ? QUIRE_OK : QUIRE_E_LIMIT;
}

/* Whether a search with this limit can tell more than is known. */
static bool must_search(const struct qr_regex_set *set, qr_regex r, uint32_t max_states)
{
    const uint8_t empty = set->nodes[r].empty;
    return empty == UNKNOWN || (empty == TOO_LONG && max_states > set->longest_search);
}

static quire_status answer(const struct qr_regex_set *set, qr_regex r, bool *is_none)
{
    *is_none = set->nodes[r].empty == EMPTY;
    return set->nodes[r].empty == TOO_LONG ? QUIRE_E_LIMIT : QUIRE_OK;
}

quire_status qr_regex_is_none_among(struct qr_regex_set *set, qr_regex r,
                                    const uint8_t *representatives, uint32_t n_classes,
                                    uint32_t max_states, bool *is_none)
{
    *is_none = false;
    if (set->status != QUIRE_OK)
        return set->status;
    if (must_search(set, r, max_states)) {
        const quire_status status = explore(set, r, representatives, n_classes, max_states);
        if (status != QUIRE_OK)
            return status;
    }
    return answer(set, r, is_none);
}

quire_status qr_regex_is_none(struct qr_regex_set *set, qr_regex r, uint32_t max_states,
                              bool *is_none)
{
    uint8_t class_of[256], representatives[256];
    uint32_t n_classes = 0;
    *is_none = false;
    if (set->status == QUIRE_OK && must_search(set, r, max_states) &&
        (n_classes = qr_regex_byte_classes(set, &r, 1, class_of, representatives)) == 0)
        return set->status;
    return qr_regex_is_none_among(set, r, representatives, n_classes, max_states, is_none);
}

quire_status qr_regex_contains(struct qr_regex_set *set, qr_regex outer, qr_regex inner,
                               uint32_t max_states, bool *contains)
{
    const qr_regex both[] = { inner, qr_regex_not(set, outer) };
    return qr_regex_is_none(set, qr_regex_and(set, both, 2), max_states, contains);
}
