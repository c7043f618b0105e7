/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_random.h - random operations on the prefix index, compared with the naive model. */
#ifndef QUIRE_TEST_PREFIX_RANDOM_H
#define QUIRE_TEST_PREFIX_RANDOM_H
#include "test_prefix_model.h"

/* Sanitizers and builds without optimization need far more time per operation. */
#if defined(SANITIZED) || !defined(__OPTIMIZE__)
#define RANDOM_OPERATIONS(n) ((n) / 20)
#else
#define RANDOM_OPERATIONS(n) (n)
#endif

/* How often interesting cases occurred: a test without them has little power. */
struct random_counts {
    uint64_t operations, hits, partial_hits, shortened, replaced, filled, equal, full, taken;
    uint64_t evicted_full, evicted_out, evicted_in, refused;
};

static inline void model_open(struct model *m)
{
    static const uint32_t windows[] = { 1, 2, 15, 16, 17, 18, 33, 40, 48, 64 };
    struct quire_kv_group_config groups[MAX_GROUPS];
    memset(m, 0, sizeof *m);
    m->n_groups = 1 + kv_below(MAX_GROUPS);
    m->max_nodes = kv_below(4) ? 8 + kv_below(MAX_NODES - 7) : 1 + kv_below(8);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        m->n_blocks[g] = 3 + kv_below(MAX_POOL - 2);
        m->windows[g] = kv_below(2) ? windows[kv_below(COUNT(windows))] : 0;
        groups[g] = (struct quire_kv_group_config){ .n_layers = 1,
                                                    .n_kv_heads = 1,
                                                    .head_size = 8,
                                                    .sliding_window = m->windows[g],
                                                    .n_blocks = m->n_blocks[g] };
    }
    m->kv = kv_make(groups, m->n_groups, BS, NULL);
    const uint64_t key[2] = { kv_random(), kv_random() };
    const struct qr_prefix_index_params params = {
        .kv = m->kv, .max_nodes = m->max_nodes, .hash_bits = kv_below(2) ? 4 : 128, .key = key
    };
    assert_status(QUIRE_OK, qr_prefix_index_create(&params, &m->x, NULL));
}

/* Drops the index, then the references of the test; every block must be free then. */
static inline void model_close(struct model *m)
{
    qr_prefix_index_destroy(m->x);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        for (int32_t b = 0; b < (int32_t)m->n_blocks[g]; b++)
            for (; m->others[g][b]; m->others[g][b]--)
                assert_status(QUIRE_OK, quire_kv_release(m->kv, g, &b, 1, NULL));
        assert_int_equal(quire_kv_free_block_count(m->kv, g), m->n_blocks[g]);
    }
    quire_kv_destroy(m->kv);
}

static inline qr_prefix_node random_node(const struct model *m)
{
    for (int i = 0; i < 8; i++) {
        const uint32_t node = kv_below(m->max_nodes);
        if (m->nodes[node].used)
            return node;
    }
    return NONE;
}

/* Few values and long runs, so that sequences share prefixes of all lengths. */
static inline void random_tokens(int32_t *tokens, uint32_t n)
{
    int32_t value = (int32_t)kv_below(2);
    for (uint32_t i = 0; i < n; i++) {
        if (kv_below(24) == 0)
            value = (int32_t)kv_below(3);
        tokens[i] = value;
    }
}

static inline void random_root(uint64_t *salt, uint32_t *variant)
{
    *salt = kv_below(4) ? 0 : UINT64_MAX;
    *variant = kv_below(5) == 0;
}

/* Tokens that often begin as those of a node; returns their number. */
static inline uint32_t random_query(const struct model *m, int32_t *tokens, uint64_t *salt,
                                    uint32_t *variant)
{
    const qr_prefix_node node = random_node(m);
    random_tokens(tokens, MAX_LEN);
    random_root(salt, variant);
    if (node != NONE && kv_below(5)) {
        memcpy(tokens, m->nodes[node].tokens, m->nodes[node].len * sizeof *tokens);
        *salt = m->nodes[node].salt;
        *variant = m->nodes[node].variant;
        if (kv_below(3) == 0)
            tokens[kv_below(m->nodes[node].len)] ^= 1;
    }
    return kv_below(MAX_LEN + 1);
}

static inline void try_match(struct model *m, struct random_counts *c)
{
    int32_t tokens[MAX_LEN];
    uint64_t salt;
    uint32_t variant;
    const uint32_t n = random_query(m, tokens, &salt, &variant);
    struct qr_prefix_match got;
    bool whole;
    qr_prefix_index_match(m->x, salt, variant, tokens, n, &got);
    assert_int_equal(got.n_tokens, model_match(m, salt, variant, tokens, n, &whole));
    if (got.n_tokens == 0) {
        assert_true(got.node == NONE && got.parent_of_partial == NONE);
        return;
    }
    const struct model_node *a = &m->nodes[got.node];
    assert_true(a->used && a->salt == salt && a->variant == variant);
    assert_true(a->len >= got.n_tokens && node_start(a) < got.n_tokens);
    assert_true(same_tokens(a->tokens, tokens, got.n_tokens));
    assert_true(!whole || a->len == got.n_tokens);
    assert_int_equal(got.parent_of_partial,
                     got.n_tokens % BS ? model_parent(m, got.node) : got.node);
    struct quire_kv_prefix_group groups[MAX_GROUPS];
    int32_t path[MAX_GROUPS][MAX_LEN / BS];
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const uint32_t n_blocks = (got.n_tokens + BS - 1) / BS;
        qr_prefix_index_path(m->x, got.node, g, path[g], n_blocks);
        groups[g] = (struct quire_kv_prefix_group){ m->windows[g], 0, n_blocks, path[g] };
    }
    const struct quire_kv_prefix_args args = { .struct_size = sizeof args,
                                               .block_size = BS,
                                               .n_tokens = got.n_tokens,
                                               .groups = groups,
                                               .n_groups = m->n_groups };
    uint32_t hit;
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&args, &hit, NULL));
    assert_int_equal(hit, got.n_tokens);
    c->hits++;
    c->partial_hits += got.n_tokens % BS != 0;
    c->shortened += got.n_tokens < n && got.n_tokens == a->len &&
                    model_find(m, salt, variant, tokens, got.n_tokens + BS) != NONE &&
                    got.n_tokens + BS <= n;
}

static inline void try_find(struct model *m)
{
    int32_t tokens[MAX_LEN];
    uint64_t salt;
    uint32_t variant;
    random_query(m, tokens, &salt, &variant);
    qr_prefix_node parent = NONE;
    for (uint32_t end = BS; end <= MAX_LEN; end += BS) {
        const qr_prefix_node want = model_find(m, salt, variant, tokens, end);
        assert_int_equal(qr_prefix_index_find(m->x, parent, salt, variant, tokens + end - BS),
                         want);
        if (want == NONE)
            return;
        parent = want;
    }
}

/* Blocks for a new node: new ones, shared ones or none. The test holds one reference to each, which
 * is counted in m->others. */
static inline void random_blocks(struct model *m, int32_t *blocks)
{
    for (uint32_t g = 0; g < m->n_groups; g++) {
        blocks[g] = -1;
        if (kv_below(m->windows[g] ? 5 : 12) == 0)
            continue;
        if (kv_below(6) == 0) {
            const int32_t b = (int32_t)kv_below(m->n_blocks[g]);
            if (quire_kv_retain(m->kv, g, &b, 1, NULL) == QUIRE_OK)
                blocks[g] = b;
        } else if (quire_kv_alloc(m->kv, g, -1, 1, &blocks[g], NULL) != QUIRE_OK) {
            blocks[g] = -1;
        }
        if (blocks[g] >= 0)
            m->others[g][blocks[g]]++;
    }
}

static inline void drop_other(struct model *m, uint32_t g, int32_t block)
{
    assert_true(m->others[g][block] > 0);
    m->others[g][block]--;
    assert_status(QUIRE_OK, quire_kv_release(m->kv, g, &block, 1, NULL));
}

/* What insert must do to the model before the new node is added. false: no room. */
static inline bool model_make_room(struct model *m, qr_prefix_node parent,
                                   const struct model_node *a, struct random_counts *c)
{
    for (uint32_t i = 0; i < m->max_nodes; i++) {
        const struct model_node *b = &m->nodes[i];
        if (b->used && b->salt == a->salt && b->variant == a->variant && b->len % BS &&
            b->len < a->len && node_start(b) == node_start(a) && !b->pins &&
            same_tokens(b->tokens, a->tokens, b->len)) {
            model_remove(m, i);
            c->replaced++;
        }
    }
    if (parent != NONE)
        model_use(m, parent, false);
    if (m->n_nodes < m->max_nodes)
        return true;
    const qr_prefix_node oldest = model_oldest(m);
    if (oldest == NONE || oldest == parent) {
        c->refused++;
        return false;
    }
    model_remove(m, oldest);
    c->full++;
    return true;
}

static inline bool extends(const struct model_node *b, const struct model_node *a)
{
    return b->used && b->salt == a->salt && b->variant == a->variant && b->len >= a->len &&
           node_start(b) == node_start(a) && same_tokens(b->tokens, a->tokens, a->len);
}

static inline void model_insert(struct model *m, qr_prefix_node parent, struct model_node *a,
                                qr_prefix_node got, bool inserted, struct random_counts *c)
{
    uint32_t n_extensions = 0; /* nodes that begin with the new one; one of them is returned */
    for (uint32_t i = 0; i < m->max_nodes; i++)
        n_extensions += extends(&m->nodes[i], a);
    if (n_extensions) {
        const qr_prefix_node equal = got;
        assert_true(got < m->max_nodes && extends(&m->nodes[got], a));
        assert_false(inserted);
        c->equal++;
        for (uint32_t g = 0; g < m->n_groups && m->nodes[equal].len == a->len; g++)
            if (m->nodes[equal].blocks[g] < 0 && a->blocks[g] >= 0) {
                m->nodes[equal].blocks[g] = a->blocks[g];
                c->filled++;
            }
        model_use(m, equal, false);
        return;
    }
    if (!model_make_room(m, parent, a, c)) {
        assert_int_equal(got, NONE);
        assert_false(inserted);
        return;
    }
    assert_true(inserted && got < m->max_nodes && !m->nodes[got].used);
    a->used = true;
    a->use = ++m->clock;
    m->nodes[got] = *a;
    m->n_nodes++;
    if (parent != NONE)
        model_use(m, parent, false);
}

static inline void try_insert(struct model *m, struct random_counts *c)
{
    struct model_node a = { 0 };
    qr_prefix_node parent = kv_below(4) ? random_node(m) : NONE;
    random_root(&a.salt, &a.variant);
    uint32_t start = 0, n = kv_below(2) ? BS : 1 + kv_below(BS);
    if (parent != NONE) {
        const struct model_node *p = &m->nodes[parent];
        start = p->len % BS || p->len == MAX_LEN ? node_start(p) : p->len;
        if (start != p->len) { /* a sibling that agrees for a while */
            parent = model_parent(m, parent);
            memcpy(a.tokens, p->tokens, p->len * sizeof *a.tokens);
        }
        a = (struct model_node){ .salt = p->salt, .variant = p->variant };
        memcpy(a.tokens, p->tokens, p->len * sizeof *a.tokens);
        if (start == p->len || kv_below(2))
            random_tokens(a.tokens + start, BS);
    } else {
        random_tokens(a.tokens, BS);
    }
    a.len = start + n;
    random_blocks(m, a.blocks);
    bool inserted = true;
    const qr_prefix_node got = qr_prefix_index_insert(m->x, parent, a.salt, a.variant,
                                                      a.tokens + start, n, a.blocks, &inserted);
    model_insert(m, parent, &a, got, inserted, c);
    for (uint32_t g = 0; g < m->n_groups; g++)
        if (a.blocks[g] >= 0 && kv_below(4))
            drop_other(m, g, a.blocks[g]);
}

/* Calls that must change nothing. */
static inline void try_bad_insert(struct model *m)
{
    const qr_prefix_node parent = random_node(m);
    int32_t tokens[BS], blocks[MAX_GROUPS] = { -1, -1, -1 };
    bool inserted = true;
    random_tokens(tokens, BS);
    assert_int_equal(qr_prefix_index_insert(m->x, NONE, 0, 0, tokens, 0, blocks, &inserted), NONE);
    assert_int_equal(qr_prefix_index_insert(m->x, NONE, 0, 0, tokens, BS + 1, blocks, &inserted),
                     NONE);
    if (parent != NONE && m->nodes[parent].len % BS)
        assert_int_equal(qr_prefix_index_insert(m->x, parent, 0, 0, tokens, BS, blocks, &inserted),
                         NONE);
    tokens[0] = 99; /* equal to no node */
    const uint32_t last = m->n_groups - 1;
    for (int32_t b = -3; b <= (int32_t)m->n_blocks[last]; b++) {
        const bool bad = b < -1 || b == (int32_t)m->n_blocks[last] || (b >= 0 && !m->refs[last][b]);
        if (!bad)
            continue;
        for (uint32_t g = 0; g < last; g++) /* good ones, which must get no reference */
            for (int32_t i = 0; i < (int32_t)m->n_blocks[g]; i++)
                if (m->refs[g][i])
                    blocks[g] = i;
        blocks[last] = b;
        assert_int_equal(qr_prefix_index_insert(m->x, NONE, 0, 0, tokens, 1, blocks, &inserted),
                         NONE);
    }
    assert_false(inserted);
}

static inline void try_take(struct model *m, struct random_counts *c)
{
    const qr_prefix_node node = random_node(m);
    if (node == NONE)
        return;
    struct model_node *a = &m->nodes[node];
    int32_t blocks[MAX_GROUPS] = { -7, -7, -7 };
    const bool can = a->len % BS && a->pins == 0;
    assert_int_equal(qr_prefix_index_take(m->x, node, blocks), can);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        assert_int_equal(blocks[g], can ? a->blocks[g] : -7);
        if (blocks[g] >= 0)
            m->others[g][blocks[g]]++;
    }
    if (can) {
        model_remove(m, node);
        c->taken++;
    }
}

static inline void try_evict(struct model *m, struct random_counts *c)
{
    const uint32_t g = kv_below(m->n_groups), n = kv_below(3) ? kv_below(3) : kv_below(MAX_POOL);
    const uint32_t got = qr_prefix_index_evict(m->x, g, n);
    if (m->windows[g] == 0) {
        assert_int_equal(got, model_evict_full(m, g, n));
        c->evicted_full += got;
        return;
    }
    for (uint32_t i = 0; i < m->max_nodes; i++)
        if (m->nodes[i].used && m->nodes[i].blocks[g] >= 0 && qr_prefix_blocks(m->x, i)[g] < 0)
            ++*(model_in_reach(m, i, g) ? &c->evicted_in : &c->evicted_out);
    assert_int_equal(got, model_evict_window(m, g, n));
}

static inline void drop_random_other(struct model *m)
{
    const uint32_t g = kv_below(m->n_groups);
    const uint32_t from = kv_below(m->n_blocks[g]);
    for (uint32_t i = 0; i < m->n_blocks[g]; i++) {
        const uint32_t b = (from + i) % m->n_blocks[g];
        if (m->others[g][b]) {
            drop_other(m, g, (int32_t)b);
            return;
        }
    }
}

static inline void clear_random(struct model *m)
{
    uint64_t salt;
    uint32_t variant;
    random_root(&salt, &variant);
    const bool all = kv_below(2);
    qr_prefix_index_clear(m->x, all ? NULL : &salt);
    model_count(m);
    for (uint32_t i = 0; i < m->max_nodes; i++)
        if (m->nodes[i].used && !m->held[i] && (all || m->nodes[i].salt == salt)) {
            m->nodes[i].used = false;
            m->n_nodes--;
        }
}

static inline void random_pin(struct model *m)
{
    const qr_prefix_node node = random_node(m);
    if (node == NONE)
        return;
    if (m->nodes[node].pins && kv_below(4)) {
        qr_prefix_index_unpin(m->x, node);
        model_unpin(m, node);
    } else if (kv_below(3) == 0) {
        qr_prefix_index_pin(m->x, node);
        m->nodes[node].pins++;
    }
}

static inline void random_operation(struct model *m, struct random_counts *c)
{
    const uint32_t what = kv_below(100);
    if (what < 34)
        try_insert(m, c);
    else if (what < 54)
        try_match(m, c);
    else if (what < 60)
        try_find(m);
    else if (what < 74)
        random_pin(m);
    else if (what < 82)
        try_evict(m, c);
    else if (what < 90)
        drop_random_other(m);
    else if (what < 93)
        try_take(m, c);
    else if (what < 94)
        try_bad_insert(m);
    else if (what < 99) {
        const qr_prefix_node node = random_node(m);
        qr_prefix_index_touch(m->x, node);
        if (node != NONE)
            model_use(m, node, true);
    } else if (kv_below(8) == 0) {
        clear_random(m);
    }
    c->operations++;
}

/* Runs n operations on small random indexes and compares with the model after each. */
static inline void run_random(uint64_t seed, uint64_t n, struct random_counts *c)
{
    static struct model m;
    kv_rng = seed;
    *c = (struct random_counts){ 0 };
    while (c->operations < n) {
        model_open(&m);
        for (int i = 0; i < 2000; i++) {
            random_operation(&m, c);
            compare(&m);
            if (i % 64 == 0)
                compare_all(&m);
        }
        model_close(&m);
    }
}

#endif
