/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/regex_set.h"
#include "grammar/regex/node_store.h"
#include <stdlib.h>
#include <string.h>

struct qr_regex_set *qr_regex_set_new(const struct quire_allocator *a)
{
    static const struct qr_regex_node none = { .kind = QR_RX_NONE },
                                      empty = { .kind = QR_RX_EMPTY }, any = { .kind = QR_RX_ANY };
    struct qr_regex_set *set = qr_calloc(a, 1, sizeof *set);
    if (set == NULL)
        return NULL;
    set->a = a;
    if (!qr_regex_rehash(set) || !qr_regex_set_grow(set, (void **)&set->nodes, &set->nodes_capacity,
                                                    64, sizeof *set->nodes)) {
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
    return qr_regex_intern(set,
                           &(struct qr_regex_node){ .kind = QR_RX_BYTES, .a = (uint32_t)(i - 1) });
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
        return qr_regex_intern(set,
                               &(struct qr_regex_node){ .kind = QR_RX_CONCAT, .a = a, .b = b });
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
    if (n->kind == QR_RX_REPEAT && n->min <= 1) { /* the numbers of repetitions have no gaps */
        const uint64_t product = (uint64_t)n->max * max;
        const bool unbounded = n->max == QR_REGEX_UNBOUNDED || max == QR_REGEX_UNBOUNDED;
        if (unbounded || product < QR_REGEX_UNBOUNDED) {
            min *= n->min;
            max = unbounded ? QR_REGEX_UNBOUNDED : (uint32_t)product;
            return qr_regex_repeat(set, n->a, min, max);
        }
    }
    if (max == QR_REGEX_UNBOUNDED && min == 0) {
        if (is_all_bytes(set, r))
            return QR_REGEX_ANY;
    }
    return qr_regex_intern(
        set, &(struct qr_regex_node){ .kind = QR_RX_REPEAT, .a = r, .min = min, .max = max });
}

qr_regex qr_regex_multiple_of(struct qr_regex_set *set, uint32_t divisor, uint32_t scale)
{
    return qr_regex_intern(
        set, &(struct qr_regex_node){
                 .kind = QR_RX_MULTIPLE, .a = divisor, .min = scale, .max = QR_RX_FIRST_DIGIT });
}
