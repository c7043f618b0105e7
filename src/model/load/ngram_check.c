/* SPDX-License-Identifier: Apache-2.0 */
/* ngram_check.c - compares a file's copies of the tables of n-gram embeddings with the computed
 * ones. */
#include "model/load/ngram_check.h"
#include "base/error.h"
#include "model/config/limits.h"
#include "model/config/unknown.h"
#include "model/load/weights_source.h"
#include <stdio.h>
#include <string.h>

enum { MAX_NUMBERS = QR_CONFIG_MAX_NGRAM * QR_CONFIG_MAX_NGRAM_HEADS };

/* What the configuration implies for a layer: multipliers, sizes of heads, and their offsets. */
enum table { MULTIPLIERS, SIZES, OFFSETS, N_TABLES };
static const char *const suffixes[N_TABLES] = { "layer_multipliers", "ngram_heads_vocab_sizes",
                                                "ngram_heads_offsets" };

/* Returns the number of values. */
static size_t expected(const struct qr_ngram_config *n, size_t k, enum table table,
                       int64_t values[MAX_NUMBERS])
{
    const size_t heads = (n->size - 1) * n->heads;
    int64_t offset = 0;
    for (size_t i = 0; table == MULTIPLIERS && i < n->size; i++)
        values[i] = (int64_t)n->multipliers[k * n->size + i];
    for (size_t i = 0; table != MULTIPLIERS && i < heads; i++) {
        values[i] = table == SIZES ? (int64_t)n->sizes[k * heads + i] : offset;
        offset += n->sizes[k * heads + i];
    }
    return table == MULTIPLIERS ? n->size : heads;
}

static quire_status check_tensor(const struct qr_weights *w, size_t tensor, size_t k,
                                 enum table table, struct quire_error *err)
{
    int64_t want[MAX_NUMBERS], has[MAX_NUMBERS];
    const size_t bytes = expected(&w->config.ngram, k, table, want) * sizeof *want;
    struct qr_source_tensor t;
    qr_weights_source_tensor(w, tensor, &t);
    bool same = strcmp(t.type_name, "I64") == 0 && t.bytes == bytes;
    if (same) {
        QR_TRY(qr_weights_read_source(w, tensor, 0, bytes, has, err));
        same = memcmp(has, want, bytes) == 0;
    }
    return same ? QUIRE_OK
                : qr_fail(err, QUIRE_E_UNSUPPORTED,
                          "tensor %.120s has numbers that do not follow from the configuration",
                          t.name);
}

quire_status qr_ngram_check(const struct qr_weights *w, struct quire_error *err)
{
    const size_t n = w->config.ngram.n_layers ? qr_weights_source_count(w) : 0;
    for (size_t i = 0; i < n; i++) {
        struct qr_source_tensor t;
        char pattern[96];
        qr_weights_source_tensor(w, i, &t);
        if (!strstr(t.name, ".ple_embedding."))
            continue;
        for (uint32_t layer = 0; layer < w->config.n_layers; layer++)
            for (int table = 0; w->config.layers[layer].ngram && table < N_TABLES; table++) {
                snprintf(pattern, sizeof pattern, "*layers.%u.ple.ple_embedding.%s", layer,
                         suffixes[table]);
                if (qr_name_matches(pattern, t.name))
                    QR_TRY(check_tensor(w, i, w->config.layers[layer].ngram - 1, (enum table)table,
                                        err));
            }
    }
    return QUIRE_OK;
}
