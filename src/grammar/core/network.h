/* SPDX-License-Identifier: Apache-2.0 */
/* network.h - the recursive transition network of a grammar: a nondeterministic automaton per rule,
 * whose edges are lexemes, control tokens and calls of rules. Immutable after creation. */
#ifndef QR_GRAMMAR_CORE_NETWORK_H
#define QR_GRAMMAR_CORE_NETWORK_H
#include "grammar/core/builder.h"

enum qr_net_kind {
    QR_NET_END,        /* the rule `a` is complete */
    QR_NET_LEXEME,     /* lexeme a, then next */
    QR_NET_TOKEN,      /* control token a, then next */
    QR_NET_CALL,       /* rule a, then next */
    QR_NET_FORK,       /* any of forks[a .. a + b) */
    QR_NET_LOOP,       /* loop a: its end, or the separator and a member */
    QR_NET_PICK,       /* loop a: one of its members */
    QR_NET_MEMBER_END, /* member b of loop a is complete; then QR_NET_LOOP */
};

struct qr_net_state {
    uint8_t kind;
    bool productive; /* some text leads from here to the end of the rule */
    uint32_t a, b, next;
};

struct qr_net_rule {
    uint32_t start; /* state */
    bool nullable;  /* derives the empty text */
    bool productive;
};

struct qr_net_member {
    uint32_t start; /* state of its body */
    uint32_t bit;   /* of once members: number among them */
    bool once, required, nullable;
};

/* A loop is a rule of its own; the parameter of its items is what has been seen. */
struct qr_net_loop {
    uint32_t members, n_members; /* in network->members */
    uint32_t n_once, n_required;
    uint32_t head;  /* QR_NET_LOOP state */
    uint32_t after; /* state before a member that is not the first: separator, or QR_NET_PICK */
    uint32_t pick;  /* QR_NET_PICK state */
    uint32_t end;   /* QR_NET_END state */
    uint32_t min, max;
    bool ordered;
    bool repeats; /* some productive member may occur again and again */
};

struct qr_network {
    const struct quire_allocator *a;
    struct qr_net_state *states;
    size_t n_states, states_capacity;
    uint32_t *forks;
    size_t n_forks, forks_capacity;
    struct qr_net_rule *rules; /* rule 0 is the start */
    size_t n_rules, rules_capacity;
    struct qr_net_loop *loops;
    size_t n_loops, loops_capacity;
    struct qr_net_member *members;
    size_t n_members, members_capacity;
};

/* Compiles the nodes of a builder, which can be freed afterwards; its expressions are used until
 * the network is freed. deadline: of qr_clock_thread(). QUIRE_E_UNSUPPORTED the start derives no
 * text; QUIRE_E_INVALID_ARG a rule is not defined; QUIRE_E_LIMIT nesting, deadline;
 * QUIRE_E_NOMEM. */
quire_status qr_network_new(const struct qr_builder *b, double deadline, struct qr_network **out,
                            struct quire_error *err) QUIRE_MUST_CHECK;
void qr_network_free(struct qr_network *net);

#endif
