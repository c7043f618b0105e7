/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_index.c - the indexer of sparse attention in GGUF metadata: sizes, and layers that have
 * one. */
#include "model/config/gguf_index.h"
#include "base/error.h"
#include "model/arch/arch.h"

/* Blocks with one key each: the tokens of a block, in layers with attention, which all have an
 * indexer. The file gives the number of tokens that are selected. */
static quire_status read_compressed(const struct qr_gguf_source *s)
{
    static const char key[] = "attention.compress_ratios";
    struct qr_model_config *cfg = s->cfg;
    struct qr_index_config *x = &cfg->index;
    const uint32_t tokens = x->top_k;
    x->block_size = 0;
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        uint32_t size;
        QR_TRY(qr_gguf_source_layer_u32(s, key, i, 0, &size));
        l->index = l->mixer == QR_MIXER_ATTENTION ? QR_INDEX_OWN : QR_INDEX_NONE;
        x->block_size = x->block_size || !l->index ? x->block_size : size;
        if (size != (l->index ? x->block_size : 0) || (l->index && size == 0))
            return qr_fail(s->err, QUIRE_E_UNSUPPORTED,
                           "metadata key %s.%s is %u in layer %u; the same number in all layers "
                           "with attention and 0 in others is supported",
                           s->prefix, key, size, i);
    }
    if (x->block_size == 0 || tokens % x->block_size != 0)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "metadata key %s.attention.indexer.top_k is %u, not a multiple of %u tokens "
                       "of a block",
                       s->prefix, tokens, x->block_size);
    x->top_k = tokens / x->block_size;
    return QUIRE_OK;
}

quire_status qr_gguf_read_index(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    struct qr_index_config *x = &cfg->index;
    if (!s->arch->has_index || s->arch->shared_key_value)
        return QUIRE_OK; /* qr_gguf_read_compress has read it */
    QR_TRY(qr_gguf_source_u32(s, "attention.indexer.head_count", &x->n_heads));
    QR_TRY(qr_gguf_source_u32(s, "attention.indexer.key_length", &x->head_dim));
    QR_TRY(qr_gguf_source_u32(s, "attention.indexer.top_k", &x->top_k));
    if (x->n_heads == 0)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s.attention.indexer.head_count is 0",
                       s->prefix);
    if (x->compressed)
        return read_compressed(s);
    if (!x->weighted) {
        QR_TRY(qr_gguf_source_u32(s, "attention.indexer.block_size", &x->block_size));
        QR_TRY(qr_gguf_source_u32(s, "attention.indexer.local_blocks", &x->local_blocks));
    }
    /* the tensors tell what the list does */
    (void)qr_gguf_source_has(s, "attention.indexer.types");
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        cfg->layers[i].index = qr_gguf_source_has_role(s, QR_W_INDEX_K, i) ? QR_INDEX_OWN
                               : x->weighted                               ? QR_INDEX_SHARED
                                                                           : QR_INDEX_NONE;
    return QUIRE_OK;
}
