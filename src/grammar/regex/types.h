/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - expressions, and the nodes of a set of them. */
#ifndef QR_GRAMMAR_REGEX_TYPES_H
#define QR_GRAMMAR_REGEX_TYPES_H
#include "base/alloc.h"
#include <quire/status.h>
#include <stdbool.h>
#include <stdint.h>

/* An expression of a set. Equal expressions, after simplification, have equal ids. */
typedef uint32_t qr_regex;
enum {
    QR_REGEX_NONE = 0,  /* matches nothing */
    QR_REGEX_EMPTY = 1, /* matches the empty string */
    QR_REGEX_ANY = 2,   /* matches every string of bytes */
};
#define QR_REGEX_UNBOUNDED UINT32_MAX

/* 256 bits, bit b % 64 of word b / 64 for byte b. */
struct qr_byte_set {
    uint64_t bits[4];
};

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
    QR_RX_MULTIPLE, /* a: divisor, b: remainder so far, min: places left, max: phase */
};

/* Phases of MULTIPLE. */
enum { QR_RX_FIRST_DIGIT, QR_RX_INTEGER, QR_RX_POINT, QR_RX_FRACTION };

struct qr_regex_node {
    uint8_t kind;
    bool nullable;
    bool positive;  /* known to match something without a search: no AND and no NOT inside */
    uint8_t empty;  /* emptiness.c: 0 unknown, 1 matches something, 2 nothing, 3 too long to tell */
    uint16_t depth; /* nesting, without the right sides of concats */
    uint8_t finite, any_plain; /* plain_run.c: 0 unknown, 1 no, 2 yes */
    uint32_t a, b, min, max;
};

/* A derivative that was computed. */
struct qr_regex_memo {
    uint32_t node, result; /* node 0: free */
    uint32_t byte;
};

struct qr_regex_set {
    const struct quire_allocator *a;
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
    uint64_t work;           /* operands that derivatives have looked at */
    uint32_t lucky_class;    /* of the last search that found a string */
    uint32_t longest_search; /* states of searches that gave up */
};

static inline bool qr_byte_set_has(const struct qr_byte_set *s, unsigned byte)
{
    return s->bits[byte / 64] >> (byte % 64) & 1;
}

#endif
