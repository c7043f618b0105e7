/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c - one sequence in the KV cache: growth, prefix reuse and sliding windows. */
#include "engine/sequence.h"
#include "base/alloc.h"
#include "base/error.h"
#include <string.h>

static uint32_t blocks_for(uint32_t tokens, uint32_t block_size)
{
    return tokens / block_size + (tokens % block_size != 0);
}

quire_status qr_sequence_init(struct qr_sequence *s, struct quire_kv_cache *kv, uint32_t max_tokens,
                              const struct quire_allocator *allocator, struct quire_error *err)
{
    *s = (struct qr_sequence){ .allocator = allocator, .kv = kv, .max_tokens = max_tokens };
    s->block_size = quire_kv_block_size(kv);
    s->max_blocks = blocks_for(max_tokens, s->block_size);
    s->n_groups = quire_kv_group_count(kv);
    s->tokens = qr_alloc(allocator, max_tokens, sizeof *s->tokens);
    s->rope_variants = qr_alloc(allocator, max_tokens, sizeof *s->rope_variants);
    s->groups = qr_calloc(allocator, s->n_groups, sizeof *s->groups);
    s->prefix_groups = qr_calloc(allocator, s->n_groups, sizeof *s->prefix_groups);
    quire_status status =
        s->tokens && s->rope_variants && s->groups && s->prefix_groups ? QUIRE_OK : QUIRE_E_NOMEM;
    for (uint32_t g = 0; g < s->n_groups && status == QUIRE_OK; g++) {
        struct quire_kv_group_config config;
        status = quire_kv_get_group(kv, g, &config, err);
        s->groups[g].window = config.sliding_window;
        s->groups[g].block_table = qr_alloc(allocator, s->max_blocks, sizeof(int32_t));
        if (!s->groups[g].block_table)
            status = QUIRE_E_NOMEM;
    }
    if (status == QUIRE_E_NOMEM)
        (void)qr_fail(err, status, "no memory for the block tables of %u tokens", max_tokens);
    if (status != QUIRE_OK)
        qr_sequence_free(s);
    return status;
}

/* Frees blocks [begin, end) of a group. Cannot fail: the sequence holds a reference to each. */
static void free_blocks(struct qr_sequence *s, uint32_t group, uint32_t begin, uint32_t end)
{
    if (begin < end)
        (void)!quire_kv_release(s->kv, group, s->groups[group].block_table + begin, end - begin,
                                NULL);
}

void qr_sequence_clear(struct qr_sequence *s)
{
    for (uint32_t g = 0; g < s->n_groups; g++) {
        free_blocks(s, g, s->groups[g].first_block, s->groups[g].end_block);
        s->groups[g].first_block = s->groups[g].end_block = 0;
    }
    s->n_tokens = 0;
}

void qr_sequence_free(struct qr_sequence *s)
{
    if (s->groups) {
        qr_sequence_clear(s);
        for (uint32_t g = 0; g < s->n_groups; g++)
            qr_free(s->allocator, s->groups[g].block_table, s->max_blocks, sizeof(int32_t));
    }
    qr_free(s->allocator, s->groups, s->n_groups, sizeof *s->groups);
    qr_free(s->allocator, s->prefix_groups, s->n_groups, sizeof *s->prefix_groups);
    qr_free(s->allocator, s->tokens, s->max_tokens, sizeof *s->tokens);
    qr_free(s->allocator, s->rope_variants, s->max_tokens, sizeof *s->rope_variants);
    *s = (struct qr_sequence){ 0 };
}

uint32_t qr_sequence_reuse_prefix(struct qr_sequence *s, const int32_t *tokens, uint32_t n,
                                  uint32_t rope_variant)
{
    uint32_t common = 0;
    while (common < n && common < s->n_tokens && tokens[common] == s->tokens[common] &&
           s->rope_variants[common] == rope_variant)
        common++;
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const struct qr_sequence_group *g = &s->groups[i];
        s->prefix_groups[i] = (struct quire_kv_prefix_group){ g->window, g->first_block,
                                                              g->end_block - g->first_block, NULL };
    }
    const struct quire_kv_prefix_args prefix = { .struct_size = sizeof prefix,
                                                 .block_size = s->block_size,
                                                 .n_tokens = common,
                                                 .groups = s->prefix_groups,
                                                 .n_groups = s->n_groups };
    if (quire_kv_prefix_hit(&prefix, &common, NULL) != QUIRE_OK || common == 0) {
        qr_sequence_clear(s);
        return 0;
    }
    const uint32_t end = blocks_for(common, s->block_size);
    for (uint32_t g = 0; g < s->n_groups; g++) {
        free_blocks(s, g, end, s->groups[g].end_block);
        s->groups[g].end_block = end;
    }
    s->n_tokens = common;
    return common;
}

quire_status qr_sequence_reserve(struct qr_sequence *s, uint32_t n, struct quire_error *err)
{
    if (n > s->max_tokens - s->n_tokens)
        return qr_fail(err, QUIRE_E_LIMIT, "%u tokens after %u exceed the %u reserved", n,
                       s->n_tokens, s->max_tokens);
    const uint32_t end = blocks_for(s->n_tokens + n, s->block_size);
    for (uint32_t i = 0; i < s->n_groups; i++) {
        struct qr_sequence_group *g = &s->groups[i];
        if (g->end_block >= end)
            continue;
        const uint32_t want = end - g->end_block;
        const uint32_t first_in_window =
            quire_kv_first_block(s->block_size, g->window, s->n_tokens);
        while (quire_kv_free_block_count(s->kv, i) < want && g->first_block < first_in_window &&
               g->first_block < g->end_block) {
            free_blocks(s, i, g->first_block, g->first_block + 1);
            g->first_block++;
        }
        const int32_t after = g->end_block > g->first_block ? g->block_table[g->end_block - 1] : -1;
        QR_TRY(quire_kv_alloc(s->kv, i, after, want, g->block_table + g->end_block, err));
        g->end_block = end;
    }
    return QUIRE_OK;
}

void qr_sequence_append(struct qr_sequence *s, const int32_t *tokens, uint32_t n,
                        uint32_t rope_variant)
{
    memcpy(s->tokens + s->n_tokens, tokens, n * sizeof *tokens);
    for (uint32_t i = 0; i < n; i++)
        s->rope_variants[s->n_tokens + i] = rope_variant;
    s->n_tokens += n;
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
