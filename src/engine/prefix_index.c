/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_index.c - the index of the prefix cache: a tree of cached KV blocks by their tokens. */
#include "engine/prefix_index.h"
#include "base/alloc.h"
#include "base/bump.h"
#include "base/error.h"
#include <string.h>

/* Lays out the index and its arrays. */
static struct qr_prefix_index *lay_out(struct qr_bump *b, uint32_t block_size, uint32_t n_groups,
                                       uint32_t max_nodes)
{
    /* cppcheck-suppress uninitvar ; its members are set below */
    struct qr_prefix_index counted, *x = qr_bump_alloc(b, 1, sizeof *x), *to = x ? x : &counted;
    size_t n_buckets = 1, n_links, n_tokens, n_blocks;
    while (n_buckets < max_nodes)
        n_buckets *= 2;
    if (!qr_mul_size(max_nodes, (size_t)n_groups + 2, &n_links) ||
        !qr_mul_size(max_nodes, block_size, &n_tokens) ||
        !qr_mul_size(max_nodes, n_groups, &n_blocks)) {
        b->overflow = true;
        return NULL;
    }
    to->in_reach = qr_bump_alloc(b, n_groups, sizeof *to->in_reach);
    to->out_of_reach = qr_bump_alloc(b, n_groups, sizeof *to->out_of_reach);
    to->windows = qr_bump_alloc(b, n_groups, sizeof *to->windows);
    to->run_start = qr_bump_alloc(b, n_groups, sizeof *to->run_start);
    to->entries = qr_bump_alloc(b, max_nodes, sizeof *to->entries);
    to->links = qr_bump_alloc(b, n_links, sizeof *to->links);
    to->state = qr_bump_alloc(b, max_nodes, sizeof *to->state);
    to->tokens = qr_bump_alloc(b, n_tokens, sizeof *to->tokens);
    to->blocks = qr_bump_alloc(b, n_blocks, sizeof *to->blocks);
    to->buckets = qr_bump_alloc(b, n_buckets, sizeof *to->buckets);
    to->root_buckets = qr_bump_alloc(b, n_buckets, sizeof *to->root_buckets);
    to->hash_input = qr_bump_alloc(b, qr_prefix_hash_input_bytes(block_size), 1);
    to->bucket_mask = (uint32_t)(n_buckets - 1);
    return x;
}

uint64_t qr_prefix_index_bytes(uint32_t block_size, uint32_t n_groups, uint32_t max_nodes)
{
    struct qr_bump b = { 0 };
    (void)lay_out(&b, block_size, n_groups, max_nodes);
    return b.overflow ? UINT64_MAX : b.used;
}

static const struct qr_prefix_list EMPTY = { QR_PREFIX_NONE, QR_PREFIX_NONE };

/* Fills in an index that is laid out. */
static quire_status init(struct qr_prefix_index *x, const struct qr_prefix_index_params *params,
                         struct quire_error *err)
{
    x->unheld = x->roots = EMPTY;
    for (uint32_t g = 0; g < x->n_groups; g++) {
        struct quire_kv_group_config config;
        QR_TRY(quire_kv_get_group(x->kv, g, &config, err));
        x->in_reach[g] = x->out_of_reach[g] = EMPTY;
        x->windows[g] = config.sliding_window;
        if (x->windows[g] && x->windows[g] - 1 > x->max_reach)
            x->max_reach = x->windows[g] - 1;
    }
    for (size_t i = 0; i <= x->bucket_mask; i++)
        x->buckets[i] = x->root_buckets[i] = QR_PREFIX_NONE;
    qr_prefix_hash_secret(params->key, x->secret);
    return QUIRE_OK;
}

static quire_status check_params(const struct qr_prefix_index_params *params,
                                 struct quire_error *err)
{
    if (params->kv && quire_kv_group_count(params->kv) == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "kv is no KV cache");
    if (!params->kv && params->block_size == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "kv is NULL, and block_size 0");
    if (params->max_nodes < 1 || params->max_nodes > INT32_MAX)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "max_nodes %u is not in 1 .. 2^31 - 1",
                       params->max_nodes);
    if (params->hash_bits < 1 || params->hash_bits > 128)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "hash_bits %u is not in 1 .. 128",
                       params->hash_bits);
    return QUIRE_OK;
}

quire_status qr_prefix_index_create(const struct qr_prefix_index_params *params,
                                    struct qr_prefix_index **out, struct quire_error *err)
{
    *out = NULL;
    QR_TRY(check_params(params, err));
    const uint32_t block_size = params->kv ? quire_kv_block_size(params->kv) : params->block_size;
    const uint32_t n_groups = quire_kv_group_count(params->kv);
    const uint64_t bytes = qr_prefix_index_bytes(block_size, n_groups, params->max_nodes);
    if (bytes > SIZE_MAX - QR_BUMP_ALIGN)
        return qr_fail(err, QUIRE_E_LIMIT, "a prefix index of %u nodes exceeds the address space",
                       params->max_nodes);
    struct qr_bump b = { .base =
                             qr_alloc_aligned(params->allocator, (size_t)bytes, QR_BUMP_ALIGN) };
    if (!b.base)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a prefix index of %llu bytes",
                       (unsigned long long)bytes);
    struct qr_prefix_index *x = (struct qr_prefix_index *)(void *)b.base;
    *x = (struct qr_prefix_index){ .allocator = params->allocator,
                                   .bytes = (size_t)bytes,
                                   .kv = params->kv,
                                   .block_size = block_size,
                                   .n_groups = n_groups,
                                   .max_nodes = params->max_nodes,
                                   .hash_bits = params->hash_bits,
                                   .embeddings = params->embeddings,
                                   .free_slot = QR_PREFIX_NONE };
    (void)lay_out(&b, block_size, n_groups, params->max_nodes);
    const quire_status status = init(x, params, err);
    if (status == QUIRE_OK)
        *out = x;
    else
        qr_free(params->allocator, x, (size_t)bytes, 1);
    return status;
}

void qr_prefix_index_destroy(struct qr_prefix_index *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; i < x->n_slots; i++)
        for (uint32_t g = 0; g < x->n_groups; g++)
            qr_prefix_release(x, i, g);
    qr_free(x->allocator, x, x->bytes, 1);
}

qr_prefix_node qr_prefix_index_find(struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                                    uint64_t variant, const int32_t *tokens)
{
    struct qr_prefix_hash hash;
    if (parent != QR_PREFIX_NONE) {
        salt = x->entries[parent].salt;
        variant = x->entries[parent].variant;
    }
    return qr_prefix_find_full(x, parent, salt, variant, tokens, &hash);
}

/* ---- Match */

/* Whether every group has the blocks that a query after n tokens attends to. The prefix ends in
 * `node`; x->run_start[g] is the first block of the run of blocks that ends at its parent. */
static bool usable(const struct qr_prefix_index *x, qr_prefix_node node, uint32_t n)
{
    for (uint32_t g = 0; g < x->n_groups; g++) {
        if (x->windows[g] == 1)
            continue; /* queries attend to themselves only */
        if (qr_prefix_blocks(x, node)[g] < 0 ||
            x->run_start[g] > quire_kv_first_block(x->block_size, x->windows[g], n))
            return false;
    }
    return true;
}

static uint32_t common_prefix(const int32_t *a, const int32_t *b, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* Extends the match by the child of `parent` that agrees longest with tokens[0 .. n). A child that
 * is used whole and could be taken goes before others of the same length. */
static void match_in_part(const struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                          uint64_t variant, const int32_t *tokens, uint32_t n,
                          struct qr_prefix_match *out)
{
    const uint32_t before =
        parent == QR_PREFIX_NONE ? 0 : (x->entries[parent].depth + 1) * x->block_size;
    uint32_t longest = 0;
    for (qr_prefix_node child = qr_prefix_first_child(x, parent, salt, variant);
         child != QR_PREFIX_NONE; child = qr_prefix_next_child(x, child)) {
        const uint32_t have = x->entries[child].n_tokens;
        const uint32_t same =
            common_prefix(tokens, qr_prefix_tokens(x, child), have < n ? have : n);
        if (same == 0 || same < longest || (same == longest && same < have) ||
            !usable(x, child, before + same))
            continue;
        longest = same;
        *out = (struct qr_prefix_match){ before + same, child, parent };
    }
}

void qr_prefix_index_match(struct qr_prefix_index *x, uint64_t salt, uint64_t variant,
                           const int32_t *tokens, uint32_t n, struct qr_prefix_match *out)
{
    *out = (struct qr_prefix_match){ 0, QR_PREFIX_NONE, QR_PREFIX_NONE };
    memset(x->run_start, 0, x->n_groups * sizeof *x->run_start);
    qr_prefix_node parent = QR_PREFIX_NONE;
    struct qr_prefix_hash hash;
    for (; n >= x->block_size; tokens += x->block_size, n -= x->block_size) {
        const qr_prefix_node node = qr_prefix_find_full(x, parent, salt, variant, tokens, &hash);
        if (node == QR_PREFIX_NONE)
            break;
        const uint32_t end = x->entries[node].depth + 1;
        if (usable(x, node, end * x->block_size))
            *out = (struct qr_prefix_match){ end * x->block_size, node, node };
        for (uint32_t g = 0; g < x->n_groups; g++)
            if (qr_prefix_blocks(x, node)[g] < 0)
                x->run_start[g] = end;
        parent = node;
    }
    match_in_part(x, parent, salt, variant, tokens, n, out);
}

void qr_prefix_index_path(const struct qr_prefix_index *x, qr_prefix_node node, uint32_t group,
                          int32_t *blocks, uint32_t n_blocks)
{
    uint32_t end = node == QR_PREFIX_NONE ? 0 : x->entries[node].depth + 1;
    for (uint32_t i = end; i < n_blocks; i++)
        blocks[i] = -1;
    for (; node != QR_PREFIX_NONE; node = x->entries[node].parent)
        if (--end < n_blocks)
            blocks[end] = qr_prefix_blocks(x, node)[group];
}

/* ---- Insertion and removal */

static void release(struct qr_prefix_index *x, const int32_t *blocks, uint32_t n_groups)
{
    for (uint32_t g = 0; g < n_groups; g++)
        if (blocks[g] != -1)
            (void)!quire_kv_release(x->kv, g, &blocks[g], 1, NULL);
}

/* Adds a reference to each block that is not -1, or to none. */
static bool retain(struct qr_prefix_index *x, const int32_t *blocks)
{
    for (uint32_t g = 0; g < x->n_groups; g++)
        if (blocks[g] != -1 && quire_kv_retain(x->kv, g, &blocks[g], 1, NULL) != QUIRE_OK) {
            release(x, blocks, g);
            return false;
        }
    return true;
}

/* Child that begins with these tokens: it makes a partial node of them superfluous. */
static qr_prefix_node find_extension(const struct qr_prefix_index *x, qr_prefix_node parent,
                                     uint64_t salt, uint64_t variant, const int32_t *tokens,
                                     uint32_t n)
{
    qr_prefix_node child = qr_prefix_first_child(x, parent, salt, variant);
    while (child != QR_PREFIX_NONE &&
           (x->entries[child].n_tokens < n ||
            memcmp(qr_prefix_tokens(x, child), tokens, n * sizeof *tokens) != 0))
        child = qr_prefix_next_child(x, child);
    return child;
}

/* Stores the blocks that the node lacks, unless it has more tokens than the n that they hold. The
 * references to all pass to this call. */
static void fill_in(struct qr_prefix_index *x, qr_prefix_node node, const int32_t *blocks,
                    uint32_t n)
{
    const bool may_fill = x->entries[node].n_tokens == n;
    for (uint32_t g = 0; g < x->n_groups; g++)
        if (blocks[g] != -1 && may_fill && qr_prefix_blocks(x, node)[g] == -1)
            qr_prefix_set_block(x, node, g, blocks[g]);
        else if (blocks[g] != -1)
            (void)!quire_kv_release(x->kv, g, &blocks[g], 1, NULL);
    qr_prefix_use(x, node);
}

/* Removes children that a new child of n tokens replaces: partial ones that it begins with. */
static void remove_prefixes(struct qr_prefix_index *x, qr_prefix_node parent, uint64_t salt,
                            uint64_t variant, const int32_t *tokens, uint32_t n)
{
    qr_prefix_node next;
    for (qr_prefix_node child = qr_prefix_first_child(x, parent, salt, variant);
         child != QR_PREFIX_NONE; child = next) {
        next = qr_prefix_next_child(x, child);
        const uint32_t have = x->entries[child].n_tokens;
        if (have < n && !(x->state[child] & QR_PREFIX_HELD) &&
            memcmp(qr_prefix_tokens(x, child), tokens, have * sizeof *tokens) == 0)
            qr_prefix_remove(x, child);
    }
}

/* Makes a slot free, at the cost of the least recently used leaf other than `parent`. */
static bool make_room(struct qr_prefix_index *x, qr_prefix_node parent)
{
    if (x->n_nodes < x->max_nodes)
        return true;
    if (parent != QR_PREFIX_NONE)
        qr_prefix_use(x, parent); /* the oldest only if all others are its ancestors */
    const qr_prefix_node leaf = x->unheld.oldest;
    if (leaf == QR_PREFIX_NONE || leaf == parent)
        return false;
    qr_prefix_remove(x, leaf);
    return true;
}

qr_prefix_node qr_prefix_index_insert(struct qr_prefix_index *x, qr_prefix_node parent,
                                      uint64_t salt, uint64_t variant, const int32_t *tokens,
                                      uint32_t n_tokens, const int32_t *blocks, bool *inserted)
{
    *inserted = false;
    x->n_insertions++;
    if (n_tokens < 1 || n_tokens > x->block_size)
        return QR_PREFIX_NONE;
    if (parent != QR_PREFIX_NONE) {
        if (x->entries[parent].n_tokens != x->block_size)
            return QR_PREFIX_NONE;
        salt = x->entries[parent].salt;
        variant = x->entries[parent].variant;
    }
    if (!retain(x,
                blocks)) /* first: a removed node may hold the last reference of the same block */
        return QR_PREFIX_NONE;
    struct qr_prefix_hash hash = { 0 };
    qr_prefix_node node = n_tokens == x->block_size
                              ? qr_prefix_find_full(x, parent, salt, variant, tokens, &hash)
                              : find_extension(x, parent, salt, variant, tokens, n_tokens);
    if (node != QR_PREFIX_NONE) {
        fill_in(x, node, blocks, n_tokens);
        return node;
    }
    remove_prefixes(x, parent, salt, variant, tokens, n_tokens);
    if (!make_room(x, parent)) {
        release(x, blocks, x->n_groups);
        return QR_PREFIX_NONE;
    }
    node = qr_prefix_add(x, parent, salt, variant, tokens, n_tokens, blocks, hash);
    if (parent != QR_PREFIX_NONE)
        qr_prefix_use(x, parent);
    *inserted = true;
    return node;
}

bool qr_prefix_index_take(struct qr_prefix_index *x, qr_prefix_node node, int32_t *blocks)
{
    if (x->entries[node].n_tokens == x->block_size || (x->state[node] & QR_PREFIX_HELD))
        return false;
    memcpy(blocks, qr_prefix_blocks(x, node), x->n_groups * sizeof *blocks);
    qr_prefix_unlink(x, node);
    return true;
}

void qr_prefix_index_clear(struct qr_prefix_index *x, const uint64_t *salt)
{
    /* Children are older than their parents, so each node is a leaf when its turn comes. */
    qr_prefix_node next;
    for (qr_prefix_node node = x->unheld.oldest; node != QR_PREFIX_NONE; node = next) {
        next = qr_prefix_link(x, qr_prefix_unheld_kind(x), node)->newer;
        if (!salt || x->entries[node].salt == *salt)
            qr_prefix_remove(x, node);
    }
}

/* ---- Iteration */

uint32_t qr_prefix_index_node_count(const struct qr_prefix_index *x) { return x->n_nodes; }

void qr_prefix_index_get(const struct qr_prefix_index *x, qr_prefix_node node,
                         struct qr_prefix_node_info *out)
{
    const struct qr_prefix_entry *e = &x->entries[node];
    *out = (struct qr_prefix_node_info){ .parent = e->parent,
                                         .salt = e->salt,
                                         .variant = e->variant,
                                         .depth = e->depth,
                                         .n_tokens = e->n_tokens,
                                         .pins = e->pins,
                                         .tokens = qr_prefix_tokens(x, node),
                                         .blocks = qr_prefix_blocks(x, node),
                                         .last_use = e->last_use };
}

qr_prefix_node qr_prefix_index_first(const struct qr_prefix_index *x) { return x->roots.oldest; }

qr_prefix_node qr_prefix_index_next(const struct qr_prefix_index *x, qr_prefix_node node)
{
    if (x->entries[node].first_child != QR_PREFIX_NONE)
        return x->entries[node].first_child;
    for (; x->entries[node].parent != QR_PREFIX_NONE; node = x->entries[node].parent)
        if (x->entries[node].next_sibling != QR_PREFIX_NONE)
            return x->entries[node].next_sibling;
    return qr_prefix_link(x, qr_prefix_roots_kind(x), node)->newer;
}
