/* SPDX-License-Identifier: Apache-2.0 */
/* cache_plan.c - which rows of a cache file go into which blocks of the pool. */
#include "engine/cache_plan.h"
#include "base/alloc.h"
#include "base/error.h"
#include <string.h>

/* ---- One sequence of the file */

/* A block to be planned, and the part of the file's path that covers it. */
struct cover {
    uint32_t first, n;   /* entries of `path` */
    uint32_t block;      /* index in the sequence */
    uint32_t begin, end; /* positions */
    uint32_t n_tokens;   /* of the whole path */
};

static uint32_t begin_of(const struct qr_cache_file *f, uint32_t node)
{
    return f->places[node].end - f->nodes[node].n_tokens;
}

/* Collects the path to a node, and its tokens; returns the number of tokens, at most max_tokens. */
static uint32_t collect_path(struct qr_cache_plan *p, uint32_t end_node)
{
    const struct qr_cache_file *f = p->file;
    const uint32_t max = p->engine->memory.max_tokens;
    uint32_t n = 0;
    for (uint32_t at = end_node; at != QR_CACHE_FILE_ROOT; at = f->nodes[at].parent)
        p->path[n++] = at;
    for (uint32_t i = 0; i < n / 2; i++) {
        const uint32_t other = p->path[i];
        p->path[i] = p->path[n - 1 - i];
        p->path[n - 1 - i] = other;
    }
    p->n_path = n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t node = p->path[i], begin = begin_of(f, node);
        if (begin >= max)
            break;
        const uint32_t rows = f->nodes[node].n_tokens;
        memcpy(p->tokens + begin, f->tokens + f->places[node].first_token,
               (rows < max - begin ? rows : max - begin) * sizeof *p->tokens);
    }
    return f->places[end_node].end < max ? f->places[end_node].end : max;
}

static bool is_present(const struct qr_cache_plan *p, const struct cover *c, uint32_t group)
{
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (!qr_cache_file_has(p->file, p->path[i], group))
            return false;
    return true;
}

static void release_blocks(const struct qr_cache_plan *p, const int32_t *blocks, uint32_t n_groups)
{
    for (uint32_t g = 0; g < n_groups; g++)
        if (blocks[g] >= 0)
            (void)!quire_kv_release(p->engine->kv, g, &blocks[g], 1, NULL); /* allocated before */
}

/* Whether to allocate a block of a group. In a windowed group the blocks that a query at the end of
 * the path attends to come before earlier ones, which serve shorter prefixes only. */
static bool is_wanted(const struct qr_cache_plan *p, const struct cover *c, uint32_t group)
{
    const struct qr_sequence_memory *m = &p->engine->memory;
    if (!is_present(p, c, group))
        return false;
    const uint32_t first = quire_kv_first_block(m->block_size, m->windows[group], c->n_tokens);
    const uint32_t n_blocks = (c->n_tokens - 1) / m->block_size + 1;
    return c->block >= first || quire_kv_free_block_count(m->kv, group) > n_blocks - first;
}

/* Allocates one block in every group whose rows the file has; false if the pool is full. */
static bool allocate_blocks(const struct qr_cache_plan *p, const struct cover *c, int32_t *blocks)
{
    for (uint32_t g = 0; g < p->file->n_groups; g++) {
        blocks[g] = -1;
        if (is_wanted(p, c, g) &&
            quire_kv_alloc(p->engine->kv, g, -1, 1, &blocks[g], NULL) != QUIRE_OK) {
            blocks[g] = -1;
            release_blocks(p, blocks, g);
            return false;
        }
    }
    return true;
}

/* Adds the pieces that fill a planned node. */
static quire_status add_pieces(struct qr_cache_plan *p, const struct cover *c, qr_prefix_node node,
                               struct quire_error *err)
{
    void *pieces = p->pieces;
    if (p->n_pieces + c->n >= QR_CACHE_NO_PIECE ||
        !qr_grow(p->engine->allocator, &pieces, &p->piece_capacity, p->n_pieces + c->n,
                 sizeof *p->pieces))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to plan %zu pieces", p->n_pieces);
    p->pieces = pieces;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const uint32_t from = p->path[i], b = begin_of(p->file, from),
                       e = p->file->places[from].end;
        const uint32_t lo = b > c->begin ? b : c->begin, hi = e < c->end ? e : c->end;
        p->pieces[p->n_pieces] = (struct qr_cache_piece){ .next = p->first_piece[from],
                                                          .node = node,
                                                          .first = lo - b,
                                                          .n = hi - lo,
                                                          .token = lo - c->begin };
        p->first_piece[from] = (uint32_t)p->n_pieces++;
    }
    return QUIRE_OK;
}

/* Plans a block below *node, which becomes the new node, or QR_PREFIX_NONE if there is no room. A
 * sequence planned before may have it already. */
static quire_status plan_block(struct qr_cache_plan *p, const struct cover *c, qr_prefix_node *node,
                               struct quire_error *err)
{
    const struct qr_cache_file_node *of = &p->file->nodes[p->path[0]];
    const int32_t *tokens = p->tokens + c->begin;
    const uint32_t n = c->end - c->begin;
    int32_t *blocks = p->engine->memory.block_ids;
    bool inserted;
    if (n == p->engine->memory.block_size) {
        const qr_prefix_node found =
            qr_prefix_index_find(p->planned, *node, of->salt, of->variant, tokens);
        if (found != QR_PREFIX_NONE) {
            *node = found;
            return QUIRE_OK;
        }
    }
    const qr_prefix_node parent = *node;
    *node = QR_PREFIX_NONE;
    if (!allocate_blocks(p, c, blocks))
        return QUIRE_OK;
    *node = qr_prefix_index_insert(p->planned, parent, of->salt, of->variant, tokens, n, blocks,
                                   &inserted);
    release_blocks(p, blocks, p->file->n_groups); /* the node holds them now */
    if (!inserted)
        return QUIRE_OK;
    qr_prefix_index_pin(p->planned, *node); /* later nodes must not replace it */
    p->n_tokens += n;
    for (uint32_t g = 0; g < p->file->n_groups; g++)
        p->n_blocks += qr_prefix_blocks(p->planned, *node)[g] >= 0;
    return add_pieces(p, c, *node, err);
}

/* ---- States */

/* Position of the last state on the path, at most n_tokens; 0 = there is none. */
static uint32_t last_state(const struct qr_cache_plan *p, uint32_t n_tokens)
{
    const struct qr_cache_file *f = p->file;
    for (uint32_t i = p->n_path; i-- > 0;)
        if (qr_cache_file_has(f, p->path[i], f->n_groups) && f->places[p->path[i]].end <= n_tokens)
            return f->places[p->path[i]].end;
    return 0;
}

static uint32_t end_of_planned(const struct qr_cache_plan *p, qr_prefix_node node)
{
    const struct qr_prefix_entry *e = &p->planned->entries[node];
    return e->depth * p->engine->memory.block_size + e->n_tokens;
}

/* Gives slots to the states of the path that end with a planned node, `last` or an ancestor; those
 * of longer prefixes first. */
static void plan_states(struct qr_cache_plan *p, qr_prefix_node last)
{
    const struct qr_cache_file *f = p->file;
    for (uint32_t i = p->n_path; i-- > 0 && last != QR_PREFIX_NONE;) {
        const uint32_t from = p->path[i], end = f->places[from].end;
        if (!qr_cache_file_has(f, from, f->n_groups))
            continue;
        while (last != QR_PREFIX_NONE && end_of_planned(p, last) > end)
            last = p->planned->entries[last].parent;
        if (last == QR_PREFIX_NONE || end_of_planned(p, last) != end ||
            p->slots[last] != QR_STATE_NONE)
            continue;
        p->slots[last] = qr_state_open_free(&p->engine->memory.states);
        if (p->slots[last] == QR_STATE_NONE)
            return;
        p->state_nodes[from] = last;
    }
}

/* Whether there is a slot for another state. */
static bool has_free_slot(const struct qr_cache_plan *p)
{
    struct quire_state_pool_info info = { .struct_size = sizeof info };
    return quire_state_pool_get_info(p->engine->states, &info) == QUIRE_OK && info.n_free > 0;
}

/* Plans the path to a node of the file; *full: there was no room for all of it. */
static quire_status plan_path(struct qr_cache_plan *p, uint32_t end_node, bool *full,
                              struct quire_error *err)
{
    const struct qr_cache_file_place *places = p->file->places;
    const uint32_t block_size = p->engine->memory.block_size;
    uint32_t n_tokens = collect_path(p, end_node);
    *full = p->slots && !has_free_slot(p);
    if (*full)
        return QUIRE_OK;
    if (p->slots)
        n_tokens = last_state(p, n_tokens);
    qr_prefix_node node = QR_PREFIX_NONE, last = QR_PREFIX_NONE;
    struct cover c = { .n_tokens = n_tokens };
    for (; c.begin < n_tokens; c.begin = c.end, c.block++) {
        c.end = n_tokens - c.begin < block_size ? n_tokens : c.begin + block_size;
        while (places[p->path[c.first]].end <= c.begin)
            c.first++;
        for (c.n = 1; places[p->path[c.first + c.n - 1]].end < c.end;)
            c.n++;
        QR_TRY(plan_block(p, &c, &node, err));
        *full = node == QR_PREFIX_NONE;
        if (*full)
            break;
        last = node;
    }
    if (last != QR_PREFIX_NONE)
        p->ends[p->n_ends++] = last;
    if (p->slots)
        plan_states(p, last);
    return QUIRE_OK;
}

/* ---- The plan */

static quire_status create_index(struct qr_cache_plan *p, struct quire_error *err)
{
    const struct qr_prefix_index *real = p->engine->memory.index;
    const struct qr_prefix_index_params params = {
        .kv = p->engine->kv,
        .block_size = p->engine->memory.block_size,
        .max_nodes = real->max_nodes - real->n_nodes,
        .hash_bits = real->hash_bits,
        .allocator = p->engine->allocator,
    };
    if (params.max_nodes == 0)
        return QUIRE_OK;
    QR_TRY(qr_prefix_index_create(&params, &p->planned, err));
    if (!p->file->state_bytes)
        return QUIRE_OK;
    p->slots = qr_alloc(params.allocator, params.max_nodes, sizeof *p->slots);
    p->state_nodes = qr_alloc(params.allocator, p->file->n_nodes, sizeof *p->state_nodes);
    for (uint32_t i = 0; p->slots && i < params.max_nodes; i++)
        p->slots[i] = QR_STATE_NONE;
    for (uint32_t i = 0; p->state_nodes && i < p->file->n_nodes; i++)
        p->state_nodes[i] = QR_PREFIX_NONE;
    return p->slots && p->state_nodes
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_NOMEM, "no memory to plan %u states", p->file->n_nodes);
}

static quire_status plan_all(struct qr_cache_plan *p, const uint64_t *salt, struct quire_error *err)
{
    bool full = p->planned == NULL, any = false;
    for (uint32_t i = 0; i < p->file->n_nodes; i++) {
        if (salt && p->file->nodes[i].salt != *salt)
            continue;
        any = true;
        if (!full && !p->file->places[i].has_children)
            QR_TRY(plan_path(p, i, &full, err));
    }
    if (!any)
        return qr_fail(err, QUIRE_E_RANGE, "the cache file has nothing of salt %llu",
                       (unsigned long long)(salt ? *salt : 0));
    if (p->n_ends == 0)
        return qr_fail(err, QUIRE_E_LIMIT, "the cache has no free block%s for the saved ones",
                       p->file->state_bytes ? " or state" : "");
    return QUIRE_OK;
}

quire_status qr_cache_plan_init(struct qr_cache_plan *p, struct quire_engine *e,
                                const struct qr_cache_file *f, const uint64_t *salt,
                                struct quire_error *err)
{
    *p = (struct qr_cache_plan){ .file = f, .engine = e };
    p->first_piece = qr_alloc(e->allocator, f->n_nodes, sizeof *p->first_piece);
    p->ends = qr_alloc(e->allocator, f->n_nodes, sizeof *p->ends);
    p->path = qr_alloc(e->allocator, f->n_nodes, sizeof *p->path);
    p->tokens = qr_alloc(e->allocator, e->memory.max_tokens, sizeof *p->tokens);
    if (!p->first_piece || !p->ends || !p->path || !p->tokens)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory to plan %u nodes", f->n_nodes);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        p->first_piece[i] = QR_CACHE_NO_PIECE;
    QR_TRY(create_index(p, err));
    return plan_all(p, salt, err);
}

/* ---- Publication */

/* Moves one node, whose ancestors were moved before; false if the engine's index refuses. */
static bool publish_node(struct qr_cache_plan *p, qr_prefix_node node, qr_prefix_node *real)
{
    struct qr_prefix_node_info info;
    bool inserted;
    qr_prefix_index_get(p->planned, node, &info);
    const qr_prefix_node parent =
        info.parent == QR_PREFIX_NONE ? QR_PREFIX_NONE : real[info.parent];
    real[node] = qr_prefix_index_insert(p->engine->memory.index, parent, info.salt, info.variant,
                                        info.tokens, info.n_tokens, info.blocks, &inserted);
    if (real[node] == QR_PREFIX_NONE)
        return false;
    /* now: a later node may replace a partial one. A longer partial node has another end. */
    if (p->slots && p->slots[node] != QR_STATE_NONE &&
        p->engine->memory.index->entries[real[node]].n_tokens == info.n_tokens) {
        qr_state_keep(&p->engine->memory.states, p->slots[node], real[node]);
        p->slots[node] = QR_STATE_NONE;
    }
    return true;
}

/* Publishes the path to a node, from the root on. Its depth bounds the two loops. */
static void publish_path(struct qr_cache_plan *p, qr_prefix_node end, qr_prefix_node *real,
                         qr_prefix_node *path)
{
    uint32_t n = 0;
    for (; end != QR_PREFIX_NONE && real[end] == QR_PREFIX_NONE;
         end = p->planned->entries[end].parent)
        path[n++] = end;
    while (n-- > 0)
        if (!publish_node(p, path[n], real))
            return;
}

void qr_cache_plan_publish(struct qr_cache_plan *p, qr_prefix_node *real)
{
    qr_prefix_node *path = real + p->planned->n_slots;
    for (uint32_t i = 0; i < p->planned->n_slots; i++)
        real[i] = QR_PREFIX_NONE;
    for (uint32_t i = p->n_ends; i-- > 0;)
        publish_path(p, p->ends[i], real, path);
}

void qr_cache_plan_free(struct qr_cache_plan *p)
{
    const struct quire_allocator *a = p->engine->allocator;
    const uint32_t max_nodes = p->planned ? p->planned->max_nodes : 0;
    for (uint32_t i = 0; p->slots && i < max_nodes; i++)
        qr_state_close(&p->engine->memory.states, p->slots[i]);
    qr_free(a, p->slots, max_nodes, sizeof *p->slots);
    qr_free(a, p->state_nodes, p->file->n_nodes, sizeof *p->state_nodes);
    qr_prefix_index_destroy(p->planned);
    qr_free(a, p->pieces, p->piece_capacity, sizeof *p->pieces);
    qr_free(a, p->first_piece, p->file->n_nodes, sizeof *p->first_piece);
    qr_free(a, p->ends, p->file->n_nodes, sizeof *p->ends);
    qr_free(a, p->path, p->file->n_nodes, sizeof *p->path);
    qr_free(a, p->tokens, p->engine->memory.max_tokens, sizeof *p->tokens);
}
