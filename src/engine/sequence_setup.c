/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_setup.c - block tables, prefix index and states of an engine. */
#include "engine/sequence_setup.h"
#include "base/alloc.h"
#include "base/error.h"

static uint32_t blocks_for(uint32_t tokens, uint32_t block_size)
{
    return tokens / block_size + (tokens % block_size != 0);
}

static bool has_index(const struct qr_sequence_memory_params *p)
{
    return (p->kv || p->states) && !p->has_cross_group;
}

static uint32_t block_size_of(const struct qr_sequence_memory_params *p)
{
    return p->kv ? quire_kv_block_size(p->kv) : p->states ? p->block_size : 1;
}

/* One node per block of the largest group, and one for a partial block of each sequence. If all
 * groups are windowed, a path has more nodes than blocks: then as many as the sequences have.
 * Without groups, one per block_size tokens of the cache's capacity. */
static uint32_t node_count(const struct qr_sequence_memory_params *p)
{
    const struct quire_kv_cache *kv = p->kv;
    uint32_t most = 0, n_full = 0;
    if (!kv) {
        const uint64_t n = p->cache_tokens / p->block_size + 1 + p->n_sequences;
        return n < INT32_MAX ? (uint32_t)n : INT32_MAX;
    }
    for (uint32_t g = 0; g < quire_kv_group_count(kv); g++) {
        struct quire_kv_group_config config;
        if (quire_kv_get_group(kv, g, &config, NULL) != QUIRE_OK)
            continue;
        most = config.n_blocks > most ? config.n_blocks : most;
        n_full += config.sliding_window == 0;
    }
    const uint32_t path = n_full ? 0 : blocks_for(p->max_tokens, quire_kv_block_size(kv));
    return most + p->n_sequences * (path + 1);
}

static quire_status init_groups(struct qr_sequence_memory *m, struct quire_error *err)
{
    for (uint32_t g = 0; g < m->n_groups; g++) {
        struct quire_kv_group_config config;
        QR_TRY(quire_kv_get_group(m->kv, g, &config, err));
        m->windows[g] = config.sliding_window;
    }
    for (uint32_t i = 0; i < m->n_sequences; i++) {
        struct qr_sequence *s = &m->sequences[i];
        s->groups = qr_calloc(m->allocator, m->n_groups, sizeof *s->groups);
        if (!s->groups)
            return QUIRE_E_NOMEM;
        for (uint32_t g = 0; g < m->n_groups; g++) {
            s->groups[g].block_table = qr_alloc(m->allocator, m->max_blocks, sizeof(int32_t));
            if (!s->groups[g].block_table)
                return QUIRE_E_NOMEM;
        }
    }
    return QUIRE_OK;
}

quire_status qr_sequence_memory_init(struct qr_sequence_memory *m,
                                     const struct qr_sequence_memory_params *p,
                                     struct quire_error *err)
{
    *m = (struct qr_sequence_memory){
        .allocator = p->allocator,
        .kv = p->kv,
        .block_size = block_size_of(p),
        .n_groups = quire_kv_group_count(p->kv),
        .has_cross_group = p->has_cross_group,
        .cross_group = p->cross_group,
        .max_tokens = p->max_tokens,
        .n_sequences = p->n_sequences,
    };
    m->max_blocks = blocks_for(m->max_tokens, m->block_size);
    m->windows = qr_alloc(m->allocator, m->n_groups, sizeof *m->windows);
    m->block_ids = qr_alloc(m->allocator, m->n_groups, sizeof *m->block_ids);
    m->sequences = qr_calloc(m->allocator, m->n_sequences, sizeof *m->sequences);
    quire_status status = m->windows && m->block_ids && m->sequences ? QUIRE_OK : QUIRE_E_NOMEM;
    if (status == QUIRE_OK)
        status = init_groups(m, err);
    if (status == QUIRE_E_NOMEM)
        (void)qr_fail(err, status, "no memory for the block tables of %u sequences of %u tokens",
                      m->n_sequences, m->max_tokens);
    if (status == QUIRE_OK && has_index(p)) {
        const struct qr_prefix_index_params index = {
            .kv = p->kv,
            .block_size = p->block_size,
            .max_nodes = node_count(p),
            .hash_bits = p->hash_bits,
            .allocator = p->allocator,
            .embeddings = p->embeddings,
        };
        status = qr_prefix_index_create(&index, &m->index, err);
    }
    if (status == QUIRE_OK)
        status = qr_state_memory_init(&m->states, p->states, m->index, m->allocator, err);
    if (status != QUIRE_OK)
        qr_sequence_memory_free(m);
    return status;
}

uint64_t qr_sequence_memory_bytes(const struct qr_sequence_memory_params *p)
{
    const uint32_t block_size = block_size_of(p), n_groups = quire_kv_group_count(p->kv);
    const uint64_t table = (uint64_t)blocks_for(p->max_tokens, block_size) * sizeof(int32_t);
    const uint64_t sequence =
        sizeof(struct qr_sequence) + n_groups * (sizeof(struct qr_sequence_group) + table);
    uint64_t bytes = p->n_sequences * sequence + n_groups * (sizeof(uint32_t) + sizeof(int32_t));
    if (!has_index(p))
        return bytes;
    struct quire_state_pool_info pool = { .struct_size = sizeof pool };
    const uint32_t n_nodes = node_count(p);
    bytes += qr_prefix_index_bytes(block_size, n_groups, n_nodes);
    if (p->states && quire_state_pool_get_info(p->states, &pool) == QUIRE_OK)
        bytes += qr_state_memory_bytes(pool.n_slots, n_nodes);
    return bytes;
}

void qr_sequence_memory_free(struct qr_sequence_memory *m)
{
    for (uint32_t i = 0; m->sequences && i < m->n_sequences; i++) {
        struct qr_sequence *s = &m->sequences[i];
        if (s->open)
            qr_sequence_end(m, s, NULL, false);
        for (uint32_t g = 0; s->groups && g < m->n_groups; g++)
            qr_free(m->allocator, s->groups[g].block_table, m->max_blocks, sizeof(int32_t));
        qr_free(m->allocator, s->groups, m->n_groups, sizeof *s->groups);
    }
    qr_prefix_index_destroy(m->index);
    qr_state_memory_free(&m->states);
    qr_free(m->allocator, m->sequences, m->n_sequences, sizeof *m->sequences);
    qr_free(m->allocator, m->windows, m->n_groups, sizeof *m->windows);
    qr_free(m->allocator, m->block_ids, m->n_groups, sizeof *m->block_ids);
    *m = (struct qr_sequence_memory){ 0 };
}
