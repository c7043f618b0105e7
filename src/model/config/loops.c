/* SPDX-License-Identifier: Apache-2.0 */
/* loops.c - looped transformers: the file's layers run several times. */
#include "model/config/loops.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include <string.h>

static quire_status repeat_layers(struct qr_model_config *cfg, uint32_t n_loops, const char *key,
                                  struct quire_error *err)
{
    const uint32_t n = cfg->n_layers;
    if (n_loops == 0 || n_loops > QR_CONFIG_MAX_LAYERS / n)
        return qr_fail(err, QUIRE_E_FORMAT, "%s is %u, with %u layers; 1 to %u is allowed", key,
                       n_loops, n, QR_CONFIG_MAX_LAYERS / n);
    if (n_loops == 1)
        return QUIRE_OK;
    struct qr_layer_config *layers =
        qr_arena_alloc(&cfg->memory, (size_t)n * n_loops, sizeof *layers);
    if (!layers)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u layers", n * n_loops);
    for (uint32_t i = 0; i < n * n_loops; i++) {
        layers[i] = cfg->layers[i % n];
        layers[i].kv_source = i;
    }
    cfg->layers = layers;
    cfg->n_layers = n * n_loops;
    cfg->loop_layers = n;
    return QUIRE_OK;
}

/* Layers may have weights by group and by layer of a group; one of each is supported. */
static quire_status read_one_layer(const struct qr_hf_source *h)
{
    static const char *const keys[] = { "num_hidden_groups", "inner_group_num" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint32_t n = 1;
        bool has;
        QR_TRY(qr_hf_u32_opt(h, keys[i], &n, &has));
        if (n != 1)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s is %u; only 1 is supported", keys[i], n);
    }
    h->cfg->loop_layers = h->cfg->n_layers > 1 ? 1 : 0;
    return QUIRE_OK;
}

quire_status qr_hf_read_loops(const struct qr_hf_source *h)
{
    uint32_t n = 1;
    bool has, skip;
    if (h->arch->one_layer)
        return read_one_layer(h);
    if (!h->arch->loops)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32_opt(h, "num_loops", &n, &has));
    QR_TRY(qr_hf_bool(h, "skip_loop_final_norm", false, &skip));
    h->cfg->loop_norm = !skip;
    return repeat_layers(h->cfg, n, "config.json: num_loops", h->err);
}

quire_status qr_gguf_read_loops(const struct qr_gguf_source *s)
{
    uint32_t n;
    bool skip;
    if (!s->arch->loops)
        return QUIRE_OK;
    QR_TRY(qr_gguf_source_u32_or(s, "num_loops", 1, &n));
    QR_TRY(qr_gguf_source_bool_or(s, "skip_loop_final_norm", false, &skip));
    s->cfg->loop_norm = !skip;
    return repeat_layers(s->cfg, n, "metadata key num_loops", s->err);
}
