/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_index.c - the indexer of sparse attention in GGUF metadata: sizes, and layers that have
 * one. */
#include "model/config/gguf_index.h"
#include "base/error.h"
#include "model/arch/arch.h"

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
