/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.h - the nodes of a builder, for network.c. */
#ifndef QR_GRAMMAR_CORE_NODES_H
#define QR_GRAMMAR_CORE_NODES_H
#include "grammar/core/builder.h"

enum qr_node_kind {
    QR_NODE_NONE,
    QR_NODE_LEXEME,   /* a: number of the lexeme */
    QR_NODE_TOKEN,    /* a: id */
    QR_NODE_SEQUENCE, /* children */
    QR_NODE_CHOICE,   /* children */
    QR_NODE_LOOP,     /* a: number of the loop */
    QR_NODE_RULE,     /* a: body, 0 = not defined */
};

struct qr_builder_node {
    uint8_t kind;
    uint32_t a;
    uint32_t children, n_children; /* in builder->children */
};

/* A loop with its members in builder->members. */
struct qr_builder_loop {
    uint32_t members, n_members;
    qr_node separator;
    uint32_t min, max;
    bool ordered;
};

struct qr_builder {
    struct qr_regex_set *set;
    const struct quire_allocator *a;
    quire_status status;
    struct qr_builder_node *nodes;
    size_t n_nodes, nodes_capacity;
    qr_node *children;
    size_t n_children, children_capacity;
    struct qr_builder_loop *loops;
    size_t n_loops, loops_capacity;
    struct qr_loop_member *members;
    size_t n_members, members_capacity;
    qr_regex *lexemes; /* [n_lexemes], each once */
    size_t n_lexemes, lexemes_capacity;
    uint32_t *lexeme_index; /* hash table: number + 1 */
    size_t lexeme_index_size;
    uint32_t *lexeme_nodes; /* [lexemes_capacity] node of each lexeme */
    size_t lexeme_nodes_capacity;
    qr_node start;
};

#endif
