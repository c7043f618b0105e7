/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_model.h - naive model of the prefix index: whole sequences, linear search. */
#ifndef QUIRE_TEST_PREFIX_MODEL_H
#define QUIRE_TEST_PREFIX_MODEL_H
#include "engine/prefix_check.h"
#include "engine/prefix_index.h"
#include "test_kv.h"

enum { BS = 16, MAX_LEN = 5 * BS, MAX_NODES = 48, MAX_GROUPS = 3, MAX_POOL = 40 };
#define NONE QR_PREFIX_NONE

struct model_node {
    bool used;
    uint64_t salt;
    uint32_t variant, len;   /* len: tokens up to the end of the node */
    int32_t tokens[MAX_LEN]; /* all from the beginning of the sequence */
    int32_t blocks[MAX_GROUPS];
    uint32_t pins;
    uint64_t use;
};

struct model {
    struct quire_kv_cache *kv;
    struct qr_prefix_index *x;
    uint32_t n_groups, max_nodes, n_nodes;
    uint32_t windows[MAX_GROUPS], n_blocks[MAX_GROUPS];
    uint64_t clock;
    struct model_node nodes[MAX_NODES];    /* by node of the index */
    uint32_t others[MAX_GROUPS][MAX_POOL]; /* references of the test itself */
    bool held[MAX_NODES];                  /* set by model_count */
    uint32_t refs[MAX_GROUPS][MAX_POOL];   /* set by model_count */
};

static inline uint32_t node_start(const struct model_node *a) { return (a->len - 1) / BS * BS; }

static inline bool same_tokens(const int32_t *a, const int32_t *b, uint32_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* Whether a is b or an ancestor of b. */
static inline bool covers(const struct model_node *a, const struct model_node *b)
{
    if (a == b)
        return true;
    return a->used && b->used && a->salt == b->salt && a->variant == b->variant &&
           a->len % BS == 0 && a->len < b->len && same_tokens(a->tokens, b->tokens, a->len);
}

/* The node that holds exactly these tokens. */
static inline qr_prefix_node model_find(const struct model *m, uint64_t salt, uint32_t variant,
                                        const int32_t *tokens, uint32_t len)
{
    for (uint32_t i = 0; i < m->max_nodes && len; i++) {
        const struct model_node *a = &m->nodes[i];
        if (a->used && a->salt == salt && a->variant == variant && a->len == len &&
            same_tokens(a->tokens, tokens, len))
            return i;
    }
    return NONE;
}

static inline qr_prefix_node model_parent(const struct model *m, qr_prefix_node node)
{
    const struct model_node *a = &m->nodes[node];
    return model_find(m, a->salt, a->variant, a->tokens, node_start(a));
}

/* Computes which nodes are held, and the reference counts that the pool must have. */
static inline void model_count(struct model *m)
{
    memset(m->held, 0, sizeof m->held);
    memcpy(m->refs, m->others, sizeof m->refs);
    for (uint32_t i = 0; i < m->max_nodes; i++) {
        if (!m->nodes[i].used)
            continue;
        for (uint32_t g = 0; g < m->n_groups; g++)
            if (m->nodes[i].blocks[g] >= 0)
                m->refs[g][m->nodes[i].blocks[g]]++;
        for (uint32_t j = 0; m->nodes[i].pins && j < m->max_nodes; j++)
            m->held[j] |= covers(&m->nodes[j], &m->nodes[i]);
    }
}

static inline bool model_held(const struct model *m, qr_prefix_node node)
{
    for (uint32_t i = 0; i < m->max_nodes; i++)
        if (m->nodes[i].pins && covers(&m->nodes[node], &m->nodes[i]))
            return true;
    return false;
}

static inline uint32_t model_children(const struct model *m, qr_prefix_node node)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->max_nodes; i++)
        n += i != node && covers(&m->nodes[node], &m->nodes[i]) &&
             node_start(&m->nodes[i]) == m->nodes[node].len;
    return n;
}

/* By definition: a hit at the end of some leaf, or at a node with several children, needs the
 * block. */
static inline bool model_in_reach(const struct model *m, qr_prefix_node node, uint32_t group)
{
    const uint32_t depth = node_start(&m->nodes[node]) / BS;
    for (uint32_t i = 0; i < m->max_nodes && m->windows[group] > 1; i++)
        if (covers(&m->nodes[node], &m->nodes[i]) && model_children(m, i) != 1 &&
            quire_kv_first_block(BS, m->windows[group], m->nodes[i].len) <= depth)
            return true;
    return false;
}

static inline bool model_evictable(const struct model *m, qr_prefix_node node, uint32_t group)
{
    const struct model_node *a = &m->nodes[node];
    return a->used && a->blocks[group] >= 0 && m->refs[group][a->blocks[group]] == 1 &&
           !(m->windows[group] ? a->pins > 0 : m->held[node]);
}

static inline uint32_t model_n_evictable(const struct model *m, uint32_t group)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->max_nodes; i++)
        n += model_evictable(m, i, group);
    return n;
}

/* ---- Changes */

static inline void model_use(struct model *m, qr_prefix_node node, bool held_too)
{
    do {
        m->nodes[node].use = ++m->clock;
        node = model_parent(m, node);
    } while (node != NONE && (held_too || !model_held(m, node)));
}

static inline void model_unpin(struct model *m, qr_prefix_node node)
{
    if (--m->nodes[node].pins)
        return;
    do {
        m->nodes[node].use = ++m->clock;
        if (model_held(m, node))
            return;
        node = model_parent(m, node);
    } while (node != NONE && !model_held(m, node));
}

static inline void model_remove(struct model *m, qr_prefix_node node)
{
    assert_true(m->nodes[node].used);
    assert_int_equal(model_children(m, node), 0);
    assert_int_equal(m->nodes[node].pins, 0);
    m->nodes[node].used = false;
    m->n_nodes--;
}

static inline qr_prefix_node model_oldest(const struct model *m)
{
    qr_prefix_node oldest = NONE;
    for (uint32_t i = 0; i < m->max_nodes; i++)
        if (m->nodes[i].used && !model_held(m, i) &&
            (oldest == NONE || m->nodes[i].use < m->nodes[oldest].use))
            oldest = i;
    return oldest;
}

static inline uint32_t model_evict_full(struct model *m, uint32_t group, uint32_t n)
{
    uint32_t freed = 0;
    model_count(m);
    const uint32_t most = model_n_evictable(m, group);
    while (freed < (n < most ? n : most)) {
        const qr_prefix_node node = model_oldest(m);
        model_count(m);
        freed += model_evictable(m, node, group);
        model_remove(m, node);
    }
    return freed;
}

/* The node nearest to the root on the path without branches to this one whose block can go like
 * that of this one. */
static inline qr_prefix_node model_evict_first(const struct model *m, qr_prefix_node node,
                                               uint32_t group)
{
    const bool in = model_in_reach(m, node, group);
    qr_prefix_node first = node;
    for (qr_prefix_node p = model_parent(m, node); p != NONE && model_children(m, p) == 1;
         p = model_parent(m, p))
        if (model_evictable(m, p, group) && model_in_reach(m, p, group) == in)
            first = p;
    return first;
}

static inline uint32_t model_evict_window(struct model *m, uint32_t group, uint32_t n)
{
    uint32_t freed = 0;
    model_count(m);
    for (; freed < n; freed++) {
        qr_prefix_node best = NONE;
        bool best_in = false;
        for (uint32_t i = 0; i < m->max_nodes; i++) {
            if (!model_evictable(m, i, group))
                continue;
            const bool in = model_in_reach(m, i, group);
            if (best == NONE || (in == best_in ? m->nodes[i].use < m->nodes[best].use : best_in)) {
                best = i;
                best_in = in;
            }
        }
        if (best == NONE)
            break;
        m->nodes[model_evict_first(m, best, group)].blocks[group] = -1;
    }
    return freed;
}

/* ---- Match */

/* Whether every group has the blocks that a query after n tokens attends to, the prefix being part
 * of the path to `node`. */
static inline bool model_usable(const struct model *m, qr_prefix_node node, uint32_t n)
{
    const struct model_node *a = &m->nodes[node];
    for (uint32_t g = 0; g < m->n_groups; g++) {
        if (m->windows[g] == 1)
            continue;
        const uint32_t first = quire_kv_first_block(BS, m->windows[g], n);
        for (uint32_t i = first; i <= (n - 1) / BS; i++) {
            const uint32_t end = (i + 1) * BS < a->len ? (i + 1) * BS : a->len;
            const qr_prefix_node on_path = model_find(m, a->salt, a->variant, a->tokens, end);
            assert_int_not_equal(on_path, NONE);
            if (m->nodes[on_path].blocks[g] < 0)
                return false;
        }
    }
    return true;
}

/* Length of the longest match; *whole: some node ends exactly there. */
static inline uint32_t model_match(const struct model *m, uint64_t salt, uint32_t variant,
                                   const int32_t *tokens, uint32_t n, bool *whole)
{
    uint32_t full = 0, best = 0;
    qr_prefix_node node;
    while (n - full >= BS && (node = model_find(m, salt, variant, tokens, full + BS)) != NONE) {
        full += BS;
        if (model_usable(m, node, full))
            best = full;
    }
    *whole = true;
    for (uint32_t i = 0; i < m->max_nodes; i++) {
        const struct model_node *a = &m->nodes[i];
        if (!a->used || a->salt != salt || a->variant != variant || node_start(a) != full ||
            !same_tokens(a->tokens, tokens, full))
            continue;
        uint32_t same = full;
        while (same < n && same < a->len && tokens[same] == a->tokens[same])
            same++;
        if (same == full || same < best || !model_usable(m, i, same))
            continue;
        *whole = same == a->len || (same == best && *whole);
        best = same;
    }
    return best;
}

/* ---- Comparison with the index */

static inline void compare_node(const struct model *m, qr_prefix_node node)
{
    const struct model_node *a = &m->nodes[node];
    struct qr_prefix_node_info info;
    qr_prefix_index_get(m->x, node, &info);
    const uint32_t start = node_start(a);
    assert_true(info.salt == a->salt && info.variant == a->variant && info.depth == start / BS &&
                info.n_tokens == a->len - start && info.pins == a->pins);
    assert_true(same_tokens(info.tokens, a->tokens + start, a->len - start));
    assert_memory_equal(info.blocks, a->blocks, m->n_groups * sizeof(int32_t));
}

/* After every operation. */
static inline void compare(struct model *m)
{
    const char *wrong = qr_prefix_index_check(m->x);
    if (wrong)
        fail_msg("%s", wrong);
    assert_int_equal(qr_prefix_index_node_count(m->x), m->n_nodes);
    model_count(m);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        for (uint32_t b = 0; b < m->n_blocks[g]; b++)
            assert_int_equal(quire_kv_ref_count(m->kv, g, (int32_t)b), m->refs[g][b]);
        assert_int_equal(qr_prefix_index_evictable(m->x, g), model_n_evictable(m, g));
    }
    for (uint32_t i = 0; i < m->max_nodes; i++)
        if (m->nodes[i].used)
            compare_node(m, i);
}

/* Now and then: parents, paths, order of use, and the iteration. */
static inline void compare_all(const struct model *m)
{
    bool seen[MAX_NODES] = { false };
    uint32_t n = 0;
    for (qr_prefix_node i = qr_prefix_index_first(m->x); i != NONE;
         i = qr_prefix_index_next(m->x, i), n++) {
        struct qr_prefix_node_info info, other;
        assert_true(i < m->max_nodes && m->nodes[i].used && !seen[i]);
        seen[i] = true;
        qr_prefix_index_get(m->x, i, &info);
        assert_int_equal(info.parent, model_parent(m, i));
        assert_true(info.parent == NONE || seen[info.parent]);
        for (uint32_t j = 0; j < m->max_nodes; j++)
            if (m->nodes[j].used) {
                qr_prefix_index_get(m->x, j, &other);
                assert_int_equal(info.last_use < other.last_use, m->nodes[i].use < m->nodes[j].use);
            }
        for (uint32_t g = 0; g < m->n_groups; g++) {
            int32_t path[MAX_LEN / BS + 1];
            qr_prefix_index_path(m->x, i, g, path, MAX_LEN / BS + 1);
            assert_int_equal(path[info.depth], m->nodes[i].blocks[g]);
            for (uint32_t d = info.depth + 1; d <= MAX_LEN / BS; d++)
                assert_int_equal(path[d], -1);
            qr_prefix_node p = info.parent;
            for (uint32_t d = info.depth; d-- > 0; p = model_parent(m, p))
                assert_int_equal(path[d], m->nodes[p].blocks[g]);
        }
    }
    assert_int_equal(n, m->n_nodes);
}

#endif
