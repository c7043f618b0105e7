/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/plain_run.h"
#include "grammar/regex/derivative.h"
#include "grammar/regex/emptiness.h"
#include "grammar/regex/json_string.h"
#include "grammar/regex/regex_set.h"

/* Expressions that are looked at for one answer, and states of a search. */
enum { MAX_VISITS = 500, MAX_SEARCH = 200 };

/* Values of the fields `finite` and `any_plain` of a node. */
enum { UNKNOWN, NO, YES };

/* The same as qr_regex_plain_run. If it returns QR_REGEX_UNBOUNDED, infinitely many strings follow
 * any plain text: they remain when finitely many are taken away. */
static uint32_t find_run(struct qr_regex_set *set, qr_regex r, unsigned *visits);

/* ---- Finite sets of strings ---- */

static bool is_finite(struct qr_regex_set *set, qr_regex r);

static bool is_finite_part(struct qr_regex_set *set, qr_regex r)
{
    const struct qr_regex_node *n = &set->nodes[r];
    switch ((enum qr_regex_kind)n->kind) {
    case QR_RX_NONE:
    case QR_RX_EMPTY:
    case QR_RX_BYTES:
        return true;
    case QR_RX_OR:
        for (uint32_t i = 0; i < n->b; i++)
            if (!is_finite(set, set->lists[n->a + i]))
                return false;
        return true;
    case QR_RX_REPEAT:
        return n->max != QR_REGEX_UNBOUNDED && is_finite(set, n->a);
    default:
        return false;
    }
}

/* Whether r is known to match finitely many strings. Recursion is bounded by the depth of nodes:
 * the right sides of concats, which do not count in it, are followed by a loop. */
static bool is_finite(struct qr_regex_set *set, qr_regex r)
{
    qr_regex at = r;
    bool finite = true;
    for (; set->nodes[at].finite == UNKNOWN && set->nodes[at].kind == QR_RX_CONCAT && finite;
         at = set->nodes[at].b)
        finite = is_finite(set, set->nodes[at].a);
    if (finite && set->nodes[at].finite == UNKNOWN)
        set->nodes[at].finite = is_finite_part(set, at) ? YES : NO;
    finite = finite && set->nodes[at].finite == YES;
    for (; r != at; r = set->nodes[r].b)
        set->nodes[r].finite = finite ? YES : NO;
    return finite;
}

/* ---- Repeated characters ---- */

/* Whether r matches every plain character. */
static bool matches_plain(struct qr_regex_set *set, qr_regex r)
{
    static const struct qr_char_range plain[] = { { ' ', '!' }, { '#', '[' }, { ']', 0x10ffff } };
    if (set->nodes[r].any_plain != UNKNOWN)
        return set->nodes[r].any_plain == YES;
    bool all = true;
    for (const char *c = " aZ~"; *c != '\0' && all; c++) /* most others miss one of these */
        all = qr_regex_nullable(set, qr_regex_derivative(set, r, (uint8_t)*c));
    if (all) {
        const qr_regex one = qr_utf8_class(set, plain, 3);
        all = qr_regex_contains(set, r, one, MAX_SEARCH, &all) == QUIRE_OK && all;
    }
    if (set->status != QUIRE_OK)
        return false;
    set->nodes[r].any_plain = all ? YES : NO;
    return all;
}

/* ---- Runs ---- */

/* One operand but for complements of finite sets. */
static uint32_t run_of_and(struct qr_regex_set *set, const struct qr_regex_node *n,
                           unsigned *visits)
{
    uint32_t run = QR_REGEX_UNBOUNDED;
    unsigned others = 0;
    for (uint32_t i = 0; i < n->b && run != 0; i++) {
        const qr_regex operand = set->lists[n->a + i];
        const struct qr_regex_node *o = &set->nodes[operand];
        if (o->kind == QR_RX_NOT && is_finite(set, o->a))
            continue;
        run = others++ == 0 ? find_run(set, operand, visits) : 0;
    }
    return run == QR_REGEX_UNBOUNDED ? run : 0;
}

static uint32_t run_of_or(struct qr_regex_set *set, const struct qr_regex_node *n, unsigned *visits)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < n->b; i++) {
        const uint32_t run = find_run(set, set->lists[n->a + i], visits);
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* What follows a run must match something. */
static uint32_t run_of_concat(struct qr_regex_set *set, const struct qr_regex_node *n,
                              unsigned *visits)
{
    uint32_t run = 0;
    if (set->nodes[n->b].empty == 1)
        run = find_run(set, n->a, visits);
    if (run == 0 && set->nodes[n->a].nullable)
        run = find_run(set, n->b, visits);
    return run;
}

static uint32_t find_run(struct qr_regex_set *set, qr_regex r, unsigned *visits)
{
    const struct qr_regex_node n = set->nodes[r];
    if (++*visits > MAX_VISITS || set->status != QUIRE_OK)
        return 0;
    switch ((enum qr_regex_kind)n.kind) {
    case QR_RX_ANY:
        return QR_REGEX_UNBOUNDED;
    case QR_RX_CONCAT:
        return run_of_concat(set, &n, visits);
    case QR_RX_OR:
        return run_of_or(set, &n, visits);
    case QR_RX_AND:
        return run_of_and(set, &n, visits);
    case QR_RX_NOT:
        return is_finite(set, n.a) ? QR_REGEX_UNBOUNDED : 0;
    case QR_RX_REPEAT:
        return matches_plain(set, n.a) ? n.max : 0;
    default:
        return 0;
    }
}

uint32_t qr_regex_plain_run(struct qr_regex_set *set, qr_regex r)
{
    unsigned visits = 0;
    return find_run(set, r, &visits);
}
