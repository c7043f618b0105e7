/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/regex_choice.h"
#include "grammar/regex/node_store.h"
#include "grammar/regex/regex_set.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_FACTOR_DEPTH = 64 };

static qr_regex concat(struct qr_regex_set *set, qr_regex a, qr_regex b)
{
    return qr_regex_concat(set, (const qr_regex[]){ a, b }, 2);
}

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
                bytes.bits[w] = !has_bytes         ? s->bits[w]
                                : kind == QR_RX_OR ? bytes.bits[w] | s->bits[w]
                                                   : bytes.bits[w] & s->bits[w];
            has_bytes = true;
        }
    }
    return !has_bytes || push(set, o, qr_regex_bytes(set, &bytes));
}

static bool has(const struct operands *o, qr_regex r)
{
    return o->n > 0 && bsearch(&r, o->list, o->n, sizeof r, ascending) != NULL;
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
            ok = push(set, &rests,
                      heads[k].whole == heads[k].head ? (qr_regex)QR_REGEX_EMPTY
                                                      : set->nodes[heads[k].whole].b);
        if (end - i == 1)
            ok = push(set, &out, heads[i].whole);
        else if (ok)
            ok = push(set, &out,
                      concat(set, heads[i].head, or_factored(set, rests.list, rests.n, depth + 1)));
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
