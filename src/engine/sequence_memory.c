/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_memory.c - blocks of running sequences: growth, sharing, sliding windows, eviction. */
#include "engine/sequence_memory.h"
#include "base/error.h"
#include <string.h>

static uint32_t blocks_for(uint32_t tokens, uint32_t block_size)
{
    return tokens / block_size + (tokens % block_size != 0);
}

/* ---- References. These calls cannot fail: the sequence or the index holds the blocks. */

static void retain(struct qr_sequence_memory *m, uint32_t group, const int32_t *blocks, uint32_t n)
{
    (void)!quire_kv_retain(m->kv, group, blocks, n, NULL);
}

static void release(struct qr_sequence_memory *m, uint32_t group, const int32_t *blocks, uint32_t n)
{
    m->n_releases++;
    (void)!quire_kv_release(m->kv, group, blocks, n, NULL);
}

static void release_range(struct qr_sequence_memory *m, struct qr_sequence *s, uint32_t group,
                          uint32_t begin, uint32_t end)
{
    if (begin < end)
        release(m, group, s->groups[group].block_table + begin, end - begin);
}

/* Moves the pin of a sequence to another node. */
static void set_node(struct qr_sequence_memory *m, struct qr_sequence *s, qr_prefix_node node)
{
    if (node != QR_PREFIX_NONE)
        qr_prefix_index_pin(m->index, node);
    if (s->node != QR_PREFIX_NONE)
        qr_prefix_index_unpin(m->index, s->node);
    s->node = node;
}

/* ---- Beginning, from the prefix cache or another sequence */

static struct qr_sequence *open_sequence(struct qr_sequence_memory *m)
{
    for (uint32_t i = 0; i < m->n_sequences; i++) {
        struct qr_sequence *s = &m->sequences[i];
        if (s->open)
            continue;
        const int32_t slot = qr_state_open(&m->states);
        if (m->states.pool && slot == QR_STATE_NONE)
            return NULL;
        *s = (struct qr_sequence){ .open = true,
                                   .indexable = m->index != NULL,
                                   .node = QR_PREFIX_NONE,
                                   .state_slot = slot,
                                   .snapshot_slot = QR_STATE_NONE,
                                   .groups = s->groups };
        for (uint32_t g = 0; g < m->n_groups; g++)
            s->groups[g].first_block = s->groups[g].end_block = 0;
        return s;
    }
    return NULL;
}

/* Takes over the blocks of a partial node whose tokens are all reused: the sequence goes on writing
 * into them instead of into a copy. */
static bool take_partial(struct qr_sequence_memory *m, const struct qr_prefix_match *match)
{
    struct qr_prefix_node_info info;
    qr_prefix_index_get(m->index, match->node, &info);
    if (info.n_tokens != match->n_tokens % m->block_size ||
        !qr_prefix_index_take(m->index, match->node, m->block_ids))
        return false;
    return true;
}

/* Puts the blocks of a match into the block tables and adds references to them. */
static void share_match(struct qr_sequence_memory *m, struct qr_sequence *s,
                        const struct qr_prefix_match *match)
{
    const uint32_t n = match->n_tokens, n_blocks = blocks_for(n, m->block_size);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        struct qr_sequence_group *group = &s->groups[g];
        qr_prefix_index_path(m->index, match->node, g, group->block_table, n_blocks);
        group->first_block = quire_kv_first_block(m->block_size, m->windows[g], n);
        group->end_block = n_blocks;
        /* with a window of one token nothing reads the last block, and the index may lack it */
        if (n_blocks && group->block_table[n_blocks - 1] < 0)
            group->first_block = group->end_block = n_blocks - 1;
    }
    set_node(m, s, match->parent_of_partial);
    qr_state_take(&m->states, s->state_slot, match->node);
    const bool taken = match->node != match->parent_of_partial && take_partial(m, match);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const struct qr_sequence_group *group = &s->groups[g];
        const uint32_t end =
            taken && group->end_block == n_blocks ? n_blocks - 1 : group->end_block;
        if (group->first_block < end)
            retain(m, g, group->block_table + group->first_block, end - group->first_block);
    }
    s->n_tokens = n;
    s->n_indexed = n - n % m->block_size;
}

/* Whether a sequence can continue after a match: it ends with its last node, which has a state. */
static bool ends_at_state(const struct qr_sequence_memory *m, const struct qr_prefix_match *match)
{
    struct qr_prefix_node_info info;
    if (!m->states.pool)
        return true;
    qr_prefix_index_get(m->index, match->node, &info);
    return info.depth * m->block_size + info.n_tokens == match->n_tokens &&
           qr_state_has(&m->states, match->node);
}

/* Computes the longest prefix of a match that ends with a full node that has a state. */
static uint32_t prefix_with_state(const struct qr_sequence_memory *m,
                                  const struct qr_prefix_match *match)
{
    struct qr_prefix_node_info info;
    for (qr_prefix_node node = match->parent_of_partial; node != QR_PREFIX_NONE;
         node = info.parent) {
        qr_prefix_index_get(m->index, node, &info);
        const uint32_t end = (info.depth + 1) * m->block_size;
        if (end < match->n_tokens && qr_state_has(&m->states, node))
            return end;
    }
    return 0;
}

void qr_sequence_find_prefix(const struct qr_sequence_memory *m,
                             const struct qr_sequence_prefix *prefix, struct qr_prefix_match *match)
{
    uint32_t n = prefix->n_reusable;
    do {
        qr_prefix_index_match(m->index, prefix->salt, prefix->variant, prefix->tokens, n, match);
        n = match->n_tokens;
        if (n && !ends_at_state(m, match))
            n = prefix_with_state(m, match); /* may lack blocks of a window there */
    } while (n != match->n_tokens);
}

uint32_t qr_sequence_cached(const struct qr_sequence_memory *m,
                            const struct qr_sequence_prefix *prefix)
{
    struct qr_prefix_match match;
    if (!m->index)
        return 0;
    qr_sequence_find_prefix(m, prefix, &match);
    return match.n_tokens;
}

struct qr_sequence *qr_sequence_begin(struct qr_sequence_memory *m,
                                      const struct qr_sequence_prefix *prefix)
{
    struct qr_sequence *s = open_sequence(m);
    if (!s)
        return NULL;
    s->salt = prefix->salt;
    s->variant = prefix->variant;
    s->n_source = prefix->n_source;
    if (!m->index)
        return s;
    struct qr_prefix_match match;
    qr_sequence_find_prefix(m, prefix, &match);
    if (match.n_tokens) {
        qr_prefix_index_touch(m->index, match.node);
        share_match(m, s, &match);
    }
    return s;
}

struct qr_sequence *qr_sequence_fork(struct qr_sequence_memory *m, const struct qr_sequence *parent)
{
    struct qr_sequence *s = open_sequence(m);
    if (!s)
        return NULL;
    struct qr_sequence_group *groups = s->groups;
    const int32_t slot = s->state_slot;
    *s = *parent;
    s->groups = groups;
    s->state_slot = slot;
    s->snapshot_slot = QR_STATE_NONE;
    s->node = QR_PREFIX_NONE;
    qr_state_fork(&m->states, slot, parent->state_slot);
    set_node(m, s, parent->node);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const uint32_t n_blocks =
            blocks_for(qr_sequence_rows(m, parent, g, parent->n_tokens), m->block_size);
        const struct qr_sequence_group *from = &parent->groups[g];
        struct qr_sequence_group *to = &groups[g];
        to->first_block = from->first_block;
        to->end_block = n_blocks; /* not the blocks that the parent reserved beyond its tokens */
        if (to->first_block < n_blocks) {
            const uint32_t n = n_blocks - to->first_block;
            memcpy(to->block_table + to->first_block, from->block_table + to->first_block,
                   n * sizeof(int32_t));
            retain(m, g, to->block_table + to->first_block, n);
        }
    }
    return s;
}

/* ---- Growth */

static bool has_all_blocks(const struct qr_sequence_memory *m, const int32_t *blocks)
{
    for (uint32_t g = 0; g < m->n_groups; g++)
        if (blocks[g] < 0)
            return false;
    return true;
}

void qr_sequence_extend_from_cache(struct qr_sequence_memory *m, struct qr_sequence *s,
                                   const int32_t *tokens, uint32_t end)
{
    /* with recurrent layers the other sequence's state after these tokens is gone */
    if (!s->indexable || s->n_indexed != s->n_tokens || m->states.pool)
        return;
    while (s->n_tokens + m->block_size <= end) {
        const qr_prefix_node node =
            qr_prefix_index_find(m->index, s->node, s->salt, s->variant, tokens + s->n_tokens);
        if (node == QR_PREFIX_NONE)
            break;
        const uint32_t block = s->n_tokens / m->block_size;
        struct qr_prefix_node_info info;
        qr_prefix_index_get(m->index, node, &info);
        if (!has_all_blocks(m, info.blocks))
            break;
        for (uint32_t g = 0; g < m->n_groups; g++) {
            struct qr_sequence_group *group = &s->groups[g];
            release_range(m, s, g, block, group->end_block); /* reserved by a step that failed */
            group->block_table[block] = info.blocks[g];
            group->end_block = block + 1;
            retain(m, g, &info.blocks[g], 1);
        }
        set_node(m, s, node);
        s->n_tokens += m->block_size;
        s->n_indexed = s->n_tokens;
    }
}

/* Whether the next token is written into a block that others use too. */
static bool must_copy(const struct qr_sequence_memory *m, const struct qr_sequence *s,
                      uint32_t group)
{
    if (s->n_tokens % m->block_size == 0 || (m->has_cross_group && group == m->cross_group))
        return false; /* a source is only read */
    const int32_t block = s->groups[group].block_table[s->n_tokens / m->block_size];
    return quire_kv_ref_count(m->kv, group, block) > 1;
}

bool qr_sequence_must_copy(const struct qr_sequence_memory *m, const struct qr_sequence *s)
{
    for (uint32_t g = 0; g < m->n_groups; g++)
        if (must_copy(m, s, g))
            return true;
    return false;
}

uint32_t qr_sequence_blocks_missing(const struct qr_sequence_memory *m, const struct qr_sequence *s,
                                    uint32_t group, uint32_t n)
{
    const struct qr_sequence_group *g = &s->groups[group];
    const uint32_t end = blocks_for(qr_sequence_rows(m, s, group, s->n_tokens + n), m->block_size);
    return (end > g->end_block ? end - g->end_block : 0) + must_copy(m, s, group);
}

uint64_t qr_sequence_memory_epoch(const struct qr_sequence_memory *m)
{
    return m->n_releases + (m->index ? m->index->n_insertions : 0);
}

static uint32_t evictable(const struct qr_sequence_memory *m, uint32_t group)
{
    return m->index ? qr_prefix_index_evictable(m->index, group) : 0;
}

uint32_t qr_sequence_blocks_available(const struct qr_sequence_memory *m, uint32_t group)
{
    return (uint32_t)quire_kv_free_block_count(m->kv, group) + evictable(m, group);
}

/* Drops the blocks that no later token attends to. The prefix index may keep them. */
static void leave_window(struct qr_sequence_memory *m, struct qr_sequence *s, uint32_t group)
{
    struct qr_sequence_group *g = &s->groups[group];
    uint32_t first = quire_kv_first_block(m->block_size, m->windows[group], s->n_tokens);
    if (first > g->end_block)
        first = g->end_block;
    if (first > g->first_block) {
        release_range(m, s, group, g->first_block, first);
        g->first_block = first;
    }
}

/* Makes `missing` blocks of the group free; false if the prefix cache has too few to evict. */
static bool make_room(struct qr_sequence_memory *m, uint32_t group, uint32_t missing)
{
    const uint32_t n_free = (uint32_t)quire_kv_free_block_count(m->kv, group);
    if (n_free >= missing)
        return true;
    if (n_free + evictable(m, group) < missing)
        return false;
    (void)qr_prefix_index_evict(m->index, group, missing - n_free);
    return quire_kv_free_block_count(m->kv, group) >= missing;
}

/* The last block in the table, which new ids should follow, or -1. */
static int32_t last_block(const struct qr_sequence_group *g)
{
    return g->end_block > g->first_block ? g->block_table[g->end_block - 1] : -1;
}

quire_status qr_sequence_reserve(struct qr_sequence_memory *m, struct qr_sequence *s, uint32_t n,
                                 struct quire_error *err)
{
    if (n > m->max_tokens - s->n_tokens)
        return qr_fail(err, QUIRE_E_LIMIT, "%u tokens after %u exceed the %u reserved", n,
                       s->n_tokens, m->max_tokens);
    for (uint32_t i = 0; i < m->n_groups; i++) {
        leave_window(m, s, i);
        if (!make_room(m, i, qr_sequence_blocks_missing(m, s, i, n)))
            return qr_fail(err, QUIRE_E_AGAIN, "the KV cache has no free blocks");
    }
    for (uint32_t i = 0; i < m->n_groups; i++) {
        const uint32_t end = blocks_for(qr_sequence_rows(m, s, i, s->n_tokens + n), m->block_size);
        struct qr_sequence_group *g = &s->groups[i];
        if (must_copy(m, s, i))
            QR_TRY(quire_kv_make_writable(m->kv, i, -1,
                                          &g->block_table[s->n_tokens / m->block_size], err));
        if (end > g->end_block) {
            QR_TRY(quire_kv_alloc(m->kv, i, last_block(g), end - g->end_block,
                                  g->block_table + g->end_block, err));
            g->end_block = end;
        }
    }
    return QUIRE_OK;
}

/* ---- The prefix index */

/* Collects the sequence's ids of one block; -1 where a window has left it. */
static void collect_blocks(struct qr_sequence_memory *m, const struct qr_sequence *s,
                           uint32_t block)
{
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const struct qr_sequence_group *group = &s->groups[g];
        const bool held = block >= group->first_block && block < group->end_block;
        m->block_ids[g] = held ? group->block_table[block] : -1;
    }
}

/* Replaces a block by the equal one of the index and frees its own copy: both hold the same bits,
 * because keys and values do not depend on the batch that computed them. */
static void use_indexed_block(struct qr_sequence_memory *m, struct qr_sequence *s,
                              qr_prefix_node node, uint32_t block)
{
    struct qr_prefix_node_info info;
    qr_prefix_index_get(m->index, node, &info);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        struct qr_sequence_group *group = &s->groups[g];
        int32_t *id = &group->block_table[block];
        if (block < group->first_block || info.blocks[g] < 0 || info.blocks[g] == *id)
            continue;
        retain(m, g, &info.blocks[g], 1);
        release(m, g, id, 1);
        *id = info.blocks[g];
    }
}

static void index_full_blocks(struct qr_sequence_memory *m, struct qr_sequence *s,
                              const int32_t *tokens)
{
    while (s->indexable && s->n_tokens - s->n_indexed >= m->block_size) {
        const uint32_t block = s->n_indexed / m->block_size;
        bool inserted;
        collect_blocks(m, s, block);
        const qr_prefix_node node =
            qr_prefix_index_insert(m->index, s->node, s->salt, s->variant, tokens + s->n_indexed,
                                   m->block_size, m->block_ids, &inserted);
        if (node == QR_PREFIX_NONE) {
            s->indexable = false;
            break;
        }
        if (!inserted)
            use_indexed_block(m, s, node, block);
        set_node(m, s, node);
        s->n_indexed += m->block_size;
    }
}

void qr_sequence_append(struct qr_sequence_memory *m, struct qr_sequence *s, const int32_t *tokens,
                        uint32_t n)
{
    s->n_tokens += n;
    if (s->snapshot_slot == QR_STATE_NONE)
        index_full_blocks(m, s, tokens);
}

bool qr_sequence_begin_draft(struct qr_sequence_memory *m, struct qr_sequence *s, uint32_t n)
{
    if (!m->states.pool)
        return true;
    s->snapshot_slot = qr_state_open(&m->states);
    if (s->snapshot_slot == QR_STATE_NONE)
        return false;
    qr_state_fork(&m->states, s->snapshot_slot, s->state_slot);
    s->n_snapshot_tokens = s->n_tokens;
    s->n_draft_end = s->n_tokens + n;
    return true;
}

void qr_sequence_end_draft(struct qr_sequence_memory *m, struct qr_sequence *s,
                           const int32_t *tokens)
{
    int32_t unused = s->snapshot_slot;
    if (unused == QR_STATE_NONE)
        return;
    s->snapshot_slot = QR_STATE_NONE;
    if (s->n_tokens == s->n_draft_end) {
        index_full_blocks(m, s, tokens);
    } else {
        const int32_t snapshot = unused;
        unused = s->state_slot;
        s->state_slot = snapshot;
        s->n_tokens = s->n_snapshot_tokens;
    }
    qr_state_close(&m->states, unused);
}

void qr_sequence_checkpoint(struct qr_sequence_memory *m, const struct qr_sequence *s)
{
    if (s->node != QR_PREFIX_NONE && s->n_indexed == s->n_tokens)
        qr_state_checkpoint(&m->states, s->state_slot, s->node);
}

void qr_sequence_stop_indexing(struct qr_sequence *s) { s->indexable = false; }

/* Adds the tokens behind the last full block to the index. Returns the node with which the sequence
 * ends, or QR_PREFIX_NONE. */
static qr_prefix_node index_tail(struct qr_sequence_memory *m, struct qr_sequence *s,
                                 const int32_t *tokens)
{
    const uint32_t tail = s->n_tokens - s->n_indexed;
    struct qr_prefix_node_info info;
    bool inserted;
    if (!s->indexable || !tail)
        return s->indexable ? s->node : QR_PREFIX_NONE;
    collect_blocks(m, s, s->n_indexed / m->block_size);
    const qr_prefix_node node =
        qr_prefix_index_insert(m->index, s->node, s->salt, s->variant, tokens + s->n_indexed, tail,
                               m->block_ids, &inserted);
    if (node == QR_PREFIX_NONE)
        return node;
    qr_prefix_index_get(m->index, node, &info);
    return info.n_tokens == tail ? node : QR_PREFIX_NONE; /* a longer node begins with them */
}

void qr_sequence_end(struct qr_sequence_memory *m, struct qr_sequence *s, const int32_t *tokens,
                     bool keep)
{
    if (keep)
        qr_sequence_end_draft(m, s, tokens);
    qr_state_close(&m->states, s->snapshot_slot);
    s->snapshot_slot = QR_STATE_NONE;
    const qr_prefix_node end = keep ? index_tail(m, s, tokens) : QR_PREFIX_NONE;
    if (end != QR_PREFIX_NONE)
        qr_state_keep(&m->states, s->state_slot, end);
    else
        qr_state_close(&m->states, s->state_slot);
    for (uint32_t g = 0; g < m->n_groups; g++)
        release_range(m, s, g, s->groups[g].first_block, s->groups[g].end_block);
    if (s->node != QR_PREFIX_NONE)
        qr_prefix_index_touch(m->index, s->node);
    set_node(m, s, QR_PREFIX_NONE);
    s->open = false;
}

uint32_t qr_sequence_blocks_needed(uint32_t block_size, uint32_t window, uint32_t max_tokens,
                                   uint32_t step_tokens, uint32_t rollback_tokens)
{
    const uint32_t all = blocks_for(max_tokens, block_size);
    /* a step attends to window - 1 cached tokens and its own; both ends may lie inside a block */
    const uint64_t tokens = (uint64_t)window - 1 + step_tokens + rollback_tokens;
    const uint64_t windowed = tokens / block_size + 2;
    return window == 0 || windowed > all ? all : (uint32_t)windowed;
}
