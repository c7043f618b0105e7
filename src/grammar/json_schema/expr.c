/* SPDX-License-Identifier: Apache-2.0 */
/* expr.c - expressions over schemas, hash-consed. */
#include "grammar/json_schema/expr.h"
#include "base/keyed_hash.h"
#include "grammar/json_schema/context.h"
#include <string.h>

enum { MAX_LIST = 4096 };

struct qr_expr_table {
    struct qr_expr_node *nodes;
    uint32_t *hash_table; /* expression + 1, 0 = free; 2 * capacity entries */
    uint32_t n, capacity;
    uint64_t hash_key;
};

static uint64_t hash_node(const struct qr_expr_table *t, const struct qr_expr_node *e)
{
    uint64_t h = qr_hash_u64(t->hash_key, e->kind);
    h = qr_hash_u64(h, (uintptr_t)e->json);
    return e->n ? qr_hash_bytes(h, e->list, e->n * sizeof *e->list) : h;
}

static bool same(const struct qr_expr_node *a, const struct qr_expr_node *b)
{
    return a->kind == b->kind && a->json == b->json && a->n == b->n &&
           (!a->n || memcmp(a->list, b->list, a->n * sizeof *a->list) == 0);
}

static bool grow(struct qr_schema *s, struct qr_expr_table *t)
{
    const uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
    struct qr_expr_node *nodes = qr_schema_alloc(s, capacity, sizeof *nodes);
    uint32_t *table = qr_schema_alloc(s, 2 * (size_t)capacity, sizeof *table);
    if (!nodes || !table)
        return false;
    if (t->n)
        memcpy(nodes, t->nodes, t->n * sizeof *nodes);
    for (uint32_t i = 0; i < t->n; i++) {
        size_t at = hash_node(t, &nodes[i]) & (2 * capacity - 1);
        while (table[at])
            at = (at + 1) & (2 * capacity - 1);
        table[at] = i + 1;
    }
    t->nodes = nodes;
    t->hash_table = table;
    t->capacity = capacity;
    return true;
}

/* The expression of *e, whose list is copied if it is new. */
static qr_expr intern(struct qr_schema *s, const struct qr_expr_node *e)
{
    struct qr_expr_table *t = s->exprs;
    if (!qr_schema_ok(s))
        return QR_EXPR_NONE;
    if (t->n >= QR_SCHEMA_MAX_EXPRS) {
        qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "too many combinations of subschemas");
        return QR_EXPR_NONE;
    }
    if (t->n == t->capacity && !grow(s, t))
        return QR_EXPR_NONE;
    size_t at = hash_node(t, e) & (2 * t->capacity - 1);
    for (; t->hash_table[at]; at = (at + 1) & (2 * t->capacity - 1))
        if (same(&t->nodes[t->hash_table[at] - 1], e))
            return t->hash_table[at] - 1;
    struct qr_expr_node *node = &t->nodes[t->n];
    *node = *e;
    if (e->n) {
        qr_expr *list = qr_schema_alloc(s, e->n, sizeof *list);
        if (!list)
            return QR_EXPR_NONE;
        memcpy(list, e->list, e->n * sizeof *list);
        node->list = list;
    }
    t->hash_table[at] = ++t->n;
    return t->n - 1;
}

struct qr_expr_table *qr_exprs_new(struct qr_schema *s)
{
    struct qr_expr_table *t = s->exprs = qr_schema_alloc(s, 1, sizeof *t);
    if (!t)
        return NULL;
    t->hash_key = qr_hash_key(t);
    if (!grow(s, t))
        return NULL;
    intern(s, &(struct qr_expr_node){ .kind = QR_EXPR_KIND_NONE });
    intern(s, &(struct qr_expr_node){ .kind = QR_EXPR_KIND_ALL });
    return t;
}

struct qr_expr_node *qr_expr_get(const struct qr_schema *s, qr_expr e)
{
    return &s->exprs->nodes[e];
}

qr_expr qr_expr_schema(struct qr_schema *s, const struct qr_json *schema)
{
    if (qr_json_is_bool(schema))
        return qr_json_is_true(schema) ? QR_EXPR_ALL : QR_EXPR_NONE;
    if (qr_json_is_object(schema) && !qr_json_size(schema))
        return QR_EXPR_ALL;
    return intern(s, &(struct qr_expr_node){ .kind = QR_EXPR_KIND_SCHEMA, .json = schema });
}

qr_expr qr_expr_value(struct qr_schema *s, const struct qr_json *value)
{
    return intern(s, &(struct qr_expr_node){ .kind = QR_EXPR_KIND_VALUE, .json = value });
}

/* The union of two ascending lists; an expression of another kind is a list of one. */
static qr_expr combine(struct qr_schema *s, enum qr_expr_kind kind, qr_expr a, qr_expr b)
{
    const struct qr_expr_node *na = qr_expr_get(s, a), *nb = qr_expr_get(s, b);
    const qr_expr *la = na->kind == kind ? na->list : &a, *lb = nb->kind == kind ? nb->list : &b;
    const uint32_t size_a = na->kind == kind ? na->n : 1, size_b = nb->kind == kind ? nb->n : 1;
    if (size_a + size_b > MAX_LIST) {
        qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "too many subschemas are combined");
        return QR_EXPR_NONE;
    }
    qr_expr *list = qr_schema_alloc(s, size_a + size_b, sizeof *list);
    uint32_t n = 0;
    if (!list)
        return QR_EXPR_NONE;
    for (uint32_t i = 0, k = 0; i < size_a || k < size_b; n++) {
        const bool from_a = k == size_b || (i < size_a && la[i] <= lb[k]);
        list[n] = from_a ? la[i] : lb[k];
        k += k < size_b && lb[k] == list[n];
        i += i < size_a && la[i] == list[n];
    }
    if (n == 1)
        return list[0];
    return intern(s, &(struct qr_expr_node){ .kind = kind, .list = list, .n = n });
}

qr_expr qr_expr_and(struct qr_schema *s, qr_expr a, qr_expr b)
{
    if (a == QR_EXPR_NONE || b == QR_EXPR_NONE || !qr_schema_ok(s))
        return QR_EXPR_NONE;
    if (a == QR_EXPR_ALL || a == b)
        return b;
    return b == QR_EXPR_ALL ? a : combine(s, QR_EXPR_KIND_AND, a, b);
}

qr_expr qr_expr_or(struct qr_schema *s, qr_expr a, qr_expr b)
{
    if (!qr_schema_ok(s))
        return QR_EXPR_NONE;
    if (a == QR_EXPR_ALL || b == QR_EXPR_ALL)
        return QR_EXPR_ALL;
    if (a == QR_EXPR_NONE || a == b)
        return b;
    return b == QR_EXPR_NONE ? a : combine(s, QR_EXPR_KIND_OR, a, b);
}

qr_expr qr_expr_not(struct qr_schema *s, qr_expr a)
{
    if (a == QR_EXPR_NONE || a == QR_EXPR_ALL)
        return a == QR_EXPR_NONE ? QR_EXPR_ALL : QR_EXPR_NONE;
    if (qr_expr_get(s, a)->kind == QR_EXPR_KIND_NOT)
        return qr_expr_get(s, a)->list[0];
    return intern(s, &(struct qr_expr_node){ .kind = QR_EXPR_KIND_NOT, .list = &a, .n = 1 });
}
