/* SPDX-License-Identifier: Apache-2.0 */
/* hf_shared_block.c - transformer blocks that several layers share, in config.json (Zamba2). */
#include "model/config/hf_shared_block.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include <math.h>

/* The layers take the blocks in turns. */
static void assign_blocks(struct qr_model_config *c)
{
    uint32_t owners[QR_CONFIG_MAX_SHARED_BLOCKS], n = 0;
    for (uint32_t i = 0; i < c->n_layers; i++) {
        struct qr_layer_config *l = &c->layers[i];
        if (l->mixer != QR_MIXER_SHARED_BLOCK)
            continue;
        if (n < c->shared_block.n_blocks)
            owners[n] = i;
        l->block_owner = owners[n % c->shared_block.n_blocks];
        l->block_use = n++;
    }
}

/* The size of a head and of all heads: by default those of the block's input. */
static quire_status read_heads(const struct qr_hf_source *h)
{
    struct qr_model_config *c = h->cfg;
    const uint64_t width = 2 * (uint64_t)c->hidden_size, heads = c->layers[0].n_heads;
    uint32_t given = 0;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "attention_hidden_size", &given, &has));
    if (has && given != width)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: attention_hidden_size is %u, not twice hidden_size %u", given,
                       c->hidden_size);
    /* GCOVR_EXCL_BR_LINE: read_sizes in hf.c has read the key. */
    QR_TRY(qr_hf_u32_opt(h, "head_dim", &given, &has));
    /* GCOVR_EXCL_BR_LINE: read_sizes refuses a file without heads and without their size. */
    if (!has && heads)
        c->head_dim = c->v_head_dim = (uint32_t)(width / heads);
    c->attention_scale = 1 / sqrtf((float)c->head_dim / 2);
    return QUIRE_OK;
}

quire_status qr_hf_read_shared_blocks(const struct qr_hf_source *h)
{
    struct qr_model_config *c = h->cfg;
    struct qr_shared_block_config *b = &c->shared_block;
    if (!h->arch->hf_shared_blocks)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32(h, "num_mem_blocks", &b->n_blocks));
    QR_TRY(qr_hf_u32(h, "adapter_rank", &b->rank));
    QR_TRY(qr_hf_bool(h, "use_shared_attention_adapter", false, &b->attention_low_rank));
    if (b->n_blocks < 1 || b->n_blocks > QR_CONFIG_MAX_SHARED_BLOCKS)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: num_mem_blocks is %u, 1 to %d allowed",
                       b->n_blocks, QR_CONFIG_MAX_SHARED_BLOCKS);
    assign_blocks(c);
    return read_heads(h);
}
