/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c - one sequence in the KV cache: growing, stepping back, giving up what no window
 * shows any more. */
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
    s->rope_keys = qr_alloc(allocator, max_tokens, sizeof *s->rope_keys);
    s->groups = qr_calloc(allocator, s->n_groups, sizeof *s->groups);
    s->held = qr_calloc(allocator, s->n_groups, sizeof *s->held);
    quire_status status =
        s->tokens && s->rope_keys && s->groups && s->held ? QUIRE_OK : QUIRE_E_NOMEM;
    for (uint32_t g = 0; g < s->n_groups && status == QUIRE_OK; g++) {
        struct quire_kv_group_config config;
        status = quire_kv_group_get(kv, g, &config, err);
        s->groups[g].window = config.sliding_window;
        s->groups[g].table = qr_alloc(allocator, s->max_blocks, sizeof(int32_t));
        if (!s->groups[g].table)
            status = QUIRE_E_NOMEM;
    }
    if (status == QUIRE_E_NOMEM)
        (void)qr_fail(err, status, "no memory for the tables of %u tokens", max_tokens);
    if (status != QUIRE_OK)
        qr_sequence_free(s);
    return status;
}

/* Gives back blocks [begin, end) of a group. They are ours, so this cannot fail. */
static void give_back(struct qr_sequence *s, uint32_t group, uint32_t begin, uint32_t end)
{
    if (begin < end)
        (void)!quire_kv_release(s->kv, group, s->groups[group].table + begin, end - begin, NULL);
}

void qr_sequence_clear(struct qr_sequence *s)
{
    for (uint32_t g = 0; g < s->n_groups; g++) {
        give_back(s, g, s->groups[g].first, s->groups[g].end);
        s->groups[g].first = s->groups[g].end = 0;
    }
    s->n_tokens = 0;
}

void qr_sequence_free(struct qr_sequence *s)
{
    if (s->groups) {
        qr_sequence_clear(s);
        for (uint32_t g = 0; g < s->n_groups; g++)
            qr_free(s->allocator, s->groups[g].table, s->max_blocks, sizeof(int32_t));
    }
    qr_free(s->allocator, s->groups, s->n_groups, sizeof *s->groups);
    qr_free(s->allocator, s->held, s->n_groups, sizeof *s->held);
    qr_free(s->allocator, s->tokens, s->max_tokens, sizeof *s->tokens);
    qr_free(s->allocator, s->rope_keys, s->max_tokens, sizeof *s->rope_keys);
    *s = (struct qr_sequence){ 0 };
}

uint32_t qr_sequence_keep_prefix(struct qr_sequence *s, const int32_t *tokens, uint32_t n,
                                 uint32_t rope_key)
{
    uint32_t same = 0;
    while (same < n && same < s->n_tokens && tokens[same] == s->tokens[same] &&
           s->rope_keys[same] == rope_key)
        same++;
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const struct qr_seq_group *g = &s->groups[i];
        s->held[i] = (struct quire_kv_prefix_group){ g->window, g->first, g->end - g->first, NULL };
    }
    const struct quire_kv_prefix_args prefix = { .struct_size = sizeof prefix,
                                                 .block_size = s->block_size,
                                                 .n_tokens = same,
                                                 .groups = s->held,
                                                 .n_groups = s->n_groups };
    if (quire_kv_prefix_hit(&prefix, &same, NULL) != QUIRE_OK || same == 0) {
        qr_sequence_clear(s);
        return 0;
    }
    const uint32_t end = blocks_for(same, s->block_size);
    for (uint32_t g = 0; g < s->n_groups; g++) {
        give_back(s, g, end, s->groups[g].end);
        s->groups[g].end = end;
    }
    s->n_tokens = same;
    return same;
}

quire_status qr_sequence_reserve(struct qr_sequence *s, uint32_t n, struct quire_error *err)
{
    if (n > s->max_tokens - s->n_tokens)
        return qr_fail(err, QUIRE_E_LIMIT, "%u more tokens after %u are beyond the %u reserved", n,
                       s->n_tokens, s->max_tokens);
    const uint32_t end = blocks_for(s->n_tokens + n, s->block_size);
    for (uint32_t i = 0; i < s->n_groups; i++) {
        struct qr_seq_group *g = &s->groups[i];
        if (g->end >= end)
            continue;
        const uint32_t want = end - g->end;
        const uint32_t visible = quire_kv_first_block(s->block_size, g->window, s->n_tokens);
        while (quire_kv_free_block_count(s->kv, i) < want && g->first < visible &&
               g->first < g->end) {
            give_back(s, i, g->first, g->first + 1);
            g->first++;
        }
        const int32_t after = g->end > g->first ? g->table[g->end - 1] : -1;
        QR_TRY(quire_kv_alloc(s->kv, i, after, want, g->table + g->end, err));
        g->end = end;
    }
    return QUIRE_OK;
}

void qr_sequence_append(struct qr_sequence *s, const int32_t *tokens, uint32_t n, uint32_t rope_key)
{
    memcpy(s->tokens + s->n_tokens, tokens, n * sizeof *tokens);
    for (uint32_t i = 0; i < n; i++)
        s->rope_keys[s->n_tokens + i] = rope_key;
    s->n_tokens += n;
}

uint32_t qr_sequence_blocks(uint32_t block_size, uint32_t window, uint32_t max_tokens,
                            uint32_t step, uint32_t rewind)
{
    const uint32_t all = blocks_for(max_tokens, block_size);
    /* a step sees window - 1 old tokens and adds its own; both ends may lie inside a block */
    const uint64_t tokens = (uint64_t)window - 1 + step + rewind;
    const uint64_t some = tokens / block_size + 2;
    return window == 0 || some > all ? all : (uint32_t)some;
}
