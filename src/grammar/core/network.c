/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/network.h"
#include "base/clock.h"
#include "base/error.h"
#include "grammar/core/nodes.h"
#include "grammar/core/productive.h"
#include <string.h>

enum { MAX_DEPTH = 1000 };
#define NO_RULE UINT32_MAX

/* The compilation of a builder. */
struct compiler {
    const struct qr_builder *b;
    struct qr_network *net;
    uint32_t *rule_of; /* [n_nodes] rule of a node that is one, or NO_RULE */
    uint32_t *uses;    /* [n_nodes] number of places, counted up to 2 */
    qr_node *bodies;   /* [n_rules] */
    size_t bodies_capacity;
    double deadline;
    struct quire_error *err;
    quire_status status;
};

static bool grow(struct compiler *c, void **p, size_t *capacity, size_t need, size_t elem_size)
{
    if (c->status == QUIRE_OK && !qr_grow(c->net->a, p, capacity, need, elem_size))
        c->status = QUIRE_E_NOMEM;
    return c->status == QUIRE_OK;
}

static uint32_t add_state(struct compiler *c, enum qr_net_kind kind, uint32_t a, uint32_t b,
                          uint32_t next)
{
    struct qr_network *net = c->net;
    if (!grow(c, (void **)&net->states, &net->states_capacity, net->n_states + 1,
              sizeof *net->states))
        return 0;
    net->states[net->n_states] = (struct qr_net_state){ (uint8_t)kind, false, a, b, next };
    return (uint32_t)net->n_states++;
}

/* The rule of a node, a new one if it has none yet. */
static uint32_t rule_of(struct compiler *c, qr_node node)
{
    struct qr_network *net = c->net;
    if (c->rule_of[node] != NO_RULE)
        return c->rule_of[node];
    if (!grow(c, (void **)&net->rules, &net->rules_capacity, net->n_rules + 1,
              sizeof *net->rules) ||
        !grow(c, (void **)&c->bodies, &c->bodies_capacity, net->n_rules + 1, sizeof *c->bodies))
        return 0;
    net->rules[net->n_rules] = (struct qr_net_rule){ 0 };
    c->bodies[net->n_rules] = node;
    return c->rule_of[node] = (uint32_t)net->n_rules++;
}

static uint32_t compile(struct compiler *c, qr_node node, uint32_t next, unsigned depth);

static uint32_t compile_choice(struct compiler *c, const struct qr_builder_node *n, uint32_t next,
                               unsigned depth)
{
    struct qr_network *net = c->net;
    const uint32_t first = (uint32_t)net->n_forks;
    if (!grow(c, (void **)&net->forks, &net->forks_capacity, first + n->n_children,
              sizeof *net->forks))
        return 0;
    net->n_forks += n->n_children;
    for (uint32_t i = 0; i < n->n_children; i++) {
        const uint32_t start = compile(c, c->b->children[n->children + i], next, depth + 1);
        net->forks[first + i] = start;
    }
    return add_state(c, QR_NET_FORK, first, n->n_children, 0);
}

/* The state from which a node leads to `next`. */
static uint32_t compile(struct compiler *c, qr_node node, uint32_t next, unsigned depth)
{
    const struct qr_builder_node *n = &c->b->nodes[node];
    if (depth > MAX_DEPTH && c->status == QUIRE_OK)
        c->status = qr_fail(c->err, QUIRE_E_LIMIT, "the grammar is nested too deeply");
    if (c->status != QUIRE_OK)
        return 0;
    if (n->kind == QR_NODE_RULE || n->kind == QR_NODE_LOOP ||
        (c->uses[node] > 1 && n->n_children > 1))
        return add_state(c, QR_NET_CALL, rule_of(c, node), 0, next);
    switch ((enum qr_node_kind)n->kind) {
    case QR_NODE_LEXEME:
        return add_state(c, QR_NET_LEXEME, n->a, 0, next);
    case QR_NODE_TOKEN:
        return add_state(c, QR_NET_TOKEN, n->a, 0, next);
    case QR_NODE_CHOICE:
        return compile_choice(c, n, next, depth);
    default:
        for (uint32_t i = n->n_children; i > 0; i--)
            next = compile(c, c->b->children[n->children + i - 1], next, depth + 1);
        return next;
    }
}

static uint32_t compile_members(struct compiler *c, const struct qr_builder_loop *from,
                                uint32_t number)
{
    struct qr_network *net = c->net;
    const uint32_t first = (uint32_t)net->n_members;
    if (!grow(c, (void **)&net->members, &net->members_capacity, first + from->n_members,
              sizeof *net->members))
        return 0;
    net->n_members += from->n_members;
    for (uint32_t i = 0; i < from->n_members && c->status == QUIRE_OK; i++) {
        const struct qr_loop_member *m = &c->b->members[from->members + i];
        const uint32_t end = add_state(c, QR_NET_MEMBER_END, number, i, 0);
        const uint32_t start = compile(c, m->node, end, 0);
        struct qr_net_loop *loop = &net->loops[number];
        net->members[first + i] = (struct qr_net_member){
            .start = start, .bit = loop->n_once, .once = m->once, .required = m->once && m->required
        };
        loop->n_once += m->once;
        loop->n_required += m->once && m->required;
    }
    return first;
}

static uint32_t compile_loop(struct compiler *c, const struct qr_builder_loop *from, uint32_t end)
{
    struct qr_network *net = c->net;
    const uint32_t number = (uint32_t)net->n_loops;
    if (!grow(c, (void **)&net->loops, &net->loops_capacity, net->n_loops + 1, sizeof *net->loops))
        return 0;
    net->n_loops++;
    net->loops[number] = (struct qr_net_loop){ .n_members = from->n_members,
                                               .min = from->min,
                                               .max = from->max,
                                               .ordered = from->ordered,
                                               .end = end };
    const uint32_t head = add_state(c, QR_NET_LOOP, number, 0, 0);
    const uint32_t pick = add_state(c, QR_NET_PICK, number, 0, 0);
    const uint32_t after = from->separator ? compile(c, from->separator, pick, 0) : pick;
    const uint32_t members = compile_members(c, from, number);
    struct qr_net_loop *loop = &net->loops[number];
    loop->head = head;
    loop->pick = pick;
    loop->after = after;
    loop->members = members;
    return head;
}

static uint32_t compile_rule(struct compiler *c, uint32_t rule)
{
    QR_INVARIANT(c->bodies); /* one for each rule */
    const qr_node node = c->bodies[rule];
    const struct qr_builder_node *n = &c->b->nodes[node];
    const uint32_t end = add_state(c, QR_NET_END, rule, 0, 0);
    if (n->kind == QR_NODE_LOOP)
        return compile_loop(c, &c->b->loops[n->a], end);
    if (n->kind == QR_NODE_RULE && n->a == 0 && c->status == QUIRE_OK)
        c->status = qr_fail(c->err, QUIRE_E_INVALID_ARG, "a rule of the grammar is not defined");
    if (n->kind == QR_NODE_RULE)
        return compile(c, n->a, end, 0);
    /* a node that is used in several places: its children here */
    c->uses[node] = 1;
    const uint32_t start = compile(c, node, end, 0);
    c->uses[node] = 2;
    return start;
}

/* Counts in how many places each node is used. */
static void count_uses(struct compiler *c)
{
    const struct qr_builder *b = c->b;
    for (size_t i = 0; i < b->n_children; i++)
        c->uses[b->children[i]] += c->uses[b->children[i]] < 2;
    for (size_t i = 0; i < b->n_members; i++)
        c->uses[b->members[i].node] += c->uses[b->members[i].node] < 2;
    for (size_t i = 0; i < b->n_loops; i++)
        c->uses[b->loops[i].separator] += c->uses[b->loops[i].separator] < 2;
    for (size_t i = 0; i < b->n_nodes; i++)
        if (b->nodes[i].kind == QR_NODE_RULE)
            c->uses[b->nodes[i].a] += c->uses[b->nodes[i].a] < 2;
}

static void compile_all(struct compiler *c)
{
    const struct qr_builder *b = c->b;
    c->rule_of = qr_alloc(b->a, b->n_nodes, sizeof *c->rule_of);
    c->uses = qr_calloc(b->a, b->n_nodes, sizeof *c->uses);
    if (c->rule_of == NULL || c->uses == NULL) {
        c->status = QUIRE_E_NOMEM;
        return;
    }
    memset(c->rule_of, 0xff, b->n_nodes * sizeof *c->rule_of);
    count_uses(c);
    rule_of(c, b->start);
    for (uint32_t rule = 0; rule < c->net->n_rules && c->status == QUIRE_OK; rule++) {
        const uint32_t start = compile_rule(c, rule);
        c->net->rules[rule].start = start;
        if (qr_clock_thread() > c->deadline && c->status == QUIRE_OK)
            c->status = qr_fail(c->err, QUIRE_E_LIMIT, "compilation takes too long");
    }
}

quire_status qr_network_new(const struct qr_builder *b, double deadline, struct qr_network **out,
                            struct quire_error *err)
{
    struct qr_network *net = qr_calloc(b->a, 1, sizeof *net);
    struct compiler c = { .b = b, .net = net, .deadline = deadline, .err = err };
    *out = NULL;
    if (net == NULL)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    net->a = b->a;
    c.status = qr_builder_status(b);
    if (c.status == QUIRE_E_LIMIT)
        qr_fail(err, c.status, "the expressions of the grammar are nested too deeply");
    else if (c.status == QUIRE_OK)
        compile_all(&c);
    qr_free(b->a, c.rule_of, b->n_nodes, sizeof *c.rule_of);
    qr_free(b->a, c.uses, b->n_nodes, sizeof *c.uses);
    qr_free(b->a, c.bodies, c.bodies_capacity, sizeof *c.bodies);
    quire_status status = c.status;
    if (status == QUIRE_OK)
        status = qr_network_prune(net, b->set, b->lexemes, deadline, err);
    else if (status == QUIRE_E_NOMEM)
        qr_fail(err, status, "no memory for the grammar");
    if (status != QUIRE_OK)
        qr_network_free(net);
    else
        *out = net;
    return status;
}

void qr_network_free(struct qr_network *net)
{
    if (net == NULL)
        return;
    const struct quire_allocator *a = net->a;
    qr_free(a, net->states, net->states_capacity, sizeof *net->states);
    qr_free(a, net->forks, net->forks_capacity, sizeof *net->forks);
    qr_free(a, net->rules, net->rules_capacity, sizeof *net->rules);
    qr_free(a, net->loops, net->loops_capacity, sizeof *net->loops);
    qr_free(a, net->members, net->members_capacity, sizeof *net->members);
    qr_free(a, net, 1, sizeof *net);
}
