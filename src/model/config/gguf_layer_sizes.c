/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_layer_sizes.c - metadata of GGUF files that gives layers heads, keys and values of their
 * own, and per-layer embeddings. */
#include "model/config/gguf_layer_sizes.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/config/config.h"

/* Heads of layers with a window have sizes of their own. Layers without a value projection, none of
 * which has a window, use their keys. */
static quire_status read_global_heads(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    uint32_t size, value;
    QR_TRY(qr_gguf_source_u32_or(s, "attention.key_length_swa", cfg->head_dim, &size));
    QR_TRY(qr_gguf_source_u32_or(s, "attention.value_length_swa", cfg->v_head_dim, &value));
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        l->head_dim = l->window ? size : cfg->head_dim;
        l->v_head_dim = l->window ? value : cfg->v_head_dim;
        l->v_is_k = !l->window && !qr_gguf_source_has_role(s, QR_W_ATTN_V, i);
    }
    return QUIRE_OK;
}

static quire_status read_ple(const struct qr_gguf_source *s)
{
    struct qr_ple_config *p = &s->cfg->ple;
    size_t tensor;
    QR_TRY(qr_gguf_source_u32_or(s, "embedding_length_per_layer_input", 0, &p->dim));
    if (!p->dim)
        return QUIRE_OK;
    if (!qr_gguf_find_tensor(s->g, "per_layer_token_embd.weight", &tensor))
        return qr_fail(s->err, QUIRE_E_FORMAT, "tensor per_layer_token_embd.weight is missing");
    const uint64_t rows = qr_gguf_tensor(s->g, tensor)->dims[1];
    p->vocab_size = rows > UINT32_MAX ? UINT32_MAX : (uint32_t)rows;
    return QUIRE_OK;
}

quire_status qr_gguf_read_layer_sizes(const struct qr_gguf_source *s)
{
    uint32_t shared;
    if (s->arch->global_heads)
        QR_TRY(read_global_heads(s));
    if (s->arch->shared_kv) {
        QR_TRY(qr_gguf_source_u32_or(s, "attention.shared_kv_layers", 0, &shared));
        QR_TRY(qr_model_config_share_kv(s->cfg, shared, s->err));
    }
    return s->arch->per_layer_embeddings ? read_ple(s) : QUIRE_OK;
}
