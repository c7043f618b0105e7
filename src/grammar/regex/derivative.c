/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/derivative.h"
#include "grammar/regex/node_store.h"
#include "grammar/regex/regex_set.h"
#include <string.h>

enum { MAX_MEMO = 1 << 21 };

/* ---- Memo ---- */

static size_t memo_slot(const struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    uint64_t h = ((uint64_t)r << 8 | byte) * 0x9e3779b97f4a7c15u;
    size_t i = (h ^ h >> 32) & (set->memo_size - 1);
    while (set->memo[i].node != 0 && (set->memo[i].node != r || set->memo[i].byte != byte))
        i = (i + 1) & (set->memo_size - 1);
    return i;
}

/* Without room the derivative is computed again. */
static void remember(struct qr_regex_set *set, qr_regex r, uint8_t byte, qr_regex result)
{
    if (2 * (set->n_memo + 1) > set->memo_size) {
        const size_t old_size = set->memo_size, size = old_size ? 2 * old_size : 1024;
        struct qr_regex_memo *old = set->memo, *memo = NULL;
        if (size <= MAX_MEMO)
            memo = qr_calloc(set->a, size, sizeof *memo);
        if (memo == NULL)
            return;
        set->memo = memo;
        set->memo_size = size;
        for (size_t i = 0; i < old_size; i++)
            if (old[i].node != 0)
                memo[memo_slot(set, old[i].node, (uint8_t)old[i].byte)] = old[i];
        qr_free(set->a, old, old_size, sizeof *old);
    }
    set->memo[memo_slot(set, r, byte)] =
        (struct qr_regex_memo){ .node = r, .result = result, .byte = byte };
    set->n_memo++;
}

/* ---- Derivative ---- */

static qr_regex derive(struct qr_regex_set *set, qr_regex r, uint8_t byte);

static bool matches_byte(const struct qr_regex_set *set, qr_regex bytes, uint8_t byte)
{
    return qr_byte_set_has(&set->sets[set->nodes[bytes].a], byte);
}

/* The choice of the derivatives of a and, as long as what is before may be empty, of the rest. */
static qr_regex derive_concat(struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    qr_regex out = QR_REGEX_NONE;
    for (;;) {
        const struct qr_regex_node n = set->nodes[r];
        if (n.kind != QR_RX_CONCAT) {
            const qr_regex last[] = { out, derive(set, r, byte) };
            return out == QR_REGEX_NONE ? last[1] : qr_regex_or(set, last, 2);
        }
        const qr_regex d[] = { derive(set, n.a, byte), n.b };
        const qr_regex both[] = { out, qr_regex_concat(set, d, 2) };
        out = out == QR_REGEX_NONE ? both[1] : qr_regex_or(set, both, 2);
        if (!set->nodes[n.a].nullable)
            return out;
        r = n.b;
    }
}

/* OR and AND. */
static qr_regex derive_list(struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    enum { INLINE = 32 };
    const struct qr_regex_node n = set->nodes[r];
    qr_regex small[INLINE], *list = small;
    size_t count = 0;
    if (n.b > INLINE && (list = qr_alloc(set->a, n.b, sizeof *list)) == NULL)
        return qr_regex_set_fail(set, QUIRE_E_NOMEM);
    for (uint32_t i = 0; i < n.b; i++) {
        const qr_regex c = set->lists[n.a + i];
        const qr_regex d = derive(set, c, byte);
        if (d != QR_REGEX_NONE || n.kind == QR_RX_AND)
            list[count++] = d;
        if (d == QR_REGEX_NONE && n.kind == QR_RX_AND)
            break;
    }
    const qr_regex out =
        n.kind == QR_RX_OR ? qr_regex_or(set, list, count) : qr_regex_and(set, list, count);
    if (list != small)
        qr_free(set->a, list, n.b, sizeof *list);
    return out;
}

static qr_regex derive_repeat(struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    const struct qr_regex_node n = set->nodes[r];
    const uint32_t min = n.min > 0 ? n.min - 1 : 0,
                   max = n.max == QR_REGEX_UNBOUNDED ? n.max : n.max - 1;
    const qr_regex first = derive(set, n.a, byte);
    if (first == QR_REGEX_NONE)
        return QR_REGEX_NONE;
    const qr_regex parts[] = { first, qr_regex_repeat(set, n.a, min, max) };
    return qr_regex_concat(set, parts, 2);
}

/* Whether digits in the places that are left make a multiple: one of the 10^n->min numbers that
 * they may be is congruent to what the remainder lacks. A search would try them all. */
static bool may_be_multiple(const struct qr_regex_node *n)
{
    uint64_t count = 1, remainder = n->b;
    for (uint32_t i = 0; i < n->min; i++) {
        count *= 10;
        if (count >= n->a)
            return true;
        remainder = remainder * 10 % n->a;
    }
    return (n->a - remainder) % n->a < count;
}

static qr_regex derive_multiple(struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    struct qr_regex_node n = set->nodes[r];
    if (byte == '.' && n.max == QR_RX_INTEGER) {
        n.max = QR_RX_POINT;
        return may_be_multiple(&n) ? qr_regex_intern(set, &n) : QR_REGEX_NONE;
    }
    if (byte < '0' || byte > '9')
        return QR_REGEX_NONE;
    const bool fraction = n.max == QR_RX_POINT || n.max == QR_RX_FRACTION;
    n.max = fraction ? QR_RX_FRACTION : QR_RX_INTEGER;
    if (fraction && n.min == 0) /* beyond the digits of the divisor */
        return byte == '0' ? qr_regex_intern(set, &n) : QR_REGEX_NONE;
    n.min -= fraction;
    n.b = (uint32_t)(((uint64_t)n.b * 10 + (byte - '0')) % n.a);
    return !fraction || may_be_multiple(&n) ? qr_regex_intern(set, &n) : QR_REGEX_NONE;
}

static qr_regex compute(struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    switch ((enum qr_regex_kind)set->nodes[r].kind) {
    case QR_RX_CONCAT:
        return derive_concat(set, r, byte);
    case QR_RX_OR:
    case QR_RX_AND:
        return derive_list(set, r, byte);
    case QR_RX_NOT:
        return qr_regex_not(set, derive(set, set->nodes[r].a, byte));
    case QR_RX_REPEAT:
        return derive_repeat(set, r, byte);
    case QR_RX_MULTIPLE:
        return derive_multiple(set, r, byte);
    default:
        return QR_REGEX_NONE;
    }
}

static qr_regex derive(struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    const struct qr_regex_node *n = &set->nodes[r];
    if (r <= QR_REGEX_EMPTY)
        return QR_REGEX_NONE;
    if (r == QR_REGEX_ANY)
        return r;
    if (n->kind == QR_RX_BYTES)
        return matches_byte(set, r, byte) ? QR_REGEX_EMPTY : QR_REGEX_NONE;
    if (n->kind == QR_RX_CONCAT && set->nodes[n->a].kind == QR_RX_BYTES)
        return matches_byte(set, n->a, byte) ? n->b : (qr_regex)QR_REGEX_NONE;
    if (set->memo_size > 0) {
        const size_t slot = memo_slot(set, r, byte);
        if (set->memo[slot].node != 0)
            return set->memo[slot].result;
    }
    set->work += 1 + (n->kind == QR_RX_OR || n->kind == QR_RX_AND ? n->b : 0);
    const qr_regex out = compute(set, r, byte);
    if (set->status == QUIRE_OK)
        remember(set, r, byte, out);
    return out;
}

qr_regex qr_regex_derivative(struct qr_regex_set *set, qr_regex r, uint8_t byte)
{
    return set->status == QUIRE_OK ? derive(set, r, byte) : (qr_regex)QR_REGEX_NONE;
}

/* ---- Byte classes ---- */

/* Splits the classes by a set of bytes. */
static uint32_t refine(const struct qr_byte_set *s, uint8_t class_of[256], uint32_t n)
{
    uint16_t inside[256] = { 0 }, outside[256] = { 0 };
    uint8_t moved[256];
    for (unsigned b = 0; b < 256; b++)
        (qr_byte_set_has(s, b) ? inside : outside)[class_of[b]]++;
    const uint32_t before = n;
    for (uint32_t c = 0; c < before; c++)
        moved[c] = (uint8_t)(inside[c] > 0 && outside[c] > 0 ? n++ : c);
    for (unsigned b = 0; b < 256; b++)
        if (qr_byte_set_has(s, b))
            class_of[b] = moved[class_of[b]];
    return n;
}

/* Visits every node that is reachable from a list, once. */
struct walk {
    struct qr_regex_set *set;
    uint64_t *seen; /* bit per node */
    size_t seen_words;
    uint32_t *stack;
    size_t n, capacity;
};

static bool visit(struct walk *w, qr_regex r)
{
    if (w->seen[r / 64] >> (r % 64) & 1)
        return true;
    w->seen[r / 64] |= 1ull << (r % 64);
    if (!qr_grow(w->set->a, (void **)&w->stack, &w->capacity, w->n + 1, sizeof *w->stack))
        return false;
    w->stack[w->n++] = r;
    return true;
}

static bool visit_children(struct walk *w, const struct qr_regex_node *n)
{
    bool ok = true;
    if (n->kind == QR_RX_CONCAT)
        return visit(w, n->a) && visit(w, n->b);
    if (n->kind == QR_RX_NOT || n->kind == QR_RX_REPEAT)
        return visit(w, n->a);
    if (n->kind == QR_RX_OR || n->kind == QR_RX_AND)
        for (uint32_t i = 0; i < n->b && ok; i++)
            ok = visit(w, w->set->lists[n->a + i]);
    return ok;
}

static uint32_t refine_node(const struct qr_regex_set *set, const struct qr_regex_node *n,
                            uint8_t class_of[256], uint32_t classes)
{
    if (n->kind == QR_RX_BYTES)
        return refine(&set->sets[n->a], class_of, classes);
    if (n->kind == QR_RX_MULTIPLE)
        for (const char *c = "0123456789."; *c != '\0'; c++) {
            struct qr_byte_set one = { { 0 } };
            one.bits[*c / 64] = 1ull << (*c % 64);
            classes = refine(&one, class_of, classes);
        }
    return classes;
}

uint32_t qr_regex_byte_classes(struct qr_regex_set *set, const qr_regex *list, size_t n,
                               uint8_t class_of[256], uint8_t representative[256])
{
    struct walk w = { .set = set, .seen_words = set->n_nodes / 64 + 1 };
    uint32_t classes = 1;
    w.seen = qr_calloc(set->a, w.seen_words, sizeof *w.seen);
    bool ok = w.seen != NULL;
    memset(class_of, 0, 256);
    for (size_t i = 0; i < n && ok; i++)
        ok = visit(&w, list[i]);
    while (w.n > 0 && ok) {
        const struct qr_regex_node *node = &set->nodes[w.stack[--w.n]];
        classes = refine_node(set, node, class_of, classes);
        ok = visit_children(&w, node);
    }
    for (unsigned b = 256; b > 0; b--)
        representative[class_of[b - 1]] = (uint8_t)(b - 1);
    qr_free(set->a, w.seen, w.seen_words, sizeof *w.seen);
    qr_free(set->a, w.stack, w.capacity, sizeof *w.stack);
    if (!ok)
        qr_regex_set_fail(set, QUIRE_E_NOMEM);
    return ok ? classes : 0;
}
