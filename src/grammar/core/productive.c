/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/productive.h"
#include "base/clock.h"
#include "base/error.h"

/* Derivatives that are looked at to find out whether a lexeme matches anything. */
enum { MAX_SEARCH = 20000 };

/* A property of states that follows from that of their successors: that some text, or the empty
 * text, leads to the end of the rule. */
struct property {
    struct qr_network *net;
    const bool *lexemes; /* by state: lexemes and tokens that have the property */
    bool *states;        /* [n_states] */
    bool *rules;         /* [n_rules] */
};

/* Whether a loop can end, given the members that have the property. */
static bool loop_holds(const struct property *p, const struct qr_net_loop *loop)
{
    uint32_t n_once = 0, n_required = 0;
    bool repeats = false;
    for (uint32_t i = 0; i < loop->n_members; i++) {
        const struct qr_net_member *m = &p->net->members[loop->members + i];
        if (!p->states[m->start])
            continue;
        n_once += m->once;
        n_required += m->required;
        repeats = repeats || !m->once;
    }
    const bool needs_separator = loop->min > 1 || loop->n_required > 1;
    return n_required == loop->n_required && loop->n_required <= loop->max &&
           loop->min <= loop->max && (repeats || n_once >= loop->min) &&
           (!needs_separator || p->states[loop->after]);
}

static bool state_holds(const struct property *p, uint32_t i)
{
    const struct qr_net_state *s = &p->net->states[i];
    switch ((enum qr_net_kind)s->kind) {
    case QR_NET_LEXEME:
    case QR_NET_TOKEN:
        return p->lexemes[i] && p->states[s->next];
    case QR_NET_CALL:
        return p->rules[s->a] && p->states[s->next];
    case QR_NET_FORK:
        for (uint32_t k = 0; k < s->b; k++)
            if (p->states[p->net->forks[s->a + k]])
                return true;
        return false;
    case QR_NET_LOOP:
        return loop_holds(p, &p->net->loops[s->a]);
    default: /* the end of a rule or of a member; what a loop picks is decided at its head */
        return true;
    }
}

/* The least fixpoint. States stand behind those that follow them, so that few rounds are needed.
 * false: the deadline is over. */
static bool solve(struct property *p, double deadline)
{
    bool changed = true;
    while (changed && qr_clock_thread() <= deadline) {
        changed = false;
        for (uint32_t i = 0; i < p->net->n_states; i++)
            if (!p->states[i] && state_holds(p, i))
                p->states[i] = changed = true;
        for (uint32_t r = 0; r < p->net->n_rules; r++)
            if (!p->rules[r] && p->states[p->net->rules[r].start])
                p->rules[r] = changed = true;
    }
    return !changed;
}

/* The property of lexemes and tokens. *late: the deadline is over. */
static quire_status classify(struct qr_network *net, struct qr_regex_set *set,
                             const qr_regex *lexemes, bool nullable, double deadline, bool *out,
                             bool *late)
{
    for (uint32_t i = 0; i < net->n_states && !*late; i++) {
        const struct qr_net_state *s = &net->states[i];
        bool none = false;
        out[i] = s->kind == QR_NET_TOKEN && !nullable;
        if (s->kind != QR_NET_LEXEME)
            continue;
        *late = qr_clock_thread() > deadline;
        if (nullable)
            out[i] = qr_regex_nullable(set, lexemes[s->a]);
        else if (qr_regex_is_none(set, lexemes[s->a], MAX_SEARCH, &none) == QUIRE_OK ||
                 qr_regex_set_status(set) == QUIRE_OK) /* a long search: taken for alive */
            out[i] = !none;
        else
            return qr_regex_set_status(set);
    }
    return QUIRE_OK;
}

static void set_productive(struct qr_network *net, const struct property *p)
{
    for (uint32_t i = 0; i < net->n_states; i++)
        net->states[i].productive = p->states[i];
    for (uint32_t r = 0; r < net->n_rules; r++)
        net->rules[r].productive = p->rules[r];
    for (uint32_t l = 0; l < net->n_loops; l++)
        for (uint32_t i = 0; i < net->loops[l].n_members; i++) {
            const struct qr_net_member *m = &net->members[net->loops[l].members + i];
            net->loops[l].repeats = net->loops[l].repeats || (!m->once && p->states[m->start]);
        }
}

static void set_nullable(struct qr_network *net, const struct property *p)
{
    for (uint32_t r = 0; r < net->n_rules; r++)
        net->rules[r].nullable = p->rules[r];
    for (uint32_t i = 0; i < net->n_members; i++)
        net->members[i].nullable = p->states[net->members[i].start];
}

quire_status qr_network_prune(struct qr_network *net, struct qr_regex_set *set,
                              const qr_regex *lexemes, double deadline, struct quire_error *err)
{
    bool *flags = qr_alloc(net->a, 2 * net->n_states + net->n_rules, 1);
    if (flags == NULL)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    struct property p = { .net = net,
                          .lexemes = flags,
                          .states = flags + net->n_states,
                          .rules = flags + 2 * net->n_states };
    quire_status status = QUIRE_OK;
    bool late = false;
    for (int nullable = 0; nullable < 2 && status == QUIRE_OK && !late; nullable++) {
        for (size_t i = 0; i < net->n_states + net->n_rules; i++)
            p.states[i] = false;
        status = classify(net, set, lexemes, nullable != 0, deadline, flags, &late);
        late = late || (status == QUIRE_OK && !solve(&p, deadline));
        if (status == QUIRE_OK && nullable)
            set_nullable(net, &p);
        else if (status == QUIRE_OK)
            set_productive(net, &p);
    }
    qr_free(net->a, flags, 2 * net->n_states + net->n_rules, 1);
    if (late)
        return qr_fail(err, QUIRE_E_LIMIT, "compilation takes too long");
    if (status != QUIRE_OK)
        return qr_fail(err, status,
                       status == QUIRE_E_NOMEM
                           ? "no memory for the grammar"
                           : "the expressions of the grammar are nested too deeply");
    if (!net->rules[0].productive)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "no text satisfies the grammar");
    return QUIRE_OK;
}
