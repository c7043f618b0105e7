/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_streams.c - gated hyper-connections and embeddings of n-grams in GGUF metadata. */
#include "model/config/gguf_streams.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"

static quire_status read_bounded(const struct qr_gguf_source *s, const char *key, uint32_t min,
                                 uint32_t max, uint32_t *out)
{
    QR_TRY(qr_gguf_source_u32(s, key, out));
    return *out >= min && *out <= max
               ? QUIRE_OK
               : qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s.%s is %u, %u to %u allowed",
                         s->prefix, key, *out, min, max);
}

/* Element i of a list of n integers, which must be in [min, max]. */
static quire_status read_element(const struct qr_gguf_source *s, const char *key, uint32_t n,
                                 uint32_t i, int64_t min, int64_t max, int64_t *out)
{
    char name[QR_GGUF_KEY_MAX];
    struct qr_gguf_array list;
    qr_gguf_source_key(s, key, name);
    QR_TRY(qr_gguf_get_array(s->g, name, &list, s->err));
    if (list.count == n && qr_gguf_array_i64(&list, i, out) && *out >= min && *out <= max)
        return QUIRE_OK;
    return qr_fail(s->err, QUIRE_E_FORMAT,
                   "metadata key %s must list %u integers from %lld to %lld", name, n,
                   (long long)min, (long long)max);
}

/* ple.layers: the one layer with n-gram embeddings, whose table is a tensor of the model. */
static quire_status read_layer(const struct qr_gguf_source *s)
{
    static const char table[] = "per_layer_token_embd.weight";
    struct qr_model_config *cfg = s->cfg;
    int64_t layer;
    size_t tensor;
    QR_TRY(read_element(s, "ple.layers", 1, 0, 0, (int64_t)cfg->n_layers - 1, &layer));
    if (!qr_gguf_find_tensor(s->g, table, &tensor))
        return qr_fail(s->err, QUIRE_E_FORMAT, "tensor %s is missing", table);
    cfg->ngram.n_layers = cfg->ngram.n_parts = cfg->layers[layer].ngram = 1;
    cfg->layers[layer].ngram_rows = qr_gguf_source_dim(s, tensor, 1);
    return QUIRE_OK;
}

/* Rows of the heads in the table, one behind the other, and the factors of tokens in the hashes,
 * whose products must stay below 2^63. */
static quire_status read_tables(const struct qr_gguf_source *s, uint64_t table_rows)
{
    struct qr_model_config *cfg = s->cfg;
    struct qr_ngram_config *n = &cfg->ngram;
    const uint32_t heads = (n->size - 1) * n->heads;
    uint32_t *sizes = qr_arena_alloc(&cfg->memory, heads, sizeof *sizes);
    uint64_t *multipliers = qr_arena_alloc(&cfg->memory, n->size, sizeof *multipliers);
    int64_t v, rows = 0;
    if (!sizes || !multipliers)
        return qr_fail(s->err, QUIRE_E_NOMEM, "no memory for %u heads of n-grams", heads);
    for (uint32_t h = 0; h < heads; h++) {
        QR_TRY(read_element(s, "ple.head_offsets", heads, h, rows, rows, &v));
        QR_TRY(read_element(s, "ple.head_vocab_sizes", heads, h, 1, UINT32_MAX, &v));
        sizes[h] = (uint32_t)v;
        rows += v;
    }
    if ((uint64_t)rows > table_rows)
        return qr_fail(s->err, QUIRE_E_FORMAT,
                       "metadata key %s.ple.head_vocab_sizes: %lld rows in all, the table has %llu",
                       s->prefix, (long long)rows, (unsigned long long)table_rows);
    for (uint32_t i = 0; i < n->size; i++) {
        QR_TRY(read_element(s, "ple.layer_multipliers", n->size, i, 1, INT64_MAX / cfg->vocab_size,
                            &v));
        multipliers[i] = (uint64_t)v;
    }
    n->sizes = sizes;
    n->multipliers = multipliers;
    return QUIRE_OK;
}

static quire_status read_ngrams(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    struct qr_ngram_config *n = &cfg->ngram;
    uint32_t boundary, width;
    if (!qr_gguf_source_has(s, "ple.layers"))
        return QUIRE_OK;
    if (cfg->vocab_size == 0)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata: the vocabulary is empty");
    QR_TRY(read_layer(s));
    QR_TRY(read_bounded(s, "ple.ngram_size", 2, QR_CONFIG_MAX_NGRAM, &n->size));
    QR_TRY(read_bounded(s, "ple.heads_per_ngram", 1, QR_CONFIG_MAX_NGRAM_HEADS, &n->heads));
    QR_TRY(read_bounded(s, "ple.conv_kernel", 1, QR_CONFIG_MAX_TAPS, &n->taps));
    QR_TRY(read_bounded(s, "ple.eos_token_id", 0, cfg->vocab_size - 1, &boundary));
    const uint32_t heads = (n->size - 1) * n->heads;
    QR_TRY(read_bounded(s, "embedding_length_per_layer_input", 1, QR_CONFIG_MAX_HIDDEN / heads,
                        &width));
    (void)qr_gguf_source_has(s, "ple.image_token_id"); /* images are not computed */
    n->dim = heads * width;
    n->boundary = (int32_t)boundary;
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        if (cfg->layers[i].ngram)
            return read_tables(s, cfg->layers[i].ngram_rows);
    return QUIRE_OK;
}

quire_status qr_gguf_read_streams(const struct qr_gguf_source *s)
{
    struct qr_hyper_config *h = &s->cfg->hyper;
    if (s->arch->hyper == QR_HYPER_GATED) {
        h->kind = s->arch->hyper;
        QR_TRY(qr_gguf_source_u32(s, "hyper_connection.count", &h->n_streams));
        QR_TRY(qr_gguf_source_u32(s, "hyper_connection.low_rank", &h->rank));
    }
    return s->arch->ngrams ? read_ngrams(s) : QUIRE_OK;
}
