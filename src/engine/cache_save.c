/* SPDX-License-Identifier: Apache-2.0 */
/* cache_save.c - writes the prefix cache to a file. */
#include "engine/cache_save.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/checksum.h"
#include "base/error.h"
#include "engine/cache_file.h"
#include "engine/cache_identity.h"
#include "engine/drive.h"
#include "format/replace_file.h"
#include "kv/section.h"
#include <string.h>

enum { FILE_MODE = 0600 }; /* prompts can be read from the tokens */

/* A node that is saved. */
struct saved_node {
    uint64_t
        recency; /* last use of the node or of a descendant that is saved; 0: it is of no use */
    qr_prefix_node node;
    uint32_t depth, n_tokens;
};

struct save {
    struct quire_engine *engine;
    const struct qr_prefix_index *index;
    size_t n_slots;
    uint32_t *n_rows;         /* [n_slots] leading tokens of the node that are saved; 0 = none */
    uint32_t *numbers;        /* [n_slots] index of the node in the file */
    struct saved_node *nodes; /* [n_slots] in the order of the file */
    uint32_t n_nodes;
    char *identity;
    struct qr_cache_file_header header;
    uint8_t *table;
    uint8_t *section;
    size_t section_bytes;
};

/* ---- Selection */

/* Tokens before the first embedding, whose id has no meaning outside the engine. */
static uint32_t leading_tokens(const int32_t *tokens, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && tokens[i] >= 0)
        i++;
    return i;
}

/* Whether a selected sibling begins with the first n tokens of the node. */
static bool has_twin(const struct save *s, qr_prefix_node node,
                     const struct qr_prefix_node_info *info, uint32_t n)
{
    qr_prefix_node at = qr_prefix_first_child(s->index, info->parent, info->salt, info->variant);
    for (; at != QR_PREFIX_NONE; at = qr_prefix_next_child(s->index, at))
        if (at != node && s->n_rows[at] >= n &&
            memcmp(qr_prefix_tokens(s->index, at), info->tokens, n * sizeof *info->tokens) == 0)
            return true;
    return false;
}

static void select_salt(struct save *s, const uint64_t *salt)
{
    struct qr_prefix_node_info info;
    for (qr_prefix_node n = qr_prefix_index_first(s->index); n != QR_PREFIX_NONE;
         n = qr_prefix_index_next(s->index, n)) {
        qr_prefix_index_get(s->index, n, &info);
        if ((salt && info.salt != *salt) ||
            (info.parent != QR_PREFIX_NONE && s->n_rows[info.parent] < s->index->block_size))
            continue;
        const uint32_t rows = leading_tokens(info.tokens, info.n_tokens);
        if (rows == info.n_tokens || !has_twin(s, n, &info, rows))
            s->n_rows[n] = rows;
    }
}

/* Selects the path of the longest prefix of the tokens that a request could reuse. */
static void select_prefix(struct save *s, uint64_t salt, uint64_t variant, const int32_t *tokens,
                          uint32_t n)
{
    struct qr_prefix_match match;
    struct qr_prefix_node_info info;
    const struct qr_sequence_prefix prefix = {
        .tokens = tokens, .n_reusable = n, .salt = salt, .variant = variant
    };
    qr_sequence_find_prefix(&s->engine->memory, &prefix, &match);
    if (match.n_tokens == 0)
        return;
    qr_prefix_index_get(s->index, match.node, &info);
    s->n_rows[match.node] = match.n_tokens - info.depth * s->index->block_size;
    for (qr_prefix_node at = info.parent; at != QR_PREFIX_NONE; at = info.parent) {
        qr_prefix_index_get(s->index, at, &info);
        s->n_rows[at] = info.n_tokens;
    }
}

/* The same for every RoPE variant that has nodes. */
static void select_tokens(struct save *s, uint64_t salt, const int32_t *tokens, size_t n)
{
    struct qr_prefix_node_info info;
    const uint32_t n_tokens = leading_tokens(tokens, n < INT32_MAX ? (uint32_t)n : INT32_MAX);
    for (qr_prefix_node root = s->index->roots.oldest; root != QR_PREFIX_NONE;
         root = qr_prefix_link(s->index, qr_prefix_roots_kind(s->index), root)->newer) {
        qr_prefix_index_get(s->index, root, &info);
        if (info.salt == salt && info.tokens[0] == tokens[0])
            select_prefix(s, salt, info.variant, tokens, n_tokens);
    }
}

/* Whether the state after the tokens of a node is saved. */
static bool has_state(const struct save *s, qr_prefix_node node)
{
    const struct qr_state_memory *m = &s->engine->memory.states;
    return m->pool && qr_state_has(m, node) && s->n_rows[node] == s->index->entries[node].n_tokens;
}

static bool precedes(const struct saved_node *a, const struct saved_node *b)
{
    return a->recency != b->recency ? a->recency > b->recency : a->depth < b->depth;
}

/* Moves nodes[at] down in a heap whose root is the node that comes last. */
static void sift_down(struct saved_node *nodes, uint32_t n, uint32_t at)
{
    const struct saved_node moved = nodes[at];
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && precedes(&nodes[child], &nodes[child + 1]))
            child++;
        if (!precedes(&moved, &nodes[child]))
            break;
        nodes[at] = nodes[child];
    }
    nodes[at] = moved;
}

/* Heap sort: qsort() allocates outside the host's hooks. */
static void sort_nodes(struct saved_node *nodes, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(nodes, n, i);
    for (uint32_t end = n; end-- > 1;) {
        const struct saved_node last = nodes[0];
        nodes[0] = nodes[end];
        nodes[end] = last;
        sift_down(nodes, end, 0);
    }
}

/* Removes nodes of recency 0 from the list. */
static void drop_useless(struct save *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].recency)
            s->nodes[n++] = s->nodes[i];
    s->n_nodes = n;
}

/* Lists the selected nodes, those used recently first. A parent is as recent as its most recent
 * descendant, so it precedes all of them. With recurrent layers, nodes behind the last checkpoint
 * are left out: no sequence can continue there. */
static void list_nodes(struct save *s)
{
    const bool recurrent = s->engine->memory.states.pool != NULL;
    struct qr_prefix_node_info info;
    for (qr_prefix_node n = qr_prefix_index_first(s->index); n != QR_PREFIX_NONE;
         n = qr_prefix_index_next(s->index, n))
        if (s->n_rows[n]) {
            qr_prefix_index_get(s->index, n, &info);
            s->numbers[n] = s->n_nodes;
            s->nodes[s->n_nodes++] =
                (struct saved_node){ !recurrent || has_state(s, n) ? info.last_use : 0, n,
                                     info.depth, s->n_rows[n] };
        }
    for (uint32_t i = s->n_nodes; i-- > 0;) { /* children before their parents */
        qr_prefix_index_get(s->index, s->nodes[i].node, &info);
        if (info.parent == QR_PREFIX_NONE)
            continue;
        struct saved_node *parent = &s->nodes[s->numbers[info.parent]];
        if (parent->recency < s->nodes[i].recency)
            parent->recency = s->nodes[i].recency;
    }
    drop_useless(s);
    sort_nodes(s->nodes, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        s->numbers[s->nodes[i].node] = i;
}

/* ---- Sizes */

static bool has_group(const struct save *s, qr_prefix_node node, uint32_t group)
{
    return qr_prefix_blocks(s->index, node)[group] >= 0;
}

/* Adds the sections of a node; false on overflow. */
static bool count_sections(struct save *s, const struct saved_node *n, uint64_t *n_sections,
                           uint64_t *bytes)
{
    const struct quire_kv_cache *kv = s->engine->kv;
    for (uint32_t g = 0; g < s->index->n_groups; g++) {
        size_t one, all;
        if (!has_group(s, n->node, g))
            continue;
        if (!qr_kv_section_bytes(kv, g, n->n_tokens, &one) ||
            !qr_mul_size(one, kv->groups[g].n_layers, &all) || !qr_add_u64(*bytes, all, bytes))
            return false;
        if (one > s->section_bytes)
            s->section_bytes = one;
        *n_sections += kv->groups[g].n_layers;
    }
    if (!has_state(s, n->node))
        return true;
    ++*n_sections;
    return qr_add_u64(*bytes, s->engine->memory.states.state_bytes, bytes);
}

static uint32_t n_columns(const struct save *s)
{
    return s->index->n_groups + (s->engine->memory.states.pool != NULL);
}

/* Computes the sizes of the file with the first nodes that fit into max_bytes; 0 = all. With
 * recurrent layers the last one has a state: those behind it would be of no use. */
static quire_status measure(struct save *s, uint64_t max_bytes, struct quire_error *err)
{
    struct qr_cache_file_header *h = &s->header;
    const bool recurrent = s->engine->memory.states.pool != NULL;
    uint64_t n_sections = 0, n_tokens = 0, sections = 0;
    h->identity_bytes = (uint32_t)strlen(s->identity);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct qr_cache_file_table t;
        uint64_t bytes = sizeof *h + h->identity_bytes;
        n_tokens += s->nodes[i].n_tokens;
        if (!count_sections(s, &s->nodes[i], &n_sections, &sections) ||
            !qr_cache_file_lay_out(i + 1u, n_columns(s), n_tokens, n_sections, &t) ||
            !qr_add_u64(bytes, t.end, &bytes) || !qr_add_u64(bytes, sections, &bytes) ||
            bytes > INT64_MAX)
            return qr_fail(err, QUIRE_E_LIMIT, "the cache is too large for one file");
        if (max_bytes && bytes > max_bytes)
            break;
        if (recurrent && !has_state(s, s->nodes[i].node))
            continue;
        h->n_nodes = i + 1u;
        h->n_tokens = n_tokens;
        h->table_bytes = t.end;
        h->file_bytes = bytes;
    }
    s->n_nodes = (uint32_t)h->n_nodes;
    if (h->n_nodes)
        return QUIRE_OK;
    return max_bytes && n_tokens
               ? qr_fail(err, QUIRE_E_LIMIT, "params.max_bytes %llu is too small for one block",
                         (unsigned long long)max_bytes)
               : qr_fail(err, QUIRE_E_RANGE, "the cache has nothing to save");
}

/* ---- Writing */

/* Fills in all but the checksums; returns the number of blocks that are saved. */
static uint64_t fill_table(const struct save *s, const struct qr_cache_file_table *t)
{
    uint64_t n_blocks = 0;
    struct qr_cache_file_node *nodes = (struct qr_cache_file_node *)(void *)s->table;
    uint8_t *tokens = s->table + t->tokens;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct saved_node *n = &s->nodes[i];
        struct qr_prefix_node_info info;
        qr_prefix_index_get(s->index, n->node, &info);
        nodes[i] = (struct qr_cache_file_node){
            .parent = info.parent == QR_PREFIX_NONE ? QR_CACHE_FILE_ROOT : s->numbers[info.parent],
            .n_tokens = n->n_tokens,
            .salt = info.salt,
            .variant = info.variant,
        };
        for (uint32_t g = 0; g < s->index->n_groups; g++) {
            s->table[t->present + (size_t)i * n_columns(s) + g] = has_group(s, n->node, g);
            n_blocks += has_group(s, n->node, g);
        }
        if (has_state(s, n->node))
            s->table[t->present + (size_t)i * n_columns(s) + s->index->n_groups] = 1;
        memcpy(tokens, info.tokens, n->n_tokens * sizeof *info.tokens);
        tokens += n->n_tokens * sizeof *info.tokens;
    }
    return n_blocks;
}

/* Writes the layers of one group of a node, and their checksums; returns the end of these. */
static uint64_t *put_group(struct save *s, const struct saved_node *n, uint32_t group,
                           struct qr_replacement *r, uint64_t *sums)
{
    const struct quire_kv_cache *kv = s->engine->kv;
    size_t bytes = 0;
    if (!has_group(s, n->node, group) || !qr_kv_section_bytes(kv, group, n->n_tokens, &bytes))
        return sums;
    for (uint32_t layer = 0; layer < kv->groups[group].n_layers; layer++) {
        const struct qr_kv_section_rows rows = {
            .group = group,
            .layer = layer,
            .n_rows = n->n_tokens,
            .n = n->n_tokens,
            .block = qr_prefix_blocks(s->index, n->node)[group],
        };
        qr_kv_get_section(kv, &rows, s->section);
        *sums++ = qr_checksum(s->section, bytes);
        qr_replace_put(r, s->section, bytes);
    }
    return sums;
}

/* Writes the sections in order, and their checksums to sums[]. */
static void put_sections(struct save *s, struct qr_replacement *r, uint64_t *sums)
{
    const struct qr_state_memory *states = &s->engine->memory.states;
    for (uint32_t i = 0; i < s->n_nodes && !r->error; i++) {
        const struct saved_node *n = &s->nodes[i];
        for (uint32_t g = 0; g < s->index->n_groups; g++)
            sums = put_group(s, n, g, r, sums);
        if (!has_state(s, n->node))
            continue;
        const void *state = qr_state_data(states, states->checkpoint[n->node]);
        *sums++ = qr_checksum(state, (size_t)states->state_bytes);
        qr_replace_put(r, state, (size_t)states->state_bytes);
    }
}

/* Writes everything; the header and the table, which has the checksums, last. */
static void put_file(struct save *s, const struct qr_cache_file_table *t, struct qr_replacement *r)
{
    struct qr_cache_file_header *h = &s->header;
    qr_replace_seek(r, sizeof *h + h->identity_bytes + h->table_bytes);
    put_sections(s, r, (uint64_t *)(void *)(s->table + t->checksums));
    h->identity_checksum = qr_checksum(s->identity, h->identity_bytes);
    h->table_checksum = qr_checksum(s->table, (size_t)h->table_bytes);
    qr_cache_file_seal(h);
    qr_replace_seek(r, 0);
    qr_replace_put(r, h, sizeof *h);
    qr_replace_put(r, s->identity, h->identity_bytes);
    qr_replace_put(r, s->table, h->table_bytes);
    qr_replace_seek(r, h->file_bytes); /* passes the bytes to the system */
}

/* The sections of the selected nodes, counted again now that their number is final. */
static quire_status lay_out(struct save *s, struct qr_cache_file_table *t, struct quire_error *err)
{
    uint64_t n_sections = 0, bytes = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        (void)count_sections(s, &s->nodes[i], &n_sections,
                             &bytes); /* measure() found no overflow */
    (void)qr_cache_file_lay_out(s->n_nodes, n_columns(s), s->header.n_tokens, n_sections, t);
    s->table = qr_calloc(s->engine->allocator, (size_t)s->header.table_bytes, 1);
    s->section = qr_alloc(s->engine->allocator, s->section_bytes, 1);
    return s->table && s->section
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_NOMEM, "no memory to save %u nodes", s->n_nodes);
}

/* Selects and writes to the temporary file; steps are excluded. */
static quire_status copy_cache(struct save *s, const struct quire_cache_file_params *p,
                               struct qr_replacement *r, struct quire_cache_file_result *result,
                               struct quire_error *err)
{
    struct qr_cache_file_table t;
    const struct quire_allocator *a = s->engine->allocator;
    s->index = s->engine->memory.index;
    s->n_slots = s->index->n_slots;
    s->n_rows = qr_calloc(a, s->n_slots, sizeof *s->n_rows);
    s->numbers = qr_alloc(a, s->n_slots, sizeof *s->numbers);
    s->nodes = qr_alloc(a, s->n_slots, sizeof *s->nodes);
    if (!s->n_rows || !s->numbers || !s->nodes)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a list of %zu nodes", s->n_slots);
    if (p->tokens)
        select_tokens(s, p->cache_salt ? *p->cache_salt : 0, p->tokens, p->n_tokens);
    else
        select_salt(s, p->cache_salt);
    list_nodes(s);
    QR_TRY(measure(s, p->max_bytes, err));
    QR_TRY(lay_out(s, &t, err));
    result->n_tokens = s->header.n_tokens;
    result->bytes = s->header.file_bytes;
    result->n_blocks = fill_table(s, &t);
    qr_replace_begin(r, p->path, FILE_MODE, s->header.file_bytes, a);
    if (!r->error)
        put_file(s, &t, r);
    return QUIRE_OK; /* failures of the file are reported by qr_replace_end */
}

static void free_save(struct save *s)
{
    const struct quire_allocator *a = s->engine->allocator;
    qr_free(a, s->n_rows, s->n_slots, sizeof *s->n_rows);
    qr_free(a, s->numbers, s->n_slots, sizeof *s->numbers);
    qr_free(a, s->nodes, s->n_slots, sizeof *s->nodes);
    qr_free(a, s->table, (size_t)s->header.table_bytes, 1);
    qr_free(a, s->section, s->section_bytes, 1);
    qr_strfree(a, s->identity);
}

quire_status qr_cache_save(struct quire_engine *e, const struct quire_cache_file_params *params,
                           struct quire_cache_file_result *result, struct quire_error *err)
{
    struct save s = { .engine = e };
    struct qr_replacement r = { .fd = -1 };
    qr_replace_remove_leftovers(params->path, e->allocator);
    QR_TRY(qr_cache_file_check_replaceable(params->path, err));
    quire_status status = qr_cache_identity(e, &s.identity, err);
    if (status == QUIRE_OK) {
        qr_engine_exclude_steps(e);
        status = copy_cache(&s, params, &r, result, err);
        qr_engine_resume_steps(e);
    }
    if (status == QUIRE_OK) {
        qr_replace_commit(&r); /* while steps run again */
        status = qr_replace_end(&r, err);
    }
    free_save(&s);
    return status;
}
