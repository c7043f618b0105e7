/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - nodes of a set of expressions. */
#ifndef QR_GRAMMAR_REGEX_TYPES_H
#define QR_GRAMMAR_REGEX_TYPES_H
#include "grammar/regex/regex_set.h"

enum qr_regex_kind {
    QR_RX_NONE,
    QR_RX_EMPTY,
    QR_RX_ANY,
    QR_RX_BYTES,    /* a: index in sets */
    QR_RX_CONCAT,   /* a, then b; a is not a concat */
    QR_RX_OR,       /* lists[a .. a + b), ascending, at most one of them BYTES */
    QR_RX_AND,      /* the same */
    QR_RX_NOT,      /* a */
    QR_RX_REPEAT,   /* a, min .. max times */
    QR_RX_MULTIPLE, /* a: divisor, b: remainder so far, min: digits left after the point, max: phase */
};

/* Phases of MULTIPLE. */
enum { QR_RX_FIRST_DIGIT, QR_RX_INTEGER, QR_RX_POINT, QR_RX_FRACTION };

struct qr_regex_node {
    uint8_t kind;
    bool nullable;
    bool positive;  /* has no AND and no NOT inside: matches something */
    uint8_t empty;  /* of the others: 0 unknown, 1 matches something, 2 nothing */
    uint16_t depth; /* nesting, without the right sides of concats */
    uint32_t a, b, min, max;
};

/* A derivative that was computed. */
struct qr_regex_memo {
    uint32_t node, result; /* node 0: free */
    uint32_t byte;
};

struct qr_regex_set {
    const struct quire_allocator *a;
    uint64_t limit_bytes, bytes;
    quire_status status;
    struct qr_regex_node *nodes; /* [n_nodes] */
    size_t n_nodes, nodes_capacity;
    uint32_t *lists;
    size_t n_lists, lists_capacity;
    struct qr_byte_set *sets;
    size_t n_sets, sets_capacity;
    uint32_t *index; /* hash table of nodes, 0 = free */
    size_t index_size;
    uint32_t *set_index; /* of sets, number + 1 */
    size_t set_index_size;
    struct qr_regex_memo *memo;
    size_t memo_size, n_memo;
};

/* Finds or adds a node whose flags are computed here. QR_REGEX_NONE after a failure. */
qr_regex qr_regex_intern(struct qr_regex_set *set, const struct qr_regex_node *node);

/* Fails the set. Returns QR_REGEX_NONE. */
qr_regex qr_regex_set_fail(struct qr_regex_set *set, quire_status status);

/* Grows an array of the set within its limit. */
bool qr_regex_set_grow(struct qr_regex_set *set, void **p, size_t *capacity, size_t need,
                       size_t elem_size);

static inline bool qr_byte_set_has(const struct qr_byte_set *s, unsigned byte)
{
    return s->bits[byte / 64] >> (byte % 64) & 1;
}

#endif
