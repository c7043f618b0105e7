/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/regex_set.h"
#include "grammar/regex/types.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 400, MAX_FACTOR_DEPTH = 64 };

/* ---- Storage ---- */

qr_regex qr_regex_set_fail(struct qr_regex_set *set, quire_status status)
{
    if (set->status == QUIRE_OK)
        set->status = status;
    return QR_REGEX_NONE;
}

bool qr_regex_set_grow(struct qr_regex_set *set, void **p, size_t *capacity, size_t need,
                       size_t elem_size)
{
    const size_t before = *capacity;
    if (need <= before)
        return true;
    /* twice the size while the old copy exists */
    if (set->status != QUIRE_OK || set->bytes + 2 * need * elem_size > set->limit_bytes) {
        qr_regex_set_fail(set, QUIRE_E_LIMIT);
        return false;
    }
    if (!qr_grow(set->a, p, capacity, need, elem_size)) {
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
        return false;
    }
    set->bytes += (*capacity - before) * elem_size;
    return true;
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

static bool rehash(struct qr_regex_set *set)
{
    size_t size = set->index_size ? 2 * set->index_size : 256;
    if (set->bytes + size * sizeof *set->index > set->limit_bytes) {
        qr_regex_set_fail(set, QUIRE_E_LIMIT);
        return false;
    }
    uint32_t *index = qr_calloc(set->a, size, sizeof *index);
    if (index == NULL) {
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
        return false;
    }
    qr_free(set->a, set->index, set->index_size, sizeof *index);
    set->bytes += (size - set->index_size) * sizeof *index;
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
    if (2 * set->n_nodes > set->index_size && !rehash(set))
        return QR_REGEX_NONE;
    return id;
}

struct qr_regex_set *qr_regex_set_new(const struct quire_allocator *a, uint64_t limit_bytes)
{
    static const struct qr_regex_node none = { .kind = QR_RX_NONE },
                                      empty = { .kind = QR_RX_EMPTY }, any = { .kind = QR_RX_ANY };
    struct qr_regex_set *set = qr_calloc(a, 1, sizeof *set);
    if (set == NULL)
        return NULL;
    set->a = a;
    set->limit_bytes = limit_bytes;
    set->bytes = sizeof *set;
    if (!rehash(set) || !qr_regex_set_grow(set, (void **)&set->nodes, &set->nodes_capacity, 64,
                                           sizeof *set->nodes)) {
        qr_regex_set_free(set);
        return NULL;
    }
    /* node 0 is NONE and never in the table, whose free slots are 0 */
    set->nodes[0] = none;
    set->nodes[0].positive = false;
    set->nodes[0].empty = 2;
    set->nodes[0].depth = 1;
    set->n_nodes = 1;
    qr_regex_intern(set, &empty);
    qr_regex_intern(set, &any);
    return set;
}

void qr_regex_set_free(struct qr_regex_set *set)
{
    if (set == NULL)
        return;
    const struct quire_allocator *a = set->a;
    qr_free(a, set->nodes, set->nodes_capacity, sizeof *set->nodes);
    qr_free(a, set->lists, set->lists_capacity, sizeof *set->lists);
    qr_free(a, set->sets, set->sets_capacity, sizeof *set->sets);
    qr_free(a, set->index, set->index_size, sizeof *set->index);
    qr_free(a, set->memo, set->memo_size, sizeof *set->memo);
    qr_free(a, set, 1, sizeof *set);
}

quire_status qr_regex_set_status(const struct qr_regex_set *set) { return set->status; }

uint64_t qr_regex_set_bytes(const struct qr_regex_set *set) { return set->bytes; }

bool qr_regex_nullable(const struct qr_regex_set *set, qr_regex r)
{
    return set->nodes[r].nullable;
}

/* ---- Constructors ---- */

qr_regex qr_regex_bytes(struct qr_regex_set *set, const struct qr_byte_set *bytes)
{
    if ((bytes->bits[0] | bytes->bits[1] | bytes->bits[2] | bytes->bits[3]) == 0)
        return QR_REGEX_NONE;
    /* few distinct sets occur; the last ones are the likeliest */
    size_t i = set->n_sets;
    while (i > 0 && memcmp(&set->sets[i - 1], bytes, sizeof *bytes) != 0)
        i--;
    if (i == 0) {
        if (!qr_regex_set_grow(set, (void **)&set->sets, &set->sets_capacity, set->n_sets + 1,
                               sizeof *bytes))
            return QR_REGEX_NONE;
        set->sets[set->n_sets++] = *bytes;
        i = set->n_sets;
    }
    return qr_regex_intern(set, &(struct qr_regex_node){ .kind = QR_RX_BYTES,
                                                         .a = (uint32_t)(i - 1) });
}

static qr_regex concat2(struct qr_regex_set *set, qr_regex a, qr_regex b)
{
    if (a == QR_REGEX_NONE || b == QR_REGEX_NONE)
        return QR_REGEX_NONE;
    if (a == QR_REGEX_EMPTY)
        return b;
    if (b == QR_REGEX_EMPTY || (a == QR_REGEX_ANY && b == QR_REGEX_ANY))
        return a;
    if (set->nodes[a].kind != QR_RX_CONCAT)
        return qr_regex_intern(
            set, &(struct qr_regex_node){ .kind = QR_RX_CONCAT, .a = a, .b = b });
    /* right-leaning: the parts of a, from the last to the first */
    size_t n = 0, capacity = 0;
    uint32_t *parts = NULL;
    qr_regex rest = a;
    for (; set->nodes[rest].kind == QR_RX_CONCAT; rest = set->nodes[rest].b) {
        if (!qr_grow(set->a, (void **)&parts, &capacity, n + 1, sizeof *parts)) {
            qr_free(set->a, parts, capacity, sizeof *parts);
            return qr_regex_set_fail(set, QUIRE_E_NOMEM);
        }
        parts[n++] = set->nodes[rest].a;
    }
    qr_regex out = concat2(set, rest, b);
    while (n > 0)
        out = concat2(set, parts[--n], out);
    qr_free(set->a, parts, capacity, sizeof *parts);
    return out;
}

qr_regex qr_regex_concat(struct qr_regex_set *set, const qr_regex *list, size_t n)
{
    qr_regex out = QR_REGEX_EMPTY;
    while (n > 0)
        out = concat2(set, list[--n], out);
    return out;
}

qr_regex qr_regex_literal(struct qr_regex_set *set, const char *bytes, size_t size)
{
    qr_regex out = QR_REGEX_EMPTY;
    while (size > 0) {
        const unsigned char c = (unsigned char)bytes[--size];
        struct qr_byte_set one = { { 0 } };
        one.bits[c / 64] = 1ull << (c % 64);
        out = concat2(set, qr_regex_bytes(set, &one), out);
    }
    return out;
}

qr_regex qr_regex_not(struct qr_regex_set *set, qr_regex r)
{
    if (set->status != QUIRE_OK)
        return QR_REGEX_NONE;
    if (r == QR_REGEX_NONE)
        return QR_REGEX_ANY;
    if (r == QR_REGEX_ANY)
        return QR_REGEX_NONE;
    if (set->nodes[r].kind == QR_RX_NOT)
        return set->nodes[r].a;
    return qr_regex_intern(set, &(struct qr_regex_node){ .kind = QR_RX_NOT, .a = r });
}

static bool is_all_bytes(const struct qr_regex_set *set, qr_regex r)
{
    const struct qr_regex_node *n = &set->nodes[r];
    if (n->kind != QR_RX_BYTES)
        return false;
    const struct qr_byte_set *s = &set->sets[n->a];
    return (s->bits[0] & s->bits[1] & s->bits[2] & s->bits[3]) == UINT64_MAX;
}

qr_regex qr_regex_repeat(struct qr_regex_set *set, qr_regex r, uint32_t min, uint32_t max)
{
    if (max == 0 || r == QR_REGEX_EMPTY)
        return QR_REGEX_EMPTY;
    if (min > max)
        return QR_REGEX_NONE;
    if (r == QR_REGEX_NONE)
        return min == 0 && set->status == QUIRE_OK ? QR_REGEX_EMPTY : QR_REGEX_NONE;
    if ((min == 1 && max == 1) || r == QR_REGEX_ANY)
        return r;
    const struct qr_regex_node *n = &set->nodes[r];
    if (n->nullable)
        min = 0;
    if (max == QR_REGEX_UNBOUNDED && min == 0) {
        if (n->kind == QR_RX_REPEAT && n->max == QR_REGEX_UNBOUNDED && n->min <= 1)
            r = n->a;
        if (is_all_bytes(set, r))
            return QR_REGEX_ANY;
    }
    return qr_regex_intern(
        set, &(struct qr_regex_node){ .kind = QR_RX_REPEAT, .a = r, .min = min, .max = max });
}

qr_regex qr_regex_multiple_of(struct qr_regex_set *set, uint32_t divisor, uint32_t scale)
{
    return qr_regex_intern(set, &(struct qr_regex_node){ .kind = QR_RX_MULTIPLE,
                                                         .a = divisor,
                                                         .min = scale,
                                                         .max = QR_RX_FIRST_DIGIT });
}

/* ---- OR and AND ---- */

/* The operands under construction. */
struct operands {
    uint32_t *list;
    size_t n, capacity;
};

static bool push(struct qr_regex_set *set, struct operands *o, qr_regex r)
{
    if (o->n == o->capacity &&
        !qr_grow(set->a, (void **)&o->list, &o->capacity, o->n + 1, sizeof *o->list)) {
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
        return false;
    }
    o->list[o->n++] = r;
    return true;
}

static int ascending(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static void sort_unique(struct operands *o)
{
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 1; i < o->n && sorted; i++)
        sorted = o->list[i - 1] < o->list[i];
    if (sorted)
        return;
    qsort(o->list, o->n, sizeof *o->list, ascending);
    for (size_t i = 0; i < o->n; i++)
        if (n == 0 || o->list[n - 1] != o->list[i])
            o->list[n++] = o->list[i];
    o->n = n;
}

/* Collects the operands of nested nodes of the same kind, and merges byte sets. */
static bool flatten(struct qr_regex_set *set, enum qr_regex_kind kind, const qr_regex *list,
                    size_t n, struct operands *o)
{
    struct qr_byte_set bytes = { { 0 } };
    bool has_bytes = false;
    for (size_t i = 0; i < n; i++) {
        const struct qr_regex_node node = set->nodes[list[i]];
        const bool nested = node.kind == kind;
        for (uint32_t k = 0; k < (nested ? node.b : 1); k++) {
            const qr_regex r = nested ? set->lists[node.a + k] : list[i];
            if (set->nodes[r].kind != QR_RX_BYTES) {
                if (!push(set, o, r))
                    return false;
                continue;
            }
            const struct qr_byte_set *s = &set->sets[set->nodes[r].a];
            for (int w = 0; w < 4; w++)
                bytes.bits[w] = !has_bytes            ? s->bits[w]
                                : kind == QR_RX_OR ? bytes.bits[w] | s->bits[w]
                                                   : bytes.bits[w] & s->bits[w];
            has_bytes = true;
        }
    }
    return !has_bytes || push(set, o, qr_regex_bytes(set, &bytes));
}

static bool has(const struct operands *o, qr_regex r)
{
    return bsearch(&r, o->list, o->n, sizeof r, ascending) != NULL;
}

/* Whether an operand and its complement are both there. */
static bool has_opposites(const struct qr_regex_set *set, const struct operands *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (set->nodes[o->list[i]].kind == QR_RX_NOT && has(o, set->nodes[o->list[i]].a))
            return true;
    return false;
}

static void drop(struct operands *o, qr_regex r)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i] != r)
            o->list[n++] = o->list[i];
    o->n = n;
}

/* A node of at least two operands, which are copied. */
static qr_regex list_node(struct qr_regex_set *set, enum qr_regex_kind kind,
                          const struct operands *o)
{
    if (o->n == 1)
        return o->list[0];
    if (!qr_regex_set_grow(set, (void **)&set->lists, &set->lists_capacity, set->n_lists + o->n,
                           sizeof *set->lists))
        return QR_REGEX_NONE;
    const struct qr_regex_node node = { .kind = (uint8_t)kind,
                                        .a = (uint32_t)set->n_lists,
                                        .b = (uint32_t)o->n };
    const size_t n_nodes = set->n_nodes;
    memcpy(set->lists + set->n_lists, o->list, o->n * sizeof *o->list);
    const qr_regex r = qr_regex_intern(set, &node);
    if (set->n_nodes > n_nodes) /* new: the list stays */
        set->n_lists += o->n;
    return r;
}

static qr_regex head_of(const struct qr_regex_set *set, qr_regex r)
{
    return set->nodes[r].kind == QR_RX_CONCAT ? set->nodes[r].a : r;
}

static qr_regex or_factored(struct qr_regex_set *set, const qr_regex *list, size_t n,
                            unsigned depth);

/* Merges operands with the same head h: h(a|b). A large choice of strings becomes a trie. heads:
 * scratch of n pairs. */
static bool factor(struct qr_regex_set *set, struct operands *o, unsigned depth)
{
    struct head {
        qr_regex head, whole;
    } *heads = qr_alloc(set->a, o->n, sizeof *heads);
    struct operands out = { 0 }, rests = { 0 };
    bool ok = heads != NULL;
    const size_t n = o->n;
    for (size_t i = 0; i < n && ok; i++)
        heads[i] = (struct head){ head_of(set, o->list[i]), o->list[i] };
    if (ok)
        qsort(heads, n, sizeof *heads, ascending); /* by head */
    for (size_t i = 0; i < n && ok;) {
        size_t end = i + 1;
        while (end < n && heads[end].head == heads[i].head)
            end++;
        rests.n = 0;
        for (size_t k = i; k < end && end - i > 1 && ok; k++)
            ok = push(set, &rests, heads[k].whole == heads[k].head
                                       ? (qr_regex)QR_REGEX_EMPTY
                                       : set->nodes[heads[k].whole].b);
        if (end - i == 1)
            ok = push(set, &out, heads[i].whole);
        else if (ok)
            ok = push(set, &out, concat2(set, heads[i].head,
                                         or_factored(set, rests.list, rests.n, depth + 1)));
        i = end;
    }
    if (!ok)
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
    qr_free(set->a, heads, n, sizeof *heads);
    qr_free(set->a, rests.list, rests.capacity, sizeof *rests.list);
    qr_free(set->a, o->list, o->capacity, sizeof *o->list);
    *o = out;
    return ok;
}

static qr_regex or_factored(struct qr_regex_set *set, const qr_regex *list, size_t n,
                            unsigned depth)
{
    struct operands o = { 0 };
    qr_regex out = QR_REGEX_NONE;
    if (set->status == QUIRE_OK && flatten(set, QR_RX_OR, list, n, &o)) {
        sort_unique(&o);
        drop(&o, QR_REGEX_NONE);
        if (o.n > 1 && depth < MAX_FACTOR_DEPTH && factor(set, &o, depth))
            sort_unique(&o);
        bool nullable = false;
        for (size_t i = 0; i < o.n; i++)
            nullable = nullable || (o.list[i] != QR_REGEX_EMPTY && set->nodes[o.list[i]].nullable);
        if (nullable)
            drop(&o, QR_REGEX_EMPTY);
        if (has(&o, QR_REGEX_ANY) || has_opposites(set, &o))
            out = QR_REGEX_ANY;
        else if (o.n > 0)
            out = list_node(set, QR_RX_OR, &o);
    }
    qr_free(set->a, o.list, o.capacity, sizeof *o.list);
    return set->status == QUIRE_OK ? out : QR_REGEX_NONE;
}

qr_regex qr_regex_or(struct qr_regex_set *set, const qr_regex *list, size_t n)
{
    return or_factored(set, list, n, 0);
}

qr_regex qr_regex_and(struct qr_regex_set *set, const qr_regex *list, size_t n)
{
    struct operands o = { 0 };
    qr_regex out = QR_REGEX_NONE;
    if (set->status == QUIRE_OK && flatten(set, QR_RX_AND, list, n, &o)) {
        sort_unique(&o);
        drop(&o, QR_REGEX_ANY);
        bool nullable = true;
        for (size_t i = 0; i < o.n; i++)
            nullable = nullable && set->nodes[o.list[i]].nullable;
        if (o.n == 0)
            out = QR_REGEX_ANY;
        else if (has(&o, QR_REGEX_NONE) || has_opposites(set, &o))
            out = QR_REGEX_NONE;
        else if (has(&o, QR_REGEX_EMPTY))
            out = nullable ? QR_REGEX_EMPTY : QR_REGEX_NONE;
        else
            out = list_node(set, QR_RX_AND, &o);
    }
    qr_free(set->a, o.list, o.capacity, sizeof *o.list);
    return set->status == QUIRE_OK ? out : QR_REGEX_NONE;
}
