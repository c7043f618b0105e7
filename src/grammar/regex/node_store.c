/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/node_store.h"
#include <string.h>

enum { MAX_DEPTH = 400 };

qr_regex qr_regex_set_fail(struct qr_regex_set *set, quire_status status)
{
    if (set->status == QUIRE_OK)
        set->status = status;
    return QR_REGEX_NONE;
}

bool qr_regex_set_grow(struct qr_regex_set *set, void **p, size_t *capacity, size_t need,
                       size_t elem_size)
{
    if (set->status != QUIRE_OK)
        return false;
    if (!qr_grow(set->a, p, capacity, need, elem_size))
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
    return set->status == QUIRE_OK;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_node(const struct qr_regex_set *set, const struct qr_regex_node *n)
{
    uint64_t h = mix(n->kind, (uint64_t)n->min << 32 | n->max);
    if (n->kind != QR_RX_OR && n->kind != QR_RX_AND)
        return mix(h, (uint64_t)n->a << 32 | n->b);
    for (uint32_t i = 0; i < n->b; i++)
        h = mix(h, set->lists[n->a + i]);
    return h;
}

static bool equal_nodes(const struct qr_regex_set *set, const struct qr_regex_node *x,
                        const struct qr_regex_node *y)
{
    if (x->kind != y->kind || x->min != y->min || x->max != y->max || x->b != y->b)
        return false;
    if (x->kind != QR_RX_OR && x->kind != QR_RX_AND)
        return x->a == y->a;
    return memcmp(set->lists + x->a, set->lists + y->a, x->b * sizeof *set->lists) == 0;
}

/* The slot of a node in the table: its own, or a free one. */
static size_t find_slot(const struct qr_regex_set *set, const struct qr_regex_node *n)
{
    size_t i = hash_node(set, n) & (set->index_size - 1);
    while (set->index[i] != 0 && !equal_nodes(set, &set->nodes[set->index[i]], n))
        i = (i + 1) & (set->index_size - 1);
    return i;
}

bool qr_regex_rehash(struct qr_regex_set *set)
{
    size_t size = set->index_size ? 2 * set->index_size : 256;
    uint32_t *index = qr_calloc(set->a, size, sizeof *index);
    if (index == NULL) {
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
        return false;
    }
    qr_free(set->a, set->index, set->index_size, sizeof *index);
    set->index = index;
    set->index_size = size;
    for (size_t i = 1; i < set->n_nodes; i++)
        set->index[find_slot(set, &set->nodes[i])] = (uint32_t)i;
    return true;
}

static unsigned depth_of(const struct qr_regex_set *set, qr_regex r) { return set->nodes[r].depth; }

/* Whether the digits so far, with zeros in the places that are left, are a multiple. */
static bool is_multiple(const struct qr_regex_node *n)
{
    uint64_t residue = n->b;
    for (uint32_t i = 0; i < n->min && residue != 0; i++)
        residue = residue * 10 % n->a;
    return residue == 0;
}

/* Flags of a node from those of its children. */
static void derive_flags(const struct qr_regex_set *set, struct qr_regex_node *n)
{
    const struct qr_regex_node *nodes = set->nodes;
    n->positive = true;
    n->depth = 1;
    n->empty = 0;
    n->finite = n->any_plain = 0;
    switch ((enum qr_regex_kind)n->kind) {
    case QR_RX_CONCAT:
        n->nullable = nodes[n->a].nullable && nodes[n->b].nullable;
        n->positive = nodes[n->a].positive && nodes[n->b].positive;
        n->depth = (uint16_t)(depth_of(set, n->a) + 1);
        if (depth_of(set, n->b) > n->depth)
            n->depth = (uint16_t)depth_of(set, n->b);
        break;
    case QR_RX_OR:
    case QR_RX_AND:
        n->nullable = n->kind == QR_RX_AND;
        for (uint32_t i = 0; i < n->b; i++) {
            const struct qr_regex_node *c = &nodes[set->lists[n->a + i]];
            n->nullable =
                n->kind == QR_RX_OR ? n->nullable || c->nullable : n->nullable && c->nullable;
            n->positive = n->positive && c->positive && n->kind == QR_RX_OR;
            n->depth = (uint16_t)(c->depth + 1 > n->depth ? c->depth + 1 : n->depth);
        }
        break;
    case QR_RX_NOT:
        n->nullable = !nodes[n->a].nullable;
        n->positive = false;
        n->depth = (uint16_t)(depth_of(set, n->a) + 1);
        break;
    case QR_RX_REPEAT:
        n->nullable = n->min == 0 || nodes[n->a].nullable;
        n->positive = nodes[n->a].positive;
        n->depth = (uint16_t)(depth_of(set, n->a) + 1);
        break;
    case QR_RX_MULTIPLE:
        n->nullable = (n->max == QR_RX_INTEGER || n->max == QR_RX_FRACTION) && is_multiple(n);
        break;
    default:
        n->nullable = n->kind == QR_RX_EMPTY || n->kind == QR_RX_ANY;
        break;
    }
    if (n->nullable || n->positive)
        n->empty = 1;
}

qr_regex qr_regex_intern(struct qr_regex_set *set, const struct qr_regex_node *node)
{
    if (set->status != QUIRE_OK)
        return QR_REGEX_NONE;
    const size_t slot = find_slot(set, node);
    if (set->index[slot] != 0)
        return set->index[slot];
    struct qr_regex_node n = *node;
    derive_flags(set, &n);
    if (n.depth > MAX_DEPTH || set->n_nodes >= UINT32_MAX / 2)
        return qr_regex_set_fail(set, QUIRE_E_LIMIT);
    if (!qr_regex_set_grow(set, (void **)&set->nodes, &set->nodes_capacity, set->n_nodes + 1,
                           sizeof n))
        return QR_REGEX_NONE;
    const qr_regex id = (qr_regex)set->n_nodes++;
    set->nodes[id] = n;
    set->index[slot] = id;
    if (2 * set->n_nodes > set->index_size && !qr_regex_rehash(set))
        return QR_REGEX_NONE;
    return id;
}
