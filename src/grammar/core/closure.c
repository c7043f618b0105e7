/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/closure.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

/* Items of one row; beyond it the grammar is too ambiguous. */
enum { MAX_ITEMS = 1 << 20 };

struct qr_closure {
    struct qr_automaton *m;
    struct qr_item *items; /* [n] in the order of their discovery */
    size_t n, capacity;
    struct {
        uint32_t epoch, item; /* of another epoch: free */
    } * index;
    size_t index_size;
    uint32_t epoch;
    bool accepts;
};

quire_status qr_closure_new(struct qr_automaton *m, struct qr_closure **out)
{
    struct qr_closure *c = qr_calloc(m->a, 1, sizeof *c);
    *out = c;
    if (c == NULL)
        return QUIRE_E_NOMEM;
    c->m = m;
    return QUIRE_OK;
}

void qr_closure_free(struct qr_closure *c)
{
    if (c == NULL)
        return;
    const struct quire_allocator *a = c->m->a;
    qr_free(a, c->items, c->capacity, sizeof *c->items);
    qr_free(a, c->index, c->index_size, sizeof *c->index);
    qr_free(a, c, 1, sizeof *c);
}

void qr_closure_begin(struct qr_closure *c)
{
    c->n = 0;
    c->accepts = false;
    if (++c->epoch == 0) { /* once in 2^32 rows */
        memset(c->index, 0, c->index_size * sizeof *c->index);
        c->epoch = 1;
    }
}

void qr_closure_accept(struct qr_closure *c) { c->accepts = true; }

static size_t find_slot(const struct qr_closure *c, const struct qr_item *item)
{
    uint64_t h = ((uint64_t)item->state << 32 | item->origin) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ item->param) * 0xbf58476d1ce4e5b9u;
    size_t i = (h ^ h >> 32) & (c->index_size - 1);
    while (c->index[i].epoch == c->epoch) {
        const struct qr_item *other = &c->items[c->index[i].item];
        if (other->state == item->state && other->param == item->param &&
            other->origin == item->origin)
            break;
        i = (i + 1) & (c->index_size - 1);
    }
    return i;
}

static bool rehash(struct qr_closure *c)
{
    const size_t old_size = c->index_size, size = old_size ? 2 * old_size : 128;
    void *index = qr_calloc(c->m->a, size, sizeof *c->index);
    if (index == NULL)
        return false;
    qr_free(c->m->a, c->index, old_size, sizeof *c->index);
    c->index = index;
    c->index_size = size;
    for (size_t i = 0; i < c->n; i++) {
        const size_t slot = find_slot(c, &c->items[i]);
        c->index[slot].epoch = c->epoch;
        c->index[slot].item = (uint32_t)i;
    }
    return true;
}

quire_status qr_closure_add(struct qr_closure *c, uint32_t state, uint32_t param, uint32_t origin)
{
    const struct qr_item item = { state, param, origin };
    if (!c->m->net->states[state].productive)
        return QUIRE_OK;
    if (2 * (c->n + 1) > c->index_size && !rehash(c))
        return QUIRE_E_NOMEM;
    const size_t slot = find_slot(c, &item);
    if (c->index[slot].epoch == c->epoch)
        return QUIRE_OK;
    if (c->n >= MAX_ITEMS)
        return QUIRE_E_LIMIT;
    if (!qr_grow(c->m->a, (void **)&c->items, &c->capacity, c->n + 1, sizeof *c->items))
        return QUIRE_E_NOMEM;
    c->index[slot].epoch = c->epoch;
    c->index[slot].item = (uint32_t)c->n;
    c->items[c->n++] = item;
    return QUIRE_OK;
}

/* ---- What follows from an item ---- */

static bool is_tail_recursion(const struct qr_network *net, const struct qr_net_state *call)
{
    const struct qr_net_state *next = &net->states[call->next];
    return next->kind == QR_NET_END && next->a == call->a;
}

static quire_status predict(struct qr_closure *c, const struct qr_net_state *s,
                            const struct qr_item *item)
{
    const struct qr_net_rule *rule = &c->m->net->rules[s->a];
    /* The last call of a rule is itself: its end is the end of the caller. The rule goes on from
     * where the caller began, so that right recursion repeats one row instead of adding rows. */
    if (is_tail_recursion(c->m->net, s) && item->origin != QR_ORIGIN_SELF) {
        QR_TRY(qr_closure_add(c, rule->start, QR_PARAM_START, item->origin));
        return rule->nullable ? qr_closure_add(c, s->next, item->param, item->origin) : QUIRE_OK;
    }
    QR_TRY(qr_closure_add(c, rule->start, QR_PARAM_START, QR_ORIGIN_SELF));
    if (rule->nullable) /* its end in this row is never completed */
        return qr_closure_add(c, s->next, item->param, item->origin);
    return QUIRE_OK;
}

/* Continues the callers of a rule that began in an earlier row. */
static quire_status complete(struct qr_closure *c, uint32_t rule, uint32_t origin)
{
    const struct qr_automaton *m = c->m;
    if (origin == QR_ORIGIN_SELF)
        return QUIRE_OK;
    if (rule == 0 && origin == QR_ROOT_ROW)
        c->accepts = true;
    const struct qr_row *row = &m->rows[origin];
    for (uint32_t i = 0; i < row->n_items; i++) {
        const struct qr_item *caller = &m->items[row->items + i];
        const struct qr_net_state *s = &m->net->states[caller->state];
        if (s->kind == QR_NET_CALL && s->a == rule)
            QR_TRY(qr_closure_add(c, s->next, caller->param,
                                  caller->origin == QR_ORIGIN_SELF ? origin : caller->origin));
    }
    return QUIRE_OK;
}

static quire_status enter_loop(struct qr_closure *c, uint32_t number, const struct qr_item *item)
{
    struct qr_automaton *m = c->m;
    const struct qr_net_loop *loop = &m->net->loops[number];
    if (qr_param_may_end(&m->params, m->net, loop, item->param))
        QR_TRY(qr_closure_add(c, loop->end, QR_PARAM_START, item->origin));
    if (qr_param_count(&m->params, item->param) == 0)
        return qr_closure_add(c, loop->pick, item->param, item->origin);
    /* a separator only if a member can follow */
    for (uint32_t i = 0; i < loop->n_members; i++)
        if (qr_param_may_pick(&m->params, m->net, loop, item->param, i))
            return qr_closure_add(c, loop->after, item->param, item->origin);
    return QUIRE_OK;
}

static quire_status pick(struct qr_closure *c, uint32_t number, const struct qr_item *item)
{
    struct qr_automaton *m = c->m;
    const struct qr_net_loop *loop = &m->net->loops[number];
    for (uint32_t i = 0; i < loop->n_members; i++)
        if (qr_param_may_pick(&m->params, m->net, loop, item->param, i))
            QR_TRY(qr_closure_add(c, m->net->members[loop->members + i].start, item->param,
                                  item->origin));
    return QUIRE_OK;
}

static quire_status end_member(struct qr_closure *c, const struct qr_net_state *s,
                               const struct qr_item *item)
{
    struct qr_automaton *m = c->m;
    const struct qr_net_loop *loop = &m->net->loops[s->a];
    uint32_t param;
    QR_TRY(qr_param_after(&m->params, m->net, loop, item->param, s->b, &param));
    return qr_closure_add(c, loop->head, param, item->origin);
}

static quire_status follow(struct qr_closure *c, const struct qr_item *item)
{
    const struct qr_net_state *s = &c->m->net->states[item->state];
    switch ((enum qr_net_kind)s->kind) {
    case QR_NET_END:
        return complete(c, s->a, item->origin);
    case QR_NET_LEXEME:
        if (qr_regex_nullable(c->m->set, c->m->lexemes[s->a]))
            return qr_closure_add(c, s->next, item->param, item->origin);
        return QUIRE_OK;
    case QR_NET_TOKEN:
        return QUIRE_OK;
    case QR_NET_CALL:
        return predict(c, s, item);
    case QR_NET_FORK:
        for (uint32_t i = 0; i < s->b; i++)
            QR_TRY(qr_closure_add(c, c->m->net->forks[s->a + i], item->param, item->origin));
        return QUIRE_OK;
    case QR_NET_LOOP:
        return enter_loop(c, s->a, item);
    case QR_NET_PICK:
        return pick(c, s->a, item);
    default:
        return end_member(c, s, item);
    }
}

quire_status qr_closure_complete(struct qr_closure *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct qr_item item = c->items[i];
        QR_TRY(follow(c, &item));
    }
    return QUIRE_OK;
}

static int in_order(const void *x, const void *y)
{
    const struct qr_item *a = x, *b = y;
    if (a->state != b->state)
        return a->state < b->state ? -1 : 1;
    if (a->param != b->param)
        return a->param < b->param ? -1 : 1;
    return (a->origin > b->origin) - (a->origin < b->origin);
}

const struct qr_item *qr_closure_items(struct qr_closure *c, size_t *n, bool *accepts)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        const unsigned kind = c->m->net->states[c->items[i].state].kind;
        if (kind == QR_NET_LEXEME || kind == QR_NET_TOKEN || kind == QR_NET_CALL)
            c->items[kept++] = c->items[i];
    }
    c->n = kept;
    if (kept > 0)
        qsort(c->items, kept, sizeof *c->items, in_order);
    *n = kept;
    *accepts = c->accepts;
    return c->items;
}
